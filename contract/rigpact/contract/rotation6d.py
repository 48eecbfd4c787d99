"""Just enough rotation arithmetic to judge files: decode six numbers, measure an angle.

The runtime's own geometry (every convention, the engine's fallbacks, float32) is rigpact.reference_runtime; the
contract may not import it, and a rule needs an answer for broken input too.
"""

import numpy as np

from rigpact.contract.statistics import FloatArray

_AXES = "xyz"
COLUMN_PAIRS = ("xz", "xy", "zx", "yx", "yz", "zy")
"""The two columns of R that six numbers may hold, in this order; the first is what a bundle means that declares none."""
OUTPUT_MODES = ("delta", "residual", "absolute")
"""What the network's rotations may mean; the first is what a bundle means that declares none."""
_SHORTEST = 1e-12
"""A shorter vector has no direction. It is divided by this number, so that its tiny length stays visible."""


def identity_rot6d(columns: str = "xz") -> FloatArray:
    """The six numbers of the identity: (6,), the two named columns one after the other."""
    return np.concatenate([np.eye(3)[_AXES.index(name)] for name in columns])


def rot6d_to_matrix(values: FloatArray, columns: str = "xz") -> FloatArray:
    """Decode two columns by Gram–Schmidt into a proper rotation.

    values: (..., 6); columns: which two columns of R they are, for example "xz".
    Returns (..., 3, 3), columns are axes, det = +1 (the third axis is derived, and flipped where it would mirror).
    Vectors without a direction give a matrix that is not a rotation; see `rot6d_defect`.
    """
    first = _normalised(values[..., :3])
    second = values[..., 3:] - np.sum(first * values[..., 3:], axis=-1, keepdims=True) * first
    second = _normalised(second)
    i, j = (_AXES.index(name) for name in columns)
    third = np.cross(first, second) if (j - i) % 3 == 1 else np.cross(second, first)
    matrix = np.empty((*values.shape[:-1], 3, 3))
    matrix[..., i], matrix[..., j], matrix[..., 3 - i - j] = first, second, third
    return matrix


def matrix_to_rot6d(matrices: FloatArray, columns: str = "xz") -> FloatArray:
    """The inverse of `rot6d_to_matrix`: (..., 3, 3) to (..., 6)."""
    return np.concatenate([matrices[..., _AXES.index(name)] for name in columns], axis=-1)


def rotation_angle_rad(matrices: FloatArray) -> FloatArray:
    """Angle of each rotation from the identity: (..., 3, 3) to (...,) in [0, pi].

    Why atan2: acos of a clamped cosine cannot report less than 0.08 degrees in float32.
    """
    vector = [matrices[..., (k + 2) % 3, (k + 1) % 3] - matrices[..., (k + 1) % 3, (k + 2) % 3] for k in range(3)]
    sine = np.sqrt(sum(np.square(component) for component in vector)) / 2
    angle: FloatArray = np.arctan2(sine, (np.trace(matrices, axis1=-2, axis2=-1) - 1) / 2)
    return angle


def rotation_vector(matrices: FloatArray) -> FloatArray:
    """Axis times angle of each rotation, the log map: (..., 3, 3) to (..., 3), radians.

    The identity gives zeros. At exactly a half turn the axis has no sign, and the result is zeros too; another rule then
    measures the angle alone.
    """
    pairs = ((2, 1), (0, 2), (1, 0))
    vector = np.stack([matrices[..., i, j] - matrices[..., j, i] for i, j in pairs], axis=-1)
    length = np.linalg.norm(vector, axis=-1, keepdims=True)
    angle = np.arctan2(length / 2, (np.trace(matrices, axis1=-2, axis2=-1)[..., None] - 1) / 2)
    # sin(angle) = length / 2, so angle / length tends to 1 / 2 for small angles
    scaled: FloatArray = vector * np.where(length > _SHORTEST, angle / np.maximum(length, _SHORTEST), 0.5)
    return scaled


def transposed(matrices: FloatArray) -> FloatArray:
    """The inverse of each rotation: (..., 3, 3) to the same."""
    return np.swapaxes(matrices, -1, -2)


def rot6d_defect(values: FloatArray) -> FloatArray:
    """How far six numbers are from two columns of a rotation: (..., 6) to (...,).

    The largest of ||a| − 1|, ||b| − 1| and |a·b|; 0 for an encoded rotation, up to rounding.
    """
    first, second = values[..., :3], values[..., 3:]
    lengths = np.abs(np.linalg.norm(np.stack([first, second], axis=-2), axis=-1) - 1)
    worst: FloatArray = np.maximum(lengths.max(axis=-1), np.abs(np.sum(first * second, axis=-1)))
    return worst


def _normalised(vectors: FloatArray) -> FloatArray:
    unit: FloatArray = vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), _SHORTEST)
    return unit
