"""A diagnosis of a recording of a stage graph, in the shape of every diagnosis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.systems.stage_graph import Stage
from rigpact.reports.comparing.address import Address
from rigpact.reports.diagnosing.diagnose import Cause, Diagnosis, Divergence, StageVerdict, Verdict, middle_tolerance
from rigpact.reports.diagnosing.explanation import Explanation, search
from rigpact.reports.diagnosing.judged_changes import Changes
from rigpact.reports.diagnosing.stage_error import StageError
from rigpact.reports.systems.graph_hypotheses import GraphEvidence, GraphHypotheses


def diagnose_graph(evidence: GraphEvidence, *, with_pairs: bool = True) -> Diagnosis:
    """Judge every recorded stage and search for the conventions that explain those that differ."""
    hypotheses = GraphHypotheses(evidence)
    stages = tuple(_stage_verdicts(hypotheses))
    not_finite = _first_not_finite(evidence)
    if not hypotheses.judged:
        return Diagnosis("undetermined", not_finite, stages, (), ())
    failing = hypotheses.failing({})
    first = _first_divergence(hypotheses, not_finite)
    if not failing:
        verdict: Verdict = "agrees" if first is None else "unexplained"
        return Diagnosis(verdict, first, stages, (), tuple(_indistinguishable(hypotheses, {})))
    found, unresolved = search(hypotheses, with_pairs=with_pairs)
    explained = not unresolved and not_finite is None
    accepted = {knob: value for each in found for knob, value in each.changes.items()}
    told = tuple(_indistinguishable(hypotheses, accepted)) if explained else ()
    causes = tuple(_cause(hypotheses, each) for each in found)
    return Diagnosis("explained" if explained else "unexplained", first, stages, causes, told)


def graph_address(evidence: GraphEvidence, stage: str, channel: int) -> Address:
    """Name the place of a channel by its field."""
    return Address(stage, channel, slice=evidence.contract.vectors[stage].address(channel))


def _stage_verdicts(hypotheses: GraphHypotheses) -> Iterator[StageVerdict]:
    evidence = hypotheses.evidence
    whole = _run_as_it_should_be(evidence)
    for stage in evidence.graph.stages:
        error = hypotheses.error(stage.name, {}) if stage.name in hypotheses.judged else None
        if stage.name not in evidence.recorded:
            continue
        if error is None:
            yield StageVerdict(stage.name, None, None, None, None, stage.unit, _needs(evidence, stage))
            continue
        reference = whole.get(stage.name)
        yield StageVerdict(
            stage.name,
            local_error=_largest(error.recorded, error.replayed),
            inherited_error=None if reference is None else _largest(error.replayed, reference),
            tolerance=middle_tolerance(error.tolerance),
            ok=error.ok,
            unit=stage.unit,
        )


def _needs(evidence: GraphEvidence, stage: Stage) -> str:
    missing = [name for name in stage.needs if name not in evidence.recorded]
    return f"record {', '.join(missing)}" if missing else "finite values"


def _run_as_it_should_be(evidence: GraphEvidence) -> Mapping[str, FloatArray]:
    """Every stage from what was given alone; nothing where that was not recorded."""
    if not set(evidence.graph.given) <= set(evidence.recorded):
        return {}
    with np.errstate(all="ignore"):
        return evidence.graph.run(evidence.recorded, evidence.contract.conventions)


def _largest(a: FloatArray, b: FloatArray) -> float:
    with np.errstate(invalid="ignore"):
        difference = np.abs(a.astype(np.float64) - b.astype(np.float64))
    finite = difference[np.isfinite(difference)]
    return float(finite.max(initial=0.0))


def _cause(hypotheses: GraphHypotheses, explanation: Explanation) -> Cause:
    stage, hints = explanation.stage, hypotheses.evidence.contract.definition.hints
    before, after = (
        hypotheses.error(stage, changes) for changes in (explanation.base, {**explanation.base, **explanation.changes})
    )
    return Cause(
        stage=stage,
        changes=explanation.changes,
        equivalents=explanation.equivalents,
        error_before=_size(before),
        error_after=_size(after),
        unit=hypotheses.evidence.graph[stage].unit,
        code_hints=tuple(_hint(hints, knob, value) for knob, value in explanation.changes.items()),
        frames_explained=0 if after is None else after.frames_within,
        frames=0 if after is None else after.frames_judged,
    )


def _hint(hints: Mapping[str, str], knob: str, value: str) -> str:
    return hints.get(f"{knob}={value}", f"look for where {knob} is decided: it is {value} there")


def _size(error: StageError | None) -> float:
    return float("nan") if error is None else _largest(error.recorded, error.replayed)


def _first_divergence(hypotheses: GraphHypotheses, not_finite: Divergence | None) -> Divergence | None:
    """The first frame that differs and, in it, the first stage; a value that is not finite comes before all others."""
    evidence = hypotheses.evidence
    names = list(evidence.graph.names)
    found = []
    for stage in hypotheses.judged:
        error = hypotheses.error(stage, {})
        place = None if error is None else error.first_over
        if error is not None and place is not None:
            found.append((int(evidence.frame[place[0]]), names.index(stage), place, error))
    if not found:
        return not_finite
    frame, index, (row, channel), error = min(found, key=lambda entry: entry[:2])
    if not_finite is not None and (not_finite.frame, names.index(not_finite.stage)) <= (frame, index):
        return not_finite
    size = _largest(error.recorded[row, channel], error.replayed[row, channel])
    unit = evidence.graph[error.stage].unit
    return Divergence(frame, error.stage, graph_address(evidence, error.stage, channel), size, unit)


def _first_not_finite(evidence: GraphEvidence) -> Divergence | None:
    found = []
    for place, name in enumerate(evidence.graph.names):
        if name in evidence.recorded:
            bad = np.argwhere(~np.isfinite(evidence.recorded[name]))
            if len(bad):
                found.append((int(evidence.frame[bad[0][0]]), place, name, int(bad[0][1])))
    if not found:
        return None
    frame, _, name, channel = min(found)
    return Divergence(frame, name, graph_address(evidence, name, channel), None, "not finite")


def _indistinguishable(hypotheses: GraphHypotheses, accepted: Changes) -> Iterator[tuple[str, str]]:
    """Single changes that this recording could not tell from the conventions that fit."""
    for changes in hypotheses.singles(hypotheses.judged, accepted):
        (knob,) = changes.keys() - accepted.keys()
        if hypotheses.allows(changes):
            yield knob, changes[knob]
