"""Distance: how far points are from where they should be."""

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.problems import Misdeclared, Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.definitions.scaling import LENGTHS
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.meshes.points import count_of_points, points_of

_OPERATIONS = 8
"""A difference, three squares, their sum, its root and a store."""


def build(use: Use) -> Built:
    """Of each point of the first vector the distance from the same point of the second."""
    one, other = use.inputs
    count = count_of_points(use, one)
    if other.fields.width != one.fields.width:
        raise Misdeclared(
            Wrong.WIDTH,
            use.at("of"),
            f"{other.name}, {other.fields.width} numbers",
            f"{one.fields.width}, as {one.name} has",
        )
    measure = use.choice("measure", LENGTHS, "how the distance of two points is measured", _HINTS)

    def compute(frames: Frames) -> FloatArray:
        return stored(measure.of(frames)(points_of(frames, other.name) - points_of(frames, one.name)))

    def bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """The difference of two stored coordinates has the rounding error of the larger one; a square 2 d times that."""
        largest = sum(np.abs(points_of(frames, each.name)).max(axis=2) for each in (one, other))
        found = np.asarray(gamma(_OPERATIONS) * largest)
        if measure.of(frames) is LENGTHS["squared"]:
            return np.asarray((2.0 * np.sqrt(rows.astype(np.float64)) + found) * found + gamma(1) * rows)
        return found

    names = [each.name for each in one.fields]
    names = names if len(names) == count else [f"{use.stage}_{place}" for place in range(count)]
    fields = (Field(name, place, 1, FieldKind.SCALAR) for place, name in enumerate(names))
    return Built(FieldLayout(tuple(fields)), compute, bound)


_HINTS = {
    "squared": "the error is the mean of distances, not of their squares",
    "absolute_sum": "the error is the Euclidean distance of a vertex",
    "largest": "the error is the Euclidean distance, not the largest component",
}
OPERATION = Operation(
    "distance", "how far points are from others, one number a point", build, {"measure": ", ".join(LENGTHS)}, (2, 2),
    ("measure",), code={"measure": CODE_HINTS["norm"]["measure"]},
)  # fmt: skip
