"""Compose: the product of two quaternions."""

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import QUATERNIONS
from rigpact.reference_runtime.operations.definitions.quaternions import ONE_SIGN_WRONG, PRODUCTS
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.rounding_bounds import sum_of, wide
from rigpact.reference_runtime.vocabulary.turning.quaternions import (
    order_knob,
    order_written,
    refuse_other_counts,
    split,
)


def build(use: Use) -> Built:
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


OPERATION = Operation(
    "compose", "the product of two rotations", build,
    {
        "product": f"{', '.join(PRODUCTS)}; where a convention names it, one sign too, such as {next(iter(ONE_SIGN_WRONG))}",
        "quaternion_order": "xyzw or wxyz of the first, where its field does not say it",
        "second_quaternion_order": "the same of the second",
    },
    (2, 2), ("product", "quaternion_order", "second_quaternion_order"),
    code=CODE_HINTS["compose"], readings=PRODUCTS,
)  # fmt: skip
