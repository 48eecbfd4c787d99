"""How far rounding moves a rotation of six numbers: Gram–Schmidt, a lost axis, the angle of the result.

A bound of infinity says that nothing can be said: the two sides may have decided differently whether an axis is lost, or the
error spans the whole range of a rotation. Such a value is not judged. Not here: the arithmetic itself (lanes.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.geometry import KINDA_SMALL_NUMBER, length, perpendicular
from rigpact.reference_runtime.operations.lanes import Guard
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.operations.six_numbers import SixNumbers

ROTATION_RANGE = 2.0
"""Largest difference of any entry of two rotations: a tolerance this wide judges nothing."""
GRAM_SCHMIDT = 24
"""Operations on the longest path of Gram–Schmidt."""

Flags = NDArray[np.bool_]


class Replacement(NamedTuple):
    """What stands for a lost axis: the guard that finds it, and the axes (T, 6·B) that replace it, NaN if not known."""

    guard: Guard
    axes: FloatArray


def gram_schmidt_bound(
    codec: SixNumbers, six: FloatArray, upstream: FloatArray | float, instead: Replacement
) -> FloatArray:
    """Bound of Gram–Schmidt on (T, 6·B), given a bound of its input: 1/|a| for the first axis, |b|/|b⊥| for the second.

    The first axis moves by at most e_a = (|δa| + gamma) / |a|, the second by (|δb| + |b|·e_a + gamma) / |b⊥|. An axis that
    both sides surely replace is the given axis: the first moves by gamma, the second by e_a over its part across the first.
    The given axes count as equal on both sides: how far they differ is inherited from the frame before.
    """
    a, b = codec.split(six.astype(np.float64))
    spare_a, spare_b = codec.split(np.broadcast_to(instead.axes, six.shape).astype(np.float64))
    error_a, error_b = _axis_errors(codec, upstream, a.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        kept, lost = _decided(instead.guard, a, error_a)
        axis = np.where(lost, spare_a, a / _divisor(instead.guard, a))
        first = _bounded(kept, error_a / _divisor(instead.guard, a), lost & np.isfinite(axis), 0.0)
        rest, spare = perpendicular(b, axis), perpendicular(spare_b, axis)
        error = error_b + length(b) * first
        kept, lost = _decided(instead.guard, rest, error)
        lost = lost & (length(spare) > KINDA_SMALL_NUMBER + first)
        second = _bounded(kept, error / _divisor(instead.guard, rest), lost, first / length(spare))
    return codec.join(np.broadcast_to(first, a.shape), np.broadcast_to(second, a.shape))


def _decided(guard: Guard, axis: FloatArray, error: FloatArray) -> tuple[Flags, Flags]:
    """Whether both sides surely keep an axis (T, B, 3), and whether both surely replace it, (T, B, 1)."""
    if guard.size is None:
        return np.ones_like(error, bool), np.zeros_like(error, bool)
    size = guard.size(axis)
    slack = KINDA_SMALL_NUMBER * gamma(GRAM_SCHMIDT) + error
    return size > KINDA_SMALL_NUMBER + slack, size < KINDA_SMALL_NUMBER - slack


def _divisor(guard: Guard, axis: FloatArray) -> FloatArray:
    return np.maximum(length(axis), guard.least_divisor or 0.0)


def _bounded(kept: Flags, error: FloatArray, lost: Flags, error_lost: FloatArray | float) -> FloatArray:
    """The bound of an axis that is kept or replaced; infinite if that is not decided, or if it judges nothing."""
    bound = np.where(kept, error, np.where(lost.any(axis=-1, keepdims=True), error_lost, np.inf)) + gamma(GRAM_SCHMIDT)
    return np.asarray(np.where(bound < ROTATION_RANGE, bound, np.inf))


def _axis_errors(
    codec: SixNumbers, bound: FloatArray | float, shape: tuple[int, ...]
) -> tuple[FloatArray, FloatArray]:
    """Euclidean length of the bound of both axes of each bone, (T, B, 1)."""
    if isinstance(bound, float):
        both = np.full((*shape[:-1], 1), bound)
        return both, both
    axis_a, axis_b = codec.split(bound)
    return length(axis_a), length(axis_b)


def rotation_errors(codec: SixNumbers, bound: FloatArray) -> FloatArray:
    """Bound of a rotation's angle error, (T, B, 1) radians, from the bounds of its two axes; infinite if it judges nothing.

    One axis fixes two components of the rotation, the other axis the third: at most the root of the sum of squares.
    `bound` comes from gram_schmidt_bound or from a bound per bone: each of an axis's three channels carries the bound of the
    whole axis, so their Euclidean length is sqrt(3) times that bound.
    """
    error_a, error_b = _axis_errors(codec, bound, bound.shape)
    error = np.hypot(error_a, error_b) / np.sqrt(3.0)
    return np.asarray(np.where(error < ROTATION_RANGE, error, np.inf))
