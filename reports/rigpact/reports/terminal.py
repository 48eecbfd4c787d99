"""Answers for people at a terminal: findings, verdicts, tables, progress.

Text that comes from user files (bone names, paths) is hostile: it is printed as plain text, control characters escaped.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import orjson
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from rigpact.contract.findings import Finding, FindingsReport, Severity

Item = TypeVar("Item")
_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_VERDICT_STYLES = {"pass": "bold green", "fail": "bold red", "undetermined": "bold yellow"}
_LOG_WIDTH = 140
"""Width of tables in a pipe or a CI log, which has none of its own."""
_PROGRESS_AFTER_ITEMS = 64
"""Loops shorter than this end within a second; a bar would only flicker."""


def stdout() -> Console:
    """The console that answers go to."""
    return Console(file=sys.stdout, soft_wrap=True, highlight=False, width=None if sys.stdout.isatty() else _LOG_WIDTH)


def plain(text: object) -> str:
    """Text of a user's file with control characters escaped, so that it cannot steer the terminal."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in str(text))


def print_json(document: object) -> None:
    """Print a machine-readable answer, keys in the order given."""
    sys.stdout.write(orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY).decode() + "\n")


def print_report(report: FindingsReport, console: Console | None = None) -> None:
    """Print every finding, then the verdict with its account."""
    console = console or stdout()
    for finding in report.findings:
        print_finding(finding, console)
    print_verdict(report, console)


def print_finding(finding: Finding, console: Console) -> None:
    """Print one finding: place, code, severity, message; the hint below it."""
    severity = finding.rule.severity
    place = f"{finding.file}#{finding.pointer}" if finding.pointer else finding.file
    line = Text(f"{plain(place)}: {finding.rule.code} ")
    line.append(severity.value, style=_STYLES[severity]).append(f": {plain(finding.message)}")
    console.print(line)
    console.print(Text(f"  hint: {plain(finding.rule.hint)}", style="dim"))


def print_verdict(report: FindingsReport, console: Console) -> None:
    """Print the verdict, the number of findings by severity and the ledger."""
    ledger = report.ledger
    counts = [f"{report.count(severity)} {severity.value}" for severity in Severity]
    account = f"{ledger.compared} of {ledger.declared} judged"
    account += f", {ledger.waived} waived" if ledger.waived else ""
    account += f", {ledger.missing} missing" if ledger.missing else ""
    line = Text(report.verdict.upper(), style=_VERDICT_STYLES[report.verdict])
    line.append(f": {', '.join(counts)}; {account}", style="default")
    console.print(line)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """A table whose first column is text and whose others are numbers."""
    built = Table(title=title, title_justify="left", title_style="bold", header_style="dim", box=None, pad_edge=False)
    for place, name in enumerate(columns):
        built.add_column(name, justify="left" if place == 0 else "right")
    for row in rows:
        built.add_row(*(Text(plain(cell)) for cell in row))
    return built


def tracked(items: Sequence[Item], what: str) -> Iterator[Item]:
    """Iterate with a progress bar on stderr; none for short loops or when stderr is no terminal."""
    console = Console(stderr=True)
    if len(items) < _PROGRESS_AFTER_ITEMS or not console.is_terminal:
        yield from items
        return
    with _bar(console) as progress:
        yield from progress.track(items, description=what)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on stderr that something of unknown length goes on; nothing when stderr is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield


@contextmanager
def _bar(console: Console) -> Iterator[Progress]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        yield progress
