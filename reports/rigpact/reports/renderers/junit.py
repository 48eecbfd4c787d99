"""JUnit XML for Jenkins, GitLab, Azure and others: a suite for each part, a case for each judged rule or stage.

A failed case is a failure, a waived case is skipped, and a case without an answer is an error. There are no times, so
the same files give the same bytes. The XML is valid under the XSD of Jenkins' xUnit plugin (junit-10); all readers
support its elements and attributes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from xml.etree import ElementTree as Xml

from rigpact.contract.documents import Kind
from rigpact.contract.findings import Finding, Rule
from rigpact.reports.gate.answer.report import GateReport, Part
from rigpact.reports.renderers.places import places_of
from rigpact.reports.renderers.wording import is_failing, part_text, unanswered, unjudged_text
from rigpact.reports.terminal import FINDINGS_SHOWN, account_text, plain

# Split a part of the gate into cases for a test view: passed, failed, waived or not judged.
ACCOUNT = "everything declared was judged"
_LET_BE = "differs beyond its derived tolerance; the project's limits or a waiver let it be"


class Outcome(StrEnum):
    """The outcome of a case."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNJUDGED = "unjudged"


@dataclass(frozen=True)
class Case:
    """One judgement. headline: why it did not pass, empty if it passed. code: the rule's code, if it is a rule."""

    name: str
    outcome: Outcome
    headline: str = ""
    code: str = ""
    findings: tuple[Finding, ...] = ()


def cases_of(part: Part, *, strict: bool = False) -> tuple[Case, ...]:
    """All cases of a part. strict: warnings fail too."""
    summary = part.report.summary
    if part.is_waived:
        return (Case(ACCOUNT, Outcome.SKIPPED, part_text(part)),)
    stages = tuple(_stage_cases(part, strict=strict))
    told = {id(finding) for case in stages for finding in case.findings}
    rest = [finding for finding in part.report.findings if id(finding) not in told]
    return (_account(part), *stages, *_rule_cases(rest, summary, strict=strict), *_waived(summary))


def _account(part: Part) -> Case:
    ledger = part.report.ledger
    if part.verdict == "undetermined":
        return Case(ACCOUNT, Outcome.UNJUDGED, unjudged_text(part))
    if not ledger.complete:
        return Case(ACCOUNT, Outcome.FAILED, account_text(ledger))
    return Case(ACCOUNT, Outcome.PASSED)


def _stage_cases(part: Part, *, strict: bool) -> Iterator[Case]:
    summary = part.report.summary
    for entry in _mappings(summary.get("stages")):
        if "stage" not in entry or "ok" not in entry:
            continue
        stage = str(entry["stage"])
        inside = f"/stages/{stage}/"
        here = tuple(each for each in part.report.findings if f"{each.pointer}/".startswith(inside))
        if any(is_failing(finding, strict=strict) for finding in here):
            yield Case(f"stage {plain(stage)}", Outcome.FAILED, plain(here[0].message), here[0].rule.code, here)
        elif entry["ok"] or here:
            yield Case(f"stage {plain(stage)}", Outcome.PASSED, findings=here)
        else:
            yield Case(f"stage {plain(stage)}", Outcome.SKIPPED, _LET_BE)
    waived = summary.get("waived")
    for stage, reason in waived.items() if isinstance(waived, Mapping) else ():
        yield Case(f"stage {plain(stage)}", Outcome.SKIPPED, f"waived: {plain(reason)}")


def _rule_cases(findings: Sequence[Finding], summary: Mapping[str, Any], *, strict: bool) -> Iterator[Case]:
    by_code: dict[str, list[Finding]] = {}
    for finding in findings:
        by_code.setdefault(finding.rule.code, []).append(finding)
    kinds = {str(entry.get("kind")) for entry in _mappings(summary.get("files"))}
    every = (*(rules_run(kinds) if kinds else ()), *(finding.rule for finding in findings))
    rules = {rule.code: rule for rule in every}
    lowered = {str(entry.get("code")): entry for entry in _configured(summary, "lowered")}
    for code in sorted(rules):
        here = by_code.get(code, [])
        failing = [finding for finding in here if is_failing(finding, strict=strict)]
        outcome = Outcome.FAILED if failing else Outcome.SKIPPED if code in lowered else Outcome.PASSED
        headline = plain(failing[0].message) if failing else ""
        if outcome is Outcome.SKIPPED:
            headline = plain(f"lowered to {lowered[code].get('to')} {_debt(lowered[code])}")
        yield Case(f"{code} {rules[code].name}", outcome, headline, code, tuple(here))


