"""Find why two sides differ: judge each recorded stage, and name the convention that explains it (explanation.py).

A defect that is not a convention gets the verdict `unexplained` with stage and address, never a false cause.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from rigpact.contract.conventions import InputOrder
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.stage import Graph
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames, path_of
from rigpact.reports.comparing.address import channel_address
from rigpact.reports.diagnosing.diagnosis import Cause, Diagnosis, Divergence, Sampled, StageVerdict, Verdict
from rigpact.reports.diagnosing.explanation import Explanation, search
from rigpact.reports.diagnosing.hypotheses import Changes, Hypotheses
from rigpact.reports.diagnosing.relations.relation import Relation
from rigpact.reports.diagnosing.relations.search import find_relations
from rigpact.reports.diagnosing.seen.judged import is_computed, what_was_seen, without_verdict
from rigpact.reports.diagnosing.stage_error import StageError, WorstChannel, error_between, largest_in_unit


def diagnose(
    evidence: Evidence, contract: Contract, *, with_pairs: bool = True, allow_unjudged: Collection[str] = ()
) -> Diagnosis:
    """Judge every recorded stage and search for the conventions that explain those that differ.

    allow_unjudged: recorded stages that may stay unjudged in a recording that agrees; any other leaves the answer undetermined.
    """
    hypotheses = Hypotheses(evidence, contract)
    stages = tuple(_stage_verdicts(hypotheses))
    not_finite = _first_not_finite(evidence, contract)
    if not hypotheses.judged:
        return Diagnosis("undetermined", not_finite, stages, (), ())
    first = _first_divergence(hypotheses, {stage: {} for stage in hypotheses.judged}, not_finite)
    if not hypotheses.failing({}):
        agrees = _verdict_without_failures(hypotheses, first, allow_unjudged)
        alike = tuple(_indistinguishable(hypotheses, {}))
        return Diagnosis(agrees, first, stages, (), alike, seen=what_was_seen(hypotheses))
    causes, unresolved = search(hypotheses, with_pairs=with_pairs)
    explained = not unresolved and not_finite is None
    accepted = {knob: value for cause in causes for knob, value in cause.changes.items()}
    found = [_cause(hypotheses, explanation) for explanation in causes]
    alike = tuple(_indistinguishable(hypotheses, accepted)) if explained else ()
    relations = _relations(hypotheses, found, unresolved)
    better = {relation.stage for relation in relations if relation.is_whole}
    named = tuple(cause for cause in found if not (cause.is_partial and cause.stage in better))
    left = None if explained else _first_unexplained(hypotheses, found, unresolved, relations, not_finite)
    verdict: Verdict = "explained" if explained else "unexplained"
    return Diagnosis(verdict, first, stages, named, alike, relations=relations, first_unexplained=left)


def first_divergence(evidence: Evidence, contract: Contract) -> Divergence | None:
    """The first frame that differs and, in it, the first stage; nothing is searched."""
    hypotheses = Hypotheses(evidence, contract)
    return _first_divergence(
        hypotheses, {stage: {} for stage in hypotheses.judged}, _first_not_finite(evidence, contract)
    )


def _relations(hypotheses: Hypotheses, causes: Sequence[Cause], unresolved: Sequence[str]) -> tuple[Relation, ...]:
    """The relations of the stages that no convention explains in every frame, under the conventions that explain others."""
    base = _base(causes, unresolved)
    at_one_stage = {cause.stage for cause in causes if not cause.is_partial}
    return tuple(find_relations(hypotheses, [stage for stage in unresolved if stage not in at_one_stage], base))


def _verdict_without_failures(
    hypotheses: Hypotheses, first: Divergence | None, allow_unjudged: Collection[str]
) -> Verdict:
    """`agrees` only if every recorded value was judged that the run computes."""
    if first is not None:
        return "unexplained"
    return "undetermined" if without_verdict(hypotheses) - set(allow_unjudged) else "agrees"


def _cause(hypotheses: Hypotheses, explanation: Explanation) -> Cause:
    stage, before, contract = explanation.stage, explanation.base, hypotheses.contract
    errors = [hypotheses.error(stage, changes) for changes in (before, {**before, **explanation.changes})]
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
    )


def _size(error: StageError | None, contract: Contract) -> float:
    return float("nan") if error is None else largest_in_unit(error, contract)


def _stage_verdicts(hypotheses: Hypotheses) -> list[StageVerdict]:
    evidence, contract = hypotheses.evidence, hypotheses.contract
    whole = ReplayedFrames(evidence, contract, chained=True)
    verdicts = []
    for stage in hypotheses.graph:
        if stage.name not in evidence.recorded or not is_computed(stage, evidence):
            continue
        unit = stage.shown_unit
        error = hypotheses.error(stage.name, {}) if stage.name in hypotheses.judged else None
        if error is None:
            needs = needed_for(hypotheses.graph, stage.name, evidence)
            verdicts.append(StageVerdict(stage.name, None, None, None, None, None, None, unit, needs))
            continue
        verdicts.append(_judged_verdict(error, _inherited(whole, error, contract), unit, contract))
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


def _inherited(whole: ReplayedFrames, error: StageError, contract: Contract) -> float | None:
    """The inherited error: the stage correctly computed from the engine's inputs, against the correct run."""
    reference = whole.computed(error.stage)
    if reference is None:
        return None
    stage = contract.system.graph[error.stage]
    return largest_in_unit(error_between(stage, error.replayed, reference, error.tolerance), contract)


