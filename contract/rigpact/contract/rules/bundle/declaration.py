"""RP206, RP240-RP249: what a bundle declares about its space: units, handedness, axes, alignment.

Declarations are text; no program computes with them. So a wrong one breaks no program, but it misleads people.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rules.bundle.symmetry import across_body
from rigpact.contract.rules.family import Family, Need, on_bundle, rules_in
from rigpact.contract.rules.views.bundle import BundleView, json_to_numbers, member
from rigpact.contract.rules.wording import json_value
from rigpact.contract.statistics import FloatArray
from rigpact.contract.units import spellings

SPACE_UNDECLARED = Rule.titled(
    "RP206 warning space-undeclared",
    message="meta.{key} is absent: readers take {assumed}",
    hint="declare it; then a file that means something else is found",
    why="the numbers do not say it: another assumption gives the mirror image, or steps of a hundred metres, and nothing"
    " contradicts it",
)
UNITS_NOT_METRES = Rule.titled(
    "RP240 error units-not-metres",
    message="meta.units is {found}; positions, offsets and speeds of the contract are in metres",
    hint="convert the data and declare 'meters'",
    why="the engine multiplies by 100 to get centimetres: the character takes steps of a hundred metres, or of none",
)
HANDEDNESS_CONTRADICTS = Rule.titled(
    "RP241 error handedness-contradicts",
    message="meta.handedness is {found}, but {other} {claim}",
    hint="find out which one the data follow, and correct the other",
    why="with the wrong one the character is mirrored: it limps with the other leg and turns the other way",
)
AXES_NO_FRAME = Rule.titled(
    "RP242 error axes-no-frame",
    message="meta.axes ({axes}) are not three perpendicular directions",
    hint="name one of forward/backward, one of right/left and one of up/down",
    why="a reader that builds a change of basis from them flattens the character",
)
AXES_CONTRADICT_SKELETON = Rule.titled(
    "RP243 warning axes-contradict-skeleton",
    message="meta.axes says that {axis} is {word}, but in the mean pose the body's right side lies {angle_deg:.0f}° from there"
    " ({pairs} left and right pairs; widest {apart_m:.2f} m)",
    hint="turn the data, or declare the axes that they have",
    why="root motion follows the declared axes and the limbs do not: the character walks sideways, feet skate",
)
YAW_NOT_RADIANS = Rule.titled(
    "RP244 error yaw-units-not-radians",
    message="meta.root_motion.root_yaw_units is {found}; the engine divides RootYaw by pi",
    hint="export radians",
    why="one degree is read as 57: the character's heading is noise",
)
ALIGNMENT_NOT_NEXT = Rule.titled(
    "RP245 error alignment-not-next",
    message="meta.alignment.x_to_y.{key} is {found}; the engine takes the output for the frame after the state ({expected})",
    hint="train on pairs of neighbouring frames",
    why="with 0 the network learns to stand still, with 2 the character moves at twice its speed",
)
SPACES_NOT_LOCAL = Rule.titled(
    "RP246 error rotations-not-parent-space",
    message="meta.spaces.{key} is {found}; the engine reads {expected}",
    hint="export rotations and angular velocities relative to the parent bone",
    why="component-space rotations played as local ones add up along every limb",
)
TRAJECTORY_TIMES = Rule.titled(
    "RP247 warning trajectory-times-unordered",
    message="meta.trajectory.seconds = {found}: the times must rise, with 0 in the middle",
    hint="export the window's times from the past to the future, an odd number of them",
    why="the engine takes the middle entry as the present direction: another one turns the character early or late",
)

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
_SPACES = {"bone_rotations": "local_6d", "bone_angular_velocities": "local_rad_per_sec"}
_SAME_SIDE_DEG = 45.0
"""Nearer to the declared axis than to any other."""


def check_declaration(view: BundleView) -> Iterator[Finding]:
    """Yield where a bundle's declarations contradict the engine, each other or the skeleton."""
    yield from _check_word(view, ("units",), spellings("m"), UNITS_NOT_METRES)
    yield from _check_word(view, ("root_motion", "root_yaw_units"), spellings("rad"), YAW_NOT_RADIANS)
    yield from _check_spaces(view)
    yield from _check_handedness(view)
    yield from _check_axes(view)
    for path, assumed in _ASSUMED:
        if member(view.meta, *path) is None:
            yield SPACE_UNDECLARED.at(view.path, "/meta", key=".".join(path), assumed=assumed)
    # The mode is a word and the offset a number of frames; both must say the next frame
    for key, expected, kinds in (("mode", "next", (str,)), ("offset", 1, (int, float))):
        found = member(view.meta, "alignment", "x_to_y", key)
        if type(found) in kinds and found != expected:
            pointer = json_pointer("meta", "alignment", "x_to_y", key)
            yield ALIGNMENT_NOT_NEXT.at(view.path, pointer, key=key, found=repr(found), expected=expected)
    yield from _check_trajectory(view)


