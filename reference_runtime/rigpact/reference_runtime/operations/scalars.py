"""Formulas on one number at a time, each written once, and the numeric model: float32 between stages, float64 or float32 inside.

The rounding model that every bound is derived from: every float32 operation has a relative error of at most u = 2⁻²⁴ (IEEE 754,
round to nearest; Higham, Accuracy and Stability of Numerical Algorithms, ch. 3), k of them in a row gamma(k) = k·u / (1 - k·u);
a library tanh, sqrt, sin or atan2 counts as 4.
`parity_tests/repository/test_layout.py` finds a formula that is written a second time.
"""

from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.conventions import Conventions
from rigpact.contract.statistics import FloatArray, Statistics

UNIT_ROUNDOFF = 2.0**-24


def gamma(operations: float) -> float:
    """Relative error bound of a chain of float32 operations."""
    return operations * UNIT_ROUNDOFF / (1.0 - operations * UNIT_ROUNDOFF)


COMPUTE_DTYPE: Mapping[str, type[np.floating]] = {"f64": np.float64, "f32": np.float32}


def compute_dtype(conventions: Conventions) -> type[np.floating]:
    """The floating-point type of the arithmetic inside a stage."""
    return COMPUTE_DTYPE[conventions.math]


QUIETLY = np.errstate(divide="ignore", invalid="ignore", over="ignore")
"""Decorator for functions that compute with numbers of a file: numbers that are not finite pass on, and the rules find
them."""


def stored(value: FloatArray) -> FloatArray:
    """Round to float32, as the engine does when it stores a number. An overflow becomes infinite; the rules find it."""
    with np.errstate(over="ignore"):
        return value.astype(np.float32)


Function = Callable[[FloatArray], FloatArray]


def zscored(values: FloatArray, mean: FloatArray | float, std: FloatArray) -> FloatArray:
    """(values - mean) / std."""
    return np.asarray((values - mean) / std)


def unscored(z: FloatArray, mean: FloatArray | float, std: FloatArray) -> FloatArray:
    """z · std + mean."""
    return np.asarray(z * std + mean)


MEANS: Mapping[str, Function] = {"none": np.zeros_like, "added": np.negative}
STDS: Mapping[str, Function] = {"none": np.ones_like, "variance": np.square, "root": lambda std: np.sqrt(np.abs(std))}
"""How means and standard deviations are misread."""


def _softmax(rows: FloatArray) -> FloatArray:
    raised = np.exp(rows - rows.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


FUNCTIONS: Mapping[str, Function] = {
    "tanh": np.tanh,
    "sigmoid": lambda rows: 1.0 / (1.0 + np.exp(-rows)),
    "softmax": _softmax,
    "softplus": lambda rows: np.logaddexp(0.0, rows),
    "exp": np.exp,
    "log": np.log,
    "arctanh": np.arctanh,
    "arcsin": lambda rows: np.arcsin(np.clip(rows, -1.0, 1.0)),
    "elu": lambda rows: np.maximum(rows, 0.0) + np.expm1(np.minimum(rows, 0.0)),
    "relu": lambda rows: np.maximum(rows, 0.0),
}


def stretched(rows: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """-1 … 1 stretched to the range."""
    return low + (rows + 1.0) * 0.5 * (high - low)


CLIPPED: Mapping[str, Callable[..., FloatArray]] = {
    # rows, the low end, the high end
    "clamped": np.clip,
    "none": lambda rows, _low, _high: rows,
    "scaled_to_range": stretched,
    "low_only": lambda rows, low, _high: np.maximum(rows, low),
    "high_only": lambda rows, _low, high: np.minimum(rows, high),
}
LENGTHS: Mapping[str, Function] = {
    "euclidean": lambda vectors: np.sqrt(np.sum(vectors**2, axis=-1)),
    "squared": lambda vectors: np.sum(vectors**2, axis=-1),
    "absolute_sum": lambda vectors: np.sum(np.abs(vectors), axis=-1),
    "largest": lambda vectors: np.max(np.abs(vectors), axis=-1),
}


def zscored_by(value: FloatArray, statistics: Statistics) -> FloatArray:
    """(value - mean) / max(|std|, 1e-6), in the precision of `value`."""
    return zscored(value, statistics.mean.astype(value.dtype), statistics.std_floored.astype(value.dtype))


ORDERS: Mapping[str, slice] = {"oldest_first": slice(None, None, -1), "newest_first": slice(None)}
"""What is taken of the ages 0, 1, 2, …"""


def ages(length: int, order: slice, delay: int) -> list[int]:
    """The ages of `length` frames in the order of the history; the newest is `delay` frames old."""
    return list(range(delay, length + delay))[order]
