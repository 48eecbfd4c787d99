"""Convert: rotations from one form to another: quaternion, matrix, six numbers, rotation vector, Euler angles.

A form is a pair of functions between rows (N, B, size) and matrices (N, B, 3, 3), whose columns are axes. Each form has
variants: the readings that sides confuse. To add a form or a variant: a row in `FORMS`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum, auto
from functools import partial

import numpy as np

from rigpact.contract.declared.operation import Built, Use
from rigpact.contract.errors import Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Frames
from rigpact.contract.systems.layout import QUATERNION_KINDS, Field, FieldKind, FieldLayout
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import QUATERNIONS, RAW, Bounds
from rigpact.reference_runtime.operations.geometry import (
    EULER,
    FROM_XYZW,
    TO_XYZW,
    cross,
    exp_map,
    rotation_vector,
    same_hemisphere,
    to_matrix,
    transposed,
)
from rigpact.reference_runtime.operations.scalars import gamma
from rigpact.reference_runtime.operations.six_numbers import PACKING
from rigpact.reference_runtime.vocabulary.building import computed, flat, operation, wide

Function = Callable[[FloatArray], FloatArray]
_SMALL = 1e-8
"""What runtimes add to a length before they divide by it."""
_IN, _BETWEEN, _OUT = 4, 8, 8
"""Roundings that the numbers count as before they are a matrix (products and sums of the axes, degrees), of an entry of the
matrix (sines, products of three turns), and of the result (a library function counts as 4, its scaling, storing)."""
_DRIFT = 4096
"""Roundings that may have moved the length of a quaternion before anybody makes it 1 again: a product a frame."""
_PATTERNS = 6
"""Patterns of signs in which the roundings are tried."""


class Form(StrEnum):
    """The forms of `converting.hpp`."""

    QUATERNION, MATRIX, SIX_NUMBERS, ROTATION_VECTOR, EULER = auto(), auto(), auto(), auto(), auto()


@dataclass(frozen=True)
class Variant:
    """One reading of a form: rows (N, B, size) to matrices, and back. only_reads: it is written as another variant is.

    form, reads, writes: the same for `converting.hpp`: words (those of writing, where they differ), and the number that rows
    are multiplied by before and behind.
    """

    to_matrix: Function
    from_matrix: Function
    form: Form
    reads: tuple[int, ...]
    writes: tuple[int, ...] | None = None
    factors: tuple[float, float] = (1.0, 1.0)
    only_reads: bool = False

    def words(self, *, written: bool) -> tuple[int | str, ...]:
        """The five words of a form."""
        own = self.writes if written and self.writes is not None else self.reads
        return self.form, *own, *(0,) * (4 - len(own))


def sign_branches(matrix: FloatArray) -> FloatArray:
    """Matrix to xyzw by the signs of its diagonal, then q / (|q| + 1e-8), as small runtimes do.

    For a rotation any rule of branches gives the same quaternion up to its sign. For a matrix whose first axis was not
    normalised the rule matters.
    """
    m = matrix
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    xy, xz, yz = m[..., 0, 1] + m[..., 1, 0], m[..., 0, 2] + m[..., 2, 0], m[..., 1, 2] + m[..., 2, 1]
    x, y, z = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    candidates = np.stack([
        np.stack([1.0 + xx - yy - zz, xy, xz, x], axis=-1),
        np.stack([xy, 1.0 - xx + yy - zz, yz, y], axis=-1),
        np.stack([xz, yz, 1.0 - xx - yy + zz, z], axis=-1),
        np.stack([x, y, z, 1.0 + xx + yy + zz], axis=-1),
    ], axis=-2)  # fmt: skip
    branch = np.where(zz < 0.0, np.where(xx > yy, 0, 1), np.where(xx < -yy, 2, 3))
    chosen = np.take_along_axis(candidates, branch[..., None, None], axis=-2)[..., 0, :]
    return np.asarray(chosen / (np.linalg.norm(chosen, axis=-1, keepdims=True) + _SMALL))


def _unit(v: FloatArray) -> FloatArray:
    return np.asarray(v / (np.linalg.norm(v, axis=-1, keepdims=True) + _SMALL))


def _axes_to_matrix(first: FloatArray, second: FloatArray, *, keeps_first: bool) -> FloatArray:
    """Columns from two axes: the third is their cross product, the second is made orthogonal to both."""
    third = _unit(cross(first, second))
    columns = (first if keeps_first else _unit(first), _unit(cross(third, first)), third)
    return np.stack(columns, axis=-1)


def _six(pairing: str, *, are_rows: bool = False, keeps_first: bool = False, is_swapped: bool = False) -> Variant:
    axes_of = PACKING[pairing].pair

    def decoded(six: FloatArray) -> FloatArray:
        pair = axes_of(six)
        first, second = pair[..., 0, :], pair[..., 1, :]
        matrix = _axes_to_matrix(*((second, first) if is_swapped else (first, second)), keeps_first=keeps_first)
        return matrix.swapaxes(-1, -2) if are_rows else matrix

    def encoded(matrix: FloatArray) -> FloatArray:
        axes, six = matrix if are_rows else matrix.swapaxes(-1, -2), np.empty((*matrix.shape[:-2], 6))
        axes_of(six)[...] = axes[..., [1, 0] if is_swapped else [0, 1], :]
        return six

    words = tuple(map(int, (pairing == "interleaved", are_rows, keeps_first, is_swapped)))
    return Variant(decoded, encoded, Form.SIX_NUMBERS, words, only_reads=keeps_first)


def _vectors(factor: float, back: float) -> Variant:
    """factor · vector is in radians, back · radians is the vector."""
    return Variant(
        lambda v: exp_map(factor * v), lambda matrix: back * rotation_vector(matrix),
        Form.ROTATION_VECTOR, (), factors=(factor, back),
    )  # fmt: skip


def _euler(name: str) -> Variant:
    letters, unit = name.split("_")
    are_turned = letters.isupper()
    axes = ("xyz".index(letter) for letter in (letters[::-1] if are_turned else letters).lower())
    factor = 1.0 if unit == "rad" else _DEGREES
    return Variant(*EULER[name], Form.EULER, (*axes, int(are_turned)), factors=(factor, factor))


def _whole(rows: FloatArray) -> FloatArray:
    return rows.reshape(*rows.shape[:-1], 3, 3)


_DEGREES = 180.0 / np.pi
_QUATERNIONS = {
    order: Variant(
        partial(lambda places, q: to_matrix(q[..., places]), TO_XYZW[order]),
        partial(lambda places, matrix: sign_branches(matrix)[..., places], FROM_XYZW[order]),
        Form.QUATERNION,
        tuple(TO_XYZW[order]),
        tuple(FROM_XYZW[order]),
    )
    for order in ("xyzw", "wxyz")
}
FORMS: Mapping[FieldKind, tuple[int, Mapping[str, Variant]]] = {
    FieldKind.QUATERNION_XYZW: (4, _QUATERNIONS),
    FieldKind.QUATERNION_WXYZ: (4, _QUATERNIONS),
    FieldKind.MATRIX: (9, {
        "row_major": Variant(_whole, lambda matrix: matrix.reshape(*matrix.shape[:-2], 9), Form.MATRIX, (0,)),
        "column_major": Variant(
            lambda rows: _whole(rows).swapaxes(-1, -2),
            lambda matrix: matrix.swapaxes(-1, -2).reshape(*matrix.shape[:-2], 9), Form.MATRIX, (1,),
        ),
    }),
    FieldKind.ROT6D: (6, {
        "columns": _six("columns"), "interleaved": _six("interleaved"), "rows": _six("columns", are_rows=True),
        "columns_exchanged": _six("columns", is_swapped=True),
        "columns_first_kept": _six("columns", keeps_first=True),
        "interleaved_first_kept": _six("interleaved", keeps_first=True),
    }),
    FieldKind.ROTATION_VECTOR: (3, {
        "radians": _vectors(1.0, 1.0), "degrees": _vectors(1.0 / _DEGREES, _DEGREES), "half_angle": _vectors(2.0, 0.5),
    }),
    FieldKind.EULER_XYZ: (3, {name: _euler(name) for name in EULER}),
}  # fmt: skip
"""Numbers of one rotation in each form, and its variants."""
_WORDS = {
    "quaternion_xyzw": FieldKind.QUATERNION_XYZW, "quaternion_wxyz": FieldKind.QUATERNION_WXYZ, "matrix": FieldKind.MATRIX,
    "rot6d": FieldKind.ROT6D, "rotation_vector": FieldKind.ROTATION_VECTOR, "euler": FieldKind.EULER_XYZ,
}  # fmt: skip
_EXAMPLE = EULER["xyz_deg"][0](np.array([[20.0, -35.0, 50.0], [110.0, 15.0, -70.0]]))
"""Two rotations on which the ways to write one are told apart."""
SENSE = {"as_given": lambda matrix: matrix, "transposed": transposed}


def _convert(use: Use) -> Built:
    """Every field of the input is one or several rotations of its kind; `to` names the other form."""
    source, wanted = use.inputs[0], use.table.get("to")
    if not isinstance(wanted, str) or wanted not in _WORDS:
        raise use.not_one_of("to", _WORDS)
    kind = kind_of(use)
    (size, readings), (new_size, writings) = FORMS[kind], FORMS[_WORDS[wanted]]
    reading = use.choice(
        "reads", readings, f"how the numbers of {source.name} hold a rotation", default=own_variant(kind, readings)
    )
    written = {name: each for name, each in writings.items() if not each.only_reads}
    writing = use.choice(
        "writes", written, "how the result holds a rotation", default=own_variant(_WORDS[wanted], written),
        shows=lambda variant: variant.from_matrix(_EXAMPLE),
    )  # fmt: skip
    sense = use.knob("sense", SENSE, "whether the rotation or its inverse is written")

    def rows_of(frames: Frames) -> FloatArray:
        matrices = sense.of(frames)(reading.of(frames).to_matrix(wide(frames, source.name, size)))
        return np.asarray(writing.of(frames).from_matrix(matrices))

    is_quaternion = _WORDS[wanted] in QUATERNION_KINDS

    def bound(frames: Frames, _rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """How far the result moves when numbers and matrix are moved by their roundings; then the result's own.

        Near the poles of Euler angles and half a turn, a rounding moves an angle far: no constant bound holds there. A product
        of many quaternions drifts from the length 1: some sides make it 1 again, others write what they have.
        """
        numbers, write, read = wide(frames, source.name, size), writing.of(frames), reading.of(frames)
        turn, rng = sense.of(frames), np.random.default_rng(0)
        matrix = turn(read.to_matrix(numbers))
        sizes = np.maximum(np.abs(matrix).max(axis=(-1, -2), keepdims=True), 1.0)
        exact = flat(write.from_matrix(matrix))

        def change(moved_matrix: FloatArray) -> FloatArray:
            moved = write.from_matrix(moved_matrix).reshape(exact.shape)
            return np.asarray(np.abs((same_hemisphere(exact, moved) if is_quaternion else moved) - exact))

        largest = np.zeros((2, *exact.shape))  # the two kinds apart: together they may cancel
        for _ in range(_PATTERNS):
            signs = [rng.choice((-1.0, 1.0), shape) for shape in (numbers.shape, matrix.shape)]
            largest[0] = np.fmax(largest[0], change(turn(read.to_matrix(numbers * (1.0 + gamma(_IN) * signs[0])))))
            largest[1] = np.fmax(largest[1], change(matrix + gamma(_BETWEEN) * sizes * signs[1]))
        found = largest.sum(axis=0) + gamma(_OUT) * np.abs(exact)
        if kind in QUATERNION_KINDS:
            length = np.linalg.norm(numbers, axis=-1, keepdims=True)
            drift = np.where(np.abs(length - 1.0) <= gamma(_DRIFT), np.abs(length - 1.0), 0.0)
            found += change(turn(read.to_matrix(np.where(drift > 0.0, numbers / length, numbers))))
            found += flat(np.broadcast_to(drift, (*matrix.shape[:-2], new_size))) * np.abs(exact)
        return np.asarray(found)

    def planned(frames: Frames) -> Step:
        read, write, turn = reading.of(frames), writing.of(frames), int(sense.word_of(frames) == "transposed")
        words = turn, *read.words(written=False), *write.words(written=True)
        return Step("convert", (Read(source.name),), words, (read.factors[0], write.factors[1]))

    layout = resized(source.fields, size, new_size, _WORDS[wanted])
    return computed(layout, rows_of, bound, planned, measure=QUATERNIONS if is_quaternion else RAW)


def own_variant(kind: FieldKind, variants: Mapping[str, Variant]) -> str | None:
    """The variant that the kind itself names; None where the declaration has to say it."""
    own = {FieldKind.QUATERNION_XYZW: "xyzw", FieldKind.QUATERNION_WXYZ: "wxyz"}.get(kind)
    return own if own in variants else None


def kind_of(use: Use) -> FieldKind:
    """The kind of rotation that every field of the first input has."""
    kinds = {each.kind for each in use.inputs[0].fields}
    kind = next(iter(kinds))
    if len(kinds) > 1 or kind not in FORMS:
        found = ", ".join(sorted(each.value for each in kinds))
        raise use.wrong(Wrong.KIND, "of", f"fields of the kind {found}", f"one kind of {', '.join(FORMS)}")
    return kind


def moved_matrices(variant: Variant, numbers: FloatArray) -> FloatArray:
    """How far roundings of its numbers move a rotation's matrix, (N, B, size) to (N, B): the largest sum of a row."""
    rng, exact = np.random.default_rng(0), variant.to_matrix(numbers)
    largest = np.zeros(exact.shape[:2])
    for _ in range(_PATTERNS):
        moved = variant.to_matrix(numbers * (1.0 + gamma(_IN) * rng.choice((-1.0, 1.0), numbers.shape)))
        largest = np.fmax(largest, np.abs(moved - exact).sum(axis=-1).max(axis=-1))
    return largest


def resized(fields: FieldLayout, size: int, new_size: int, kind: FieldKind) -> FieldLayout:
    """The fields with so many numbers in place of each rotation's."""
    start, resized = 0, []
    for each in fields:
        width = each.size // size * new_size
        resized.append(Field(each.name, start, width, kind, "", each.space))
        start += width
    return FieldLayout(tuple(resized))


CONVERT = operation("convert", _convert, choices=("reads", "writes"), readings=tuple(Form))
