"""How far two recordings may differ, stage by stage.

A stage computes f(inputs). Side a's value is within its bound of f(a's inputs), and side b's within its bound of f(b's
inputs). So the two may differ by both bounds plus |f(a's inputs) - f(b's inputs)|. A stage that only inherits a
difference passes; a stage that adds one fails. The tolerance does not grow along the run: the inputs of a frame already
hold what it inherits from the frame before.

For a network's answer f is the model in float64, with the bound of its own operations' rounding. Without the model, inputs
that differ by rounding are assumed to move an answer by at most as much as they differ together: one deviation of an
answer for one deviation of an input. Inputs that differ by more give answers that cannot be judged: the tolerance is
infinite, and the values count as not judged.

f is evaluated only where a difference is larger than the smaller of the two bounds. The bounds need only recorded
values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.stage import NotKnown, Stage
from rigpact.reference_runtime.graph.answers import exact_answer
from rigpact.reference_runtime.graph.bounds import KnownFrames, distance, replay_bound, stage_bound
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames, one_frame_later, source_of
from rigpact.reference_runtime.recordings.precision import Precision

Values = Mapping[str, FloatArray]


class Allowance:
    """The tolerances of a comparison, for one piece of frames at a time.

    back, ahead: how many frames before and after a piece are needed. inheriting: the stages whose difference comes, at
    least in part, from the stages before them.
    """

    def __init__(
        self,
        contract: Contract | None,
        frames: NDArray[np.int64],
        *,
        is_free: bool,
        precisions: Sequence[Precision | None] = (None, None),
        network: Any = None,
    ) -> None:
        """frames: the numbers of the compared frames; is_free: at least one side is a free run; precisions: of each side;
        network: the model.
        """
        self._contract, self._is_free, self._precisions, self._network = contract, is_free, precisions, network
        self.inheriting: set[str] = set()
        reaches = [] if contract is None else [stage.reach_of(contract) for stage in contract.system.stages]
        self.back = max((reach[0] for reach in reaches), default=0)
        self.ahead = max((reach[1] for reach in reaches), default=0)
        self._frames = _without_long_gaps(frames, self.back + self.ahead)

    def of(self, a: Values, b: Values, around: slice, part: slice) -> dict[str, FloatArray]:
        """Tolerance of every shared stage for the frames of `part`; `a` and `b` hold the frames of `around`."""
        inside = slice(part.start - around.start, part.stop - around.start)
        shared = [name for name in a if name in b and a[name].shape == b[name].shape]
        if self._contract is None:
            from rigpact.reference_runtime.systems.enemy_animation.pose import pose_tolerance_without_contract

            return {name: pose_tolerance_without_contract(a[name][inside]) for name in shared}
        frames, network = self._frames[around], self._network
        sides = [
            _Side(self._contract, side, frames, is_free=self._is_free, precision=precision, network=network)
            for side, precision in zip((a, b), self._precisions, strict=True)
        ]
        found = {}
        for stage in self._contract.system.stages:
            if stage.name in shared:
                found[stage.name] = self._tolerance(stage, sides[0], sides[1], around)[inside]
        return found

    def _tolerance(self, stage: Stage, a: _Side, b: _Side, around: slice) -> FloatArray:
        """The tolerance; infinite for values that cannot be judged. Equal values agree, whatever could be judged."""
        error = distance(stage.measure, a.values[stage.name], b.values[stage.name])
        found = self._tolerance_of(stage, a, b, error, around)
        unknown = np.isinf(found)
        return found if stage.is_answer or not unknown.any() else np.where(unknown & (error == 0.0), 0.0, found)

    def _tolerance_of(self, stage: Stage, a: _Side, b: _Side, error: FloatArray, around: slice) -> FloatArray:
        """The bound where it is enough, else what the sides' inputs allow; the order in which they are tried changes nothing."""
        if not error.any():  # the same values have the same bound
            return a.bound(stage)
        has_model = stage.is_answer and self._network is not None
        if has_model or stage.name in self.inheriting:  # the piece before inherited a difference, so this one does
            inherited = self._inherited(stage, a, b)
            if inherited is not None and (has_model or (error <= inherited).all()):
                if stage.name not in self.inheriting:
                    self._note(stage, error > _bound(stage, a, b))
                return inherited
        bound = _bound(stage, a, b)
        with np.errstate(invalid="ignore"):
            if not (error > bound).any() and not np.isinf(bound).any():
                return bound
        if stage.is_answer and self._network is None:
            bound = _assumed(stage, a, b, bound)
        inherited = self._inherited(stage, a, b)
        if inherited is None:
            return self._unseen(stage, np.fmax(bound, self._propagated(stage, a, b)), around)
        # what rounding of the stages before could lead to is not known there; what each side's own inputs lead to may be
        unknown = np.isinf(bound)
        self._note(stage, (inherited > bound) | (unknown & np.isfinite(inherited) & (error > 0.0)))
        return np.where(unknown, inherited, np.fmax(bound, inherited))

    def _note(self, stage: Stage, is_wider: NDArray[np.bool_]) -> None:
        if is_wider.any():
            self.inheriting.add(stage.name)

    def _inherited(self, stage: Stage, a: _Side, b: _Side) -> FloatArray | None:
        """Both sides' own rounding and the difference that their inputs lead to; None where a side cannot be recomputed."""
        exact = a.recomputed(stage), b.recomputed(stage)
        if exact[0] is None or exact[1] is None:
            return None
        with np.errstate(invalid="ignore", over="ignore"):
            own = a.own_bound(stage, exact[0]) + b.own_bound(stage, exact[1])
            inherited = distance(stage.measure, exact[0], exact[1])
        if np.isnan(own).any():
            own = np.where(np.isnan(own), np.inf, own)  # without a bound nothing can be judged
        return np.asarray(own + np.nan_to_num(inherited, posinf=np.inf))

    def _propagated(self, stage: Stage, a: _Side, b: _Side) -> FloatArray:
        """The bound that the bounds of a side's inputs lead to, through the network too; by the side that holds more."""
        sides = [side for side in (a, b) if side.values.keys() >= a.values.keys() | b.values.keys()] or [a, b]
        return np.asarray(np.fmin.reduce([side.propagated(stage) for side in sides]))

    def _unseen(self, stage: Stage, bound: FloatArray, around: slice) -> FloatArray:
        """The inherited difference is unknown: in a free run it may be the rounding of all frames before."""
        if not self._is_free:
            return bound
        frames_before = np.arange(around.start, around.start + len(bound)) + 1.0
        return bound * frames_before[:, None]


