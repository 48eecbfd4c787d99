"""Either: one of several vectors, always the same one; which, is where sides differ."""

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.problems import Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.plan import Read, Step, moved
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_same_frame


def build(use: Use) -> Built:
    """of = vectors of one width; the first is taken if nothing else is said."""
    width = use.inputs[0].fields.width
    for each in use.inputs:
        if each.fields.width != width:
            raise use.wrong(Wrong.WIDTH, "of", f"{each.fields.width} numbers of {each.name}", str(width))
    names = [each.name for each in use.inputs]
    use.code = {"taken": {name: CodeHint(f"y = {name};", name) for name in names}}
    taken = use.choice("taken", {name: name for name in names}, f"what {use.stage} is", default=names[0])

    def compute(frames: Frames) -> FloatArray:
        return frames[taken.of(frames)]

    def bound(frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        return of_same_frame(upstream, taken.of(frames), rows.shape)

    def planned(frames: Frames) -> Step:
        return moved([Read(taken.of(frames))], [width], range(width))

    return Built(use.inputs[0].fields, compute, bound, is_propagated=True, planned=planned)


OPERATION = Operation(
    "either",
    "one of several vectors, the same in every frame",
    build,
    {"taken": "the vector that is taken, the first if left out"},
    (2, 1 << 10),
)
