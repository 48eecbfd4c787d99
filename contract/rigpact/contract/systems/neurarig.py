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
from rigpact.contract.systems.definition import SystemDefinition
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


def _bones(unit: str) -> Iterator[tuple[str, int, FieldKind, str, str]]:
    yield "pelvis_pos", 3, _POSITION, unit, _WORLD
    yield "pelvis_quat", 4, _QUATERNION, "", _WORLD
    for bone in BONES:
        yield f"{bone}_pos", 3, _POSITION, unit, _LOCAL
        yield f"{bone}_quat", 4, _QUATERNION, "", _LOCAL


def frame_fields(unit: str, space: str) -> FieldLayout:
    """The 63 numbers: pelvis, bones, what is under the feet, where the feet shall be (normals and targets in `space`)."""
    ground = [
        entry
        for side in SIDES
        for entry in (
            (f"ground_normal_{side}", 3, _DIRECTION, "", space),
            (f"has_hit_{side}", 1, _FLAG, "", "", 0.0, 1.0),
        )
    ]
    targets = [(f"foot_{side}_target", 3, _POSITION, unit, space) for side in SIDES]
    return tiled(*_bones(unit), *ground, *targets)


def _rotations(kind: FieldKind) -> FieldLayout:
    return tiled(*((f"{bone}_quat", 4, kind, "", _LOCAL) for bone in BONES))


_NETWORK_INPUT = FieldLayout(
    tuple(
        Field(
            field.name, field.start, field.size, FieldKind.RAW, "m" if field.unit == "cm" else field.unit, field.space
        )
        for field in frame_fields("cm", _PELVIS)
    )
)
DEFINITION = SystemDefinition(
    name="neurarig",
    title="NeuraRig leg IK",
    page="neurarig.md",
    vectors={
        "engine_pose": frame_fields("cm", _WORLD),
        "packet": frame_fields("cm", _PELVIS),
        "model_input": _NETWORK_INPUT,
        "raw_rotations": _rotations(FieldKind.RAW),
        "rotations": _rotations(FieldKind.QUATERNION_XYZW),
        "reply": _rotations(FieldKind.RAW),
        "joints": tiled(*((joint, 3, _POSITION, "cm", _WORLD) for joint in JOINTS)),
        "foot_error": tiled(*((f"foot_{side}", 1, FieldKind.SCALAR, "cm", "") for side in SIDES)),
    },
    inputs=("model_input",),
    outputs=("raw_rotations",),
    knobs={
        "target_space": ("pelvis", "world", "forward_transform", "relative_not_turned"),
        "normal_space": ("pelvis", "world"),
        "quaternion_order": ("xyzw", "wxyz"),
        "handedness": ("unreal", "right_handed"),
        "unit": ("cm", "m"),
        "tail_order": ("normals_hits_targets", "targets_normals_hits_by_side"),
        "chain_order": ("right_first", "left_first"),
        "input_copy": ("whole", "63_bytes"),
        "input_scale": ("hundredth", "none"),
        "normalisation": ("unit", "none"),
        "quaternion_sign": ("w_not_negative", "as_it_comes"),
        "reply_length": ("97_bytes", "25_bytes"),
        "reply_order": ("xyzw", "wxyz"),
        "bone_axis": ("x_mirrored", "x_both", "minus_z"),
        "multiplication": ("parent_child", "child_parent"),
        "fk_space": ("world", "pelvis"),
        "leg_lengths": ("declared", "rounded", "swapped"),
        "error_target": ("world", "pelvis_target_as_world"),
    },
    hints={
        "target_space=world": "targets are sent in the pelvis' space: R(q)^-1 (target - p)",
        "target_space=forward_transform": "into the pelvis' space is the inverse rotation, not the rotation",
        "target_space=relative_not_turned": "the pelvis' rotation is missing: R(q)^-1 (target - p)",
        "normal_space=world": "ground normals are sent in the pelvis' space, turned and not moved",
        "quaternion_order=wxyz": "w is last; glm and Eigen constructors take it first",
        "handedness=right_handed": "Unreal's rotator to quaternion has x and y negated against the right-handed formula",
        "unit=m": "positions are sent in centimetres",
        "tail_order=targets_normals_hits_by_side": "an older schema of as many floats: normals and hits come before both targets",
        "chain_order=left_first": "the right leg is first, in what is sent and in the reply",
        "input_copy=63_bytes": "memcpy counts bytes: 63 floats are 252; the rest stays zero, and training 'converges' at once",
        "input_scale=none": "the network was trained on metres: positions times 0.01",
        "normalisation=none": "the network's quaternions are not unit: normalise before any use",
        "quaternion_sign=as_it_comes": "q and -q are one rotation: flip where w < 0, or interpolation takes the long way",
        "reply_length=25_bytes": "the reply is 1 + 24 * 4 bytes; size() counts floats, so only six arrive",
        "reply_order=wxyz": "the reply has w last",
        "bone_axis=x_both": "the left leg's bones run along -x",
        "bone_axis=minus_z": "this rig's bones run along x, not along -z",
        "multiplication=child_parent": "world = parent * local; for quaternions too",
        "fk_space=pelvis": "positions are in world space: p + R(q) v",
        "leg_lengths=rounded": "45.75 and 41.70 are rounded; use the contract's lengths",
        "leg_lengths=swapped": "femur first, tibia second",
        "error_target=pelvis_target_as_world": "compare with the target in world space: p + R(q) target",
    },
    fps=60.0,
)


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
