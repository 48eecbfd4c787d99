"""How well a reading fits what was recorded: what it explains, in which frames, and whether that is enough to be no chance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.relations.relation import (
    CONSTANT,
    FRAME,
    IN_SOME_FRAMES,
    SIMPLE,
    CandidateEdit,
    ChannelSet,
    Relation,
    in_some_frames,
    is_one_number,
)
from rigpact.reports.diagnosing.relations.subject import DivergentStage
from rigpact.reports.diagnosing.stage_error import NEARLY, error_between

PROOF = 4
"""So many values more than were fitted must be explained: a single bit that flips doubles a number too."""
FLAG = 2
"""A flag has two values: its changes between them prove what different values of a number prove."""
PROOF_OF_MANY = 32
"""Where bounds are as wide as what differs, so many must be: by chance that is one in four thousand million."""


def fits_of(subject: DivergentStage, readings: Iterator[CandidateEdit], possible: list[Relation]) -> Iterator[Fit]:
    """The readings that hold: in every frame, else in those that differ. possible: gets those of the whole stage that hold,
    where lost digits leave it open whether another holds too."""
    with np.errstate(all="ignore"):  # readings compute with values that are not finite; such values never fit
        for reading in readings:
            subject.evidence.work.add(reading.rows)
            changed = np.asarray((reading.rows != subject.replayed).any(axis=0))
            if not (changed & subject.failing.any(axis=0)).any():
                continue
            place = reading.place or _place_of(subject, changed)
            fit = Fit.of(subject, place, reading)
            if place.is_whole and not fit.holds and fit.may_hold:
                possible.append(fit.relation)
            if not fit.is_whole:
                in_some = Fit.of(subject, place, _in_some_frames(subject, place, reading))
                fit = in_some if in_some.is_whole or not fit.holds else fit
            if fit.holds:
                yield fit


def _place_of(subject: DivergentStage, changed: NDArray[np.bool_]) -> ChannelSet:
    """The channels that a reading changes, (W,); all of the stage where it changes every one that differs."""
    if changed[subject.failing.any(axis=0)].all():
        return ChannelSet(subject.stage.name, np.arange(len(changed)), is_whole=True)
    return subject.place_of(np.flatnonzero(changed))


def _in_some_frames(subject: DivergentStage, place: ChannelSet, reading: CandidateEdit) -> CandidateEdit:
    """A reading in the frames that differ, what it should be in the others."""
    differs: NDArray[np.bool_] = np.asarray(subject.failing[:, place.channels].any(axis=1))
    rows = np.where(differs[:, None], reading.rows, subject.replayed)
    bound = np.where(differs[:, None], reading.bound, subject.bound)
    words = in_some_frames(reading.words, differs, subject.evidence.frame)
    chosen = np.zeros_like(subject.failing)
    chosen[:, place.channels] = subject.failing[:, place.channels]
    is_rule = reading.kind == FRAME or not is_one_number(subject.recorded, subject.bound, chosen)
    return replace(
        reading,
        words=words,
        rows=rows,
        bound=bound,
        pieces=reading.pieces + IN_SOME_FRAMES,
        is_rule=reading.is_rule and is_rule,
    )


@dataclass(frozen=True, eq=False)
class Fit:
    """How well a reading of a place fits. failing: the values that differ; explained: those of them that the reading brings
    within its bound, and that would not be within it anyway; after: errors in tolerances under the reading."""

    subject: DivergentStage
    place: ChannelSet
    reading: CandidateEdit
    before: FloatArray
    after: FloatArray
    failing: NDArray[np.bool_]
    explained: NDArray[np.bool_]

    @classmethod
    def of(cls, subject: DivergentStage, place: ChannelSet, reading: CandidateEdit) -> Fit:
        """Judge a reading."""
        bound = np.where(np.isinf(subject.bound), np.inf, reading.bound)  # what says nothing says nothing of a reading
        error = error_between(subject.stage, subject.error.recorded, reading.rows, bound)
        before, after = subject.error.excess[:, place.channels], error.excess[:, place.channels]
        failing = subject.failing[:, place.channels]
        # a wide bound explains nothing: what should be there must not fit too
        would_fit = subject.apart[:, place.channels] <= reading.bound[:, place.channels]
        return cls(subject, place, reading, before, after, failing, failing & (after <= 1.0) & ~would_fit)

    @property
    def holds(self) -> bool:
        """Whether it explains almost every value and frame that differed, and enough of them to be no chance."""
        if np.count_nonzero(self.explained) < NEARLY * np.count_nonzero(self.failing) or not self._is_judged:
            return False
        proof = PROOF + (PROOF - 1) * self.reading.fitted
        different = _different(self.subject, self.place, self.explained)
        is_told = self.reading.kind == CONSTANT and self._is_still and np.count_nonzero(self.explained) >= PROOF_OF_MANY
        if different < proof and not is_told and different + _switches(self.subject, self.channels) < 2 * proof:
            return False
        differed = self.failing.any(axis=1)
        return bool(
            np.count_nonzero(self._within & differed) >= NEARLY * np.count_nonzero(differed)
            and np.count_nonzero(self._within) >= NEARLY * np.count_nonzero(self._frames)
        )

    @property
    def channels(self) -> NDArray[np.bool_]:
        """(W,): the channels that differ and are explained."""
        found = np.zeros(self.subject.recorded.shape[1], bool)
        found[self.place.channels] = self.failing.any(axis=0)
        return found

    @property
    def is_whole(self) -> bool:
        """Whether it holds in every frame."""
        return bool(np.count_nonzero(self._within) == np.count_nonzero(self._frames))

    @property
    def ends_search(self) -> bool:
        """Whether it says so little that nothing shorter is there; a number that stands in every frame leaves no other rule."""
        is_told = self.reading.is_rule or self.reading.kind == CONSTANT
        return self.is_whole and self.reading.cost <= SIMPLE and is_told

    @property
    def count(self) -> int:
        """How many values that differ are within its bound."""
        return int(np.count_nonzero(self.failing & (self.after <= 1.0)))

    @property
    def may_hold(self) -> bool:
        """Whether it fits every value, and only what lost digits lead to lets most values fit without it too.

        A value beyond the bound that a wrong reading moves anywhere is brought within it by chance at most every other time.
        """
        if self.subject.evidence.precision is None or not self._is_judged or (self.after > 1.0).any():
            return False
        return _different(self.subject, self.place, self.explained) >= PROOF_OF_MANY * (1 + self.reading.fitted)

    @property
    def relation(self) -> Relation:
        """The relation that the reading is."""
        channels = self.place.channels
        excess, rows, bound = np.full((3, *self.subject.recorded.shape), np.nan)
        excess[:, channels] = self.after
        rows[:, channels], bound[:, channels] = self.reading.rows[:, channels], self.reading.bound[:, channels]
        source = self.reading.source
        changed = np.flatnonzero((self.reading.rows != self.subject.replayed).any(axis=0))
        return Relation(
            self.subject.stage.name,
            self.place.name,
            self.reading.kind,
            self.reading.words,
            int(np.count_nonzero(self._within)),
            int(np.count_nonzero(self._frames)),
            float(np.nanmax(self.after[self._within], initial=0.0)),
            source="" if source is None else source.name,
            channels=tuple((changed if source is None else source.channels).tolist()),
            excess=excess,
            rows=rows,
            bound=bound,
            cost=self.reading.cost,
            fitted=self.reading.fitted,
            is_rule=self.reading.is_rule,
            frames_left=tuple(self.subject.evidence.frame[self._frames & ~self._within].tolist()),
            family=self.reading.family,
        )

    @property
    def _is_still(self) -> bool:
        """Whether what differs should be one number in every frame, whatever comes in: another number is not a theory."""
        should, inputs = self.subject.replayed[:, self.channels], self.subject.before.values()
        if self.subject.stage.is_answer or self.subject.contract.system.windowed:
            return False  # one window has one answer: it stands in every frame, and proves as one
        return bool((should == should[:1]).all() and any((rows != rows[:1]).any() for rows in inputs))

    @property
    def _is_judged(self) -> bool:
        """Whether the reading leaves almost every value judged."""
        return bool(np.count_nonzero(~np.isnan(self.after)) >= NEARLY * np.count_nonzero(~np.isnan(self.before)))

    @property
    def _frames(self) -> NDArray[np.bool_]:
        return np.asarray(~np.isnan(self.after).all(axis=1))

    @property
    def _within(self) -> NDArray[np.bool_]:
        return np.asarray(self._frames & ~(self.after > 1.0).any(axis=1))


def _switches(subject: DivergentStage, channels: NDArray[np.bool_]) -> int:
    """How often channels of two values change between them, counted in the recording and in the replay.

    Each change of a flag proves what another value of a number would; as both sides are counted, twice as many are asked.
    """
    rows = np.hstack([subject.recorded[:, channels], subject.replayed[:, channels]])
    flags = rows[:, [len(np.unique(column)) == FLAG for column in rows.T]]
    return int(np.count_nonzero(np.diff(flags, axis=0)))


def _different(subject: DivergentStage, place: ChannelSet, explained: NDArray[np.bool_]) -> int:
    """The explained values that are not copies of one another: a window's answer stands in every row, and proves as one."""
    rows, columns = np.nonzero(explained)
    channels = place.channels[columns]
    pairs = (channels.astype(np.float64), subject.recorded[rows, channels], subject.replayed[rows, channels])
    return len(np.unique(np.stack(pairs, axis=1), axis=0))
