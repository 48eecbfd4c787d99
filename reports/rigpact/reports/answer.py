"""An answer as data: its verdict, the sentence that answers, and what stands above it. Every format is a template of it.

A terminal prints all of it, and ends with the answer; a comment (renderers/markdown.py) begins with the answer and fits a screen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from rigpact.contract.findings import EXIT_FINDINGS, EXIT_PASS, FindingsReport
from rigpact.reports.terminal import plain, print_report, sum_up, table

_STYLES = {EXIT_PASS: "bold green", EXIT_FINDINGS: "bold red"}
_HUGE = 1e6
"""A ratio beyond it says no more: its tolerance is next to nothing."""


@dataclass(frozen=True)
class Sentence:
    """A sentence. style: of a terminal. rank: its place in a comment, the smallest first; None for one that it leaves out."""

    text: str
    style: str = ""
    rank: int | None = None


@dataclass(frozen=True)
class Figures:
    """A table. is_short: of a comment, else of a terminal."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    is_short: bool = False


@dataclass(frozen=True)
class Answer:
    """word: the verdict. headline: the cause, or what else answers. exit_code: of the command. body: in a terminal's order."""

    word: str
    headline: str
    exit_code: int
    body: Sequence[Sentence | Figures] = ()

    @property
    def lines(self) -> list[str]:
        """The sentences of a comment, what matters most first."""
        ranked = [
            (each.rank, each.text.strip()) for each in self.body if isinstance(each, Sentence) and each.rank is not None
        ]
        return [text for _, text in sorted(ranked, key=lambda entry: entry[0])]

    @property
    def figures(self) -> Figures | None:
        """The table of a comment."""
        return next((each for each in self.body if isinstance(each, Figures) and each.is_short), None)


def print_body(body: Iterable[Sentence | Figures], console: Console) -> None:
    """Print sentences and tables for people."""
    for each in body:
        if isinstance(each, Sentence):
            console.print(Text(plain(each.text), style=each.style))
        elif not each.is_short:
            console.print(table(each.title, each.columns, each.rows))


def print_answer(answer: Answer, console: Console) -> None:
    """Print the answer for people; its last line says it all."""
    print_body(answer.body, console)
    line = Text(answer.word, style=_STYLES.get(answer.exit_code, "bold yellow"))
    sum_up(line.append(f": {plain(answer.headline)}", style="default"), console)


def print_with_findings(
    body: Iterable[Sentence | Figures], report: FindingsReport, console: Console, headline: str = ""
) -> None:
    """Print an answer that is made of findings: what was measured, the findings, and the verdict with its account."""
    print_body(body, console)
    print_report(report, console, headline)


def number_text(value: Any, unknown: str = "") -> str:
    """Three digits of a number; nothing where there is none."""
    return unknown if value is None else f"{value:.3g}"


def ratio_text(value: float | None) -> str:
    """An error in tolerances."""
    return "> 1e6" if value is not None and value > _HUGE else number_text(value)
