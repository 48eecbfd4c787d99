"""The formats that machines read: SARIF, the annotations of GitHub, JUnit.

SARIF 2.1.0 is for code scanning (GitHub, Azure, editors). Its paths are relative to the repository: every checkout gives the same
bytes. A finding in a JSON file has the line and column of its value, in UTF-16 code units; in a model or a trace its pointer.
Links go to the project URL named Documentation of the installed distribution; `RIGPACT_DOCS_URL` replaces it.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata
from typing import Any, Literal
from xml.etree import ElementTree as Xml

import orjson

from rigpact.contract.documents import Kind
from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Finding, Rule, Severity
from rigpact.contract.version import rigpact_version
from rigpact.reports.gate.report import GateReport, Part
from rigpact.reports.renderers.for_people import is_failing, part_text, unanswered, unjudged_text
from rigpact.reports.renderers.places import FilePlace, places_of
from rigpact.reports.terminal import FINDINGS_SHOWN, account_text, plain

ENVIRONMENT = "RIGPACT_DOCS_URL"
_SCHEMES = ("https://", "http://")
_PLACEHOLDER = "/OWNER/"
"""Stands in pyproject.toml until somebody publishes a copy; a link to it would lead nowhere."""


def documentation_url() -> str | None:
    """The address of the docs folder without a final slash; UnusableInput for a wrong environment variable."""
    given = os.environ.get(ENVIRONMENT, "").strip()
    if not given:
        with suppress(PackageNotFoundError):
            urls = dict(entry.split(", ", 1) for entry in metadata("rigpact").get_all("Project-URL") or [])
            given = urls.get("Documentation", "")
    if not given or _PLACEHOLDER in given:
        return None
    if not given.startswith(_SCHEMES) or not given.isprintable() or " " in given:
        raise UnusableInput(ENVIRONMENT, repr(given), "an address that begins with https://")
    return given.rstrip("/")


SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "rigpactFinding/v1"
_ROOT = "%SRCROOT%"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_LINK = re.compile(r"\[(?=[^\]]*\]\()")


def render_sarif(gate: GateReport) -> str:
    """Render every finding as a result; a part that could not be judged becomes an error of the run."""
    rules = sorted({finding.rule.code: finding.rule for finding in gate.findings}.values(), key=lambda rule: rule.code)
    places = places_of(gate.findings)
    order = {rule.code: index for index, rule in enumerate(rules)}
    base = documentation_url()
    causes = {
        id(finding): {"cause": number, "causeTitle": _message(plain(cause.title))}
        for number, cause in enumerate(gate.causes, 1)
        for finding in cause.findings
    }
    driver: dict[str, Any] = {"name": "rigpact", "version": rigpact_version()}
    if base is not None:
        driver["informationUri"] = f"{base}/rules.md"
    open_questions = unanswered(gate)
    invocation: dict[str, Any] = {"executionSuccessful": not open_questions, "exitCode": gate.exit_code}
    if open_questions:
        invocation["toolExecutionNotifications"] = [
            {"level": "error", "message": {"text": _message(f"{title} {why}")}} for title, why in open_questions
        ]
    run: dict[str, Any] = {
        "tool": {"driver": (driver | {"rules": [_descriptor(rule, base) for rule in rules]})},
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
        "invocations": [invocation],
        "results": [
            _result(part, finding, order[finding.rule.code], places[finding.file, finding.pointer], causes)
            for part in gate.parts
            for finding in part.report.findings
        ],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return orjson.dumps(log, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode("utf-8")


def _descriptor(rule: Rule, base: str | None) -> dict[str, Any]:
    why, fix = _sentence(rule.why), _sentence(rule.hint)
    descriptor: dict[str, Any] = {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": _sentence(rule.name.replace("-", " "))},
        "fullDescription": {"text": why},
        "help": {
            "text": f"Why it is bad: {why} How to fix: {fix}",
            "markdown": f"**Why it is bad.** {why}\n\n**How to fix.** {fix}\n\n`rigpact show {rule.code}` shows an example.",
        },
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }
    address = None if base is None else f"{base}/rules.md#{rule.code.lower()}-{rule.name}"
    return descriptor if address is None else descriptor | {"helpUri": address}


def _sentence(text: str) -> str:
    text = plain(text)
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".")


def _result(
    part: Part, finding: Finding, index: int, place: FilePlace, causes: Mapping[int, dict[str, Any]]
) -> dict[str, Any]:
    artifact = {"uri": place.uri} | ({"uriBaseId": _ROOT} if place.inside else {})
    physical: dict[str, Any] = {"artifactLocation": artifact}
    if place.position is not None:
        position = place.position
        physical["region"] = {
            "startLine": position.line, "startColumn": position.column,
            "endLine": position.line, "endColumn": position.end_column,
        }  # fmt: skip
    location: dict[str, Any] = {"physicalLocation": physical}
    if finding.pointer:
        location["logicalLocations"] = [{"fullyQualifiedName": plain(finding.pointer)}]
    return {
        "ruleId": finding.rule.code,
        "ruleIndex": index,
        "level": _LEVELS[finding.rule.severity],
        "message": {"text": _message(f"{plain(finding.message)} (hint: {plain(finding.rule.hint)})")},
        "locations": [location],
        "partialFingerprints": {FINGERPRINT: finding.fingerprint},
        "properties": {"part": plain(part.name)} | causes.get(id(finding), {}),
    }


def _message(text: str) -> str:
    return _LINK.sub(r"\\[", text)


# GitHub annotations: one workflow command for each finding, printed to the log of a job.
_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
SHOWN_EACH = 10
"""GitHub's limit for each severity in a step."""