def _first_unexplained(
    hypotheses: Hypotheses,
    causes: Sequence[Cause],
    unresolved: Sequence[str],
    relations: Sequence[Relation],
    not_finite: Divergence | None,
) -> Divergence | None:
    """The first place that neither a cause nor a relation explains."""
    base = _base(causes, unresolved)
    under = dict.fromkeys(unresolved, base)
    for cause in causes:
        if cause.stage in under:
            under[cause.stage] = {**base, **cause.changes}
    related = {relation.stage for relation in relations if relation.is_whole}
    left = {stage: changes for stage, changes in under.items() if stage not in related}
    return _first_divergence(hypotheses, left, not_finite)


def _base(causes: Sequence[Cause], unresolved: Sequence[str]) -> Changes:
    """The conventions that explain whole stages."""
    return {knob: value for cause in causes if cause.stage not in unresolved for knob, value in cause.changes.items()}


def _first_divergence(
    hypotheses: Hypotheses, under: Mapping[str, Changes], not_finite: Divergence | None
) -> Divergence | None:
    """The first frame that differs and, in it, the first stage; under: the stages to look at, each under its changes.

    A non-finite value comes before all others.
    """
    evidence, contract, names = hypotheses.evidence, hypotheses.contract, hypotheses.graph.names
    found = []
    for stage, changes in under.items():
        error = hypotheses.error(stage, changes)
        place = None if error is None else error.first_over
        if error is not None and place is not None:
            found.append((int(evidence.frame[place[0]]), names.index(stage), place, error))
    if not found:
        return not_finite
    frame, index, (row, channel), error = min(found, key=lambda entry: entry[:2])
    if not_finite is not None and (not_finite.frame, names.index(not_finite.stage)) <= (frame, index):
        return not_finite
    address, unit = channel_address(error.stage, channel, contract), hypotheses.graph[error.stage].shown_unit
    return Divergence(frame, error.stage, address, largest_in_unit(error.row(row), contract), unit)


def _first_not_finite(evidence: Evidence, contract: Contract) -> Divergence | None:
    """The first non-finite recorded value: of the first such frame, the first stage of the loop."""
    found = []
    for place, name in enumerate(contract.system.graph.names):
        if name in evidence.recorded:
            bad = np.argwhere(~np.isfinite(evidence.recorded[name]))
            if len(bad):
                found.append((int(evidence.frame[bad[0][0]]), place, name, int(bad[0][1])))
    if not found:
        return None
    frame, _, stage, channel = min(found)
    return Divergence(frame, stage, channel_address(stage, channel, contract), None, "not finite")


def _indistinguishable(hypotheses: Hypotheses, accepted: Changes) -> list[tuple[str, Any]]:
    """Single changes that fit this data as well as the conventions that explain it."""
    found = []
    for changes in hypotheses.singles(hypotheses.judged, accepted):
        (knob,) = changes.keys() - accepted.keys()
        if not isinstance(hypotheses.contract.system.knobs[knob], InputOrder) and hypotheses.allows(changes):
            found.append((knob, changes[knob]))
    return found
