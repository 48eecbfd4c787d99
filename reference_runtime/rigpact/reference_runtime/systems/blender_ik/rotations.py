"""Rotations of the Blender rig: quaternions xyzw, rotation vectors in radians, Euler angles; columns are axes. Numpy, float64."""

from __future__ import annotations

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.geometry import length

_TINY_ANGLE_RAD = 1e-8


def quaternion_to_matrix(quaternion: FloatArray) -> FloatArray:
    """(..., 4) xyzw, of any length but zero, to (..., 3, 3)."""
    x, y, z, w = np.moveaxis(quaternion / np.sqrt(np.sum(quaternion**2, axis=-1, keepdims=True)), -1, 0)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
        (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
        (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def vector_to_quaternion(vector_rad: FloatArray) -> FloatArray:
    """Rotation vector (..., 3), axis times angle, to a unit quaternion (..., 4), xyzw."""
    half = 0.5 * length(vector_rad)
    factor = np.where(half < _TINY_ANGLE_RAD, 0.5, 0.5 * np.sinc(half / np.pi))
    return np.concatenate([factor * vector_rad, np.cos(half)], axis=-1)


def vector_to_matrix(vector_rad: FloatArray) -> FloatArray:
    """Rotation vector (..., 3) to (..., 3, 3)."""
    return quaternion_to_matrix(vector_to_quaternion(vector_rad))


def canonical_vector(vector_rad: FloatArray) -> FloatArray:
    """The same rotation with an angle of at most half a turn, (..., 3): the shortest vector for this rotation."""
    angle = length(vector_rad)
    turns = np.round(angle / (2.0 * np.pi))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(angle > np.pi, vector_rad * (1.0 - 2.0 * np.pi * turns / angle), vector_rad)


def matrix_to_euler_xyz(matrix: FloatArray) -> FloatArray:
    """(..., 3, 3) = Rz Ry Rx to its angles (..., 3) about x, y, z: Blender's 'XYZ', x turns first."""
    return np.stack(
        [
            np.arctan2(matrix[..., 2, 1], matrix[..., 2, 2]),
            np.arctan2(-matrix[..., 2, 0], np.hypot(matrix[..., 0, 0], matrix[..., 1, 0])),
            np.arctan2(matrix[..., 1, 0], matrix[..., 0, 0]),
        ],
        axis=-1,
    )


def matrix_to_euler_zyx(matrix: FloatArray) -> FloatArray:
    """(..., 3, 3) = Rx Ry Rz to its angles (..., 3) about x, y, z: z turns first."""
    return np.stack(
        [
            np.arctan2(-matrix[..., 1, 2], matrix[..., 2, 2]),
            np.arctan2(matrix[..., 0, 2], np.hypot(matrix[..., 0, 0], matrix[..., 0, 1])),
            np.arctan2(-matrix[..., 0, 1], matrix[..., 0, 0]),
        ],
        axis=-1,
    )
