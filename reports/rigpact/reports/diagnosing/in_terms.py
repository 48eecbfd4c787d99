"""The diagnosis of stages that were not recorded, and that recorded ones tell: simple where the mistake was made."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames, path_of
from rigpact.reports.diagnosing.budget import Budget
from rigpact.reports.diagnosing.diagnosis import Diagnosis
from rigpact.reports.diagnosing.explanation import ONE, beyond, extent_at, first_left
from rigpact.reports.diagnosing.hypotheses import Hypotheses
from rigpact.reports.diagnosing.relations.relation import CLAMPED
from rigpact.reports.diagnosing.relations.terms import with_terms
from rigpact.reports.diagnosing.stage_error import ENOUGH, stage_error

_OF_TERMS = 0.8
"""The share of a budget with which what stages tell of others is searched; what was recorded itself is with the rest."""


def in_terms_of(
    hypotheses: Hypotheses, judged: Diagnosis, budget: Budget, again: Callable[..., Diagnosis]
) -> Diagnosis | None:
    """The diagnosis of the terms that stages only hold, where no single convention explains everything.

    None where they say nothing.
    """
    if budget.is_spent:
        return None
    failing, most = hypotheses.failing({}), budget.part(_OF_TERMS)
    singles = budget.part().within(hypotheses.singles(failing, {}), ONE)
    if any(hypotheses.explains(changes) for changes in singles):
        return None
    agrees_first = sorted(hypotheses.judged, key=failing.__contains__)
    errors = [error for stage in agrees_first if (error := hypotheses.error(stage, {})) is not None]
    with_told = partial(with_terms, hypotheses.evidence, hypotheses.contract, errors)
    likely = [with_told(ENOUGH, through=True), with_told(ENOUGH)]
    others = (
        with_told(least, far=far, behind_terms=behind_terms)
        for least, far, behind_terms in (
            (ENOUGH, False, True),
            (ENOUGH, True, False),
            (0.0, True, True),  # between ticks little is known
        )
    )
    # a mistake is simple where few stages differ
    first = sorted(_that_differ(hypotheses, likely), key=lambda each: len(each[1]))
    best, known = None, [hypotheses.evidence.recorded.keys()]
    for evidence, differs in chain(first, _that_differ(hypotheses, others)):
        if evidence.recorded.keys() in known or _hides(hypotheses, differs, failing):
            continue
        known.append(evidence.recorded.keys())
        found = _carried_on(hypotheses, evidence, again(evidence, budget=most.part(_OF_TERMS)))
        if found.causes or any(relation.is_rule for relation in found.relations):
            found = _as_terms(hypotheses, judged, evidence, found)
            best = found if best is None or says_more(found, best) else best
        if best is not None and is_simple(best, failing):
            break
    return best


def _that_differ(hypotheses: Hypotheses, told: Iterable[Evidence | None]) -> Iterator[tuple[Evidence, Collection[str]]]:
    """What is told, each with the stages that differ then."""
    for evidence in told:
        if evidence is not None:
            yield evidence, Hypotheses(evidence, hypotheses.contract).failing({})


def _as_terms(hypotheses: Hypotheses, judged: Diagnosis, evidence: Evidence, found: Diagnosis) -> Diagnosis:
    """A diagnosis of what was told: the stages that were recorded are said as they are, and of the others those that differ."""
    graph, told = hypotheses.graph, evidence.recorded
    ways = ((stage, path_of(graph, stage, told)) for stage in told if graph[stage].compute is not None)
    holder = {name: stage for stage, way in ways for each in way for name in graph[each].needs}
    claimed = {cause.stage for cause in found.causes} | {relation.stage for relation in found.relations}
    recorded, left = {each.stage for each in judged.stages}, {each.stage: each.remains for each in found.stages}
    terms = (
        replace(each, held_by=each.held_by or holder[each.stage])
        for each in found.stages
        if each.stage not in recorded and (each.stage in claimed or each.remains is not None)
    )
    stages = (replace(each, remains=left.get(each.stage)) for each in judged.stages)
    return replace(found, first_divergence=judged.first_divergence, stages=(*stages, *terms))


def _hides(hypotheses: Hypotheses, differs: Collection[str], failing: Collection[str]) -> bool:
    """Whether a stage that differs does so no more, nor anything on the way to it, as what was told of that is too uncertain."""
    own = hypotheses.evidence.recorded
    return any(path_of(hypotheses.graph, stage, own).isdisjoint(differs) for stage in failing)


def claims(diagnosis: Diagnosis) -> int:
    """How many causes and relations are said."""
    return len(diagnosis.causes) + len(diagnosis.relations)


def is_simple(diagnosis: Diagnosis, failing: Collection[str]) -> bool:
    """Whether one claim, or one for each stage that differs, explains everything.

    A limit does not: it may be that of the stage that holds the term.
    """
    is_limit = any(relation.kind == CLAMPED for relation in diagnosis.relations)
    return diagnosis.verdict == "explained" and claims(diagnosis) <= len(failing) and not is_limit


def says_more(of_terms: Diagnosis, other: Diagnosis) -> bool:
    """Whether it leaves less open. Everything is explained by the fewer claims, a part nearer to the mistake, at a term."""
    left = [2 if not claims(each) else int(each.verdict != "explained") for each in (of_terms, other)]
    return left[0] < left[1] or (left[0] == left[1] and (left[0] == 1 or claims(of_terms) < claims(other)))


def without_rows(found: Diagnosis) -> Diagnosis:
    """The diagnosis as it is said."""
    return replace(found, relations=tuple(relation.without_rows for relation in found.relations))


def _carried_on(hypotheses: Hypotheses, told: Evidence, found: Diagnosis) -> Diagnosis:
    """A diagnosis of what recorded stages tell of others, held against these.

    A limit hides what stood before it, and no claim is judged there; what comes of the claim behind the limit is.
    """
    evidence, graph = hypotheses.evidence, hypotheses.graph
    changes = {knob: value for each in found.causes if not each.breaks for knob, value in each.changes.items()}
    under = hypotheses.contract.with_conventions(changes)
    claimed, off = dict[str, FloatArray](), dict[str, FloatArray]()
    for stage in {cause.stage for cause in found.causes} - evidence.recorded.keys():
        error = stage_error(ReplayedFrames(told, under), stage)
        if error is not None:
            claimed[stage], off[stage] = error.replayed, error.tolerance
    for each in found.relations:
        if each.stage not in evidence.recorded and each.is_rule and each.rows is not None:
            rows, wide = claimed.get(each.stage, told.recorded[each.stage]), off.get(each.stage, told.off[each.stage])
            claimed[each.stage] = np.where(np.isnan(each.rows), rows, each.rows).astype(np.float32)
            off[each.stage] = np.where(np.isnan(each.rows), wide, each.bound)
    follows = graph.after(tuple(claimed))
    beside = {name: rows for name, rows in told.recorded.items() if name in evidence.recorded or name not in follows}
    own_off = {name: wide for name, wide in told.off.items() if name in beside}
    frames = ReplayedFrames(replace(evidence, recorded={**beside, **claimed}, off={**own_off, **off}), under)
    behind = [each for each in hypotheses.judged if claimed.keys() & path_of(graph, each, evidence.recorded)]
    errors = [error for each in behind if (error := stage_error(frames, each)) is not None and not error.ok]
    if errors and found.verdict == "explained":
        left = {error.stage: beyond(error) for error in errors}
        stages = (
            replace(each, remains=extent_at(hypotheses, each.stage, left)) if each.stage in left else each
            for each in found.stages
        )
        first = first_left(hypotheses, left, {}, {}, None)
        found = replace(found, verdict="partly_explained", stages=tuple(stages), first_unexplained=first)
    return without_rows(found)
