"""RP200-RP219: what the six numbers of a rotation are, and what the network's rotations mean."""

from collections.abc import Iterator

import numpy as np

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.rotation6d import COLUMN_PAIRS, OUTPUT_MODES, rot6d_to_matrix, rotation_angle_rad
from rigpact.contract.rules.family import Family, Need, on_bundle, rules_in
from rigpact.contract.rules.views.bundle import BundleView, columns_word, is_finite_float32, member
from rigpact.contract.statistics import FloatArray

COLUMNS_UNDECLARED = Rule.titled(
    "RP200 warning rot6d-columns-undeclared",
    message="meta.rot6d_spec.columns is absent: the engine takes X and Z",
    hint='declare {"columns": ["X", "Z"]}',
    why="most libraries store X and Y; read as X and Z every bone is turned by a quarter",
)
COLUMNS_UNKNOWN = Rule.titled(
    "RP201 error rot6d-columns-unknown",
    message="rot6d columns {found} are not two different axes: the engine takes X and Z",
    hint="name two of X, Y, Z, in the order in which they stand in the six numbers",
    why="the decoder falls back to its default and decodes other axes than the encoder wrote",
)
OUTPUT_MODE_UNDECLARED = Rule.titled(
    "RP202 info output-mode-undeclared",
    message="meta.rot6d_spec.output_mode is absent and means 'delta'; {evidence}",
    hint="declare delta, residual or absolute",
    why="three meanings of the network's rotations are in use; nothing in the network itself tells them apart",
    about="output_mode",
)
OUTPUT_MODE_UNKNOWN = Rule.titled(
    "RP203 error output-mode-unknown",
    message="output mode {found!r} is unknown (known: {known})",
    hint="declare delta, residual or absolute",
    why="an unknown mode falls back to delta, which turns every bone by the wrong rotation each frame",
)
MEAN_POSE_READ_AS_DELTA = Rule.titled(
    "RP204 error mean-pose-read-as-delta",
    message="MuY is a mean pose, so output_mode cannot be 'delta': it turns {bone} by {angle_deg:.1f}° a frame ({turns:.1f}"
    " turns a second at {fps:g} fps; {count} of {bones} bones above {limit_deg:.3g}°)",
    hint="declare meta.rot6d_spec.output_mode: 'residual' if the network adds to the identity, 'absolute' if it gives the next"
    " pose",
    why="in delta mode the engine composes MuY onto the pose every frame: at a network output of zero each of these bones spins"
    " for ever",
    about="output_mode",
)
SPEC_UNSUPPORTED = Rule.titled(
    "RP205 error rot6d-spec-unsupported",
    message="meta.rot6d_spec.{key} is {found}; the engine reads {expected}",
    hint="export columns of the rotation, the first named one first",
    why="the same six numbers are then another rotation: rows for columns turn every bone the other way",
)

_SPEC = ("meta", "rot6d_spec")
_SUPPORTED = {"matrix_layout": "columns_are_axes", "order": "A_then_B"}


def check_rotation_spec(view: BundleView) -> Iterator[Finding]:
    """Yield what is wrong with `meta.rot6d_spec`, alone and against MuY."""
    declared = member(view.meta, "rot6d_spec", "columns")
    word = columns_word(declared)
    if word is None:
        yield COLUMNS_UNDECLARED.at(view.path, json_pointer(*_SPEC) if "rot6d_spec" in view.meta else "/meta")
    elif word not in COLUMN_PAIRS:
        yield COLUMNS_UNKNOWN.at(view.path, (*_SPEC, "columns"), found=declared)
    yield from _check_output_mode(view)
    for key, expected in _SUPPORTED.items():
        found = member(view.meta, "rot6d_spec", key)
        if type(found) is str and found != expected:
            yield SPEC_UNSUPPORTED.at(view.path, (*_SPEC, key), key=key, found=repr(found), expected=repr(expected))


FAMILY = Family(__name__, rules_in(globals()), (Need.BUNDLE,), on_bundle(check_rotation_spec))


def _check_output_mode(view: BundleView) -> Iterator[Finding]:
    declared = member(view.meta, "rot6d_spec", "output_mode")
    known = OUTPUT_MODES
    angles = mean_output_angles_rad(view)
    if declared is None:
        yield OUTPUT_MODE_UNDECLARED.at(view.path, _nearest_spec(view), evidence=_evidence(view, angles))
    elif declared not in known:
        yield OUTPUT_MODE_UNKNOWN.at(view.path, (*_SPEC, "output_mode"), found=declared, known=", ".join(known))
    if angles is not None and view.output_mode == "delta":
        yield from _check_mean_is_a_delta(view, angles)


def _nearest_spec(view: BundleView) -> str:
    return json_pointer(*_SPEC) if "rot6d_spec" in view.meta else "/meta"


def largest_mean_step_rad(fps: float) -> float:
    """The largest rotation that the mean of a bone's rotations from frame to frame can be.

    A full turn a second, 2·pi / fps. The steps of a bone add up to its last pose, which lies within one turn of its first
    pose. So one second of data keeps the mean of the steps below this, and training data is longer than a second.
    """
    return 2 * np.pi / fps


def mean_output_angles_rad(view: BundleView) -> FloatArray | None:
    """The rotation from the identity that MuY decodes to, for each bone; None if MuY cannot be read."""
    array = view.statistic("MuY", view.output)
    if array is None or ROTATIONS not in array.layout:
        return None
    channels = array.values[array.layout[ROTATIONS].range]
    if len(channels) == 0 or len(channels) % 6 or not is_finite_float32(channels):
        return None
    return rotation_angle_rad(rot6d_to_matrix(channels.reshape(-1, 6), view.columns))


def _evidence(view: BundleView, angles: FloatArray | None) -> str:
    if angles is None:
        return "MuY cannot be read, so nothing speaks for it or against it"
    worst, limit = np.degrees(angles.max()), np.degrees(largest_mean_step_rad(view.fps))
    if worst <= limit:
        return f"MuY agrees: no bone's mean is more than {worst:.2g}° from the identity"
    return f"MuY speaks against it: a mean of {worst:.0f}° from the identity is a pose, not a step of a frame"


def _check_mean_is_a_delta(view: BundleView, angles: FloatArray) -> Iterator[Finding]:
    limit, worst = largest_mean_step_rad(view.fps), int(angles.argmax())
    if angles[worst] <= limit:
        return
    start = view.output[ROTATIONS].start if view.output else 0
    yield MEAN_POSE_READ_AS_DELTA.at(
        view.path,
        ("MuY", start + 6 * worst),
        bone=view.bone_names[worst] if worst < len(view.bone_names) else f"bone {worst}",
        angle_deg=float(np.degrees(angles[worst])),
        turns=float(angles[worst] * view.fps / (2 * np.pi)),
        fps=view.fps,
        count=int((angles > limit).sum()),
        bones=len(angles),
        limit_deg=float(np.degrees(limit)),
    )
