"""Quaternions of declared vectors: xyzw inside, whatever the fields say."""

import numpy as np

from rigpact.contract.declared.operation import Input, Use
from rigpact.contract.declared.problems import Misdeclared, Wrong
from rigpact.contract.declared.values import Choice
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.layout import FieldKind
from rigpact.reference_runtime.operations.definitions.quaternions import FROM_XYZW, TO_XYZW
from rigpact.reference_runtime.vocabulary.named_fields import whole_quaternions

ORDER_OF = {FieldKind.QUATERNION_XYZW: "xyzw", FieldKind.QUATERNION_WXYZ: "wxyz"}
_HINTS = {
    "xyzw": "the components are read as x, y, z, w: the contract has another order",
    "wxyz": "the components are read as w, x, y, z: the contract has another order",
}


def order_knob(use: Use, source: Input, key: str = "quaternion_order") -> Choice:
    """The order of the components of a vector of quaternions: its fields' kind says it, or the parameter; else it is open."""
    declared = {ORDER_OF.get(each.kind) for each in source.fields}
    whole_quaternions(use, source)
    own = next(iter(declared)) if len(declared) == 1 else None
    return use.choice(key, TO_XYZW, f"the order of the quaternion's components in {source.name}", _HINTS, default=own)


def order_written(use: Use, source: Input, key: str = "quaternion_order") -> list[int]:
    """From xyzw to the order in which a result with the fields of `source` is written: the declared one."""
    own = next((ORDER_OF[each.kind] for each in source.fields if each.kind in ORDER_OF), "xyzw")
    return FROM_XYZW[str(use.table.get(key, own))]


def refuse_other_counts(use: Use, one: int, many: int, expected: str) -> None:
    """Misdeclared unless there is one of something, or as many as of the others."""
    if one not in (1, many):
        raise Misdeclared(Wrong.WIDTH, use.at("of"), f"{one} and {many}", expected)


def split(rows: FloatArray, order: list[int]) -> FloatArray:
    """(N, 4·B) to (N, B, 4), xyzw."""
    return np.asarray(rows.reshape(len(rows), -1, 4)[..., order])
