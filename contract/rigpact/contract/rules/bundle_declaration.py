"""RP070-RP089, RP130-RP139, RP205, RP206, RP240-RP249: what a bundle declares, and numbers derived from its statistics.

No engine computes with most of this, so a wrong declaration breaks no program, but it misleads people; training computes with the
derived numbers: a loss with a wrong scale, or a floor that was not applied, gives another network than intended.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.layout import ANGULAR_VELOCITIES, CONDITION_WIDTH, ROOT_VELOCITY, ROOT_YAW, ROTATIONS, Layout
from rigpact.contract.rules.bundle_body import across_body
from rigpact.contract.rules.bundle_view import (
    DEFAULT_FPS,
    BundleView,
    NamedArray,
    is_finite_float32,
    json_to_numbers,
    json_to_rate,
    known,
    member,
    need,
)
from rigpact.contract.rules.family import Need, family, findings_of
from rigpact.contract.rules.wording import at_first, first_in, json_value, number_text
from rigpact.contract.statistics import FloatArray
from rigpact.contract.units import spellings

ENGINE_MODES = ("Raw", "ZScore")
"""The modes of the engine's `ECondNormMode`. The engine uses Raw, whatever the bundle says."""

FPS_ABSENT = Rule.of("""RP070 warning fps-absent
    no root fps: the engine steps the network at {default:g} frames a second{elsewhere}
    hint: write fps at the root of the bundle; the engine does not look anywhere else
    why: a character trained at another rate plays at the wrong speed, and every velocity is wrong by the same factor""")
FPS_NOT_POSITIVE = Rule.of("""RP071 error fps-not-positive
    fps = {fps}: a frame rate must be > 0 and finite
    hint: write the rate the training data was sampled at
    why: the length of a step is 1 / fps""")
FPS_IMPLAUSIBLE = Rule.of("""RP072 warning fps-implausible
    fps = {fps:g} lies outside {lowest:g} to {highest:g}
    hint: fps counts frames a second: a step in seconds or milliseconds belongs elsewhere
    why: the engine steps the network fps times a second: the character races, or freezes between steps""")
CONDITION_MODE_UNKNOWN = Rule.of("""RP080 warning condition-mode-unknown
    condition mode {mode!r} is unknown to the engine (it knows {known}); it passes the condition through raw
    hint: declare Raw if the network was trained on raw conditions; if not, teach the engine the mode
    why: a network trained on normalised conditions walks at the wrong speed, or ignores the stick""")
CONDITION_MODE_IGNORED = Rule.of("""RP081 warning condition-mode-ignored
    condition mode {mode!r} is read and then overridden: the engine passes the condition through raw
    hint: train on raw conditions and declare Raw, or make the engine honour the mode
    why: the engine forces Raw after reading the mode; training that normalises sees another input than the game""")
CONDITION_RANGE_DIFFERS = Rule.of("""RP082 warning condition-range-differs
    cond_norm_config.{key} is {found}; the condition has channels 0 to {last}
    hint: normalise all seven channels: start 0, size 7
    why: normalising part of the condition turns action bits and speed into another vector than the engine builds""")
SPEC_UNSUPPORTED = Rule.of("""RP205 error rot6d-spec-unsupported
    meta.rot6d_spec.{key} is {found}; the engine reads {expected}
    hint: export columns of the rotation, the first named one first
    why: the same six numbers are then another rotation: rows for columns turn every bone the other way""")
SPACE_UNDECLARED = Rule.of("""RP206 warning space-undeclared
    meta.{key} is absent: readers take {assumed}
    hint: declare it; then a file that means something else is found
    why: the numbers do not say it: another assumption gives the mirror image, or steps of a hundred metres, and nothing
    contradicts it""")
UNITS_NOT_METRES = Rule.of("""RP240 error units-not-metres
    meta.units is {found}; positions, offsets and speeds of the contract are in metres
    hint: convert the data and declare 'meters'
    why: the engine multiplies by 100 to get centimetres: the character takes steps of a hundred metres, or of none""")
