"""A history whose entries are of other frames: a ring buffer that is read or turned wrongly, one that is pushed too rarely.

What remembers frames before may also forget them: it begins again in the middle of a run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.relations.relation import CandidateEdit
from rigpact.reports.diagnosing.relations.round_numbers import ordinal
from rigpact.reports.diagnosing.relations.subject import DivergentStage
from rigpact.reports.diagnosing.relations.target import ages_of

_PUSHED = range(2, 9)
_NEVER = -1
"""The age of an entry that nobody writes."""
_RING = "a ring buffer of {} entries "


def histories(subject: DivergentStage) -> Iterator[CandidateEdit]:
    """A history that holds numbers of other frames than it should, by one rule for all of its entries."""
    reach = subject.stage.reach_of(subject.contract)[0]
    if not 1 <= reach < len(subject.evidence.frame) or subject.contract.system.windowed:
        return
    ages, sources = ages_of(subject.replayed, subject.inputs, reach + 1)
    if (ages < 0).any() or ages.max() == ages.min():
        return
    bound = np.broadcast_to(subject.bound.max(axis=0), subject.bound.shape)
    for kind, words, back in _rules(ages, subject.evidence.frame[:, None]):
        rows = np.arange(len(back))[:, None] - np.maximum(back, 0)
        taken = np.take_along_axis(sources, np.maximum(rows, 0), axis=0)
        yield CandidateEdit(kind, words, _with_unwritten(taken, subject.recorded, back == _NEVER), bound)


def restarted(subject: DivergentStage) -> Iterator[CandidateEdit]:
    """A stage that remembers frames before, as if the run began again in the first frame that differs, or in the one before."""
    failing = int(np.flatnonzero(subject.failing.any(axis=1))[0])
    remembers = subject.stage.reach_of(subject.contract)[0] > 0 and not subject.contract.system.windowed
    for first in (failing, failing - 1) if remembers else ():
        if first > 0 and subject.evidence.frame[first] > 0:
            later = subject.evidence.at_rows(range(first, len(subject.evidence.frame)))
            known = {name: rows[first:] for name, rows in subject.before.items()}
            begun = replace(later, frame=later.frame - later.frame[0], recorded={**later.recorded, **known}, drive=None)
            found = subject.rows_of(begun)
            if found is not None and np.isfinite(found).all():
                rows = np.vstack([subject.replayed[:first], found])
                bound = np.broadcast_to(np.nanmax(subject.bound, axis=0), rows.shape)
                words = f"computed as if the run began again at frame {subject.evidence.frame[first]}"
                yield CandidateEdit("restarted", words, rows, bound, pieces=1)


def _with_unwritten(taken: FloatArray, recorded: FloatArray, never: NDArray[np.bool_]) -> FloatArray:
    """The numbers, (T, W), with what stood in memory from the start where nobody writes: what was recorded there at first."""
    first = np.take_along_axis(recorded, never.argmax(axis=0)[None], axis=0)
    return np.where(never, first, taken)


def _rules(ages: NDArray[np.intp], frame: NDArray[np.int64]) -> Iterator[tuple[str, str, NDArray[np.int64]]]:
    """How many frames old each number is, (T, W), by every rule. ages: as it should be, (W,); frame: (T, 1)."""
    newest, length = int(ages.min()), int(ages.max() - ages.min()) + 1
    place = (ages.max() - ages)[None]  # of each number's entry, the oldest first
    ring = _RING.format(length)
    for step in (1, -1):
        for first in range(length):
            slots = place + step * frame + first
            words = f"{ring}that is read from a fixed slot, not from its oldest entry"
            yield "ring", words, newest + length - 1 - slots % length
    for turn, what in (
        (length - 1, "early, so that its last slot is never written"),
        (length + 1, "late, so that a push is lost"),
    ):
        for first in range(turn):
            head = (frame + first) % turn  # the slot that is written next
            for start in range(length):
                slots = (head + start + place) % length
                words = f"{ring}whose head returns to its start one slot too {what}"
                yield "ring", words, np.where(slots < turn, newest + (head - 1 - slots) % turn, _NEVER)
    for count in _PUSHED:
        for first in range(count):
            words = (
                f"a history that is pushed in every {ordinal(count)} frame only (frames {first}, {first + count}, …)"
            )
            yield "pushed", words, newest + (frame - first) % count + count * (ages - newest)[None]
