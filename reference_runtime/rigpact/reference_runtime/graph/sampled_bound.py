"""A sampled bound of a stage behind an unrecorded answer of a network, beside the worst case.

The worst case lets every input of a network be wrong by its own bound at once. Where an input is divided by a deviation of 1e-6,
that is hundreds of deviations, and behind the network it is as wide as a pose: nothing can be judged. What rounding does is far
less. Here it is drawn: `DRAWS` times every folded stage before the answer is computed with float32 arithmetic from drawn
inputs, stored with a drawn rounding, and given to the network itself. What the drawn answers lead to in the stage is measured.
Everything that does not enter through the network's inputs stays derived: the rounding inside the model, and that of the stages
behind it.

Every drawn rounding is `MARGIN` times as large as it was drawn, so that a kink, a clamp or a decision within this reach is seen.
To first order that multiplies the largest change by it. What a correct side differs by is one more draw, not enlarged. A sum of
many roundings is normal: it is beyond four times the largest of 64 draws with a probability of 2.1e-12, whatever its width.
Of one rounding alone, all 64 draws are below a quarter of its range with a probability of 0.25^64.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.stage import NotKnown, Stage
from rigpact.reference_runtime.graph.bounds import STORED, largest_change, rounding_bound, stage_bound, written_bound
from rigpact.reference_runtime.graph.replayed import ReplayedFrames, path_of, path_over_frames
from rigpact.reference_runtime.operations.scalars import gamma

DRAWS = 64
MARGIN = 4.0
FEW, FEW_MARGIN = 6, 8.0
"""What a right side differs by, not enlarged, is beyond eight times the largest of six draws with a probability of 3.6e-9 a
value, for sums of many roundings. So a search drops what is beyond that without the other draws."""
WIDER = 10.0
"""The sampled bound judges a value where the worst case is more than so many times as large."""


@dataclass(frozen=True, eq=False)
class JudgingBound:
    """The bounds of a stage, (T, width): the worst case and, where it was needed, the sampled one."""

    worst_case: FloatArray
    sampled: FloatArray | None = None

    @property
    def is_sampled(self) -> NDArray[np.bool_]:
        """Which values the sampled bound judges."""
        if self.sampled is None:
            return np.zeros(self.worst_case.shape, bool)
        return self.worst_case > WIDER * self.sampled

    @property
    def bound(self) -> FloatArray:
        """The bound that judges."""
        return self.worst_case if self.sampled is None else np.where(self.is_sampled, self.sampled, self.worst_case)

    def widened(self, by: FloatArray | float) -> JudgingBound:
        """Both, with what was lost in writing."""
        return JudgingBound(self.worst_case + by, None if self.sampled is None else self.sampled + by)


def judging_bound(
    frames: ReplayedFrames,
    stage: str,
    rows: FloatArray,
    written: Iterable[ReplayedFrames] | None = None,
    *,
    few: bool = False,
) -> JudgingBound:
    """The bounds of a replayed stage; see `replay_bound` for `written`. Drawn only where a network makes rounding large.

    few: from FEW draws, and wider: a value beyond it is beyond the whole bound too.
    """
    worst = rounding_bound(frames, stage, rows)
    sampled = None
    if _is_made_large(frames, stage, worst):
        through = _through(frames, stage, rows, FEW if few else DRAWS)
        sampled = rounding_bound(frames, stage, rows, is_through=False) + (FEW_MARGIN if few else 1.0) * through
    return JudgingBound(worst, sampled).widened(written_bound(frames, stage, rows, written))


def _through(frames: ReplayedFrames, stage: str, rows: FloatArray, count: int) -> FloatArray:
    """The largest change of the rows that a drawn answer leads to, (T, width)."""
    answers = {each.name: _drawn(frames, each, count) for each in _answers(frames, stage)}
    if stage in answers:
        return np.asarray(np.nanmax(np.abs(answers[stage] - rows.astype(np.float64)), axis=0))
    drawn = ({name: draws[place] for name, draws in answers.items()} for place in range(count))
    return largest_change(frames, stage, rows, (frames.with_recorded({**frames.recorded, **each}) for each in drawn))


def _answers(frames: ReplayedFrames, stage: str) -> list[Stage]:
    """The unrecorded answers on the way to a stage, and the stage itself if it is one."""
    graph, path = frames.contract.system.graph, path_of(frames.contract.system.graph, stage, frames.recorded)
    return [each for each in graph if each.is_answer and each.name in path]


def _is_made_large(frames: ReplayedFrames, stage: str, worst: FloatArray) -> bool:
    """Whether the rounding of its inputs may move an answer on the way by far more than the network's own would."""
    graph, recorded = frames.contract.system.graph, frames.recorded
    answers = _answers(frames, stage)
    if (
        frames.mode == "free"
        and answers
        and path_over_frames(graph, stage, recorded) != path_of(graph, stage, recorded)
    ):
        return False  # what the frame before handed on would have to be drawn as well
    return any(_is_far_wider(frames, each, worst if each.name == stage else None) for each in answers)