def _without_long_gaps(frames: NDArray[np.int64], reach: int) -> NDArray[np.int64]:
    """Frame numbers in which no gap is longer than what a stage reaches across: a longer one would only take memory."""
    if not len(frames):
        return frames
    steps = np.minimum(np.diff(frames), reach + 2)
    first = min(int(frames[0]), 1)
    return np.concatenate(([first], first + np.cumsum(steps)))


class _Side:
    """One recording's values of some frames."""

    def __init__(
        self,
        contract: Contract,
        values: Values,
        frames: NDArray[np.int64],
        *,
        is_free: bool,
        precision: Precision | None,
        network: Any,
    ) -> None:
        self.values, self._contract, self._precision = values, contract, precision
        self._known, self._through = (KnownFrames(contract, values, frames, each) for each in (None, network))
        numbers, mode = frames - frames[0] + (frames[0] != 0), "free" if is_free else "teacher"
        evidence = Evidence(numbers, contract.fps or 1.0, mode, values, network=network, precision=precision)
        self._replayed = ReplayedFrames(evidence, contract)
        self._bounds: dict[str, FloatArray] = {}
        self._propagated: dict[str, FloatArray] = {}

    def stage(self, name: str) -> Stage:
        """A stage of the system."""
        found: Stage = self._contract.system.graph[name]
        return found

    def bound(self, stage: Stage) -> FloatArray:
        """The bound of a recorded stage, including the bounds of the recorded stages before it, back to the network."""
        return self._bound(stage, self._known, self._bounds)

    def propagated(self, stage: Stage) -> FloatArray:
        """The same, with what the bounds of the network's inputs lead to in its answer."""
        return self._bound(stage, self._through, self._propagated)

    def _bound(self, stage: Stage, frames: KnownFrames, bounds: dict[str, FloatArray]) -> FloatArray:
        if stage.name not in bounds:
            rows, needs = self.values[stage.name], [*stage.needs, *stage.may_use]
            is_through = stage.is_propagated or (stage.is_answer and frames is self._through)
            upstream = {name: self._bound(self.stage(name), frames, bounds) for name in needs if name in self.values}
            try:
                found = stage_bound(stage, frames, rows, upstream if is_through else {})
            except NotKnown:  # inputs not recorded: allow the rounding of storing only
                found = self.stored(stage)
            bounds[stage.name] = found
        return bounds[stage.name]

    def stored(self, stage: Stage) -> FloatArray:
        """The rounding of a value that is stored once on each side."""
        return stage_bound(replace(stage, bound=None), self._known, self.values[stage.name], {})

    def recomputed(self, stage: Stage) -> FloatArray | None:
        """The stage, computed from this side's recorded values; None where they do not suffice."""
        if stage.compute is None:
            if stage.carried is None or source_of(stage, self._replayed) not in self.values:
                return None
            own, before = self.values[stage.name], one_frame_later(self._replayed, source_of(stage, self._replayed))
            return stage.take_over(self._contract, own, np.where(np.isnan(before), own, before))
        try:
            rows = exact_answer(stage, self._replayed) if stage.is_answer else self._replayed.computed(stage.name)
        except UnusableInput:
            return None
        return rows if rows is not None and rows.shape == self.values[stage.name].shape else None

    def own_bound(self, stage: Stage, rows: FloatArray) -> FloatArray:
        """The rounding of a recomputed stage, and of the recorded one where its numbers were written coarsely."""
        return replay_bound(self._replayed, stage.name, rows) + self.lost_in_writing(stage)

    def lost_in_writing(self, stage: Stage) -> FloatArray | float:
        """How far the recorded values may be from those that were written; 0 where every bit was kept."""
        return 0.0 if self._precision is None else self._precision.error(self.values[stage.name])


def _bound(stage: Stage, a: _Side, b: _Side) -> FloatArray:
    return np.fmin(a.bound(stage), b.bound(stage)) + a.lost_in_writing(stage) + b.lost_in_writing(stage)


def _assumed(stage: Stage, a: _Side, b: _Side, bound: FloatArray) -> FloatArray:
    """The bound of answers without their model: for inputs that differ by rounding, and infinite where they differ by more."""
    moved = np.zeros((len(bound), 1))
    for name in stage.needs:
        if name in a.values and name in b.values:
            need = a.stage(name)
            error = distance(need.measure, a.values[name], b.values[name])
            is_rounding = (error <= _bound(need, a, b)).all(axis=1)
            moved += np.where(is_rounding, error.sum(axis=1), np.inf)[:, None]
    return bound + moved
