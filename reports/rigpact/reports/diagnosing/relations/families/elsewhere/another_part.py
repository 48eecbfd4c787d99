"""Every part that differs (a bone, a joint) holds another part, whichever sign its quaternion has."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.relations.relation import Reading
from rigpact.reports.diagnosing.relations.subject import Subject
from rigpact.reports.diagnosing.stage_error import NEARLY


def another_part(subject: Subject) -> Iterator[Reading]:
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
    yield Reading("another-part", _parts_words(sources), rows, moved)


def _parts(rows: NDArray[Any], size: int) -> NDArray[Any]:
    return rows.reshape(len(rows), -1, size)


def _part_of(subject: Subject, own: FloatArray, recorded: FloatArray, bound: FloatArray) -> int | None:
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
