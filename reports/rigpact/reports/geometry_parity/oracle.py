"""The definitions in float64, columns are axes; the training side's functions are compared with them.

Logarithm, angle, quaternion and six numbers come from the reference runtime, whose tests compare them with mpmath. This
module adds the few functions that an engine never computes.
"""

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.geometry import (
    matrix_to_quat,
    rotation_angle_rad,
    rotation_vector,
    wrap_to_pi,
)

__all__ = [
    "axis_turn", "defect", "exp_map", "matrix_to_quat", "quat_to_matrix", "rotation_angle_rad", "rotation_vector", "transpose",
    "turned", "wrap_to_pi",
]  # fmt: skip


def transpose(matrix: FloatArray) -> FloatArray:
    """Swap the last two axes; for a rotation this is the inverse."""
    return np.swapaxes(matrix, -1, -2)


def turned(matrix: FloatArray, inverse: object) -> FloatArray:
    """The rotation, or its inverse where that is so."""
    return transpose(matrix) if inverse else matrix


def exp_map(vector_rad: FloatArray) -> FloatArray:
    """Rotation (..., 3, 3) of a rotation vector (..., 3), axis times angle; computed by the quaternion, exact at 0."""
    half = 0.5 * np.sqrt(np.sum(vector_rad * vector_rad, axis=-1, keepdims=True))
    sine_over_angle = 0.5 * np.sinc(half / np.pi)
    return quat_to_matrix(np.concatenate((vector_rad * sine_over_angle, np.cos(half)), axis=-1))


def quat_to_matrix(xyzw: FloatArray) -> FloatArray:
    """Rotation matrix (..., 3, 3) of a unit quaternion (..., 4), xyzw: I + 2w[v]× + 2[v]×²."""
    x, y, z, w = np.moveaxis(xyzw, -1, 0)
    zero = np.zeros_like(x)
    skew = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(*x.shape, 3, 3)
    result: FloatArray = np.eye(3) + 2.0 * w[..., None, None] * skew + 2.0 * skew @ skew
    return result


def axis_turn(axis: str, angle_rad: FloatArray) -> FloatArray:
    """Rotation (..., 3, 3) by an angle (...,) about x, y or z."""
    return exp_map(angle_rad[..., None] * np.eye(3)["xyz".index(axis)])


def defect(matrix: FloatArray) -> FloatArray:
    """How far (..., 3, 3) is from a rotation: the largest entry of |RᵀR - I| and |det - 1|, (...,); inf if not finite."""
    with np.errstate(all="ignore"):
        gram = np.abs(transpose(matrix) @ matrix - np.eye(3)).max(axis=(-1, -2))
        worst = np.maximum(gram, np.abs(np.linalg.det(matrix) - 1.0))
    return np.where(np.isfinite(worst), worst, np.inf)
