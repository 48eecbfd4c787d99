"""Difference: how fast a vector changes, (x(t) - x(t - 1)) · rate."""

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_any_frame

_SPANS = {"backward": (-1, 0), "forward": (0, 1), "reversed": (0, -1)}
"""The frames whose difference is taken: later minus earlier."""
_RATES = {"per_second": lambda fps: fps, "per_frame": lambda _fps: 1.0, "inverse": lambda fps: 1.0 / fps}


def build(use: Use) -> Built:
    """The first frame has no frame before it: its difference is zero."""
    source, fps = use.inputs[0], use.fps
    if fps is None:
        raise use.missing("rate", "fps at the top of the file")
    span = use.choice("span", _SPANS, "which two frames the difference is taken of", {
        "forward": "the velocity of frame t is taken towards frame t + 1: the causal one looks back",
        "backward": "the velocity of frame t is taken from frame t - 1",
        "reversed": "the earlier frame is subtracted from by the later one: the sign is turned round",
    })  # fmt: skip
    rate = use.choice("rate", _RATES, "whether the difference is of a second or of a frame", {
        "per_frame": f"multiply by {fps:g} frames a second", "per_second": "the difference of two frames, without the rate",
    }, shows=lambda factor: np.array([factor(fps)]))  # fmt: skip

    def ends(frames: Frames) -> tuple[FloatArray, FloatArray]:
        earlier, later = span.of(frames)
        one, other = (frames.at(source.name, lag, start="first").astype(np.float64) for lag in (earlier, later))
        return one, other

    def compute(frames: Frames) -> FloatArray:
        earlier, later = ends(frames)
        return stored((later - earlier) * rate.of(frames)(fps))

    def bound(frames: Frames, _rows: FloatArray, upstream: Bounds) -> FloatArray:
        """The difference of stored numbers rounds as the larger does; unrecorded numbers add their bound, twice."""
        earlier, later = ends(frames)
        moved = 2.0 * of_any_frame(upstream, source.name, earlier.shape)
        return np.asarray((gamma(3) * (np.abs(earlier) + np.abs(later)) + moved) * rate.of(frames)(fps))

    def planned(frames: Frames) -> Step:
        reads = (Read(source.name, lag, "first") for lag in span.of(frames))
        return Step("difference", tuple(reads), numbers=[rate.of(frames)(fps)])

    return Built(source.fields, compute, bound, reach=(1, 1), is_propagated=True, planned=planned)


OPERATION = Operation(
    "difference", "how fast a vector changes", build,
    {"span": "backward, forward or reversed", "rate": "per_second, per_frame or inverse"}, choices=("span", "rate"),
    code=CODE_HINTS["difference"],
)  # fmt: skip
