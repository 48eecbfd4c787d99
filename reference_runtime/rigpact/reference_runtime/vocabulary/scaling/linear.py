"""Sums of products: affine, calibrate, blend, linear map."""

from collections.abc import Callable, Mapping
from functools import reduce

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Input, Operation, Reading, Use
from rigpact.contract.declared.values import Number
from rigpact.contract.errors import Wrong, unknown
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Frames
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.scalars import stored
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.rounding_bounds import Moved, of_same_frame, samples, sum_of, wide

_SCALES: Mapping[str, Reading] = {
    "none": np.ones_like,
    "inverse": lambda scale: 1.0 / np.where(scale == 0.0, np.inf, scale),
    "twice": np.square,
    "negated": np.negative,
}
_NAMED: Mapping[str, Reading] = {"two_decimals": lambda scale: np.floor(scale * 100.0) / 100.0}
"""What a factor is misread for only where a convention names it."""
_CONSTANTS: Mapping[str, Reading] = {
    "none": np.zeros_like,
    "negated": np.negative,
    "twice": lambda constant: 2.0 * constant,
}
ORDERS = {
    "scale_first": lambda rows, scale, constant: rows * scale + constant,
    "constant_first": lambda rows, scale, constant: (rows + constant) * scale,
}


def _affine(use: Use) -> Built:
    """A factor and a constant for each number, or one for all; what is left out is 1 and 0."""
    source = use.inputs[0]
    width = source.fields.width
    found = {key: _number(use, key, width) for key in _AFFINE_READINGS if key in use.table}
    sizes = [each.size for each in source.fields]
    if not found or len(found) == 3:
        raise use.missing("scale", "scale, and offset or subtract")
    constant, sign = found.get("offset", found.get("subtract")), -1.0 if "subtract" in found else 1.0
    own_order = "constant_first" if "subtract" in found else "scale_first"
    order = None

    def spread(numbers: FloatArray) -> FloatArray:
        """One for all, or one for each number; those of each field for each of its numbers."""
        flat = numbers.reshape(-1)
        return np.repeat(flat, sizes) if flat.size == len(sizes) < width and flat.size > 1 else flat

    if "scale" in found and constant is not None:
        factor, added = (spread(use.value_of(each)) for each in (found["scale"], constant))
        order = use.choice(
            "order", ORDERS, f"the first step in {use.stage}", default=own_order,
            shows=lambda combine: combine(samples(width), factor, added),
        )  # fmt: skip

    def parts(frames: Frames) -> tuple[FloatArray, FloatArray]:
        factor, added = (
            np.array([neutral]) if each is None else spread(each.of(frames))
            for each, neutral in ((found.get("scale"), 1.0), (constant, 0.0))
        )
        return factor, sign * added

    def moved(frames: Frames, upstream: Bounds) -> FloatArray:
        before = of_same_frame(upstream, source.name, (len(frames[source.name]), width))
        return np.asarray(before * np.abs(parts(frames)[0]))

    return _scaled(
        source, lambda frames: own_order if order is None else order.word_of(frames), parts, _AFFINE_OPERATIONS, moved
    )


def _scaled(
    source: Input,
    word: Callable[[Frames], str],
    parts: Callable[[Frames], tuple[FloatArray, FloatArray]],
    operations: int,
    moved: Moved | None = None,
) -> Built:
    """A factor and a constant in the order that `word` names; each number is rounded `operations` times."""

    def compute(frames: Frames) -> FloatArray:
        return stored(ORDERS[word(frames)](wide(frames, source.name), *parts(frames)))

    def terms(frames: Frames) -> FloatArray:
        """The same with the sizes of the numbers: nothing cancels."""
        return np.asarray(ORDERS[word(frames)](np.abs(wide(frames, source.name)), *map(np.abs, parts(frames))))

    def planned(frames: Frames) -> Step:
        rows = [np.broadcast_to(part, (source.fields.width,)) for part in parts(frames)]
        return Step("affine", (Read(source.name),), (word(frames),), np.concatenate(rows))

    bound = sum_of(operations, terms, moved)
    return Built(source.fields, compute, bound, is_propagated=moved is not None, planned=planned)


def _number(use: Use, key: str, width: int) -> Number:
    """A parameter of numbers; those with a name may be one for each field."""
    named, count = use.numbers.get(str(use.table[key])), len(tuple(use.inputs[0].fields))
    is_each = named is not None and named.value.size == count > 1
    misread = {**_AFFINE_READINGS[key], **(_NAMED if "readings" in use.said(key) else {})}
    return use.number(key, count if is_each else width, misread=misread)


