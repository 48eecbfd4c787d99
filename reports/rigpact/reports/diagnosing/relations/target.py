"""What an edit may be of: a stage's own answer, or an input of the stage that was worked back from its answer.

An edit reads the same in both places: `x` times two is said of the stage, or of what it is computed from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.layout import FieldLayout
from rigpact.reference_runtime.operations.scalars import gamma
from rigpact.reports.diagnosing.relations.places import Group, groups_of, names_of, places_of
from rigpact.reports.diagnosing.relations.relation import (
    FRAME,
    IN_SOME_FRAMES,
    CandidateEdit,
    Channels,
    ChannelSet,
    in_some_frames,
    is_one_number,
)
from rigpact.reports.diagnosing.relations.sparse import solved_input
from rigpact.reports.diagnosing.relations.subject import FEW, MUCH_NEARER, ROUGHLY, DivergentStage
from rigpact.reports.diagnosing.relations.terms import channels_of
from rigpact.reports.diagnosing.stage_error import NEARLY


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


def told_by_digits(
    count: int, base: FloatArray, moved: Callable[[NDArray[np.int_]], FloatArray | None]
) -> NDArray[np.intp] | None:
    """For each column of `base`, (T, W), which of `count` numbers it comes from: -1 for none, -2 for several.

    moved: the rows where those numbers are moved that have a 1, (count,). Each is moved in the trials that the binary digits of
    its place name: the columns that change tell the digits. None where a trial gives no rows.
    """
    numbers, bits = np.arange(count), max(1, int(count - 1).bit_length())
    ones, zeros = np.zeros(base.shape[1], int), np.zeros(base.shape[1], int)
    for bit in range(bits):
        digit = (numbers >> bit) & 1
        with_one, with_zero = moved(digit), moved(1 - digit)
        if with_one is None or with_zero is None or with_one.shape != base.shape or with_zero.shape != base.shape:
            return None
        ones += (with_one != base).any(axis=0).astype(int) << bit
        zeros += (with_zero != base).any(axis=0).astype(int) << bit
    is_one = ((ones & zeros) == 0) & ((ones | zeros) == (1 << bits) - 1)
    return np.where(is_one, ones, np.where((ones | zeros) > 0, -2, -1))


Rule = Callable[[FloatArray], FloatArray]
"""What should be there, every channel of it, to what was there, in the channels that it is said of."""
_OPERATIONS = 8
"""What a rule does to a number, and storing it, on each side."""
_PROBE = 2.0**-6
"""How far an input is moved, in parts of its size: the answer's rounding must stay small beside what the move does."""
_ROUNDS = 12
"""Newton's steps from what should be there to what was: one for what is linear, more from where a function is flat."""
_BACK = 0.25
"""The part of a step that is tried next where a step went too far."""
_SCREEN = 8.0
"""A first look, no verdict: rows that are not so near are not judged."""
STORED = gamma(2)
"""What storing a number as float32 on both sides may change of it, in parts of its size."""


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
            off[:, channels] = extra
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
        bound = np.abs(steepness) * np.maximum(subject.bound[:, channels] - lost, 0.0) + extra
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
    """The stage's answer, then each of its inputs that can be worked back from it."""
    answer = Target(subject, "", subject.replayed, subject.recorded, subject.bound, subject.failing)
    yield answer
    every = [answer]
    for name in filter(subject.wants, subject.inputs if subject.stage.is_answer else ()):
        found = _solved(subject, name)
        if found is not None:
            yield found
    for name in filter(subject.wants, () if subject.stage.is_answer else subject.before):
        found = _worked_back(subject, name) or _seen(subject, name, every)
        if found is not None:
            every.append(found)
            yield found


def _solved(subject: DivergentStage, name: str) -> Target | None:
    """A network's input of which a few channels were other numbers."""
    found = solved_input(subject, name)
    if found is None:
        return None
    own, failing = subject.before[name].astype(np.float64), np.zeros(found.held.shape, bool)
    bound = found.bound + STORED * np.abs(found.held)
    failing[:, found.channels] = (np.abs(found.held - own) > bound)[:, found.channels]
    return Target(subject, name, own, found.held, bound, failing) if failing.any() else None


