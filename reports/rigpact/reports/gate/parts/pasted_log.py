"""A pasted log of the engine in `[[gate.trace]]`: what its lines prove, without a reference run beside them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rigpact.contract.findings import Finding, Ledger
from rigpact.contract.rules.answers import gate as rules
from rigpact.contract.settings.gate import RecordedRun
from rigpact.reports.diagnosing.diagnosis import Diagnosis
from rigpact.reports.diagnosing.logs.engine_log import read_engine_log
from rigpact.reports.diagnosing.logs.log_evidence import explain_log
from rigpact.reports.gate.answer.diagnosis_findings import Recorded, about_diagnosis
from rigpact.reports.gate.measured import Measured
from rigpact.reports.gate.project import Project


def measure_log(project: Project, run: RecordedRun, name: str, title: str) -> Measured:
    """Judge every line that can be judged; a stage that the project expects and the log does not print counts as missing."""
    path = Path(run.file)
    clip = Path(run.clip) if run.clip else None
    diagnosis, notes = explain_log(path, project.contract, project.settings.conventions, clip)
    findings = (*about_diagnosis(diagnosis, Recorded(path, "cpp", project.contract, lambda _: {})),
                *_contradictions(diagnosis, path))  # fmt: skip
    summary = {"diagnosis": diagnosis.to_json(), "notes": notes}
    return Measured(name, title, tuple(findings), _account(diagnosis, run), summary)


def read_log(project: Project, run: RecordedRun) -> object:
    """All that the measurement reads."""
    return read_engine_log(run.file), run.clip and project.drive(run.clip)


def _contradictions(diagnosis: Diagnosis, path: Path) -> Iterator[Finding]:
    for words in diagnosis.contradictions:
        yield rules.LOG_CONTRADICTS.at(path, "", recording=path.name, words=words)


def _account(diagnosis: Diagnosis, run: RecordedRun) -> Ledger:
    """Judged stages and contradictions; of the stages that the project expects, those that the log does not print are missing.

    Stages that a log prints only as inputs of others have nothing to be judged by.
    """
    judged = {stage.stage for stage in diagnosis.stages if stage.ok is not None}
    missing = set(run.stages) - {stage.stage for stage in diagnosis.stages}
    compared = len(judged) + len(diagnosis.contradictions)
    return Ledger(compared + len(missing) + (diagnosis.verdict == "undetermined"), compared)
