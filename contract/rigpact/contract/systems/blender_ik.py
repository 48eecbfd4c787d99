"""Blender full-body IK: five effectors, the hips, the ground and the task in; rotation vectors of 23 bones out.

Source: "Neural Network IK System", document and code; where the two part, docs/systems/blender_ik.md says which is meant.
Space: right-handed, z up, metres; the character faces +y, left is -x; a bone's own y axis runs along it.
The skeleton's numbers stand in blender_ik_rig.py.
"""

from __future__ import annotations

from rigpact.contract.systems.blender_ik_rig import BONES, CONTACT_EFFECTORS, EFFECTORS, TASKS
from rigpact.contract.systems.definition import SystemDefinition
from rigpact.contract.systems.layout import FieldKind, FieldLayout, tiled

GROUNDED_BELOW_M = 0.1
LAYER_WIDTHS = (50, 128, 96, 69)
PARAMETER_COUNT = 25_605
"""The document says about 23,000: that is an ancestor's, with 36 inputs."""
LOSS_WEIGHTS = {"effector": 1.0, "pose": 0.3, "contact": 0.5, "limit": 0.1, "slip": 0.2}
"""The document's."""
_WORLD, _LOCAL = "world, z up", "bone, from its rest"

_CONTEXT = tiled(
    *(
        entry
        for effector in EFFECTORS
        for entry in (
            (f"{effector}_position", 3, FieldKind.POSITION, "m", "hips' axes, from the hips"),
            (f"{effector}_rotation", 3, FieldKind.EULER_XYZ, "rad", _WORLD),
        )
    ),
    ("root_forward", 3, FieldKind.DIRECTION, "", _WORLD),
    ("root_up", 3, FieldKind.DIRECTION, "", _WORLD),
    *(
        entry
        for foot in CONTACT_EFFECTORS
        for entry in (
            (f"{foot}_height", 1, FieldKind.SCALAR, "m", "above the ground below it"),
            (f"{foot}_ground_normal", 3, FieldKind.DIRECTION, "", _WORLD),
            (f"{foot}_grounded", 1, FieldKind.FLAG, "", "", 0.0, 1.0),
            (f"{foot}_desired_contact", 1, FieldKind.FLAG, "", "", 0.0, 1.0),
        )
    ),
    ("phase", 1, FieldKind.SCALAR, "cycle", "", 0.0, 1.0),
    ("task", 1, FieldKind.SCALAR, "", "number of the task", 0.0, len(TASKS) - 1.0),
)


def _normalised() -> FieldLayout:
    return tiled(*((field.name, field.size, FieldKind.RAW, "", "scaled") for field in _CONTEXT))


def _bones(size: int, kind: FieldKind, unit: str, space: str) -> FieldLayout:
    return tiled(*((bone, size, kind, unit, space) for bone in BONES))


