"""Quaternions of declared vectors, xyzw inside, whatever the fields say: compose, relative, rotate, of length one."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from rigpact.contract.declared.operation import Built, Input, Use
from rigpact.contract.declared.values import Choice
from rigpact.contract.errors import Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import QUATERNIONS, Bounds
from rigpact.reference_runtime.operations.geometry import (
    FRAMES,
    FROM_XYZW,
    ONE_SIGN_WRONG,
    PRODUCTS,
    TO_XYZW,
    TURNS,
    rotated,
    unit,
    unit_or_identity,
    unit_or_zeros,
)
from rigpact.reference_runtime.operations.scalars import gamma
from rigpact.reference_runtime.vocabulary.building import computed, operation, sum_of, whole_count, wide

_ORDER_OF = {FieldKind.QUATERNION_XYZW: "xyzw", FieldKind.QUATERNION_WXYZ: "wxyz"}


def order_knob(use: Use, source: Input, key: str = "quaternion_order") -> Choice:
    """The order of the components of a vector of quaternions: its fields' kind says it, or the parameter; else it is open."""
    declared = {_ORDER_OF.get(each.kind) for each in source.fields}
    whole_count(use, source, 4, "quaternions, 4 each")
    own = next(iter(declared)) if len(declared) == 1 else None
    return use.choice(key, TO_XYZW, f"the order of the quaternion's components in {source.name}", default=own)


def order_written(use: Use, source: Input, key: str = "quaternion_order") -> list[int]:
    """From xyzw to the order in which a result with the fields of `source` is written: the declared one."""
    own = next((_ORDER_OF[each.kind] for each in source.fields if each.kind in _ORDER_OF), "xyzw")
    return FROM_XYZW[str(use.table.get(key, own))]


def split(frames: Frames, source: Input, order: Choice) -> FloatArray:
    """The quaternions of a vector, (N, B, 4), xyzw."""
    return np.asarray(wide(frames, source.name, 4)[..., order.of(frames)])


def _refuse_other_counts(use: Use, one: int, many: int, expected: str) -> None:
    """Misdeclared unless there is one of something, or as many as of the others."""
    if one not in (1, many):
        raise use.wrong(Wrong.WIDTH, "of", f"{one} and {many}", expected)


def _sizes(numbers: FloatArray, q: FloatArray) -> FloatArray:
    """The sizes of the terms of vectors (N, B, 3) that quaternions (N, B, 4) turn, one of either for all of the other."""
    scale = 1.0 + 4.0 * np.sum(q * q, axis=-1, keepdims=True)
    sizes = np.sum(np.abs(numbers), axis=-1, keepdims=True) * scale
    return np.broadcast_to(sizes, (*sizes.shape[:-1], 3))


def _compose(use: Use) -> Built:
    """first ⊗ second; the result has the fields of the second."""
    first, second = use.inputs
    orders = order_knob(use, first), order_knob(use, second, "second_quaternion_order")
    one, many = first.fields.width // 4, second.fields.width // 4
    _refuse_other_counts(use, one, many, "one quaternion, or as many as of the second")
    products = {**PRODUCTS, **ONE_SIGN_WRONG} if "readings" in use.said("product") else PRODUCTS
    pick = use.choice("product", products, "which rotation comes first")
    written = order_written(use, second, "second_quaternion_order")

    def rows_of(frames: Frames) -> FloatArray:
        a, b = (split(frames, source, order) for source, order in zip((first, second), orders, strict=True))
        return np.broadcast_arrays(pick.of(frames)(a, b), b)[0][..., written]

    def terms(frames: Frames) -> FloatArray:
        sizes = [np.abs(wide(frames, each.name)).max(axis=1, keepdims=True) for each in (first, second)]
        return np.asarray(4.0 * sizes[0] * sizes[1])

    def planned(frames: Frames) -> Step:
        reads, other = (knob.of(frames) for knob in orders)
        words = pick.word_of(frames), one, *reads, *other, *written
        return Step("compose", (Read(first.name), Read(second.name)), words)

    return computed(second.fields, rows_of, sum_of(8, terms), planned, measure=QUATERNIONS)


COMPOSE = operation(
    "compose", _compose, (2, 2), choices=("product", "quaternion_order", "second_quaternion_order"), readings=PRODUCTS
)


_RELATIVE, _ROTATE = 16, 14
"""Roundings of one component: two cross products, a product and two sums of a product's terms; and of an origin."""


