"""The tolerance of a function against its definition, from its dtype and from the deployed functions' epsilon.

gamma(k) = k·u / (1 - k·u) bounds a chain of k roundings, with u of the dtype (as in the reference runtime's
tolerances). On the samples, the condition number of Gram–Schmidt is at most |b|/|b⊥| < 7. A simple but correct
logarithm, with acos and division by sin θ, amplifies the rounding of each entry of R by θ/sin²θ < 51 at 2.9 radians.
The training side may add an epsilon of 1e-8 to a length of at least 0.15 (|b⊥| of the shortest axis): that is 7e-8.
"""

from collections.abc import Mapping

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.geometry import TRAINING_EPSILON
from rigpact.reports.geometry_parity.roles import Kind, Role

MATCH = 1e-4
"""A function within this distance follows a convention; two conventions differ by tenths on the samples."""
_UNIT_ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11}
_OPERATIONS: Mapping[Kind, int] = {
    "six": 64, "residual": 64, "matrix": 64, "quat": 64, "point": 64, "vector": 512, "angle": 512, "euler": 512,
}  # fmt: skip
_SHORTEST = 0.15
_LARGEST_RADIANS = 2.0 * np.pi + MATCH
"""No angle in radians is larger; angles in degrees of the samples are."""


def tolerance(role: Role, dtype: str, scale: float) -> float:
    """The largest error that rounding explains, for results of size `scale`."""
    steps = _OPERATIONS[role.gives] * _UNIT_ROUNDOFF[dtype]
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