def render_github(gate: GateReport) -> str:
    """Render the findings, errors first, and the parts that could not be judged."""
    places = places_of(gate.findings)
    by_severity: dict[Severity, list[str]] = {severity: [] for severity in Severity}
    for title, why in unanswered(gate, with_told=False):
        by_severity[Severity.ERROR].append(_command("error", {"title": f"rigpact: {title}"}, f"{title} {why}"))
    for finding in gate.findings:
        place = places[finding.file, finding.pointer]
        properties = {"file": plain(place.path)}
        if place.position is not None:
            position = place.position
            properties |= {"line": str(position.line), "endLine": str(position.line)}
            properties |= {"col": str(position.column), "endColumn": str(position.end_column)}
        properties["title"] = f"{finding.rule.code} {finding.rule.name}"
        at = f"{plain(finding.pointer)}: " if finding.pointer else ""
        told = f"{at}{plain(finding.message)}\nhint: {plain(finding.rule.hint)}"
        by_severity[finding.rule.severity].append(_command(_COMMANDS[finding.rule.severity], properties, told))
    for severity, lines in by_severity.items():
        more = len(lines) - SHOWN_EACH + 1
        if more > 1:
            about = f"{more} more of severity {severity.value} stand in the other reports of this run"
            lines[SHOWN_EACH - 1 :] = [_command(_COMMANDS[severity], {"title": "rigpact"}, about)]
    return "".join(f"{line}\n" for lines in by_severity.values() for line in lines)


def _command(name: str, properties: Mapping[str, str], message: str) -> str:
    plainly = {key: _data(plain(value)) for key, value in properties.items()}
    written = ",".join(f"{key}={value.replace(':', '%3A').replace(',', '%2C')}" for key, value in plainly.items())
    return f"::{name} {written}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


# JUnit XML for Jenkins, GitLab, Azure and others: a suite for each part, a case for each judged rule or stage.
ACCOUNT = "everything declared was judged"
_LET_BE = "differs beyond its derived tolerance; the project's limits or a waiver let it be"


Outcome = Literal["passed", "failed", "skipped", "unjudged"]


@dataclass(frozen=True)
class Case:
    """One judgement. headline: why it did not pass, empty if it passed. code: the rule's code, if it is a rule."""

    name: str
    outcome: Outcome
    headline: str = ""
    code: str = ""
    findings: tuple[Finding, ...] = ()


def _cases_of(part: Part, *, strict: bool = False) -> tuple[Case, ...]:
    summary, ledger = part.report.summary, part.report.ledger
    if part.is_waived:
        return (Case(ACCOUNT, "skipped", part_text(part)),)
    account = Case(ACCOUNT, "passed") if ledger.complete else Case(ACCOUNT, "failed", account_text(ledger))
    if part.verdict == "undetermined":
        account = Case(ACCOUNT, "unjudged", unjudged_text(part))
    stages = tuple(_stage_cases(part, strict=strict))
    told = {id(finding) for case in stages for finding in case.findings}
    rest = [finding for finding in part.report.findings if id(finding) not in told]
    return (account, *stages, *_rule_cases(rest, summary, strict=strict), *_waived(summary))