HANDEDNESS_CONTRADICTS = Rule.of("""RP241 error handedness-contradicts
    meta.handedness is {found}, but {other} {claim}
    hint: find out which one the data follow, and correct the other
    why: with the wrong one the character is mirrored: it limps with the other leg and turns the other way""")
AXES_NO_FRAME = Rule.of("""RP242 error axes-no-frame
    meta.axes ({axes}) are not three perpendicular directions
    hint: name one of forward/backward, one of right/left and one of up/down
    why: a reader that builds a change of basis from them flattens the character""")
AXES_CONTRADICT_SKELETON = Rule.of("""RP243 warning axes-contradict-skeleton
    meta.axes says that {axis} is {word}, but in the mean pose the body's right side lies {angle_deg:.0f}° from there ({pairs}
    left and right pairs; widest {apart_m:.2f} m)
    hint: turn the data, or declare the axes that they have
    why: root motion follows the declared axes and the limbs do not: the character walks sideways, feet skate""")
YAW_NOT_RADIANS = Rule.of("""RP244 error yaw-units-not-radians
    meta.root_motion.root_yaw_units is {found}; the engine divides RootYaw by pi
    hint: export radians
    why: one degree is read as 57: the character's heading is noise""")
ALIGNMENT_NOT_NEXT = Rule.of("""RP245 error alignment-not-next
    meta.alignment.x_to_y.{key} is {found}; the engine takes the output for the frame after the state ({expected})
    hint: train on pairs of neighbouring frames
    why: with 0 the network learns to stand still, with 2 the character moves at twice its speed""")
SPACES_NOT_LOCAL = Rule.of("""RP246 error rotations-not-parent-space
    meta.spaces.{key} is {found}; the engine reads {expected}
    hint: export rotations and angular velocities relative to the parent bone
    why: component-space rotations played as local ones add up along every limb""")
TRAJECTORY_TIMES = Rule.of("""RP247 warning trajectory-times-unordered
    meta.trajectory.seconds = {found}: the times must rise, with 0 in the middle
    hint: export the window's times from the past to the future, an odd number of them
    why: the engine takes the middle entry as the present direction: another one turns the character early or late""")

_LOWEST, _HIGHEST = 5.0, 1000.0
"""A gait has two steps a second, so fewer than 5 frames a second do not sample it. No capture rig or game loop exceeds 1000."""
_DIRECTIONS = {
    "forward": (1, 0, 0), "backward": (-1, 0, 0), "right": (0, 1, 0), "left": (0, -1, 0), "up": (0, 0, 1),
    "down": (0, 0, -1),
}  # fmt: skip
"""In a left-handed frame, forward, right and up have determinant +1."""
_ASSUMED = (
    (("units",), "metres"), (("handedness",), "a left-handed frame"), (("axes",), "x forward, y right, z up"),
    (("spaces", "bone_rotations"), "rotations relative to the parent bone"),
    (("spaces", "bone_angular_velocities"), "radians a second relative to the parent bone"),
    (("root_motion", "root_yaw_units"), "radians"), (("alignment", "x_to_y"), "the frame after the state"),
)  # fmt: skip
"""What readers take for granted where the bundle does not say it."""
_SAME_SIDE_DEG = 45.0
"""Nearer to the declared axis than to any other."""
_LONGEST_WINDOW_S = 60.0
"""A trajectory window of more than a minute is a number in milliseconds or frames."""


def _word(found: Any) -> str:
    return repr(found) if type(found) is str else json_value(found)


