"""Six numbers to a rotation and back: reproject, decode, compose.

A `Rot6d` is built once from the conventions; its methods take flat (..., 6·B) vectors of any length. Long arrays go through
bound_rotations.py block by block, or through the compiled library, to the same bits. Not here: the order of the numbers
(six_numbers.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.native import geometry as native
from rigpact.reference_runtime.operations.bound_rotations import Composition, Decoding, Reprojection
from rigpact.reference_runtime.operations.geometry import matrix_to_quat
from rigpact.reference_runtime.operations.lanes import blocks, pour
from rigpact.reference_runtime.operations.precision import QUIETLY
from rigpact.reference_runtime.operations.six_numbers import SixNumbers


class Rot6d(SixNumbers):
    """The 6D codec of one set of conventions."""

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
        if not native.computed("decode", self.native_form, (rows,), result, self._decoded):
            self._decode_into(result, rows)
        return result.reshape(*flat.shape[:-1], -1, 3, 3)

    def _decode_into(self, result: FloatArray, rows: FloatArray) -> None:
        for block, operation in _in_blocks(self, Decoding, rows):
            operation.held[...] = self.lanes(rows[block])
            operation()
            result[block] = operation.matrices.transpose(2, 3, 0, 1)

    def _decoded(self, rows: FloatArray) -> FloatArray:
        result = np.empty((len(rows), 1, 3, 3), rows.dtype)
        self._decode_into(result, rows)
        return result.reshape(len(rows), 9)

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
    def compose(self, delta: FloatArray, previous: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """ΔR · R_prev of two (..., 6·B), each decoded, their product encoded; into `out`, an array like the delta, if given.

        Raises ValueError for an `out` that is not in C's order: its rows would be a copy.
        """
        if out is not None and not out.flags.c_contiguous:
            raise ValueError("out must be an array in C's order")
        rows, before = _rows(delta), _rows(np.broadcast_to(previous, delta.shape))
        result = np.empty(rows.shape, rows.dtype) if out is None else _rows(out)
        if not native.computed("compose", self.native_form, (rows, before), result, self._composed):
            self._compose_into(result, rows, before)
        return result.reshape(delta.shape)

    def _compose_into(self, result: FloatArray, rows: FloatArray, before: FloatArray) -> None:
        for block, operation in _in_blocks(self, Composition, rows):
            operation.delta[...], operation.previous[...] = self.lanes(rows[block]), self.lanes(before[block])
            operation()
            pour(operation.result, self.lanes(result[block]))

    def _composed(self, rows: FloatArray, before: FloatArray) -> FloatArray:
        result = np.empty(rows.shape, rows.dtype)
        self._compose_into(result, rows, before)
        return result

    @property
    def native_form(self) -> native.SixForm:
        """The same conventions for C++."""
        is_second_first = self.cross_order == (self.second, self.first)
        return native.SixForm(self.first, self.second, self.is_interleaved, self.are_rows, is_second_first)

    def decode_as_is(self, flat: FloatArray) -> FloatArray:
        """Turn (..., 6·B) into (..., B, 3, 3) without Gram–Schmidt: the defect of an engine that does not reproject."""
        return self.assemble(*self.split(flat))


def _rows(flat: FloatArray) -> FloatArray:
    """(..., W) as (R, W)."""
    return flat.reshape(-1, flat.shape[-1])


Bound = TypeVar("Bound", Reprojection, Decoding, Composition)


def _in_blocks(codec: Rot6d, kind: type[Bound], rows: FloatArray) -> Iterator[tuple[slice, Bound]]:
    """Blocks of (R, 6·B) rows, each with an operation of its size."""
    bones, size = rows.shape[1] // 6, 0
    for block in blocks(len(rows), bones):
        rows_here = block.stop - block.start
        if rows_here != size:
            size = rows_here
            operation = kind(codec, (size, bones), rows.dtype.type)
        yield block, operation
