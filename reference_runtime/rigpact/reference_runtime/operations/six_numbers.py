"""The order of the six numbers: how a bundle packs two axes of a rotation.

Flat vectors are (..., 6·B), one bone after the other; matrices are (..., B, 3, 3) with axes as columns. To add a
packing or a degenerate-axis policy: a row in the table below. Not here: the arithmetic on rotations (rot6d.py,
lanes.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from rigpact.contract.conventions import Conventions
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.geometry import cross
from rigpact.reference_runtime.operations.lanes import FLOORED, NEARLY_ZERO, SHORT, Guard

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
    # second × first, flipped when det < 0, which is exactly the case when the two axes are in cyclic order (xy, yz, zx)
    "second_cross_first": lambda parity: parity,
    # first × second, for any sign of the determinant
    "first_cross_second": lambda parity: 1.0,  # noqa: ARG005 - one signature for the table
}


class _LostAxes(NamedTuple):
    """What happens to a lost axis: of a pose that is published, and where poses, deltas and seeds are decoded.

    pose_keeps, delta_keeps: whether a published pose, and ΔR, take the axis of the pose published one frame before.
    """

    published: Guard
    decoded: Guard
    pose_keeps: bool = False
    delta_keeps: bool = False


LOST_AXES: Mapping[str, _LostAxes] = {
    "previous_frame": _LostAxes(SHORT, NEARLY_ZERO, pose_keeps=True),
    "canonical": _LostAxes(SHORT, NEARLY_ZERO),
    # `Reproject6D` with the previous pose, called on ΔR too: a turn takes an axis of a pose
    "previous_frame_for_delta": _LostAxes(SHORT, NEARLY_ZERO, pose_keeps=True, delta_keeps=True),
    "zero": _LostAxes(FLOORED, FLOORED),
}


class SixNumbers:
    """The content of the six numbers under one set of conventions.

    first, second: the axes (0 = x) that they hold; derived: the third. With packing `rows` the axes are rows of R, and
    the six numbers hold the first two rows; `rot6d_columns` has no effect.
    """

    def __init__(self, conventions: Conventions) -> None:
        """Look every convention up once."""
        self._packing = PACKING[conventions.rot6d_packing]
        self.are_rows, self.is_interleaved = self._packing.are_rows, conventions.rot6d_packing == "interleaved"
        names = "xy" if self.are_rows else conventions.rot6d_columns
        self.first, self.second = ("xyz".index(name) for name in names)
        self.derived = 3 - self.first - self.second
        parity = 1.0 if (self.second - self.first) % 3 == 1 else -1.0
        self._derived_sign = DERIVED_SIGN[conventions.derived_axis](parity)
        lost = LOST_AXES[conventions.degenerate_axis]
        self.reproject_guard, self.decode_guard = lost.published, lost.decoded
        self.delta_guard = lost.published if lost.delta_keeps else lost.decoded
        self.pose_keeps_axes, self.delta_keeps_axes = lost.pose_keeps, lost.delta_keeps

    @property
    def lines(self) -> slice:
        """The two held axes among three, in their order in the six numbers."""
        step = self.second - self.first
        end = self.second + step
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

    def canonical_lanes(self, dtype: np.dtype[np.floating] | type[np.floating], count: int) -> FloatArray:
        """The coordinate axes that the six numbers hold, for each bone: (2, 3, N)."""
        return np.broadcast_to(np.eye(3, dtype=dtype)[self.lines, :, None], (2, 3, count))

    def held(self, frames: FloatArray) -> FloatArray:
        """The two axes of `room_for_frames` that the six numbers hold, in their order: (2, 3, N)."""
        return frames[self.lines, :3]

    def matrices(self, frames: FloatArray) -> FloatArray:
        """The axes of `room_for_frames` as matrix[row, column], (3, 3, N)."""
        axes = frames[:, :3]
        return axes if self.are_rows else axes.swapaxes(0, 1)

    @property
    def cross_order(self) -> tuple[int, int]:
        """The held axes in the order whose cross product is the derived axis."""
        return (self.first, self.second) if self._derived_sign > 0 else (self.second, self.first)

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