_RIGHT: tuple[tuple[Rule, tuple[str, ...], tuple[Any, ...], tuple[type, ...], Callable[[Any], str]], ...] = (
    (CONDITION_RANGE_DIFFERS, ("cond_norm_config", "start"), (0,), (int, float), number_text),
    (CONDITION_RANGE_DIFFERS, ("cond_norm_config", "size"), (CONDITION_WIDTH,), (int, float), number_text),
    (SPEC_UNSUPPORTED, ("meta", "rot6d_spec", "matrix_layout"), ("columns_are_axes",), (str,), repr),
    (SPEC_UNSUPPORTED, ("meta", "rot6d_spec", "order"), ("A_then_B",), (str,), repr),
    (UNITS_NOT_METRES, ("meta", "units"), spellings("m"), (), _word),
    (YAW_NOT_RADIANS, ("meta", "root_motion", "root_yaw_units"), spellings("rad"), (), _word),
    (SPACES_NOT_LOCAL, ("meta", "spaces", "bone_rotations"), ("local_6d",), (), _word),
    (SPACES_NOT_LOCAL, ("meta", "spaces", "bone_angular_velocities"), ("local_rad_per_sec",), (), _word),
    # the mode is a word and the offset a number of frames; both must say the next frame
    (ALIGNMENT_NOT_NEXT, ("meta", "alignment", "x_to_y", "mode"), ("next",), (str,), repr),
    (ALIGNMENT_NOT_NEXT, ("meta", "alignment", "x_to_y", "offset"), (1,), (int, float), repr),
)
"""Entries that have one right value: the rule, the place, how the value may be written, the types that this rule judges (any
where none is said), how a finding shows what it found."""


def _check_right(view: BundleView) -> Iterator[Finding]:
    for rule, path, right, kinds, shown in _RIGHT:
        found = member(view.root, *path)
        same = found.lower() if type(found) is str and len(right) > 1 else found
        if found is not None and (not kinds or type(found) in kinds) and same not in right:
            expected = right[0] if rule is ALIGNMENT_NOT_NEXT else repr(right[0])
            values = {"key": path[-1], "found": shown(found), "expected": expected, "last": CONDITION_WIDTH - 1}
            yield rule.at(view.path, path, **values)


def _check_timing(view: BundleView) -> Iterator[Finding]:
    if "fps" not in view.root:
        found = member(view.meta, "fps")
        elsewhere = f" (meta.fps = {found} is not read)" if found is not None else ""
        yield FPS_ABSENT.at(view.path, default=DEFAULT_FPS, elsewhere=elsewhere)
        return
    declared = view.root["fps"]
    if type(declared) in (int, float) and json_to_rate(declared) is None:
        yield FPS_NOT_POSITIVE.at(view.path, "/fps", fps=number_text(declared))
    elif type(declared) in (int, float) and not _LOWEST <= declared <= _HIGHEST:
        yield FPS_IMPLAUSIBLE.at(view.path, "/fps", fps=declared, lowest=_LOWEST, highest=_HIGHEST)


def _check_condition(view: BundleView) -> Iterator[Finding]:
    mode = member(view.root, "cond_norm_config", "mode")
    if type(mode) is str and mode != "Raw":
        rule = CONDITION_MODE_IGNORED if mode in ENGINE_MODES else CONDITION_MODE_UNKNOWN
        yield rule.at(view.path, "/cond_norm_config/mode", mode=mode, known=", ".join(ENGINE_MODES))


def _check_said(view: BundleView) -> Iterator[Finding]:
    for path, assumed in _ASSUMED:
        if member(view.meta, *path) is None:
            yield SPACE_UNDECLARED.at(view.path, "/meta", key=".".join(path), assumed=assumed)


def axes_frame(axes: Any) -> FloatArray | None:
    """The declared axes as rows forward, right, up of each of x, y, z; None if they are not declared or unknown words."""
    rows = [_DIRECTIONS.get(str(member(axes, axis)).lower()) for axis in "xyz"]
    return None if None in rows else np.array(rows, dtype=np.float64)


