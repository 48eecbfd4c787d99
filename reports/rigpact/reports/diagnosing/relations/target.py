"""What an edit may be of: a stage's own answer, or an input of the stage that was worked back from its answer.

An edit reads the same in both places: `x` times two is said of the stage, or of what it is computed from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.layout import FieldLayout
from rigpact.contract.systems.stage import Stage
from rigpact.reference_runtime.graph.replayed import ReplayedFrames
from rigpact.reference_runtime.operations.scalars import gamma
from rigpact.reports.diagnosing.relations.pulled_back import Inverse
from rigpact.reports.diagnosing.relations.relation import (
    FRAME,
    IN_SOME_FRAMES,
    CandidateEdit,
    Channels,
    ChannelSet,
    Group,
    groups_of,
    in_some_frames,
    is_one_number,
    names_of,
    places_of,
)
from rigpact.reports.diagnosing.relations.sparse import solved_input
from rigpact.reports.diagnosing.relations.subject import FEW, MUCH_NEARER, ROUGHLY, DivergentStage
from rigpact.reports.diagnosing.relations.terms import rows_from
from rigpact.reports.diagnosing.stage_error import stage_error


def ages_of(replayed: FloatArray, inputs: Mapping[str, FloatArray], count: int) -> tuple[NDArray[np.intp], FloatArray]:
    """How many frames old the number of each channel of a replay is, (W,), below `count`, and this frame's number, (T, W).

    -1 and zeros for a channel that holds no number of an input. A channel that stands still may be of any age: it is as old as
    the nearest one that is of one age only.
    """
    count = min(count, len(replayed))
    may_be, sources = np.zeros((count, replayed.shape[1]), bool), np.zeros((count, *replayed.shape))
    for age in range(count):
        for rows in inputs.values():
            for column in rows.astype(np.float64).T:
                holds = (replayed[age:] == column[: len(column) - age, None]).all(axis=0) & ~may_be[age]
                may_be[age, holds], sources[age][:, holds] = True, column[:, None]
    ages = may_be.argmax(axis=0)
    of_one = np.flatnonzero(may_be.sum(axis=0) == 1)
    for channel in np.flatnonzero(may_be.sum(axis=0) > 1):
        near = ages[of_one[np.argmin(np.abs(of_one - channel))]] if len(of_one) else ages[channel]
        ages[channel] = near if may_be[near, channel] else ages[channel]
    every = np.arange(replayed.shape[1])
    return np.where(may_be.any(axis=0), ages, -1), sources[ages, :, every].T


def only_moves(subject: DivergentStage) -> bool:
    """Whether each channel of a stage that differs only holds, rightly, a number of an input, of this frame or an earlier one."""
    reach = subject.stage.reach_of(subject.contract)[0]
    ages, _ = ages_of(subject.replayed, subject.inputs, reach + 1)
    return reach < len(subject.replayed) and bool((ages[subject.failing.any(axis=0)] >= 0).all())


Rule = Callable[[FloatArray], FloatArray]
"""What should be there, every channel of it, to what was there, in the channels that it is said of."""
_OPERATIONS = 8
"""What a rule does to a number, and storing it, on each side."""
_SCREEN = 8.0
"""A first look, no verdict: rows that are not so near are not judged."""


@dataclass(frozen=True, eq=False)
class Target:
    """Numbers that differ from what they should be, (T, W) each.

    name: the input that they are; "" for the stage's own answer. own: what should be there. held: what was there. bound: how far
    rounding may move `held` from a right `own`. failing: where they differ.
    """

    subject: DivergentStage
    name: str
    own: FloatArray
    held: FloatArray
    bound: FloatArray
    failing: NDArray[np.bool_]
    is_narrow: bool = False
    """Whether edits are looked for everywhere and where it differs only, not in every part."""

    @property
    def own_bound(self) -> FloatArray:
        """How far what should be there may be off: where nothing tells what was there, it is known all the same."""
        return np.nan_to_num(self.bound, posinf=0.0)

    @property
    def it(self) -> str:
        """What an edit is made of, in words."""
        return self.name or "what it should be"

    @property
    def prefix(self) -> str:
        """The name of an input before what is said of it."""
        return f"{self.name} " if self.name else ""

    def of_frame(self, lag: int) -> str:
        """The same of another frame, in words."""
        return f"the {self.name} of frame t{lag:+d}" if self.name else f"the answer of frame t{lag:+d}"

    def may_be_of(self, lag: int) -> bool:
        """Whether it may stand in the place of what should have come `lag` frames before: not where the loop brings it there."""
        return self.subject.may_be_read(self.name, lag) if self.name else lag < self.subject.returns_after

    @cached_property
    def layout(self) -> FieldLayout:
        """The fields of its channels."""
        contract = self.subject.contract
        stage = contract.system.graph[self.name] if self.name else self.subject.stage
        return contract.fields(stage.name)

    @cached_property
    def groups(self) -> list[Group]:
        """The slices of its channels."""
        return groups_of(self.layout)

    @cached_property
    def channels(self) -> Channels:
        """The channels that differ."""
        return np.flatnonzero(self.failing.any(axis=0))

    def as_a_stage(self) -> DivergentStage | None:
        """The vector as if it had been recorded; None where nothing says what it should be."""
        subject, evidence = self.subject, self.subject.evidence
        recorded = {**evidence.recorded, self.name: self.held.astype(np.float32)}
        told = replace(evidence, recorded=recorded, off={**evidence.off, self.name: self.bound})
        error = stage_error(ReplayedFrames(told, subject.contract), self.name)
        found = None if error is None else subject.of_stage(told, subject.contract, error)
        return found if found is not None and found.failing.any() else None

    def in_channels(self, is_open: NDArray[np.bool_]) -> Target:
        """The same with only what differs in some channels of the stage; an input has channels of its own."""
        return self if self.name else replace(self, failing=self.failing & is_open)

    @cached_property
    def places(self) -> list[ChannelSet]:
        """Where an edit may have been made: everywhere, in each slice, in the parts that differ."""
        every = places_of(self.name or self.subject.stage.name, self.layout, self.failing)
        own = [each for each in every if np.array_equal(each.channels, self.channels)]
        return [*{id(each): each for each in (every[0], *own)}.values()] if self.is_narrow else every

    @property
    def is_finite(self) -> bool:
        """Whether every number is known, those that should be there and those that were."""
        return bool(np.isfinite(self.own).all() and np.isfinite(self.held).all())

    def edit(
        self,
        kind: str,
        words: str,
        channels: Channels,
        rule: Rule,
        *,
        steepness: float | FloatArray = 1.0,
        extra: float | FloatArray = 0.0,
        fitted: int = 0,
        pieces: int = 0,
        is_rule: bool = True,
    ) -> Iterator[CandidateEdit]:
        """The stage with `rule(own)` in some channels, (T, W) to (T, len(channels)); nothing where that is far from the recorded.

        words: of an input, without "computed from". steepness: how much the rule enlarges an error of `own`. extra: how far its
        other numbers may be off. is_rule: as of `CandidateEdit`.
        """
        subject, rows = self.subject, rule(self.own)
        subject.evidence.work.add(rows)
        if not self._may_be(channels, rows):
            return
        if self.name:
            words = f"computed from {words}{self._where(channels)}"
            off = np.zeros(self.own.shape)
            off[:, channels] = np.nan_to_num(extra, posinf=0.0)
            ask = partial(subject.recomputed, "input", fitted=fitted, off={self.name: off})
            found = ask(words, partial(_changed, self.name, channels, rule))
            differs: NDArray[np.bool_] = np.asarray(self.failing.any(axis=1))
            if found is None and not differs.all():
                words, pieces = in_some_frames(words, differs, subject.evidence.frame), pieces + IN_SOME_FRAMES
                is_rule = is_rule and (kind == FRAME or not is_one_number(self.held, self.bound, self.failing))
                rule = partial(_where, rule, differs[:, None], channels)
                found = ask(words, partial(_changed, self.name, channels, rule))
            if found is not None:
                yield replace(found, source=ChannelSet(self.name, channels), pieces=pieces, is_rule=is_rule)
            return
        lost = subject.lost_in_writing(subject.recorded[:, channels])
        bound = np.abs(steepness) * np.maximum(subject.rounding[:, channels] - lost, 0.0) + extra
        bound = bound + lost + gamma(_OPERATIONS) * np.abs(rows)
        found = subject.reading(subject.place_of(channels), kind, words, rows, bound, fitted)
        yield replace(found, pieces=pieces, is_rule=is_rule)

    def _may_be(self, channels: Channels, rows: FloatArray) -> bool:
        """Whether half of what differs is roughly as some rows have it: most rules are far from all of it, and need no bound."""
        differs, held = self.failing[:, channels], self.held[:, channels]
        own, roughly = self.own[:, channels], ROUGHLY * np.fmax.reduce(np.abs(held), axis=0)
        slack = np.maximum(_SCREEN * self.bound[:, channels], np.fmin(roughly, MUCH_NEARER * np.abs(own - held)))
        near = np.abs(rows - held) <= slack
        if not self.name and self.subject.stage.measure.has_signless_quaternions:
            near |= np.abs(rows + held) <= slack
        return bool(2 * np.count_nonzero(near & differs) >= np.count_nonzero(differs))

    def _where(self, channels: Channels) -> str:
        return "" if len(channels) == self.own.shape[1] else f" at {names_of(self.layout, channels)}"


def _where(rule: Rule, differs: NDArray[np.bool_], channels: Channels, own: FloatArray) -> FloatArray:
    return np.where(differs, rule(own), own[:, channels])


def _changed(name: str, channels: Channels, rule: Rule, known: DivergentStage) -> Mapping[str, FloatArray]:
    changed = known.before[name].astype(np.float64)
    changed[:, channels] = rule(changed)
    return {name: changed}


def targets(subject: DivergentStage) -> Iterator[Target]:
    """The stage's answer, then each vector on the way to it that can be worked back from it, the nearest first."""
    answer = Target(subject, "", subject.replayed, subject.recorded, subject.bound, subject.failing)
    yield answer
    on_the_way = {subject.stage.name: answer}
    for name in subject.before:
        found = _before(subject, name, on_the_way)
        if found is not None:
            on_the_way[name] = found
            if subject.wants(name):
                yield found


