"""The readings of quaternion functions: component order, conjugates, order of a product, direction of a rotation."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import numpy as np

from rigpact.contract.conventions import Conventions
from rigpact.contract.rules.answers import geometry as rules
from rigpact.contract.statistics import FloatArray
from rigpact.reports.geometry_parity import oracle
from rigpact.reports.geometry_parity.readings.reading import Compute, Named, Reading, after
from rigpact.reports.geometry_parity.readings.six_numbers import own_first, six_numbers


def as_matrix(quat: FloatArray, order: str) -> FloatArray:
    """The rotation of a quaternion (..., 4) in an order of components."""
    return oracle.quat_to_matrix(quat if order == "xyzw" else np.roll(quat, -1, axis=-1))


def as_quat(matrix: FloatArray, order: str) -> FloatArray:
    """The quaternion of a rotation in an order of components."""
    quat = oracle.matrix_to_quat(matrix)
    return quat if order == "xyzw" else np.roll(quat, 1, axis=-1)


def orders(declared: Conventions) -> list[str]:
    """Both orders of components, the declared one first."""
    return own_first(str(declared.quaternion_order), ("xyzw", "wxyz"))


def order_findings(declared: Conventions, found: str) -> list[Named]:
    """The finding for another order of components than the declared one."""
    own = orders(declared)[0]
    return [] if found == own else [(rules.QUATERNION_ORDER, {"found": found, "declared": own})]


_CONJUGATED = {"verb": "gives", "evidence": "it is the conjugate's"}


def _conversion(declared: Conventions, make: Callable[[str, bool], Compute]) -> Iterator[Reading]:
    """Component order, and conjugate or not."""
    for order, inverse in product(orders(declared), (False, True)):
        turned: list[Named] = [(rules.INVERSE, _CONJUGATED)] if inverse else []
        words = f"{order}{', conjugated' if inverse else ''}"
        yield Reading(words, make(order, inverse), [*order_findings(declared, order), *turned])


def quat_to_matrix(declared: Conventions) -> Iterator[Reading]:
    """Component order, and conjugate or not."""
    return _conversion(declared, lambda order, inverse: lambda quat: oracle.turned(as_matrix(quat, order), inverse))


def matrix_to_quat(declared: Conventions) -> Iterator[Reading]:
    """Component order, and conjugate or not."""
    return _conversion(declared, lambda order, inverse: lambda matrix: as_quat(oracle.turned(matrix, inverse), order))


def rot6d_to_quat(declared: Conventions) -> Iterator[Reading]:
    """Columns and packing of the six numbers, component order of the quaternion."""
    for six, order in product(six_numbers(declared), orders(declared)):
        findings = [*six.findings(declared), *order_findings(declared, order)]
        yield Reading(f"{six.words} to {order}", after(partial(as_quat, order=order), six.decode), findings)


def quat_to_rot6d(declared: Conventions) -> Iterator[Reading]:
    """Component order of the quaternion, columns and packing of the six numbers."""
    for six, order in product(six_numbers(declared), orders(declared)):
        findings = [*six.findings(declared), *order_findings(declared, order)]
        yield Reading(f"{order} to {six.words}", after(six.encode, partial(as_matrix, order=order)), findings)


def _product(a: FloatArray, b: FloatArray, order: str) -> FloatArray:
    return as_quat(as_matrix(a, order) @ as_matrix(b, order), order)


def quat_mul(declared: Conventions) -> Iterator[Reading]:
    """Component order, and which factor is applied first."""
    own, other = "a · b (b turns first)", "b · a (a turns first)"
    for order in orders(declared):
        yield Reading(f"{order}, {own}", partial(_product, order=order), order_findings(declared, order))
    for order in orders(declared):
        swapped = [*order_findings(declared, order), (rules.PRODUCT_ORDER, {"found": other, "declared": own})]
        yield Reading(f"{order}, {other}", lambda a, b, order=order: _product(b, a, order), swapped)


def quat_inverse(declared: Conventions) -> Iterator[Reading]:
    """Component order, or no inverse at all."""
    for order in orders(declared):
        inverse = after(oracle.transpose, partial(as_matrix, order=order))
        compute = after(partial(as_quat, order=order), inverse)
        yield Reading(f"the inverse, {order}", compute, order_findings(declared, order))
    same = [(rules.INVERSE, {"verb": "gives", "evidence": "it gives its own input back"})]
    yield Reading("the quaternion itself", np.asarray, same)


def _rotated(quat: FloatArray, point: FloatArray, *, order: str, inverse: bool) -> FloatArray:
    rows: FloatArray = (oracle.turned(as_matrix(quat, order), inverse) @ point[..., None])[..., 0]
    return rows


def _rotations(declared: Conventions, *, backwards: bool) -> Iterator[Reading]:
    for inverse, order in product((backwards, not backwards), orders(declared)):
        way = "by the inverse: Rᵀ·v" if inverse else "forwards: R·v"
        findings = order_findings(declared, order)
        if inverse != backwards:
            findings.append((rules.INVERSE, {"verb": "applies", "evidence": f"it turns vectors {way}"}))
        yield Reading(f"{order}, {way}", partial(_rotated, order=order, inverse=inverse), findings)


def quat_rotate(declared: Conventions) -> Iterator[Reading]:
    """Component order, R·v or Rᵀ·v."""
    return _rotations(declared, backwards=False)


def quat_rotate_inverse(declared: Conventions) -> Iterator[Reading]:
    """Component order, Rᵀ·v or R·v."""
    return _rotations(declared, backwards=True)
