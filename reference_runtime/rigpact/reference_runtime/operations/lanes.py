"""Rotations as lanes: one row of memory for each number, one column for each bone.

A numpy call costs more than the arithmetic of one character, and three numbers side by side are too few for a vector
unit. So the maths runs over rows that hold the same number of every bone, in buffers that are made once. An operation here
is a list of numpy calls bound to their arrays when it is built; calling it computes in place. For a few bones a call takes
three rows at once, for many one row while it is in the first-level cache. Every bone goes through the same arithmetic in the
same order either way: a frame, a clip and a crowd agree to the bit.

Belongs here: what the loop does with axes in every frame. Not here: which number stands where (rot6d.py), which stage
does what (pose_stages.py). To add a guard against short axes: a constant beside `SHORT`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain

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
    normalised_or,
    perpendicular,
)

Indices = NDArray[np.intp]

BLOCK = 4096
"""Bones computed at a time: their rows stay in a core's second-level cache."""
CLEARLY_LONG = 2e-4
"""No guard replaces an axis of this length: sqrt(3)·1e-4, whose components are all within 1e-4, is the longest that one does."""
FEW = 256
"""Up to so many bones a numpy call costs more than its arithmetic: whole triples of rows are handed over, not one by one."""
_ROWS = 5  # x y z x y: any two neighbouring triples are what a cross product multiplies
Step = Callable[[], object]


@dataclass(frozen=True)
class Guard:
    """What is done about an axis that is too short to normalise.

    is_lost: (3, M) axes and their (M,) lengths to (M,), the axes to replace; None replaces nothing.
    least_divisor: what a length is raised to before it divides.
    """

    is_lost: Callable[[FloatArray, FloatArray], BoolArray] | None
    least_divisor: float | None = None


SHORT = Guard(lambda _axis, size: np.asarray(size < KINDA_SMALL_NUMBER))
"""|v| < 1e-4. Source: engine `Reproject6D`."""
NEARLY_ZERO = Guard(lambda axis, _size: np.asarray(np.all(np.abs(axis) <= KINDA_SMALL_NUMBER, axis=0)))
"""Every component within 1e-4 of zero. Source: engine `IsNearlyZero`."""
FLOORED = Guard(None, TRAINING_EPSILON)
"""Divide by max(|v|, 1e-8): a zero vector stays zero. Source: training `reproject_rot6d`."""
UNGUARDED = Guard(None)
"""Divide by the length whatever it is."""


