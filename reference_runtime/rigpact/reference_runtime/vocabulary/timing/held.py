"""Held: what a network that is asked every n-th frame was asked with; until it is asked again, the numbers stay."""

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Choice, Operation, Use
from rigpact.contract.declared.problems import Wrong
from rigpact.contract.declared.sizes import MOST_FRAMES
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_any_frame


def asked_every(use: Use) -> Choice:
    """How many frames lie between two questions. Sides take the length of the whole chunk for it, or ask in each frame."""
    every, length = use.whole("every", low=1), use.whole("length", low=1, default=1)
    if max(every, length) > MOST_FRAMES:
        raise use.wrong(Wrong.NUMBERS, "every", max(every, length), f"at most {MOST_FRAMES} frames")
    readings = {"declared": every, "whole_chunk": length, "each_frame": 1}
    return use.knob("every", readings, "after how many frames the network is asked again", {
        "each_frame": "the network is asked in each frame: a queue is missing, or emptied each time",
        "whole_chunk": f"all {length} frames of the chunk are played before the network is asked again",
    }, shows=lambda frames: np.array([float(frames)]))  # fmt: skip


def build(use: Use) -> Built:
    """every: frames between two questions, the first at frame 0. length: of the chunk that it answers with."""
    source, every = use.inputs[0], asked_every(use)
    most = max(use.whole("every", low=1), use.whole("length", low=1, default=1))

    def compute(frames: Frames) -> FloatArray:
        return frames.rows_at(source.name, frames.frame - frames.frame % every.of(frames))

    def bound(_frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        return of_any_frame(upstream, source.name, rows.shape)

    return Built(source.fields, compute, bound, reach=(most, 0), is_propagated=True)


EVERY_CODE = {
    "declared": CodeHint("if (frame % every == 0) ask();", "if not self.queue: self.queue = chunk[:n_action_steps]"),
    "whole_chunk": CodeHint("if (frame % chunk_length == 0) ask();", "if not self.queue: self.queue = chunk"),
    "each_frame": CodeHint("ask();", "action = policy.predict_action_chunk(batch)[:, 0]"),
}
OPERATION = Operation(
    "held", "a vector as it was when the network was last asked", build,
    {"every": "frames between two questions", "length": "frames of the chunk that the network answers with, 1 if left out"},
    code={"every": EVERY_CODE},
)  # fmt: skip
