"""Quaternions of declared vectors, xyzw inside, whatever the fields say: rotate, compose, relative."""

import numpy as np

from rigpact.contract.declared.operation import Built, Input, Operation, Use
from rigpact.contract.declared.values import Choice
from rigpact.contract.errors import Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import QUATERNIONS
from rigpact.reference_runtime.operations.geometry import (
    FRAMES,
    FROM_XYZW,
    ONE_SIGN_WRONG,
    PRODUCTS,
    TO_XYZW,
    TURNS,
    rotated,
)
from rigpact.reference_runtime.operations.scalars import stored
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.named_fields import whole_count
from rigpact.reference_runtime.vocabulary.rounding_bounds import sum_of, wide

ORDER_OF = {FieldKind.QUATERNION_XYZW: "xyzw", FieldKind.QUATERNION_WXYZ: "wxyz"}
_ORDER_HINTS = {
    "xyzw": "the components are read as x, y, z, w: the contract has another order",
    "wxyz": "the components are read as w, x, y, z: the contract has another order",
}


def order_knob(use: Use, source: Input, key: str = "quaternion_order") -> Choice:
    """The order of the components of a vector of quaternions: its fields' kind says it, or the parameter; else it is open."""
    declared = {ORDER_OF.get(each.kind) for each in source.fields}
    whole_count(use, source, 4, "quaternions, 4 each")
    own = next(iter(declared)) if len(declared) == 1 else None
    return use.choice(
        key, TO_XYZW, f"the order of the quaternion's components in {source.name}", _ORDER_HINTS, default=own
    )


def order_written(use: Use, source: Input, key: str = "quaternion_order") -> list[int]:
    """From xyzw to the order in which a result with the fields of `source` is written: the declared one."""
    own = next((ORDER_OF[each.kind] for each in source.fields if each.kind in ORDER_OF), "xyzw")
    return FROM_XYZW[str(use.table.get(key, own))]


def refuse_other_counts(use: Use, one: int, many: int, expected: str) -> None:
    """Misdeclared unless there is one of something, or as many as of the others."""
    if one not in (1, many):
        raise use.wrong(Wrong.WIDTH, "of", f"{one} and {many}", expected)


def split(rows: FloatArray, order: list[int]) -> FloatArray:
    """(N, 4·B) to (N, B, 4), xyzw."""
    return np.asarray(rows.reshape(len(rows), -1, 4)[..., order])


def _compose(use: Use) -> Built:
    """first ⊗ second; the result has the fields of the second."""
    first, second = use.inputs
    orders = order_knob(use, first), order_knob(use, second, "second_quaternion_order")
    one, many = first.fields.width // 4, second.fields.width // 4
    refuse_other_counts(use, one, many, "one quaternion, or as many as of the second")
    products = {**PRODUCTS, **ONE_SIGN_WRONG} if "readings" in use.said("product") else PRODUCTS
    pick = use.choice("product", products, "which rotation comes first", {
        "second_first": "the factors are exchanged: the first one turns last",
    })  # fmt: skip
    written = order_written(use, second, "second_quaternion_order")

    def compute(frames: Frames) -> FloatArray:
        pairs = zip((first, second), orders, strict=True)
        a, b = (split(wide(frames, source.name), knob.of(frames)) for source, knob in pairs)
        result = np.broadcast_arrays(pick.of(frames)(a, b), b)[0]
        return stored(result[..., written].reshape(len(b), -1))

    def terms(frames: Frames) -> FloatArray:
        sizes = [np.abs(wide(frames, each.name)).max(axis=1, keepdims=True) for each in (first, second)]
        return np.asarray(4.0 * sizes[0] * sizes[1])

    def planned(frames: Frames) -> Step:
        reads, other = (knob.of(frames) for knob in orders)
        words = pick.word_of(frames), one, *reads, *other, *written
        return Step("compose", (Read(first.name), Read(second.name)), words)

    return Built(second.fields, compute, sum_of(8, terms), measure=QUATERNIONS, planned=planned)


COMPOSE = Operation(
    "compose", "the product of two rotations", _compose,
    {
        "product": f"{', '.join(PRODUCTS)}; where a convention names it, one sign too, such as {next(iter(ONE_SIGN_WRONG))}",
        "quaternion_order": "xyzw or wxyz of the first, where its field does not say it",
        "second_quaternion_order": "the same of the second",
    },
    (2, 2), ("product", "quaternion_order", "second_quaternion_order"),
    code=CODE_HINTS["compose"], readings=PRODUCTS,
)  # fmt: skip


_RELATIVE_OPERATIONS = 16


