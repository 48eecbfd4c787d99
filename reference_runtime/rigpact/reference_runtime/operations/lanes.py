"""Rotations as lanes: one row of memory holds one number of every bone; one column belongs to one bone.

Why: a numpy call costs more than the arithmetic of one character, and a vector unit needs long rows. A bundle stores
three numbers side by side, which is too short. So an operation works on rows. It allocates its arrays once, at
construction, and a call computes in place. Every bone gets the same arithmetic in the same order, so one frame, a clip
and a crowd give the same bits.

geometry.py defines the same operations for one rotation; tests compare the two.
This module holds the loop's arithmetic on axes. Not here: the order of the numbers (six_numbers.py) and the stages
(pose_plan.py). To add a guard against short axes: a constant beside `SHORT`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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

Indices = NDArray[np.intp]
Operation = Callable[[], None]
"""An operation: reads and writes the arrays that were given at its construction."""

BLOCK = 6144
"""Number of bones per block. Smaller blocks spend more time in numpy calls; larger blocks need new memory from the
system each time."""
CLEARLY_LONG = 2e-4
"""No guard replaces an axis of this length or longer. The longest axis that a guard replaces is sqrt(3)·1e-4, see
`NEARLY_ZERO`."""
_ROWS = 5  # x y z x y: rows 1-3 and 2-4 are the axis with its numbers rotated, as a cross product needs them


@dataclass(frozen=True)
class Guard:
    """The treatment of an axis that is too short to normalise.

    is_lost: takes (3, M) axes and their (M,) lengths and returns (M,) flags: the axes to replace. None replaces
    nothing. least_divisor: the lower limit of the length as a divisor. size: takes (..., 3) axes and returns (..., 1),
    what is_lost compares with its threshold 1e-4.
    """

    is_lost: Callable[[FloatArray, FloatArray], BoolArray] | None
    least_divisor: float | None = None
    size: Callable[[FloatArray], FloatArray] | None = None


SHORT = Guard(lambda _axis, size: np.asarray(size < KINDA_SMALL_NUMBER), size=length)
"""|v| < 1e-4. Source: engine `Reproject6D`."""
NEARLY_ZERO = Guard(
    lambda axis, _size: np.asarray(np.all(np.abs(axis) <= KINDA_SMALL_NUMBER, axis=0)),
    size=lambda axis: np.asarray(np.abs(axis).max(axis=-1, keepdims=True)),
)
"""Every component within 1e-4 of zero. Source: engine `IsNearlyZero`."""
FLOORED = Guard(None, TRAINING_EPSILON)
"""Divide by max(|v|, 1e-8): a zero vector stays zero. Source: training `reproject_rot6d`."""
UNGUARDED = Guard(None)
"""Divide by the length, even if it is zero."""


def blocks(rows: int, bones: int) -> Iterator[slice]:
    """Consecutive slices of `rows` frames, each with about `BLOCK` bones."""
    step = max(1, BLOCK // max(bones, 1))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def pour(lanes: FloatArray, room: FloatArray) -> None:
    """Copy (2, 3, R, B) lanes into a view of flat vectors.

    Why not `room[...] = lanes`: an assignment follows the memory order of `room`, three numbers at a time; a ufunc
    follows the rows and is faster.
    """
    np.positive(lanes, room)


def gram_schmidt(a: FloatArray, b: FloatArray, guard: Guard, fallback: Callable[[], FloatArray]) -> Operation:
    """The operation that makes two axes (3, N) orthonormal, in place: a/|a|, then b without its part along a, normalised.

    A lost axis is replaced by the same axis of `fallback()`, (2, 3, N). A replaced second axis is made orthogonal to the
    first; if the two are parallel, the most perpendicular coordinate axis replaces it. NaN is not replaced: it stays
    NaN, and the rules find it.
    """
    products, size = np.empty(a.shape, a.dtype), np.empty(a.shape[1], a.dtype)
    x, y, z = products

    def dot(left: FloatArray, right: FloatArray) -> None:
        """size = left · right."""
        np.multiply(left, right, products)
        np.add(x, y, size)
        np.add(size, z, size)

    def normalise(v: FloatArray, instead: Callable[[Indices], FloatArray]) -> None:
        """v = v · (1/|v|), as the engine's `GetSafeNormal` scales."""
        dot(v, v)
        np.sqrt(size, size)
        if not size.item(size.argmin()) >= CLEARLY_LONG:  # argmin finds a NaN first
            _replace_lost(v, size, guard, instead)
        np.reciprocal(size, size)
        np.multiply(v, size, v)

    def first_instead(lost: Indices) -> FloatArray:
        axes: FloatArray = fallback()[0][:, lost]
        return axes

    def second_instead(lost: Indices) -> FloatArray:
        return _perpendicular_unit(fallback()[1][:, lost].T, a[:, lost].T).T

    def compute() -> None:
        normalise(a, first_instead)
        dot(a, b)
        np.multiply(a, size, products)
        np.subtract(b, products, b)
        normalise(b, second_instead)

    return compute


