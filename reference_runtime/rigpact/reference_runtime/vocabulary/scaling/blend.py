"""Blend: a weighted sum of vectors of one width; with weights 1 and -1 a sum or a difference."""

from collections.abc import Mapping
from functools import reduce

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Reading, Use
from rigpact.contract.declared.problems import Misdeclared, Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_same_frame, sum_of, wide

_READINGS: Mapping[str, Reading] = {
    "equal": lambda weights: np.full_like(weights, 1.0 / weights.size),
    "reversed": lambda weights: weights[::-1],
    "first_only": lambda weights: np.eye(1, weights.size)[0],
    "last_only": lambda weights: np.eye(1, weights.size, weights.size - 1)[0],
    "all_added": np.ones_like,
}


def build(use: Use) -> Built:
    """weights: one for each vector."""
    widths = {each.fields.width for each in use.inputs}
    if len(widths) > 1:
        found = ", ".join(f"{each.name} {each.fields.width}" for each in use.inputs)
        raise Misdeclared(Wrong.WIDTH, use.at("of"), f"widths {found}", "vectors of one width")
    names = [each.name for each in use.inputs]
    meaning = f"the weights of {', '.join(names)}"
    weights = use.number("weights", len(names), meaning=meaning, misread=_READINGS, is_table=True)

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


OPERATION = Operation(
    "blend",
    "a weighted sum of vectors",
    build,
    {"weights": "one weight for each vector"},
    inputs=(2, 1 << 10),
    code=CODE_HINTS["blend"],
)
