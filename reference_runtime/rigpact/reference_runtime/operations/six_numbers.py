"""Six numbers of a rotation: their readings, Gram–Schmidt and its short axes, the codec, how far rounding moves them.

Flat vectors are (..., 6·B), one bone after the other; matrices are (..., B, 3, 3) with axes as columns. A `Rot6d` is built once
from the conventions. Long arrays go through the compiled library, to the same bits. To add a packing or a policy for short axes:
a row in its table; a guard: a constant beside `SHORT`.
A bound of infinity says that nothing can be said: the two sides may have decided differently whether an axis is lost, or the
error spans the whole range of a rotation. Such a value is not judged.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.conventions import Conventions
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.native import library as native
from rigpact.reference_runtime.operations.geometry import (
    KINDA_SMALL_NUMBER,
    TRAINING_EPSILON,
    BoolArray,
    compose,
    cross,
    is_short,
    length,
    matrix_to_quat,
    most_perpendicular_axis,
    perpendicular,
)
from rigpact.reference_runtime.operations.scalars import QUIETLY, gamma

Axes = tuple[FloatArray, FloatArray]
"""Two (..., 3) vectors."""
CLEARLY_LONG = 2e-4
"""No guard replaces an axis of this length or longer. The longest axis that a guard replaces is sqrt(3)·1e-4, see
`NEARLY_ZERO`."""


@dataclass(frozen=True)
class Guard:
    """The treatment of an axis that is too short to normalise.

    is_lost: takes axes (..., 3) and returns flags (..., 1): the axes to replace. None replaces nothing. least_divisor: the
    lower limit of the length as a divisor. size: takes axes and returns (..., 1), what is_lost compares with 1e-4.
    """

    is_lost: Callable[[FloatArray], BoolArray] | None
    least_divisor: float | None = None
    size: Callable[[FloatArray], FloatArray] | None = None


def _largest_component(axis: FloatArray) -> FloatArray:
    size = np.abs(axis)
    return np.maximum(np.maximum(size[..., :1], size[..., 1:2]), size[..., 2:])


SHORT = Guard(is_short, size=length)
"""|v| < 1e-4. Source: engine `Reproject6D`."""
NEARLY_ZERO = Guard(lambda axis: _largest_component(axis) <= KINDA_SMALL_NUMBER, size=_largest_component)
"""Every component within 1e-4 of zero. Source: engine `IsNearlyZero`."""
FLOORED = Guard(None, TRAINING_EPSILON)
"""Divide by max(|v|, 1e-8): a zero vector stays zero. Source: training `reproject_rot6d`."""
UNGUARDED = Guard(None)
"""Divide by the length, even if it is zero."""


def orthonormal(a: FloatArray, b: FloatArray, guard: Guard, instead: Callable[[], Axes]) -> Axes:
    """Two axes (..., 3) made orthonormal: a/|a|, then b without its part along a, normalised.

    A lost axis is replaced by the same axis of `instead()`. A replaced second axis is made orthogonal to the first; if the two
    are parallel, the most perpendicular coordinate axis replaces it. NaN is not replaced: it stays NaN, and the rules find it.
    """
    first = _unit(a, guard, lambda: instead()[0])
    return first, _unit(perpendicular(b, first), guard, lambda: _perpendicular_unit(instead()[1], first))


def _unit(v: FloatArray, guard: Guard, instead: Callable[[], FloatArray]) -> FloatArray:
    """v · (1/|v|), as the engine's `GetSafeNormal` scales; `instead` where the guard calls v lost."""
    divisor = length(v) if guard.least_divisor is None else np.maximum(length(v), v.dtype.type(guard.least_divisor))
    unit: FloatArray = v * (1.0 / divisor)
    lost = None if guard.is_lost is None else guard.is_lost(v)
    return unit if lost is None or not lost.any() else np.where(lost, instead(), unit).astype(v.dtype)


def _perpendicular_unit(axis: FloatArray, first: FloatArray) -> FloatArray:
    """The unit axis perpendicular to `first` that is nearest to `axis`; all are (..., 3)."""
    rest = perpendicular(axis.astype(first.dtype), first)
    way_out = perpendicular(most_perpendicular_axis(first), first)
    chosen = np.where(is_short(rest), way_out, rest)
    return np.asarray(chosen / length(chosen))


class Packing(NamedTuple):
    """How (..., 6) numbers are viewed as (..., 2, 3), two axes, and whether these are rows of R."""

    pair: Callable[[FloatArray], FloatArray]
    are_rows: bool


def _halves(six: FloatArray) -> FloatArray:
    return six.reshape(*six.shape[:-1], 2, 3)


PACKING: Mapping[str, Packing] = {
    "columns": Packing(_halves, are_rows=False),
    "rows": Packing(_halves, are_rows=True),
    "interleaved": Packing(lambda six: six.reshape(*six.shape[:-1], 3, 2).swapaxes(-1, -2), are_rows=False),
}
DERIVED_SIGN: Mapping[str, Callable[[float], float]] = {
    # second × first, flipped when det < 0, which is exactly the case when the two axes are in cyclic order (xy, yz, zx)
    "second_cross_first": lambda parity: parity,
    # first × second, for any sign of the determinant
    "first_cross_second": lambda parity: 1.0,  # noqa: ARG005 - one signature for the table
}


class LostAxes(NamedTuple):
    """What happens to a lost axis: of a pose that is published, and where poses, deltas and seeds are decoded.

    pose_keeps, delta_keeps: whether a published pose, and ΔR, take the axis of the pose published one frame before.
    """

    published: Guard
    decoded: Guard
    pose_keeps: bool = False
    delta_keeps: bool = False


