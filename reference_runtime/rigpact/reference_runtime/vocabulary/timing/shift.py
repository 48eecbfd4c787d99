"""Shift: a vector of another frame, where two sides often disagree by one."""

import numpy as np

from rigpact.contract.declared.cross_checks import MOST_FRAMES
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.problems import Wrong, shown
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.plan import Read, Step, moved
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_any_frame


def build(use: Use) -> Built:
    """frames: how much later; -1 is the frame before. start: what stands before the first; behind the last nothing is known."""
    source, lag = use.inputs[0], use.table.get("frames")
    if not isinstance(lag, int) or isinstance(lag, bool) or abs(lag) > MOST_FRAMES:
        raise use.wrong(Wrong.NUMBERS, "frames", shown(lag), f"a whole number of frames, at most {MOST_FRAMES}")
    near = dict.fromkeys((lag, 0, lag - 1, lag + 1, -lag))
    knob = use.knob("frames", {f"{each:+d}": each for each in near}, f"the frame that {use.stage} is taken from", {
        f"{each:+d}": f"the frame is {each:+d} from the current one; the contract takes {lag:+d}" for each in near if each != lag
    })  # fmt: skip
    start = use.choice("start", {"first": "first", "zeros": "zeros"}, f"{use.stage} before the first frame", {
        "zeros": "it starts with zeros: start it with the first value",
        "first": "it starts with the first value: start it with zeros",
    }, default="first", shows=lambda word: np.array([float(lag < 0 and word == "zeros")]))  # fmt: skip

    def compute(frames: Frames) -> FloatArray:
        return frames.at(source.name, knob.of(frames), start=start.of(frames))

    def bound(_frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        return of_any_frame(upstream, source.name, rows.shape)

    def planned(frames: Frames) -> Step:
        width = source.fields.width
        return moved([Read(source.name, knob.of(frames), start.of(frames))], [width], range(width))

    reach = max(0, -min(near)), max(0, *near)
    return Built(source.fields, compute, bound, reach=reach, is_propagated=True, planned=planned)


OPERATION = Operation(
    "shift",
    "a vector of another frame",
    build,
    {
        "frames": "how many frames later; -1 is the frame before",
        "start": "the value before the first frame: first (its own value, the default) or zeros",
    },
    choices=("start",),
    code=CODE_HINTS["shift"],
)
