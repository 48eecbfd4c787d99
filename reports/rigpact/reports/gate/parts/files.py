"""Judge the project's files by the rules, as `rigpact check` does: first all files but the model, then the model."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from rigpact.contract.documents import Kind
from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Ledger
from rigpact.contract.layout import INPUTS
from rigpact.contract.model.signature import read_model
from rigpact.reports.checking.check import CheckRequest, check_files
from rigpact.reports.gate.measured import Measured, NotAsked, Question
from rigpact.reports.gate.project import Project

FILES, FILES_TITLE = "files", "Files against the rules"
MODEL, MODEL_TITLE = "model", "Model: signature, graph, order of inputs"
INPUT_ORDER = "order of inputs"


def ask_files(project: Project) -> Iterator[Question]:
    """Check every file but the model."""
    yield Question(FILES, FILES_TITLE, project.bundle_path, lambda: _files(project), lambda: _read(project))


def _read(project: Project) -> object:
    return project.contract_documents, project.documents


def _files(project: Project) -> Measured:
    documents = (*project.contract_documents, *project.documents)
    report = check_files(
        CheckRequest(
            documents,
            project.recordings,
            model_beside=project.model_path,
            with_own_models=not project.models,
            declared=project.settings.conventions,
        )
    )
    return Measured(FILES, FILES_TITLE, report.findings, report.ledger, report.summary)


def ask_model(project: Project) -> Iterator[NotAsked | Question]:
    """Check the model against the contract; if a recording allows it, run the model to find the order of its inputs."""
    if not project.models:
        yield NotAsked(MODEL, "no model in [gate]")
        return
    recorded: tuple[Path, ...] = ()
    if project.document.kind is Kind.BUNDLE and not (project.clip_paths or project.settings.teacher):
        recorded = _recorded(project)
        if not recorded:
            yield NotAsked(
                INPUT_ORDER, "no prediction, clip or recording with the model's inputs in [gate] to run it on"
            )
    yield Question(
        MODEL, MODEL_TITLE, project.models[0], lambda: _model(project, recorded), lambda: _whole_model(project)
    )


def _whole_model(project: Project) -> object:
    return [read_model(path) for path in project.models]


def _model(project: Project, recorded: Sequence[Path]) -> Measured:
    """The findings of the check that appear only with the model."""
    alone = CheckRequest(project.contract_documents, with_own_models=False)
    shown = [
        each for each in project.documents if each.kind is Kind.TEACHER_PREDICTION or each.path in project.clip_paths
    ]
    given = replace(alone, beside=shown, recordings=recorded, model=project.model_path, with_own_models=True)
    without, report = (check_files(request) for request in (alone, given))
    known = {finding.fingerprint for finding in without.findings}
    findings = tuple(finding for finding in report.findings if finding.fingerprint not in known)
    declared, compared = (
        getattr(report.ledger, name) - getattr(without.ledger, name) for name in ("declared", "compared")
    )
    canary = {name: value for name, value in report.summary.items() if name == "canary"}
    return Measured(MODEL, MODEL_TITLE, findings, Ledger(declared, compared), canary)


def _recorded(project: Project) -> tuple[Path, ...]:
    """The first recording of an engine that has what the model took and gave; what cannot be read, its own part says."""
    for run in project.settings.traces:
        with suppress(UnusableInput):
            if {*INPUTS, "y_norm"} <= set(project.recording(run).trace.stages):
                return (Path(run.file),)
    return ()
