"""The rotations in a vector: matrices of its quaternions, six numbers or nine, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.layout import FieldKind
from rigpact.reference_runtime.operations.geometry import matrix_to_quat
from rigpact.reference_runtime.operations.six_numbers import Rot6d
from rigpact.reports.diagnosing.relations.relation import Group


class Codec(NamedTuple):
    """Numbers (T, N·size) to matrices (T, N, 3, 3), columns are axes, and back."""

    size: int
    decode: Callable[[FloatArray], FloatArray]
    encode: Callable[[FloatArray], FloatArray]


def codec_of(group: Group, contract: Contract) -> Codec | None:
    """How a slice holds its rotations; None if it holds none, or nothing says how."""
    maker = _CODECS.get(group.kind)
    return None if maker is None or (group.stop - group.start) % group.part else maker(contract)


def _quaternions(order: list[int]) -> Callable[[Any], Codec]:
    back = list(np.argsort(order))

    def decode(rows: FloatArray) -> FloatArray:
        quats = rows.reshape(len(rows), -1, 4)[..., order]
        with np.errstate(invalid="ignore", divide="ignore"):
            x, y, z, w = np.moveaxis(quats / np.linalg.norm(quats, axis=-1, keepdims=True), -1, 0)
        columns = (
            (1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)),
            (2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)),
            (2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)),
        )
        return np.stack([np.stack(column, axis=-1) for column in columns], axis=-1)

    def encode(matrices: FloatArray) -> FloatArray:
        return np.asarray(matrix_to_quat(matrices)[..., back].reshape(len(matrices), -1))

    return lambda _contract: Codec(4, decode, encode)


def _six_numbers(contract: Contract) -> Codec | None:
    """Six numbers as the contract's conventions read them."""
    if "rot6d_columns" not in contract.system.knobs:
        return None
    own = Rot6d(contract.conventions)
    return Codec(
        6, own.decode, lambda matrices: np.asarray(own.encode(matrices), np.float64).reshape(len(matrices), -1)
    )


def _nine_numbers(_contract: Contract) -> Codec:
    return Codec(
        9, lambda rows: rows.reshape(len(rows), -1, 3, 3), lambda matrices: matrices.reshape(len(matrices), -1)
    )


_CODECS: Mapping[FieldKind, Callable[[Any], Codec | None]] = {
    FieldKind.QUATERNION_XYZW: _quaternions([0, 1, 2, 3]),
    FieldKind.QUATERNION_WXYZ: _quaternions([1, 2, 3, 0]),
    FieldKind.ROT6D: _six_numbers,
    FieldKind.MATRIX: _nine_numbers,
}


def as_xyzw(rows: FloatArray, *, last: bool) -> FloatArray:
    """The quaternions of rows, (T, 4 N), as xyzw, (T, N, 4). last: whether w is their last number already."""
    quats = rows.reshape(len(rows), -1, 4)
    return quats if last else np.roll(quats, -1, axis=-1)


def from_xyzw(quats: FloatArray, *, last: bool) -> FloatArray:
    """Rows, (T, 4 N), of quaternions xyzw, (T, N, 4)."""
    return (quats if last else np.roll(quats, 1, axis=-1)).reshape(len(quats), -1)


def transposed(matrices: FloatArray) -> FloatArray:
    """The inverse rotations."""
    return np.swapaxes(matrices, -1, -2)
