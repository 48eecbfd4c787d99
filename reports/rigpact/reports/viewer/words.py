"""The page's texts as plain values for the template. All text from files goes through `plain`."""

from collections.abc import Sequence
from typing import Any

from rigpact.contract.findings import Finding, Ledger, Rule, Severity, Verdict
from rigpact.reports.comparing.address import Address
from rigpact.reports.gate.answer.cause import Cause
from rigpact.reports.gate.answer.compared_run import ComparedRun
from rigpact.reports.gate.answer.part import Part
from rigpact.reports.gate.answer.report import GateReport
from rigpact.reports.renderers.wording import found_text, place_text
from rigpact.reports.terminal import number_of, plain, severities_text
from rigpact.reports.viewer.run_data import bone_index
from rigpact.reports.viewer.run_words import Drawn, run_words

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
            group["places"].append({"message": plain(finding.message), "place": place_text(finding)} | seen)
    gravity = [severity.value for severity in Severity]
    return sorted(groups.values(), key=lambda group: gravity.index(group["severity"]))


def _group(part: Part, rule: Rule) -> dict[str, Any]:
    own = {key: getattr(rule, key) for key in ("code", "name", "hint", "why")}
    words = {"severity": rule.severity.value, "sign": SIGN[rule.severity]}
    return {"part": plain(part.name), "part_title": plain(part.title), **words, **own, "places": []}


def _place_in_picture(finding: Finding, index: int, run: ComparedRun) -> dict[str, Any]:
    """Run, frame and bone where the picture shows a finding; the frame is None if the finding names none."""
    frame, address = finding.values.get("worst_frame", finding.values.get("frame")), finding.values.get("address")
    bone = address.bone if isinstance(address, Address) else None
    return {"run": index, "frame": frame if isinstance(frame, int) else None, "bone": bone_index(run, bone)}


_VERDICT: dict[Verdict, dict[str, str]] = {
    "pass": {"kind": "pass", "word": "Pass", "sign": "✓"},
    "fail": {"kind": "fail", "word": "Fail", "sign": "✕"},
    "undetermined": {"kind": "undetermined", "word": "Undetermined", "sign": "?"},
}
NOTHING_ASKED = "No engine recording was compared."


def page_words(gate: GateReport, drawn: Sequence[Drawn]) -> dict[str, Any]:
    """All values for the template, in the order of the page."""
    runs, owners = [run for run, _ in drawn], [owner for _, owner in drawn]
    causes = number_of(len(gate.causes), "cause")
    absent = [f"{plain(name)}: {plain(reason)}" for name, reason in gate.not_asked.items() if "trace" in name]
    counts = {severity: sum(part.report.count(severity) for part in gate.parts) for severity in Severity}
    return {
        "title": "rigpact gate",
        "verdict": _VERDICT[gate.verdict],
        "lead": _lead(gate),
        "counts": severities_text(counts.__getitem__),
        "ledger": _ledger_words(gate.ledger),
        "causes": [_cause(cause) for cause in gate.causes],
        "cause_counts": f"{causes} behind {number_of(len(gate.findings), 'finding')}; the worst first.",
        "next_steps": [plain(step) for step in gate.next_steps],
        "runs": [run_words(run, owner) for run, owner in drawn],
        "absent": " ".join([NOTHING_ASKED, *absent]),
        "parts": [_part(part) for part in gate.parts],
        "not_asked": [(plain(name), plain(reason)) for name, reason in gate.not_asked.items()],
        "severities": [{"name": each.value, "sign": SIGN[each], "count": count} for each, count in counts.items()],
        "findings": findings_by_rule(gate, runs, owners),
        "provenance": [(plain(name), plain(value)) for name, value in gate.provenance.items()],
    }


def _cause(cause: Cause) -> dict[str, Any]:
    """One cause and, folded, its findings: each text once, with the files that have it."""
    texts: dict[str, list[str]] = {}
    for finding in cause.findings:
        texts.setdefault(f"{finding.rule.code} {plain(finding.message)}", []).append(plain(finding.file))
    return {
        "severity": cause.severity.value, "sign": SIGN[cause.severity], "side": cause.side, "title": plain(cause.title),
        "effect": plain(cause.effect), "found": found_text(cause),
        "findings": [f"{text} ({', '.join(dict.fromkeys(files))})" for text, files in texts.items()],
    }  # fmt: skip


def _lead(gate: GateReport) -> str:
    if not gate.parts:
        return "Nothing was asked, so nothing was judged."
    if gate.verdict == "pass":
        return "Everything that was asked could be judged, and nothing speaks against the change."
    open_parts = [part for part in gate.parts if part.verdict == gate.verdict]
    titles = ", ".join(plain(part.title) for part in open_parts)
    if gate.verdict == "undetermined":
        return f"Could not be judged: {titles}."
    if not open_parts:
        return "Warnings fail a strict gate."
    return f"{len(open_parts)} of {len(gate.parts)} parts: {titles}."


def _ledger_words(ledger: Ledger) -> dict[str, Any]:
    words = f"{_grouped(ledger.compared)} of {_grouped(ledger.declared)} values judged"
    words += f", {_grouped(ledger.waived)} waived with a reason" if ledger.waived else ""
    words += f", {_grouped(ledger.missing)} missing" if ledger.missing else ""
    share = 100.0 / max(ledger.declared, 1)
    compared, waived = ledger.compared * share, (ledger.compared + ledger.waived) * share
    return {"words": words, "compared_end": f"{compared:.2f}", "waived_end": f"{waived:.2f}"} | {
        name: _grouped(count) for name, count in ledger.to_json().items()
    }


def _grouped(count: int) -> str:
    """Thousands separated by a narrow space, which cannot be read as a decimal point."""
    return f"{count:,}".replace(",", "\u202f")


def _part(part: Part) -> dict[str, Any]:
    return {
        "name": plain(part.name),
        "title": plain(part.title),
        "verdict": _VERDICT[part.verdict],
        "errors": part.report.count(Severity.ERROR),
        "warnings": part.report.count(Severity.WARNING),
        "found": len(part.report.findings),
        "ledger": _ledger_words(part.report.ledger),
    }
