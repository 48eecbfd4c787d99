"""The network's inputs: effectors in the hips' axes, heights above the ground, and their scaling.

Every function takes frames and returns float32 rows (N, width); the arithmetic in between is float64.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from rigpact.contract.conventions import Knob
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.blender_ik import CONTEXT as _LAYOUT
from rigpact.contract.systems.blender_ik_rig import BONES, CONTACT_EFFECTORS, EFFECTORS, TASKS, IkConstants
from rigpact.contract.systems.stage import Bounds, Frames
from rigpact.reference_runtime.operations.definitions.euler import EULER, TRIPLES
from rigpact.reference_runtime.operations.definitions.quaternions import (
    FRAMES,
    TO_XYZW,
    TURNS,
    product,
    to_matrix,
    unit,
)
from rigpact.reference_runtime.operations.definitions.scaling import unscored, zscored
from rigpact.reference_runtime.operations.geometry import matrix_to_quat
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_result

_COUNT, _FEET = len(EFFECTORS), [EFFECTORS.index(foot) for foot in CONTACT_EFFECTORS]
EFFECTOR_BONES = [BONES.index(effector) for effector in EFFECTORS]
_ROTATIONS = np.concatenate(
    [np.arange(field.start, field.stop) for field in _LAYOUT if field.name.endswith("_rotation")]
)
_HEIGHTS = np.array([_LAYOUT[f"{foot}_height"].start for foot in CONTACT_EFFECTORS])
_PHASE, _TASK = _LAYOUT["phase"].start, _LAYOUT["task"].start
_COPY, _RELATIVE, _EULER = 2, 16, 64
"""Operations of the longest chains: a copy; a quaternion to a matrix and three products; for angles, a matrix that an engine
multiplies up in float32, six for each of nine bones and the armature, and an arc tangent."""


def _scales(rotation_scale: float, height_scale: float) -> FloatArray:
    """What each number of the context is divided by, (50,)."""
    scales = np.ones(_LAYOUT.width)
    scales[_ROTATIONS], scales[_HEIGHTS] = rotation_scale, height_scale
    return scales


@lru_cache(maxsize=8)  # of a rig that does not change; single frames are evaluated many times
def _hips_at_rest(rig: IkConstants) -> FloatArray:
    return matrix_to_quat(rig.orientations[0])


def root_frame(frames: Frames, root: FloatArray) -> FloatArray:
    """The orientation of the root's axes in the world, (N, 4)."""
    turn: FloatArray = frames.pick(ROOT_FRAME)(root, _hips_at_rest(frames.numbers))
    return turn


def _sorted_by_name(tasks: FloatArray) -> FloatArray:
    known = np.clip(np.nan_to_num(tasks), 0, len(TASKS) - 1).astype(int)
    return np.asarray(np.array([sorted(TASKS).index(task) for task in TASKS], np.float64)[known])


