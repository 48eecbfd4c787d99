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
from rigpact.contract.rules.family import Need, Rules, findings_of
from rigpact.contract.rules.wording import at_first, first_in, json_value, number_text
from rigpact.contract.statistics import FloatArray
from rigpact.contract.units import spellings

rules = Rules("bundle_declaration")


ENGINE_MODES = ("Raw", "ZScore")
"""The modes of the engine's `ECondNormMode`. The engine uses Raw, whatever the bundle says."""


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
    (rules.CONDITION_RANGE_DIFFERS, ("cond_norm_config", "start"), (0,), (int, float), number_text),
    (rules.CONDITION_RANGE_DIFFERS, ("cond_norm_config", "size"), (CONDITION_WIDTH,), (int, float), number_text),
    (rules.SPEC_UNSUPPORTED, ("meta", "rot6d_spec", "matrix_layout"), ("columns_are_axes",), (str,), repr),
    (rules.SPEC_UNSUPPORTED, ("meta", "rot6d_spec", "order"), ("A_then_B",), (str,), repr),
    (rules.UNITS_NOT_METRES, ("meta", "units"), spellings("m"), (), _word),
    (rules.YAW_NOT_RADIANS, ("meta", "root_motion", "root_yaw_units"), spellings("rad"), (), _word),
    (rules.SPACES_NOT_LOCAL, ("meta", "spaces", "bone_rotations"), ("local_6d",), (), _word),
    (rules.SPACES_NOT_LOCAL, ("meta", "spaces", "bone_angular_velocities"), ("local_rad_per_sec",), (), _word),
    # the mode is a word and the offset a number of frames; both must say the next frame
    (rules.ALIGNMENT_NOT_NEXT, ("meta", "alignment", "x_to_y", "mode"), ("next",), (str,), repr),
    (rules.ALIGNMENT_NOT_NEXT, ("meta", "alignment", "x_to_y", "offset"), (1,), (int, float), repr),
)
"""Entries that have one right value: the rule, the place, how the value may be written, the types that this rule judges (any
where none is said), how a finding shows what it found."""


def _check_right(view: BundleView) -> Iterator[Finding]:
    for rule, path, right, kinds, shown in _RIGHT:
        found = member(view.root, *path)
        same = found.lower() if type(found) is str and len(right) > 1 else found
        if found is not None and (not kinds or type(found) in kinds) and same not in right:
            expected = right[0] if rule is rules.ALIGNMENT_NOT_NEXT else repr(right[0])
            values = {"key": path[-1], "found": shown(found), "expected": expected, "last": CONDITION_WIDTH - 1}
            yield rule.at(view.path, path, **values)


def _check_timing(view: BundleView) -> Iterator[Finding]:
    if "fps" not in view.root:
        found = member(view.meta, "fps")
        elsewhere = f" (meta.fps = {found} is not read)" if found is not None else ""
        yield rules.FPS_ABSENT.at(view.path, default=DEFAULT_FPS, elsewhere=elsewhere)
        return
    declared = view.root["fps"]
    if type(declared) in (int, float) and json_to_rate(declared) is None:
        yield rules.FPS_NOT_POSITIVE.at(view.path, "/fps", fps=number_text(declared))
    elif type(declared) in (int, float) and not _LOWEST <= declared <= _HIGHEST:
        yield rules.FPS_IMPLAUSIBLE.at(view.path, "/fps", fps=declared, lowest=_LOWEST, highest=_HIGHEST)


def _check_condition(view: BundleView) -> Iterator[Finding]:
    mode = member(view.root, "cond_norm_config", "mode")
    if type(mode) is str and mode != "Raw":
        rule = rules.CONDITION_MODE_IGNORED if mode in ENGINE_MODES else rules.CONDITION_MODE_UNKNOWN
        yield rule.at(view.path, "/cond_norm_config/mode", mode=mode, known=", ".join(ENGINE_MODES))