def _check_handedness(view: BundleView) -> Iterator[Finding]:
    found, place = member(view.meta, "handedness"), ("meta", "handedness")
    if type(found) is not str:
        return
    rotation = member(view.meta, "rot6d_spec", "handedness")
    if type(rotation) is str and rotation.lower() != found.lower():
        other, claim = "meta.rot6d_spec.handedness", f"is {rotation!r}"
        yield HANDEDNESS_CONTRADICTS.at(view.path, place, found=repr(found), other=other, claim=claim)
    determinant = np.linalg.det(need(axes_frame(member(view.meta, "axes"))))
    actual = {1: "left", -1: "right"}.get(round(float(determinant)))
    if actual is not None and actual not in found.lower():
        values = {"found": repr(found), "other": "meta.axes", "claim": f"make a {actual}-handed frame"}
        yield HANDEDNESS_CONTRADICTS.at(view.path, place, **values)


def _check_axes(view: BundleView) -> Iterator[Finding]:
    axes = member(view.meta, "axes")
    frame = axes_frame(need(axes, when=isinstance(axes, dict)))
    if frame is None or round(abs(float(np.linalg.det(frame)))) != 1:
        words = ", ".join(f"{axis} {json_value(axes.get(axis))}" for axis in "xyz")
        yield AXES_NO_FRAME.at(view.path, "/meta/axes", axes=words)
        return
    to_left = across_body(view, need(view.skeleton))
    to_right = -to_left.sum(axis=0)
    sideways = int(np.argmax(np.abs(frame[:, 1])))
    length, ahead = float(np.linalg.norm(to_right)), float(to_right[sideways] * frame[sideways, 1])
    angle = float(np.degrees(np.arccos(np.clip(ahead / max(length, 1e-9), -1, 1))))
    if length > 0 and angle > _SAME_SIDE_DEG:
        axis, word = "xyz"[sideways], "right" if frame[sideways, 1] > 0 else "left"
        widest = float(np.linalg.norm(to_left, axis=-1).max())
        values = {"axis": axis, "word": word, "angle_deg": angle, "pairs": len(to_left), "apart_m": widest}
        yield AXES_CONTRADICT_SKELETON.at(view.path, ("meta", "axes", axis), **values)