def _stage_cases(part: Part, *, strict: bool) -> Iterator[Case]:
    summary = part.report.summary
    for entry in (each for each in summary.get("stages", ()) if each.keys() >= {"stage", "ok"}):
        stage, inside = plain(entry["stage"]), f"/stages/{entry['stage']}/"
        here = tuple(each for each in part.report.findings if f"{each.pointer}/".startswith(inside))
        if any(is_failing(finding, strict=strict) for finding in here):
            yield Case(f"stage {stage}", "failed", plain(here[0].message), here[0].rule.code, here)
        elif entry["ok"] or here:
            yield Case(f"stage {stage}", "passed", findings=here)
        else:
            yield Case(f"stage {stage}", "skipped", _LET_BE)
    waived = summary.get("waived")
    for stage, reason in waived.items() if isinstance(waived, Mapping) else ():
        yield Case(f"stage {plain(stage)}", "skipped", f"waived: {plain(reason)}")


def _rule_cases(findings: Sequence[Finding], summary: Mapping[str, Any], *, strict: bool) -> Iterator[Case]:
    by_code: dict[str, list[Finding]] = {}
    for finding in findings:
        by_code.setdefault(finding.rule.code, []).append(finding)
    kinds = {str(entry["kind"]) for entry in summary.get("files", ())}
    every = (*(rules_run(kinds) if kinds else ()), *(finding.rule for finding in findings))
    rules = {rule.code: rule for rule in every}
    lowered = {entry["code"]: entry for entry in _configured(summary, "lowered")}
    for code in sorted(rules):
        here = by_code.get(code, [])
        failing = [finding for finding in here if is_failing(finding, strict=strict)]
        outcome: Outcome = "failed" if failing else "skipped" if code in lowered else "passed"
        headline = plain(failing[0].message) if failing else ""
        if outcome == "skipped":
            headline = plain(f"lowered to {lowered[code]['to']} {_debt(lowered[code])}")
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
        code, place = plain(entry["code"]), plain(f"{entry['file']}#{entry['pointer']}")
        yield Case(f"{code} {place}".strip("# "), "skipped", plain(f"waived {_debt(entry)}"), code)


def _configured(summary: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    return summary.get("configuration", {}).get(name, ())  # type: ignore[no-any-return]


def _debt(entry: Mapping[str, Any]) -> str:
    return "until {expires} by {owner}: {reason}".format_map(entry)


_HEAD = '<?xml version="1.0" encoding="utf-8"?>\n'
_ELEMENT = {"failed": "failure", "skipped": "skipped", "unjudged": "error"}


def render_junit(gate: GateReport) -> str:
    """Render the report; characters that XML forbids are escaped."""
    places = places_of(gate.findings)
    suites = [(plain(part.name), _cases_of(part, strict=gate.strict)) for part in gate.parts]
    if not any(case.outcome == "unjudged" for _, cases in suites for case in cases):
        suites += [("gate", (Case(title, "unjudged", why),)) for title, why in unanswered(gate)]
    root = Xml.Element("testsuites", {"name": "rigpact"} | _counts(case for _, cases in suites for case in cases))
    for name, cases in suites:
        skipped = sum(case.outcome == "skipped" for case in cases)
        suite = Xml.SubElement(root, "testsuite", {"name": name} | _counts(cases) | {"skipped": str(skipped)})
        for case in cases:
            group = f"rigpact.{name}"
            element = Xml.SubElement(suite, "testcase", {"classname": group, "name": case.name})
            if case.findings:
                place = places[case.findings[0].file, case.findings[0].pointer]
                element.set("file", plain(place.path))
                if place.position:
                    element.set("line", str(place.line))
            more = len(case.findings) - FINDINGS_SHOWN
            lines = [
                f"{plain(each.place)}: {each.rule.severity.value}: {plain(each.message)}\n  hint: {plain(each.rule.hint)}"
                for each in case.findings[:FINDINGS_SHOWN]
            ]
            text = "\n".join([*lines, f"and {more} more"] if more > 0 else lines)
            if case.outcome in _ELEMENT:
                about = {"type": case.code or case.outcome, "message": case.headline}
                Xml.SubElement(element, _ELEMENT[case.outcome], about).text = text or case.headline
            elif text:
                Xml.SubElement(element, "system-out").text = text
    Xml.indent(root)
    return _HEAD + Xml.tostring(root, encoding="unicode") + "\n"


def _counts(cases: Iterable[Case]) -> dict[str, str]:
    outcomes = [case.outcome for case in cases]
    failures, errors = outcomes.count("failed"), outcomes.count("unjudged")
    return {"tests": str(len(outcomes)), "failures": str(failures), "errors": str(errors)}
