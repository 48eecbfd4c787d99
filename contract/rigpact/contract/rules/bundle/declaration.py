"""RP070-RP089, RP205, RP206, RP240-RP249: what a bundle declares: frames a second, the condition, its space.

Most declarations are text; no program computes with them. So a wrong one breaks no program, but it misleads people.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.layout import CONDITION_WIDTH
from rigpact.contract.rules.bundle.skeleton import across_body
from rigpact.contract.rules.family import Need, family
from rigpact.contract.rules.views.bundle import DEFAULT_FPS, BundleView, json_to_numbers, json_to_rate, member, need
from rigpact.contract.rules.wording import json_value, number_text
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


_CHECKS = (
    _check_timing,
    _check_condition,
    _check_right,
    _check_handedness,
    _check_axes,
    _check_said,
    _check_trajectory,
)
FAMILY = family(globals(), (Need.BUNDLE,), *_CHECKS)