ROOT_FRAME = Knob(
    "root_frame", {
        "rest_hips": lambda root, rest: product(unit(root[:, 7:]), rest),
        "posed_hips": lambda root, _rest: unit(root[:, 3:7]),
        "armature": lambda root, _rest: unit(root[:, 7:]),
    },
    "whose axes effectors are told in, and are told as forward and up",
    {
        "posed_hips": "the axes are those of the hips at rest, turned by the armature: bone.matrix_local",
        "armature": "the hips' own axes at rest, not the armature's: their y axis points up",
    },
)  # fmt: skip
EFFECTOR_ROTATION_SENSE = Knob(
    "effector_rotation_sense", {"forward": TURNS["forward"], "inverse": TURNS["inverse"]},
    "which way an effector's rotation is told",
    {"inverse": "angles of the matrix whose columns are the bone's axes, not of its transpose"},
)  # fmt: skip
EFFECTOR_POINT = Knob(
    "effector_point", {"head": 0.0, "tail": 1.0}, "which end of an effector's bone is told",
    {"tail": "an effector is where its bone begins: bone.head, not bone.tail"},
)  # fmt: skip
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
EFFECTOR_QUATERNION = Knob(
    "effector_quaternion", TO_XYZW, "the order in which an effector's quaternion is read",
    {"wxyz": "recorded quaternions have w last, Quaternion((w, x, y, z)) takes it first"},
)  # fmt: skip
EULER_TRIPLE = Knob(
    "euler_triple", TRIPLES, "which of the two triples of Euler angles that mean one rotation is told",
    {"middle_within_90_deg": "Blender tells (x ± 180, 180 - y, z ± 180) degrees where the sum of those three is smaller"},
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
FEET_ORDER = Knob(
    "feet_order", {"left_right": [0, 1], "right_left": [1, 0]}, "the order of the feet in the ground's block",
    {"right_left": "the left foot's ground comes first"},
)  # fmt: skip
CONTACT_FLAGS = Knob(
    "contact_flags", {"grounded_desired": [4, 5], "desired_grounded": [5, 4]}, "the order of a foot's two flags",
    {"desired_grounded": "grounded comes before desired contact"},
)  # fmt: skip
TASK_NUMBERS = Knob(
    "task_numbers",
    {
        "declared": lambda tasks: tasks,
        "sorted_by_name": _sorted_by_name,
        "grab_is_reach": lambda tasks: np.where(tasks == TASKS.index("grab"), TASKS.index("reach"), tasks),
    },
    "the numbers of the tasks",
    {
        "sorted_by_name": "a task's number is its place in the contract's list, not in one that is sorted by name",
        "grab_is_reach": "grab has a number of its own",
    },
)
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
    root, motion = (frames[name].astype(np.float64) for name in ("root", "motion"))
    turn = root_frame(frames, root)
    axes = to_matrix(turn)
    forward, up = frames.pick(ROOT_AXES)
    motion[:, 1] = frames.pick(TASK_NUMBERS)(motion[:, 1])
    return stored(
        np.hstack([_told(frames, root, turn, axes), axes[:, :, forward], axes[:, :, up], _feet(frames), motion])
    )


def _told(frames: Frames, root: FloatArray, turn: FloatArray, axes: FloatArray) -> FloatArray:
    """Positions and angles of the effectors, (N, 30)."""
    effectors = frames["effectors"].astype(np.float64).reshape(-1, _COUNT, 7)
    quaternions = unit(effectors[..., 3:][..., frames.pick(EFFECTOR_QUATERNION)])
    world, told = to_matrix(quaternions), to_matrix(frames.pick(EFFECTOR_ROTATION_SENSE)(quaternions))
    past_head = frames.pick(EFFECTOR_POINT) * frames.numbers.lengths_m[EFFECTOR_BONES, None] * world[..., 1]
    positions = frames.pick(ROOT_RELATIVE)(effectors[..., :3] + past_head, root[:, None, :3], turn[:, None])
    _, to_angles = frames.pick(EULER_ORDER)
    angles = frames.pick(EULER_TRIPLE)(to_angles(frames.pick(EFFECTOR_ROTATION_SPACE)(axes, told)))
    return np.concatenate([positions, angles], axis=2)[:, frames.pick(EFFECTOR_ORDER)].reshape(len(root), -1)


def _feet(frames: Frames) -> FloatArray:
    """The ground's block, (N, 12)."""
    effectors, ground = (frames[name].astype(np.float64) for name in ("effectors", "ground"))
    feet = ground.reshape(-1, len(_FEET), 6)
    heights = frames.pick(HEIGHT)(effectors.reshape(-1, _COUNT, 7)[:, _FEET, 2], feet[..., 0])
    told = np.concatenate([heights[..., None], feet[..., 1:4], feet[..., frames.pick(CONTACT_FLAGS)]], axis=2)
    return told[:, frames.pick(FEET_ORDER)].reshape(len(ground), -1)


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
    """Of angles (N, 5, 3). Where both triples have the same sum, which is 270 degrees, a side may tell either."""
    steady = np.maximum(np.abs(np.cos(angles[..., 1:2])), gamma(_EULER))
    bound = np.broadcast_to(gamma(_EULER) * (1.0 + np.pi) / steady, angles.shape).copy()
    is_tie = np.abs(np.abs(angles).sum(axis=2) - 1.5 * np.pi) < 4.0 * bound.sum(axis=2)
    is_seam = (np.pi - np.abs(angles) < 4.0 * bound) | is_tie[..., None]
    bound[is_seam] = 2.0 * np.pi + 1e-5
    return bound


def model_input(frames: Frames) -> FloatArray:
    """The scaled context, as the network expects it, (N, 50)."""
    shift, scales = _scaling(frames.numbers, frames.pick)
    return stored(
        frames.pick(NORMALISATION)(frames["context"].astype(np.float64), shift, scales) * _factors(frames.pick)
    )


def denormalised(rows: FloatArray, contract: Any) -> FloatArray:
    """The context of a scaled input, (N, 50): the inverse of `model_input` under the contract's conventions."""

    def pick(knob: Knob) -> Any:
        return knob.effects[contract.conventions[knob.name]]

    values = rows.astype(np.float64) / _factors(pick)
    is_scaled = contract.conventions[NORMALISATION.name] == "scaled"
    return stored(unscored(values, *_scaling(contract.numbers, pick)) if is_scaled else values)


def _scaling(rig: IkConstants, pick: Callable[[Knob], Any]) -> tuple[float, FloatArray]:
    return 0.0, _scales(rig.rotation_scale * pick(ROTATION_SCALE), rig.height_scale * pick(HEIGHT_SCALE))


def _factors(pick: Callable[[Knob], Any]) -> FloatArray:
    """What task and phase are multiplied by, (50,)."""
    factors = np.ones(_LAYOUT.width)
    factors[_TASK], factors[_PHASE] = pick(TASK_SCALE), pick(PHASE_UNIT)
    return factors


input_bound = of_result(4)
"""A division by a rounded constant, and a store."""
