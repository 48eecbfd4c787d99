"""The readings of each role's function: the contract's meaning, then every other known meaning with its finding.

A role computes an operation of values in some forms (forms.py), so its readings are every operation of every form; a few have
more (six_numbers.py), and some have a scale that is measured (scaled.py, velocity.py), or are Euler angles (euler.py). To add a
convention that a function may follow: a form, or an operation in `OPERATIONS`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from rigpact.contract.conventions import Conventions
from rigpact.contract.rules.answers import geometry as rules
from rigpact.contract.statistics import FloatArray
from rigpact.reports.geometry_parity import oracle
from rigpact.reports.geometry_parity.readings import six_numbers
from rigpact.reports.geometry_parity.readings.forms import Compute, Form, Named, Reading, forms
from rigpact.reports.geometry_parity.roles import Role

Operation = tuple[str, Compute, Sequence[Named]]
"""Words, what is computed of decoded values, findings; the contract's own has none."""


def _inverse(verb: str, evidence: str) -> list[Named]:
    return [(rules.INVERSE, {"verb": verb, "evidence": evidence})]


def _turned(matrix: FloatArray, point: FloatArray) -> FloatArray:
    return np.asarray((matrix @ point[..., None])[..., 0])


def _turned_back(matrix: FloatArray, point: FloatArray) -> FloatArray:
    return _turned(oracle.transpose(matrix), point)


_FORWARDS, _BACKWARDS = "forwards: R·v", "by the inverse: Rᵀ·v"
_PRODUCTS = "a · b (b turns first)", "b · a (a turns first)"
_PLAIN: Sequence[Operation] = [("", np.asarray, ())]
_CONVERSION = [*_PLAIN, ("conjugated", oracle.transpose, _inverse("gives", "it is the conjugate's"))]
OPERATIONS: Mapping[str, Sequence[Operation]] = {
    **dict.fromkeys(("rot6d_to_matrix", "matrix_to_rot6d", "rot6d_to_quat", "quat_to_rot6d"), _PLAIN),
    **dict.fromkeys(("quat_to_matrix", "matrix_to_quat"), _CONVERSION),
    "quat_mul": [
        (_PRODUCTS[0], lambda a, b: a @ b, ()),
        (_PRODUCTS[1], lambda a, b: b @ a, [(rules.PRODUCT_ORDER, {"found": _PRODUCTS[1], "declared": _PRODUCTS[0]})]),
    ],
    "quat_inverse": [
        ("the inverse", oracle.transpose, ()),
        ("the quaternion itself", np.asarray, _inverse("gives", "it gives its own input back")),
    ],
    "quat_rotate": [
        (_FORWARDS, _turned, ()),
        (_BACKWARDS, _turned_back, _inverse("applies", f"it turns vectors {_BACKWARDS}")),
    ],
    "quat_rotate_inverse": [
        (_BACKWARDS, _turned_back, ()),
        (_FORWARDS, _turned, _inverse("applies", f"it turns vectors {_FORWARDS}")),
    ],
    "wrap_to_pi": [
        ("wrapped to [-π, π]", oracle.wrap_to_pi, ()),
        *((words, compute, [(rules.NOT_WRAPPED, {"found": words})]) for words, compute in (
            ("angles come back as they were", np.asarray),
            ("they are wrapped to [0, 2π)", lambda angle: np.asarray(angle % (2.0 * np.pi))),
            ("they are divided by π too", lambda angle: oracle.wrap_to_pi(angle) / np.pi),
        )),
    ],
}  # fmt: skip
"""What the function of a role may compute of its decoded values."""
_MORE: Mapping[str, Callable[[Conventions], Iterator[Reading]]] = {
    "rot6d_to_matrix": six_numbers.rot6d_to_matrix,
    "reproject_rot6d": six_numbers.reproject_rot6d,
    "normalize_rot6d_delta": six_numbers.normalize_rot6d_delta,
    "compose_rot6d_delta": six_numbers.compose_rot6d_delta,
}


def readings_of(role: Role, declared: Conventions) -> Iterator[Reading]:
    """Every reading of a role without a scale, the contract's own first."""
    kinds = list(dict.fromkeys((*role.takes, role.gives)))
    for words, operation, named in OPERATIONS.get(role.name, ()):
        for chosen in product(*(forms(kind, declared) for kind in kinds)):
            form = dict(zip(kinds, chosen, strict=True))
            said = ", ".join(filter(None, (*(each.words for each in chosen), words)))
            compute = _computing([form[kind] for kind in role.takes], operation, form[role.gives])
            yield Reading(said, compute, [*(found for each in chosen for found in each.findings), *named])
    if role.name in _MORE:
        yield from _MORE[role.name](declared)


def _computing(takes: Sequence[Form], operation: Compute, gives: Form) -> Compute:
    def compute(*values: FloatArray) -> FloatArray:
        return gives.encode(operation(*(form.decode(value) for form, value in zip(takes, values, strict=True))))

    return compute
