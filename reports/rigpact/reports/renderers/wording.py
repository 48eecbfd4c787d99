"""Texts that several formats share. Each is one line without control characters; the formats add the markup."""

from collections.abc import Iterable

from rigpact.contract.findings import Finding, Severity, number_of
from rigpact.reports.gate.answer.report import GateReport, Mistake, Part
from rigpact.reports.terminal import account_text, plain

_WORST_FIRST = tuple(Severity)


def is_failing(finding: Finding, *, strict: bool) -> bool:
    """Whether a finding alone fails the run: an error always, a warning if strict."""
    severity = finding.rule.severity
    return severity is Severity.ERROR or (strict and severity is Severity.WARNING)


def unanswered(gate: GateReport) -> list[tuple[str, str]]:
    """(title, reason) of each part without an answer; of the whole gate if nothing was compared."""
    return _unanswered(gate, gate.parts)


def unexplained(gate: GateReport) -> list[tuple[str, str]]:
    """`unanswered` without the parts whose findings already give the reason, for formats that show all findings."""
    return _unanswered(gate, [part for part in gate.parts if not part.report.count(Severity.ERROR)])


def _unanswered(gate: GateReport, parts: Iterable[Part]) -> list[tuple[str, str]]:
    if gate.verdict == "undetermined" and all(part.verdict == "pass" for part in gate.parts):
        return [("The gate", "compared nothing; this is not a pass")]
    return [(plain(part.title), unjudged_text(part)) for part in parts if part.verdict == "undetermined"]


def unjudged_text(part: Part) -> str:
    """Why an undetermined part has no answer: its own reason, or its account."""
    reason = part.report.summary.get("not_judged")
    if reason:
        return f"could not be judged: {plain(reason)}"
    ledger = part.report.ledger
    if ledger.compared:
        return f"not judged to the end: {account_text(ledger)}; this is not a pass"
    return f"could not be judged: 0 of {ledger.declared} declared values were compared; this is not a pass"


def parts_text(gate: GateReport) -> str:
    """How many of the parts failed, also by warnings where those fail the gate, and how many could not be judged."""
    verdicts = [part.verdict for part in gate.parts]
    warned = [part.verdict == "pass" and part.report.count(Severity.WARNING) for part in gate.parts if gate.strict]
    failed = verdicts.count("fail") + sum(map(bool, warned))
    why = "failed (warnings fail a strict gate)" if any(warned) else "failed"
    told = [
        (count, words)
        for count, words in ((failed, why), (verdicts.count("undetermined"), "could not be judged"))
        if count
    ]
    whole = number_of(len(verdicts), "part")
    return (
        ", ".join(f"{count}{'' if place else f' of {whole}'} {words}" for place, (count, words) in enumerate(told))
        or whole
    )


def part_word(part: Part) -> str:
    """The part's verdict, or the word for a waived part."""
    return "waived" if part.is_waived else part.verdict


def part_text(part: Part) -> str:
    """The text after a part's verdict: its account, the reason for a missing answer, or its waiver."""
    if part.verdict == "undetermined":
        told = part.report.count(Severity.ERROR) > 0
        return "could not be judged; its finding says why" if told else unjudged_text(part)
    if part.is_waived:
        return "; ".join(plain(finding.message) for finding in part.report.findings) or account_text(part.report.ledger)
    return f"{account_text(part.report.ledger)}{_seen_text(part)}{_clips_text(part)}"


def _seen_text(part: Part) -> str:
    """How far the diagnosis of a recording saw that agrees; empty for every other part."""
    diagnosis = part.report.summary.get("diagnosis")
    seen = diagnosis.get("seen") if isinstance(diagnosis, dict) and diagnosis.get("verdict") == "agrees" else None
    return f"; {plain(seen.get('sentence', ''))}" if isinstance(seen, dict) else ""


def _clips_text(part: Part) -> str:
    """Which clips show as much as all of them, and what no clip can show; empty for every part that is not about clips."""
    summary = part.report.summary
    enough, unseen = (summary.get(name, ()) for name in ("smallest_set", "inseparable"))
    told = ""
    if 0 < len(enough) < len(summary.get("separated", ())):
        told = f"; {', '.join(map(plain, enough))} show{'s' if len(enough) == 1 else ''} as much as all clips"
    if unseen:
        told += f"; no clip can show {', '.join(plain(f'{knob}={value}') for knob, value in unseen)}"
    return told


def worst_first(findings: tuple[Finding, ...]) -> list[Finding]:
    """Errors, then warnings, then information; each in the original order."""
    return sorted(findings, key=lambda finding: _WORST_FIRST.index(finding.rule.severity))


def cause_text(cause: Mistake) -> str:
    """Where and what: the first file, and the sentence that names it."""
    return f"{cause.side}, {plain(cause.lead.place)}: {plain(cause.title)}"


def found_text(cause: Mistake) -> str:
    """By which rules it was found, how often, in how many files."""
    codes = ", ".join(f"{code} ×{count}" if count > 1 else code for code, count in cause.codes.items())
    return codes if len(cause.files) == 1 else f"{codes}; in {len(cause.files)} files: {plain(', '.join(cause.files))}"
