"""Six numbers for a rotation: how a bundle packs two axes, and how both sides turn them into SO(3).

A `Rot6d` is built once from the conventions; its methods take flat (..., 6·B) vectors, B bones side by side.
To add a packing or a degenerate-axis policy: a row in the table below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from rigpact.contract.conventions import Conventions
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.geometry import (
    TRAINING_EPSILON,
    BoolArray,
    cross,
    is_nearly_zero,
    is_short,
    length,
    most_perpendicular_axis,
    normalised_or,
    perpendicular,
)

Axes = tuple[FloatArray, FloatArray]
"""Two (..., B, 3) vectors: the axes that the six numbers hold."""


class _Packing(NamedTuple):
    split: Callable[[FloatArray], Axes]
    join: Callable[[FloatArray, FloatArray], FloatArray]
    are_rows: bool


def _halves(six: FloatArray) -> Axes:
    return six[..., :3], six[..., 3:]


def _every_other(six: FloatArray) -> Axes:
    return six[..., 0::2], six[..., 1::2]


def _side_by_side(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.concatenate((a, b), axis=-1)


def _zipped(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.stack((a, b), axis=-1).reshape(*a.shape[:-1], 6)


PACKING: Mapping[str, _Packing] = {
    "columns": _Packing(_halves, _side_by_side, are_rows=False),
    "rows": _Packing(_halves, _side_by_side, are_rows=True),
    "interleaved": _Packing(_every_other, _zipped, are_rows=False),
}
DERIVED_SIGN: Mapping[str, Callable[[float], float]] = {
    # second × first, flipped when det < 0: that happens exactly when the two axes are in cyclic order (xy, yz, zx)
    "second_cross_first": lambda parity: parity,
    # first × second, and nobody looks at the determinant
    "first_cross_second": lambda parity: 1.0,  # noqa: ARG005 - one signature for the table
}


def _engine_pair(a: FloatArray, b: FloatArray, fallback: Axes, degenerate: Callable[[FloatArray], BoolArray]) -> Axes:
    """Gram–Schmidt with replaced axes: a/|a|, then b without its part along it.

    A fallback axis is made orthogonal too; when even that is parallel, the most perpendicular coordinate axis serves,
    so that the result is a rotation whatever came in.
    """
    first = normalised_or(a, degenerate(a), fallback[0])
    rest = perpendicular(b, first)
    short = degenerate(rest)
    second = _substitute(fallback[1], first) if short.any() else rest
    return first, normalised_or(rest, short, second)


def _substitute(axis: FloatArray, first: FloatArray) -> FloatArray:
    rest = perpendicular(axis, first)
    return normalised_or(rest, is_short(rest), _unit(perpendicular(most_perpendicular_axis(first), first)))


def _unit(v: FloatArray) -> FloatArray:
    return v / length(v)


def _training_pair(a: FloatArray, b: FloatArray) -> Axes:
    """Gram–Schmidt that divides by max(|v|, 1e-8): a zero vector stays zero. Source: training `reproject_rot6d`."""
    first = a / np.maximum(length(a), TRAINING_EPSILON)
    rest = perpendicular(b, first)
    return first, rest / np.maximum(length(rest), TRAINING_EPSILON)


class Rot6d:
    """The 6D codec of one set of conventions.

    Flat vectors are (..., 6·B); matrices are (..., B, 3, 3) with axes as columns. `rows` holds the first two rows of R,
    whatever `rot6d_columns` says.
    """

    def __init__(self, conventions: Conventions) -> None:
        """Look every convention up once."""
        self._packing = PACKING[conventions.rot6d_packing]
        names = "xy" if self._packing.are_rows else conventions.rot6d_columns
        self._first, self._second = ("xyz".index(name) for name in names)
        self._derived = 3 - self._first - self._second
        parity = 1.0 if (self._second - self._first) % 3 == 1 else -1.0
        self._derived_sign = DERIVED_SIGN[conventions.derived_axis](parity)
        self._zero_stays_zero = conventions.degenerate_axis == "zero"
        self._falls_back_on_previous = conventions.degenerate_axis == "previous_frame"

    def split(self, flat: FloatArray) -> Axes:
        """Unpack (..., 6·B) into two (..., B, 3) axes."""
        return self._packing.split(flat.reshape(*flat.shape[:-1], -1, 6))

    def join(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Pack two (..., B, 3) axes into (..., 6·B)."""
        six = self._packing.join(a, b)
        return six.reshape(*six.shape[:-2], -1)

    def identity(self, bones: int, dtype: np.dtype[np.floating] | type = np.float64) -> FloatArray:
        """The six numbers of no rotation, for each bone: (6·B,)."""
        return self.encode(np.broadcast_to(np.eye(3, dtype=dtype), (bones, 3, 3)))

    def canonical_axes(self, dtype: np.dtype[np.floating]) -> Axes:
        """The coordinate axes that the two slots stand for."""
        eye = np.eye(3, dtype=dtype)
        return eye[self._first], eye[self._second]

    def orthonormal(self, flat: FloatArray, previous: FloatArray) -> Axes:
        """Main-path Gram–Schmidt of (..., 6·B); `previous` (..., 6·B) is the pose published one frame before.

        |a| < 1e-4 takes the first axis of the previous frame, |b⊥| < 1e-4 its second. Source: engine `Reproject6D`.
        """
        a, b = self.split(flat)
        if self._zero_stays_zero:
            return _training_pair(a, b)
        canonical = self.canonical_axes(flat.dtype)
        fallback = self.split(previous) if self._falls_back_on_previous else canonical
        return _engine_pair(a, b, fallback, is_short)

    def reproject(self, flat: FloatArray, previous: FloatArray) -> FloatArray:
        """Orthonormalise (..., 6·B) and pack it again."""
        return self.join(*self.orthonormal(flat, previous))

    def decode(self, flat: FloatArray) -> FloatArray:
        """Turn (..., 6·B) into (..., B, 3, 3), orthonormalised; near-zero axes become coordinate axes.

        Source: engine `DecodeRot6DToMatrix`, used on the previous pose, on ΔR and on seeds.
        """
        a, b = self.split(flat)
        if self._zero_stays_zero:
            return self.assemble(*_training_pair(a, b))
        return self.assemble(*_engine_pair(a, b, self.canonical_axes(flat.dtype), is_nearly_zero))

    def decode_as_is(self, flat: FloatArray) -> FloatArray:
        """Turn (..., 6·B) into (..., B, 3, 3) with no Gram–Schmidt: what an engine does that forgot to reproject."""
        return self.assemble(*self.split(flat))

    def assemble(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Place two axes and their cross product as the columns (or rows) of (..., B, 3, 3)."""
        lines = np.empty((*a.shape, 3), a.dtype)
        lines[..., self._first], lines[..., self._second] = a, b
        lines[..., self._derived] = self._derived_sign * cross(a, b)
        return np.swapaxes(lines, -1, -2) if self._packing.are_rows else lines

    def encode(self, matrix: FloatArray) -> FloatArray:
        """Pack the two named axes of (..., B, 3, 3) into (..., 6·B)."""
        lines = np.swapaxes(matrix, -1, -2) if self._packing.are_rows else matrix
        return self.join(lines[..., self._first], lines[..., self._second])