def _before(subject: DivergentStage, name: str, on_the_way: Mapping[str, Target]) -> Target | None:
    """What stood in a vector, from the one that is computed from it; where several are, from the stage itself."""
    graph, own = subject.contract.system.graph, subject.before[name].astype(np.float64)
    users = [each for each in (subject.stage.name, *subject.before) if name in _read_by(graph[each], subject)]
    behind = on_the_way.get(users[0] if len(users) == 1 else subject.stage.name)
    if behind is None or not np.isfinite(behind.held).all():
        return None
    last = graph[users[0]] if len(users) == 1 else subject.stage
    if last.is_answer:
        found = solved_input(subject, name) if last is subject.stage else None
    else:
        path = [graph[each] for each in users] if len(users) == 1 else _between(subject, name)
        rows_of = (
            partial(rows_from, subject.frames, last, name) if len(users) == 1 else partial(subject.rows_from, name)
        )
        looks_around = any(each.reach_of(subject.contract) != (0, 0) for each in path)
        inverse = Inverse(rows_of, np.nan_to_num(own), subject.few_rows(FEW), looks_around)
        found = inverse.stood(behind.held, behind.bound, behind.failing)
    if found is None:
        return None
    failing = np.abs(found.held - own) > found.bound
    return Target(subject, name, own, found.held, found.bound, failing) if failing.any() else None


def _read_by(stage: Stage, subject: DivergentStage) -> tuple[str, ...]:
    """The vectors that a stage on the way is computed from; one that was recorded is no stage of the way."""
    is_on_the_way = stage.name == subject.stage.name or stage.name not in subject.evidence.recorded
    return (*stage.needs, *stage.may_use) if is_on_the_way and stage.compute is not None else ()


def _between(subject: DivergentStage, name: str) -> list[Stage]:
    """The stages on the way from a vector to the answer, itself among them."""
    graph, reached = subject.contract.system.graph, {name}
    for stage in graph:
        if stage.name in (subject.stage.name, *subject.before) and reached.intersection(_read_by(stage, subject)):
            reached.add(stage.name)
    return [graph[each] for each in reached - {name}]