LOST_AXES: Mapping[str, LostAxes] = {
    "previous_frame": LostAxes(SHORT, NEARLY_ZERO, pose_keeps=True),
    "canonical": LostAxes(SHORT, NEARLY_ZERO),
    # `Reproject6D` with the previous pose, called on ΔR too: a turn takes an axis of a pose
    "previous_frame_for_delta": LostAxes(SHORT, NEARLY_ZERO, pose_keeps=True, delta_keeps=True),
    "zero": LostAxes(FLOORED, FLOORED),
}


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
    def compose(self, delta: FloatArray, previous: FloatArray) -> FloatArray:
        """ΔR · R_prev of two (..., 6·B), each decoded, their product encoded."""
        result = np.empty_like(delta, order="C")
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


ROTATION_RANGE = 2.0
"""Largest difference of any entry of two rotations: a tolerance this wide judges nothing."""
GRAM_SCHMIDT = 24
"""Operations on the longest path of Gram–Schmidt."""

Flags = NDArray[np.bool_]


class Replacement(NamedTuple):
    """What stands for a lost axis: the guard that finds it, and the axes (T, 6·B) that replace it, NaN if not known."""

    guard: Guard
    axes: Callable[[], FloatArray]


def gram_schmidt_bound(codec: Rot6d, six: FloatArray, upstream: FloatArray | float, instead: Replacement) -> FloatArray:
    """Bound of Gram–Schmidt on (T, 6·B), given a bound of its input: 1/|a| for the first axis, |b|/|b⊥| for the second.

    The first axis moves by at most e_a = (|δa| + gamma) / |a|, the second by (|δb| + |b|·e_a + gamma) / |b⊥|. An axis that
    both sides surely replace is the given axis: the first moves by gamma, the second by e_a over its part across the first.
    The given axes count as equal on both sides: how far they differ is inherited from the frame before.
    """
    a, b = codec.split(six.astype(np.float64))
    error_a, error_b = _axis_errors(codec, upstream, a.shape)
    size_a, size_b = length(a), length(b)
    with np.errstate(divide="ignore", invalid="ignore"):
        first: FloatArray = error_a / size_a + gamma(GRAM_SCHMIDT)
        rest = length(perpendicular(b, a / size_a))
        error = error_b + size_b * first
        second: FloatArray = error / rest + gamma(GRAM_SCHMIDT)
        if not ((size_a > _clearly_long(error_a)).all() and (rest > _clearly_long(error)).all()):
            spare = codec.split(np.broadcast_to(instead.axes(), six.shape).astype(np.float64))
            first, second = _guarded_bound((a, b), (error_a, error_b), instead.guard, spare)
    bounds = (np.where(each < ROTATION_RANGE, each, np.inf) for each in (first, second))
    return codec.join(*(np.broadcast_to(each, a.shape) for each in bounds))


def _clearly_long(error: FloatArray) -> FloatArray:
    """The length above which every guard keeps an axis on both sides; a component is at least 1/sqrt(3) of the length."""
    return np.asarray(CLEARLY_LONG + np.sqrt(3.0) * error)


def _guarded_bound(axes: Axes, errors: Axes, guard: Guard, spares: Axes) -> Axes:
    """The bounds of both axes (T, B, 1) where some may be lost; infinite where that is not decided, or no axis is known."""
    (a, b), (error_a, error_b), (spare_a, spare_b) = axes, errors, spares
    floor, rounding = guard.least_divisor or 0, gamma(GRAM_SCHMIDT)
    kept, lost = _decided(guard, a, error_a)
    axis = np.where(lost, spare_a, a / np.maximum(length(a), floor))
    lost &= np.isfinite(spare_a).all(axis=-1, keepdims=True)
    first: FloatArray = rounding + np.where(kept, error_a / np.maximum(length(a), floor), np.where(lost, 0.0, np.inf))
    rest, spare = perpendicular(b, axis), length(perpendicular(spare_b, axis))
    error = error_b + length(b) * first
    kept, lost = _decided(guard, rest, error)
    lost &= spare > KINDA_SMALL_NUMBER + first
    second = np.where(kept, error / np.maximum(length(rest), floor), np.where(lost, first / spare, np.inf))
    return first, rounding + second


def _decided(guard: Guard, axis: FloatArray, error: FloatArray) -> tuple[Flags, Flags]:
    """Whether both sides surely keep an axis (T, B, 3), and whether both surely replace it, (T, B, 1)."""
    if guard.size is None:
        return np.ones(error.shape, bool), np.zeros(error.shape, bool)
    size = guard.size(axis)
    slack = KINDA_SMALL_NUMBER * gamma(GRAM_SCHMIDT) + error
    return size > KINDA_SMALL_NUMBER + slack, size < KINDA_SMALL_NUMBER - slack


def _axis_errors(codec: Rot6d, bound: FloatArray | float, shape: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
    """Euclidean length of the bound of both axes of each bone, (T, B, 1)."""
    if isinstance(bound, float):
        both = np.full((*shape[:-1], 1), bound)
        return both, both
    axis_a, axis_b = codec.split(bound)
    return length(axis_a), length(axis_b)


def rotation_errors(codec: Rot6d, bound: FloatArray) -> FloatArray:
    """Bound of a rotation's angle error, (T, B, 1) radians, from the bounds of its two axes; infinite if it judges nothing.

    One axis fixes two components of the rotation, the other axis the third: at most the root of the sum of squares.
    `bound` comes from gram_schmidt_bound or from a bound per bone: each of an axis's three channels carries the bound of the
    whole axis, so their Euclidean length is sqrt(3) times that bound.
    """
    error_a, error_b = _axis_errors(codec, bound, bound.shape)
    error = np.hypot(error_a, error_b) / np.sqrt(3.0)
    return np.asarray(np.where(error < ROTATION_RANGE, error, np.inf))
