"""Convert measurements and answers to plain values and back."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import FindingsReport, Ledger
from rigpact.reports.gate.answer.compared_run import ComparedRun
from rigpact.reports.gate.answer.part import Part
from rigpact.reports.gate.answer.report import GateReport
from rigpact.reports.gate.archive.kept_documents import KeptGate, KeptPart, KnownSummary
from rigpact.reports.gate.archive.kept_values import finding_to_plain, from_plain, plain_to_finding, to_plain
from rigpact.reports.gate.archive.shapes import fits
from rigpact.reports.gate.measured import Measured
from rigpact.reports.gate.parts.catalogue import PARTS, PartKind


def measured_to_plain(part: Measured) -> dict[str, Any]:
    """A measurement as plain values, without its arrays, run and remarks."""
    return {"name": part.name, "title": part.title, "metrics": to_plain(dict(part.metrics))} | _report(part.report)


def plain_to_measured(entry: KeptPart, arrays: Mapping[str, NDArray[Any]], run: ComparedRun | None) -> Measured:
    """The measurement from its plain values; UnusableInput where its figures are not those of its kind."""
    report, metrics = _restored(entry), _tree(entry["metrics"])
    part = Measured(entry["name"], entry["title"], report.findings, report.ledger, report.summary, metrics, arrays, run)
    kind = PARTS.get(part.kind)
    if kind is None or not _has_figures(part, kind):
        raise _misfit("a part")
    return part


def _has_figures(part: Measured, kind: PartKind) -> bool:
    """Whether a part has the figures and arrays that judging reads. One that could not be judged has none of them."""
    if not part.metrics:
        return not part.arrays and part.run is None
    return kind.metrics is not None and fits(part.metrics, kind.metrics) and kind.is_sound(part)


def gate_to_plain(gate: GateReport) -> dict[str, Any]:
    """The answer as plain values, with all values of its findings."""
    parts = [
        {"name": part.name, "title": part.title, "is_waived": part.is_waived} | _report(part.report)
        for part in gate.parts
    ]
    return {
        "verdict": gate.verdict, "parts": parts, "not_asked": dict(gate.not_asked), "next_steps": list(gate.next_steps),
        "strict": gate.strict, "provenance": dict(gate.provenance),
    }  # fmt: skip


def plain_to_gate(entry: Any) -> GateReport:
    """The answer from its plain values."""
    if not fits(entry, KeptGate):
        raise _misfit("a verdict")
    parts = tuple(
        Part(each["name"], each["title"], _restored(each), is_waived=each["is_waived"]) for each in entry["parts"]
    )
    steps = tuple(entry["next_steps"])
    report = GateReport(parts, entry["provenance"], entry["not_asked"], steps, strict=entry["strict"])
    if report.verdict != entry["verdict"] or len({part.name for part in parts}) < len(parts):
        raise _misfit("a verdict")
    return report


def _report(report: FindingsReport) -> dict[str, Any]:
    ledger = report.ledger
    return {
        "findings": [finding_to_plain(finding) for finding in report.findings],
        "ledger": [ledger.declared, ledger.compared, ledger.waived],
        "summary": to_plain(dict(report.summary)),
    }


def _restored(entry: Any) -> FindingsReport:
    findings, summary = tuple(plain_to_finding(finding) for finding in entry["findings"]), _tree(entry["summary"])
    if not fits(summary, KnownSummary) or min(entry["ledger"]) < 0:
        raise _misfit("a summary")
    return FindingsReport(findings, Ledger(*entry["ledger"]), summary)


def _tree(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An object whose values are kept; itself it is none of the kept types."""
    return {name: from_plain(value) for name, value in entry.items()}


def _misfit(what: str) -> UnusableInput:
    return UnusableInput("archive", f"{what} that does not fit", "what rigpact writes")
