"""JUnit XML for Jenkins, GitLab, Azure and others: a suite for each part, a case for each judged rule or stage.

A failed case is a failure, a waived case is skipped, and a case without an answer is an error. There are no times, so
the same files give the same bytes. The XML is valid under the XSD of Jenkins' xUnit plugin (junit-10); all readers
support its elements and attributes.
"""

from collections.abc import Iterable, Mapping
from xml.etree import ElementTree as Xml

from rigpact.contract.findings import Finding
from rigpact.reports.gate.answer.report import GateReport
from rigpact.reports.renderers.judged import Case, Outcome, cases_of
from rigpact.reports.renderers.places import Place, places_of
from rigpact.reports.renderers.wording import hint_text, message_text, place_text, unanswered
from rigpact.reports.terminal import FINDINGS_SHOWN, plain

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
            _add_case(suite, f"rigpact.{name}", case, places)
    Xml.indent(root)
    return _HEAD + Xml.tostring(root, encoding="unicode") + "\n"


def _counts(cases: Iterable[Case]) -> dict[str, str]:
    outcomes = [case.outcome for case in cases]
    failures, errors = outcomes.count(Outcome.FAILED), outcomes.count(Outcome.UNJUDGED)
    return {"tests": str(len(outcomes)), "failures": str(failures), "errors": str(errors)}


def _add_case(suite: Xml.Element, group: str, case: Case, places: Mapping[tuple[str, str], Place]) -> None:
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


def _told(findings: tuple[Finding, ...]) -> str:
    lines = []
    for finding in findings[:FINDINGS_SHOWN]:
        message = f"{finding.rule.severity.value}: {message_text(finding)}\n  hint: {hint_text(finding)}"
        lines.append(f"{place_text(finding)}: {message}")
    more = len(findings) - FINDINGS_SHOWN
    return "\n".join([*lines, f"and {more} more"] if more > 0 else lines)
