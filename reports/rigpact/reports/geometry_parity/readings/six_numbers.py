"""The readings of functions of six numbers: columns and packing, Gram–Schmidt, deltas and their product."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from rigpact.contract.conventions import Conventions
from rigpact.contract.rotation6d import COLUMN_PAIRS
from rigpact.contract.rules.answers import geometry as rules
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reports.geometry_parity import oracle
from rigpact.reports.geometry_parity.readings.reading import Compute, Named, Reading, after
from rigpact.reports.geometry_parity.samples import decoded, encoded


@dataclass(frozen=True)
class SixNumbers:
    """One way to hold a rotation in six numbers. transposed: of the inverse."""

    conventions: Conventions
    transposed: bool = False

    @cached_property
    def codec(self) -> Rot6d:
        """What packs and unpacks the axes."""
        return Rot6d(self.conventions)

    @property
    def words(self) -> str:
        """The two axes, in words."""
        packing = self.conventions.rot6d_packing
        names = "xy" if packing == "rows" else self.conventions.rot6d_columns
        lines = "rows" if (packing == "rows") != self.transposed else "columns"
        return f"{lines} {names[0].upper()} and {names[1].upper()}{', interleaved' * (packing == 'interleaved')}"

    def findings(self, declared: Conventions) -> list[Named]:
        """The finding for other columns, or rows, than the declared ones."""
        own, found = SixNumbers(declared).words, self.words
        rule = rules.TRANSPOSED if found.startswith("rows") else rules.OTHER_COLUMNS
        return [] if found == own else [(rule, {"found": found, "declared": own})]

    def decode(self, six: FloatArray) -> FloatArray:
        """The rotations (..., 3, 3) of (..., 6)."""
        return oracle.turned(decoded(six, self.codec), self.transposed)

    def encode(self, matrix: FloatArray) -> FloatArray:
        """The six numbers (..., 6) of (..., 3, 3)."""
        return encoded(oracle.turned(matrix, self.transposed), self.codec)

    def mirrored(self, six: FloatArray) -> FloatArray:
        """The same with the sign of the third axis changed."""
        are_rows = self.conventions.rot6d_packing == "rows"
        matrix = decoded(six, self.codec).copy()
        matrix[..., 2 if are_rows else 3 - sum(map("xyz".index, self.conventions.rot6d_columns))] *= -1.0
        return oracle.turned(matrix, self.transposed)


def own_first(own: str, every: Iterable[str]) -> list[str]:
    """The declared name, then every other one."""
    return list(dict.fromkeys((own, *every)))


def _packings(declared: Conventions) -> list[str]:
    return own_first(declared.rot6d_packing, ("columns", "interleaved"))


def six_numbers(declared: Conventions) -> Iterator[SixNumbers]:
    """Every packing, plain and transposed; the nearest to the declared one comes first."""
    columns = own_first(declared.rot6d_columns, COLUMN_PAIRS)
    for packing, transposed, pair in product(_packings(declared), (False, True), columns):
        yield SixNumbers(declared.replaced({"rot6d_packing": packing, "rot6d_columns": pair}), transposed)


def rot6d_to_matrix(declared: Conventions) -> Iterator[Reading]:
    """Readings: packing, columns or rows, sign of the third axis, with or without Gram–Schmidt."""
    own = Rot6d(declared)
    for six_of in six_numbers(declared):
        words, findings = six_of.words, six_of.findings(declared)
        yield Reading(words, six_of.decode, findings)
        mirrored = (rules.MIRRORED, {"found": f"minus the third of {words}"})
        yield Reading(f"{words}, mirrored", six_of.mirrored, [*findings, mirrored])
    found = "the six numbers stand in the matrix as they are"
    as_is = [(rules.NOT_RENORMALISED, {"found": found})]
    yield Reading("columns as they are", lambda six: _matrix_as_is(six, own), as_is)
    normalised = after(lambda six: _matrix_as_is(six, own), lambda six: _each_normalised(six, own))
    yield Reading("axes normalised one by one", normalised, _SKEWED)


_SKEWED = [(rules.NOT_RENORMALISED, {"found": "both axes are unit vectors, but not at right angles"})]


def _each_normalised(six: FloatArray, codec: Rot6d) -> FloatArray:
    a, b = codec.split(six)
    return codec.join(a / np.linalg.norm(a, axis=-1, keepdims=True), b / np.linalg.norm(b, axis=-1, keepdims=True))


def matrix_to_rot6d(declared: Conventions) -> Iterator[Reading]:
    """Readings: packing, columns or rows."""
    for six in six_numbers(declared):
        yield Reading(six.words, six.encode, six.findings(declared))


def _orthonormal(declared: Conventions, packing: str) -> Compute:
    codec = Rot6d(declared.replaced({"rot6d_packing": packing, "degenerate_axis": "zero"}))
    return lambda six: codec.reproject(six, six)


def reproject_rot6d(declared: Conventions) -> Iterator[Reading]:
    """Readings: packing, which axis is kept, with or without Gram–Schmidt."""
    own = Rot6d(declared)
    for packing in _packings(declared):
        words = "interleaved axes" if packing == "interleaved" else "two axes one after the other"
        other = [(rules.OTHER_COLUMNS, {"found": words, "declared": SixNumbers(declared).words})]
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

    for six in six_numbers(declared):
        if not six.transposed:
            yield Reading(six.words, shifted(_offset(six.conventions, own)), six.findings(declared))
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
    plain = [six for six in six_numbers(declared) if not six.transposed]
    readings = []
    for six, delta, order in product(plain, _deltas(declared), _PRODUCTS):
        findings = six.findings(declared)
        if delta != own_delta:
            findings.append((rules.DELTA_OTHERWISE, {"found": delta, "declared": own_delta}))
        if order != own_order:
            findings.append((rules.COMPOSE_ORDER, {"found": order, "declared": own_order}))
        compose = _composing(six.conventions, delta, order)
        readings.append(Reading(f"{order}, {six.words}, {delta}", compose, findings))
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
