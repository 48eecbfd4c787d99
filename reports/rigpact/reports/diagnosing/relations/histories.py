"""A history that is not read as it should be: a ring buffer, from a fixed slot."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rigpact.reports.diagnosing.relations.moved import ages_of
from rigpact.reports.diagnosing.relations.relation import Reading
from rigpact.reports.diagnosing.relations.subject import Subject


def histories(subject: Subject) -> Iterator[Reading]:
    """A history whose entries stand as they should, turned by one more place each frame."""
    reach = subject.stage.reach_of(subject.contract)[0]
    if not 1 <= reach < len(subject.evidence.frame) or subject.contract.system.windowed:
        return
    ages, sources = ages_of(subject.replayed, subject.inputs, reach + 1)
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
