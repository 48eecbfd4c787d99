"""The readings of functions of six numbers: columns and packing, Gram–Schmidt, deltas and their product."""

from collections.abc import Callable, Iterator, Mapping
from itertools import product

import numpy as np

from rigpact.contract.conventions import Conventions
from rigpact.contract.rotation6d import COLUMN_PAIRS
from rigpact.contract.rules.answers import geometry as rules
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reports.geometry_parity import oracle
from rigpact.reports.geometry_parity.readings.reading import Compute, Named, Reading
from rigpact.reports.geometry_parity.samples import decoded, encoded


def codec_words(conventions: Conventions, *, transposed: bool = False) -> str:
    """The two axes that the six numbers hold, in words."""
    are_rows = conventions.rot6d_packing == "rows"
    names = "xy" if are_rows else conventions.rot6d_columns
    lines = "rows" if are_rows != transposed else "columns"
    interleaved = ", interleaved" if conventions.rot6d_packing == "interleaved" else ""
    return f"{lines} {names[0].upper()} and {names[1].upper()}{interleaved}"


def codecs(declared: Conventions) -> Iterator[tuple[Conventions, bool]]:
    """Every packing, plain and transposed; the nearest to the declared one comes first."""
    packings = [
        declared.rot6d_packing,
        *(name for name in ("columns", "interleaved") if name != declared.rot6d_packing),
    ]
    columns = [
        declared.rot6d_columns,
        *(name for name in COLUMN_PAIRS if name != declared.rot6d_columns),
    ]
    for packing, transposed, pair in product(packings, (False, True), columns):
        yield declared.replaced({"rot6d_packing": packing, "rot6d_columns": pair}), transposed


def codec_findings(declared: Conventions, found: str) -> list[Named]:
    """The finding for other columns, or rows, than the declared ones."""
    own = codec_words(declared)
    if found == own:
        return []
    rule = rules.TRANSPOSED if found.startswith("rows") else rules.OTHER_COLUMNS
    return [(rule, {"found": found, "declared": own})]


def _flipped(matrix: FloatArray, axis: int) -> FloatArray:
    flipped = matrix.copy()
    flipped[..., axis] *= -1.0
    return flipped


def rot6d_to_matrix(declared: Conventions) -> Iterator[Reading]:
    """Readings: packing, columns or rows, sign of the third axis, with or without Gram–Schmidt."""
    own = Rot6d(declared)
    yield from _whole_codecs(declared)
    found = "the six numbers stand in the matrix as they are"
    yield Reading(
        "columns as they are",
        lambda six: own.decode_as_is(six)[..., 0, :, :],
        [(rules.NOT_RENORMALISED, {"found": found})],
    )
    yield Reading(
        "axes normalised one by one",
        lambda six: own.decode_as_is(_each_normalised(six, own))[..., 0, :, :],
        [(rules.NOT_RENORMALISED, {"found": "both axes are unit vectors, but not at right angles"})],
    )


def _whole_codecs(declared: Conventions) -> Iterator[Reading]:
    for conventions, transposed in codecs(declared):
        codec, words = Rot6d(conventions), codec_words(conventions, transposed=transposed)
        findings = codec_findings(declared, words)
        derived = (
            2 if conventions.rot6d_packing == "rows" else 3 - sum("xyz".index(c) for c in conventions.rot6d_columns)
        )

        def decode(six: FloatArray, codec: Rot6d = codec, *, transposed: bool = transposed) -> FloatArray:
            matrix = decoded(six, codec)
            return oracle.transpose(matrix) if transposed else matrix

        def mirror(
            six: FloatArray, codec: Rot6d = codec, derived: int = derived, *, t: bool = transposed
        ) -> FloatArray:
            matrix = _flipped(decoded(six, codec), derived)
            return oracle.transpose(matrix) if t else matrix

        yield Reading(words, decode, findings)
        mirrored = (rules.MIRRORED, {"found": f"minus the third of {words}"})
        yield Reading(f"{words}, mirrored", mirror, [*findings, mirrored])


def _each_normalised(six: FloatArray, codec: Rot6d) -> FloatArray:
    a, b = codec.split(six)
    return codec.join(a / np.linalg.norm(a, axis=-1, keepdims=True), b / np.linalg.norm(b, axis=-1, keepdims=True))


def matrix_to_rot6d(declared: Conventions) -> Iterator[Reading]:
    """Readings: packing, columns or rows."""
    for conventions, transposed in codecs(declared):
        codec, words = Rot6d(conventions), codec_words(conventions, transposed=transposed)

        def encode(matrix: FloatArray, codec: Rot6d = codec, *, transposed: bool = transposed) -> FloatArray:
            return encoded(oracle.transpose(matrix) if transposed else matrix, codec)

        yield Reading(words, encode, codec_findings(declared, words))


def _orthonormal(declared: Conventions, packing: str) -> Compute:
    codec = Rot6d(declared.replaced({"rot6d_packing": packing, "degenerate_axis": "zero"}))
    return lambda six: codec.reproject(six, six)


def reproject_rot6d(declared: Conventions) -> Iterator[Reading]:
    """Readings: packing, which axis is kept, with or without Gram–Schmidt."""
    own = Rot6d(declared)
    for packing in (
        declared.rot6d_packing,
        *(name for name in ("columns", "interleaved") if name != declared.rot6d_packing),
    ):
        words = "interleaved axes" if packing == "interleaved" else "two axes one after the other"
        other = (
            []
            if packing == declared.rot6d_packing
            else [(rules.OTHER_COLUMNS, {"found": words, "declared": codec_words(declared)})]
        )
        yield Reading(words, _orthonormal(declared, packing), other)

    def second_kept(six: FloatArray) -> FloatArray:
        a, b = own.split(six)
        b, a = own.split(_orthonormal(declared, declared.rot6d_packing)(own.join(b, a)))
        return own.join(a, b)

    found = [(rules.OTHER_COLUMNS, {"found": "the second axis as the one that is kept", "declared": "the first"})]
    yield Reading("the second axis kept", second_kept, found)
    unchanged = [(rules.NOT_RENORMALISED, {"found": "the six numbers come back as they were"})]
    yield Reading("nothing changed", np.asarray, unchanged)
    skewed = [(rules.NOT_RENORMALISED, {"found": "both axes are unit vectors, but not at right angles"})]
    yield Reading("axes normalised one by one", lambda six: _each_normalised(six, own), skewed)


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

    for conventions, transposed in codecs(declared):
        words = codec_words(conventions, transposed=transposed)
        if not transposed:
            yield Reading(words, shifted(_offset(conventions, own)), codec_findings(declared, words))
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
    own_delta, own_codec = _deltas(declared)[0], codec_words(declared)
    # a transposed codec composes like the other order, which is already listed
    plain = [conventions for conventions, transposed in codecs(declared) if not transposed]
    choices = sorted(
        product(plain, _deltas(declared), _PRODUCTS),
        key=lambda choice: (codec_words(choice[0]) != own_codec) + (choice[1] != own_delta) + (choice[2] != own_order),
    )
    for conventions, delta, order in choices:
        found = codec_words(conventions)
        findings = codec_findings(declared, found)
        if delta != own_delta:
            findings.append((rules.DELTA_OTHERWISE, {"found": delta, "declared": own_delta}))
        if order != own_order:
            findings.append((rules.COMPOSE_ORDER, {"found": order, "declared": own_order}))
        yield Reading(f"{order}, {found}, {delta}", _composing(conventions, delta, order), findings)
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
