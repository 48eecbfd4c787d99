"""GitLab code quality report: a merge request shows the findings beside the files.

GitLab identifies findings only by fingerprint. So the fingerprint contains the part, the path and, for repeated
findings, a number; it does not contain the numbers in a message. The format has no place for a part that could not be
judged; the exit status and the JUnit report show it.
"""

import hashlib
from collections import Counter
from typing import Any

import orjson

from rigpact.contract.findings import Severity
from rigpact.reports.gate.answer.report import GateReport
from rigpact.reports.renderers.places import places_of
from rigpact.reports.renderers.wording import hint_text, message_text
from rigpact.reports.terminal import plain

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.INFO: "info"}


def render(gate: GateReport) -> str:
    """Render every finding as one issue; an empty list without findings."""
    places = places_of(gate.findings)
    met: Counter[str] = Counter()
    issues: list[dict[str, Any]] = []
    for part in gate.parts:
        for finding in part.report.findings:
            place = places[finding.file, finding.pointer]
            identity = "\0".join((part.name, plain(place.path if place.inside else ""), finding.fingerprint))
            met[identity] += 1
            where = f"{finding.rule.code} {plain(finding.pointer)}".strip()
            issues.append(
                {
                    "description": f"{where}: {message_text(finding)} (hint: {hint_text(finding)})",
                    "check_name": finding.rule.name,
                    "fingerprint": hashlib.sha256(f"{identity}\0{met[identity]}".encode()).hexdigest(),
                    "severity": _SEVERITIES[finding.rule.severity],
                    "location": {"path": plain(place.path), "lines": {"begin": place.line}},
                }
            )
    return orjson.dumps(issues, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode("utf-8")
