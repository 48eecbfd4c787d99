"""Normalise and denormalise: (x - mean) / std, and z · std + mean."""

from collections.abc import Callable
from functools import partial

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.definitions.scaling import MEANS, STDS, unscored, zscored
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.rounding_bounds import samples, wide


def build(use: Use, *, apply: Callable[..., FloatArray], sign: float) -> Built:
    """Statistics for each channel. epsilon is added to std, floor is its least value; both default to 0.

    sign: whether `apply` takes the mean off (-1) or adds it.
    """
    source = use.inputs[0]
    width = source.fields.width
    is_left_out = use.table.get("applied") == "skipped"  # then no reading of its numbers can be seen
    mean = use.number("mean", width, meaning="the mean that is taken off", misread=None if is_left_out else MEANS)
    std = use.number("std", width, meaning="the standard deviation that divides", misread=None if is_left_out else STDS)
    added = {"none": lambda value: 0.0 * value} if "epsilon" in use.table and not is_left_out else None
    epsilon = use.number("epsilon", 1, default=0.0, meaning="the summand of std", misread=added)
    floor = use.number("floor", 1, default=0.0)
    declared = (
        use.value_of(mean).reshape(-1),
        np.maximum(use.value_of(std).reshape(-1) + use.value_of(epsilon), use.value_of(floor)),
    )

    def repeated(rows: FloatArray, count: int, *statistics: FloatArray) -> FloatArray:
        for _ in range(count):
            rows = apply(rows, *statistics)
        return rows

    times = use.choice("applied", {"once": 1, "twice": 2, "skipped": 0}, f"how often {use.stage} is applied", {
        "once": "the network does it inside: hand it the numbers as they are",
        "twice": "the statistics are applied outside the network and inside it: leave one out",
        "skipped": "the numbers reach the next step as they are: apply mean and std",
    }, default="once", shows=lambda count: repeated(samples(width), count, *declared))  # fmt: skip

    def statistics(frames: Frames) -> tuple[FloatArray, FloatArray]:
        spread = np.maximum(std.of(frames).reshape(-1) + epsilon.of(frames), floor.of(frames))
        return mean.of(frames).reshape(-1), spread

    def compute(frames: Frames) -> FloatArray:
        return stored(repeated(wide(frames, source.name), times.of(frames), *statistics(frames)))

    def bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """Four roundings each time; what one time has moved goes through the next, as the sizes of the terms do."""
        count, (centre, spread) = times.of(frames), statistics(frames)
        sizes = sign * np.abs(centre), np.abs(spread)  # no term cancels another
        moved = np.abs(wide(frames, source.name))
        for _ in range(count):
            moved = apply(moved, *sizes)
        return np.broadcast_to(gamma(4 * count) * moved, rows.shape)

    def planned(frames: Frames) -> Step:
        rows = [np.broadcast_to(row, (width,)) for row in statistics(frames)]
        name = "normalise" if sign < 0.0 else "denormalise"
        return Step(name, (Read(source.name),), (times.of(frames),), np.concatenate(rows))

    return Built(source.fields, compute, bound, planned=planned)


_PARAMETERS = {
    "mean": "the mean of each number, or one for all",
    "std": "the standard deviation of each number, or one for all",
    "epsilon": "the summand of std, 0 if left out",
    "floor": "the least std, 0 if left out",
    "applied": "once, if left out; skipped where the network does it inside",
}
NORMALISE = Operation(
    "normalise",
    "(x - mean) / (std + epsilon)",
    partial(build, apply=zscored, sign=-1.0),
    _PARAMETERS,
    code=CODE_HINTS["normalise"],
)
DENORMALISE = Operation(
    "denormalise", "z · std + mean", partial(build, apply=unscored, sign=1.0), _PARAMETERS, code=CODE_HINTS["denormalise"]
)  # fmt: skip
