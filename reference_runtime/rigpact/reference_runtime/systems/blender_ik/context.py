"""The network's inputs: effectors in the hips' axes, heights above the ground, and their scaling.

Every function takes frames and returns float32 rows (N, width); the arithmetic in between is float64.
"""

from __future__ import annotations

import numpy as np

from rigpact.contract.conventions import Knob
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.blender_ik import CONTEXT as _LAYOUT
from rigpact.contract.systems.blender_ik_rig import CONTACT_EFFECTORS, EFFECTORS, TASKS, IkConstants
from rigpact.contract.systems.stage import Bounds, Frames
from rigpact.reference_runtime.operations.definitions.euler import EULER
from rigpact.reference_runtime.operations.definitions.quaternions import FRAMES, to_matrix, unit
from rigpact.reference_runtime.operations.definitions.scaling import unscored, zscored
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_result

_COUNT, _FEET = len(EFFECTORS), [EFFECTORS.index(foot) for foot in CONTACT_EFFECTORS]
_ROTATIONS = np.concatenate(
    [np.arange(field.start, field.stop) for field in _LAYOUT if field.name.endswith("_rotation")]
)
_HEIGHTS = np.array([_LAYOUT[f"{foot}_height"].start for foot in CONTACT_EFFECTORS])
_PHASE, _TASK = _LAYOUT["phase"].start, _LAYOUT["task"].start
_COPY, _RELATIVE, _EULER = 2, 16, 24
"""Operations of the longest chains: a copy; a quaternion to a matrix and three products; the same plus an arc
tangent."""


def _scales(rotation_scale: float, height_scale: float) -> FloatArray:
    """What each number of the context is divided by, (50,)."""
    scales = np.ones(_LAYOUT.width)
    scales[_ROTATIONS], scales[_HEIGHTS] = rotation_scale, height_scale
    return scales


ROOT_RELATIVE = Knob(
    "root_relative",
    {
        "into_hips_axes": FRAMES["into_frame"],
        "out_of_hips_axes": FRAMES["into_frame_turned_forward"],
        "translation_only": FRAMES["into_frame_not_turned"],
    },
    "how an effector's way from the hips is turned",
    {
        "out_of_hips_axes": "the hips' axes are the columns of R: a position among them is R^T d, not R d",
        "translation_only": "turn the difference into the hips' axes",
    },
)
ROOT_AXES = Knob(
    "root_axes", {"y_forward_z_up": (1, 2), "z_forward_y_up": (2, 1), "x_forward_z_up": (0, 2)},
    "which of the hips' axes are forward and up",
    {
        "z_forward_y_up": "forward is the second column of the hips' matrix, up the third",
        "x_forward_z_up": "forward is the second column of the hips' matrix",
    },
)  # fmt: skip
EULER_ORDER = Knob(
    "euler_order", {"xyz": EULER["xyz_rad"], "zyx": EULER["XYZ_rad"]}, "the order of an effector's Euler angles",
    {"zyx": "Blender's XYZ is Rz Ry Rx on columns: x turns first"},
)  # fmt: skip
EFFECTOR_ROTATION_SPACE = Knob(
    "effector_rotation_space",
    {
        "world": lambda _hips, orientations: orientations,
        "hips": lambda hips, orientations: np.swapaxes(hips, 1, 2)[:, None] @ orientations,
    },
    "the space of an effector's rotation",
    {"hips": "an effector's rotation stays in world space, only its position is relative"},
)
EFFECTOR_ORDER = Knob(
    "effector_order",
    {"hands_feet_head": [0, 1, 2, 3, 4], "feet_hands_head": [2, 3, 0, 1, 4], "right_before_left": [1, 0, 3, 2, 4]},
    "the order of the five effectors",
    {
        "feet_hands_head": "left hand, right hand, left foot, right foot, head",
        "right_before_left": "left is first in every pair",
    },
)
HEIGHT = Knob(
    "height",
    {
        "above_ground": lambda foot, ground: foot - ground,
        "ground_height": lambda _foot, ground: ground,
        "above_zero": lambda foot, _ground: foot,
    },
    "what the height of a foot is measured from",
    {
        "ground_height": "training saw the foot's height above the ground, not the ground's own height",
        "above_zero": "take the ground's height off the foot's",
    },
)
CONTACT_FLAGS = Knob(
    "contact_flags", {"grounded_desired": [4, 5], "desired_grounded": [5, 4]}, "the order of a foot's two flags",
    {"desired_grounded": "grounded comes before desired contact"},
)  # fmt: skip
NORMALISATION = Knob(
    "normalisation", {"scaled": zscored, "missing": lambda values, *_scales: values},
    "whether rotations and heights are scaled before the network",
    {"missing": "the network was trained on scaled inputs: normalise before it"},
)  # fmt: skip
ROTATION_SCALE = Knob(
    "rotation_scale", {"pi": 1.0, "none": 1.0 / np.pi, "degrees_over_180": np.pi / 180.0},
    "what Euler angles are divided by, as a multiple of the contract's own scale",
    {
        "none": "Euler angles are divided by pi",
        "degrees_over_180": "the angle is already in radians: divide by pi once",
    },
)  # fmt: skip
HEIGHT_SCALE = Knob(
    "height_scale", {"half": 1.0, "none": 0.5}, "what heights are divided by, as a multiple of the contract's own scale",
    {"none": "heights are divided by 2"},
)  # fmt: skip
TASK_SCALE = Knob(
    "task_scale", {"number": 1.0, "fifth": 1.0 / (len(TASKS) - 1)}, "the factor of the task's number",
    {"fifth": "the network gets the task's number itself"},
)  # fmt: skip
PHASE_UNIT = Knob(
    "phase_unit", {"cycle": 1.0, "radians": 2.0 * np.pi}, "the unit of the phase",
    {"radians": "the phase is 0 to 1 over a cycle"},
)  # fmt: skip


