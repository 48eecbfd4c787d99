"""How far rounding moves a rotation of six numbers: Gram–Schmidt, a lost axis, the angle of the result.

A bound of infinity says that nothing can be said: the two sides may have decided differently whether an axis is lost, or the
error spans the whole range of a rotation. Such a value is not judged. Not here: the arithmetic itself (gram_schmidt.py).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.geometry import KINDA_SMALL_NUMBER, length, perpendicular
from rigpact.reference_runtime.operations.gram_schmidt import CLEARLY_LONG, Axes, Guard
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reference_runtime.operations.rounding import gamma

ROTATION_RANGE = 2.0
"""Largest difference of any entry of two rotations: a tolerance this wide judges nothing."""
GRAM_SCHMIDT = 24
"""Operations on the longest path of Gram–Schmidt."""

Flags = NDArray[np.bool_]


class Replacement(NamedTuple):
    """What stands for a lost axis: the guard that finds it, and the axes (T, 6·B) that replace it, NaN if not known."""

    guard: Guard
    axes: Callable[[], FloatArray]


def gram_schmidt_bound(codec: Rot6d, six: FloatArray, upstream: FloatArray | float, instead: Replacement) -> FloatArray:
    """Bound of Gram–Schmidt on (T, 6·B), given a bound of its input: 1/|a| for the first axis, |b|/|b⊥| for the second.

    The first axis moves by at most e_a = (|δa| + gamma) / |a|, the second by (|δb| + |b|·e_a + gamma) / |b⊥|. An axis that
    both sides surely replace is the given axis: the first moves by gamma, the second by e_a over its part across the first.
    The given axes count as equal on both sides: how far they differ is inherited from the frame before.
    """
    a, b = codec.split(six.astype(np.float64))
    error_a, error_b = _axis_errors(codec, upstream, a.shape)
    size_a, size_b = length(a), length(b)
    with np.errstate(divide="ignore", invalid="ignore"):
        first: FloatArray = error_a / size_a + gamma(GRAM_SCHMIDT)
        rest = length(perpendicular(b, a / size_a))
        error = error_b + size_b * first
        second: FloatArray = error / rest + gamma(GRAM_SCHMIDT)
        if not ((size_a > _clearly_long(error_a)).all() and (rest > _clearly_long(error)).all()):
            spare = codec.split(np.broadcast_to(instead.axes(), six.shape).astype(np.float64))
            first, second = _guarded_bound((a, b), (error_a, error_b), instead.guard, spare)
    bounds = (np.where(each < ROTATION_RANGE, each, np.inf) for each in (first, second))
    return codec.join(*(np.broadcast_to(each, a.shape) for each in bounds))


def _clearly_long(error: FloatArray) -> FloatArray:
    """The length above which every guard keeps an axis on both sides; a component is at least 1/sqrt(3) of the length."""
    return np.asarray(CLEARLY_LONG + np.sqrt(3.0) * error)


def _guarded_bound(axes: Axes, errors: Axes, guard: Guard, spares: Axes) -> Axes:
    """The bounds of both axes (T, B, 1) where some may be lost; infinite where that is not decided, or no axis is known."""
    (a, b), (error_a, error_b), (spare_a, spare_b) = axes, errors, spares
    floor, rounding = guard.least_divisor or 0, gamma(GRAM_SCHMIDT)
    kept, lost = _decided(guard, a, error_a)
    axis = np.where(lost, spare_a, a / np.maximum(length(a), floor))
    lost &= np.isfinite(spare_a).all(axis=-1, keepdims=True)
    first: FloatArray = rounding + np.where(kept, error_a / np.maximum(length(a), floor), np.where(lost, 0.0, np.inf))
    rest, spare = perpendicular(b, axis), length(perpendicular(spare_b, axis))
    error = error_b + length(b) * first
    kept, lost = _decided(guard, rest, error)
    lost &= spare > KINDA_SMALL_NUMBER + first
    second = np.where(kept, error / np.maximum(length(rest), floor), np.where(lost, first / spare, np.inf))
    return first, rounding + second


def _decided(guard: Guard, axis: FloatArray, error: FloatArray) -> tuple[Flags, Flags]:
    """Whether both sides surely keep an axis (T, B, 3), and whether both surely replace it, (T, B, 1)."""
    if guard.size is None:
        return np.ones(error.shape, bool), np.zeros(error.shape, bool)
    size = guard.size(axis)
    slack = KINDA_SMALL_NUMBER * gamma(GRAM_SCHMIDT) + error
    return size > KINDA_SMALL_NUMBER + slack, size < KINDA_SMALL_NUMBER - slack


def _axis_errors(codec: Rot6d, bound: FloatArray | float, shape: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
    """Euclidean length of the bound of both axes of each bone, (T, B, 1)."""
    if isinstance(bound, float):
        both = np.full((*shape[:-1], 1), bound)
        return both, both
    axis_a, axis_b = codec.split(bound)
    return length(axis_a), length(axis_b)


def rotation_errors(codec: Rot6d, bound: FloatArray) -> FloatArray:
    """Bound of a rotation's angle error, (T, B, 1) radians, from the bounds of its two axes; infinite if it judges nothing.

    One axis fixes two components of the rotation, the other axis the third: at most the root of the sum of squares.
    `bound` comes from gram_schmidt_bound or from a bound per bone: each of an axis's three channels carries the bound of the
    whole axis, so their Euclidean length is sqrt(3) times that bound.
    """
    error_a, error_b = _axis_errors(codec, bound, bound.shape)
    error = np.hypot(error_a, error_b) / np.sqrt(3.0)
    return np.asarray(np.where(error < ROTATION_RANGE, error, np.inf))
