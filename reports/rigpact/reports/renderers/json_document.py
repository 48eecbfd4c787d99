"""The `rigpact-gate` document: keys in the order of the format, numbers unrounded, a newline at the end."""

from rigpact.reports.gate.answer.report import GateReport
from rigpact.reports.terminal import json_text


def render(gate: GateReport) -> str:
    """Render the whole report; a non-finite number becomes null."""
    return json_text(gate.to_json())
