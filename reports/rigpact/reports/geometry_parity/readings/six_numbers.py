"""The readings of functions of six numbers that are no plain conversion: Gram–Schmidt, deltas and their product."""

from collections.abc import Callable, Iterator, Mapping
from itertools import product

import numpy as np

from rigpact.contract.conventions import Conventions
from rigpact.contract.rules.answers import geometry as rules
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reports.geometry_parity import oracle
from rigpact.reports.geometry_parity.readings.forms import Compute, Form, Reading, axes_words, forms, packings
from rigpact.reports.geometry_parity.samples import decoded, encoded


def rot6d_to_matrix(declared: Conventions) -> Iterator[Reading]:
    """Readings that are no rotation: the sign of the third axis, no or half a Gram–Schmidt."""
    own = Rot6d(declared)
    for form in forms("six", declared):
        mirrored = (rules.MIRRORED, {"found": f"minus the third of {form.words}"})
        yield Reading(f"{form.words}, mirrored", _mirrored(form, declared), [*form.findings, mirrored])
    found = "the six numbers stand in the matrix as they are"
    as_is = [(rules.NOT_RENORMALISED, {"found": found})]
    yield Reading("columns as they are", lambda six: _matrix_as_is(six, own), as_is)
    yield Reading("axes normalised one by one", lambda six: _matrix_as_is(_each_normalised(six, own), own), _SKEWED)


def _mirrored(form: Form, declared: Conventions) -> Compute:
    """The rotation of six numbers with the sign of its third axis changed."""
    conventions = form.conventions or declared
    are_rows, codec = conventions.rot6d_packing == "rows", Rot6d(conventions)
    third = 2 if are_rows else 3 - sum(map("xyz".index, conventions.rot6d_columns))

    def compute(six: FloatArray) -> FloatArray:
        matrix = decoded(six, codec).copy()
        matrix[..., third] *= -1.0
        return oracle.turned(matrix, form.transposed)

    return compute


_SKEWED = [(rules.NOT_RENORMALISED, {"found": "both axes are unit vectors, but not at right angles"})]


def _each_normalised(six: FloatArray, codec: Rot6d) -> FloatArray:
    a, b = codec.split(six)
    return codec.join(a / np.linalg.norm(a, axis=-1, keepdims=True), b / np.linalg.norm(b, axis=-1, keepdims=True))


def _orthonormal(declared: Conventions, packing: str) -> Compute:
    codec = Rot6d(declared.replaced({"rot6d_packing": packing, "degenerate_axis": "zero"}))
    return lambda six: codec.reproject(six, six)


def reproject_rot6d(declared: Conventions) -> Iterator[Reading]:
    """Readings: packing, which axis is kept, with or without Gram–Schmidt."""
    own = Rot6d(declared)
    for packing in packings(declared):
        words = "interleaved axes" if packing == "interleaved" else "two axes one after the other"
        other = [(rules.OTHER_COLUMNS, {"found": words, "declared": axes_words(declared)})]
        is_own = packing == declared.rot6d_packing
        yield Reading(words, _orthonormal(declared, packing), [] if is_own else other)

    def second_kept(six: FloatArray) -> FloatArray:
        a, b = own.split(six)
        b, a = own.split(_orthonormal(declared, declared.rot6d_packing)(own.join(b, a)))
        return own.join(a, b)

    found = [(rules.OTHER_COLUMNS, {"found": "the second axis as the one that is kept", "declared": "the first"})]
    yield Reading("the second axis kept", second_kept, found)
    unchanged = [(rules.NOT_RENORMALISED, {"found": "the six numbers come back as they were"})]
    yield Reading("nothing changed", np.asarray, unchanged)
    yield Reading("axes normalised one by one", lambda six: _each_normalised(six, own), _SKEWED)


RESIDUAL, WHOLE = "a residual, to which the identity is added", "a whole rotation, no identity added"


def _deltas(declared: Conventions) -> tuple[str, str]:
    """The meanings of a delta, the declared one first (the deployed functions take a residual)."""
    return (WHOLE, RESIDUAL) if declared.output_mode == "delta" else (RESIDUAL, WHOLE)