def _is_far_wider(frames: ReplayedFrames, answer: Stage, bound: FloatArray | None) -> bool:
    """Whether the bound of an answer is far wider than that of a network whose inputs are known."""
    rows = frames.computed(answer.name)
    if rows is None:
        return False
    if bound is None:
        bound = frames.kept(answer.name, partial(rounding_bound, frames, answer.name, rows), "bound")
    assumed = stage_bound(replace(answer, is_answer=False), frames, rows, {})
    if not np.any(bound > WIDER * assumed):
        return False  # nor than the larger of the two: the model need not be evaluated again
    of_exact = frames.kept(
        answer.name, partial(rounding_bound, frames, answer.name, rows, is_through=False), "own bound"
    )
    return bool(np.any(bound > WIDER * np.maximum(of_exact, assumed)))


def _drawn(frames: ReplayedFrames, answer: Stage, count: int) -> FloatArray:
    """Draws of an answer whose inputs are rounded, (count, T, width), kept like its bound."""
    return frames.kept(answer.name, lambda: np.stack([*_draws(frames, answer, count)]), f"{count} draws")


def _draws(frames: ReplayedFrames, answer: Stage, count: int) -> Iterator[FloatArray]:
    path = path_of(frames.contract.system.graph, answer.name, frames.recorded)
    folded = [each for each in frames.contract.system.graph if each.name in path and each.name != answer.name]
    side = _RoundedSide(frames)
    for place in range(count):
        known, rng = dict(frames.recorded), np.random.default_rng(place)
        for stage in folded:
            rows = side.computed(stage, known, rng, takes_other_way=place % 2 == 1)
            if rows is not None:
                known[stage.name] = rows
        drawn = frames.with_recorded(known).computed(answer.name)  # not the recorded answer, which is what is judged
        if drawn is None:
            raise NotKnown(answer.name)
        yield drawn


class _RoundedSide:
    """A correct side whose roundings are drawn."""

    def __init__(self, frames: ReplayedFrames) -> None:
        """Find the system's other arithmetic: the other value of each convention of which none is a defect."""
        self._frames, own = frames, frames.contract.conventions
        benign = [knob for knob in frames.contract.system.knobs.values() if knob.is_benign]
        other = {knob.name: value for knob in benign for value in knob.alternatives(own[knob.name])}
        self._other = ReplayedFrames(frames.evidence, frames.contract.with_conventions(other)) if other else None

    def computed(
        self, stage: Stage, known: Mapping[str, FloatArray], rng: np.random.Generator, *, takes_other_way: bool
    ) -> FloatArray | None:
        """The stage from drawn inputs, with its own rounding drawn and enlarged; None where it is not known."""
        own = self._frames.with_recorded(known)
        rows = own.computed(stage.name)
        if rows is None:
            return None
        wide: FloatArray = rows.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            rounding = self._rounding(stage, own, rows, rng, takes_other_way=takes_other_way)
            stored = gamma(STORED) * np.abs(wide) * rng.uniform(-1.0, 1.0, wide.shape)
            return np.asarray(wide + MARGIN * (rounding + stored), np.float32)

    def _rounding(
        self, stage: Stage, own: ReplayedFrames, rows: FloatArray, rng: np.random.Generator, *, takes_other_way: bool
    ) -> FloatArray:
        """What the other arithmetic changes; without one, anything within the stage's own bound."""
        if self._other is None:
            nothing = {name: np.zeros(known.shape) for name, known in own.recorded.items()}
            return stage_bound(stage, own, rows, nothing) * rng.uniform(-1.0, 1.0, rows.shape)
        other = self._other.with_recorded(own.recorded)
        compute = stage.other_way if takes_other_way else None
        changed = other.computed(stage.name) if compute is None else compute(other)
        return np.zeros(rows.shape) if changed is None else np.asarray(changed, np.float64) - rows
