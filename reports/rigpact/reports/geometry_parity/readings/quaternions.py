"""The readings of quaternion functions: component order, conjugates, order of a product, direction of a rotation."""

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from rigpact.contract.conventions import Conventions
from rigpact.contract.rules.answers import geometry as rules
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reports.geometry_parity import oracle
from rigpact.reports.geometry_parity.readings.reading import Compute, Named, Reading
from rigpact.reports.geometry_parity.readings.six_numbers import codec_findings, codec_words, codecs
from rigpact.reports.geometry_parity.samples import decoded, encoded


def as_matrix(quat: FloatArray, order: str) -> FloatArray:
    """The rotation of a quaternion (..., 4) in an order of components."""
    return oracle.quat_to_matrix(quat if order == "xyzw" else np.roll(quat, -1, axis=-1))


def as_quat(matrix: FloatArray, order: str) -> FloatArray:
    """The quaternion of a rotation in an order of components."""
    quat = oracle.matrix_to_quat(matrix)
    return quat if order == "xyzw" else np.roll(quat, 1, axis=-1)


def orders(declared: Conventions) -> tuple[str, str]:
    """Both orders of components, the declared one first."""
    own = str(declared.quaternion_order)
    return own, "wxyz" if own == "xyzw" else "xyzw"


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


def _turned(matrix: FloatArray, inverse: object) -> FloatArray:
    return oracle.transpose(matrix) if inverse else matrix


def quat_to_matrix(declared: Conventions) -> Iterator[Reading]:
    """Component order, and conjugate or not."""
    return _conversion(declared, lambda order, inverse: lambda quat: _turned(as_matrix(quat, order), inverse))


def matrix_to_quat(declared: Conventions) -> Iterator[Reading]:
    """Component order, and conjugate or not."""
    return _conversion(declared, lambda order, inverse: lambda matrix: as_quat(_turned(matrix, inverse), order))


def rot6d_to_quat(declared: Conventions) -> Iterator[Reading]:
    """Columns and packing of the six numbers, component order of the quaternion."""
    for (conventions, transposed), order in product(codecs(declared), orders(declared)):
        codec, words = Rot6d(conventions), codec_words(conventions, transposed=transposed)

        def convert(six: FloatArray, codec: Rot6d = codec, order: str = order, *, t: bool = transposed) -> FloatArray:
            return as_quat(_turned(decoded(six, codec), t), order)

        yield Reading(f"{words} to {order}", convert, _both(declared, words, order))


def quat_to_rot6d(declared: Conventions) -> Iterator[Reading]:
    """Component order of the quaternion, columns and packing of the six numbers."""
    for (conventions, transposed), order in product(codecs(declared), orders(declared)):
        codec, words = Rot6d(conventions), codec_words(conventions, transposed=transposed)

        def convert(quat: FloatArray, codec: Rot6d = codec, order: str = order, *, t: bool = transposed) -> FloatArray:
            return encoded(_turned(as_matrix(quat, order), t), codec)

        yield Reading(f"{order} to {words}", convert, _both(declared, words, order))


def _both(declared: Conventions, words: str, order: str) -> list[Named]:
    return [*codec_findings(declared, words), *order_findings(declared, order)]


def quat_mul(declared: Conventions) -> Iterator[Reading]:
    """Component order, and which factor is applied first."""
    own, other = "a · b (b turns first)", "b · a (a turns first)"
    for words, order in product((own, other), orders(declared)):

        def multiply(a: FloatArray, b: FloatArray, order: str = order, *, swap: bool = words == other) -> FloatArray:
            first, second = as_matrix(a, order), as_matrix(b, order)
            return as_quat(second @ first if swap else first @ second, order)

        swapped: list[Named] = [] if words == own else [(rules.PRODUCT_ORDER, {"found": other, "declared": own})]
        yield Reading(f"{order}, {words}", multiply, [*order_findings(declared, order), *swapped])


def quat_inverse(declared: Conventions) -> Iterator[Reading]:
    """Component order, or no inverse at all."""
    for order in orders(declared):
        yield Reading(
            f"the inverse, {order}",
            lambda quat, order=order: as_quat(oracle.transpose(as_matrix(quat, order)), order),
            order_findings(declared, order),
        )
    same = [(rules.INVERSE, {"verb": "gives", "evidence": "it gives its own input back"})]
    yield Reading("the quaternion itself", np.asarray, same)


def _rotations(declared: Conventions, *, backwards: bool) -> Iterator[Reading]:
    for other, order in product((False, True), orders(declared)):

        def rotate(
            quat: FloatArray, point: FloatArray, order: str = order, *, t: bool = other != backwards
        ) -> FloatArray:
            rows: FloatArray = (_turned(as_matrix(quat, order), t) @ point[..., None])[..., 0]
            return rows

        way = "by the inverse: Rᵀ·v" if other != backwards else "forwards: R·v"
        evidence = f"it turns vectors {way}"
        findings: list[Named] = [(rules.INVERSE, {"verb": "applies", "evidence": evidence})] if other else []
        yield Reading(f"{order}, {way}", rotate, [*order_findings(declared, order), *findings])


def quat_rotate(declared: Conventions) -> Iterator[Reading]:
    """Component order, R·v or Rᵀ·v."""
    return _rotations(declared, backwards=False)


def quat_rotate_inverse(declared: Conventions) -> Iterator[Reading]:
    """Component order, Rᵀ·v or R·v."""
    return _rotations(declared, backwards=True)