DEFINITION = SystemDefinition(
    name="blender_ik",
    title="Blender full-body IK",
    page="blender_ik.md",
    vectors={
        "effectors": tiled(
            *(
                entry
                for effector in EFFECTORS
                for entry in (
                    (f"{effector}_position", 3, FieldKind.POSITION, "m", _WORLD),
                    (f"{effector}_orientation", 4, FieldKind.QUATERNION_XYZW, "", _WORLD),
                )
            )
        ),
        "root": tiled(
            ("hips_position", 3, FieldKind.POSITION, "m", _WORLD),
            ("hips_orientation", 4, FieldKind.QUATERNION_XYZW, "", _WORLD),
        ),
        "ground": tiled(
            *(
                entry
                for foot in CONTACT_EFFECTORS
                for entry in (
                    (f"{foot}_ground_height", 1, FieldKind.SCALAR, "m", _WORLD),
                    (f"{foot}_ground_normal", 3, FieldKind.DIRECTION, "", _WORLD),
                    (f"{foot}_grounded", 1, FieldKind.FLAG, "", "", 0.0, 1.0),
                    (f"{foot}_desired_contact", 1, FieldKind.FLAG, "", "", 0.0, 1.0),
                )
            )
        ),
        "motion": tiled(
            ("phase", 1, FieldKind.SCALAR, "cycle", "", 0.0, 1.0),
            ("task", 1, FieldKind.SCALAR, "", "number of the task", 0.0, len(TASKS) - 1.0),
        ),
        "context": _CONTEXT,
        "model_input": _normalised(),
        "rotations": _bones(3, FieldKind.ROTATION_VECTOR, "rad", _LOCAL),
        "limited": _bones(3, FieldKind.ROTATION_VECTOR, "rad", _LOCAL),
        "pose": _bones(4, FieldKind.QUATERNION_XYZW, "", _LOCAL),
        "positions": _bones(3, FieldKind.POSITION, "m", _WORLD),
        "effector_error": tiled(*((effector, 1, FieldKind.SCALAR, "m", "") for effector in EFFECTORS)),
    },
    inputs=("model_input",),
    outputs=("rotations",),
    knobs={
        "root_relative": ("into_hips_axes", "out_of_hips_axes", "translation_only"),
        "root_axes": ("y_forward_z_up", "z_forward_y_up", "x_forward_z_up"),
        "euler_order": ("xyz", "zyx"),
        "effector_rotation_space": ("world", "hips"),
        "effector_order": ("hands_feet_head", "feet_hands_head", "right_before_left"),
        "height": ("above_ground", "ground_height", "above_zero"),
        "contact_flags": ("grounded_desired", "desired_grounded"),
        "normalisation": ("scaled", "missing"),
        "rotation_scale": ("pi", "none", "degrees_over_180"),
        "height_scale": ("half", "none"),
        "task_scale": ("number", "fifth"),
        "phase_unit": ("cycle", "radians"),
        "clamp": ("applied", "none"),
        "limit_set": ("rig_export", "document"),
        "clamp_place": ("before_kinematics", "behind_kinematics"),
        "rotation_vector": ("norm_is_angle", "norm_is_half_angle"),
        "quaternion_order": ("xyzw", "wxyz"),
        "rest_orientation": ("used", "ignored"),
        "local_order": ("rest_then_local", "local_then_rest"),
        "fk_root": ("hips", "default"),
        "target_space": ("world", "hips_relative"),
    },
    hints={
        "root_relative=out_of_hips_axes": "the hips' axes are the columns of R: a position among them is R^T d, not R d",
        "root_relative=translation_only": "turn the difference into the hips' axes",
        "root_axes=z_forward_y_up": "forward is the second column of the hips' matrix, up the third",
        "root_axes=x_forward_z_up": "forward is the second column of the hips' matrix",
        "euler_order=zyx": "Blender's XYZ is Rz Ry Rx on columns: x turns first",
        "effector_rotation_space=hips": "an effector's rotation stays in world space, only its position is relative",
        "effector_order=feet_hands_head": "left hand, right hand, left foot, right foot, head",
        "effector_order=right_before_left": "left is first in every pair",
        "height=ground_height": "training saw the foot's height above the ground, not the ground's own height",
        "height=above_zero": "take the ground's height off the foot's",
        "contact_flags=desired_grounded": "grounded comes before desired contact",
        "normalisation=missing": "the network was trained on scaled inputs: normalise before it",
        "rotation_scale=none": "Euler angles are divided by pi",
        "rotation_scale=degrees_over_180": "the angle is already in radians: divide by pi once",
        "height_scale=none": "heights are divided by 2",
        "task_scale=fifth": "the network gets the task's number itself",
        "phase_unit=radians": "the phase is 0 to 1 over a cycle",
        "clamp=none": "clamp every component to the joint's limits before the pose is used",
        "limit_set=document": "the document's limits contradict the rig: its knees bend the other way",
        "clamp_place=behind_kinematics": "the kinematics must see the clamped rotations, as training did",
        "rotation_vector=norm_is_half_angle": "the norm of a rotation vector is the whole angle; halve it for a quaternion",
        "quaternion_order=wxyz": "Blender's quaternions have w first, the published pose has it last",
        "rest_orientation=ignored": "kinematics need each bone's rest orientation: W = W_parent (B_parent^T B) A",
        "local_order=local_then_rest": "a rotation is local to the rest pose: B A, not A B",
        "fk_root=default": "give the kinematics the hips' position; their default is (0, 0, 1)",
        "target_space=hips_relative": "compare world positions with world targets",
    },
    fps=30.0,
)
