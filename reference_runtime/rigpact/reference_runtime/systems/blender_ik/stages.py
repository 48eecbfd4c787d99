"""The stages behind the network: limits, the published pose, forward kinematics, the effectors' errors.

Every function takes rows (T, width) and returns float32 rows; the arithmetic in between is float64.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.blender_ik_rig import BONES, DOCUMENT_LIMITS_RAD, EFFECTORS, IkConstants
from rigpact.contract.systems.definition import Choices
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.systems.blender_ik.kinematics import chain_of, forward_kinematics
from rigpact.reference_runtime.systems.blender_ik.rotations import (
    quaternion_to_matrix,
    vector_to_matrix,
    vector_to_quaternion,
)
from rigpact.reference_runtime.systems.enemy_animation.tolerances import gamma
from rigpact.reference_runtime.systems.stage_graph import Stages

ROTATION_VECTOR: Mapping[str, float] = {"norm_is_angle": 1.0, "norm_is_half_angle": 2.0}
QUATERNION_ORDER: Mapping[str, list[int]] = {"xyzw": [0, 1, 2, 3], "wxyz": [3, 0, 1, 2]}
DEFAULT_ROOT_M = (0.0, 0.0, 1.0)
EFFECTOR_BONES = [BONES.index(effector) for effector in EFFECTORS]
_COUNT = len(BONES)
_QUATERNION, _BONE, _DISTANCE = 16, 48, 8
"""Longest chains: half an angle, its sine, a product; one bone of a chain: rotation, two matrix products, a sum; a distance."""
_LONGEST_CHAIN, _REACH_M = 8, 2.0
"""Bones from the hips to a hand; no head is farther from the hips than the lengths between them add up to."""


def limited_of(rig: IkConstants) -> Callable[[Stages, Choices], FloatArray]:
    """The stage that keeps every component of every rotation vector within its joint's limits, (T, 69)."""
    tables = {"rig_export": rig.limits_rad, "document": DOCUMENT_LIMITS_RAD}

    def limited(stages: Stages, choices: Choices) -> FloatArray:
        rotations = stages["rotations"].astype(np.float64)
        if choices["clamp"] == "none":
            return stored(rotations)
        low, high = np.moveaxis(tables[choices["limit_set"]].reshape(-1, 2), -1, 0)
        return stored(np.clip(rotations, low, high))

    return limited


def limited_bound(_stages: Stages, computed: FloatArray) -> FloatArray:
    """A value or its limit, rounded once."""
    return gamma(2) * np.abs(computed.astype(np.float64))


def pose(stages: Stages, choices: Choices) -> FloatArray:
    """What the engine applies to its bones: unit quaternions from rest, (T, 92)."""
    vectors = stages["limited"].astype(np.float64).reshape(-1, _COUNT, 3)
    quaternions = vector_to_quaternion(vectors * ROTATION_VECTOR[choices["rotation_vector"]])
    return stored(quaternions[..., QUATERNION_ORDER[choices["quaternion_order"]]].reshape(len(vectors), -1))


def pose_bound(stages: Stages, _computed: FloatArray) -> FloatArray:
    """Components of unit length: known to rounding absolutely; a rotation vector of several turns to its own."""
    vectors = np.abs(stages["limited"].astype(np.float64)).reshape(-1, _COUNT, 3)
    angle = np.repeat(vectors.sum(axis=2), 4, axis=1)
    return np.asarray(gamma(_QUATERNION) * np.maximum(1.0, angle))


def positions_of(rig: IkConstants) -> Callable[[Stages, Choices], FloatArray]:
    """The stage that runs forward kinematics, (T, 69) metres."""
    flat = np.broadcast_to(np.eye(3), rig.orientations.shape)
    chains = {"used": chain_of(rig), "ignored": chain_of(rig, orientations=flat)}

    def positions(stages: Stages, choices: Choices) -> FloatArray:
        source = "limited" if choices["clamp_place"] == "before_kinematics" else "rotations"
        vectors = stages[source].astype(np.float64).reshape(-1, _COUNT, 3)
        local = vector_to_matrix(vectors * ROTATION_VECTOR[choices["rotation_vector"]])
        root = stages["root"][:, :3].astype(np.float64)
        if choices["fk_root"] == "default":
            root = np.broadcast_to(DEFAULT_ROOT_M, root.shape)
        heads, _ = forward_kinematics(
            chains[choices["rest_orientation"]], local, root, local_first=choices["local_order"] == "local_then_rest"
        )
        return stored(heads.reshape(len(heads), -1))

    return positions


def positions_bound(stages: Stages, computed: FloatArray) -> FloatArray:
    """Every bone above adds its own rounding, times how far the head is from it; then the sum with the root."""
    root = np.abs(stages["root"][:, :3].astype(np.float64)).max(axis=1, keepdims=True)
    return np.broadcast_to(gamma(_BONE) * _LONGEST_CHAIN * _REACH_M + gamma(4) * root, computed.shape)


def effector_error(stages: Stages, choices: Choices) -> FloatArray:
    """How far each effector's bone is from its target, (T, 5) metres."""
    effectors = stages["effectors"].astype(np.float64).reshape(-1, len(EFFECTORS), 7)
    targets = effectors[..., :3]
    if choices["target_space"] == "hips_relative":
        root = stages["root"].astype(np.float64)
        targets = np.einsum("tba,tkb->tka", quaternion_to_matrix(root[:, 3:]), targets - root[:, None, :3])
    heads = stages["positions"].astype(np.float64).reshape(-1, _COUNT, 3)[:, EFFECTOR_BONES]
    return stored(np.sqrt(np.sum((heads - targets) ** 2, axis=2)))


def error_bound(stages: Stages, computed: FloatArray) -> FloatArray:
    """A difference of world positions is known to the rounding of the larger."""
    world = np.abs(stages["effectors"].astype(np.float64)).reshape(-1, len(EFFECTORS), 7)[..., :3].max(axis=2)
    return np.asarray(gamma(_DISTANCE) * (world + np.abs(computed.astype(np.float64)) + 1.0))
