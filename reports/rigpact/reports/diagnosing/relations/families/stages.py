"""How a stage is computed: what frames before leave in it, and stages that changed places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.stage import Stage
from rigpact.reference_runtime.graph.replayed import ReplayedFrames
from rigpact.reference_runtime.graph.sampled_bound import judging_bound
from rigpact.reports.diagnosing.relations.lines import ordinal
from rigpact.reports.diagnosing.relations.relation import CandidateEdit
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


def orders(subject: DivergentStage) -> Iterator[CandidateEdit]:
    """Every pair of stages on the way, each of one input as wide as itself, the other way round; and either alone, recorded."""
    graph, own, recorded = subject.contract.system.graph, subject.stage, subject.evidence.recorded
    for second in (own, *(graph[name] for name in subject.before if name not in recorded)):
        first = _one_before(subject, second)
        if first is None or first.needs[0] not in subject.before:
            continue
        words = f"computed with {second.name} before {first.name}, not behind it"
        if second is own:
            early = _done(subject, second, subject.before[first.needs[0]])
            yield from () if early is None else _as(subject, first, early, words)
        else:
            found = subject.recomputed("order", words, partial(_exchanged, first, second))
            if found is not None:
                yield found
    behind = [each for each in graph if each.name in recorded and _one_before(subject, each) is own]
    for other in (_one_before(subject, own), *behind) if _is_one(own) else ():
        if other is not None and other.name in recorded and own.needs[0] in subject.before:
            words = f"computed as {other.name} should be: the two are exchanged"
            yield from _as(subject, other, subject.before[own.needs[0]], words)


def _is_one(stage: Stage) -> bool:
    return len(stage.needs) == 1 and not stage.may_use and stage.compute is not None and not stage.is_answer


def _one_before(subject: DivergentStage, stage: Stage) -> Stage | None:
    """The stage that another is computed from, if both have one input and one width."""
    if not _is_one(stage):
        return None
    first = subject.contract.system.graph[stage.needs[0]]
    if not _is_one(first):
        return None
    widths = {subject.contract.fields(name).width for name in (first.needs[0], first.name, stage.name)}
    return first if len(widths) == 1 else None


def _exchanged(first: Stage, second: Stage, known: DivergentStage) -> Mapping[str, FloatArray]:
    """What the second of two stages is if it is done before the first."""
    early = _done(known, second, known.before[first.needs[0]])
    rows = None if early is None else _done(known, first, early)
    return {} if rows is None else {second.name: rows}


def _given(known: DivergentStage, stage: Stage, rows: FloatArray) -> ReplayedFrames:
    """The frames in which a stage's input is other rows."""
    recorded = {**known.evidence.recorded, stage.needs[0]: rows.astype(np.float32)}
    return ReplayedFrames(replace(known.evidence, recorded=recorded), known.contract)


def _done(known: DivergentStage, stage: Stage, rows: FloatArray) -> FloatArray | None:
    """What a stage makes of some rows, (T, W)."""
    return _given(known, stage, rows).computed(stage.name)


def _as(subject: DivergentStage, other: Stage, rows: FloatArray, words: str) -> Iterator[CandidateEdit]:
    """What another stage makes of some rows, as what was recorded here."""
    frames = _given(subject, other, rows)
    found = frames.computed(other.name)
    if found is not None:
        bound = judging_bound(frames, other.name, found).bound + subject.lost_in_writing(subject.recorded)
        yield CandidateEdit("order", words, found.astype(np.float64), np.maximum(bound, subject.bound))
