"""What the loop does with six numbers a bone, bound to buffers of R frames of B bones: reproject, decode, compose.

Whoever runs frame after frame keeps an operation and calls it again; whoever has an array makes one for a block of it. The
rooms to fill and to read are (2, 3, R, B): the two axes of every bone, see `Rot6d.lanes`. One operation belongs to one
thread at a time. Not here: the arithmetic itself (lanes.py), which stage comes when (pose_plan.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.lanes import FEW, Frames, GramSchmidt, product

if TYPE_CHECKING:
    from rigpact.reference_runtime.operations.rot6d import Rot6d

Factors = tuple[FloatArray, FloatArray]
COMPOSE: Mapping[str, Callable[[FloatArray, FloatArray], Factors]] = {
    # the left and the right factor of R_next. The engine's `FMatrix` holds axes as rows, so a literal `DeltaM * PrevM`
    # there is the other order. Source: contract document, section 3; training `compose_rot6d_delta`
    "delta_prev": lambda delta, previous: (delta, previous),
    "prev_delta": lambda delta, previous: (previous, delta),
}
DIRECTION: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    # of a (3, 3, N) matrix[row, column]
    "forward": lambda delta: delta,
    "inverse": lambda delta: delta.swapaxes(0, 1),
}


class Reprojection:
    """Main-path Gram–Schmidt of R frames: fill `axes` (2, 3, R, B), call, read them again.

    looked_back: whether an axis was lost and taken from the published pose, in any call so far.
    """

    def __init__(self, codec: Rot6d, shape: tuple[int, int], dtype: type[np.floating]) -> None:
        """Make room for (R, B) bones."""
        axes = np.empty((2, 3, math.prod(shape)), dtype)
        self.axes = axes.reshape(2, 3, *shape)
        self._codec = codec
        self._published: FloatArray = axes
        self.looked_back = False
        canonical = codec.canonical_lanes(dtype, math.prod(shape))
        fallback = self._published_lanes if codec.falls_back_on_previous else lambda: canonical
        self._orthonormalise = GramSchmidt(axes[0], axes[1], codec.reproject_guard, fallback)

    def __call__(self, published: FloatArray) -> None:
        """Orthonormalise; published (R, 6·B) is the pose published one frame before."""
        self._published = published
        self._orthonormalise()

    def _published_lanes(self) -> FloatArray:
        self.looked_back = True
        return self._codec.lanes(self._published).reshape(2, 3, -1)


class Decoding:
    """The rotation matrices of R frames: fill `held` (2, 3, R, B), call, read `matrices` (3, 3, R, B)."""

    def __init__(self, codec: Rot6d, shape: tuple[int, int], dtype: type[np.floating]) -> None:
        """Make room for (R, B) bones."""
        frames, room = _decoder(codec, math.prod(shape), dtype)
        self.held = room.reshape(2, 3, *shape)
        self._steps = (_orthonormaliser(codec, frames, slice(None)), codec.cross(frames, slice(None)))
        self.matrices = _matrices(codec, frames).reshape(3, 3, *shape)

    def __call__(self) -> None:
        """Orthonormalise the two held axes and complete them."""
        for step in self._steps:
            step()


class Composition:
    """R_next of R frames: fill `delta` and `previous` (2, 3, R, B), call, read `result` (2, 3, R, B).

    A delta that nothing orthonormalised is decoded as it stands: `decodes_delta` False.
    """

    def __init__(
        self,
        codec: Rot6d,
        shape: tuple[int, int],
        dtype: type[np.floating],
        *,
        compose: Callable[[FloatArray, FloatArray], Factors] = COMPOSE["delta_prev"],
        direct: Callable[[FloatArray], FloatArray] = DIRECTION["forward"],
        decodes_delta: bool = True,
    ) -> None:
        """Make room for (R, B) pairs; deltas stand in the first half of every row, previous rotations in the second."""
        count = math.prod(shape)
        frames, room = _decoder(codec, 2 * count, dtype)
        delta, previous = slice(None, count), slice(count, None)
        self.delta = room[..., delta].reshape(2, 3, *shape)
        self.previous = room[..., previous].reshape(2, 3, *shape)
        result = np.empty((2, 3, count), dtype)
        self.result = result.reshape(2, 3, *shape)
        matrices = _matrices(codec, frames)
        turn, before = direct(matrices[..., delta]), matrices[..., previous]
        left, right = compose(turn, before)
        # of one factor only the two lines that the six numbers hold are looked at; a few bones are quicker all at once
        partial_factor = left if codec.are_rows else right
        skips_delta = partial_factor is turn and direct is DIRECTION["forward"] and count > FEW
        skips_previous = partial_factor is before and count > FEW
        whole = slice(count if skips_delta else 0, count if skips_previous else 2 * count)
        self._steps = (
            _orthonormaliser(codec, frames, slice(None) if decodes_delta else previous),
            codec.cross(frames, whole),
            product(left, right, codec.lines, result, by_rows=codec.are_rows),
        )

    def __call__(self) -> None:
        """Decode both, multiply, keep the lines that six numbers hold."""
        orthonormalise, complete, multiply = self._steps
        orthonormalise()
        complete()
        multiply()


def _decoder(codec: Rot6d, count: int, dtype: type[np.floating]) -> tuple[Frames, FloatArray]:
    """Room for N frames, and of it what the six numbers fill: (2, 3, N), in their order."""
    frames = Frames(count, dtype)
    return frames, frames.axes[codec.lines]


def _orthonormaliser(codec: Rot6d, frames: Frames, lanes: slice) -> Callable[[], None]:
    a, b = (frames.axes[index][:, lanes] for index in (codec.first, codec.second))
    return GramSchmidt(a, b, codec.decode_guard, partial(codec.canonical_lanes, a.dtype, a.shape[1]))


def _matrices(codec: Rot6d, frames: Frames) -> FloatArray:
    """matrix[row, column], (3, 3, N): the axes are columns, or rows where the six numbers are."""
    return frames.axes if codec.are_rows else frames.axes.swapaxes(0, 1)