def _relative(use: Use) -> Built:
    """of = [points, origin, quaternion]."""
    points, origin, quaternion = use.inputs
    count, origins = (whole_count(use, each, 3, "points, 3 each") for each in (points, origin))
    order = order_knob(use, quaternion)
    refuse_other_counts(use, origins, count, "one origin, or as many as points")
    refuse_other_counts(use, quaternion.fields.width // 4, count, "one quaternion, or as many as points")
    direction = use.choice("direction", FRAMES, "how points and the frame are combined")

    def parts(frames: Frames) -> tuple[FloatArray, FloatArray, FloatArray]:
        rows, place = (wide(frames, each.name).reshape(len(frames[each.name]), -1, 3) for each in (points, origin))
        return rows, place, split(wide(frames, quaternion.name), order.of(frames))

    def compute(frames: Frames) -> FloatArray:
        result = direction.of(frames)(*parts(frames))
        return stored(result.reshape(len(result), -1))

    def terms(frames: Frames) -> FloatArray:
        rows, place, q = parts(frames)
        scale = 1.0 + 4.0 * np.sum(q * q, axis=-1, keepdims=True)
        sizes = np.sum(np.abs(rows) + np.abs(place), axis=-1, keepdims=True) * scale
        return np.broadcast_to(sizes, rows.shape).reshape(len(rows), -1)

    def planned(frames: Frames) -> Step:
        words = direction.word_of(frames), origins, quaternion.fields.width // 4, *order.of(frames)
        return Step("relative", tuple(Read(each.name) for each in use.inputs), words)

    return Built(points.fields, compute, sum_of(_RELATIVE_OPERATIONS, terms), planned=planned)


RELATIVE = Operation(
    "relative", "points from a frame's point of view", _relative,
    {
        "direction": ", ".join(FRAMES),
        "quaternion_order": "xyzw or wxyz, where the quaternion's field does not say it",
    },
    (3, 3), ("direction", "quaternion_order"),
    code=CODE_HINTS["relative"], readings=FRAMES,
)  # fmt: skip


_ROTATE_OPERATIONS = 14
"""Roundings of one component: two cross products, a product and two sums of a product's terms."""
_VECTOR_READINGS = {"negated": lambda vector: -vector, "times_9.81": lambda vector: 9.81 * vector}


def _rotate(use: Use) -> Built:
    """of = [quaternion, vector], or of = [quaternion] with a constant `vector`."""
    quaternion = use.inputs[0]
    order = order_knob(use, quaternion)
    direction = use.choice("direction", TURNS, "whether the quaternion or its inverse turns the vector", {
        "forward": "R(q) v takes a vector from the body to the world; the contract takes the inverse",
        "inverse": "R(q)^-1 v takes a vector from the world to the body; the contract takes q itself",
        "none": "the vector is not turned at all: it stays in the frame that it came in",
    })  # fmt: skip
    is_each = False
    if len(use.inputs) == 2:
        source = use.inputs[1]
        counts = quaternion.fields.width // 4, whole_count(use, source, 3, "vectors, 3 each")
        refuse_other_counts(use, *counts, "one quaternion, or as many as vectors")
        layout = source.fields

        def vectors(frames: Frames) -> FloatArray:
            rows = wide(frames, source.name)
            return rows.reshape(len(rows), -1, 3)
    else:
        meaning = "the vector that is turned"
        width = quaternion.fields.width // 4 * 3
        constant = use.number("vector", meaning=meaning, misread=_VECTOR_READINGS)
        size = use.value_of(constant).size
        if size not in (3, width):
            raise use.wrong(Wrong.WIDTH, "vector", f"{size} numbers", "3, or 3 for each quaternion")
        is_each = size > 3
        layout = FieldLayout((Field(use.stage, 0, width, FieldKind.DIRECTION),))

        def vectors(frames: Frames) -> FloatArray:
            return constant.of(frames).reshape(1, -1, 3)

    def compute(frames: Frames) -> FloatArray:
        q = direction.of(frames)(split(wide(frames, quaternion.name), order.of(frames)))
        return stored(rotated(q, vectors(frames)).reshape(len(q), -1))

    def terms(frames: Frames) -> FloatArray:
        q = split(wide(frames, quaternion.name), order.of(frames))
        scale = 1.0 + 4.0 * np.sum(q * q, axis=-1, keepdims=True)
        sizes = np.sum(np.abs(vectors(frames)), axis=-1, keepdims=True) * scale
        return np.broadcast_to(sizes, (*sizes.shape[:-1], 3)).reshape(len(q), -1)

    def planned(frames: Frames) -> Step:
        numbers = vectors(frames).reshape(-1) if len(use.inputs) == 1 else ()
        count = quaternion.fields.width // 4
        words = direction.word_of(frames), count, int(len(use.inputs) == 1), *order.of(frames)
        return Step("rotate", tuple(Read(each.name) for each in use.inputs), words, numbers)

    return Built(layout, compute, sum_of(_ROTATE_OPERATIONS, terms), planned=None if is_each else planned)


ROTATE = Operation(
    "rotate", "a vector by a quaternion", _rotate,
    {
        "vector": "a constant vector, or one for each quaternion, where of names quaternions alone",
        "direction": "forward: R(q) v; inverse: R(q)^-1 v; none",
        "quaternion_order": "xyzw or wxyz, where the quaternion's field does not say it",
    },
    (1, 2), ("direction", "quaternion_order"),
    code=CODE_HINTS["rotate"], readings=TURNS,
)  # fmt: skip
