"""Convert measurements and answers to plain values and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import FindingsReport, Ledger
from rigpact.reports.gate.answer.compared_run import ComparedRun
from rigpact.reports.gate.answer.part import Part
from rigpact.reports.gate.answer.report import GateReport
from rigpact.reports.gate.archive.kept_values import finding_to_plain, from_plain, plain_to_finding, to_plain
from rigpact.reports.gate.measured import Measured

_BROKEN = (TypeError, ValueError, KeyError, AttributeError, OverflowError)


def measured_to_plain(part: Measured) -> dict[str, Any]:
    """A measurement as plain values, without its arrays, run and remarks."""
    return {"name": part.name, "title": part.title, "metrics": to_plain(dict(part.metrics))} | _report(part.report)


def plain_to_measured(entry: Any, arrays: Mapping[str, NDArray[Any]], run: ComparedRun | None) -> Measured:
    """The measurement from its plain values."""
    try:
        report = _restored(entry)
        name, title, metrics = str(entry["name"]), str(entry["title"]), from_plain(entry["metrics"])
    except _BROKEN:
        raise _misfit("a part") from None
    return Measured(name, title, report.findings, report.ledger, report.summary, metrics, arrays, run)


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
    try:
        parts = tuple(
            Part(str(each["name"]), str(each["title"]), _restored(each), is_waived=each["is_waived"] is True)
            for each in entry["parts"]
        )
        named = {
            key: {str(name): str(text) for name, text in entry[key].items()} for key in ("provenance", "not_asked")
        }
        steps = tuple(str(step) for step in entry["next_steps"])
        report = GateReport(parts, named["provenance"], named["not_asked"], steps, strict=entry["strict"] is True)
        fits = report.verdict == entry["verdict"]
    except _BROKEN:
        raise _misfit("a verdict") from None
    if not fits:
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
    counts = [int(count) for count in entry["ledger"]]
    findings = tuple(plain_to_finding(finding) for finding in entry["findings"])
    return FindingsReport(findings, Ledger(*counts), from_plain(entry["summary"]))


def _misfit(what: str) -> UnusableInput:
    return UnusableInput("archive", f"{what} that does not fit", "what rigpact writes")
