"""What the network is told: effectors among the hips' axes, heights above the ground, and the scaling of all of it.

Every function takes rows (T, width) and returns float32 rows; the arithmetic in between is float64.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.blender_ik import DEFINITION
from rigpact.contract.systems.blender_ik_rig import CONTACT_EFFECTORS, EFFECTORS, TASKS, IkConstants
from rigpact.contract.systems.definition import Choices
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.systems.blender_ik.rotations import (
    matrix_to_euler_xyz,
    matrix_to_euler_zyx,
    quaternion_to_matrix,
)
from rigpact.reference_runtime.systems.enemy_animation.tolerances import gamma
from rigpact.reference_runtime.systems.stage_graph import Stages

CONTEXT_KNOBS = (
    "root_relative", "root_axes", "euler_order", "effector_rotation_space", "effector_order", "height", "contact_flags",
)  # fmt: skip
INPUT_KNOBS = ("normalisation", "rotation_scale", "height_scale", "task_scale", "phase_unit")
_COUNT, _FEET = len(EFFECTORS), [EFFECTORS.index(foot) for foot in CONTACT_EFFECTORS]
_LAYOUT = DEFINITION.vectors["context"]

ROOT_RELATIVE: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "into_hips_axes": lambda hips, difference: np.einsum("tba,tkb->tka", hips, difference),
    "out_of_hips_axes": lambda hips, difference: np.einsum("tab,tkb->tka", hips, difference),
    "translation_only": lambda _hips, difference: difference,
}
"""(T, 3, 3) axes of the hips as columns, (T, 5, 3) effectors from the hips in world axes."""
ROOT_AXES: Mapping[str, tuple[int, int]] = {
    "y_forward_z_up": (1, 2),
    "z_forward_y_up": (2, 1),
    "x_forward_z_up": (0, 2),
}
EULER: Mapping[str, Callable[[FloatArray], FloatArray]] = {"xyz": matrix_to_euler_xyz, "zyx": matrix_to_euler_zyx}
EFFECTOR_ORDER: Mapping[str, list[int]] = {
    "hands_feet_head": [0, 1, 2, 3, 4],
    "feet_hands_head": [2, 3, 0, 1, 4],
    "right_before_left": [1, 0, 3, 2, 4],
}
HEIGHT: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "above_ground": lambda foot, ground: foot - ground,
    "ground_height": lambda _foot, ground: ground,
    "above_zero": lambda foot, _ground: foot,
}
CONTACT_FLAGS: Mapping[str, list[int]] = {"grounded_desired": [4, 5], "desired_grounded": [5, 4]}
ROTATION_SCALE: Mapping[str, float] = {"pi": 1.0, "none": 1.0 / np.pi, "degrees_over_180": np.pi / 180.0}
HEIGHT_SCALE: Mapping[str, float] = {"half": 1.0, "none": 0.5}
"""As a multiple of the contract's own scale."""
TASK_SCALE: Mapping[str, float] = {"number": 1.0, "fifth": 1.0 / (len(TASKS) - 1)}
PHASE_UNIT: Mapping[str, float] = {"cycle": 1.0, "radians": 2.0 * np.pi}
_ROTATIONS = np.concatenate(
    [np.arange(field.start, field.stop) for field in _LAYOUT if field.name.endswith("_rotation")]
)
_HEIGHTS = np.array([_LAYOUT[f"{foot}_height"].start for foot in CONTACT_EFFECTORS])
_PHASE, _TASK = _LAYOUT["phase"].start, _LAYOUT["task"].start
_COPY, _RELATIVE, _EULER = 2, 16, 24
"""Longest chains: moved; a quaternion to a matrix and three products; the same and an arc tangent."""


