"""What a reading is, and the forms of a rotation: quaternions in both orders, six numbers in every packing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from rigpact.contract.conventions import Conventions
from rigpact.contract.findings import Rule
from rigpact.contract.rotation6d import COLUMN_PAIRS
from rigpact.contract.rules.answers import geometry as rules
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reports.geometry_parity import oracle
from rigpact.reports.geometry_parity.roles import Kind
from rigpact.reports.geometry_parity.samples import decoded, encoded

Compute = Callable[..., FloatArray]
Named = tuple[Rule, Mapping[str, Any]]


@dataclass(frozen=True)
class Reading:
    """One possible computation on float64 arrays, and its findings; no findings for the contract's own."""

    words: str
    compute: Compute
    findings: Sequence[Named] = field(default=())


@dataclass(frozen=True)
class Form:
    """One way to hold a value. words: which; decode: to what is computed with, a rotation matrix; encode: back.

    findings: of a form that is not the declared one. conventions: those under which it would be the declared one.
    """

    words: str
    decode: Compute
    encode: Compute
    findings: Sequence[Named] = ()
    conventions: Conventions | None = None
    transposed: bool = False


def forms(kind: Kind, declared: Conventions) -> Iterator[Form]:
    """Every form of a kind of value, the nearest to the declared one first; of most kinds there is one."""
    if kind in ("quat", "quat_sequence"):
        own = str(declared.quaternion_order)
        for order in own_first(own, ("xyzw", "wxyz")):
            other: list[Named] = [(rules.QUATERNION_ORDER, {"found": order, "declared": own})] if order != own else []
            yield Form(order, partial(as_matrix, order=order), partial(as_quat, order=order), other)
    elif kind in ("six", "six_sequence"):
        columns = own_first(declared.rot6d_columns, COLUMN_PAIRS)
        for packing, transposed, pair in product(packings(declared), (False, True), columns):
            yield _six(
                declared.replaced({"rot6d_packing": packing, "rot6d_columns": pair}), declared, transposed=transposed
            )
    else:
        yield Form("", np.asarray, np.asarray)


def own_first(own: str, every: Iterable[str]) -> list[str]:
    """The declared name, then every other one."""
    return list(dict.fromkeys((own, *every)))


def packings(declared: Conventions) -> list[str]:
    """How six numbers may be packed, the declared way first."""
    return own_first(declared.rot6d_packing, ("columns", "interleaved"))


def as_matrix(quat: FloatArray, order: str) -> FloatArray:
    """The rotation of a quaternion (..., 4) in an order of components."""
    return oracle.quat_to_matrix(quat if order == "xyzw" else np.roll(quat, -1, axis=-1))


def as_quat(matrix: FloatArray, order: str) -> FloatArray:
    """The quaternion of a rotation in an order of components."""
    quat = oracle.matrix_to_quat(matrix)
    return quat if order == "xyzw" else np.roll(quat, 1, axis=-1)


def _six(conventions: Conventions, declared: Conventions, *, transposed: bool) -> Form:
    codec, found, own = Rot6d(conventions), axes_words(conventions, transposed=transposed), axes_words(declared)
    rule = rules.TRANSPOSED if found.startswith("rows") else rules.OTHER_COLUMNS
    other: list[Named] = [] if found == own else [(rule, {"found": found, "declared": own})]

    def decode(six: FloatArray) -> FloatArray:
        return oracle.turned(decoded(six, codec), transposed)

    def encode(matrix: FloatArray) -> FloatArray:
        return encoded(oracle.turned(matrix, transposed), codec)

    return Form(found, decode, encode, other, conventions, transposed)


def axes_words(conventions: Conventions, *, transposed: bool = False) -> str:
    """The two axes that six numbers hold, in words. transposed: of the inverse."""
    packing = conventions.rot6d_packing
    names = "xy" if packing == "rows" else conventions.rot6d_columns
    lines = "rows" if (packing == "rows") != transposed else "columns"
    return f"{lines} {names[0].upper()} and {names[1].upper()}{', interleaved' * (packing == 'interleaved')}"
