"""Rotate: a vector by a quaternion, into a frame or out of it."""

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.problems import Misdeclared, Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.plan import Read, Step
from rigpact.reference_runtime.operations.definitions.quaternions import TURNS, rotated
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.rounding_bounds import sum_of, wide
from rigpact.reference_runtime.vocabulary.turning.quaternions import (
    order_knob,
    refuse_other_counts,
    split,
)

_OPERATIONS = 14
"""Roundings of one component: two cross products, a product and two sums of a product's terms."""
_VECTOR_READINGS = {"negated": lambda vector: -vector, "times_9.81": lambda vector: 9.81 * vector}


def build(use: Use) -> Built:
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
        if source.fields.width % 3:
            raise Misdeclared(
                Wrong.WIDTH, use.at("of"), f"{source.name}, {source.fields.width} numbers", "vectors, 3 each"
            )
        counts = quaternion.fields.width // 4, source.fields.width // 3
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

    return Built(layout, compute, sum_of(_OPERATIONS, terms), planned=None if is_each else planned)


OPERATION = Operation(
    "rotate", "a vector by a quaternion", build,
    {
        "vector": "a constant vector, or one for each quaternion, where of names quaternions alone",
        "direction": "forward: R(q) v; inverse: R(q)^-1 v; none",
        "quaternion_order": "xyzw or wxyz, where the quaternion's field does not say it",
    },
    (1, 2), ("direction", "quaternion_order"),
    code=CODE_HINTS["rotate"], readings=TURNS,
)  # fmt: skip
