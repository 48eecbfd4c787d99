"""Blender full-body IK: five effectors, the hips, the ground and the task in; rotation vectors of 23 bones out.

Source: "Neural Network IK System", document and code; where the two part, docs/systems/blender_ik.md says which is meant.
Space: right-handed, z up, metres; the character faces +y, left is -x; a bone's own y axis runs along it.
The skeleton's numbers stand in blender_ik_rig.py.
"""

from __future__ import annotations

from rigpact.contract.systems.blender_ik_rig import BONES, CONTACT_EFFECTORS, EFFECTORS, TASKS
from rigpact.contract.systems.layout import FieldKind, FieldLayout, tiled

GROUNDED_BELOW_M = 0.1
LAYER_WIDTHS = (50, 128, 96, 69)
PARAMETER_COUNT = 25_605
"""The document says about 23,000: that is an ancestor's, with 36 inputs."""
_WORLD, _LOCAL = "world, z up", "bone, from its rest"

CONTEXT = tiled(
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


def _bones(size: int, kind: FieldKind, unit: str, space: str) -> FieldLayout:
    return tiled(*((bone, size, kind, unit, space) for bone in BONES))


EFFECTOR_TARGETS = tiled(
    *(
        entry
        for effector in EFFECTORS
        for entry in (
            (f"{effector}_position", 3, FieldKind.POSITION, "m", _WORLD),
            (f"{effector}_orientation", 4, FieldKind.QUATERNION_XYZW, "", _WORLD),
        )
    )
)
ROOT = tiled(
    ("hips_position", 3, FieldKind.POSITION, "m", _WORLD),
    ("hips_orientation", 4, FieldKind.QUATERNION_XYZW, "", _WORLD),
    ("armature_orientation", 4, FieldKind.QUATERNION_XYZW, "", _WORLD),
)
GROUND = tiled(
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
)
MOTION = tiled(
    ("phase", 1, FieldKind.SCALAR, "cycle", "", 0.0, 1.0),
    ("task", 1, FieldKind.SCALAR, "", "number of the task", 0.0, len(TASKS) - 1.0),
)
MODEL_INPUT = tiled(*((field.name, field.size, FieldKind.RAW, "", "scaled") for field in CONTEXT))
ROTATION_VECTORS = _bones(3, FieldKind.ROTATION_VECTOR, "rad", _LOCAL)
POSE = _bones(4, FieldKind.QUATERNION_XYZW, "", _LOCAL)
POSITIONS = _bones(3, FieldKind.POSITION, "m", _WORLD)
EFFECTOR_ERROR = tiled(*((effector, 1, FieldKind.SCALAR, "m", "") for effector in EFFECTORS))
FPS = 30.0
