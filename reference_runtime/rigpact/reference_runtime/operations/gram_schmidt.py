"""Gram–Schmidt of two axes, and what becomes of an axis that is too short to normalise.

To add a guard against short axes: a constant beside `SHORT`. Not here: which guard a convention names (six_numbers.py).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.geometry import (
    KINDA_SMALL_NUMBER,
    TRAINING_EPSILON,
    BoolArray,
    is_short,
    length,
    most_perpendicular_axis,
    perpendicular,
)

Axes = tuple[FloatArray, FloatArray]
"""Two (..., 3) vectors."""
CLEARLY_LONG = 2e-4
"""No guard replaces an axis of this length or longer. The longest axis that a guard replaces is sqrt(3)·1e-4, see
`NEARLY_ZERO`."""


@dataclass(frozen=True)
class Guard:
    """The treatment of an axis that is too short to normalise.

    is_lost: takes axes (..., 3) and returns flags (..., 1): the axes to replace. None replaces nothing. least_divisor: the
    lower limit of the length as a divisor. size: takes axes and returns (..., 1), what is_lost compares with 1e-4.
    """

    is_lost: Callable[[FloatArray], BoolArray] | None
    least_divisor: float | None = None
    size: Callable[[FloatArray], FloatArray] | None = None


def _largest_component(axis: FloatArray) -> FloatArray:
    size = np.abs(axis)
    return np.maximum(np.maximum(size[..., :1], size[..., 1:2]), size[..., 2:])


SHORT = Guard(is_short, size=length)
"""|v| < 1e-4. Source: engine `Reproject6D`."""
NEARLY_ZERO = Guard(lambda axis: _largest_component(axis) <= KINDA_SMALL_NUMBER, size=_largest_component)
"""Every component within 1e-4 of zero. Source: engine `IsNearlyZero`."""
FLOORED = Guard(None, TRAINING_EPSILON)
"""Divide by max(|v|, 1e-8): a zero vector stays zero. Source: training `reproject_rot6d`."""
UNGUARDED = Guard(None)
"""Divide by the length, even if it is zero."""


def orthonormal(a: FloatArray, b: FloatArray, guard: Guard, instead: Callable[[], Axes]) -> Axes:
    """Two axes (..., 3) made orthonormal: a/|a|, then b without its part along a, normalised.

    A lost axis is replaced by the same axis of `instead()`. A replaced second axis is made orthogonal to the first; if the two
    are parallel, the most perpendicular coordinate axis replaces it. NaN is not replaced: it stays NaN, and the rules find it.
    """
    first = _unit(a, guard, lambda: instead()[0])
    return first, _unit(perpendicular(b, first), guard, lambda: _perpendicular_unit(instead()[1], first))


def _unit(v: FloatArray, guard: Guard, instead: Callable[[], FloatArray]) -> FloatArray:
    """v · (1/|v|), as the engine's `GetSafeNormal` scales; `instead` where the guard calls v lost."""
    divisor = length(v) if guard.least_divisor is None else np.maximum(length(v), v.dtype.type(guard.least_divisor))
    unit: FloatArray = v * (1.0 / divisor)
    lost = None if guard.is_lost is None else guard.is_lost(v)
    return unit if lost is None or not lost.any() else np.where(lost, instead(), unit).astype(v.dtype)


def _perpendicular_unit(axis: FloatArray, first: FloatArray) -> FloatArray:
    """The unit axis perpendicular to `first` that is nearest to `axis`; all are (..., 3)."""
    rest = perpendicular(axis.astype(first.dtype), first)
    way_out = perpendicular(most_perpendicular_axis(first), first)
    chosen = np.where(is_short(rest), way_out, rest)
    return np.asarray(chosen / length(chosen))
