"""Diagnose a recording as it was gathered: whole, or of some bones, in two parts with one answer.

Stages that were recorded with all bones are judged with all of them, the network's answer too. Every stage is judged on
the recorded bones. Where these fit no convention, they may be other bones than the header says.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.character import character_of, contract_of_bones
from rigpact.contract.findings import EXIT_FINDINGS
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.graph.replayed import Evidence, path_of
from rigpact.reference_runtime.recordings.recording import cut_to
from rigpact.reports.diagnosing.budget import Budget
from rigpact.reports.diagnosing.diagnose import Otherwise, SaysStages, diagnose
from rigpact.reports.diagnosing.diagnosis import Diagnosis, RestsOn, StageVerdict, together
from rigpact.reports.diagnosing.evidence import Gathered, JudgedPart
from rigpact.reports.diagnosing.hypotheses import Hypotheses
from rigpact.reports.diagnosing.judged import is_computed
from rigpact.reports.diagnosing.opened import open_words_in, with_answered_words
from rigpact.reports.diagnosing.relations.relation import Relation

MOST_FRAMES = 60
"""A second of motion tells bones apart; each of them is tried in each place."""
_NEEDS_ALL = "the network looks at all bones: record its inputs and its answer with all of them, and give --onnx"


def diagnose_gathered(
    gathered: Gathered,
    *,
    with_pairs: bool = True,
    allow_unjudged: Collection[str] = (),
    budget: Budget | None = None,
    says_stages: SaysStages | None = None,
    with_alike: bool = True,
    otherwise: Otherwise = lambda: None,
) -> Diagnosis:
    """The diagnosis of everything that was gathered, under the words that its contract leaves open and it answers itself.

    says_stages, otherwise: as `diagnose` has them, for a recording of all bones.
    """
    gathered, answered = with_answered_words(gathered)
    *before, own = gathered.parts
    search = partial(diagnose, with_pairs=with_pairs, budget=budget, with_alike=with_alike)
    if not gathered.recording.bones:
        under = partial(search, own.evidence, allow_unjudged=allow_unjudged, otherwise=otherwise)
        found = under(own.contract, says_stages=says_stages)
        words = {} if found.supposition else open_words_in(found, own.contract)
        if words:
            found = under(own.contract.with_conventions(words))
        return replace(found, answered={**answered, **{knob: (value,) for knob, value in words.items()}})
    whole = before[0] if before else None
    judged = set() if whole is None else set(Hypotheses(whole.evidence, whole.contract).judged)
    found = search(own.evidence, own.contract, allow_unjudged={*allow_unjudged, *judged})
    if found.exit_code == EXIT_FINDINGS and not found.is_one_set_of_conventions:
        found = _as_of_other_bones(found, tuple(_other_bones(gathered, own, budget or Budget.unlimited())))
    found = replace(found, stages=tuple(_about_answers(found.stages, own)))
    if whole is None:
        return replace(found, rests_on=_rests_on(own.contract, ()))
    allowed = {*allow_unjudged, *_judged(found.stages)}
    of_all = search(whole.evidence, whole.contract, allow_unjudged=allowed)
    return replace(_joined(of_all, found, whole, allowed), rests_on=_rests_on(own.contract, of_all.stages))


def _as_of_other_bones(found: Diagnosis, of_others: tuple[Relation, ...]) -> Diagnosis:
    """The diagnosis where the recording is one of other bones: then every stage fits as it is."""
    if not of_others:
        return found
    stages = tuple(replace(stage, remains=None) for stage in found.stages)
    return replace(found, verdict="explained", relations=of_others, causes=(), stages=stages, first_unexplained=None)


def _about_answers(stages: Sequence[StageVerdict], part: JudgedPart) -> Iterator[StageVerdict]:
    """The verdicts; what could not be judged without the network's answer to some bones says what it needs."""
    graph = part.contract.system.graph
    for stage in stages:
        needs_answer = not path_of(graph, stage.stage, part.evidence.recorded).isdisjoint(graph.answers)
        yield replace(stage, needs=_NEEDS_ALL) if stage.ok is None and needs_answer else stage


def _judged(stages: Sequence[StageVerdict]) -> set[str]:
    return {stage.stage for stage in stages if stage.ok is not None}


