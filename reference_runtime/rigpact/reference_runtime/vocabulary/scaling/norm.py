"""Norm: how long vectors are, or the square of it."""

from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.problems import Misdeclared, Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.plan import Read, Step
from rigpact.reference_runtime.operations.definitions.scaling import LENGTHS
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_result, samples, wide


def build(use: Use) -> Built:
    """One number for every `of_each` numbers, 3 if it is left out."""
    source, size = use.inputs[0], use.whole("of_each", low=1, default=3)
    if source.fields.width % size:
        raise Misdeclared(
            Wrong.WIDTH, use.at("of"), f"{source.name}, {source.fields.width} numbers", f"vectors of {size}"
        )
    measure = use.choice("measure", LENGTHS, f"how {use.stage} measures a vector", {
        "squared": "the square root is left out", "euclidean": "the square root is taken; the contract compares squares",
    }, shows=lambda apply: apply(samples(size)))  # fmt: skip

    def compute(frames: Frames) -> FloatArray:
        rows = wide(frames, source.name)
        return stored(measure.of(frames)(rows.reshape(len(rows), -1, size)))

    bound = of_result(size + 4)  # only sums of numbers of one sign; the square root halves it and adds its own
    names = [each.name for each in source.fields]
    count = source.fields.width // size
    names = names if len(names) == count else [f"{use.stage}_{place}" for place in range(count)]
    layout = FieldLayout(tuple(Field(name, place, 1, FieldKind.SCALAR) for place, name in enumerate(names)))

    def planned(frames: Frames) -> Step:
        return Step("norm", (Read(source.name),), (measure.word_of(frames), size))

    return Built(layout, compute, bound, planned=planned)


OPERATION = Operation(
    "norm", "how long vectors are", build,
    {"of_each": "numbers of one vector, 3 if left out", "measure": ", ".join(LENGTHS)}, choices=("measure",),
    code=CODE_HINTS["norm"], readings=LENGTHS,
)  # fmt: skip
