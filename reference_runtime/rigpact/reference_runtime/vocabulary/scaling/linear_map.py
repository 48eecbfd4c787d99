"""Linear map: a constant matrix times each vector of a stage: axes of another convention, a mirror, a mixing table."""

from collections.abc import Mapping

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Operation, Reading, Use
from rigpact.contract.declared.problems import Misdeclared, Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_same_frame, sum_of, wide

_READINGS: Mapping[str, Reading] = {
    "transposed": np.transpose,
    "none": lambda matrix: np.eye(*np.atleast_2d(matrix).shape),
}


def build(use: Use) -> Built:
    """matrix: n rows of n numbers; every n numbers of the stage are a column vector."""
    source = use.inputs[0]
    matrix = use.number("matrix", meaning=f"the matrix of {use.stage}", misread=_READINGS)
    rows, *columns = use.value_of(matrix).shape or (0,)
    if columns != [rows] or source.fields.width % rows:
        found = f"{use.value_of(matrix).shape} for {source.fields.width} numbers"
        raise Misdeclared(Wrong.WIDTH, use.at("matrix"), found, "n rows of n numbers, n a part of the stage's width")

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


OPERATION = Operation(
    "linear_map",
    "a constant matrix times each vector",
    build,
    {"matrix": "n rows of n numbers, or a name of [numbers]"},
    code={
        "matrix": {
            "declared": CodeHint("y[i] += m[i][j] * x[j];", "x @ m.T"),
            "transposed": CodeHint("y[i] += m[j][i] * x[j];", "x @ m"),
            "none": CodeHint("y[i] = x[i];", "x"),
        }
    },
)
