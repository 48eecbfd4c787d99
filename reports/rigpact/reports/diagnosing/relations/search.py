"""Find the relation of a stage that no convention explains.

The whole stage comes before its slices and its bones, and a family that says much before one that says little. A reading
is claimed only if it brings almost every frame, and almost every value that differed, within its bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.budget import Budget
from rigpact.reports.diagnosing.hypotheses import Changes, Hypotheses
from rigpact.reports.diagnosing.relations.activations import activations
from rigpact.reports.diagnosing.relations.elsewhere import another_bone, elsewhere
from rigpact.reports.diagnosing.relations.inputs import inputs
from rigpact.reports.diagnosing.relations.numbers import numbers
from rigpact.reports.diagnosing.relations.relation import Reading, Relation
from rigpact.reports.diagnosing.relations.reordered import reordered
from rigpact.reports.diagnosing.relations.scaled import (
    added,
    clamped,
    fewer_bits,
    one_factor,
    one_number,
    scaled,
    stuck,
)
from rigpact.reports.diagnosing.relations.shifted import at_another_speed, held, late, smoothed, sometimes_late
from rigpact.reports.diagnosing.relations.statistics import other_statistics
from rigpact.reports.diagnosing.relations.subject import Place, Subject
from rigpact.reports.diagnosing.relations.turned import turned
from rigpact.reports.diagnosing.stage_error import NEARLY, error_between

Family = Callable[[Subject, Place], Iterator[Reading]]
SAY_MUCH: tuple[Family, ...] = (
    scaled, late, held, sometimes_late, at_another_speed, turned, fewer_bits, reordered, another_bone, activations, inputs,
    numbers, elsewhere,
)  # fmt: skip
"""Readings that fit nothing, or a few numbers, to the whole recording."""
SAY_LITTLE: tuple[Family, ...] = (one_number, stuck, one_factor, added, clamped, smoothed, other_statistics)
"""Readings that take more from the recording itself."""
MOST_FRAMES = 600
"""Ten seconds at 60 frames a second prove a relation; hundreds of readings of an hour would take another."""
PROOF = 4
"""So many values more than were fitted must be explained: a single bit that flips doubles a number too."""
PROOF_OF_MANY = 32
"""Where bounds are as wide as what differs, so many must be: by chance that is one in four thousand million."""


def find_relations(
    hypotheses: Hypotheses, stages: Iterable[str], base: Changes, budget: Budget | None = None
) -> list[Relation]:
    """The relations of stages that no convention explains, each under the conventions that explain the others."""
    found: list[Relation] = []
    budget = budget or Budget.unlimited()
    for stage in stages:
        if budget.cuts(f"the relations of {stage}"):
            continue
        budget.says(f"searching relations of {stage}")
        looked_at = _most_frames(hypotheses, stage, base)
        error = looked_at.error(stage, base)
        if error is None or error.ok:
            continue
        contract = looked_at.contract.with_conventions(base) if base else looked_at.contract
        relations = relations_of(Subject(looked_at.evidence, contract, error, budget=budget))
        frame = looked_at.evidence.frame
        part = "" if looked_at is hypotheses else f"frames {frame[0]} to {frame[-1]} were looked at"
        found += [
            replace(relation, looked_at=part, excess=_in_all_frames(relation.excess, frame, hypotheses.evidence.frame))
            for relation in relations
        ]
    return found


def _in_all_frames(excess: FloatArray, looked_at: NDArray[np.int64], frame: NDArray[np.int64]) -> FloatArray:
    """Errors of the frames that were looked at in their places among all frames; NaN elsewhere."""
    every = np.full((len(frame), excess.shape[1]), np.nan)
    every[np.searchsorted(frame, looked_at)] = excess
    return every


def _most_frames(hypotheses: Hypotheses, stage: str, base: Changes) -> Hypotheses:
    """The hypotheses on at most MOST_FRAMES frames, from shortly before the first that differs."""
    evidence, error = hypotheses.evidence, hypotheses.error(stage, base)
    first = None if error is None else error.first_over
    if first is None or len(evidence.frame) <= MOST_FRAMES or hypotheses.contract.system.windowed:
        return hypotheses
    start = max(0, min(first[0] - MOST_FRAMES // 10, len(evidence.frame) - MOST_FRAMES))
    return Hypotheses(evidence.at_rows(range(start, start + MOST_FRAMES)), hypotheses.contract)


def relations_of(subject: Subject) -> list[Relation]:
    """The relations of one stage: one for all of it, or one for each place that differs."""
    found, possible = list[Relation](), list[Relation]()
    is_open = np.ones(subject.recorded.shape[1], bool)
    for families in (SAY_MUCH, SAY_LITTLE):
        for chosen in (_is_whole, _is_part):
            for family in families:
                if subject.budget.cuts(f"some relations of {subject.stage.name}"):
                    return found
                found += _of_places(subject, family, is_open, chosen, possible)
                if not (subject.failing.any(axis=0) & is_open).any():
                    return found
    return found or (possible if len(possible) == 1 else [])


def _is_whole(place: Place) -> bool:
    return place.is_whole


def _is_part(place: Place) -> bool:
    return not place.is_whole


def _of_places(
    subject: Subject,
    family: Family,
    is_open: NDArray[np.bool_],
    chosen: Callable[[Place], bool],
    possible: list[Relation],
) -> Iterator[Relation]:
    """The relations of one family; the channels of each are closed for the next. possible: gets those of the whole stage
    that hold, where lost digits leave it open whether another holds too."""
    for place in filter(chosen, subject.places(is_open)):
        relation = _first(subject, place, family, possible) if is_open[place.channels].all() else None
        if relation is not None:
            is_open[place.channels] = False
            yield relation


def _first(subject: Subject, place: Place, family: Family, possible: list[Relation]) -> Relation | None:
    with np.errstate(all="ignore"):  # readings compute with values that are not finite; such values never fit
        for reading in family(subject, place):
            fit = _Fit.of(subject, place, reading)
            if fit.holds:
                return fit.relation
            if place.is_whole and fit.may_hold:
                possible.append(fit.relation)
    return None


@dataclass(frozen=True, eq=False)
class _Fit:
    """How well a reading of a place fits. failing: the values that differ; explained: those of them that the reading brings
    within its bound, and that would not be within it anyway; after: errors in tolerances under the reading."""

    subject: Subject
    place: Place
    reading: Reading
    before: FloatArray
    after: FloatArray
    failing: NDArray[np.bool_]
    explained: NDArray[np.bool_]

    @classmethod
    def of(cls, subject: Subject, place: Place, reading: Reading) -> _Fit:
        """Judge a reading."""
        error = error_between(subject.stage, subject.error.recorded, reading.rows, reading.bound)
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
        proof = PROOF + (PROOF + self.reading.fitted) * self._channels_fitted
        if _different(self.subject, self.place, self.explained) < proof:
            return False
        differed = self.failing.any(axis=1)
        return bool(
            np.count_nonzero(self._within & differed) >= NEARLY * np.count_nonzero(differed)
            and np.count_nonzero(self._within) >= NEARLY * np.count_nonzero(self._frames)
        )

    @property
    def may_hold(self) -> bool:
        """Whether it fits every value, and only what lost digits lead to lets most values fit without it too.

        A value beyond the bound that a wrong reading moves anywhere is brought within it by chance at most every other time.
        """
        if self.subject.evidence.precision is None or self.reading.fitted or not self._is_judged:
            return False
        fits_all = not (self.after > 1.0).any()
        return fits_all and _different(self.subject, self.place, self.explained) >= PROOF_OF_MANY

    @property
    def relation(self) -> Relation:
        """The relation that the reading is."""
        excess = np.full(self.subject.recorded.shape, np.nan)
        excess[:, self.place.channels] = self.after
        return Relation(
            self.subject.stage.name, self.place.name, self.reading.kind, self.reading.words,
            int(np.count_nonzero(self._within)), int(np.count_nonzero(self._frames)),
            float(np.nanmax(self.after[self._within], initial=0.0)), excess=excess,
        )  # fmt: skip

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

    @property
    def _channels_fitted(self) -> int:
        return int(np.count_nonzero(self.failing.any(axis=0))) if self.reading.fitted else 0


def _different(subject: Subject, place: Place, explained: NDArray[np.bool_]) -> int:
    """The explained values that are not copies of one another: a window's answer stands in every row, and proves as one."""
    rows, columns = np.nonzero(explained)
    channels = place.channels[columns]
    pairs = (channels.astype(np.float64), subject.recorded[rows, channels], subject.replayed[rows, channels])
    return len(np.unique(np.stack(pairs, axis=1), axis=0))
