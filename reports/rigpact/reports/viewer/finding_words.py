"""The page's list of findings: grouped by part and rule, each with the frame and bone for the picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rigpact.contract.findings import Finding, Rule, Severity
from rigpact.reports.comparing.address import Address
from rigpact.reports.gate.answer.compared_run import ComparedRun
from rigpact.reports.gate.answer.part import Part
from rigpact.reports.gate.answer.report import GateReport
from rigpact.reports.terminal import plain
from rigpact.reports.viewer.run_data import bone_index

SIGN = {Severity.ERROR: "✕", Severity.WARNING: "!", Severity.INFO: "i"}
Owners = Sequence[Part | None]


def findings_by_rule(gate: GateReport, runs: Sequence[ComparedRun], owners: Owners) -> list[dict[str, Any]]:
    """All findings, grouped by part and rule; the most severe first, then in the order of the parts.

    owners: the part that each run belongs to.
    """
    groups: dict[tuple[str, str], dict[str, Any]] = {}
    for part in gate.parts:
        run = next((index for index, owner in enumerate(owners) if owner is part), None)
        for finding in part.report.findings:
            group = groups.setdefault((part.name, finding.rule.code), _group(part, finding.rule))
            nowhere = {"run": None, "frame": None, "bone": -1}
            seen = nowhere if run is None else _place_in_picture(finding, run, runs[run])
            group["places"].append({"message": plain(finding.message), "place": _place(finding)} | seen)
    gravity = [severity.value for severity in Severity]
    return sorted(groups.values(), key=lambda group: gravity.index(group["severity"]))


def _group(part: Part, rule: Rule) -> dict[str, Any]:
    return {
        "part": plain(part.name),
        "part_title": plain(part.title),
        "severity": rule.severity.value,
        "sign": SIGN[rule.severity],
        "code": rule.code,
        "name": rule.name,
        "hint": rule.hint,
        "why": rule.why,
        "places": [],
    }


def _place(finding: Finding) -> str:
    return plain(f"{finding.file}#{finding.pointer}" if finding.pointer else finding.file)


def _place_in_picture(finding: Finding, index: int, run: ComparedRun) -> dict[str, Any]:
    """Run, frame and bone where the picture shows a finding; the frame is None if the finding names none."""
    frame, address = finding.values.get("worst_frame", finding.values.get("frame")), finding.values.get("address")
    bone = address.bone if isinstance(address, Address) else None
    return {"run": index, "frame": frame if isinstance(frame, int) else None, "bone": bone_index(run, bone)}
