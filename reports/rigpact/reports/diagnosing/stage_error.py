"""The error of a recorded stage against its replay, in physical units and in tolerances.

A stage fits when every judged value lies within its derived tolerance. Values with an unknown replay (NaN) are not
judged, nor are values that differ within a tolerance that spans their whole range. Non-finite recorded values never fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.stage import Stage
from rigpact.reference_runtime.graph.bounds import distance, stage_bound
from rigpact.reference_runtime.graph.replayed import ReplayedFrames
from rigpact.reference_runtime.graph.sampled_bound import JudgingBound, judging_bound

FAR = 1000.0
NEARLY = 0.9
"""From this share of what is explained on, the rest counts as exceptions."""
ENOUGH = 0.5
"""Of the values that a stage had to say something, a change must leave this share: what cannot be judged explains nothing."""
STRICT = 1.0 / 16.0
"""A tolerance up to this part of an error is narrow enough to explain it."""


class WorstChannel(NamedTuple):
    """Error, tolerance and their ratio at one place; None where no finite value could be judged."""

    error: float | None
    tolerance: float | None
    ratio: float | None


class BriefFit(NamedTuple):
    """A `StageError` in five numbers: a search keeps it for each of thousands of hypotheses."""

    worst_finite_excess: float
    judged: int
    undetermined: int
    frames_judged: int
    frames_within: int


@dataclass(frozen=True, eq=False)
class StageError:
    """Recorded and replayed values of one stage. excess (T, width) is the error in tolerances.

    blind: the share of the values whose tolerance is as wide as their range. judging: the two bounds that the tolerance is of,
    where one of them was sampled. excess is NaN for a value that is not judged,
    and infinite for a non-finite recorded value.
    """

    stage: str
    recorded: FloatArray
    replayed: FloatArray
    tolerance: FloatArray
    excess: FloatArray
    blind: float = 0.0
    judging: JudgingBound | None = None

    @property
    def judged(self) -> int:
        """Number of values that could be judged."""
        return int(np.count_nonzero(~np.isnan(self.excess)))

    @property
    def undetermined(self) -> int:
        """Number of values with a known replay that differ, but have a tolerance that spans their whole range."""
        unjudged = np.isnan(self.excess) & np.isinf(self.tolerance)
        return int(np.count_nonzero(unjudged & ~np.isnan(self.replayed)))

    @property
    def worst_excess(self) -> float:
        """The largest error in tolerances over frames and channels; a median would hide a swap of two bones."""
        return float(np.nanmax(self.excess, initial=0.0))

    @property
    def worst_finite_excess(self) -> float:
        """The largest error in tolerances, without non-finite recorded values."""
        return float(np.nanmax(np.where(np.isinf(self.excess), np.nan, self.excess), initial=0.0))

    @property
    def ok(self) -> bool:
        """Whether every judged value is within its tolerance."""
        return self.worst_excess <= 1.0

    @property
    def frames_judged(self) -> int:
        """Number of frames with at least one judged value."""
        return int(np.count_nonzero(~np.isnan(self.excess).all(axis=1)))

    @property
    def frames_within(self) -> int:
        """Number of frames with at least one judged value and all judged values within their tolerance."""
        with np.errstate(invalid="ignore"):
            within = ~(self.excess > 1.0).any(axis=1)
        return int(np.count_nonzero(within & ~np.isnan(self.excess).all(axis=1)))

    @property
    def fit(self) -> BriefFit:
        """How well the stage fits."""
        return BriefFit(
            self.worst_finite_excess, self.judged, self.undetermined, self.frames_judged, self.frames_within
        )

    @property
    def rows_over(self) -> NDArray[np.intp]:
        """The rows with a value beyond its tolerance."""
        with np.errstate(invalid="ignore"):
            return np.flatnonzero((self.excess > 1.0).any(axis=1))

    @property
    def first_over(self) -> tuple[int, int] | None:
        """The first row beyond the tolerance, and its worst channel."""
        rows = self.rows_over
        if not len(rows):
            return None
        row = int(rows[0])
        return row, int(np.nanargmax(self.excess[row]))

    @property
    def worst_channel(self) -> WorstChannel:
        """Error, tolerance and their ratio at one place: the finite value that is worst in tolerances."""
        excess = np.where(np.isfinite(self.excess), self.excess, -1.0)
        place = np.unravel_index(int(np.argmax(excess)), excess.shape)
        if excess[place] < 0.0:
            return WorstChannel(None, None, None)
        tolerance, ratio = float(self.tolerance[place]), float(excess[place])
        return WorstChannel(ratio * tolerance, tolerance, ratio)

    def at(self, row: int, channels: slice) -> StageError:
        """The error of some channels in one recorded frame: all others are not judged."""
        part, excess = slice(row, row + 1), np.full_like(self.excess[:1], np.nan)
        excess[:, channels] = self.excess[part, channels]
        return StageError(self.stage, self.recorded[part], self.replayed[part], self.tolerance[part], excess)


def stage_error(frames: ReplayedFrames, name: str, *, few: bool = False) -> StageError | None:
    """Judge one recorded stage against its replay; None when it cannot be replayed. few: see `judging_bound`.

    A long recording is judged in blocks of frames.
    """
    parts = list[tuple[StageError, slice]]()
    for block, rows in frames.blocks():
        found = _error_in(block, name, few=few)
        if found is None or block is frames:
            return found
        parts.append((found, rows))
    return _joined(frames, name, parts)


def _joined(frames: ReplayedFrames, name: str, parts: Sequence[tuple[StageError, slice]]) -> StageError:
    """The errors of consecutive blocks as one; each with the rows of it that are the block."""
    replayed, tolerance, excess = (
        np.concatenate([getattr(part, each)[rows] for part, rows in parts])
        for each in ("replayed", "tolerance", "excess")
    )
    judging = None
    if any(part.judging is not None for part, _ in parts):
        every = [(part.judging or JudgingBound(part.tolerance), rows) for part, rows in parts]
        worst = np.concatenate([each.worst_case[rows] for each, rows in every])
        sampled = [np.full_like(each.worst_case, np.inf) if each.sampled is None else each.sampled for each, _ in every]
        judging = JudgingBound(
            worst, np.concatenate([each[rows] for each, (_, rows) in zip(sampled, every, strict=True)])
        )
    blind = _blind(frames.contract.system.graph[name], tolerance)
    return StageError(name, frames.recorded[name], replayed, tolerance, excess, blind, judging)


def _error_in(frames: ReplayedFrames, name: str, *, few: bool) -> StageError | None:
    recorded, replayed = frames.recorded[name], frames.computed(name)
    if replayed is None or replayed.shape != recorded.shape:
        return None
    stage, evidence = frames.contract.system.graph[name], frames.evidence
    far = _far_beyond(stage, frames, recorded, replayed) if stage.is_answer else None
    found = judging_bound(frames, name, replayed, few=few) if far is None else JudgingBound(far)
    if evidence.precision is not None:
        found = found.widened(evidence.precision.error(recorded))
    off = evidence.off.get(name, np.zeros(recorded.shape))
    found = found.widened(np.where(np.isinf(off), 0.0, off))
    error = error_between(stage, recorded, replayed, found.bound)
    # a number that nothing tells is not judged, whatever stands there
    error = replace(error, excess=np.where(np.isinf(off), np.nan, error.excess))
    return error if found.sampled is None else replace(error, judging=found)


def _far_beyond(stage: Stage, frames: ReplayedFrames, recorded: FloatArray, replayed: FloatArray) -> FloatArray | None:
    """The bound of an answer that needs no model, where most frames are far beyond it; else None.

    It is about 1e-4 of the largest answer, so FAR is a tenth of it: a network whose rounding is as large computes nothing. A
    search tries hundreds of wrong inputs, and deriving a bound for each would be most of its time.
    """
    assumed = stage_bound(replace(stage, is_answer=False), frames, replayed, {})
    with np.errstate(invalid="ignore", over="ignore"):
        far = np.any(np.abs(recorded.astype(np.float64) - replayed) > FAR * assumed, axis=1)
    return assumed if 2 * np.count_nonzero(far) > len(recorded) else None


def error_between(stage: Stage, recorded: FloatArray, replayed: FloatArray, tolerance: FloatArray) -> StageError:
    """Measure recorded against replayed values, all (T, width)."""
    difference = distance(stage.measure, recorded, replayed)
    with np.errstate(invalid="ignore", divide="ignore"):
        excess = np.where(difference == 0.0, 0.0, np.minimum(difference / tolerance, np.finfo(np.float64).max))
    says_nothing = np.isnan(tolerance) if stage.measure.range is None else ~(tolerance < stage.measure.range)
    is_finite = np.isfinite(recorded)
    excess[np.isnan(replayed) | says_nothing & is_finite | np.isinf(tolerance) & (difference > 0.0)] = np.nan
    excess[~is_finite] = np.inf
    return StageError(stage.name, recorded, replayed, tolerance, excess, _blind(stage, tolerance))


def _blind(stage: Stage, tolerance: FloatArray) -> float:
    return 0.0 if stage.measure.range is None else float(np.mean(tolerance >= stage.measure.range))


def is_earned(stage: Stage, before: StageError, after: StageError) -> bool:
    """Whether a change makes the error itself fall, and not only the tolerance wider.

    Of the values that differed without the change, almost all that fit with it must be as near as the rounding of the unchanged
    contract allows. Where the change makes rounding larger (a squash left out), its tolerance must be a STRICT part of the
    error that it has to explain: a number that has nothing to do with the recorded one is within it once in eight times. A
    value whose error was within the wider tolerance all along says nothing (a bone that hardly turns); ENOUGH must say something.
    """
    if before.excess.shape != after.excess.shape:
        return True
    with np.errstate(invalid="ignore"):
        fixed = (before.excess > 1.0) & np.isfinite(before.excess) & (after.excess <= 1.0)
        error = distance(stage.measure, before.recorded, before.replayed)
        near = distance(stage.measure, after.recorded, after.replayed) <= before.tolerance
        told = np.count_nonzero(fixed & (near | (after.tolerance < error)))
        earned = np.count_nonzero(fixed & (near | (after.tolerance <= STRICT * error)))
    return bool(earned >= NEARLY * told and told >= ENOUGH * np.count_nonzero(fixed))


def largest_in_unit(error: StageError, contract: Contract) -> float:
    """The largest finite error of the judged values, in the unit of the stage's measure."""
    measure = contract.system.graph[error.stage].measure
    a = error.recorded.astype(np.float64)
    b = np.where(np.isnan(error.excess), a, error.replayed.astype(np.float64))
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        values = distance(measure, a, b) if measure.sizes is None else measure.sizes(contract, a, b)
    return float(values[np.isfinite(values)].max(initial=0.0))
