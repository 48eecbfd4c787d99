"""Sums of products: affine, calibrate, blend, linear map."""

from collections.abc import Callable, Mapping
from functools import reduce

import numpy as np

from rigpact.contract.declared.operation import Built, Input, Reading, Use
from rigpact.contract.declared.values import Number
from rigpact.contract.errors import Wrong, unknown
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Frames
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.vocabulary.building import (
    Moved,
    computed,
    of_same_frame,
    operation,
    refuse_other_widths,
    samples,
    sum_of,
    wide,
)

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
_AFFINE_READINGS = {"scale": _SCALES, "offset": _CONSTANTS, "subtract": _CONSTANTS}
ORDERS = {
    "scale_first": lambda rows, scale, constant: rows * scale + constant,
    "constant_first": lambda rows, scale, constant: (rows + constant) * scale,
}
_AFFINE, _CALIBRATE = 5, 3
"""Roundings: both numbers are stored, a product, a sum, and the result is stored on the other side; a sign is exact, and of a
calibration only the zero is stored."""


def _affine(use: Use) -> Built:
    """A factor and a constant for each number, or one for all; what is left out is 1 and 0."""
    source = use.inputs[0]
    width, sizes = source.fields.width, [each.size for each in source.fields]
    found = {key: _number(use, key, width) for key in _AFFINE_READINGS if key in use.table}
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

    return _scaled(source, lambda frames: own_order if order is None else order.word_of(frames), parts, _AFFINE, moved)


def _scaled(
    source: Input,
    word: Callable[[Frames], str],
    parts: Callable[[Frames], tuple[FloatArray, FloatArray]],
    operations: int,
    moved: Moved | None = None,
) -> Built:
    """A factor and a constant in the order that `word` names; each number is rounded `operations` times."""

    def terms(frames: Frames) -> FloatArray:
        """The same with the sizes of the numbers: nothing cancels."""
        return np.asarray(ORDERS[word(frames)](np.abs(wide(frames, source.name)), *map(np.abs, parts(frames))))

    def planned(frames: Frames) -> Step:
        rows = [np.broadcast_to(part, (source.fields.width,)) for part in parts(frames)]
        return Step("affine", (Read(source.name),), (word(frames),), np.concatenate(rows))

    return computed(
        source.fields, lambda frames: ORDERS[word(frames)](wide(frames, source.name), *parts(frames)),
        sum_of(operations, terms, moved), planned, is_propagated=moved is not None,
    )  # fmt: skip


def _number(use: Use, key: str, width: int) -> Number:
    """A parameter of numbers; those with a name may be one for each field."""
    named, count = use.numbers.get(str(use.table[key])), len(tuple(use.inputs[0].fields))
    is_each = named is not None and named.value.size == count > 1
    misread = {**_AFFINE_READINGS[key], **(_NAMED if "readings" in use.said(key) else {})}
    return use.number(key, count if is_each else width, misread=misread)


AFFINE = operation("affine", _affine, readings=ORDERS)


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
    meaning = f"which fields of {source.name} count the other way"
    signs = use.number("signs", width, default=1.0, meaning=meaning, misread=_SIGNS)
    meaning = f"where the fields of {source.name} have their zero"
    zeros = use.number("zeros", width, default=0.0, meaning=meaning, misread=_ZEROS)
    if np.any(np.abs(use.value_of(signs)) != 1.0):
        raise use.wrong(Wrong.NUMBERS, "signs", use.value_of(signs).tolist(), "1 or -1 of each field")
    sign, zero = (np.broadcast_to(use.value_of(each).reshape(-1), (width,)) for each in (signs, zeros))
    direction = use.choice(
        "direction", _DIRECTIONS, f"whether {use.stage} is of the robot's table or for it",
        shows=lambda order: ORDERS[order](samples(width), sign, _constant(order, zero)),
    )  # fmt: skip

    def parts(frames: Frames) -> tuple[FloatArray, FloatArray]:
        return signs.row(frames, width), _constant(direction.of(frames), zeros.row(frames, width))

    return _scaled(source, direction.of, parts, _CALIBRATE)


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


CALIBRATE = operation("calibrate", _calibrate, choices=("direction",))


_WEIGHTS: Mapping[str, Reading] = {
    "equal": lambda weights: np.full_like(weights, 1.0 / weights.size),
    "reversed": lambda weights: weights[::-1],
    "first_only": lambda weights: np.eye(1, weights.size)[0],
    "last_only": lambda weights: np.eye(1, weights.size, weights.size - 1)[0],
    "all_added": np.ones_like,
}


def _blend(use: Use) -> Built:
    """weights: one for each vector."""
    refuse_other_widths(use)
    names = [each.name for each in use.inputs]
    meaning = f"the weights of {', '.join(names)}"
    weights = use.number("weights", len(names), meaning=meaning, misread=_WEIGHTS, is_table=True)

    def parts(frames: Frames) -> list[FloatArray]:
        return [
            weight * wide(frames, name) for weight, name in zip(weights.row(frames, len(names)), names, strict=True)
        ]

    def moved(frames: Frames, upstream: Bounds) -> FloatArray:
        pairs = zip(np.abs(weights.row(frames, len(names))), names, strict=True)
        shape = frames[names[0]].shape
        return reduce(np.add, [weight * of_same_frame(upstream, name, shape) for weight, name in pairs])

    # each weight is stored and multiplied, the products are added up, and the sum is stored on the other side
    return computed(
        use.inputs[0].fields, lambda frames: reduce(np.add, parts(frames)),
        sum_of(len(names) + 2, lambda frames: reduce(np.add, map(np.abs, parts(frames))), moved),
        lambda frames: Step("blend", tuple(map(Read, names)), (len(names),), weights.row(frames, len(names))),
        is_propagated=True,
    )  # fmt: skip


BLEND = operation("blend", _blend, (2, 1 << 10))


_MATRICES: Mapping[str, Reading] = {
    "transposed": np.transpose,
    "none": lambda matrix: np.eye(*np.atleast_2d(matrix).shape),
}


def _linear_map(use: Use) -> Built:
    """matrix: n rows of n numbers; every n numbers of the stage are a column vector."""
    source = use.inputs[0]
    matrix = use.number("matrix", meaning=f"the matrix of {use.stage}", misread=_MATRICES)
    rows, *columns = use.value_of(matrix).shape or (0,)
    if columns != [rows] or source.fields.width % rows:
        found = f"{use.value_of(matrix).shape} for {source.fields.width} numbers"
        raise use.wrong(Wrong.WIDTH, "matrix", found, "n rows of n numbers, n a part of the stage's width")

    def moved(frames: Frames, upstream: Bounds) -> FloatArray:
        before = of_same_frame(upstream, source.name, frames[source.name].shape)
        return np.asarray(before.reshape(len(before), -1, rows) @ np.abs(matrix.of(frames)).T).reshape(before.shape)

    # each entry is stored, n products are added up, and the sum is stored on the other side
    return computed(
        source.fields, lambda frames: wide(frames, source.name, rows) @ matrix.of(frames).T,
        sum_of(rows + 2, lambda frames: np.abs(wide(frames, source.name, rows)) @ np.abs(matrix.of(frames)).T, moved),
        is_propagated=True,
    )  # fmt: skip


LINEAR_MAP = operation("linear_map", _linear_map)