def _check_trajectory(view: BundleView) -> Iterator[Finding]:
    seconds = need(json_to_numbers(member(view.meta, "trajectory", "seconds")))
    need(seconds, when=len(seconds) > 0 and bool(np.isfinite(seconds).all()))
    middle, rises = abs(float(seconds[len(seconds) // 2])), bool((seconds[1:] > seconds[:-1]).all())
    if not rises or len(seconds) % 2 == 0 or middle > 1e-6 or np.abs(seconds).max() > _LONGEST_WINDOW_S:
        found = "[" + ", ".join(f"{value:g}" for value in seconds) + "]"
        yield TRAJECTORY_TIMES.at(view.path, ("meta", "trajectory", "seconds"), found=found)


EFFECTIVE_SCALE_LENGTH_DIFFERS = Rule.of("""RP130 warning effective-scale-length-differs
    {array} has {found} numbers, {owner} has {expected} channels
    hint: write it from the same run as the statistics
    why: losses are weighted channel by channel with it: from the first number too many on, with a neighbour's scale""")
EFFECTIVE_SCALE_DIFFERS = Rule.of("""RP131 warning effective-scale-differs
    {array}[{index}] = {found:.6g}, but {std}[{index}] times what the squash divides by is {expected:.6g} ({where}){more}
    hint: write it from the same run as the statistics
    why: a loss in metres or radians is computed with it: the wrong joint is then the one that must be exact""")
GROUP_PRIORS_DO_NOT_FIT = Rule.of("""RP132 warning group-priors-do-not-fit
    group_priors_rot6d: {what}; the character has {bones} bones
    hint: compute the priors over the rotation slice only, one group index for each bone
    why: the prior is the floor of the deviation: shifted by a bone, still joints get a lively neighbour's floor
    about: group_priors_rot6d""")
GROUP_PRIOR_IMPLAUSIBLE = Rule.of("""RP133 warning group-prior-implausible
    group_priors_rot6d.prior_per_dim[{index}] = {value:g}: the deviation of a unit vector's component lies in (0,
    {limit:.4g}]{more}
    hint: recompute the priors from rotations
    why: as a floor it hides the channel's motion, or lets a division by zero through""")
STD_BELOW_DECLARED_FLOOR = Rule.of("""RP134 warning std-below-declared-floor
    {array}[{index}] = {value:.6g}, but the bundle declares a floor of {floor:.6g} there ({source}, {where}){more}
    hint: apply the floor before writing the statistics, or correct the declaration
    why: a program that reads the declaration divides by another number than one that reads the statistics""")

_RELATIVE = 1e-5
"""Products of two float32 numbers agree to this if they are written with at least six digits."""
_LARGEST_DEVIATION = float(np.sqrt(2.0))
"""Of a feature within ±1 (see bundle_statistics.py)."""
_FACTORS = (
    ("rv_scales", ROOT_VELOCITY, "tanh_scales_rootvel"), ("ang_scales", ANGULAR_VELOCITIES, "tanh_scales_angvel"),
)  # fmt: skip
_PRIORS = ("group_priors_rot6d", "prior_per_dim")


def _check_statistics(view: BundleView) -> Iterator[Finding]:
    for letter, layout, owner in (("X", view.state, "the state"), ("Y", view.output, "the output")):
        if layout is not None:
            yield from findings_of((_check_effective_scale, _check_declared_floor), view, letter, layout, owner)


def _check_effective_scale(view: BundleView, letter: str, layout: Layout, owner: str) -> Iterator[Finding]:
    key, values = f"s_eff_{letter}", need(view.numbers(f"s_eff_{letter}"))
    if len(values) != layout.width:
        numbers = {"found": len(values), "expected": layout.width, "owner": owner}
        yield EFFECTIVE_SCALE_LENGTH_DIFFERS.at(view.path, (key,), array=key, **numbers)
        return
    std = need(view.statistic(f"Std{letter}", layout))
    expected = _effective_scale(view, std)
    array = NamedArray(view.path, key, values, layout, view.bone_names)
    wrong = ~(np.abs(values - expected) <= _RELATIVE * np.abs(expected))
    shown: dict[str, Any] = {"found": values, "expected": expected, "std": std.name}
    yield from array.at_slices(EFFECTIVE_SCALE_DIFFERS, wrong & np.isfinite(values), "slice", **shown)


def _effective_scale(view: BundleView, std: NamedArray) -> FloatArray:
    """Raw units per standard deviation near the middle of each channel, computed as `s_eff_meta` says."""
    flags = member(view.root, "s_eff_meta")
    factors: dict[str, Any] = {ROOT_YAW: np.pi} if member(flags, "yaw_pi") is True else {}
    factors |= {name: view.numbers(key) for flag, name, key in _FACTORS if member(flags, flag) is True}
    expected = std.values.copy()
    for entry in std.layout:
        factor = need(factors.get(entry.name, 1.0), when=entry.start >= 0 and entry.stop <= len(expected))
        need(factor, when=np.size(factor) in (1, entry.size))
        expected[entry.range] *= factor
    return need(expected, when=is_finite_float32(expected))


def _check_declared_floor(view: BundleView, letter: str, layout: Layout, _: str) -> Iterator[Finding]:
    std = need(view.statistic(f"Std{letter}", layout))
    declared = json_to_rate(view.meta.get("std_floor"))  # a positive finite number, as a rate is
    prior = known(lambda: _declared_prior_floor(view, std)) if letter == "X" else None
    floors = np.full(len(std.values), declared or 0.0) if prior is None else prior
    below = std.values < floors * (1 - _RELATIVE)
    source = "meta.std_floor" if prior is None else "cond_norm_config.floor_rot6d"
    nonsense = below.all() and prior is None  # then the floor itself is wrong
    for finding in std.at_slices(STD_BELOW_DECLARED_FLOOR, below & (std.values > 0), floor=floors, source=source):
        yield replace(finding, pointer="/meta/std_floor") if nonsense else finding


def _declared_prior_floor(view: BundleView, std: NamedArray) -> FloatArray:
    """alpha times the prior for each rotation channel, 0 elsewhere; `Unread` if the bundle declares no such floor."""
    spec = member(view.root, "cond_norm_config", "floor_rot6d")
    alpha, priors = member(spec, "alpha"), need(json_to_numbers(member(view.root, *_PRIORS)))
    need(priors, when=member(spec, "strategy") == "alpha*group_prior" and type(alpha) in (int, float))
    entry = need(std.layout, when=ROTATIONS in std.layout)[ROTATIONS]
    need(priors, when=len(priors) >= entry.size and is_finite_float32(priors))
    floors = np.zeros(len(std.values))
    floors[entry.range] = float(alpha) * priors[: entry.size]
    return floors


def _check_groups(view: BundleView) -> Iterator[Finding]:
    groups, bones = member(view.root, "group_priors_rot6d", "groups"), view.bone_count or 0
    if not isinstance(groups, Mapping) or not bones:
        return
    members = [index for indices in groups.values() if isinstance(indices, list) for index in indices]
    if not all(type(index) in (int, float) for index in members):
        return
    outside = [index for index in members if not 0 <= index < bones]
    # with fewer entries than bones, one of these first bones is missing; a broken file may claim 1e30 bones
    missing = sorted(set(range(min(bones, len(members) + 1))) - set(members))
    twice = [int(index) for index in sorted({index for index in members if members.count(index) > 1} - set(outside))]
    words: tuple[tuple[list[Any], str, Callable[[Any], str]], ...] = (
        (outside, "outside", lambda bone: f"a group names bone {number_text(bone)}, counted from 0"),
        (twice, "so", lambda bone: f"bone {view.bone(bone)} is in two groups"),
        (missing, "missing", lambda bone: f"bone {view.bone(bone)} is in no group"),
    )
    for wrong, where, what in words:
        for bone, more in first_in(wrong, where):
            # the last group that holds the bone; the last empty group if no group holds it
            culprit = None if wrong is missing else bone
            holds = [name for name, own in groups.items() if own == [] or (isinstance(own, list) and culprit in own)]
            named = [name for name in holds if (groups[name] == []) is (culprit is None)]
            place = ("group_priors_rot6d", "groups", *named[-1:])
            yield GROUP_PRIORS_DO_NOT_FIT.at(view.path, place, what=what(bone) + more, bones=bones)
            return


def _check_priors(view: BundleView) -> Iterator[Finding]:
    priors = need(json_to_numbers(member(view.root, *_PRIORS)), when=bool(view.bone_count))
    width = 6 * (view.bone_count or 0)
    if len(priors) != width:
        what = f"prior_per_dim has {len(priors)} numbers, 6 for each bone are {width}"
        yield GROUP_PRIORS_DO_NOT_FIT.at(view.path, _PRIORS, what=what, bones=view.bone_count)
    bad, values = np.isfinite(priors) & ~((priors > 0) & (priors <= _LARGEST_DEVIATION)), {"value": priors}
    place, limit = (*_PRIORS, ...), _LARGEST_DEVIATION
    yield from at_first(GROUP_PRIOR_IMPLAUSIBLE, view.path, place, bad, "in this array", "index", limit=limit, **values)


_SPACE = (_check_right, _check_handedness, _check_axes, _check_said, _check_trajectory)
_DERIVED = (_check_statistics, _check_groups, _check_priors)
FAMILY = family(globals(), (Need.BUNDLE,), _check_timing, _check_condition, *_SPACE, *_DERIVED)