_AFFINE_OPERATIONS = 5
"""Both numbers are stored, a product, a sum, and the result is stored on the other side."""
_AFFINE_READINGS = {"scale": _SCALES, "offset": _CONSTANTS, "subtract": _CONSTANTS}
AFFINE = Operation(
    "affine",
    "x · scale + offset, or (x - subtract) · scale",
    _affine,
    {
        "scale": "one factor, or one for each number; of [numbers] also one for each field",
        "offset": "the summand after the factor: one constant, or one for each number",
        "subtract": "the number subtracted before the factor: one constant, or one for each number",
        "order": "scale_first or constant_first, where it is not the usual one",
    },
    code=CODE_HINTS["affine"],
    readings=ORDERS,
)


_DIRECTIONS = {"from_robot": "constant_first", "to_robot": "scale_first"}
"""Each as `affine` has it: the zero is taken off before the sign, or added behind it."""
_SIGNS: Mapping[str, Reading] = {"not_applied": np.ones_like, "all_negated": np.negative}
_ZEROS: Mapping[str, Reading] = {"not_applied": np.zeros_like, "negated": np.negative, "taken_for_degrees": np.deg2rad}


def _calibrate(use: Use) -> Built:
    """signs: 1 or -1 of each field, or `reversed`, the names of those that are -1. zeros: what the robot measures at 0."""
    source = use.inputs[0]
    width = source.fields.width
    if "reversed" in use.table:
        use.table = {**use.table, "signs": _signs(use)}
    signs = use.number(
        "signs", width, default=1.0, meaning=f"which fields of {source.name} count the other way", misread=_SIGNS
    )
    zeros = use.number(
        "zeros", width, default=0.0, meaning=f"where the fields of {source.name} have their zero", misread=_ZEROS
    )
    if np.any(np.abs(use.value_of(signs)) != 1.0):
        raise use.wrong(Wrong.NUMBERS, "signs", use.value_of(signs).tolist(), "1 or -1 of each field")
    sign, zero = (np.broadcast_to(use.value_of(each).reshape(-1), (width,)) for each in (signs, zeros))
    direction = use.choice("direction", _DIRECTIONS, f"whether {use.stage} is of the robot's table or for it", {
        "from_robot": "angles that the robot measures: the zero is taken off, then the sign",
        "to_robot": "angles that the robot is given: the sign, then the zero is added",
    }, shows=lambda order: ORDERS[order](samples(width), sign, _constant(order, zero)))  # fmt: skip

    def parts(frames: Frames) -> tuple[FloatArray, FloatArray]:
        return signs.row(frames, width), _constant(direction.of(frames), zeros.row(frames, width))

    return _scaled(source, direction.of, parts, _CALIBRATE_OPERATIONS)


def _constant(order: str, zero: FloatArray) -> FloatArray:
    return -zero if order == "constant_first" else zero


def _signs(use: Use) -> list[float]:
    """-1 of each number of the fields that `reversed` names, else 1."""
    fields, words = use.inputs[0].fields, use.word_list("reversed")
    if "signs" in use.table:
        raise use.wrong(Wrong.CHOICE, "reversed", "signs too", "one of the two")
    for place, word in enumerate(words):
        if word not in fields:
            raise unknown(use.at("reversed", place), word, [each.name for each in fields], "a field of the input")
    return [-1.0 if each.name in words else 1.0 for each in fields for _ in range(each.size)]


_CALIBRATE_OPERATIONS = 3
"""The zero is stored, a sum or a difference, and the result is stored on the other side; a sign is exact."""
_CALIBRATE_CODE = {
    "signs": {
        "declared": CodeHint("q = sign[i] * (raw[i] - zero[i]);", "q = sign * (raw - zero)"),
        "not_applied": CodeHint("q = raw[i] - zero[i]; // no sign", "q = raw - zero"),
        "all_negated": CodeHint("q = -sign[i] * (raw[i] - zero[i]);", "q = -sign * (raw - zero)"),
    },
    "zeros": {
        "declared": CodeHint("q = sign[i] * (raw[i] - zero[i]);", "q = sign * (raw - zero)"),
        "not_applied": CodeHint("q = sign[i] * raw[i]; // no zero", "q = sign * raw"),
        "negated": CodeHint("q = sign[i] * (raw[i] + zero[i]);", "q = sign * (raw + zero)"),
        "taken_for_degrees": CodeHint("raw[i] - zero[i] * pi / 180", "raw - np.deg2rad(zero)"),
    },
    "direction": {
        "from_robot": CodeHint("q = sign[i] * (raw[i] - zero[i]);", "q = sign * (raw - zero)"),
        "to_robot": CodeHint("raw = sign[i] * q[i] + zero[i];", "raw = sign * q + zero"),
    },
}
CALIBRATE = Operation(
    "calibrate", "joints as a robot's own table counts them, by signs and zeros", _calibrate,
    {
        "signs": "1 or -1 of each field, or one for all, 1 if left out",
        "reversed": "instead of signs: the names of the fields that are -1",
        "zeros": "the robot's reading where the field is 0, one for each field or one for all, 0 if left out",
        "direction": "from_robot: sign · (x - zero), to_robot: sign · x + zero",
    },
    choices=("direction",), code=_CALIBRATE_CODE,
)  # fmt: skip


