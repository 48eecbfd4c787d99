"""Formulas on one number at a time, and lengths of vectors; and the readings that sides confuse."""

from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.statistics import FloatArray

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
