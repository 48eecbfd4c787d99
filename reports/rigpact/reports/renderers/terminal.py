"""The gate's answer at a terminal: a line for each part, findings, account, next steps. Colour adds no information."""

from __future__ import annotations

from io import StringIO

from rich.console import Console
from rich.text import Text

from rigpact.reports.gate.answer.report import GateReport, Part
from rigpact.reports.renderers.wording import part_text, worst_first
from rigpact.reports.terminal import account_text, plain, print_finding, verdict_word

_VERDICT_WIDTH = len("UNDETERMINED")
FINDINGS_SHOWN = 20
"""Largest number of findings, so that the parts stay visible; the other formats hold all findings."""


def render(gate: GateReport) -> str:
    """Render the report as plain text without colour."""
    stream = StringIO()
    print_gate(gate, Console(file=stream, soft_wrap=True, highlight=False, no_color=True, force_terminal=False))
    return stream.getvalue()


def print_gate(gate: GateReport, console: Console) -> None:
    """Print the report."""
    for part in gate.parts:
        _print_part(part, console)
    for name, reason in gate.not_asked.items():
        console.print(Text(f"{'not asked':{_VERDICT_WIDTH}}  {plain(name)}: {plain(reason)}", style="dim"))
    found = worst_first(gate.findings)
    for finding in found[:FINDINGS_SHOWN]:
        print_finding(finding, console)
    if len(found) > FINDINGS_SHOWN:
        console.print(f"… and {len(found) - FINDINGS_SHOWN} more findings, less severe or later")
    for number, step in enumerate(gate.next_steps, 1):
        console.print(Text(f"next {number}. {plain(step)}"))
    line = verdict_word(gate.verdict)
    strictly = " (warnings fail it too)" if gate.strict else ""
    line.append(f": {len(gate.parts)} parts{strictly}; {account_text(gate.ledger)}", style="default")
    console.print(line)


def _print_part(part: Part, console: Console) -> None:
    word = Text("WAIVED", style="bold cyan") if part.is_waived else verdict_word(part.verdict)
    word.pad_right(_VERDICT_WIDTH - len(word))
    number = len(part.report.findings)
    told = f"{number} finding{'s' if number > 1 else ''}; " if number and part.verdict != "undetermined" else ""
    about = part_text(part) if part.is_waived else told + part_text(part)
    console.print(word.append(f"  {plain(part.title)}: {about}", style="default"))
