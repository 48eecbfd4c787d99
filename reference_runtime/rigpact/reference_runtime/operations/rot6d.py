"""Six numbers to a rotation and back: reproject, decode, compose.

Flat vectors are (..., 6·B), one bone after the other; matrices are (..., B, 3, 3) with axes as columns. A `Rot6d` is built once
from the conventions. Long arrays go through the compiled library, to the same bits. Not here: the readings of the numbers
(six_numbers.py), what becomes of a short axis (gram_schmidt.py).
"""

import numpy as np

from rigpact.contract.conventions import Conventions
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.native import geometry as native
from rigpact.reference_runtime.operations.geometry import compose, cross, matrix_to_quat
from rigpact.reference_runtime.operations.gram_schmidt import Axes, Guard, orthonormal
from rigpact.reference_runtime.operations.precision import QUIETLY
from rigpact.reference_runtime.operations.six_numbers import DERIVED_SIGN, LOST_AXES, PACKING


class Rot6d:
    """The 6D codec of one set of conventions.

    first, second: the axes (0 = x) that the six numbers hold; derived: the third. With packing `rows` the axes are rows of R,
    and the six numbers hold the first two rows; `rot6d_columns` has no effect.
    """

    def __init__(self, conventions: Conventions) -> None:
        """Look every convention up once."""
        self._packing = PACKING[conventions.rot6d_packing]
        self.are_rows, self.is_interleaved = self._packing.are_rows, conventions.rot6d_packing == "interleaved"
        names = "xy" if self.are_rows else conventions.rot6d_columns
        self.first, self.second = ("xyz".index(name) for name in names)
        self.derived = 3 - self.first - self.second
        parity = 1.0 if (self.second - self.first) % 3 == 1 else -1.0
        self.is_second_first = DERIVED_SIGN[conventions.derived_axis](parity) < 0.0
        lost = LOST_AXES[conventions.degenerate_axis]
        self.reproject_guard, self.decode_guard = lost.published, lost.decoded
        self.delta_guard = lost.published if lost.delta_keeps else lost.decoded
        self.pose_keeps_axes, self.delta_keeps_axes = lost.pose_keeps, lost.delta_keeps

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

    def identity(self, bones: int, dtype: np.dtype[np.floating] | type = np.float64) -> FloatArray:
        """The six numbers of no rotation, for each bone: (6·B,)."""
        return np.tile(self.encode(np.eye(3, dtype=dtype)[None]), bones)

    def assemble(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Place two axes and their cross product as the columns (or rows) of (..., B, 3, 3)."""
        lines = np.empty((*a.shape, 3), a.dtype)
        lines[..., self.first], lines[..., self.second] = a, b
        lines[..., self.derived] = cross(b, a) if self.is_second_first else cross(a, b)
        return np.swapaxes(lines, -1, -2) if self.are_rows else lines

    def encode(self, matrix: FloatArray) -> FloatArray:
        """Pack the two named axes of (..., B, 3, 3) into (..., 6·B)."""
        lines = np.swapaxes(matrix, -1, -2) if self.are_rows else matrix
        return self.join(lines[..., self.first], lines[..., self.second])

    def reproject(self, flat: FloatArray, previous: FloatArray) -> FloatArray:
        """Orthonormalise (..., 6·B) and pack it again; `previous` (..., 6·B) is the pose published one frame before.

        |a| < 1e-4 takes the first axis of the previous frame, |b⊥| < 1e-4 its second. Source: engine `Reproject6D`.
        """
        return self._orthonormalised(flat, self.reproject_guard, previous if self.pose_keeps_axes else None)

    def reproject_delta(self, flat: FloatArray, previous: FloatArray | None) -> FloatArray:
        """The same of ΔR. It has no frame before it: a lost axis becomes a coordinate axis, unless conventions say otherwise."""
        return self._orthonormalised(flat, self.delta_guard, previous if self.delta_keeps_axes else None)

    @QUIETLY
    def _orthonormalised(self, flat: FloatArray, guard: Guard, instead: FloatArray | None) -> FloatArray:
        return self.join(*orthonormal(*self.split(flat), guard, lambda: self.split(self._spare(flat, instead))))

    def _spare(self, flat: FloatArray, instead: FloatArray | None) -> FloatArray:
        return self.identity(flat.shape[-1] // 6, flat.dtype) if instead is None else instead

    @QUIETLY
    def decode(self, flat: FloatArray) -> FloatArray:
        """Turn (..., 6·B) into (..., B, 3, 3), orthonormalised; near-zero axes become coordinate axes.

        Source: engine `DecodeRot6DToMatrix`, used on the previous pose, on ΔR and on seeds.
        """
        result = np.empty((*flat.shape[:-1], flat.shape[-1] // 6, 3, 3), flat.dtype)
        if native.computed("decode", self.native_form, (flat,), result, lambda six: self._decoded(six).reshape(-1, 9)):
            return result
        return self._decoded(flat)

    def _decoded(self, flat: FloatArray) -> FloatArray:
        return self.assemble(
            *orthonormal(*self.split(flat), self.decode_guard, lambda: self.split(self._spare(flat, None)))
        )

    def decode_to_quat(self, flat: FloatArray) -> FloatArray:
        """Turn (..., 6·B) into unit quaternions (..., B, 4), xyzw."""
        return matrix_to_quat(self.decode(flat))

    @QUIETLY
    def compose(self, delta: FloatArray, previous: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """ΔR · R_prev of two (..., 6·B), each decoded, their product encoded; into `out`, an array like the delta, if given.

        Raises ValueError for an `out` that is not in C's order: its rows would be a copy.
        """
        if out is not None and not out.flags.c_contiguous:
            raise ValueError("out must be an array in C's order")
        result = np.empty_like(delta, order="C") if out is None else out
        before = np.ascontiguousarray(np.broadcast_to(previous, delta.shape))
        if not native.computed("compose", self.native_form, (delta, before), result, self._composed):
            result[...] = self._composed(delta, before)
        return result

    def _composed(self, delta: FloatArray, previous: FloatArray) -> FloatArray:
        return self.encode(compose(self._decoded(delta), self._decoded(previous)))

    @property
    def native_form(self) -> native.SixForm:
        """The same conventions for C++."""
        return native.SixForm(self.first, self.second, self.is_interleaved, self.are_rows, self.is_second_first)

    def decode_as_is(self, flat: FloatArray) -> FloatArray:
        """Turn (..., 6·B) into (..., B, 3, 3) without Gram–Schmidt: the defect of an engine that does not reproject."""
        return self.assemble(*self.split(flat))
