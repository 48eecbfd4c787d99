"""Print the adequacy of clips for people."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from rigpact.reports.diagnosing.adequacy import CLEAR_MARGIN, Adequacy, ClipAdequacy
from rigpact.reports.terminal import plain, sum_up, table


def print_adequacy(adequacy: Adequacy, console: Console) -> None:
    """Print what each clip separates, what no clip separates (with advice), and the smallest set."""
    total = adequacy.ledger.declared
    rows = [
        (plain(Path(clip.name).name), f"{len(clip.separated & adequacy.separable)} of {total}", _weakest(clip))
        for clip in adequacy.clips
    ]
    title = f"Conventions told apart, by at least {CLEAR_MARGIN:g} tolerances"
    console.print(table(title, ("clip", "separated", "smallest margin"), rows))
    for clip in adequacy.clips:
        for limit in clip.limits:
            console.print(Text(f"  {plain(Path(clip.name).name)}: {limit}", style="dim"))
    for knob, value in adequacy.missed:
        console.print(Text(f"not shown by any clip: {knob}={value}; {adequacy.advice((knob, value))}", style="yellow"))
    if adequacy.inseparable:
        words = ", ".join(f"{knob}={value}" for knob, value in adequacy.inseparable)
        console.print(Text(f"No clip can show: {words}", style="dim"))
    names = ", ".join(plain(Path(name).name) for name in adequacy.smallest_set)
    console.print(Text(f"Smallest set that shows as much: {names or 'none'}"))
    shown = f"{adequacy.ledger.compared} of {total} separable conventions are told apart"
    sum_up(Text(f"{'FAIL' if adequacy.missed else 'PASS'}: {shown}", style="bold"), console)


def _weakest(clip: ClipAdequacy) -> str:
    return f"{min(clip.margins[choice] for choice in clip.separated):.3g}" if clip.separated else ""
