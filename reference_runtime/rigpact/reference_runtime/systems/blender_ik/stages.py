"""The stages after the network: limits, the published pose, forward kinematics, the effectors' errors.

Every function takes frames and returns float32 rows (N, width); the arithmetic in between is float64.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from rigpact.contract.conventions import Knob
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.blender_ik_rig import BONES, DOCUMENT_LIMITS_RAD, EFFECTORS, IkConstants
from rigpact.contract.systems.stage import Bounds, Frames
from rigpact.reference_runtime.operations.definitions.quaternions import FRAMES, FROM_XYZW, exponential, to_matrix, unit
from rigpact.reference_runtime.operations.definitions.scaling import CLIPPED, LENGTHS
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.systems.blender_ik.context import EFFECTOR_BONES, root_frame
from rigpact.reference_runtime.systems.blender_ik.kinematics import Chain, chain_of, forward_kinematics

_DEFAULT_ROOT_M = (0.0, 0.0, 1.0)
_COUNT = len(BONES)
_QUATERNION, _BONE, _DISTANCE = 16, 48, 8
"""Operations of the longest chains: half an angle, its sine, a product; per bone a rotation, two matrix products, a
sum; a distance."""
_LONGEST_CHAIN, _REACH_M = 8, 2.0
"""Number of bones from the hips to a hand. The distance of a head from the hips is at most the sum of the bone
lengths."""


@lru_cache(maxsize=8)
def _prepared(rig: IkConstants) -> Chain:
    return chain_of(rig)


def _rig_chain(contract: Any) -> Chain:
    return _prepared(contract.numbers)


def _flat_chain(contract: Any) -> Chain:
    rig = contract.numbers
    return chain_of(rig, orientations=np.broadcast_to(np.eye(3), rig.orientations.shape))


def _flat_offsets(contract: Any) -> Chain:
    rig = contract.numbers
    return replace(_rig_chain(contract), offsets=rig.heads_m - rig.heads_m[np.maximum(np.array(rig.parents), 0)])


def _hips_relative(frames: Frames, targets: FloatArray, root: FloatArray) -> FloatArray:
    return FRAMES["into_frame"](targets, root[:, None, :3], root_frame(frames, root)[:, None])


def _local_first_below_root(rest: FloatArray, local: FloatArray) -> FloatArray:
    turned = local @ rest
    turned[..., 0, :, :] = rest[0] @ local[..., 0, :, :]
    return turned


def _left_as_right(rig: IkConstants) -> FloatArray:
    names = [bone.replace("Right", "Left") for bone in BONES]
    return rig.limits_rad[[BONES.index(name) for name in names]]


CLAMP = Knob(
    "clamp", {"applied": CLIPPED["clamped"], "none": CLIPPED["none"]},
    "whether rotations are kept within the joints' limits",
    {"none": "clamp every component to the joint's limits before the pose is used"},
)  # fmt: skip
LIMIT_SET = Knob(
    "limit_set",
    {
        "rig_export": lambda rig: rig.limits_rad,
        "document": lambda _rig: DOCUMENT_LIMITS_RAD,
        "in_degrees": lambda rig: np.rad2deg(rig.limits_rad),
        "y_and_z_swapped": lambda rig: rig.limits_rad[:, [0, 2, 1]],
        "right_as_left": _left_as_right,
    },
    "which limits the joints have",
    {
        "document": "the document's limits contradict the rig: its knees bend the other way",
        "in_degrees": "rotation vectors are radians: convert the table of limits",
        "y_and_z_swapped": "a joint's limits are x low, x high, y low, y high, z low, z high",
        "right_as_left": "the right side's limits of y and z are the left side's, turned around",
    },
)
CLAMP_PLACE = Knob(
    "clamp_place", {"before_kinematics": "limited", "behind_kinematics": "rotations"},
    "the stage whose rotations the kinematics take",
    {"behind_kinematics": "the kinematics must see the clamped rotations, as training did"},
)  # fmt: skip
ROTATION_VECTOR = Knob(
    "rotation_vector", {"norm_is_angle": 0.5, "norm_is_half_angle": 1.0}, "what the length of a rotation vector is",
    {"norm_is_half_angle": "the norm of a rotation vector is the whole angle; halve it for a quaternion"},
)  # fmt: skip
QUATERNION_ORDER = Knob(
    "quaternion_order", FROM_XYZW, "the order of a published quaternion's components",
    {"wxyz": "Blender's quaternions have w first, the published pose has it last"},
)  # fmt: skip
REST_ORIENTATION = Knob(
    "rest_orientation", {"used": _rig_chain, "ignored": _flat_chain, "ignored_in_offsets": _flat_offsets},
    "whether the kinematics know how bones are turned at rest",
    {
        "ignored": "kinematics need each bone's rest orientation: W = W_parent (B_parent^T B) A",
        "ignored_in_offsets": "the way to a child is told in its parent's axes: B_parent^T (h - h_parent)",
    },
)  # fmt: skip
LOCAL_ORDER = Knob(
    "local_order",
    {
        "rest_then_local": np.matmul,
        "local_then_rest": lambda rest, local: local @ rest,
        "local_then_rest_below_root": _local_first_below_root,
    },
    "the order of a bone's rest turn and its rotation",
    {
        "local_then_rest": "a rotation is local to the rest pose: B A, not A B",
        "local_then_rest_below_root": "a rotation is local to the rest pose in every bone, not in the root alone: B A, not A B",
    },
)
ARMATURE_ROTATION = Knob(
    "armature_rotation", {"applied": lambda turns: turns, "ignored": lambda turns: np.broadcast_to(np.eye(3), turns.shape)},
    "whether the kinematics begin with the armature's own rotation",
    {"ignored": "a character turns with its armature: W_root = R B A, with R of matrix_world"},
)  # fmt: skip
KINEMATICS_SENSE = Knob(
    "kinematics_sense", {"counterclockwise": 1.0, "clockwise": -1.0}, "which way the kinematics turn about a rotation vector",
    {"clockwise": "the signs of sin(angle) in Rodrigues' matrix are the other way round"},
)  # fmt: skip
FK_ROOT = Knob(
    "fk_root", {"hips": lambda root: root, "default": lambda root: np.broadcast_to(_DEFAULT_ROOT_M, root.shape)},
    "where the kinematics begin",
    {"default": "give the kinematics the hips' position; their default is (0, 0, 1)"},
)  # fmt: skip
TARGET_SPACE = Knob(
    "target_space", {"world": lambda _frames, targets, _root: targets, "hips_relative": _hips_relative},
    "the space of the targets that effectors are compared with",
    {"hips_relative": "compare world positions with world targets"},
)  # fmt: skip


ERROR_MEASURE = Knob(
    "error_measure", {name: LENGTHS[name] for name in ("euclidean", "squared", "largest")},
    "how far an effector is from its target",
    {
        "squared": "the error is a distance: take the root",
        "largest": "the error is a distance: the root of the sum of squares, not the largest component",
    },
)  # fmt: skip


def limited(frames: Frames) -> FloatArray:
    """Rotation vectors with every component within its joint's limits, (N, 69)."""
    low, high = np.moveaxis(frames.pick(LIMIT_SET)(frames.numbers).reshape(-1, 2), -1, 0)
    return stored(frames.pick(CLAMP)(frames["rotations"].astype(np.float64), low, high))


