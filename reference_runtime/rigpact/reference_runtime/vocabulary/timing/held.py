"""Held: a vector of a slower loop that ticks every n-th frame, or of a network that is asked so; in between the numbers stay."""

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.cross_checks import MOST_FRAMES
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.problems import Wrong
from rigpact.contract.declared.values import Choice
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_any_frame


def asked_every(use: Use) -> Choice:
    """How many frames lie between two questions. Sides take the length of the whole chunk for it, or ask in each frame."""
    every, length = use.whole("every", low=1), use.whole("length", low=1, default=1)
    if max(every, length) > MOST_FRAMES:
        raise use.wrong(Wrong.NUMBERS, "every", max(every, length), f"at most {MOST_FRAMES} frames")
    readings = {"declared": every, **({"whole_chunk": length} if length > 1 else {}), "each_frame": 1}
    return use.knob("every", readings, "after how many frames the slower loop ticks, or the network is asked, again", {
        "each_frame": "the loop ticks, or the network is asked, in each frame: a queue is missing, or emptied each time",
        "whole_chunk": f"all {length} frames of the chunk are played before the network is asked again",
    }, shows=lambda frames: np.array([float(frames)]))  # fmt: skip


def build(use: Use) -> Built:
    """every: frames between two ticks. first: the frame of the first one. length: of the chunk that a network answers with."""
    source, every = use.inputs[0], asked_every(use)
    most = max(use.whole("every", low=1), use.whole("length", low=1, default=1))
    declared, last = use.whole("first", low=0, default=0), use.whole("every", low=1) - 1
    if declared > last:
        raise use.wrong(Wrong.NUMBERS, "first", declared, f"a frame below {last + 1}, the frames between two ticks")
    readings = {"declared": declared, "frame_0": 0, "last_of_every": last}
    first = use.knob("first", readings, "the frame of the first tick", {
        "frame_0": "the counter is raised behind the test: frame 0 ticks",
        "last_of_every": "the counter is raised before the test",
    }, shows=lambda frame: np.array([float(frame)]))  # fmt: skip

    def compute(frames: Frames) -> FloatArray:
        since = (frames.frame - first.of(frames)) % every.of(frames)
        return frames.rows_at(source.name, np.maximum(frames.frame - since, 0))

    def bound(_frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        return of_any_frame(upstream, source.name, rows.shape)

    def planned(frames: Frames) -> Step:
        reads = (Read(source.name, -since, "first") for since in range(every.of(frames)))
        return Step("held", tuple(reads), (every.of(frames), first.of(frames)))

    return Built(source.fields, compute, bound, reach=(most, 0), is_propagated=True, planned=planned)


EVERY_CODE = {
    "declared": CodeHint("if (frame % every == 0) ask();", "if not self.queue: self.queue = chunk[:n_action_steps]"),
    "whole_chunk": CodeHint("if (frame % chunk_length == 0) ask();", "if not self.queue: self.queue = chunk"),
    "each_frame": CodeHint("ask();", "action = policy.predict_action_chunk(batch)[:, 0]"),
}
_FIRST_CODE = {
    "declared": CodeHint("if ((frame - first) % every == 0) tick();", "if (step - first) % decimation == 0: tick()"),
    "frame_0": CodeHint("if (frame++ % every == 0) tick();", "if step % decimation == 0: tick()"),
    "last_of_every": CodeHint("if (++frame % every == 0) tick();", "if (step + 1) % decimation == 0: tick()"),
}
OPERATION = Operation(
    "held", "a vector as it was when a slower loop last ticked, or a network was last asked", build,
    {
        "every": "frames between two ticks", "length": "frames of the chunk that the network answers with, 1 if left out",
        "first": "the frame of the first tick, 0 if left out; before it the numbers are those of frame 0",
    },
    code={"every": EVERY_CODE, "first": _FIRST_CODE},
)  # fmt: skip