_GIVES: Mapping[str, str] = {
    Kind.BUNDLE: "DOCUMENT BUNDLE STATISTICS CONTRACT", Kind.COMPANION: "DOCUMENT STATISTICS", Kind.RAW_CLIP: "DOCUMENT CLIP",
    Kind.TEACHER_BATCH: "DOCUMENT ROWS", Kind.TEACHER_PREDICTION: "DOCUMENT ROWS PREDICTION", "model": "MODEL POSITIONS",
    Kind.SYSTEM_CONTRACT: "DOCUMENT CONTRACT SYSTEM_CONTRACT CONTRACT_FILE", "trace": "SYSTEM_DATA",
    Kind.DECLARATION: "DOCUMENT CONTRACT SYSTEM_CONTRACT DECLARATION",
}  # fmt: skip
"""What each kind of file gives to the families that `check` runs: names of `Need`."""


def rules_run(kinds: Iterable[str]) -> tuple[Rule, ...]:
    """The rules of all families that `check` runs on files of these kinds.

    None if a file has a kind that `check` does not know.
    """
    from rigpact.contract.rules.catalogue import FAMILIES

    known = set(kinds)
    if not known <= _GIVES.keys():
        return ()
    given = {need for kind in known for need in _GIVES[kind].split()}
    if "SYSTEM_CONTRACT" in given:  # it says itself how its models are bound
        given -= {"POSITIONS"}
    return tuple(rule for family in FAMILIES if given.issuperset(n.name for n in family.needs) for rule in family.rules)


def _waived(summary: Mapping[str, Any]) -> Iterator[Case]:
    for entry in _configured(summary, "waived"):
        code, place = plain(entry.get("code", "")), plain(f"{entry.get('file', '')}#{entry.get('pointer', '')}")
        yield Case(f"{code} {place}".strip("# "), Outcome.SKIPPED, plain(f"waived {_debt(entry)}"), code)


def _configured(summary: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """What the project's configuration lowered or waived in a part."""
    configuration = summary.get("configuration")
    return _mappings(configuration.get(name)) if isinstance(configuration, Mapping) else []


def _debt(entry: Mapping[str, Any]) -> str:
    return f"until {entry.get('expires')} by {entry.get('owner')}: {entry.get('reason')}"


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list | tuple) else []


_HEAD = '<?xml version="1.0" encoding="utf-8"?>\n'
_ELEMENT = {Outcome.FAILED: "failure", Outcome.SKIPPED: "skipped", Outcome.UNJUDGED: "error"}


def render(gate: GateReport) -> str:
    """Render the report; characters that XML forbids are escaped."""
    places = places_of(gate.findings)
    suites = [(plain(part.name), cases_of(part, strict=gate.strict)) for part in gate.parts]
    if not any(case.outcome is Outcome.UNJUDGED for _, cases in suites for case in cases):
        suites += [("gate", (Case(title, Outcome.UNJUDGED, why),)) for title, why in unanswered(gate)]
    root = Xml.Element("testsuites", {"name": "rigpact"} | _counts(case for _, cases in suites for case in cases))
    for name, cases in suites:
        skipped = sum(case.outcome is Outcome.SKIPPED for case in cases)
        suite = Xml.SubElement(root, "testsuite", {"name": name} | _counts(cases) | {"skipped": str(skipped)})
        for case in cases:
            group = f"rigpact.{name}"
            element = Xml.SubElement(suite, "testcase", {"classname": group, "name": case.name})
            if case.findings:
                place = places[case.findings[0].file, case.findings[0].pointer]
                element.set("file", plain(place.path))
                if place.position:
                    element.set("line", str(place.line))
            text = _told(case.findings)
            if case.outcome in _ELEMENT:
                about = {"type": case.code or case.outcome.value, "message": case.headline}
                Xml.SubElement(element, _ELEMENT[case.outcome], about).text = text or case.headline
            elif text:
                Xml.SubElement(element, "system-out").text = text
    Xml.indent(root)
    return _HEAD + Xml.tostring(root, encoding="unicode") + "\n"


def _counts(cases: Iterable[Case]) -> dict[str, str]:
    outcomes = [case.outcome for case in cases]
    failures, errors = outcomes.count(Outcome.FAILED), outcomes.count(Outcome.UNJUDGED)
    return {"tests": str(len(outcomes)), "failures": str(failures), "errors": str(errors)}


def _told(findings: tuple[Finding, ...]) -> str:
    lines = []
    for finding in findings[:FINDINGS_SHOWN]:
        message = f"{finding.rule.severity.value}: {plain(finding.message)}\n  hint: {plain(finding.rule.hint)}"
        lines.append(f"{plain(finding.place)}: {message}")
    more = len(findings) - FINDINGS_SHOWN
    return "\n".join([*lines, f"and {more} more"] if more > 0 else lines)