def _relative(use: Use) -> Built:
    """of = [points, origin, quaternion]."""
    points, origin, quaternion = use.inputs
    count, origins = (whole_count(use, each, 3, "points, 3 each") for each in (points, origin))
    order, turning = order_knob(use, quaternion), quaternion.fields.width // 4
    _refuse_other_counts(use, origins, count, "one origin, or as many as points")
    _refuse_other_counts(use, turning, count, "one quaternion, or as many as points")
    direction = use.choice("direction", FRAMES, "how points and the frame are combined")

    def parts(frames: Frames) -> tuple[FloatArray, FloatArray, FloatArray]:
        return wide(frames, points.name, 3), wide(frames, origin.name, 3), split(frames, quaternion, order)

    def terms(frames: Frames) -> FloatArray:
        rows, place, q = parts(frames)
        return _sizes(np.abs(rows) + np.abs(place), q)

    return computed(
        points.fields, lambda frames: direction.of(frames)(*parts(frames)), sum_of(_RELATIVE, terms),
        lambda frames: Step(
            "relative", tuple(Read(each.name) for each in use.inputs),
            (direction.word_of(frames), origins, turning, *order.of(frames)),
        ),
    )  # fmt: skip


RELATIVE = operation("relative", _relative, (3, 3), choices=("direction", "quaternion_order"), readings=FRAMES)


_VECTOR_READINGS = {"negated": lambda vector: -vector, "times_9.81": lambda vector: 9.81 * vector}


def _rotate(use: Use) -> Built:
    """of = [quaternion, vector], or of = [quaternion] with a constant `vector`."""
    quaternion, *others = use.inputs
    order, count = order_knob(use, quaternion), quaternion.fields.width // 4
    direction = use.choice("direction", TURNS, "whether the quaternion or its inverse turns the vector")
    size = 0
    if others:
        vectors = whole_count(use, others[0], 3, "vectors, 3 each")
        _refuse_other_counts(use, count, vectors, "one quaternion, or as many as vectors")
        layout = others[0].fields
    else:
        constant = use.number("vector", meaning="the vector that is turned", misread=_VECTOR_READINGS)
        size = use.value_of(constant).size
        if size not in (3, 3 * count):
            raise use.wrong(Wrong.WIDTH, "vector", f"{size} numbers", "3, or 3 for each quaternion")
        layout = FieldLayout((Field(use.stage, 0, 3 * count, FieldKind.DIRECTION),))

    def vectors_of(frames: Frames) -> FloatArray:
        return wide(frames, others[0].name, 3) if others else constant.of(frames).reshape(1, -1, 3)

    def planned(frames: Frames) -> Step:
        numbers = () if others else vectors_of(frames).reshape(-1)
        words = direction.word_of(frames), count, int(not others), *order.of(frames)
        return Step("rotate", tuple(Read(each.name) for each in use.inputs), words, numbers)

    return computed(
        layout, lambda frames: rotated(direction.of(frames)(split(frames, quaternion, order)), vectors_of(frames)),
        sum_of(_ROTATE, lambda frames: _sizes(vectors_of(frames), split(frames, quaternion, order))),
        planned if size <= 3 else None,
    )  # fmt: skip


ROTATE = operation("rotate", _rotate, (1, 2), choices=("direction", "quaternion_order"), readings=TURNS)


_NORMALISE = 12
"""Roundings of a length, its root, a quotient."""
_LENGTHS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "unit": unit_or_identity,
    "unit_or_zeros": unit_or_zeros,
    "none": lambda raw: raw,
    # all of a frame divided by the length of all its numbers
    "together": lambda raw: unit(raw.reshape(len(raw), -1)).reshape(raw.shape),
}
_SIGNS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "w_not_negative": lambda q: np.where(q[..., 3:] < 0.0, -q, q),
    "as_it_comes": lambda q: q,
}


def _unit_quaternions(use: Use) -> Built:
    """Quaternions xyzw, as many as come in."""
    source, said = use.inputs[0], use.table.get("normalisation")
    whole_count(use, source, 4, "quaternions, 4 each")
    lengths = {word: of for word, of in _LENGTHS.items() if word in ("unit", "none", "together", said)}
    length = use.choice("normalisation", lengths, "whether the network's quaternions are made unit")
    sign = use.choice("sign", _SIGNS, "which of q and -q is sent back")

    def bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """Roundings of a unit quaternion. If w is zero within rounding, a sign that it decides is not judged."""
        quats = rows.astype(np.float64).reshape(len(rows), -1, 4)
        undecided = np.abs(quats[..., 3:]) <= (gamma(_NORMALISE) if sign.word_of(frames) == "w_not_negative" else -1.0)
        return np.where(np.broadcast_to(undecided, quats.shape), np.nan, gamma(_NORMALISE)).reshape(rows.shape)

    fields = FieldLayout(tuple(replace(each, kind=FieldKind.QUATERNION_XYZW) for each in source.fields))
    return computed(fields, lambda frames: sign.of(frames)(length.of(frames)(wide(frames, source.name, 4))), bound)


UNIT_QUATERNIONS = operation("unit_quaternions", _unit_quaternions, choices=("normalisation", "sign"))