_BLEND_READINGS: Mapping[str, Reading] = {
    "equal": lambda weights: np.full_like(weights, 1.0 / weights.size),
    "reversed": lambda weights: weights[::-1],
    "first_only": lambda weights: np.eye(1, weights.size)[0],
    "last_only": lambda weights: np.eye(1, weights.size, weights.size - 1)[0],
    "all_added": np.ones_like,
}


def _blend(use: Use) -> Built:
    """weights: one for each vector."""
    widths = {each.fields.width for each in use.inputs}
    if len(widths) > 1:
        found = ", ".join(f"{each.name} {each.fields.width}" for each in use.inputs)
        raise use.wrong(Wrong.WIDTH, "of", f"widths {found}", "vectors of one width")
    names = [each.name for each in use.inputs]
    meaning = f"the weights of {', '.join(names)}"
    weights = use.number("weights", len(names), meaning=meaning, misread=_BLEND_READINGS, is_table=True)

    def parts(frames: Frames) -> list[FloatArray]:
        values = np.broadcast_to(weights.of(frames).reshape(-1), (len(names),))
        return [weight * wide(frames, name) for weight, name in zip(values, names, strict=True)]

    def compute(frames: Frames) -> FloatArray:
        return stored(reduce(np.add, parts(frames)))

    def terms(frames: Frames) -> FloatArray:
        return reduce(np.add, map(np.abs, parts(frames)))

    def planned(frames: Frames) -> Step:
        return Step("blend", tuple(map(Read, names)), (len(names),), weights.row(frames, len(names)))

    def moved(frames: Frames, upstream: Bounds) -> FloatArray:
        values = np.abs(weights.row(frames, len(names)))
        shape = frames[names[0]].shape
        return sum(
            (weight * of_same_frame(upstream, name, shape) for weight, name in zip(values, names, strict=True)),
            np.zeros(()),
        )

    # each weight is stored and multiplied, the products are added up, and the sum is stored on the other side
    bound = sum_of(len(names) + 2, terms, moved)
    return Built(use.inputs[0].fields, compute, bound, is_propagated=True, planned=planned)


BLEND = Operation(
    "blend",
    "a weighted sum of vectors",
    _blend,
    {"weights": "one weight for each vector"},
    inputs=(2, 1 << 10),
    code=CODE_HINTS["blend"],
)


_LINEAR_MAP_READINGS: Mapping[str, Reading] = {
    "transposed": np.transpose,
    "none": lambda matrix: np.eye(*np.atleast_2d(matrix).shape),
}


def _linear_map(use: Use) -> Built:
    """matrix: n rows of n numbers; every n numbers of the stage are a column vector."""
    source = use.inputs[0]
    matrix = use.number("matrix", meaning=f"the matrix of {use.stage}", misread=_LINEAR_MAP_READINGS)
    rows, *columns = use.value_of(matrix).shape or (0,)
    if columns != [rows] or source.fields.width % rows:
        found = f"{use.value_of(matrix).shape} for {source.fields.width} numbers"
        raise use.wrong(Wrong.WIDTH, "matrix", found, "n rows of n numbers, n a part of the stage's width")

    def times(values: FloatArray, by: FloatArray) -> FloatArray:
        return np.asarray((values.reshape(len(values), -1, rows) @ by.T).reshape(len(values), -1))

    def compute(frames: Frames) -> FloatArray:
        return stored(times(wide(frames, source.name), matrix.of(frames)))

    def terms(frames: Frames) -> FloatArray:
        return times(np.abs(wide(frames, source.name)), np.abs(matrix.of(frames)))

    def moved(frames: Frames, upstream: Bounds) -> FloatArray:
        return times(of_same_frame(upstream, source.name, frames[source.name].shape), np.abs(matrix.of(frames)))

    # each entry is stored, n products are added up, and the sum is stored on the other side
    return Built(source.fields, compute, sum_of(rows + 2, terms, moved), is_propagated=True)


LINEAR_MAP = Operation(
    "linear_map",
    "a constant matrix times each vector",
    _linear_map,
    {"matrix": "n rows of n numbers, or a name of [numbers]"},
    code={
        "matrix": {
            "declared": CodeHint("y[i] += m[i][j] * x[j];", "x @ m.T"),
            "transposed": CodeHint("y[i] += m[j][i] * x[j];", "x @ m"),
            "none": CodeHint("y[i] = x[i];", "x"),
        }
    },
)
