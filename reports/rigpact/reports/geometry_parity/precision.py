"""How far a function may be from its definition: derived from its dtype and from what the deployed functions add.

gamma(k) = k·u / (1 - k·u) bounds a chain of k roundings (as in the reference runtime's tolerances), u of the dtype. The
samples condition Gram–Schmidt by at most |b|/|b⊥| < 7; a logarithm by acos and division by sin θ, correct but naive, loses
θ/sin²θ < 51 at 2.9 radians, of which each entry of R brings a rounding. An epsilon of 1e-8 beside a length of 0.15 or
more (|b⊥| of the shortest axis) is part of the training side's definition: 7e-8.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.geometry import TRAINING_EPSILON
from rigpact.reports.geometry_parity.roles import Kind, Role

MATCH = 1e-4
"""Two conventions differ by tenths on the samples; what is nearer to one than this follows it."""
_UNIT_ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11}
_OPERATIONS: Mapping[Kind, int] = {
    "six": 64, "residual": 64, "matrix": 64, "quat": 64, "sequence": 64, "vector": 512, "angle": 512,
}  # fmt: skip
_SHORTEST = 0.15


def tolerance(role: Role, dtype: str, scale: float) -> float:
    """Largest error that is rounding, for results of size `scale`."""
    steps = _OPERATIONS[role.gives] * _UNIT_ROUNDOFF[dtype]
    return scale * (steps / (1.0 - steps) + TRAINING_EPSILON / _SHORTEST)


def scale_of(expected: FloatArray) -> float:
    """The size of a result: its largest entry, at least 1."""
    return max(1.0, float(np.abs(expected).max(initial=0.0)))


def row_errors(role: Role, value: FloatArray, expected: FloatArray) -> FloatArray:
    """Largest error of each row, (rows,); not finite is infinitely wrong; q and -q are one rotation."""
    if role.gives == "quat":
        return np.minimum(_row_errors(value, expected), _row_errors(-value, expected))
    return _row_errors(value, expected)


def _row_errors(value: FloatArray, expected: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):
        difference = np.abs(value.astype(np.float64) - expected)
    difference = np.where(np.isfinite(difference), difference, np.inf)
    worst: FloatArray = difference.reshape(len(difference), -1).max(axis=-1, initial=0.0)
    return worst
