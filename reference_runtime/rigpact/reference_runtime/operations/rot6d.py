"""Six numbers for a rotation: how a bundle packs two axes, and how both sides turn them into SO(3).

A `Rot6d` is built once from the conventions; its methods take flat (..., 6·B) vectors, B bones side by side. Arrays of any
length go through bound_rotations.py block by block. To add a packing or a degenerate-axis policy: a row in the table below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeVar

import numpy as np

from rigpact.contract.conventions import Conventions
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.bound_rotations import Composition, Decoding, Reprojection
from rigpact.reference_runtime.operations.geometry import cross, matrix_to_quat
from rigpact.reference_runtime.operations.lanes import (
    FLOORED,
    NEARLY_ZERO,
    SHORT,
    Frames,
    Guard,
    Operation,
    blocks,
    pour,
)
from rigpact.reference_runtime.operations.precision import QUIETLY

Axes = tuple[FloatArray, FloatArray]
"""Two (..., B, 3) vectors: the axes that the six numbers hold."""


class _Packing(NamedTuple):
    pair: Callable[[FloatArray], FloatArray]
    are_rows: bool


def _halves(six: FloatArray) -> FloatArray:
    return six.reshape(*six.shape[:-1], 2, 3)


def _every_other(six: FloatArray) -> FloatArray:
    return six.reshape(*six.shape[:-1], 3, 2).swapaxes(-1, -2)


PACKING: Mapping[str, _Packing] = {
    # how (..., 6) numbers are viewed as (..., 2, 3), two axes
    "columns": _Packing(_halves, are_rows=False),
    "rows": _Packing(_halves, are_rows=True),
    "interleaved": _Packing(_every_other, are_rows=False),
}
DERIVED_SIGN: Mapping[str, Callable[[float], float]] = {
    # second × first, flipped when det < 0: that happens exactly when the two axes are in cyclic order (xy, yz, zx)
    "second_cross_first": lambda parity: parity,
    # first × second, and nobody looks at the determinant
    "first_cross_second": lambda parity: 1.0,  # noqa: ARG005 - one signature for the table
}
GUARDS: Mapping[str, tuple[Guard, Guard]] = {
    # on the main path, and where poses, deltas and seeds are decoded
    "previous_frame": (SHORT, NEARLY_ZERO),
    "canonical": (SHORT, NEARLY_ZERO),
    "zero": (FLOORED, FLOORED),
}


class Rot6d:
    """The 6D codec of one set of conventions.

    Flat vectors are (..., 6·B); matrices are (..., B, 3, 3) with axes as columns. `rows` holds the first two rows of R,
    whatever `rot6d_columns` says.
    """

    def __init__(self, conventions: Conventions) -> None:
        """Look every convention up once."""
        self._packing = PACKING[conventions.rot6d_packing]
        names = "xy" if self._packing.are_rows else conventions.rot6d_columns
        self.first, self.second = ("xyz".index(name) for name in names)
        self.derived = 3 - self.first - self.second
        parity = 1.0 if (self.second - self.first) % 3 == 1 else -1.0
        self._derived_sign = DERIVED_SIGN[conventions.derived_axis](parity)
        self.reproject_guard, self.decode_guard = GUARDS[conventions.degenerate_axis]
        self.falls_back_on_previous = conventions.degenerate_axis == "previous_frame"

    @property
    def are_rows(self) -> bool:
        """Whether the six numbers are rows of R."""
        return self._packing.are_rows

    @property
    def lines(self) -> slice:
        """The two held axes among three, in the order in which they are held."""
        step = self.second - self.first
        end = self.second + (1 if step > 0 else -1)
        return slice(self.first, end if end >= 0 else None, step)

    def split(self, flat: FloatArray) -> Axes:
        """Unpack (..., 6·B) into two (..., B, 3) axes."""
        pair = self._packing.pair(flat.reshape(*flat.shape[:-1], -1, 6))
        return pair[..., 0, :], pair[..., 1, :]

    def join(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Pack two (..., B, 3) axes into (..., 6·B)."""
        six = np.empty((*a.shape[:-1], 6), np.result_type(a, b))
        pair = self._packing.pair(six)
        pair[..., 0, :], pair[..., 1, :] = a, b
        return six.reshape(*six.shape[:-2], -1)

    def lanes(self, flat: FloatArray) -> FloatArray:
        """View (R, 6·B) as (2, 3, R, B): the two axes of every bone."""
        return self._packing.pair(flat.reshape(len(flat), -1, 6)).transpose(2, 3, 0, 1)

    def identity(self, bones: int, dtype: np.dtype[np.floating] | type = np.float64) -> FloatArray:
        """The six numbers of no rotation, for each bone: (6·B,)."""
        return self.encode(np.broadcast_to(np.eye(3, dtype=dtype), (bones, 3, 3)))

    def canonical_axes(self, dtype: np.dtype[np.floating] | type[np.floating]) -> Axes:
        """The coordinate axes that the two slots stand for."""
        eye = np.eye(3, dtype=dtype)
        return eye[self.first], eye[self.second]

    def canonical_lanes(self, dtype: np.dtype[np.floating] | type[np.floating], count: int) -> FloatArray:
        """The same for `count` bones, (2, 3, N)."""
        return np.broadcast_to(np.stack(self.canonical_axes(dtype))[..., None], (2, 3, count))

    def cross(self, frames: Frames, lanes: slice) -> Operation:
        """The operation that completes frames whose two held axes are there."""
        order = (self.first, self.second) if self._derived_sign > 0 else (self.second, self.first)
        return frames.cross(*order, self.derived, lanes)

    @QUIETLY
    def reproject(self, flat: FloatArray, previous: FloatArray) -> FloatArray:
        """Orthonormalise (..., 6·B) and pack it again; `previous` (..., 6·B) is the pose published one frame before.

        |a| < 1e-4 takes the first axis of the previous frame, |b⊥| < 1e-4 its second. Source: engine `Reproject6D`.
        """
        rows, before = _rows(flat), _rows(np.broadcast_to(previous, flat.shape))
        result = np.empty(rows.shape, rows.dtype)
        for block, operation in _in_blocks(self, Reprojection, rows):
            operation.axes[...] = self.lanes(rows[block])
            operation(before[block])
            pour(operation.axes, self.lanes(result[block]))
        return result.reshape(flat.shape)

    @QUIETLY
    def decode(self, flat: FloatArray) -> FloatArray:
        """Turn (..., 6·B) into (..., B, 3, 3), orthonormalised; near-zero axes become coordinate axes.

        Source: engine `DecodeRot6DToMatrix`, used on the previous pose, on ΔR and on seeds.
        """
        rows = _rows(flat)
        result = np.empty((len(rows), rows.shape[1] // 6, 3, 3), rows.dtype)
        for block, operation in _in_blocks(self, Decoding, rows):
            operation.held[...] = self.lanes(rows[block])
            operation()
            result[block] = operation.matrices.transpose(2, 3, 0, 1)
        return result.reshape(*flat.shape[:-1], -1, 3, 3)

    @QUIETLY
    def decode_to_quat(self, flat: FloatArray) -> FloatArray:
        """Turn (..., 6·B) into unit quaternions (..., B, 4), xyzw."""
        rows = _rows(flat)
        result = np.empty((len(rows), rows.shape[1] // 6, 4), rows.dtype)
        for block, operation in _in_blocks(self, Decoding, rows):
            operation.held[...] = self.lanes(rows[block])
            operation()
            result[block] = matrix_to_quat(operation.matrices.transpose(2, 3, 0, 1))
        return result.reshape(*flat.shape[:-1], -1, 4)

    @QUIETLY
    def compose(self, delta: FloatArray, previous: FloatArray) -> FloatArray:
        """ΔR · R_prev of two (..., 6·B), each decoded, their product encoded."""
        rows, before = _rows(delta), _rows(np.broadcast_to(previous, delta.shape))
        result = np.empty(rows.shape, rows.dtype)
        for block, operation in _in_blocks(self, Composition, rows):
            operation.delta[...], operation.previous[...] = self.lanes(rows[block]), self.lanes(before[block])
            operation()
            pour(operation.result, self.lanes(result[block]))
        return result.reshape(delta.shape)

    def decode_as_is(self, flat: FloatArray) -> FloatArray:
        """Turn (..., 6·B) into (..., B, 3, 3) with no Gram–Schmidt: what an engine does that forgot to reproject."""
        return self.assemble(*self.split(flat))

    def assemble(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Place two axes and their cross product as the columns (or rows) of (..., B, 3, 3)."""
        lines = np.empty((*a.shape, 3), a.dtype)
        lines[..., self.first], lines[..., self.second] = a, b
        lines[..., self.derived] = self._derived_sign * cross(a, b)
        return np.swapaxes(lines, -1, -2) if self.are_rows else lines

    def encode(self, matrix: FloatArray) -> FloatArray:
        """Pack the two named axes of (..., B, 3, 3) into (..., 6·B)."""
        lines = np.swapaxes(matrix, -1, -2) if self.are_rows else matrix
        return self.join(lines[..., self.first], lines[..., self.second])


def _rows(flat: FloatArray) -> FloatArray:
    """(..., W) as (R, W)."""
    return flat.reshape(-1, flat.shape[-1])


Bound = TypeVar("Bound", Reprojection, Decoding, Composition)


def _in_blocks(codec: Rot6d, kind: type[Bound], rows: FloatArray) -> Iterator[tuple[slice, Bound]]:
    """Blocks of (R, 6·B) rows, each with an operation of its size."""
    bones, size, operation = rows.shape[1] // 6, 0, None
    for block in blocks(len(rows), bones):
        if operation is None or block.stop - block.start != size:
            size = block.stop - block.start
            operation = kind(codec, (size, bones), rows.dtype.type)
        yield block, operation
