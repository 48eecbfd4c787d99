"""Find the relation of a stage that no convention explains.

The whole stage comes before its slices and its bones, and a family that says much before one that says little. A reading
is claimed only if it brings almost every frame, and almost every value that differed, within its bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rigpact.reports.diagnosing.explanation import NEARLY
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
from rigpact.reports.diagnosing.stage_error import error_between

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


def find_relations(hypotheses: Hypotheses, stages: Iterable[str], base: Changes) -> list[Relation]:
    """The relations of stages that no convention explains, each under the conventions that explain the others."""
    found: list[Relation] = []
    for stage in stages:
        looked_at = _most_frames(hypotheses, stage, base)
        error = looked_at.error(stage, base)
        if error is None or error.ok:
            continue
        contract = looked_at.contract.with_conventions(base) if base else looked_at.contract
        relations = relations_of(Subject(looked_at.evidence, contract, error))
        frame = looked_at.evidence.frame
        part = "" if looked_at is hypotheses else f"frames {frame[0]} to {frame[-1]} were looked at"
        found += [replace(relation, looked_at=part) for relation in relations]
    return found


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
    found: list[Relation] = []
    is_open = np.ones(subject.recorded.shape[1], bool)
    for families in (SAY_MUCH, SAY_LITTLE):
        for chosen in (_is_whole, _is_part):
            for family in families:
                found += _of_places(subject, family, is_open, chosen)
                if not (subject.failing.any(axis=0) & is_open).any():
                    return found
    return found


def _is_whole(place: Place) -> bool:
    return place.is_whole


def _is_part(place: Place) -> bool:
    return not place.is_whole


def _of_places(
    subject: Subject, family: Family, is_open: NDArray[np.bool_], chosen: Callable[[Place], bool]
) -> Iterator[Relation]:
    """The relations of one family; the channels of each are closed for the next."""
    for place in filter(chosen, subject.places(is_open)):
        relation = _first(subject, place, family) if is_open[place.channels].all() else None
        if relation is not None:
            is_open[place.channels] = False
            yield relation


def _first(subject: Subject, place: Place, family: Family) -> Relation | None:
    with np.errstate(all="ignore"):  # readings compute with values that are not finite; such values never fit
        judged = (_judged(subject, place, reading) for reading in family(subject, place))
        return next((relation for relation in judged if relation is not None), None)


def _judged(subject: Subject, place: Place, reading: Reading) -> Relation | None:
    """The relation, if it holds; None otherwise."""
    error = error_between(subject.stage, subject.error.recorded, reading.rows, reading.bound)
    before, after = subject.error.excess[:, place.channels], error.excess[:, place.channels]
    failing = subject.failing[:, place.channels]
    if np.count_nonzero(~np.isnan(after)) < NEARLY * np.count_nonzero(~np.isnan(before)):
        return None
    # a wide bound explains nothing: what should be there must not fit too
    would_fit = subject.apart[:, place.channels] <= reading.bound[:, place.channels]
    explained = failing & (after <= 1.0) & ~would_fit
    wanted = np.count_nonzero(failing)
    if np.count_nonzero(explained) < NEARLY * wanted:
        return None
    if _different(subject, place, explained) < PROOF + (PROOF + reading.fitted) * _fits(reading, failing):
        return None
    frames = ~np.isnan(after).all(axis=1)
    within = frames & ~(after > 1.0).any(axis=1)
    differed = failing.any(axis=1)
    if np.count_nonzero(within & differed) < NEARLY * np.count_nonzero(differed):
        return None
    if np.count_nonzero(within) < NEARLY * np.count_nonzero(frames):
        return None
    ratio = float(np.nanmax(after[within], initial=0.0))
    return Relation(
        subject.stage.name, place.name, reading.kind, reading.words, int(np.count_nonzero(within)),
        int(np.count_nonzero(frames)), ratio,
    )  # fmt: skip


def _different(subject: Subject, place: Place, explained: NDArray[np.bool_]) -> int:
    """The explained values that are not copies of one another: a window's answer stands in every row, and proves as one."""
    rows, columns = np.nonzero(explained)
    channels = place.channels[columns]
    pairs = (channels.astype(np.float64), subject.recorded[rows, channels], subject.replayed[rows, channels])
    return len(np.unique(np.stack(pairs, axis=1), axis=0))


def _fits(reading: Reading, failing: NDArray[np.bool_]) -> int:
    """Channels that a reading was fitted in."""
    return int(np.count_nonzero(failing.any(axis=0))) if reading.fitted else 0
