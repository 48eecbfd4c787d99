"""The definitions in float64, columns are axes, and how near a function must come to them.

Logarithm, angle, quaternion and six numbers are the reference runtime's, whose tests compare them with mpmath.

gamma(k) = k·u / (1 - k·u) bounds a chain of k roundings, with u of the dtype (as in the reference runtime's
tolerances). On the samples, the condition number of Gram–Schmidt is at most |b|/|b⊥| < 7. A simple but correct
logarithm, with acos and division by sin θ, amplifies the rounding of each entry of R by θ/sin²θ < 51 at 2.9 radians.
The training side may add an epsilon of 1e-8 to a length of at least 0.15 (|b⊥| of the shortest axis): that is 7e-8.
"""

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.geometry import TRAINING_EPSILON, exponential, to_matrix, transposed
from rigpact.reference_runtime.operations.six_numbers import Rot6d
from rigpact.reports.geometry_parity.roles import Role

MATCH = 1e-4
"""A function within this distance follows a convention; two conventions differ by tenths on the samples."""
RATES_HZ = (50.0, 24.0)
"""Two rates, so that a fixed rate inside a function of time shows."""
_UNIT_ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11}
_OPERATIONS = {"vector": 512, "angle": 512, "euler": 512}
_FEW_OPERATIONS = 64
_SHORTEST = 0.15
_LARGEST_RADIANS = 2.0 * np.pi + MATCH
"""No angle in radians is larger; angles in degrees of the samples are."""


def exp_map(vector_rad: FloatArray) -> FloatArray:
    """Rotation (..., 3, 3) of a rotation vector (..., 3), axis times angle."""
    return to_matrix(exponential(0.5 * vector_rad))


def encoded(matrices: FloatArray, codec: Rot6d) -> FloatArray:
    """The six numbers (..., 6) of (..., 3, 3)."""
    return codec.encode(matrices[..., None, :, :])


def decoded(six: FloatArray, codec: Rot6d) -> FloatArray:
    """The rotations (..., 3, 3) of (..., 6)."""
    matrices: FloatArray = codec.decode(six)[..., 0, :, :]
    return matrices


def defect(matrix: FloatArray) -> FloatArray:
    """How far (..., 3, 3) is from a rotation: the largest entry of |RᵀR - I| and |det - 1|, (...,); inf if not finite."""
    with np.errstate(all="ignore"):
        gram = np.abs(transposed(matrix) @ matrix - np.eye(3)).max(axis=(-1, -2))
        worst = np.maximum(gram, np.abs(np.linalg.det(matrix) - 1.0))
    return np.where(np.isfinite(worst), worst, np.inf)


def tolerance(role: Role, dtype: str, scale: float) -> float:
    """The largest error that rounding explains, for results of size `scale`."""
    steps = _OPERATIONS.get(role.gives, _FEW_OPERATIONS) * _UNIT_ROUNDOFF[dtype]
    return scale * (steps / (1.0 - steps) + TRAINING_EPSILON / _SHORTEST)


def scale_of(expected: FloatArray) -> float:
    """The size of a result: its largest entry, at least 1."""
    return max(1.0, float(np.abs(expected).max(initial=0.0)))


def row_errors(role: Role, value: FloatArray, expected: FloatArray) -> FloatArray:
    """Largest error of each row, (rows,); infinite for non-finite values.

    q and -q are the same rotation; so are Euler angles that differ by whole turns.
    """
    if role.gives == "euler":
        turn = 2.0 * np.pi if np.abs(expected).max(initial=0.0) <= _LARGEST_RADIANS else 360.0
        return _row_errors(value - turn * np.round((value - expected) / turn), expected)
    if role.gives == "quat":
        return np.minimum(_row_errors(value, expected), _row_errors(-value, expected))
    return _row_errors(value, expected)


def _row_errors(value: FloatArray, expected: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):
        difference = np.abs(value.astype(np.float64) - expected)
    difference = np.where(np.isfinite(difference), difference, np.inf)
    worst: FloatArray = difference.reshape(len(difference), -1).max(axis=-1, initial=0.0)
    return worst


def fitted_ratio(value: FloatArray, expected: FloatArray) -> float | None:
    """The number r with value = r · expected, within `MATCH` of its size; None if there is none or r is 0."""
    if value.shape != expected.shape or not np.isfinite(value).all():
        return None
    ratio = float(np.sum(value * expected) / np.sum(expected * expected))
    rest = float(np.abs(value - ratio * expected).max())
    size = abs(ratio) * float(np.abs(expected).max())
    return ratio if size > 0.0 and rest <= MATCH * size else None