def _offset(conventions: Conventions, delta: str) -> FloatArray:
    identity = Rot6d(conventions).identity(1)
    return identity if delta == RESIDUAL else np.zeros_like(identity)


def normalize_rot6d_delta(declared: Conventions) -> Iterator[Reading]:
    """Readings: whether the identity is added, its columns, with or without Gram–Schmidt."""
    normal = _orthonormal(declared, declared.rot6d_packing)
    own, other = _deltas(declared)

    def shifted(offset: FloatArray) -> Compute:
        return lambda six: normal(six + offset)

    for form in forms("six", declared):
        if not form.transposed:
            yield Reading(form.words, shifted(_offset(form.conventions or declared, own)), form.findings)
    found = [(rules.DELTA_OTHERWISE, {"found": other, "declared": own})]
    yield Reading(other, shifted(_offset(declared, other)), found)
    offset = _offset(declared, own)
    unchanged = [(rules.NOT_RENORMALISED, {"found": "the delta's six numbers are used as they are"})]
    yield Reading("not renormalised", lambda six: np.asarray(six + offset), unchanged)


_PRODUCTS: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "ΔR · R_prev": lambda previous, delta: delta @ previous,
    "R_prev · ΔR": lambda previous, delta: previous @ delta,
    "ΔRᵀ · R_prev": lambda previous, delta: oracle.transpose(delta) @ previous,
    "R_prev · ΔRᵀ": lambda previous, delta: previous @ oracle.transpose(delta),
}
_PRODUCT_OF = {
    ("delta_prev", "forward"): "ΔR · R_prev", ("prev_delta", "forward"): "R_prev · ΔR",
    ("delta_prev", "inverse"): "ΔRᵀ · R_prev", ("prev_delta", "inverse"): "R_prev · ΔRᵀ",
}  # fmt: skip


def compose_rot6d_delta(declared: Conventions) -> Iterator[Reading]:
    """Readings: order and direction of the product, meaning of the delta, columns, renormalisation."""
    own_order = _PRODUCT_OF[declared.compose_order, declared.delta_direction]
    own_delta = _deltas(declared)[0]
    # the six numbers of the inverse compose like the other order, which is already listed
    plain = [form for form in forms("six", declared) if not form.transposed]
    readings = []
    for form, delta, order in product(plain, _deltas(declared), _PRODUCTS):
        findings = [*form.findings]
        if delta != own_delta:
            findings.append((rules.DELTA_OTHERWISE, {"found": delta, "declared": own_delta}))
        if order != own_order:
            findings.append((rules.COMPOSE_ORDER, {"found": order, "declared": own_order}))
        compose = _composing(form.conventions or declared, delta, order)
        readings.append(Reading(f"{order}, {form.words}, {delta}", compose, findings))
    yield from sorted(readings, key=lambda reading: len(reading.findings))
    for words, (before, turn) in _AS_IT_IS.items():
        compute = _composing(declared, own_delta, own_order, before, turn)
        yield Reading(words, compute, [(rules.NOT_RENORMALISED, {"found": words})])


def _matrix_as_is(six: FloatArray, codec: Rot6d) -> FloatArray:
    matrices: FloatArray = codec.decode_as_is(six)[..., 0, :, :]
    return matrices


_Decode = Callable[[FloatArray, Rot6d], FloatArray]
_AS_IT_IS: Mapping[str, tuple[_Decode, _Decode]] = {
    "the delta is taken as it is": (decoded, _matrix_as_is),
    "the previous pose is taken as it is": (_matrix_as_is, decoded),
    "neither pose nor delta is made orthonormal": (_matrix_as_is, _matrix_as_is),
}


def _composing(
    conventions: Conventions, delta: str, order: str, before: _Decode = decoded, turn: _Decode = decoded
) -> Compute:
    codec, offset, multiply = Rot6d(conventions), _offset(conventions, delta), _PRODUCTS[order]

    def compose(previous: FloatArray, given: FloatArray) -> FloatArray:
        return encoded(multiply(before(previous, codec), turn(given + offset, codec)), codec)

    return compose
