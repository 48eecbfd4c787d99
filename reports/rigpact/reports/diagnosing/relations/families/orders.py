"""Two stages that follow one another take each other's place: `clip` before `affine`, not behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.stage import Stage
from rigpact.reference_runtime.graph.replayed import ReplayedFrames
from rigpact.reference_runtime.graph.sampled_bound import judging_bound
from rigpact.reports.diagnosing.relations.relation import CandidateEdit
from rigpact.reports.diagnosing.relations.subject import DivergentStage


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