def _replace_lost(v: FloatArray, size: FloatArray, guard: Guard, instead: Callable[[Indices], FloatArray]) -> None:
    """Replace the axes of v (3, N) that the guard calls lost; size (N,) becomes the divisor of each axis."""
    if guard.least_divisor is not None:
        np.maximum(size, guard.least_divisor, out=size)
    if guard.is_lost is not None:
        lost = np.flatnonzero(guard.is_lost(v, size))
        if lost.size:
            v[:, lost] = instead(lost)
            size[lost] = 1.0


def _perpendicular_unit(axis: FloatArray, first: FloatArray) -> FloatArray:
    """The unit axis perpendicular to `first` that is nearest to `axis`; all are (M, 3)."""
    rest = perpendicular(axis.astype(first.dtype), first)
    way_out = perpendicular(most_perpendicular_axis(first), first)
    chosen = np.where(is_short(rest), way_out, rest)
    return np.asarray(chosen / length(chosen))


def room_for_frames(count: int, dtype: type[np.floating]) -> FloatArray:
    """Memory for three axes of N bones, (3, 5, N): rows 0-2 of each axis are x, y, z; `cross` writes to rows 3 and 4."""
    return np.empty((3, _ROWS, count), dtype)


def cross(a: FloatArray, b: FloatArray, result: FloatArray) -> Operation:
    """The operation result = a × b, for three axes (5, N) of `room_for_frames`."""
    c = result[:3]
    term = np.empty(c.shape, c.dtype)
    a_xy, a_end, a_yzx, a_zxy = a[:2], a[3:], a[1:4], a[2:]
    b_xy, b_end, b_yzx, b_zxy = b[:2], b[3:], b[1:4], b[2:]

    def compute() -> None:
        a_end[...] = a_xy
        b_end[...] = b_xy
        np.multiply(a_yzx, b_zxy, c)
        np.multiply(a_zxy, b_yzx, term)
        np.subtract(c, term, c)

    return compute


def product(left: FloatArray, right: FloatArray, lines: slice, result: FloatArray, *, by_rows: bool) -> Operation:
    """The operation result = two lines of left · right, for N pairs of matrices (3, 3, N), each matrix[row, column].

    `result` (2, 3, N) receives the columns that `lines` names; with `by_rows` it receives those rows.
    """
    if by_rows:  # term k of result[i, j] is left[i, k] · right[k, j]
        lefts, rights = left[lines].swapaxes(0, 1)[:, :, None], right[:, None]
    else:  # term k of result[j, i] is left[i, k] · right[k, j]
        lefts, rights = left.swapaxes(0, 1)[:, None], right[:, lines][:, :, None]
    terms = np.empty((3, *result.shape), result.dtype)
    first, second, third = terms

    def compute() -> None:
        np.multiply(lefts, rights, terms)
        np.add(first, second, result)
        np.add(result, third, result)

    return compute
