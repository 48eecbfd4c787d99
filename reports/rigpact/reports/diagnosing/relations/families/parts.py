"""An input's rotations or vectors taken from another part: the right arm computed with the left arm's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.relations.relation import CandidateEdit, Group, groups_of, listed, names_of
from rigpact.reports.diagnosing.relations.subject import FEW, ROUGHLY, DivergentStage
from rigpact.reports.diagnosing.stage_error import NEARLY


# Every part that differs (a bone, a joint) holds another part, whichever sign its quaternion has.
def another_part(subject: DivergentStage) -> Iterator[CandidateEdit]:
    """Every part that differs (a bone, a joint) holds another part, whichever sign its quaternion has."""
    group = subject.groups[0] if len(subject.groups) == 1 else None
    if group is None or group.part < 3 or not np.isfinite(subject.recorded).all():
        return
    own, recorded, bound = (_parts(rows, group.part) for rows in (subject.replayed, subject.recorded, subject.bound))
    differs = _parts(subject.failing, group.part).any(axis=(0, 2))
    sources = np.arange(own.shape[1])
    for part in np.flatnonzero(differs):
        found = _part_of(subject, own, recorded[:, part], bound)
        if found is None:
            return
        sources[part] = found
    rows = own[:, sources].reshape(subject.recorded.shape)
    moved = np.maximum(bound[:, sources].reshape(rows.shape), subject.bound)
    yield CandidateEdit("another-part", _parts_words(sources), rows, moved)


def _parts(rows: NDArray[Any], size: int) -> NDArray[Any]:
    return rows.reshape(len(rows), -1, size)


def _part_of(subject: DivergentStage, own: FloatArray, recorded: FloatArray, bound: FloatArray) -> int | None:
    """The part of `own` (T, N, k) that `recorded` (T, k) is."""
    apart = np.abs(own - recorded[:, None])
    if subject.stage.measure.has_signless_quaternions:
        other = np.abs(own + recorded[:, None])
        apart = np.where((other.sum(axis=-1) < apart.sum(axis=-1))[..., None], other, apart)
    fits = np.flatnonzero((apart <= 2.0 * bound).all(axis=(0, 2)))
    return int(fits[0]) if len(fits) else None


def _parts_words(sources: NDArray[np.intp]) -> str:
    moved = sources - np.arange(len(sources))
    steps, counts = np.unique(moved[moved != 0], return_counts=True)
    if len(steps) and counts.max() > NEARLY * counts.sum():
        return f"that of the part {int(steps[np.argmax(counts)]):+d} places on, in {int(counts.max())} parts"
    pairs = ", ".join(f"{place} holds {int(sources[place])}" for place in np.flatnonzero(moved)[:3])
    return f"that of other parts ({pairs}, {int(counts.sum())} parts in all)"


_MOST_PARTS = 256


def parts_elsewhere(subject: DivergentStage) -> Iterator[CandidateEdit]:
    """Every part that differs is computed with another part of one input."""
    own = [group for group in subject.groups if group.part >= 3]
    if len(own) != 1:
        return
    for name in subject.inputs:
        for group in groups_of(subject.contract.fields(name)):
            count = (group.stop - group.start) // group.part
            if group.part >= 3 and count == (own[0].stop - own[0].start) // own[0].part and 2 <= count <= _MOST_PARTS:
                sources = _sources(subject, own[0], name, group, count)
                if sources is not None:
                    reading = _reading(subject, name, group, sources)
                    if reading is not None:
                        yield reading


def _sources(subject: DivergentStage, own: Group, name: str, group: Group, count: int) -> NDArray[np.intp] | None:
    """For each part of the stage the part of an input that gives what was recorded; None where a part has none."""
    few = subject.few_rows(FEW)
    failing = subject.failing[:, own.range].reshape(len(subject.recorded), count, own.part).any(axis=(0, 2))
    recorded = subject.recorded[few, own.range].reshape(len(few), count, own.part)
    sources, nearest = np.arange(count), np.full(count, np.inf)
    for step in range(1, count):
        moved = _with_parts(name, group, (np.arange(count) + step) % count, subject)[name]
        rows = subject.rows_from(name, moved[few], few)
        if rows is None:
            return None
        apart = np.abs(rows[:, own.range].reshape(recorded.shape) - recorded).max(axis=(0, 2))
        nearer = failing & (apart < nearest)
        sources[nearer], nearest[nearer] = (np.flatnonzero(nearer) + step) % count, apart[nearer]
    return sources if (nearest[failing] <= ROUGHLY * np.abs(recorded).max()).all() else None


def _with_parts(name: str, group: Group, sources: NDArray[np.intp], known: DivergentStage) -> Mapping[str, FloatArray]:
    rows = known.inputs[name].astype(np.float64)
    parts = rows[:, group.range].reshape(len(rows), -1, group.part)
    rows[:, group.range] = parts[:, sources].reshape(len(rows), -1)
    return {name: rows}


def _reading(subject: DivergentStage, name: str, group: Group, sources: NDArray[np.intp]) -> CandidateEdit | None:
    layout = subject.contract.fields(name)
    named = [names_of(layout, range(start, start + group.part)) for start in range(group.start, group.stop, group.part)]
    moved = np.flatnonzero(sources != np.arange(len(sources)))
    pairs = [f"{named[part]} from {named[sources[part]]}" for part in moved]
    words = f"computed from {name} with other parts: {listed(pairs)}"
    return subject.recomputed("input", words, partial(_with_parts, name, group, sources))