def context(frames: Frames) -> FloatArray:
    """The 50 numbers in metres and radians, (N, 50)."""
    effectors, root, ground = (frames[name].astype(np.float64) for name in ("effectors", "root", "ground"))
    effectors, ground = effectors.reshape(-1, _COUNT, 7), ground.reshape(-1, len(_FEET), 6)
    turn = unit(root[:, None, 3:])
    positions, hips = frames.pick(ROOT_RELATIVE)(effectors[..., :3], root[:, None, :3], turn), to_matrix(turn[:, 0])
    orientations = frames.pick(EFFECTOR_ROTATION_SPACE)(hips, to_matrix(unit(effectors[..., 3:])))
    _, to_angles = frames.pick(EULER_ORDER)
    angles = to_angles(orientations)
    told = np.concatenate([positions, angles], axis=2)[:, frames.pick(EFFECTOR_ORDER)].reshape(len(root), -1)
    forward, up = frames.pick(ROOT_AXES)
    feet = ground.copy()
    feet[..., 0] = frames.pick(HEIGHT)(effectors[:, _FEET, 2], ground[..., 0])
    feet[..., 4:] = ground[..., frames.pick(CONTACT_FLAGS)]
    axes = (hips[:, :, forward], hips[:, :, up])
    return stored(np.hstack([told, *axes, feet.reshape(len(root), -1), frames["motion"].astype(np.float64)]))


def context_bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
    """Positions are differences of world positions, turned; angles are arc tangents, ill-conditioned near gimbal lock.

    Near a quarter turn of the middle angle, the error of the outer two angles is u divided by its cosine. An angle that
    close to ±π can have either sign, so the bound there is a whole turn.
    """
    world = np.abs(frames["effectors"].astype(np.float64)).reshape(-1, _COUNT, 7)[..., :3]
    root = np.abs(frames["root"].astype(np.float64))[:, None, :3]
    bound = np.broadcast_to(gamma(_RELATIVE) * np.maximum(1.0, np.abs(rows)), rows.shape).astype(np.float64)
    told = bound[:, : 6 * _COUNT].reshape(-1, _COUNT, 6)
    told[..., :3] = gamma(_RELATIVE) * (world.sum(axis=2, keepdims=True) + root.sum(axis=2, keepdims=True))
    told[..., 3:] = _euler_bound(rows[:, : 6 * _COUNT].reshape(-1, _COUNT, 6)[..., 3:].astype(np.float64))
    bound[:, : 6 * _COUNT] = told.reshape(len(bound), -1)
    bound[:, _HEIGHTS] = gamma(_COPY) * (world[:, _FEET, 2] + np.abs(frames["ground"][:, ::6]) + 1e-3)
    bound[:, _HEIGHTS[-1] + 1 :] = gamma(_COPY) * np.abs(rows[:, _HEIGHTS[-1] + 1 :])
    return bound


def _euler_bound(angles: FloatArray) -> FloatArray:
    steady = np.maximum(np.abs(np.cos(angles[..., 1:2])), gamma(_EULER))
    bound = np.broadcast_to(gamma(_EULER) * (1.0 + np.pi) / steady, angles.shape).copy()
    bound[np.pi - np.abs(angles) < 4.0 * bound] = 2.0 * np.pi + 1e-5
    return bound


def model_input(frames: Frames) -> FloatArray:
    """The scaled context, as the network expects it, (N, 50)."""
    values, rig = frames["context"].astype(np.float64), frames.numbers
    scales = _scales(rig.rotation_scale * frames.pick(ROTATION_SCALE), rig.height_scale * frames.pick(HEIGHT_SCALE))
    values = frames.pick(NORMALISATION)(values, 0.0, scales)
    values[:, _TASK] *= frames.pick(TASK_SCALE)
    values[:, _PHASE] *= frames.pick(PHASE_UNIT)
    return stored(values)


def denormalised(rows: FloatArray, rig: IkConstants) -> FloatArray:
    """The context of a scaled input, (N, 50): the inverse of `model_input`."""
    return stored(unscored(rows.astype(np.float64), 0.0, _scales(rig.rotation_scale, rig.height_scale)))


input_bound = of_result(4)
"""A division by a rounded constant, and a store."""
