"""Standardise: each channel by the mean and the standard deviation of its own window."""

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_same_frame, wide

_DIVISORS = {"count": 0, "count_less_one": 1}


def build(use: Use) -> Built:
    """(x - mean) / deviation over all frames; a channel that stands still stays at 0."""
    source = use.inputs[0]
    freedom = use.choice("divisor", _DIVISORS, "what the sum of squares of a window is divided by")

    def compute(frames: Frames) -> FloatArray:
        rows = wide(frames, source.name)
        apart = rows - rows.mean(axis=0)
        spread = np.sqrt((apart**2).sum(axis=0) / max(len(rows) - freedom.of(frames), 1))
        return stored(np.divide(apart, spread, out=np.zeros_like(apart), where=spread > 0.0))

    def bound(frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        """A mean of N numbers is off by at most gamma(N) times the largest, and so is their root mean square (Higham, ch. 3).

        Each number is off by both and by its own error, divided by the deviation. Of a channel that stands still nothing can be
        said.
        """
        values = wide(frames, source.name)
        entering = np.nan_to_num(of_same_frame(upstream, source.name, values.shape)).max(axis=0)
        lost = gamma(len(values) + 4.0) * np.abs(values).max(axis=0) + entering
        deviation = values.std(axis=0)
        relative = np.divide(lost, deviation, out=np.full(deviation.shape, np.nan), where=deviation > lost)
        return np.asarray((1.0 + np.abs(rows)) * relative)

    return Built(source.fields, compute, bound, is_propagated=True)


OPERATION = Operation(
    "standardise",
    "each channel by the mean and the deviation of its own window",
    build,
    {"divisor": "of the sum of squares: count, or count_less_one"},
    choices=("divisor",),
    code={
        "divisor": {
            "count": CodeHint("sqrtf(sum / n)", "x.std(0, unbiased=False)"),
            "count_less_one": CodeHint("sqrtf(sum / (n - 1))", "x.std(0)"),
        }
    },
)
