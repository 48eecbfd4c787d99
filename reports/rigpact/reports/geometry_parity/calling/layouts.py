"""The shapes in which a training side keeps rotations: rows, frames and bones, flat poses, one rotation alone.

All checks work on rows (N, …), or on a sequence (T, N, …), time first. A layout lays these out for a function and reads the
result back. A shape is written with `*` for the axes of one value: "(B, T, J, *)" takes (2, 9, 5, 3, 3), "(N, J*)" takes
(14, 30). To add a shape: a row in `LAYOUTS` or `TIMED`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from rigpact.reports.geometry_parity.calling.backend import Array
from rigpact.reports.geometry_parity.roles import TRAILING, Kind

BONES, FRAMES_INSIDE = 5, 7
"""Sizes of the axes that are tried. 5 and 7 divide the 70 rows, and no value has an axis of that size."""


@dataclass(frozen=True)
class Layout:
    """Rows as a function wants them. inner: axes after the first; flat: the last of them stands in the value's own axis."""

    shape: str
    inner: tuple[int, ...] = ()
    flat: bool = False
    one_by_one: bool = False

    def with_bones(self, bones: int) -> Layout:
        """The same shape for another number of bones."""
        return replace(self, inner=(*self.inner[:-1], bones)) if "J" in self.shape else self

    def lay(self, array: Array, trailing: tuple[int, ...]) -> Array:
        """Rows (N, *trailing) in this shape. Rows are repeated at the end until they fill it."""
        if not self.inner:
            return array
        filled = _filled(array, 0, prod(self.inner))
        split = filled.reshape(len(filled) // prod(self.inner), *self.inner, *trailing)
        return _flattened(split, len(self.inner)) if self.flat else split

    def read(self, value: Array, rows: int, kind: Kind) -> Array:
        """A result in this shape as rows; the result itself if it has another shape."""
        step, trailing = prod(self.inner), TRAILING[kind]
        lead = (-(-rows // step), *self.inner)
        if value.shape in _result_shapes(lead, trailing):
            return value.reshape(prod(lead), *trailing)[:rows]
        return value


@dataclass(frozen=True)
class TimedLayout(Layout):
    """A sequence (T, N, *trailing) as a function wants it. batch_first: the time axis is the second one."""

    batch_first: bool = False

    def lay(self, array: Array, trailing: tuple[int, ...]) -> Array:
        """The sequence in this shape; bones are repeated at the end until they fill it."""
        if not self.batch_first:  # no axis but time and bones
            return _flattened(array, 1) if self.flat else array
        filled = _filled(array, 1, prod(self.inner))
        split = filled.reshape(len(array), filled.shape[1] // prod(self.inner), *self.inner, *trailing)
        turned = np.moveaxis(split, 0, 1)
        return _flattened(turned, 2) if self.flat else turned

    def read(self, value: Array, rows: int, kind: Kind) -> Array:
        """A result in this shape as a sequence (T or T - 1, N, …); the result itself if it has another shape."""
        trailing = TRAILING[kind]
        if not self.batch_first:
            flat = value.ndim == 2 and value.shape[1] == rows * prod(trailing)
            return value.reshape(len(value), rows, *trailing) if flat and trailing else value
        step = prod(self.inner)
        batch = -(-rows // step)
        if value.ndim < 2 or value.shape not in _result_shapes((batch, value.shape[1], *self.inner), trailing):
            return value
        split = np.moveaxis(value.reshape(batch, value.shape[1], *self.inner, *trailing), 1, 0)
        return split.reshape(len(split), batch * step, *trailing)[:, :rows]


def _flattened(array: Array, axes: int) -> Array:
    """All axes from number `axes` on as one."""
    return array.reshape(*array.shape[:axes], prod(array.shape[axes:]))


def _filled(array: Array, axis: int, step: int) -> Array:
    """The array with its last entry along an axis repeated, so that `step` divides the length."""
    short = -array.shape[axis] % step
    if not short:
        return array
    return np.concatenate((array, np.repeat(np.take(array, [-1], axis), short, axis)), axis)


def _result_shapes(lead: tuple[int, ...], trailing: tuple[int, ...]) -> set[tuple[int, ...]]:
    """The shapes of a result for each row: its own axes, one axis, or one axis for all bones; a number with an axis of 1."""
    size = prod(trailing)
    return {(*lead, *trailing), (*lead, size), *([(*lead[:-1], lead[-1] * size)] if len(lead) > 1 else ())}


ROWS = Layout("(N, *)")
ALONE = Layout("(*)", one_by_one=True)
LAYOUTS: Mapping[str, Layout] = {
    layout.shape: layout
    for layout in (
        ROWS,
        Layout("(B, T, J, *)", (FRAMES_INSIDE, BONES)),
        Layout("(N, J, *)", (BONES,)),
        Layout("(N, J*)", (BONES,), flat=True),
        Layout("(B, T, J*)", (FRAMES_INSIDE, BONES), flat=True),
        ALONE,
    )
}
"""Shapes of values, in the order of trial."""
SEQUENCE = TimedLayout("(T, J, *)")
TIMED: Mapping[str, Layout] = {
    layout.shape: layout
    for layout in (
        SEQUENCE,
        TimedLayout("(B, T, J, *)", (BONES,), batch_first=True),
        TimedLayout("(B, T, *)", (), batch_first=True),
        TimedLayout("(T, J*)", (), flat=True),
        TimedLayout("(B, T, J*)", (BONES,), flat=True, batch_first=True),
        TimedLayout("(T, *)", one_by_one=True),
    )
}
"""Shapes of sequences, in the order of trial."""


def shown(layout: Layout, kind: Kind) -> str:
    """The shape with the value's own axes: (B, T, J·6) for six numbers in "(B, T, J*)"."""
    axes, size = map(str, TRAILING[kind]), prod(TRAILING[kind])
    names = layout.shape.replace("J*", f"J·{size}").strip("()").split(", ")
    written = [part for name in names for part in (axes if name == "*" else (name,))]
    return f"({', '.join(written)}{',' * (len(written) == 1)})"