def pose(frames: Frames) -> FloatArray:
    """The pose that the engine applies to its bones: unit quaternions from rest, (N, 92)."""
    vectors = frames["limited"].astype(np.float64).reshape(-1, _COUNT, 3)
    quaternions = exponential(vectors * frames.pick(ROTATION_VECTOR))
    return stored(quaternions[..., frames.pick(QUATERNION_ORDER)].reshape(len(vectors), -1))


def pose_bound(frames: Frames, _rows: FloatArray, _upstream: Bounds) -> FloatArray:
    """Components of a unit quaternion have an absolute rounding error; a vector of several turns adds its own."""
    vectors = np.abs(frames["limited"].astype(np.float64)).reshape(-1, _COUNT, 3)
    angle = np.repeat(vectors.sum(axis=2), 4, axis=1)
    return np.asarray(gamma(_QUATERNION) * np.maximum(1.0, angle))


def positions(frames: Frames) -> FloatArray:
    """Positions of all bone heads by forward kinematics, (N, 69) metres."""
    vectors = frames[frames.pick(CLAMP_PLACE)].astype(np.float64).reshape(-1, _COUNT, 3)
    local = to_matrix(exponential(vectors * frames.pick(ROTATION_VECTOR) * frames.pick(KINEMATICS_SENSE)))
    root = frames["root"].astype(np.float64)
    armature = frames.pick(ARMATURE_ROTATION)(to_matrix(unit(root[:, 7:])))
    chain, start = frames.built(frames.pick(REST_ORIENTATION)), frames.pick(FK_ROOT)(root[:, :3])
    heads, _ = forward_kinematics(chain, local, start, frames.pick(LOCAL_ORDER), armature)
    return stored(heads.reshape(len(heads), -1))


def positions_bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
    """Every bone above adds its rounding, times its distance from the head; then the sum with the root is rounded."""
    root = np.abs(frames["root"][:, :3].astype(np.float64)).max(axis=1, keepdims=True)
    return np.broadcast_to(gamma(_BONE) * _LONGEST_CHAIN * _REACH_M + gamma(4) * root, rows.shape)


def effector_error(frames: Frames) -> FloatArray:
    """Distance of each effector's bone from its target, (N, 5) metres."""
    effectors, root, heads = (frames[name].astype(np.float64) for name in ("effectors", "root", "positions"))
    targets = frames.pick(TARGET_SPACE)(frames, effectors.reshape(-1, len(EFFECTORS), 7)[..., :3], root)
    reached = heads.reshape(-1, _COUNT, 3)[:, EFFECTOR_BONES]
    return stored(frames.pick(ERROR_MEASURE)(reached - targets))


def error_bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
    """A difference of world positions has the rounding error of the larger one."""
    world = np.abs(frames["effectors"].astype(np.float64)).reshape(-1, len(EFFECTORS), 7)[..., :3].max(axis=2)
    return np.asarray(gamma(_DISTANCE) * (world + np.abs(rows.astype(np.float64)) + 1.0))


def network_bound(_frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
    """Another order of summation of 128 products moves a sum by sqrt(128) · 2⁻²³ times its operands, three layers deep."""
    return np.full(rows.shape, 1e-5)
