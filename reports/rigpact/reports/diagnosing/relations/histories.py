"""A history that is not filled as it should be: a ring buffer read from a fixed slot, or one that nothing filled at the start."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.relations.moved import ages_of
from rigpact.reports.diagnosing.relations.relation import Reading, frames_words
from rigpact.reports.diagnosing.relations.subject import Subject

_ENOUGH = 0.5
"""Of the numbers from before the start so many must differ: what was never set is right nowhere."""


def histories(subject: Subject) -> Iterator[Reading]:
    """A ring buffer that is read from a fixed slot; entries that the start of the run left as they were."""
    reach = subject.stage.reach_of(subject.contract)[0]
    if not 1 <= reach < len(subject.evidence.frame) or subject.contract.system.windowed:
        return
    ages, sources = ages_of(subject.replayed, subject.inputs, reach + 1)
    if (ages > 0).any():
        yield from _never_filled(subject, ages)
        yield from _rings(subject, ages, sources)


def _never_filled(subject: Subject, ages: NDArray[np.intp]) -> Iterator[Reading]:
    """All that differs is older than the run, or as old as its first frame, and most of that differs."""
    started = subject.evidence.frame[:, None] - np.maximum(ages, 0)[None]
    for first in (0, 1):
        before, differs = started < first, subject.failing
        tells = np.ptp(subject.replayed, axis=0) > 0.0  # what stands still has no age
        if (differs & ~before)[:, tells].any() or np.count_nonzero(differs & before) < _ENOUGH * np.count_nonzero(
            before[:, tells]
        ):
            continue
        frames = frames_words([int(each) for each in subject.evidence.frame[differs.any(axis=1)]])
        words = f"a history that the start did not fill: in {frames} its entries from before the run are not set"
        rows = np.where(differs, subject.recorded, subject.replayed)
        yield Reading("unset", words, rows, subject.bound)
        return


def _rings(subject: Subject, ages: NDArray[np.intp], sources: FloatArray) -> Iterator[Reading]:
    """The entries stand as they should, turned by one more place each frame."""
    if (ages < 0).any() or ages.max() == ages.min():
        return
    newest, length = int(ages.min()), int(ages.max() - ages.min()) + 1
    frame = subject.evidence.frame
    for step in (1, -1):
        for first in range(length):
            slots = (ages.max() - ages)[None] + step * frame[:, None] + first
            back = newest + length - 1 - slots % length
            rows = np.arange(len(frame))[:, None] - back
            taken = np.take_along_axis(sources, np.maximum(rows, 0), axis=0)
            words = f"a ring buffer of {length} entries that is read from a fixed slot, not from its oldest entry"
            yield Reading("ring", words, taken, np.broadcast_to(subject.bound.max(axis=0), taken.shape))
