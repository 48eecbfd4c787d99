"""Findings that say what the user declares: a convention of a file is no defect where the project declares it for both sides."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rigpact.contract.findings import Finding, FindingsReport
from rigpact.contract.systems.system import System

SUMMARY = "as_declared"


def without_declared(report: FindingsReport, system: System, declared: Mapping[str, Any]) -> FindingsReport:
    """The report without the findings that say no more than what is declared; its summary names them.

    UnusableInput for a convention or a value that the system does not have.
    """
    if not declared:
        return report
    own = {name: str(value) for name, value in system.conventions(declared).items()}
    said = [finding for finding in report.findings if _says(finding, own, declared)]
    kept = tuple(finding for finding in report.findings if finding not in said)
    named = [{"code": each.rule.code, "file": each.file, "says": dict(each.says)} for each in said]
    return replace(report, findings=kept, summary={**report.summary, SUMMARY: named} if named else report.summary)


def _says(finding: Finding, own: Mapping[str, str], declared: Mapping[str, Any]) -> bool:
    return bool(finding.says) and all(name in declared and own[name] == value for name, value in finding.says.items())


def declared_text(report: FindingsReport) -> str:
    """A line that names what was left out; '' where nothing was."""
    words: dict[str, None] = {}
    for each in report.summary.get(SUMMARY, ()):
        says = ", ".join(f"{knob}={value}" for knob, value in each["says"].items())
        words[f"{each['code']} in {each['file']} ({says})"] = None
    return f"as declared, no finding: {'; '.join(words)}" if words else ""
