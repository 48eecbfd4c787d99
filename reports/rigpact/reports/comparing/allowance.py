"""How far two recordings may differ, stage by stage.

A stage computes f(inputs). Side a's value is within its bound of f(a's inputs), and side b's within its bound of f(b's
inputs). So the two may differ by both bounds plus |f(a's inputs) - f(b's inputs)|. A stage that only inherits a
difference passes; a stage that adds one fails. The tolerance does not grow along the run: the inputs of a frame already
hold what it inherits from the frame before.

Where a network's inputs differ, its answers cannot be judged without the model: the tolerance is infinite, and the
values count as not judged.

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
from rigpact.contract.systems.stage import NotKnown, Stage
from rigpact.reference_runtime.graph.bounds import KnownFrames, replay_bound, stage_bound
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reference_runtime.operations.geometry import same_hemisphere
from rigpact.reference_runtime.recordings.printed_digits import Printed
from rigpact.reference_runtime.systems.enemy_animation.tolerances import pose_tolerance_without_contract

Values = Mapping[str, FloatArray]


class Allowance:
    """The tolerances of a comparison, for one piece of frames at a time.

    back, ahead: how many frames before and after a piece are needed. inheriting: the stages whose difference comes, at
    least in part, from the stages before them.
    """

    def __init__(
        self,
        contract: Any,
        frames: NDArray[np.int64],
        *,
        is_free: bool,
        printed: Sequence[Printed | None] = (None, None),
    ) -> None:
        """frames: the numbers of the compared frames; is_free: at least one side is a free run; printed: of each side."""
        self._contract, self._is_free, self._printed = contract, is_free, printed
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
            return {name: pose_tolerance_without_contract(a[name][inside]) for name in shared}
        sides = [
            _Side(self._contract, side, self._frames[around], is_free=self._is_free, printed=printed)
            for side, printed in zip((a, b), self._printed, strict=True)
        ]
        found = {}
        for stage in self._contract.system.stages:
            if stage.name in shared:
                found[stage.name] = self._tolerance(stage, sides[0], sides[1], around)[inside]
        return found

    def _tolerance(self, stage: Stage, a: _Side, b: _Side, around: slice) -> FloatArray:
        """The tolerance; infinite for values that cannot be judged. Equal values agree, whatever could be judged."""
        error = _difference(stage, a.values[stage.name], b.values[stage.name])
        found = self._tolerance_of(stage, a, b, error, around)
        unknown = np.isinf(found)
        return found if stage.is_answer or not unknown.any() else np.where(unknown & (error == 0.0), 0.0, found)

    def _tolerance_of(self, stage: Stage, a: _Side, b: _Side, error: FloatArray, around: slice) -> FloatArray:
        """The bound where it is enough, else what the sides' inputs allow; the order in which they are tried changes nothing."""
        if not error.any():  # the same values have the same bound
            return a.bound(stage)
        if stage.name in self.inheriting:  # the piece before inherited a difference, so this one does
            inherited = self._inherited(stage, a, b)
            if inherited is not None and (error <= inherited).all():
                return inherited
        bound = _bound(stage, a, b)
        with np.errstate(invalid="ignore"):
            if not (error > bound).any() and not np.isinf(bound).any():
                return bound
        if stage.is_answer:
            bound = np.where(_differ(stage, a, b)[:, None], np.inf, bound)
        inherited = self._inherited(stage, a, b)
        if inherited is None:
            return self._unseen(stage, bound, around)
        # what rounding of the stages before could lead to is not known there; what each side's own inputs lead to may be
        unknown = np.isinf(bound)
        if (inherited > bound).any() or (unknown & np.isfinite(inherited) & (error > 0.0)).any():
            self.inheriting.add(stage.name)
        return np.where(unknown, inherited, np.fmax(bound, inherited))

    def _inherited(self, stage: Stage, a: _Side, b: _Side) -> FloatArray | None:
        """Both sides' own rounding and the difference that their inputs lead to; None where a side cannot be recomputed."""
        exact = a.recomputed(stage), b.recomputed(stage)
        if exact[0] is None or exact[1] is None:
            return None
        with np.errstate(invalid="ignore", over="ignore"):
            own = a.own_bound(stage, exact[0]) + b.own_bound(stage, exact[1])
            inherited = _difference(stage, exact[0], exact[1])
        if np.isnan(own).any():
            own = np.where(np.isnan(own), np.inf, own)  # without a bound nothing can be judged
        return np.asarray(own + np.nan_to_num(inherited, posinf=np.inf))

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
        self, contract: Any, values: Values, frames: NDArray[np.int64], *, is_free: bool, printed: Printed | None
    ) -> None:
        self.values, self._contract, self._printed = values, contract, printed
        self._known = KnownFrames(contract, values, frames)
        start = frames - (frames[0] if frames[0] == 0 else frames[0] - 1)
        evidence = Evidence(start, contract.fps or 1.0, "free" if is_free else "teacher", values, printed=printed)
        self._replayed = ReplayedFrames(evidence, contract)
        self._bounds: dict[str, FloatArray] = {}

    def stage(self, name: str) -> Stage:
        """A stage of the system."""
        found: Stage = self._contract.system.graph[name]
        return found

    def bound(self, stage: Stage) -> FloatArray:
        """The bound of a recorded stage, including the bounds of the recorded stages before it."""
        if stage.name not in self._bounds:
            rows = self.values[stage.name]
            upstream = {
                name: self.bound(self.stage(name)) for name in (*stage.needs, *stage.may_use) if name in self.values
            }
            try:
                found = stage_bound(stage, self._known, rows, upstream if stage.is_propagated else {})
            except NotKnown:  # inputs not recorded: allow the rounding of storing only
                found = stage_bound(replace(stage, bound=None), self._known, rows, {})
            self._bounds[stage.name] = found
        return self._bounds[stage.name]

    def recomputed(self, stage: Stage) -> FloatArray | None:
        """The stage, computed from this side's recorded values; None where they do not suffice."""
        if stage.compute is None or stage.is_answer:
            return None
        try:
            rows = self._replayed.computed(stage.name)
        except UnusableInput:
            return None
        return rows if rows is not None and rows.shape == self.values[stage.name].shape else None

    def own_bound(self, stage: Stage, rows: FloatArray) -> FloatArray:
        """The rounding of a recomputed stage, and of the recorded one where its numbers were printed."""
        return replay_bound(self._replayed, stage.name, rows) + self.lost_in_print(stage)

    def lost_in_print(self, stage: Stage) -> FloatArray | float:
        """How far the recorded values may be from those that were printed; 0 where every bit was kept."""
        return 0.0 if self._printed is None else self._printed.error(self.values[stage.name])


def _bound(stage: Stage, a: _Side, b: _Side) -> FloatArray:
    """The smaller bound of the two, and what either side lost by printing its numbers."""
    return np.fmin(a.bound(stage), b.bound(stage)) + a.lost_in_print(stage) + b.lost_in_print(stage)


def _differ(stage: Stage, a: _Side, b: _Side) -> NDArray[np.bool_]:
    """The frames in which the inputs of the two networks differ, (T,)."""
    found = np.zeros(len(a.values[stage.name]), bool)
    for name in stage.needs:
        if name in a.values and name in b.values:
            need = a.stage(name)
            error = _difference(need, a.values[name], b.values[name])
            found |= ~(error <= _bound(need, a, b)).all(axis=1)
    return found


def _difference(stage: Stage, a: FloatArray, b: FloatArray) -> FloatArray:
    wide: FloatArray = a.astype(np.float64)
    other: FloatArray = b.astype(np.float64)
    if stage.measure.has_signless_quaternions:
        other = same_hemisphere(wide, other)
    with np.errstate(invalid="ignore"):
        return np.abs(wide - other)