def _joined(of_all: Diagnosis, of_some: Diagnosis, whole: JudgedPart, allowed: Collection[str]) -> Diagnosis:
    """Both answers as one: what one part could not judge and the other could is judged."""
    graph = whole.contract.system.graph
    either = _judged(of_all.stages) | _judged(of_some.stages)
    parts = [
        replace(part, stages=tuple(each for each in part.stages if each.ok is not None or each.stage not in either))
        for part in (of_all, of_some)
    ]
    if of_all.verdict == "undetermined" and not _unjudged(whole.evidence, graph, {*allowed, *either}):
        parts[0] = replace(parts[0], verdict="agrees")
    return together(parts, graph)


def _unjudged(evidence: Evidence, graph: Any, known: Collection[str]) -> set[str]:
    return {name for name in evidence.recorded if name not in known and is_computed(graph[name], evidence)}


def _rests_on(contract: Contract, of_all: Sequence[StageVerdict]) -> RestsOn:
    others = [
        name for name in character_of(contract.of_all_bones).bone_names if name not in character_of(contract).bone_names
    ]
    judged = _judged(of_all)
    return RestsOn(
        character_of(contract).bone_names, tuple(others), tuple(each.stage for each in of_all if each.stage in judged)
    )


@dataclass(frozen=True, eq=False)
class _Trial:
    """The recording read as that of other bones."""

    gathered: Gathered
    part: JudgedPart
    rows: slice

    def hypotheses(self, bones: Sequence[int]) -> Hypotheses:
        """The recorded rows under the contract of these bones; stages with all bones give these bones' channels."""
        whole, recording = self.part.contract.of_all_bones, self.gathered.recording
        evidence = self.part.evidence
        cut = cut_to(recording.whole, whole, bones)
        recorded = {name: cut[name][: len(rows)] if name in cut else rows for name, rows in evidence.recorded.items()}
        few = {name: rows[self.rows] for name, rows in recorded.items()}
        return Hypotheses(
            replace(evidence, frame=evidence.frame[self.rows], recorded=few), contract_of_bones(whole, bones)
        )


def _other_bones(gathered: Gathered, part: JudgedPart, budget: Budget) -> Iterator[Relation]:
    """The relation that the recording is one of other bones than its header says; none if that is not unmistakable."""
    said, count = gathered.recording.bones, len(character_of(part.contract.of_all_bones).bone_names)
    part = part._replace(evidence=replace(part.evidence, work=budget.work))
    trial = _Trial(gathered, part, slice(MOST_FRAMES))
    fits = np.zeros((len(said), count), bool)
    for shift in budget.within(range(count), "other bones than the header says"):
        tried = [(bone + shift) % count for bone in said]
        fits[np.arange(len(said)), tried] = _fitting(trial.hypotheses(tried), len(said))
    own = fits[np.arange(len(said)), said]
    if budget.is_spent or own.all() or not (own | (fits.sum(axis=1) == 1)).all():
        return
    found = [bone if is_own else int(np.argmax(row)) for bone, is_own, row in zip(said, own, fits, strict=True)]
    if len(set(found)) < len(found):
        return
    frames = len(part.evidence.frame)
    hypotheses = replace(trial, rows=slice(frames)).hypotheses(found)
    if hypotheses.failing({}):
        return
    names = character_of(part.contract.of_all_bones).bone_names
    moved = [
        f"{names[there]} where its header says {names[bone]}"
        for bone, there in zip(said, found, strict=True)
        if bone != there
    ]
    words = ", ".join(moved[:4]) + (f", and {len(moved) - 4} more" if len(moved) > 4 else "")
    stage = Hypotheses(part.evidence, part.contract).failing({})[0]
    yield Relation(
        stage, "the recording", "other_bones", f"that of {words}", frames, frames, hypotheses.worst_excess({})
    )


def _fitting(hypotheses: Hypotheses, count: int) -> NDArray[np.bool_]:
    """For each place among the bones: whether something of it was judged, and everything judged of it fits."""
    judged, beyond = np.zeros(count, bool), np.zeros(count, bool)
    for name in hypotheses.judged:
        error = hypotheses.error(name, {})
        if error is None:
            continue
        for place, channels in enumerate(_channels(hypotheses.contract, name)):
            excess = error.excess[:, channels]
            judged[place] |= bool(np.isfinite(excess).any())
            beyond[place] |= bool((excess > 1.0).any())
    return judged & ~beyond


def _channels(contract: Contract, stage: str) -> list[list[int]]:
    """The channels of each bone in a stage."""
    found: list[list[int]] = [[] for _ in character_of(contract).bone_names]
    place = {name: index for index, name in enumerate(character_of(contract).bone_names)}
    for field in contract.fields(stage):
        if field.bone:
            found[place[field.bone]] += range(field.start, field.stop)
    return found