def blocks(rows: int, bones: int) -> Iterator[slice]:
    """Consecutive slices of `rows` frames that hold about `BLOCK` bones each."""
    step = max(1, BLOCK // max(bones, 1))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def pour(lanes: FloatArray, room: FloatArray) -> None:
    """Copy (2, 3, R, B) lanes into a view of flat vectors: row by row where there are many, numpy would go bone by bone."""
    if lanes[0, 0].size <= FEW:
        room[...] = lanes
        return
    for axis in range(2):
        for number in range(3):
            room[axis, number] = lanes[axis, number]


class Operation:
    """Numpy calls in a row."""

    def __init__(self, steps: Iterable[Step]) -> None:
        """Keep them."""
        self._steps = tuple(steps)

    def __call__(self) -> None:
        """Compute."""
        for step in self._steps:
            step()


class _Room:
    """Rows for what is computed on the way: three for a few bones, one for many."""

    def __init__(self, count: int, dtype: np.dtype[np.floating]) -> None:
        self.size = np.empty(count, dtype)
        self.products = np.empty((3 if count <= FEW else 1, count), dtype)
        self.is_small = count <= FEW

    def dot(self, a: FloatArray, b: FloatArray) -> Iterator[Step]:
        """size = a · b, (x + y) + z."""
        size, products = self.size, self.products
        if self.is_small:
            yield partial(np.multiply, a, b, products)
            yield partial(np.add, products[0], products[1], size)
            yield partial(np.add, size, products[2], size)
            return
        yield partial(np.multiply, a[0], b[0], size)
        for row in (1, 2):
            yield partial(np.multiply, a[row], b[row], products[0])
            yield partial(np.add, size, products[0], size)

    def scale(self, v: FloatArray) -> Iterator[Step]:
        """v = v · size."""
        for part in (v,) if self.is_small else v:
            yield partial(np.multiply, part, self.size, part)

    def take_away(self, b: FloatArray, a: FloatArray) -> Iterator[Step]:
        """b = b - a · size."""
        for mine, other in ((b, a),) if self.is_small else zip(b, a, strict=True):
            product = self.products if self.is_small else self.products[0]
            yield partial(np.multiply, other, self.size, product)
            yield partial(np.subtract, mine, product, mine)


class GramSchmidt(Operation):
    """a/|a|, then b without its part along it, normalised: two (3, N) arrays of axes, changed in place.

    A lost axis is taken from `fallback`, which gives (2, 3, N) when it is asked; the second one is made orthogonal, and
    where even that is parallel to the first, the most perpendicular coordinate axis serves. NaN is not lost: it goes on,
    to be found.
    """

    def __init__(self, a: FloatArray, b: FloatArray, guard: Guard, fallback: Callable[[], FloatArray]) -> None:
        """Bind both axes and make room for what is computed on the way."""
        self._a, self._b, self._guard, self._fallback = a, b, guard, fallback
        self._room = _Room(a.shape[1], a.dtype)
        room = self._room
        first = self._normalise(a, self._first_instead)
        without = chain(room.dot(a, b), room.take_away(b, a))
        super().__init__((*first, *without, *self._normalise(b, self._second_instead)))

    def _normalise(self, v: FloatArray, instead: Callable[[Indices], FloatArray]) -> Iterator[Step]:
        """v · (1/|v|) in place, as the engine's `GetSafeNormal` scales."""
        size = self._room.size
        yield from self._room.dot(v, v)
        yield partial(np.sqrt, size, size)
        yield partial(self._replace_lost, v, instead)
        yield partial(np.reciprocal, size, size)
        yield from self._room.scale(v)

    def _replace_lost(self, v: FloatArray, instead: Callable[[Indices], FloatArray]) -> None:
        size = self._room.size
        if size.item(size.argmin()) >= CLEARLY_LONG:  # false for NaN too, which hides the smallest length
            return
        guard = self._guard
        if guard.least_divisor is not None:
            np.maximum(size, guard.least_divisor, out=size)
        if guard.is_lost is not None:
            lost = np.flatnonzero(guard.is_lost(v, size))
            if lost.size:
                v[:, lost] = instead(lost)
                size[lost] = 1.0

    def _first_instead(self, lost: Indices) -> FloatArray:
        axes: FloatArray = self._fallback()[0][:, lost]
        return axes

    def _second_instead(self, lost: Indices) -> FloatArray:
        """A unit axis at a right angle to the first, as near to the fallback as can be."""
        first, axis = self._a[:, lost].T, self._fallback()[1][:, lost].T
        rest = perpendicular(axis.astype(first.dtype), first)
        way_out = perpendicular(most_perpendicular_axis(first), first)
        return normalised_or(rest, is_short(rest), way_out / length(way_out)).T


class Frames:
    """N right-handed frames being put together: three axes, any two of which give the third. axes: (3, 3, N)."""

    def __init__(self, count: int, dtype: type[np.floating]) -> None:
        """Make room for N frames."""
        self._rows = np.empty((3, _ROWS, count), dtype)
        self.axes = self._rows[:, :3]

    def cross(self, first: int, second: int, derived: int, lanes: slice) -> Operation:
        """The operation `derived` = `first` × `second`, for some of the lanes."""
        rows = self._rows[..., lanes]
        a, b, c = rows[first], rows[second], rows[derived, :3]
        if c.shape[1] <= FEW:
            product = np.empty(c.shape, c.dtype)
            return Operation(
                (
                    partial(np.copyto, a[3:], a[:2]),
                    partial(np.copyto, b[3:], b[:2]),
                    partial(np.multiply, a[1:4], b[2:], c),
                    partial(np.multiply, a[2:], b[1:4], product),
                    partial(np.subtract, c, product, c),
                )
            )
        row = np.empty(c.shape[1], c.dtype)
        return Operation(
            chain.from_iterable(
                (
                    partial(np.multiply, a[y], b[z], c[x]),
                    partial(np.multiply, a[z], b[y], row),
                    partial(np.subtract, c[x], row, c[x]),
                )
                for x, y, z in ((0, 1, 2), (1, 2, 0), (2, 0, 1))
            )
        )


def product(left: FloatArray, right: FloatArray, lines: slice, result: FloatArray, *, by_rows: bool) -> Operation:
    """Two lines of left · right for N pairs of matrices: left (3, 3, N), right (3, 3, N), each matrix[row, column].

    `result` (2, 3, N) gets the columns named by `lines`, or the rows where `by_rows` says so.
    """
    if by_rows:  # term k of result[i, j] is left[i, k] · right[k, j]
        lefts, rights = left[lines].swapaxes(0, 1)[:, :, None], right[:, None]
    else:  # term k of result[j, i] is left[i, k] · right[k, j]
        lefts, rights = left.swapaxes(0, 1)[:, None], right[:, lines][:, :, None]
    if result.shape[2] <= FEW:
        terms = np.empty((3, *result.shape), result.dtype)
        steps = [partial(np.multiply, lefts, rights, terms), partial(np.add, terms[0], terms[1], result)]
        return Operation((*steps, partial(np.add, result, terms[2], result)))
    term = np.empty(result.shape, result.dtype)
    steps = [partial(np.multiply, lefts[0], rights[0], result)]
    for k in (1, 2):
        steps += [partial(np.multiply, lefts[k], rights[k], term), partial(np.add, result, term, result)]
    return Operation(steps)
