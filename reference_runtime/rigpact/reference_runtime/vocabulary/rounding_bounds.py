"""Bounds that operations share: Higham, Accuracy and Stability of Numerical Algorithms, ch. 3 (gamma_n)."""

from collections.abc import Callable, Sequence

import numpy as np

from rigpact.contract.declared.operation import Built
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Frames
from rigpact.contract.systems.layout import FieldLayout
from rigpact.contract.systems.plan import Read, moved
from rigpact.contract.systems.stage import Bound, Bounds
from rigpact.reference_runtime.operations.scalars import gamma

Terms = Callable[[Frames], FloatArray]
"""Frames -> for each channel the sum of the sizes of the terms that are added up, (N, width)."""
Moved = Callable[[Frames, Bounds], FloatArray]
"""Frames and the bounds of what is read -> what these lead to, (N, width)."""


def sum_of(operations: int, terms: Terms, leads_to: Moved | None = None) -> Bound:
    """A sum of terms: gamma(operations) times the sum of their sizes, whatever the result cancels to.

    leads_to: a stage that derives it is propagated.
    """

    def bound(frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        through = 0.0 if leads_to is None else np.nan_to_num(leads_to(frames, upstream))
        return np.broadcast_to(gamma(operations) * terms(frames) + through, rows.shape)

    return bound


def of_result(operations: int) -> Bound:
    """A chain without sums of both signs: relative to the result."""

    def bound(_frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        return np.asarray(gamma(operations) * np.abs(rows, dtype=np.float64))

    return bound


def wide(frames: Frames, name: str) -> FloatArray:
    """A stage in float64, (N, width): stages are stored as float32, and operations compute in float64."""
    return np.asarray(frames[name], np.float64)


def samples(width: int, count: int = 5) -> FloatArray:
    """Numbers on which readings are told apart, (count, width): of both signs, below 1 and above, no two alike."""
    steps = np.arange(1.0, count * width + 1.0) * 0.6180339887498949  # the golden ratio's: never a multiple of another
    return np.asarray((steps % 1.0 - 0.5).reshape(count, width) * np.geomspace(0.5, 8.0, count)[:, None])


def exact(_frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
    """Numbers that the contract holds: both sides have the same bits."""
    return np.zeros(rows.shape)


def of_same_frame(upstream: Bounds, name: str, shape: tuple[int, ...]) -> FloatArray:
    """The bound of a stage at the frames that are evaluated: 0 where it was recorded."""
    return np.broadcast_to(np.asarray(upstream.get(name, 0.0), np.float64), shape)


def of_any_frame(upstream: Bounds, name: str, shape: tuple[int, ...]) -> FloatArray:
    """The bound of a stage that was not recorded, for whichever frame is looked at: the largest of the run, by channel."""
    if name not in upstream or not len(upstream[name]):
        return np.zeros(shape)
    with np.errstate(invalid="ignore"):
        return np.broadcast_to(np.nan_to_num(upstream[name]).max(axis=0), shape)


Taken = Callable[[Frames], tuple[Sequence[Read], Sequence[int], Sequence[int]]]
"""Frames -> the vectors that are read, their widths, and of each number of the result its place among them end to end."""


def only_moved(fields: FieldLayout, taken: Taken, reach: tuple[int, int] = (0, 0)) -> Built:
    """Numbers are only moved, each with its own bound; of frames within `reach`, with the largest of the run."""
    bound_of = of_any_frame if any(reach) else of_same_frame

    def compute(frames: Frames) -> FloatArray:
        reads, _, places = taken(frames)
        rows = [frames.at(each.stage, each.lag, each.start) if any(reach) else frames[each.stage] for each in reads]
        return np.hstack(rows)[:, places]

    def bound(frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        reads, widths, places = taken(frames)
        pairs = zip(reads, widths, strict=True)
        return np.hstack([bound_of(upstream, each.stage, (len(rows), width)) for each, width in pairs])[:, places]

    return Built(fields, compute, bound, reach=reach, is_propagated=True, planned=lambda frames: moved(*taken(frames)))
