"""Which recorded stages something judged, and which nothing did: silence about a stage is not agreement."""

from __future__ import annotations

from rigpact.contract.systems.stage import Stage
from rigpact.reference_runtime.graph.replayed import Evidence, path_of
from rigpact.reports.diagnosing.hypotheses import Hypotheses
from rigpact.reports.diagnosing.seen.seen import Seen
from rigpact.reports.diagnosing.seen.widest import widest_tolerances


def is_computed(stage: Stage, evidence: Evidence) -> bool:
    """Whether the run computes a stage. The others come from outside: nothing in a recording says what they should be.

    What a free run hands on to itself is computed from its second frame on.
    """
    hands_on = stage.carried is not None and evidence.mode == "free" and bool((evidence.frame > 0).any())
    return stage.compute is not None or hands_on


def without_verdict(hypotheses: Hypotheses) -> set[str]:
    """The recorded stages that the run computes, and that were not judged, or some of whose values were not."""
    evidence, graph = hypotheses.evidence, hypotheses.graph
    computed = {stage.name for stage in graph if stage.name in evidence.recorded and is_computed(stage, evidence)}
    return (computed - set(hypotheses.judged)) | {name for name in hypotheses.judged if _undetermined(hypotheses, name)}


def _undetermined(hypotheses: Hypotheses, stage: str) -> int:
    error = hypotheses.error(stage, {})
    return 0 if error is None else error.undetermined


def what_was_seen(hypotheses: Hypotheses) -> Seen:
    """The stages that were judged, those that were folded into them, and the widest tolerances."""
    evidence, graph = hypotheses.evidence, hypotheses.graph
    computed = [stage.name for stage in graph if is_computed(stage, evidence)]
    judged = [name for name in hypotheses.judged if name in computed]
    on_the_way = {
        name for stage in judged for name in path_of(graph, stage, evidence.recorded)
    } - evidence.recorded.keys()
    folded = tuple(name for name in computed if name in on_the_way)
    unseen = tuple(name for name in computed if name not in judged and name not in on_the_way)
    return Seen(tuple(judged), folded, unseen, widest_tolerances(hypotheses, judged))
