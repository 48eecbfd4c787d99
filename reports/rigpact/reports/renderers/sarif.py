"""SARIF 2.1.0 for code scanning (GitHub, Azure, editors).

Paths are relative to the repository, `%SRCROOT%`. The repository's address is left out, so every checkout gives the
same bytes. A finding in a JSON file has the line and column of its value, in UTF-16 code units. A finding in a model or
a trace has the file, and its pointer as a logical location. Fingerprints do not depend on paths or on numbers in
messages.

Links go to the project URL named Documentation of the installed distribution; `RIGPACT_DOCS_URL` replaces it.
"""

import os
import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, metadata
from typing import Any

import orjson

from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Finding, Rule, Severity
from rigpact.contract.version import rigpact_version
from rigpact.reports.gate.answer.report import GateReport, Part
from rigpact.reports.renderers.places import FilePlace, places_of
from rigpact.reports.renderers.wording import unanswered
from rigpact.reports.terminal import plain

ENVIRONMENT = "RIGPACT_DOCS_URL"
_SCHEMES = ("https://", "http://")
_PLACEHOLDER = "/OWNER/"
"""Stands in pyproject.toml until somebody publishes a copy; a link to it would lead nowhere."""


def documentation_url() -> str | None:
    """The address of the docs folder without a final slash; UnusableInput for a wrong environment variable."""
    given = os.environ.get(ENVIRONMENT, "").strip() or _project_url()
    if given is None:
        return None
    if not given.startswith(_SCHEMES) or not given.isprintable() or " " in given:
        raise UnusableInput(ENVIRONMENT, repr(given), "an address that begins with https://")
    return given.rstrip("/")


def _project_url() -> str | None:
    try:
        urls = metadata("rigpact").get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    named = dict(entry.split(", ", 1) for entry in urls if ", " in entry)
    address = named.get("Documentation")
    return None if address is None or _PLACEHOLDER in address else address


SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "rigpactFinding/v1"
_ROOT = "%SRCROOT%"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_LINK = re.compile(r"\[(?=[^\]]*\]\()")


def render(gate: GateReport) -> str:
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
