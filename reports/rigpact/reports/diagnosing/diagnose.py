"""Find why two sides differ: judge each recorded stage, and name the conventions and relations that explain it.

`explained`: with what was found every judged value is within its bound (remaining.py). What remains is said with its stage and
address, never with a false cause. The stages are judged before the search begins, and `says_stages` hears of them then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from rigpact.contract.conventions import InputOrder
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.stage import Graph
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames, path_of
from rigpact.reports.diagnosing.budget import Budget
from rigpact.reports.diagnosing.diagnosis import Cause, Diagnosis, Divergence, Sampled, StageVerdict, Verdict
from rigpact.reports.diagnosing.explanation import (
    Explanation,
    beyond,
    extent_at,
    first_divergence,
    first_left,
    first_not_finite,
    remaining,
    search,
)
from rigpact.reports.diagnosing.hypotheses import Changes, Hypotheses
from rigpact.reports.diagnosing.in_terms import claims, in_terms_of, is_simple, says_more, without_rows
from rigpact.reports.diagnosing.judged import is_computed, what_was_seen, without_verdict
from rigpact.reports.diagnosing.relations.relation import Relation
from rigpact.reports.diagnosing.stage_error import (
    StageError,
    WorstChannel,
    error_between,
    largest_in_unit,
)

SaysStages = Callable[[Sequence[StageVerdict], Divergence | None], None]
"""Is told of every stage and of the first divergence before a search begins."""
Otherwise = Callable[[], Diagnosis | None]
"""The diagnosis under another choice of the files at hand; None where none explains more than the files that were given."""


def diagnose(
    evidence: Evidence,
    contract: Contract,
    *,
    with_pairs: bool = True,
    allow_unjudged: Collection[str] = (),
    budget: Budget | None = None,
    says_stages: SaysStages | None = None,
    with_alike: bool = True,
    in_terms: bool = True,
    otherwise: Otherwise = lambda: None,
) -> Diagnosis:
    """Judge every recorded stage and search for what explains those that differ.

    allow_unjudged: recorded stages that may stay unjudged in a recording that agrees; any other leaves the answer undetermined.
    budget: how long to search; without one the search goes to its end. with_alike: say what a recording that agrees does not
    tell apart. in_terms: whether to look at what recorded stages tell of others first. otherwise: is asked where conventions
    alone do not explain all, before relations are searched.
    """
    budget = budget or Budget.unlimited()
    hypotheses = Hypotheses(replace(evidence, work=budget.work), contract)
    stages = tuple(_stage_verdicts(hypotheses))
    not_finite = first_not_finite(evidence, contract)
    first = first_divergence(hypotheses, {stage: {} for stage in hypotheses.judged}, not_finite)
    if not hypotheses.judged:
        return Diagnosis("undetermined", not_finite, stages, (), ())
    if not hypotheses.failing({}):
        agrees = _verdict_without_failures(hypotheses, first, allow_unjudged)
        alike = tuple(_indistinguishable(hypotheses, {}, budget)) if with_alike else ()
        cut = budget.search if budget.was_cut else None
        return Diagnosis(agrees, first, stages, (), alike, seen=what_was_seen(hypotheses), search=cut)
    if says_stages is not None:
        says_stages(stages, first)
    budget.start()
    judged = Diagnosis("unexplained", first, stages, (), ())
    again = partial(diagnose, contract=contract, with_pairs=with_pairs, with_alike=False, in_terms=False)
    told = in_terms_of(hypotheses, judged, budget, again) if in_terms else None
    if told is not None and is_simple(told, hypotheses.failing({})):
        forgotten = None if evidence.fed_back is None else otherwise()  # what nothing records may be handed on never
        return told if forgotten is None or forgotten.verdict != "explained" else forgotten
    is_one = told is not None and told.verdict == "explained" and claims(told) == 1  # two say no less
    causes, unresolved = search(hypotheses, with_pairs=with_pairs and not is_one, budget=budget)
    everywhere = {
        knob: value for each in causes if each.stage not in unresolved for knob, value in each.changes.items()
    }
    found = [_cause(hypotheses, explanation, everywhere) for explanation in causes]
    answer = partial(_answer, hypotheses, budget, judged, not_finite, found, unresolved, everywhere)
    best = answer(())
    if not best.is_one_set_of_conventions:
        best = otherwise() or best
    if unresolved and best.supposition is None:
        best = answer(*_relations(hypotheses, found, unresolved, everywhere, budget))
    if told is not None and says_more(told, best):
        best = told
    verdict = "undetermined" if best.is_open and budget.was_cut else best.verdict  # what was not tried may explain it
    best = replace(best, search=budget.search, verdict=verdict)
    return without_rows(best) if in_terms else best


def _answer(
    hypotheses: Hypotheses,
    budget: Budget,
    judged: Diagnosis,
    not_finite: Divergence | None,
    found: Sequence[Cause],
    unresolved: Sequence[str],
    everywhere: Changes,
    relations: Sequence[Relation],
    of_the_rest: Sequence[Relation] = (),
) -> Diagnosis:
    """The diagnosis with what explains the stages that differ, and what remains.

    of_the_rest: what is told of frames that conventions leave which explain the others.
    """
    better = {relation.stage for relation in relations if relation.is_rule and relation.is_whole}
    named = tuple(cause for cause in found if not (_is_in_part(hypotheses, cause) and cause.stage in better))
    partly = {each.stage: each.changes for each in named if each.is_partial or _holds_alone(hypotheses, each)}
    left = remaining(hypotheses, everywhere, partly, relations, of_the_rest)
    explained = not left and not_finite is None
    has_rule = bool(named) or any(relation.is_rule for relation in relations)
    verdict: Verdict = "explained" if explained else "partly_explained" if has_rule else "unexplained"
    return replace(
        judged,
        verdict=verdict,
        stages=tuple(replace(each, remains=extent_at(hypotheses, each.stage, left)) for each in judged.stages),
        causes=named,
        indistinguishable=tuple(_indistinguishable(hypotheses, everywhere, budget))
        if not unresolved and explained
        else (),
        relations=(*relations, *of_the_rest),
        first_unexplained=None if explained else first_left(hypotheses, left, everywhere, partly, not_finite),
    )


def _is_in_part(hypotheses: Hypotheses, cause: Cause) -> bool:
    """Whether it leaves frames of its stage, or cannot be: what breaks another stage that shares something with its own."""
    return cause.is_partial or (bool(cause.breaks) and not _holds_alone(hypotheses, cause))


def _holds_alone(hypotheses: Hypotheses, cause: Cause) -> bool:
    """Whether changes may hold at one stage while others fit only without: the two share nothing that was not recorded."""
    evidence, graph = hypotheses.evidence, hypotheses.graph
    own, others = (
        frozenset[str]().union(*(path_of(graph, stage, evidence.recorded) for stage in stages))
        for stages in ((cause.stage,), cause.breaks)
    )
    return bool(cause.breaks) and evidence.mode != "free" and own.isdisjoint(others)


def _relations(
    hypotheses: Hypotheses, causes: Sequence[Cause], unresolved: Sequence[str], base: Changes, budget: Budget
) -> tuple[list[Relation], list[Relation]]:
    """The relations of the stages that no convention explains in every frame, under the conventions that explain others.

    Where a convention explains some frames, only a relation that explains more of them is one; where none does, the second
    list tells of the frames that it leaves.
    """
    from rigpact.reports.diagnosing.relations.search import find_relations  # thirty modules that most runs do not need

    at_one_stage = {cause.stage for cause in causes if not _is_in_part(hypotheses, cause)}
    stages = [stage for stage in unresolved if stage not in at_one_stage]
    explained = {cause.stage: cause.frames_explained for cause in causes if _is_in_part(hypotheses, cause)}
    found = find_relations(hypotheses, stages, base, budget)
    whole = {cause.stage for cause in causes if not cause.is_partial}
    better = [  # what breaks others gives way to what explains as much
        each
        for each in found
        if each.frames_explained > explained.get(each.stage, -1)
        or (each.stage in whole and each.is_whole and each.is_rule)
    ]
    rest = [each for each in causes if each.is_partial and each.stage not in {relation.stage for relation in better}]
    under = (find_relations(hypotheses, [each.stage], {**base, **each.changes}, budget) for each in rest)
    return better, [relation for found in under for relation in found]


def _verdict_without_failures(
    hypotheses: Hypotheses, first: Divergence | None, allow_unjudged: Collection[str]
) -> Verdict:
    """`agrees` only if something that the run computes was judged, and every recorded value of it."""
    if first is not None:
        return "unexplained"
    judged = any(is_computed(hypotheses.graph[stage], hypotheses.evidence) for stage in hypotheses.judged)
    return "agrees" if judged and not without_verdict(hypotheses) - set(allow_unjudged) else "undetermined"


def _cause(hypotheses: Hypotheses, explanation: Explanation, everywhere: Changes) -> Cause:
    """everywhere: the conventions that hold for the whole recording; those that hold at one stage break others."""
    stage, before, contract = explanation.stage, explanation.base, hypotheses.contract
    after = {**before, **explanation.changes}
    errors = [hypotheses.error(stage, changes) for changes in (before, after)]
    is_everywhere = all(everywhere.get(knob) == value for knob, value in explanation.changes.items())
    breaks = set() if is_everywhere else set(hypotheses.failing(after)) - set(hypotheses.failing(before))
    knobs = contract.system.knobs
    worst = WorstChannel(None, None, None) if errors[1] is None else errors[1].worst_channel
    return Cause(
        stage=stage,
        changes=explanation.changes,
        equivalents=explanation.equivalents,
        error_before=_size(errors[0], contract),
        error_after=_size(errors[1], contract),
        unit=hypotheses.graph[stage].shown_unit,
        code_hints=tuple(knobs[knob].hint(value) for knob, value in explanation.changes.items()),
        frames_explained=0 if errors[1] is None else errors[1].frames_within,
        frames=0 if errors[1] is None else errors[1].frames_judged,
        channel_error=worst.error,
        tolerance=worst.tolerance,
        ratio=worst.ratio,
        frames_left=() if errors[1] is None else tuple(hypotheses.evidence.frame[errors[1].rows_over].tolist()),
        breaks=tuple(each for each in hypotheses.judged if each in breaks),
    )


def _size(error: StageError | None, contract: Contract) -> float:
    return float("nan") if error is None else largest_in_unit(error, contract)


def _stage_verdicts(hypotheses: Hypotheses) -> list[StageVerdict]:
    evidence, contract = hypotheses.evidence, hypotheses.contract
    inherited, verdicts = _inherited(hypotheses), []
    for stage in hypotheses.graph:
        if stage.name not in evidence.recorded or not is_computed(stage, evidence):
            continue
        unit = stage.shown_unit
        error = hypotheses.error(stage.name, {}) if stage.name in hypotheses.judged else None
        if error is None:
            needs = needed_for(hypotheses.graph, stage.name, evidence)
            verdicts.append(StageVerdict(stage.name, None, None, None, None, None, None, unit, needs))
            continue
        own = _judged_verdict(error, inherited.get(stage.name), unit, contract)
        verdicts.append(replace(own, differs=extent_at(hypotheses, stage.name, {stage.name: beyond(error)})))
    return verdicts


def _judged_verdict(error: StageError, inherited: float | None, unit: str, contract: Contract) -> StageVerdict:
    """The verdict on a stage; neither right nor wrong if it fits, but some of its values are undetermined."""
    worst, undetermined = error.worst_channel, error.ok and error.undetermined
    needs = (
        f"rounding alone may change {error.undetermined} of its values by their whole range" if undetermined else None
    )
    return StageVerdict(
        error.stage,
        local_error=largest_in_unit(error, contract),
        inherited_error=inherited,
        channel_error=worst.error,
        tolerance=worst.tolerance,
        ratio=worst.ratio,
        ok=None if undetermined else error.ok,
        unit=unit,
        needs=needs,
        sampled=_sampled(error),
    )


def _sampled(error: StageError) -> Sampled | None:
    """What a sampled bound judged of a stage, shown where the worst case is the largest."""
    if error.judging is None or not error.judging.is_sampled.any():
        return None
    worst = np.where(error.judging.is_sampled, error.judging.worst_case, 0.0)
    place = np.unravel_index(int(np.argmax(worst)), worst.shape)
    worst_case = float(worst[place])
    return Sampled(
        int(np.count_nonzero(error.judging.is_sampled)),
        worst.size,
        float(error.tolerance[place]),
        worst_case if np.isfinite(worst_case) else None,
    )


def needed_for(graph: Graph, stage: str, evidence: Evidence) -> str:
    """What to record or to give so that a stage can be judged."""
    recorded, path = evidence.recorded, path_of(graph, stage, evidence.recorded)
    sources = [
        each.source
        for each in graph
        if each.name in path and each.source and not (each.name != stage and each.name in recorded)
    ]
    before = (*graph[stage].needs, *((graph[stage].carried,) if graph[stage].compute is None else ()))
    parents = [parent for parent in before if parent is not None and parent not in recorded]
    record = f"record {', '.join(parents)}" if parents else ""
    return " or ".join(word for word in (record, *dict.fromkeys(sources)) if word) or "more frames with finite values"


def _inherited(hypotheses: Hypotheses) -> Mapping[str, float]:
    """The inherited error of each stage: correctly computed from the engine's inputs, against the correct run."""
    sizes, start, contract = dict[str, float](), 0, hypotheses.contract
    for block, rows in ReplayedFrames(hypotheses.evidence, contract, chained=True).blocks():
        here = slice(start, start + len(block.frame[rows]))
        for stage in hypotheses.judged:
            error, reference = hypotheses.error(stage, {}), block.computed(stage)
            if error is not None and reference is not None:
                own = error.replayed[here]
                tolerance = np.where(np.isnan(error.excess[here]), np.inf, error.tolerance[here])
                part = error_between(hypotheses.graph[stage], own, reference[rows], tolerance)
                sizes[stage] = max(sizes.get(stage, 0.0), largest_in_unit(part, contract))
        start = here.stop
    return sizes


def _indistinguishable(hypotheses: Hypotheses, accepted: Changes, budget: Budget) -> list[tuple[str, Any]]:
    """Single changes that fit this data as well as the conventions that explain it."""
    found = []
    every = hypotheses.singles(hypotheses.judged, accepted)
    for changes in budget.anew().within(every, "what else fits this recording"):
        (knob,) = changes.keys() - accepted.keys()
        if not isinstance(hypotheses.contract.system.knobs[knob], InputOrder) and hypotheses.allows(changes):
            found.append((knob, changes[knob]))
    return found
