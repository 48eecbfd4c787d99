"""The hosted systems under the gate: the same parts for each, asked of its contract, its model and its stages."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from rigpact.reports.systems.graph_comparison import compare_graph, judge_graph
from rigpact.reports.systems.graph_diagnosis import diagnose_graph
from rigpact.reports.systems.graph_hypotheses import GraphEvidence
from rigpact.reports.systems.hosted_check import check_hosted

from rigpact.contract.findings import Ledger
from rigpact.contract.rules.hosted.systems import check_system_model
from rigpact.contract.settings.gate import RecordedRun
from rigpact.reports.diagnosing.diagnose import Diagnosis
from rigpact.reports.gate.answer.diagnosis_findings import about_diagnosis
from rigpact.reports.gate.hosted_case import HostedCase, recorded_runs
from rigpact.reports.gate.measured import Measured, NotAsked, guarded
from rigpact.reports.gate.parts import budget, recordings
from rigpact.reports.gate.system import HOSTED, GateSystem, PartKind
from rigpact.reports.terminal import working

FILES, FILES_TITLE = "files", "Contract, clips and labels against the rules"
MODEL, MODEL_TITLE = "model", "Model against the contract's vectors"
TEACHER, TRACE = recordings.TEACHER, recordings.TRACE


def ask_files(case: HostedCase) -> Iterator[Measured]:
    """Check every file but the model."""
    yield guarded(FILES, FILES_TITLE, case.bundle_path, lambda: _files(case))


def _files(case: HostedCase) -> Measured:
    report = check_hosted(case.document, None, tuple(dict.fromkeys(recorded_runs(case))))
    return Measured(FILES, FILES_TITLE, report.findings, report.ledger, report.summary)


def ask_model(case: HostedCase) -> Iterator[Measured | NotAsked]:
    """Hold the model's inputs and outputs against the vectors."""
    if case.model_path is None:
        yield NotAsked(MODEL, "no model in [gate]")
        return
    yield guarded(MODEL, MODEL_TITLE, case.model_path, lambda: _model(case))


def _model(case: HostedCase) -> Measured:
    findings = tuple(check_system_model(case.model, case.contract.definition))
    tensors = len(case.model.inputs) + max(len(case.model.outputs), 1)
    return Measured(MODEL, MODEL_TITLE, findings, Ledger(tensors, tensors))


def ask_teacher(case: HostedCase) -> Iterator[Measured | NotAsked]:
    """Compare what training recorded with the runtime; diagnose it where it differs."""
    if not case.settings.teacher:
        yield NotAsked(TEACHER, "no [[gate.teacher]]: nothing says what training computes")
    for run in case.settings.teacher:
        title = f"Training file {run.name} against the runtime"
        yield guarded(f"{TEACHER}/{run.name}", title, run.file, partial(_recorded, case, run, TEACHER, title))


def ask_traces(case: HostedCase) -> Iterator[Measured | NotAsked]:
    """Compare every engine trace with the runtime, and diagnose it."""
    if not case.settings.traces:
        yield NotAsked(TRACE, "no [[gate.trace]]: nothing says what the engine computes")
    for run in case.settings.traces:
        title = f"Engine recording {run.name} against the runtime"
        yield guarded(f"{TRACE}/{run.name}", title, run.file, partial(_recorded, case, run, TRACE, title))


def _recorded(case: HostedCase, run: RecordedRun, kind: str, title: str) -> Measured:
    recording, reference = case.recording(run), case.reference(run)
    held = tuple(dict.fromkeys((*run.stages, *recording.trace.stages))) if run.stages else ()
    compared = compare_graph(reference, recording, case.contract, case.graph, held)
    report = judge_graph(compared)
    wanted = kind == TRACE or report.verdict != "pass"
    diagnosis = _diagnosis(case, run) if wanted else None
    findings = (*about_diagnosis(diagnosis, Path(run.file)), *report.findings)
    summary = {**report.summary, "diagnosis": None if diagnosis is None else diagnosis.to_json()}
    arrays = {"frames": compared.frames, "stage_ratios": recordings.stage_ratios(compared)}
    return Measured(
        f"{kind}/{run.name}", title, findings, report.ledger, summary, recordings.stage_metrics(run, compared), arrays
    )


def _diagnosis(case: HostedCase, run: RecordedRun) -> Diagnosis:
    trace = case.recording(run).trace
    evidence = GraphEvidence(trace.frame, trace.stages, case.graph, case.contract)
    with working(f"{run.name}: replaying stages and searching conventions"):
        return diagnose_graph(evidence)


SYSTEM = GateSystem(
    HOSTED,
    HostedCase,
    (
        PartKind(FILES, ask_files),
        PartKind(MODEL, ask_model),
        PartKind(TEACHER, ask_teacher, recordings.judge),
        PartKind(TRACE, ask_traces, recordings.judge),
        PartKind(budget.NAME, budget.ask, budget.judge),
    ),
)
