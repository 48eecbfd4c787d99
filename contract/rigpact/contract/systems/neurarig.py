"""NeuraRig: leg IK over UDP. Pelvis, six leg bones, the ground and two foot targets in; six rotations out.

Source: the seed's text, and the code of 2026-02-21 that its figures 63 and 24 come from; docs/systems/neurarig.md says where
the two part. Space: left-handed as Unreal Engine's, x forward, y right, z up, centimetres. Quaternions are xyzw.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout, tiled
from rigpact.contract.systems.problem import Problem

SIDES = ("r", "l")
LEG = ("thigh", "calf", "foot")
BONES = tuple(f"{bone}_{side}" for side in SIDES for bone in LEG)
JOINTS = tuple(f"{joint}_{side}" for side in SIDES for joint in ("hip", "knee", "foot"))
FEMUR_CM, TIBIA_CM = (45.751953, 45.752106), (41.705513, 41.705494)
BONE_AXES = ((1.0, 0.0, 0.0), (-1.0, 0.0, 0.0))
"""Along which axis of its parent the next bone lies: the left leg's is mirrored."""
POSITION_SCALE = 0.01
"""The network sees metres; what is sent are centimetres."""
LAYER_WIDTHS = (63, 64, 64, 24)
PARAMETER_COUNT = 9_816
REST_POSITIONS_CM = {
    "pelvis": (0.0, 2.379462, 98.693222),
    "thigh_r": (-3.232044, 0.067992, 11.154600), "calf_r": (45.751938, 0.0, 0.0), "foot_r": (41.705467, 0.0, 0.0),
    "thigh_l": (-3.231992, 0.068032, -11.154586), "calf_l": (-45.752037, 0.0, 0.0), "foot_l": (-41.705421, 0.0, 0.0),
}  # fmt: skip
REST_ROTATORS_DEG = {
    "pelvis": (86.397, 90.0, -90.0),
    "thigh_r": (2.390, -175.0, 8.475), "calf_r": (0.0, 1.093458, 0.0), "foot_r": (-2.540, -0.114, 0.005),
    "thigh_l": (2.390, 4.797, 8.475), "calf_l": (0.0, 1.093458, 0.0), "foot_l": (-2.540, -0.114, 0.005),
}  # fmt: skip
"""Pitch, yaw, roll, each in its parent's space, the pelvis in the world's; the left calf's and foot's mirror the right's."""
_WORLD, _LOCAL, _PELVIS = "world", "parent bone", "pelvis"
_POSITION, _QUATERNION, _DIRECTION, _FLAG = (
    FieldKind.POSITION, FieldKind.QUATERNION_XYZW, FieldKind.DIRECTION, FieldKind.FLAG,
)  # fmt: skip


def _bones() -> Iterator[tuple[str, int, FieldKind, str, str]]:
    yield "pelvis_pos", 3, _POSITION, "cm", _WORLD
    yield "pelvis_quat", 4, _QUATERNION, "", _WORLD
    for bone in BONES:
        yield f"{bone}_pos", 3, _POSITION, "cm", _LOCAL
        yield f"{bone}_quat", 4, _QUATERNION, "", _LOCAL


def _frame_fields(space: str) -> FieldLayout:
    """The 63 numbers: pelvis, bones, what is under the feet, where the feet shall be (normals and targets in `space`)."""
    ground = [
        entry
        for side in SIDES
        for entry in (
            (f"ground_normal_{side}", 3, _DIRECTION, "", space),
            (f"has_hit_{side}", 1, _FLAG, "", "", 0.0, 1.0),
        )
    ]
    targets = [(f"foot_{side}_target", 3, _POSITION, "cm", space) for side in SIDES]
    return tiled(*_bones(), *ground, *targets)


def _rotations(kind: FieldKind) -> FieldLayout:
    return tiled(*((f"{bone}_quat", 4, kind, "", _LOCAL) for bone in BONES))


ENGINE_POSE, PACKET = _frame_fields(_WORLD), _frame_fields(_PELVIS)
MODEL_INPUT = FieldLayout(
    tuple(
        Field(
            field.name, field.start, field.size, FieldKind.RAW, "m" if field.unit == "cm" else field.unit, field.space
        )
        for field in PACKET
    )
)
RAW_ROTATIONS, ROTATIONS = _rotations(FieldKind.RAW), _rotations(FieldKind.QUATERNION_XYZW)
LEG_JOINTS = tiled(*((joint, 3, _POSITION, "cm", _WORLD) for joint in JOINTS))
FOOT_ERROR = tiled(*((f"foot_{side}", 1, FieldKind.SCALAR, "cm", "") for side in SIDES))
FPS = 60.0


@dataclass(frozen=True, eq=False)
class LegConstants:
    """The rig's numbers: femur and tibia (2,) cm, right first; bone axes (2, 3); the scale of positions."""

    femur_cm: FloatArray
    tibia_cm: FloatArray
    bone_axes: FloatArray
    position_scale: float


def declared_constants() -> dict[str, Any]:
    """The constants of this system's contract file, as JSON values."""
    return {
        "bones": list(BONES),
        "femur_cm": list(FEMUR_CM),
        "tibia_cm": list(TIBIA_CM),
        "bone_axes": [list(axis) for axis in BONE_AXES],
        "position_scale": POSITION_SCALE,
    }


def read_constants(constants: Mapping[str, Any]) -> LegConstants:
    """The numbers that the runtime needs; KeyError, TypeError or ValueError where they are not there or no numbers."""
    femur, tibia = (np.asarray(constants[name], np.float64).reshape(2) for name in ("femur_cm", "tibia_cm"))
    axes = np.asarray(constants["bone_axes"], np.float64).reshape(2, 3)
    return LegConstants(femur, tibia, axes, float(constants["position_scale"]))


def constant_problems(constants: Mapping[str, Any]) -> Iterator[Problem]:
    """Everything in which the constants contradict a rig with two legs."""
    try:
        rig = read_constants(constants)
    except (KeyError, TypeError, ValueError) as error:
        yield Problem("", f"{type(error).__name__}: {error}", "numbers of two legs", "no kinematics can be built")
        return
    if list(constants.get("bones", BONES)) != list(BONES):
        yield Problem("/bones", str(constants["bones"])[:80], ", ".join(BONES), "a rotation would turn another bone")
    for name, lengths in (("femur_cm", rig.femur_cm), ("tibia_cm", rig.tibia_cm)):
        if not (np.isfinite(lengths).all() and (lengths > 10.0).all() and (lengths < 100.0).all()):
            yield Problem(f"/{name}", str(lengths.tolist()), "two lengths of 10 to 100 cm", "metres, or inches?")
    norms = np.linalg.norm(rig.bone_axes, axis=1)
    if not np.allclose(norms, 1.0, atol=1e-6):
        yield Problem(
            "/bone_axes", f"lengths {norms.tolist()}", "unit vectors", "every bone would be longer or shorter"
        )
    elif rig.bone_axes[0] @ rig.bone_axes[1] > 0.0:
        yield Problem(
            "/bone_axes", str(rig.bone_axes.tolist()), "the left leg's axis mirrored", "the left leg would point up"
        )
    if not rig.position_scale > 0.0:
        yield Problem(
            "/position_scale", f"{rig.position_scale:g}", "a positive number", "the network would see no place"
        )
