"""The gate's answer at a terminal: parts, the causes of the findings, account, next steps. Colour adds no information."""

from io import StringIO

from rich.console import Console
from rich.text import Text

from rigpact.contract.findings import number_of
from rigpact.reports.gate.answer.report import GateReport, Part
from rigpact.reports.renderers.wording import cause_text, found_text, part_text, parts_text
from rigpact.reports.terminal import STYLES, account_text, plain, sum_up, verdict_word

_VERDICT_WIDTH = len("UNDETERMINED")
CAUSES_SHOWN = 12
"""Most causes, so that the parts stay visible; the other formats hold all findings."""


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
    _print_causes(gate, console)
    for number, step in enumerate(gate.next_steps, 1):
        console.print(Text(f"next {number}. {plain(step)}"))
    line = verdict_word(gate.verdict)
    first = f"; first: {plain(gate.causes[0].name)}" if gate.verdict == "fail" and gate.causes else ""
    line.append(f": {parts_text(gate)}; {account_text(gate.ledger)}{first}", style="default")
    sum_up(line, console)


def _print_causes(gate: GateReport, console: Console) -> None:
    """The worst causes, each with what it does to the character and the rules that found it."""
    if gate.causes:
        findings, causes = number_of(len(gate.findings), "finding"), number_of(len(gate.causes), "cause")
        console.print(f"{findings}, {causes}; the worst first")
    for number, cause in enumerate(gate.causes[:CAUSES_SHOWN], 1):
        line = Text(f"{number}. ")
        line.append(cause.severity.value, style=STYLES[cause.severity])
        console.print(line.append(f" {cause_text(cause)}", style="default"))
        if cause.effect:
            console.print(f"   on the character: {plain(cause.effect)}")
        console.print(Text(f"   {found_text(cause)}", style="dim"))
    more = len(gate.causes) - CAUSES_SHOWN
    if more > 0:
        console.print(f"… and {number_of(more, 'more cause')}, less severe; --format json has every finding")


def _print_part(part: Part, console: Console) -> None:
    word = Text("WAIVED", style="bold cyan") if part.is_waived else verdict_word(part.verdict)
    word.pad_right(_VERDICT_WIDTH - len(word))
    number = len(part.report.findings)
    told = f"{number_of(number, 'finding')}; " if number and part.verdict != "undetermined" else ""
    about = part_text(part) if part.is_waived else told + part_text(part)
    console.print(word.append(f"  {plain(part.title)}: {about}", style="default"))