def context(stages: Stages, choices: Choices) -> FloatArray:
    """The 50 numbers in metres and radians, (T, 50)."""
    effectors, root, ground = (stages[name].astype(np.float64) for name in ("effectors", "root", "ground"))
    effectors, ground = effectors.reshape(-1, _COUNT, 7), ground.reshape(-1, len(_FEET), 6)
    hips = quaternion_to_matrix(root[:, 3:])
    positions = ROOT_RELATIVE[choices["root_relative"]](hips, effectors[..., :3] - root[:, None, :3])
    orientations = quaternion_to_matrix(effectors[..., 3:])
    if choices["effector_rotation_space"] == "hips":
        orientations = np.swapaxes(hips, 1, 2)[:, None] @ orientations
    angles = EULER[choices["euler_order"]](orientations)
    order = EFFECTOR_ORDER[choices["effector_order"]]
    told = np.concatenate([positions, angles], axis=2)[:, order].reshape(len(root), -1)
    forward, up = ROOT_AXES[choices["root_axes"]]
    feet = ground.copy()
    feet[..., 0] = HEIGHT[choices["height"]](effectors[:, _FEET, 2], ground[..., 0])
    feet[..., 4:] = ground[..., CONTACT_FLAGS[choices["contact_flags"]]]
    axes = (hips[:, :, forward], hips[:, :, up])
    return stored(np.hstack([told, *axes, feet.reshape(len(root), -1), stages["motion"].astype(np.float64)]))


def context_bound(stages: Stages, computed: FloatArray) -> FloatArray:
    """Positions are differences of world positions, turned; angles are arc tangents, ill-conditioned near gimbal lock.

    Where the middle angle nears a quarter turn the outer two are known to u over its cosine. An angle within that of ±π
    may come out at either end, so there the bound spans a whole turn.
    """
    world = np.abs(stages["effectors"].astype(np.float64)).reshape(-1, _COUNT, 7)[..., :3]
    root = np.abs(stages["root"].astype(np.float64))[:, None, :3]
    bound = np.broadcast_to(gamma(_RELATIVE) * np.maximum(1.0, np.abs(computed)), computed.shape).astype(np.float64)
    told = bound[:, : 6 * _COUNT].reshape(-1, _COUNT, 6)
    told[..., :3] = gamma(_RELATIVE) * (world.sum(axis=2, keepdims=True) + root.sum(axis=2, keepdims=True))
    told[..., 3:] = _euler_bound(computed[:, : 6 * _COUNT].reshape(-1, _COUNT, 6)[..., 3:].astype(np.float64))
    bound[:, : 6 * _COUNT] = told.reshape(len(bound), -1)
    bound[:, _HEIGHTS] = gamma(_COPY) * (world[:, _FEET, 2] + np.abs(stages["ground"][:, ::6]) + 1e-3)
    bound[:, _HEIGHTS[-1] + 1 :] = gamma(_COPY) * np.abs(computed[:, _HEIGHTS[-1] + 1 :])
    return bound


def _euler_bound(angles: FloatArray) -> FloatArray:
    steady = np.maximum(np.abs(np.cos(angles[..., 1:2])), gamma(_EULER))
    bound = np.broadcast_to(gamma(_EULER) * (1.0 + np.pi) / steady, angles.shape).copy()
    bound[np.pi - np.abs(angles) < 4.0 * bound] = 2.0 * np.pi + 1e-5
    return bound


def model_input_of(rig: IkConstants) -> Callable[[Stages, Choices], FloatArray]:
    """The stage that scales the context for the network, (T, 50)."""

    def model_input(stages: Stages, choices: Choices) -> FloatArray:
        values = stages["context"].astype(np.float64)
        if choices["normalisation"] == "scaled":
            values[:, _ROTATIONS] /= rig.rotation_scale * ROTATION_SCALE[choices["rotation_scale"]]
            values[:, _HEIGHTS] /= rig.height_scale * HEIGHT_SCALE[choices["height_scale"]]
        values[:, _TASK] *= TASK_SCALE[choices["task_scale"]]
        values[:, _PHASE] *= PHASE_UNIT[choices["phase_unit"]]
        return stored(values)

    return model_input


def denormalised(model_input: FloatArray, rig: IkConstants) -> FloatArray:
    """The context behind a scaled input, (T, 50): what `model_input_of` did, undone."""
    values = model_input.astype(np.float64)
    values[:, _ROTATIONS] *= rig.rotation_scale
    values[:, _HEIGHTS] *= rig.height_scale
    return stored(values)


def input_bound(_stages: Stages, computed: FloatArray) -> FloatArray:
    """A division by a constant that was rounded itself, and a store."""
    return gamma(4) * np.abs(computed.astype(np.float64))
