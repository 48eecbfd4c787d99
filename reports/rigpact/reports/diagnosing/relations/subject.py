"""A stage that differs, ready to be read: its recorded rows, its replay, the places in it, its inputs to be changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.stage import Stage
from rigpact.reference_runtime.graph.answers import other_answers
from rigpact.reference_runtime.graph.bounds import PATTERNS, distance
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames, path_of, path_over_frames, sign_pattern
from rigpact.reference_runtime.graph.sampled_bound import judging_bound
from rigpact.reports.diagnosing.budget import Budget
from rigpact.reports.diagnosing.relations.relation import (
    CandidateEdit,
    Channels,
    ChannelSet,
    Group,
    MadeBy,
    groups_of,
    names_of,
    places_of,
)
from rigpact.reports.diagnosing.stage_error import NEARLY, StageError, error_between

FEW = 6
"""Frames on which a reading is tried first: most readings fail there."""
MUCH_NEARER = 1.0 / 8.0
"""A number that has nothing to do with the recorded one is within so much of its error once in eight times."""
ROUGHLY = 1e-3
"""The first trial asks for a thousandth of a channel's size: the bound of a reading is derived only if it passes."""


class DivergentStage:
    """One failing stage. recorded, replayed, bound: (T, width) float64; failing: the finite ones beyond their tolerance.

    rounding: the bound of its replay; bound: the same, inf where nothing tells what was recorded.
    """

    def __init__(
        self,
        evidence: Evidence,
        contract: Contract,
        error: StageError,
        frames: ReplayedFrames | None = None,
        budget: Budget | None = None,
        wanted: Collection[MadeBy] | None = None,
        differs: Collection[str] = (),
        was_recorded: Collection[str] | None = None,
    ) -> None:
        """Keep what was measured. contract: under the conventions that are named already.

        wanted: who may make readings; everybody if it is None. differs: every recorded stage that no convention explains.
        was_recorded: what the recording has, where edits stand in the evidence too.
        """
        self.wanted, self.differs, self.worked_back = wanted, differs, dict[str, Any]()
        self.was_recorded = evidence.recorded.keys() if was_recorded is None else was_recorded
        self.evidence, self.contract, self.budget = evidence, contract, budget or Budget.unlimited()
        self.stage: Stage = contract.system.graph[error.stage]
        self.frames = frames or ReplayedFrames(evidence, contract)
        error = self.error = self._with_lost_digits(error)
        self.recorded, self.replayed = error.recorded.astype(np.float64), error.replayed.astype(np.float64)
        self.rounding = np.asarray(error.tolerance, np.float64)
        self.bound = np.where(np.isinf(evidence.off.get(error.stage, 0.0)), np.inf, self.rounding)
        with np.errstate(invalid="ignore"):
            self.failing: NDArray[np.bool_] = (error.excess > 1.0) & np.isfinite(error.recorded)
        self.groups = groups_of(contract.fields(self.stage.name))

    def _with_lost_digits(self, error: StageError) -> StageError:
        """The error with the whole bound of an answer: one that is far beyond was judged by its rounding alone."""
        precision = self.evidence.precision
        if precision is None or not self.stage.is_answer:
            return error
        bound = self._bound_of(self.frames, error.replayed) + precision.error(error.recorded)
        return error_between(self.stage, error.recorded, error.replayed, bound)

    @cached_property
    def apart(self) -> FloatArray:
        """How far each recorded value is from its replay, (T, width); a quaternion and its negative are the same."""
        return distance(self.stage.measure, self.recorded, self.replayed)

    @property
    def places(self) -> list[ChannelSet]:
        """Where a relation may hold: all of the stage, each slice that differs, the bones or fields of it that differ."""
        return places_of(self.stage.name, self.contract.fields(self.stage.name), self.failing)

    def place_of(self, channels: Channels) -> ChannelSet:
        """Some channels as a place: all that differ are the whole stage."""
        width = self.recorded.shape[1]
        if len(channels) == width:
            return ChannelSet(self.stage.name, channels, is_whole=True)
        if len(self.groups) > 1:
            for group in self.groups:
                if np.array_equal(channels, np.arange(group.start, group.stop)):
                    return ChannelSet(f"{self.stage.name}[{group.name}]", channels)
        return ChannelSet(f"{self.stage.name} of {names_of(self.contract.fields(self.stage.name), channels)}", channels)

    def of_stage(self, evidence: Evidence, contract: Contract, error: StageError) -> DivergentStage:
        """Another one of the same search."""
        return DivergentStage(
            evidence, contract, error, None, self.budget, self.wanted, self.differs, was_recorded=self.was_recorded
        )

    def wants(self, name: str) -> bool:
        """Whether readings of a vector are asked for."""
        return self.wanted is None or any(vector == name for _, vector in self.wanted)

    def few_rows(self, count: int) -> list[int]:
        """So many rows, spread over the recording, neighbours among them."""
        frames = len(self.evidence.frame)
        return sorted({min(frames - 1, place * frames // count) for place in range(count)})

    def rows_from(self, name: str, rows: FloatArray, few: Sequence[int] | None = None) -> FloatArray | None:
        """The stage computed with other rows of an input, float64; few: of those recorded frames only."""
        evidence = self.evidence if few is None else self.evidence.at_rows(few)
        evidence = replace(evidence, recorded={**evidence.recorded, **_stored({name: rows})})
        return self.rows_of(evidence)

    def rows_of(self, evidence: Evidence, contract: Contract | None = None) -> FloatArray | None:
        """The stage computed from other evidence, or under another contract, float64; None where that is not known."""
        found = self._rows(ReplayedFrames(evidence, contract or self.contract))
        return None if found is None else found.astype(np.float64)

    def reading(
        self, place: ChannelSet, kind: str, words: str, rows: FloatArray, bound: FloatArray, fitted: int = 0
    ) -> CandidateEdit:
        """A reading of a place: its rows and their bound are put into those of the stage."""
        every, bounds = self.replayed.copy(), self.rounding.copy()
        every[:, place.channels], bounds[:, place.channels] = rows, bound
        return CandidateEdit(kind, words, every, bounds, fitted, place)

    def shifted(self, rows: FloatArray, lag: int) -> FloatArray:
        """Rows of `lag` frames later, (T, width); where that frame was not recorded, the frame's own."""
        moved = self.frames.shifted(rows.astype(np.float32), lag).astype(np.float64)
        return np.where(np.isnan(moved), rows, moved)

    @cached_property
    def clip_rows(self) -> FloatArray | None:
        """The clip's rows of the stage, or of the stage that takes it over, float64; None without a clip that drives it."""
        if self.frames.mode == "free" or not self.frames.has_drive:
            return None
        graph = self.contract.system.graph
        name = next((each.name for each in graph if each.carried == self.stage.name), self.stage.name)
        rows: FloatArray | None = self.frames.drive.rows(name)
        return None if rows is None or rows.shape[1] != self.recorded.shape[1] else rows.astype(np.float64)

    @cached_property
    def inputs(self) -> Mapping[str, FloatArray]:
        """The stages that this one is computed from, where they are known, (T, width)."""
        known = {name: self.frames.get(name) for name in (*self.stage.needs, *self.stage.may_use)}
        return {name: rows for name, rows in known.items() if rows is not None}

    @cached_property
    def before(self) -> Mapping[str, FloatArray]:
        """The inputs, and whatever unrecorded ones are computed from, down to what was recorded: the nearest first."""
        known, waiting = dict(self.inputs), list(self.inputs)
        while waiting:
            stage = self.contract.system.graph[waiting.pop(0)]
            if stage.name in self.evidence.recorded or stage.compute is None:
                continue
            for name in (*stage.needs, *stage.may_use):
                rows = self.frames.get(name)
                if rows is not None and name not in known:
                    known[name] = rows
                    waiting.append(name)
        return known

    @cached_property
    def known(self) -> Mapping[str, FloatArray]:
        """Every vector of the loop that is recorded or can be computed without a network, (T, width) each."""
        graph = self.contract.system.graph
        found = {each.name: self.frames.get(each.name) for each in graph if not each.is_answer}
        return {**self.evidence.recorded, **{name: rows for name, rows in found.items() if rows is not None}}

    @cached_property
    def others(self) -> Mapping[str, FloatArray]:
        """Every other recorded stage, and what is carried to the next frame from one, (T, width)."""
        carried = {each.name: self.frames.get(each.name) for each in self.contract.system.graph if each.carried}
        known = {name: rows for name, rows in carried.items() if rows is not None} | {**self.evidence.recorded}
        return {name: rows for name, rows in known.items() if name != self.stage.name}

    @cached_property
    def echoes(self) -> Mapping[str, float]:
        """The stages that the contract computes from this one, and after how many frames they hold what is to be explained.

        What was not recorded on the way to it may be what is wrong: so may a stage hold that which comes from there and differs.
        """
        graph, found = self.contract.system.graph, dict[str, float](self._arrivals(self.stage.name))
        path = path_over_frames if self.evidence.mode == "free" else path_of
        for before in path(graph, self.stage.name, dict.fromkeys(self.was_recorded)) - set(graph.given):
            reached = self._arrivals(before)
            for name in reached.keys() & {*self.differs} - {self.stage.name}:
                found[name] = min(found.get(name, np.inf), reached[name] - reached.get(self.stage.name, 0))
        return found

    def may_be_read(self, stage: str, lag: int) -> bool:
        """Whether a defect can take numbers from a stage of `lag` frames later: not from what comes from the stage itself."""
        return lag < self.echoes.get(stage, lag + 1)

    @cached_property
    def returns_after(self) -> float:
        """After how many frames its replay is computed from the stage itself, without a network between; else without end."""
        reached = self._arrivals(self.stage.name, not_through=self.contract.system.graph.answers)
        return min((reached[name] for name in self.inputs if name in reached), default=np.inf)

    def _arrivals(self, name: str, **limits: Collection[str]) -> Mapping[str, int]:
        graph, is_fed = self.contract.system.graph, self.evidence.mode == "free"
        return graph.arrivals(name, self.contract, feeds_itself=is_fed, **limits)

    @cached_property
    def _few(self) -> list[int] | None:
        count = len(self.evidence.frame)
        if count <= 2 * FEW or self.contract.system.windowed:
            return None
        worst = min(max(int(np.argmax(np.nan_to_num(self.error.excess).max(axis=1))), 1), count - 1)
        early = count // 3  # not the first ones: what stands before a recording is not known
        return sorted({early, early + 1, worst - 1, worst, count - 2, count - 1})

    def rows_under(self, contract: Contract, few: Sequence[int] | None = None) -> FloatArray | None:
        """The stage computed under another contract, float64; few: of those recorded frames only."""
        return self.rows_of(self.evidence if few is None else self.evidence.at_rows(few), contract)

    def recomputed(
        self,
        kind: str,
        words: str,
        change: Change,
        contract: Contract | None = None,
        fitted: int = 0,
        off: Mapping[str, FloatArray] | None = None,
    ) -> CandidateEdit | None:
        """The stage from changed inputs, or under another contract; None where that is far from what was recorded.

        off: how far changed inputs may be off, (T, width).
        """
        if self.budget.cuts(f"some relations of {self.stage.name}"):
            return None
        contract, changed = contract or self.contract, change(self)
        stored = _stored(changed)
        evidence = replace(self.evidence, recorded={**self.evidence.recorded, **stored})
        if self._few is not None and not self._is_near(evidence, contract, self._few):
            return None
        frames = ReplayedFrames(evidence, contract)
        rows = self._rows(frames)
        if rows is None or not self._explains_roughly(rows):
            return None
        written = (frames.with_recorded({**each.evidence.recorded, **_stored(change(each))}) for each in self._moved)
        bound = self._bound_of(frames, rows, written) + self.lost_in_writing(self.recorded)
        wide = {name: np.abs(own - stored[name]) + (off or {}).get(name, 0.0) for name, own in changed.items()}
        bound = bound + self._moved_by(wide, evidence, contract, rows)  # the change was stored as float32, too
        return CandidateEdit(kind, words, rows.astype(np.float64), np.maximum(bound, self.rounding), fitted)

    def _moved_by(
        self, off: Mapping[str, FloatArray], evidence: Evidence, contract: Contract, rows: FloatArray
    ) -> FloatArray:
        """How far the rows of the stage move where inputs are off by so much."""
        off, rng = {name: wide for name, wide in off.items() if wide.any()}, np.random.default_rng(0)
        largest = np.zeros(rows.shape)
        for pattern in range(PATTERNS if off else 0):
            moved = {n: evidence.recorded[n] + sign_pattern(pattern, wide.shape, rng) * wide for n, wide in off.items()}
            found = self._rows(
                ReplayedFrames(replace(evidence, recorded={**evidence.recorded, **_stored(moved)}), contract)
            )
            largest = np.fmax(largest, np.inf if found is None else distance(self.stage.measure, rows, found))
        return largest

    def _bound_of(
        self, frames: ReplayedFrames, rows: FloatArray, written: Iterator[ReplayedFrames] | None = None
    ) -> FloatArray:
        """The bound of rows in some frames; of a long recording in blocks. written: as `replay_bound` has it."""
        if written is not None and self.evidence.precision is not None:
            return judging_bound(frames, self.stage.name, rows, written).bound
        found = ((block, block.computed(self.stage.name), inside) for block, inside in frames.blocks())
        return np.concatenate(
            [
                judging_bound(block, self.stage.name, own).bound[inside]
                for block, own, inside in found
                if own is not None
            ]
        )

    @cached_property
    def _moved(self) -> list[DivergentStage]:
        """The stage with every recorded number moved by what writing it may have lost: a change of inputs comes after that."""
        return [
            DivergentStage(frames.evidence, self.contract, self.error, frames)
            for frames in self.frames.moved_by_writing()
        ]

    def lost_in_writing(self, rows: FloatArray) -> FloatArray:
        """How far recorded numbers may be from those that were written."""
        precision = self.evidence.precision
        return np.zeros(rows.shape) if precision is None else precision.error(rows)

    def other_answers(self) -> Iterator[tuple[str, FloatArray, FloatArray]]:
        """The network's answers with other activations that are near: what was changed, rows, bound."""
        near = None
        if self._few is not None:
            trial = ReplayedFrames(self.evidence.at_rows(self._few), self.contract)
            every = other_answers(self.stage, trial)
            near = {words for words, rows, _ in every if self._are_few(self._apart_roughly(rows, self._few))}
        for words, rows, bound in () if near == set() else other_answers(self.stage, self.frames, near):
            if self._explains_roughly(rows):
                yield words, rows, bound()

    def can_mend(self, name: str, group: Group) -> bool:
        """Whether other numbers in a slice of an input may bring enough of the stage near to what was recorded.

        They cannot where too many channels are off that do not change with the slice, whatever stands there.
        """
        few = slice(None) if self._few is None else self._few
        left = self._apart_roughly(self.replayed[few], few)
        for moved in _UNLIKE:
            rows = self.before[name].astype(np.float64)
            rows[:, group.range] = moved(rows[:, group.range])
            changed = replace(self.evidence, recorded={**self.evidence.recorded, **_stored({name: rows})})
            evidence = changed if self._few is None else changed.at_rows(self._few)
            trial = self._rows(ReplayedFrames(evidence, self.contract))
            if trial is None:
                return True
            left[:, np.any(trial != self.replayed[few], axis=0)] = False
        return self._may_explain(left, few)

    def near_edits(self, edits: Edits) -> Iterator[str]:
        """The words of those edits of inputs with which a few frames of the stage come near to what was recorded."""
        few = self._few or list(range(len(self.evidence.frame)))
        evidence = self.evidence.at_rows(few)
        for words, changed in edits(ReplayedFrames(evidence, self.contract)):
            moved = replace(evidence, recorded={**evidence.recorded, **_stored(changed)})
            rows = self._rows(ReplayedFrames(moved, self.contract))
            if rows is None or self._may_explain(self._apart_roughly(rows, few), few):
                yield words

    def _is_near(self, evidence: Evidence, contract: Contract, few: Sequence[int]) -> bool:
        rows = self._rows(ReplayedFrames(evidence.at_rows(few), contract))
        return rows is None or self._may_explain(self._apart_roughly(rows, few), few)

    def _may_explain(self, apart: NDArray[np.bool_], few: Sequence[int] | slice) -> bool:
        """Whether a reading may fit by these frames: few values are apart, and not all of those that differed."""
        failing = self.failing[few]
        return self._are_few(apart) and not (failing.any() and apart[failing].all())

    def _rows(self, frames: ReplayedFrames) -> FloatArray | None:
        try:
            rows = frames.computed(self.stage.name)
        except UnusableInput:
            return None
        return None if rows is None or rows.shape[1] != self.recorded.shape[1] else rows

    def _explains_roughly(self, rows: FloatArray) -> bool:
        """Whether rows fit, and bring near what differed: else they are not readings, and need no bound."""
        apart = self._apart_roughly(rows, slice(None))
        left, failing = np.count_nonzero(apart & self.failing), np.count_nonzero(self.failing)
        return self._are_few(apart) and bool(left <= (1.0 - NEARLY) * failing)

    @staticmethod
    def _are_few(apart: NDArray[np.bool_]) -> bool:
        return bool(np.count_nonzero(apart) <= (1.0 - NEARLY) * apart.size)

    @cached_property
    def _near(self) -> FloatArray:
        """How near a first trial has to come to what was recorded: what differs little has to come nearer than it was."""
        roughly = np.broadcast_to(ROUGHLY * np.nanmax(np.abs(self.recorded), axis=0), self.recorded.shape)
        nearer = np.where(self.failing, np.fmin(roughly, MUCH_NEARER * self.apart), roughly)
        return np.asarray(np.maximum(self.bound, nearer))

    def _apart_roughly(self, rows: FloatArray, few: Sequence[int] | slice) -> NDArray[np.bool_]:
        recorded = self.recorded[few]
        near = self._near[few]
        with np.errstate(invalid="ignore"):
            fits = np.abs(rows - recorded) <= near
            if self.stage.measure.has_signless_quaternions:
                fits |= np.abs(rows + recorded) <= near
        return np.asarray(~fits & ~np.isnan(rows))  # a row that is not known is not judged


Edits = Callable[[ReplayedFrames], Iterator[tuple[str, Mapping[str, FloatArray]]]]
"""Edits of inputs on some frames: each in words, and the changed inputs by name, (T, width)."""
Change = Callable[[DivergentStage], Mapping[str, FloatArray]]
"""What is done to inputs of a stage before it is computed: the changed ones by name, (T, width)."""


_UNLIKE: tuple[Callable[[FloatArray], FloatArray], ...] = (
    partial(np.full_like, fill_value=np.nan),
    lambda values: -values - 1.0,
    lambda values: values + 1000.0,
)
"""What no number of a slice looks like; a clamp or a threshold may swallow one of them."""


def _stored(changed: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    return {name: rows.astype(np.float32) for name, rows in changed.items()}