def _worked_back(subject: DivergentStage, name: str) -> Target | None:
    """The input that gives what was recorded, where each number of the answer comes from one number of the input.

    None where a number of the answer depends on several of the input, or where no input gives it.
    """
    own = subject.before[name].astype(np.float64)
    sources = _sources(subject, name, own) if np.isfinite(own).all() and np.isfinite(subject.recorded).all() else None
    if sources is None or (sources == -2).any():
        return None
    known = sources >= 0
    taken, failing = sources[known], subject.failing[:, known]
    if len(np.unique(taken)) < len(taken) or not failing.any() or failing.sum() < subject.failing.sum():
        return None  # what differs comes from somewhere else
    found = _newton(subject, name, own, known, taken)
    if found is None:
        return None
    held, slope, solved = found
    bound, all_failing = np.zeros(own.shape), np.zeros(own.shape, bool)
    all_failing[:, taken] = failing & solved
    with np.errstate(divide="ignore", invalid="ignore"):
        bound[:, taken] = np.where(slope != 0.0, 2.0 * subject.bound[:, known] / np.abs(slope), np.inf)
    return Target(subject, name, own, held, bound + np.abs(held) * STORED, all_failing)


def _newton(
    subject: DivergentStage, name: str, own: FloatArray, known: NDArray[np.bool_], taken: NDArray[np.intp]
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]] | None:
    """Newton's method for each number that differs: the input (T, W), the last slopes, and which are solved, (T, known)."""
    wanted, bound, failing = subject.recorded[:, known], subject.bound[:, known], subject.failing[:, known]
    held: FloatArray = own.copy()
    answer: FloatArray = subject.replayed[:, known]
    reach, slope, share = _reach(own), np.ones_like(wanted), np.ones_like(wanted)
    size = reach[:, taken] / _PROBE
    for turn in range(_ROUNDS):
        beside = subject.rows_from(name, held + reach)
        if beside is None:
            return None
        slope = (beside[:, known] - answer) / reach[:, taken]
        most = 2.0**turn * size  # a channel's own size at first: where a function is flat a step would go anywhere
        with np.errstate(invalid="ignore", divide="ignore"):
            step = np.where(failing & (slope != 0.0), (wanted - answer) / slope, 0.0)
        tried = held.copy()
        tried[:, taken] += share * np.where(np.isfinite(step), np.clip(step, -most, most), 0.0)
        found = subject.rows_from(name, tried)
        if found is None:
            return None
        is_nearer = np.abs(found[:, known] - wanted) <= np.abs(answer - wanted)
        share = np.where(is_nearer, 1.0, _BACK * share)
        held[:, taken] = np.where(is_nearer, tried[:, taken], held[:, taken])
        answer = np.where(is_nearer, found[:, known], answer)
        if (np.abs(answer - wanted) <= bound)[failing].all():
            break
    solved = np.abs(answer - wanted) <= np.maximum(bound, ROUGHLY * np.abs(wanted))
    return (held, slope, solved) if np.count_nonzero(solved & failing) >= NEARLY * np.count_nonzero(failing) else None


def _seen(subject: DivergentStage, name: str, behind: Iterable[Target]) -> Target | None:
    """The input as it stands in a vector that only holds its numbers: in the channels that rightly hold this frame's.

    behind: the stage's answer and what was worked back from it.
    """
    own = subject.before[name].astype(np.float64)
    for vector in behind:
        channels = channels_of(vector.own, own)
        if channels is not None and vector.failing[:, channels].any():
            held, bound = vector.held[:, channels], vector.bound[:, channels]
            return Target(subject, name, own, held, bound, vector.failing[:, channels])
    return None


def _reach(own: FloatArray) -> FloatArray:
    """How far each number is moved: a part of the size of its channel."""
    size = np.maximum(np.abs(own).max(axis=0, keepdims=True), ROUGHLY)
    return np.asarray(np.broadcast_to(_PROBE * size, own.shape))


def _sources(subject: DivergentStage, name: str, own: FloatArray) -> NDArray[np.intp] | None:
    """For each channel of the answer the one of the input that it comes from; see `told_by_digits`."""
    few = subject.few_rows(FEW)
    rows, reach = own[few], _reach(own)[few]
    base = subject.rows_from(name, rows, few)
    return (
        None
        if base is None
        else told_by_digits(own.shape[1], base, lambda chosen: subject.rows_from(name, rows + reach * chosen, few))
    )
