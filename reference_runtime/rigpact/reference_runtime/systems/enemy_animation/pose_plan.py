"""The rotation stages after the network, bound to buffers: ΔR, the composed pose, the published pose.

A `PosePlan` serves R frames at a time. It keeps every stage as float32 lanes until its next run, and a recorder reads
them. Between stages the numbers are rounded to float32, as in the engine. `OutputStages` makes one plan for each number
of frames.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.bound_rotations import Composition, Factors, Reprojection
from rigpact.reference_runtime.operations.rot6d import Rot6d


@dataclass(frozen=True, eq=False)
class PoseConventions:
    """The conventions of an output's rotations, looked up once.

    offset (6·B,) is added to the output's rotations, None adds nothing. is_pose: these rotations are the next pose, not a
    delta. before, after: where Gram–Schmidt runs. signs: the diagonal of the mirror. order: for each published bone,
    the index of its rotation.
    """

    codec: Rot6d
    bones: int
    dtype: type[np.floating]
    is_pose: bool
    offset: FloatArray | None
    before: bool
    after: bool
    compose: Callable[[FloatArray, FloatArray], Factors]
    direct: Callable[[FloatArray], FloatArray]
    signs: tuple[float, float, float] | None
    order: Sequence[int] | None


class PosePlan:
    """The stages of R frames, in buffers that every run overwrites.

    delta, next, out: float32 lanes (2, 3, R, B) of the stages `delta6d`, `next6d` and of the rotations of `y_out`. A step
    takes the lanes of the stage before it and returns its own; every other vector is flat, (R, 6·B).
    """

    def __init__(self, conventions: PoseConventions, rows: int) -> None:
        """Allocate every buffer for `rows` frames."""
        self._own, self._codec = conventions, conventions.codec
        shape, dtype = (rows, conventions.bones), conventions.dtype
        self._reproject = Reprojection(self._codec, shape, dtype)
        self._reproject_delta = Reprojection(self._codec, shape, dtype, is_delta=True)
        self._composition = Composition(
            self._codec,
            shape,
            dtype,
            compose=conventions.compose,
            direct=conventions.direct,
            decodes_delta=conventions.before,
        )
        self.delta, self.next, self.out = np.empty((3, 2, 3, *shape), np.float32)
        offset = conventions.offset
        self._offset = None if offset is None else np.tile(self._codec.lanes(offset[None]), (rows, 1))
        self._mirror = None if conventions.signs is None else self._mirror_signs(conventions.signs)

    @property
    def looked_back(self) -> bool:
        """Whether a lost axis was ever replaced by the published pose's axis."""
        return self._reproject.looked_back or self._reproject_delta.looked_back

    def run(self, rotations: FloatArray, previous6d: FloatArray, published6d: FloatArray) -> None:
        """Every stage of the rotations (R, 6·B) of y_raw."""
        lanes = self._codec.lanes(rotations)
        if self._own.is_pose:
            self.next[...] = lanes
        else:
            self.compose(self.turn(lanes, published6d), previous6d)
        self.publish(self.next, published6d)

    def turn(self, rotations: FloatArray, published6d: FloatArray) -> FloatArray:
        """`delta` of the rotations of y_raw: the identity added where they are a residual, then orthonormalised.

        published6d: (R, 6·B), for conventions under which ΔR takes a lost axis of the pose published one frame before.
        """
        axes = self._reproject_delta.axes
        axes[...] = rotations
        if self._offset is not None:
            np.add(axes, self._offset, axes)
        if self._own.before:
            self._reproject_delta(published6d)
        self.delta[...] = axes
        return self.delta

    def compose(self, delta: FloatArray, previous6d: FloatArray) -> FloatArray:
        """`next`: `delta` applied to the rotations of the raw state."""
        operation = self._composition
        operation.delta[...] = delta
        operation.previous[...] = self._codec.lanes(previous6d)
        operation()
        self.next[...] = operation.result
        return self.next

    def publish(self, pose: FloatArray, published6d: FloatArray) -> FloatArray:
        """`out`: the pose `next` reprojected, in the engine's handedness and bone order."""
        axes = self._reproject.axes
        axes[...] = pose
        if self._own.after:
            self._reproject(published6d)
        if self._mirror is not None:
            np.multiply(axes, self._mirror, axes)
        self.out[...] = axes if self._own.order is None else axes[..., self._own.order]
        return self.out

    def _mirror_signs(self, signs: tuple[float, float, float]) -> FloatArray:
        """S·R·S with S = diag(signs): entry i of axis j takes both signs; (2, 3, 1, 1)."""
        both = np.multiply.outer(signs, signs)[[self._codec.first, self._codec.second]]
        return np.asarray(both, self._own.dtype)[..., None, None]


PoseStep = Callable[[PosePlan, FloatArray, FloatArray], FloatArray]
"""A step of the plan: its own input as lanes, and the other pose that it needs, flat."""
