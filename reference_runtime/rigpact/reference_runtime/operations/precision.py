"""The numeric model: float32 between stages, float64 (UE 5) or float32 (UE 4) inside one."""

from collections.abc import Mapping

import numpy as np

from rigpact.contract.conventions import Conventions
from rigpact.contract.statistics import FloatArray

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
