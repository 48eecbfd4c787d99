"""The error between two poses, in degrees and in centimetres.

Degrees: geodesic angle of each bone's local rotation. Centimetres: displacement in component space of three points that
lie 3 cm from the bone along its axes. So an error near the root counts as much as it moves the bones below. Source: the
object-space metric of animation compression libraries.
"""

from dataclasses import dataclass

import numpy as np

from rigpact.contract.skeleton import Skeleton
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.geometry import rotation_angle_rad
from rigpact.reference_runtime.operations.rot6d import Rot6d

SHELL_M = 0.03
_FRAMES_AT_ONCE = 512
"""Frames per chunk: bounds the memory of a long comparison to a few tens of megabytes."""


@dataclass(frozen=True, eq=False)
class PoseError:
    """deg (T, B) and cm (T, B); cm is None without a skeleton."""

    deg: FloatArray
    cm: FloatArray | None


def pose_error(a: FloatArray, b: FloatArray, codec: Rot6d, skeleton: Skeleton | None) -> PoseError:
    """Error between published rotations a and b, both (T, 6·B)."""
    parts = [
        _chunk_error(a[start : start + _FRAMES_AT_ONCE], b[start : start + _FRAMES_AT_ONCE], codec, skeleton)
        for start in range(0, len(a), _FRAMES_AT_ONCE)
    ]
    deg = np.concatenate([part.deg for part in parts])
    return PoseError(deg, np.concatenate([part.cm for part in parts if part.cm is not None]) if skeleton else None)


def _chunk_error(a: FloatArray, b: FloatArray, codec: Rot6d, skeleton: Skeleton | None) -> PoseError:
    rotations_a, rotations_b = (codec.decode(pose.astype(np.float64)) for pose in (a, b))
    deg = np.degrees(rotation_angle_rad(rotations_a, rotations_b))
    if skeleton is None:
        return PoseError(deg, None)
    moved = np.abs(_shell(skeleton, rotations_a) - _shell(skeleton, rotations_b))
    return PoseError(deg, 100.0 * np.linalg.norm(moved, axis=-1).max(axis=-1))


def _shell(skeleton: Skeleton, local_rotations: FloatArray) -> FloatArray:
    """Three points 3 cm from every bone, (T, B, 3 points, 3)."""
    positions, rotations = skeleton.forward_kinematics(local_rotations)
    return np.asarray(positions[..., None, :] + SHELL_M * np.swapaxes(rotations, -1, -2))
