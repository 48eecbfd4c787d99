"""The next steps: at most three sentences.

Causes from a diagnosis come first, then files that the engine refuses, then parts that could not be judged, then other
errors by their number of findings. A stage that only inherits an explained error gives no step of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rigpact.contract.findings import Finding, Severity
from rigpact.contract.rules.answers import comparison, gate
from rigpact.reports.gate.answer.report import GateReport, Part
from rigpact.reports.gate.measured import IMPOSSIBLE

MOST = 3
_NAMED = {gate.CONVENTION_DIFFERS.code: 0, gate.NOT_EXPLAINED.code: 4}
_INHERITING = {comparison.STAGE_DIFFERS.code, gate.BEYOND_DECLARED_TOLERANCE.code, gate.POSE_BEYOND_LIMIT.code}
_SEVERITY_RANK = {Severity.ERROR: 5, Severity.WARNING: 7, Severity.INFO: 9}
NEXT_QUESTIONS: Mapping[str, str] = {
    "engine-trace": "name a trace of the engine in [[gate.trace]]: until then nothing says what the engine computes",
    "teacher": "name a teacher prediction in [[gate.teacher]]: until then nothing says what training computes",
    "model": "name the model in [gate]: until then nothing is run",
    "order of inputs": "name a clip or a teacher prediction in [gate]: until then nothing says in which order inputs are bound",
    "breaking": 'set base = "origin/main" in [gate]: then breaking changes of the bundle are seen before they are merged',
    "budget": "declare a [gate.budget] so that a larger model is a decision and not an accident",
}
"""Advice for parts that were not asked, when all asked parts pass; the most useful part first."""


def next_steps(report: GateReport) -> tuple[str, ...]:
    """At most three steps, the most useful first. When all parts pass: advice about parts that were not asked."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in (finding for part in report.parts for finding in _worth_a_step(part)):
        groups.setdefault((finding.rule.code, _what_it_is_about(finding)), []).append(finding)
    steps = [(_rank(found[0], strict=report.strict), -len(found), _sentence(found)) for found in groups.values()]
    steps += [step for part in report.parts for step in _missing(part)]
    words = list(dict.fromkeys(text for _, _, text in sorted(steps, key=lambda step: step[:2])))
    if not words:
        open_questions = {name for name, reason in report.not_asked.items() if reason not in IMPOSSIBLE}
        words = [words for name, words in NEXT_QUESTIONS.items() if name in open_questions]
    return tuple(words[:MOST])


def _worth_a_step(part: Part) -> list[Finding]:
    if part.is_waived:
        return []
    findings = part.report.findings
    named = any(finding.rule.code in _NAMED for finding in findings)
    wanted = [each for each in findings if each.rule.severity is not Severity.INFO]
    return [each for each in wanted if not (named and each.rule.code in _INHERITING)]


def _what_it_is_about(finding: Finding) -> str:
    """The common cause of several findings: a convention, or a reason why something could not be judged."""
    about = {gate.CONVENTION_DIFFERS.code: "changes", gate.PART_NOT_JUDGED.code: "reason"}.get(finding.rule.code)
    return "" if about is None else str(finding.values.get(about, finding.message))


def _missing(part: Part) -> Iterator[tuple[int, int, str]]:
    """A step for values that were not compared and have no finding."""
    missing = part.report.ledger.missing
    if part.verdict != "pass" and not _worth_a_step(part):
        yield 3, -missing, f"{part.title}: {missing} declared values were not compared; record them or waive them"


def _rank(finding: Finding, *, strict: bool) -> int:
    if finding.rule.code in _NAMED:
        return _NAMED[finding.rule.code]
    if finding.rule.code == gate.PART_NOT_JUDGED.code:
        return 2
    if finding.rule.engine_refuses and finding.rule.severity is Severity.ERROR:
        return 1
    rank = _SEVERITY_RANK[finding.rule.severity]
    return rank - 1 if strict and rank == _SEVERITY_RANK[Severity.WARNING] else rank


def _sentence(found: Sequence[Finding]) -> str:
    finding = found[0]
    more = f" (and {len(found) - 1} more of {finding.rule.code})" if len(found) > 1 else ""
    place = f"{finding.file}#{finding.pointer}" if finding.pointer else finding.file
    step = f"{place}: {finding.message}{more}"
    return step if finding.rule.code in _NAMED else f"{step}; {finding.rule.hint}"
