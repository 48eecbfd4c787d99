"""Choose: one of two vectors in each frame, by a flag."""

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.problems import Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_same_frame

_TAKES = {
    "second_where_set": lambda flag: flag > 0.5, "first_where_set": lambda flag: flag <= 0.5,
    "first_always": lambda flag: np.zeros(flag.shape, bool), "second_always": lambda flag: np.ones(flag.shape, bool),
}  # fmt: skip


def build(use: Use) -> Built:
    """of = [first, second, flag]: two vectors of one width, and a flag for all, or one for each of their numbers."""
    first, second, flag = use.inputs
    width = first.fields.width
    for each, allowed in ((second, (width,)), (flag, (1, width))):
        if each.fields.width not in allowed:
            found = f"{each.fields.width} numbers of {each.name}"
            raise use.wrong(Wrong.WIDTH, "of", found, " or ".join(map(str, allowed)))
    takes = use.knob("takes", _TAKES, f"which vector {flag.name} chooses", {
        "first_where_set": "the flag is read the other way round",
        "first_always": "the flag is not looked at", "second_always": "the flag is not looked at",
    })  # fmt: skip

    def compute(frames: Frames) -> FloatArray:
        is_second = takes.of(frames)(np.asarray(frames[flag.name]))
        return np.where(is_second, frames[second.name], frames[first.name]).astype(np.float32)

    def bound(_frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        moved = [of_same_frame(upstream, each.name, rows.shape) for each in (first, second)]
        return np.maximum(*moved)

    return Built(first.fields, compute, bound, is_propagated=True)


_CODE = {
    "takes": {
        "second_where_set": CodeHint("y = flag ? b : a;", "torch.where(flag > 0.5, b, a)"),
        "first_where_set": CodeHint("y = flag ? a : b;", "torch.where(flag > 0.5, a, b)"),
        "first_always": CodeHint("y = a;", "a"),
        "second_always": CodeHint("y = b;", "b"),
    }
}
OPERATION = Operation(
    "switch", "one of two vectors, by a flag", build, {}, (3, 3), code=_CODE,
)  # fmt: skip
