"""Reproject, decode and compose R frames of B bones, in preallocated buffers.

A loop builds an operation once and calls it in every frame; `Rot6d` builds one for each block of a long array. Inputs
and outputs are arrays (2, 3, R, B), the two axes of every bone, see `SixNumbers.lanes`. An operation serves one thread
at a time. Not here: the arithmetic itself (lanes.py), the order of the stages (pose_plan.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.lanes import Operation, cross, gram_schmidt, product, room_for_frames
from rigpact.reference_runtime.operations.six_numbers import SixNumbers

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
    """Gram–Schmidt of R frames: fill `axes` (2, 3, R, B), call, read `axes`.

    A pose is reprojected as the engine's `Reproject6D` does it. A delta is decoded: it has no frame before it, so a lost
    axis becomes a coordinate axis, unless the conventions say otherwise.
    looked_back: whether any call so far replaced a lost axis by the axis of the published pose.
    """

    def __init__(
        self, codec: SixNumbers, shape: tuple[int, int], dtype: type[np.floating], *, is_delta: bool = False
    ) -> None:
        """Allocate (R, B) bones."""
        axes = np.empty((2, 3, math.prod(shape)), dtype)
        self.axes = axes.reshape(2, 3, *shape)
        self._codec = codec
        self._published: FloatArray = axes
        self.looked_back = False
        canonical = codec.canonical_lanes(dtype, math.prod(shape))
        keeps = codec.delta_keeps_axes if is_delta else codec.pose_keeps_axes
        guard = codec.delta_guard if is_delta else codec.reproject_guard
        fallback = self._published_lanes if keeps else lambda: canonical
        self._orthonormalise = gram_schmidt(axes[0], axes[1], guard, fallback)

    def __call__(self, published: FloatArray) -> None:
        """Orthonormalise; published (R, 6·B) is the pose published one frame before."""
        self._published = published
        self._orthonormalise()

    def _published_lanes(self) -> FloatArray:
        self.looked_back = True
        return self._codec.lanes(self._published).reshape(2, 3, -1)


class Decoding:
    """The rotation matrices of R frames: fill `held` (2, 3, R, B), call, read `matrices` (3, 3, R, B)."""

    def __init__(self, codec: SixNumbers, shape: tuple[int, int], dtype: type[np.floating]) -> None:
        """Allocate (R, B) bones."""
        frames = room_for_frames(math.prod(shape), dtype)
        self.held = codec.held(frames).reshape(2, 3, *shape)
        self.matrices = codec.matrices(frames).reshape(3, 3, *shape)
        self._orthonormalise, self._complete = _orthonormaliser(codec, frames), _completer(codec, frames)

    def __call__(self) -> None:
        """Orthonormalise the two held axes, then derive the third."""
        self._orthonormalise()
        self._complete()


class Composition:
    """R_next of R frames: fill `delta` and `previous` (2, 3, R, B), call, read `result` (2, 3, R, B).

    decodes_delta: False uses the delta unchanged, without Gram–Schmidt.
    """

    def __init__(
        self,
        codec: SixNumbers,
        shape: tuple[int, int],
        dtype: type[np.floating],
        *,
        compose: Callable[[FloatArray, FloatArray], Factors] = COMPOSE["delta_prev"],
        direct: Callable[[FloatArray], FloatArray] = DIRECTION["forward"],
        decodes_delta: bool = True,
    ) -> None:
        """Allocate (R, B) pairs. In every row the deltas come first, then the previous rotations: one call decodes both."""
        count = math.prod(shape)
        frames = room_for_frames(2 * count, dtype)
        deltas, previous = frames[..., :count], frames[..., count:]
        self.delta, self.previous = (codec.held(half).reshape(2, 3, *shape) for half in (deltas, previous))
        result = np.empty((2, 3, count), dtype)
        self.result = result.reshape(2, 3, *shape)
        left, right = compose(direct(codec.matrices(deltas)), codec.matrices(previous))
        self._orthonormalise = _orthonormaliser(codec, frames if decodes_delta else previous)
        self._complete = _completer(codec, frames)
        self._multiply = product(left, right, codec.lines, result, by_rows=codec.are_rows)

    def __call__(self) -> None:
        """Decode both, multiply, and keep the two lines that the six numbers hold."""
        self._orthonormalise()
        self._complete()
        self._multiply()


def _orthonormaliser(codec: SixNumbers, frames: FloatArray) -> Operation:
    a, b = frames[codec.first, :3], frames[codec.second, :3]
    return gram_schmidt(a, b, codec.decode_guard, partial(codec.canonical_lanes, a.dtype, a.shape[1]))


def _completer(codec: SixNumbers, frames: FloatArray) -> Operation:
    first, second = codec.cross_order
    return cross(frames[first], frames[second], frames[codec.derived])