FAMILY = Family(__name__, rules_in(globals()), (Need.BUNDLE,), on_bundle(check_declaration))


def _check_word(view: BundleView, path: tuple[str, ...], known: tuple[str, ...], rule: Rule) -> Iterator[Finding]:
    found = member(view.meta, *path)
    if found is not None and (type(found) is not str or found.lower() not in known):
        yield rule.at(view.path, ("meta", *path), found=_word(found))


def _word(found: Any) -> str:
    return repr(found) if type(found) is str else json_value(found)


def _check_spaces(view: BundleView) -> Iterator[Finding]:
    for key, expected in _SPACES.items():
        found = member(view.meta, "spaces", key)
        if found is not None and found != expected:
            pointer = json_pointer("meta", "spaces", key)
            yield SPACES_NOT_LOCAL.at(view.path, pointer, key=key, found=_word(found), expected=repr(expected))


def axes_frame(axes: Any) -> FloatArray | None:
    """The declared axes as rows forward, right, up of each of x, y, z; None if they are not declared or unknown words."""
    rows = [_DIRECTIONS.get(str(member(axes, axis)).lower()) for axis in "xyz"]
    return None if None in rows else np.array(rows, dtype=np.float64)


def _check_handedness(view: BundleView) -> Iterator[Finding]:
    found = member(view.meta, "handedness")
    if type(found) is not str:
        return
    pointer = json_pointer("meta", "handedness")
    rotation = member(view.meta, "rot6d_spec", "handedness")
    if type(rotation) is str and rotation.lower() != found.lower():
        other, claim = "meta.rot6d_spec.handedness", f"is {rotation!r}"
        yield HANDEDNESS_CONTRADICTS.at(view.path, pointer, found=repr(found), other=other, claim=claim)
    frame = axes_frame(member(view.meta, "axes"))
    determinant = 0.0 if frame is None else float(np.linalg.det(frame))
    actual = {1: "left", -1: "right"}.get(round(determinant))
    if actual is not None and actual not in found.lower():
        values = {"found": repr(found), "other": "meta.axes", "claim": f"make a {actual}-handed frame"}
        yield HANDEDNESS_CONTRADICTS.at(view.path, pointer, **values)


def _check_axes(view: BundleView) -> Iterator[Finding]:
    axes, frame = member(view.meta, "axes"), axes_frame(member(view.meta, "axes"))
    if not isinstance(axes, dict):
        return
    pointer = json_pointer("meta", "axes")
    if frame is None or round(abs(float(np.linalg.det(frame)))) != 1:
        words = ", ".join(f"{axis} {json_value(axes.get(axis))}" for axis in "xyz")
        yield AXES_NO_FRAME.at(view.path, pointer, axes=words)
    elif view.skeleton is not None:
        yield from _check_right_side(view, frame, pointer)


def _check_right_side(view: BundleView, frame: FloatArray, pointer: str) -> Iterator[Finding]:
    skeleton = view.skeleton
    to_left = across_body(view, skeleton) if skeleton is not None else None
    if to_left is None:
        return
    to_right = -to_left.sum(axis=0)
    sideways = int(np.argmax(np.abs(frame[:, 1])))
    declared = np.zeros(3)
    declared[sideways] = frame[sideways, 1]
    length = float(np.linalg.norm(to_right))
    angle = float(np.degrees(np.arccos(np.clip(to_right @ declared / max(length, 1e-9), -1, 1))))
    if length > 0 and angle > _SAME_SIDE_DEG:
        axis, word = "xyz"[sideways], "right" if frame[sideways, 1] > 0 else "left"
        widest = float(np.linalg.norm(to_left, axis=-1).max())
        values = {"axis": axis, "word": word, "angle_deg": angle, "pairs": len(to_left), "apart_m": widest}
        yield AXES_CONTRADICT_SKELETON.at(view.path, f"{pointer}/{axis}", **values)


def _check_trajectory(view: BundleView) -> Iterator[Finding]:
    seconds = json_to_numbers(member(view.meta, "trajectory", "seconds"))
    if seconds is None or not len(seconds) or not np.isfinite(seconds).all():
        return
    middle = abs(float(seconds[len(seconds) // 2]))
    rises = bool((seconds[1:] > seconds[:-1]).all())
    if not rises or len(seconds) % 2 == 0 or middle > 1e-6 or np.abs(seconds).max() > _LONGEST_WINDOW_S:
        found = "[" + ", ".join(f"{value:g}" for value in seconds) + "]"
        yield TRAJECTORY_TIMES.at(view.path, ("meta", "trajectory", "seconds"), found=found)


_LONGEST_WINDOW_S = 60.0
"""A trajectory window of more than a minute is a number in milliseconds or frames."""
