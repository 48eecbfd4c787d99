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
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reports.diagnosing.relations.moved import channels_of
from rigpact.reports.diagnosing.relations.relation import Reading
from rigpact.reports.diagnosing.relations.subject import Channels, Group, Place, Subject, groups_of, names_of, places_of

Rule = Callable[[FloatArray], FloatArray]
"""What should be there, every channel of it, to what was there, in the channels that it is said of."""
_OPERATIONS = 8
"""What a rule does to a number, and storing it, on each side."""
_PROBE = 2.0**-6
"""How far an input is moved, in parts of its size: the answer's rounding must stay small beside what the move does."""
_ROUNDS = 4
"""Newton's steps from what should be there to what was: one for what is linear."""
_FEW_ROWS = 6


@dataclass(frozen=True, eq=False)
class Target:
    """Numbers that differ from what they should be, (T, W) each.

    name: the input that they are; "" for the stage's own answer. own: what should be there. held: what was there. bound: how far
    rounding may move `held` from a right `own`. failing: where they differ.
    """

    subject: Subject
    name: str
    own: FloatArray
    held: FloatArray
    bound: FloatArray
    failing: NDArray[np.bool_]

    @property
    def it(self) -> str:
        """What an edit is made of, in words."""
        return self.name or "what it should be"

    def of_frame(self, lag: int) -> str:
        """The same of another frame, in words."""
        return f"the {self.name} of frame t{lag:+d}" if self.name else f"the answer of frame t{lag:+d}"

    @cached_property
    def layout(self) -> FieldLayout:
        """The fields of its channels."""
        contract = self.subject.contract
        stage = contract.system.graph[self.name] if self.name else self.subject.stage
        return stage.fields(contract)

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

    def places(self, is_open: NDArray[np.bool_]) -> list[Place]:
        """Where an edit may have been made: everywhere, in each slice, in the parts that differ."""
        return places_of(self.name or self.subject.stage.name, self.layout, self.failing, is_open)

    def reading(
        self, kind: str, words: str, channels: Channels, rule: Rule, *,
        steepness: float | FloatArray = 1.0, extra: float | FloatArray = 0.0, fitted: int = 0,
    ) -> Reading | None:  # fmt: skip
        """The stage with `rule(own)` in some channels, (T, W) to (T, len(channels)); None where that is far from the recorded.

        words: of an input, without "computed from". steepness: how much the rule enlarges an error of `own`. extra: how far its
        other numbers may be off.
        """
        subject = self.subject
        if self.name:
            changed = partial(_changed, self.name, channels, rule)
            words = f"computed from {words}{self._where(channels)}"
            return subject.recomputed("input", words, changed, fitted=fitted)
        rows = rule(self.own)
        bound = np.maximum(np.abs(steepness), 0.0) * subject.unwritten[:, channels] + extra
        bound = bound + subject.lost_in_writing(subject.recorded[:, channels]) + gamma(_OPERATIONS) * np.abs(rows)
        return subject.reading(subject.place_of(channels), kind, words, rows, bound, fitted)

    def _where(self, channels: Channels) -> str:
        return "" if len(channels) == self.own.shape[1] else f" at {names_of(self.layout, channels)}"


def _changed(name: str, channels: Channels, rule: Rule, known: Subject) -> Mapping[str, FloatArray]:
    changed = known.inputs[name].astype(np.float64)
    changed[:, channels] = rule(changed)
    return {name: changed}


def targets(subject: Subject) -> Iterator[Target]:
    """The stage's answer, then each of its inputs that can be worked back from it."""
    yield Target(subject, "", subject.replayed, subject.recorded, subject.bound, subject.failing)
    if subject.stage.is_answer:
        return
    for name in subject.inputs:
        found = _worked_back(subject, name) or _seen(subject, name)
        if found is not None:
            yield found