def _check_said(view: BundleView) -> Iterator[Finding]:
    for path, assumed in _ASSUMED:
        if member(view.meta, *path) is None:
            yield rules.SPACE_UNDECLARED.at(view.path, "/meta", key=".".join(path), assumed=assumed)


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
        yield rules.HANDEDNESS_CONTRADICTS.at(view.path, place, found=repr(found), other=other, claim=claim)
    determinant = np.linalg.det(need(axes_frame(member(view.meta, "axes"))))
    actual = {1: "left", -1: "right"}.get(round(float(determinant)))
    if actual is not None and actual not in found.lower():
        values = {"found": repr(found), "other": "meta.axes", "claim": f"make a {actual}-handed frame"}
        yield rules.HANDEDNESS_CONTRADICTS.at(view.path, place, **values)


def _check_axes(view: BundleView) -> Iterator[Finding]:
    axes = member(view.meta, "axes")
    frame = axes_frame(need(axes, when=isinstance(axes, dict)))
    if frame is None or round(abs(float(np.linalg.det(frame)))) != 1:
        words = ", ".join(f"{axis} {json_value(axes.get(axis))}" for axis in "xyz")
        yield rules.AXES_NO_FRAME.at(view.path, "/meta/axes", axes=words)
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
        yield rules.AXES_CONTRADICT_SKELETON.at(view.path, ("meta", "axes", axis), **values)


def _check_trajectory(view: BundleView) -> Iterator[Finding]:
    seconds = need(json_to_numbers(member(view.meta, "trajectory", "seconds")))
    need(seconds, when=len(seconds) > 0 and bool(np.isfinite(seconds).all()))
    middle, rises = abs(float(seconds[len(seconds) // 2])), bool((seconds[1:] > seconds[:-1]).all())
    if not rises or len(seconds) % 2 == 0 or middle > 1e-6 or np.abs(seconds).max() > _LONGEST_WINDOW_S:
        found = "[" + ", ".join(f"{value:g}" for value in seconds) + "]"
        yield rules.TRAJECTORY_TIMES.at(view.path, ("meta", "trajectory", "seconds"), found=found)


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
        yield rules.EFFECTIVE_SCALE_LENGTH_DIFFERS.at(view.path, (key,), array=key, **numbers)
        return
    std = need(view.statistic(f"Std{letter}", layout))
    expected = _effective_scale(view, std)
    array = NamedArray(view.path, key, values, layout, view.bone_names)
    wrong = ~(np.abs(values - expected) <= _RELATIVE * np.abs(expected))
    shown: dict[str, Any] = {"found": values, "expected": expected, "std": std.name}
    yield from array.at_slices(rules.EFFECTIVE_SCALE_DIFFERS, wrong & np.isfinite(values), "slice", **shown)


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
    for finding in std.at_slices(rules.STD_BELOW_DECLARED_FLOOR, below & (std.values > 0), floor=floors, source=source):
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
            yield rules.GROUP_PRIORS_DO_NOT_FIT.at(view.path, place, what=what(bone) + more, bones=bones)
            return


def _check_priors(view: BundleView) -> Iterator[Finding]:
    priors = need(json_to_numbers(member(view.root, *_PRIORS)), when=bool(view.bone_count))
    width = 6 * (view.bone_count or 0)
    if len(priors) != width:
        what = f"prior_per_dim has {len(priors)} numbers, 6 for each bone are {width}"
        yield rules.GROUP_PRIORS_DO_NOT_FIT.at(view.path, _PRIORS, what=what, bones=view.bone_count)
    bad, values = np.isfinite(priors) & ~((priors > 0) & (priors <= _LARGEST_DEVIATION)), {"value": priors}
    place, limit = (*_PRIORS, ...), _LARGEST_DEVIATION
    yield from at_first(
        rules.GROUP_PRIOR_IMPLAUSIBLE, view.path, place, bad, "in this array", "index", limit=limit, **values
    )


_SPACE = (_check_right, _check_handedness, _check_axes, _check_said, _check_trajectory)
_DERIVED = (_check_statistics, _check_groups, _check_priors)
FAMILY = rules.family("FAMILY", (Need.BUNDLE,), _check_timing, _check_condition, *_SPACE, *_DERIVED)
