"""Norm: how long vectors are, or the square of it."""

from __future__ import annotations

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.problems import Misdeclared, Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.stage import Bounds, Frames
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.rounding_bounds import samples, wide

_MEASURES = {
    "euclidean": lambda vectors: np.sqrt(np.sum(vectors**2, axis=-1)),
    "squared": lambda vectors: np.sum(vectors**2, axis=-1),
    "absolute_sum": lambda vectors: np.sum(np.abs(vectors), axis=-1),
    "largest": lambda vectors: np.max(np.abs(vectors), axis=-1),
}


def build(use: Use) -> Built:
    """One number for every `of_each` numbers, 3 if it is left out."""
    source, size = use.inputs[0], use.whole("of_each", low=1, default=3)
    if source.fields.width % size:
        raise Misdeclared(
            Wrong.WIDTH, use.at("of"), f"{source.name}, {source.fields.width} numbers", f"vectors of {size}"
        )
    measure = use.choice("measure", _MEASURES, f"how {use.stage} measures a vector", {
        "squared": "the square root is left out", "euclidean": "the square root is taken; the contract compares squares",
    }, shows=lambda apply: apply(samples(size)))  # fmt: skip

    def compute(frames: Frames) -> FloatArray:
        rows = wide(frames, source.name)
        return stored(measure.of(frames)(rows.reshape(len(rows), -1, size)))

    def bound(_frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """Only sums of numbers of one sign: relative to the result; the square root halves it and adds its own."""
        return np.asarray(gamma(size + 4) * np.abs(rows.astype(np.float64)))

    names = [each.name for each in source.fields]
    count = source.fields.width // size
    names = names if len(names) == count else [f"{use.stage}_{place}" for place in range(count)]
    layout = FieldLayout(tuple(Field(name, place, 1, FieldKind.SCALAR) for place, name in enumerate(names)))
    return Built(layout, compute, bound)


OPERATION = Operation(
    "norm", "how long vectors are", build,
    {"of_each": "numbers of one vector, 3 if left out", "measure": ", ".join(_MEASURES)}, choices=("measure",),
)  # fmt: skip