def _worked_back(subject: Subject, name: str) -> Target | None:
    """The input that gives what was recorded, where each number of the answer comes from one number of the input.

    Newton's method for each number; None where a number of the answer depends on several of the input, or it does not end.
    """
    own = subject.inputs[name].astype(np.float64)
    if not (np.isfinite(own).all() and np.isfinite(subject.recorded).all()):
        return None
    sources = _sources(subject, name, own)
    if sources is None:
        return None
    known = sources >= 0
    taken = sources[known]
    if len(np.unique(taken)) < len(taken):
        return None
    wanted, bound = subject.recorded[:, known], subject.bound[:, known]
    failing = subject.failing[:, known]
    if failing.sum() < subject.failing.sum():
        return None  # what differs comes from somewhere else
    held, answer = own.copy(), subject.replayed[:, known]
    slope = np.ones_like(answer)
    reach = _reach(own)[:, taken]
    for _ in range(_ROUNDS):
        moved = held.copy()
        moved[:, taken] += reach
        beside = subject.rows_from(name, moved)
        if beside is None:
            return None
        slope = (beside[:, known] - answer) / reach
        with np.errstate(invalid="ignore", divide="ignore"):
            step = np.where(failing & (slope != 0.0), (wanted - answer) / slope, 0.0)
        held[:, taken] += np.where(np.isfinite(step), step, 0.0)
        found = subject.rows_from(name, held)
        if found is None:
            return None
        answer = found[:, known]
        if (np.abs(answer - wanted) <= bound)[failing].all():
            break
    solved = np.abs(answer - wanted) <= np.maximum(bound, 1e-5 * np.abs(wanted))
    if np.count_nonzero(solved & failing) < 0.9 * np.count_nonzero(failing):
        return None
    all_failing, all_bound = np.zeros(own.shape, bool), np.zeros(own.shape)
    all_failing[:, taken] = failing & solved
    with np.errstate(divide="ignore", invalid="ignore"):
        all_bound[:, taken] = np.where(slope != 0.0, 2.0 * bound / np.abs(slope), np.inf)
    all_bound += np.abs(held) * 2.0**-22
    return Target(subject, name, own, held, all_bound, all_failing)


def _seen(subject: Subject, name: str) -> Target | None:
    """The input as it stands in a stage that only holds its numbers: in the channels that rightly hold this frame's."""
    own = subject.inputs[name]
    channels = channels_of(subject.replayed, own)
    if channels is None or not subject.failing[:, channels].any():
        return None
    held, bound = subject.recorded[:, channels], subject.bound[:, channels]
    return Target(subject, name, own.astype(np.float64), held, bound, subject.failing[:, channels])


def _reach(own: FloatArray) -> FloatArray:
    """How far each number is moved: a part of the size of its channel."""
    size = np.maximum(np.abs(own).max(axis=0, keepdims=True), 1e-3)
    return np.asarray(np.broadcast_to(_PROBE * size, own.shape))


def _sources(subject: Subject, name: str, own: FloatArray) -> NDArray[np.intp] | None:
    """For each channel of the answer the one of the input that it comes from, -1 for none; None where it comes from several.

    Each channel of the input is moved in the trials that the digits of its number name: the answer's channels tell the digits.
    """
    width, few = own.shape[1], subject.few_rows(_FEW_ROWS)
    rows, reach = own[few], _reach(own)[few]
    base = subject.rows_from(name, rows, few)
    if base is None:
        return None
    numbers = np.arange(width)
    found = np.zeros(base.shape[1], int)
    inverse = np.zeros(base.shape[1], int)
    bits = max(1, int(width - 1).bit_length())
    for bit in range(bits):
        chosen = (numbers >> bit) & 1
        for which, total in ((chosen, found), (1 - chosen, inverse)):
            moved = subject.rows_from(name, rows + reach * which, few)
            if moved is None:
                return None
            total += np.where((moved != base).any(axis=0), 1 << bit, 0)
    full = (1 << bits) - 1
    depends = (found | inverse) > 0
    if not depends.any() or (found & inverse)[depends].any() or ((found | inverse)[depends] != full).any():
        return None
    return np.where(depends, found, -1)
