"""GitHub annotations: one workflow command for each finding, printed to the log of a job.

GitHub shows only ten of each severity in a step, without a note. So the tenth line gives the total number.
"""

from collections.abc import Iterator, Mapping

from rigpact.contract.findings import Severity
from rigpact.reports.gate.answer.report import GateReport
from rigpact.reports.renderers.places import places_of
from rigpact.reports.renderers.wording import unexplained
from rigpact.reports.terminal import plain

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
SHOWN_EACH = 10
"""GitHub's limit for each severity in a step."""


def render(gate: GateReport) -> str:
    """Render the findings, errors first, and the parts that could not be judged."""
    places = places_of(gate.findings)
    by_severity: dict[Severity, list[str]] = {severity: [] for severity in Severity}
    for title, why in unexplained(gate):
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
    return "".join(f"{line}\n" for severity, lines in by_severity.items() for line in _limited(severity, lines))


def _limited(severity: Severity, lines: list[str]) -> Iterator[str]:
    if len(lines) <= SHOWN_EACH:
        yield from lines
        return
    yield from lines[: SHOWN_EACH - 1]
    more = len(lines) - SHOWN_EACH + 1
    about = f"{more} more of severity {severity.value} stand in the other reports of this run"
    yield _command(_COMMANDS[severity], {"title": "rigpact"}, about)


def _command(name: str, properties: Mapping[str, str], message: str) -> str:
    plainly = {key: _data(plain(value)) for key, value in properties.items()}
    written = ",".join(f"{key}={value.replace(':', '%3A').replace(',', '%2C')}" for key, value in plainly.items())
    return f"::{name} {written}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
