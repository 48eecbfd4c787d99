"""Answers as data, and their output at a terminal: findings, verdicts, tables, progress; templates of words.

Text from user files (bone names, paths) may be hostile: it is printed as plain text with control characters escaped.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import orjson
from rich.console import Console
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from rigpact.contract.errors import printable
from rigpact.contract.findings import (
    EXIT_FINDINGS,
    EXIT_PASS,
    Finding,
    FindingsReport,
    Ledger,
    Rule,
    Severity,
    number_of,
)

if TYPE_CHECKING:
    from jinja2 import Template
    from rich.progress import Progress

Item = TypeVar("Item")
STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
VERDICT_STYLES = {"pass": "bold green", "fail": "bold red", "undetermined": "bold yellow"}
_LOG_WIDTH = 140
"""Width of tables in a pipe or a CI log, which have no width."""
_QUIET: ContextVar[bool] = ContextVar("quiet", default=False)
_PROGRESS_AFTER_ITEMS = 64
"""Loops shorter than this end within a second, and get no progress bar."""
PLACES_SHOWN = 8
FINDINGS_SHOWN = 50
"""Largest number of findings of one rule: a mistake in every frame or every slice is understood from the first ones."""


def stdout() -> _Answer:
    """The console for answers, as wide as the terminal, or as COLUMNS says. rich reads FORCE_COLOR.

    NO_COLOR leaves plain text, without bold too: a log shows every escape as a sign.
    """
    colours: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    return _Answer(file=sys.stdout, soft_wrap=True, highlight=False, width=_width(), color_system=colours)


def _width() -> int | None:
    has_own = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return None if has_own else _LOG_WIDTH


class _Answer(Console):
    """A console that knows which line sums its answer up."""

    summary: Text | None = None

    def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
        """What a user's file says steers no terminal, wherever in an answer it stands."""
        for each in super().render(renderable, options):
            lines = each.text.split("\n")
            yield each if each.control else Segment("\n".join(map(printable, lines)), each.style)


def show(answer: Callable[[Console], None]) -> None:
    """Print an answer for people; where only the summary is wanted (-q), it stands alone."""
    console = stdout()
    with console.capture() as captured:
        answer(console)
    if not is_quiet():
        sys.stdout.write(captured.get())
    elif console.summary is not None:
        console.print(console.summary)


def sum_up(line: Text, console: Console) -> None:
    """Print the line that says it all."""
    if isinstance(console, _Answer):
        console.summary = line
    console.print(line)


def say(text: str) -> None:
    """Print a line about what was done, unless nobody wants to hear it."""
    if not is_quiet():
        sys.stdout.write(f"{plain(text)}\n")


def say_aside(text: str) -> None:
    """Print a line on stderr: progress, or what is not a part of the answer. A stderr that is closed or full changes nothing."""
    with suppress(OSError):
        if sys.stderr is not None:
            sys.stderr.write(f"{plain(text)}\n")


@contextmanager
def quietly(*, is_quiet: bool = True) -> Iterator[None]:
    """Within this, an answer is its summary, and nothing else is said."""
    token = _QUIET.set(is_quiet)
    try:
        yield
    finally:
        _QUIET.reset(token)


def is_quiet() -> bool:
    """Whether only summaries are wanted."""
    return _QUIET.get()


def plain(text: object) -> str:
    """Text of a user's file with control characters escaped, so that it cannot steer the terminal."""
    return printable(text)


def print_json(document: object) -> None:
    """Print a machine-readable answer, keys in the given order."""
    sys.stdout.write(json_text(document))


def json_text(document: object) -> str:
    """A machine-readable answer with a final newline, keys in the given order; non-finite numbers become null."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE
    return orjson.dumps(_encodable(document), option=options).decode("utf-8")


def _encodable(value: object) -> object:
    """The value with lone surrogates escaped; keys and undecodable file names may hold them."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, Mapping):
        return {_encodable(key): _encodable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(each) for each in value]
    return value


def print_findings(groups: Iterable[Sequence[Finding]], console: Console) -> None:
    """Print the first finding of each group with the places of the others; of each rule the first groups."""
    found: Counter[Rule] = Counter()
    for finding, *others in groups:
        found[finding.rule] += 1
        if found[finding.rule] > FINDINGS_SHOWN:
            continue
        severity = finding.rule.severity
        line = Text(f"{plain(finding.place)}: {finding.rule.code} ")
        console.print(line.append(severity.value, style=STYLES[severity]).append(f": {plain(finding.message)}"))
        console.print(Text(f"  hint: {plain(finding.rule.hint)}", style="dim"))
        if others:
            names = list(dict.fromkeys(plain(each.file) for each in others))
            more = len(names) - PLACES_SHOWN
            rest = f" and {number_of(more, 'more file')}" if more > 0 else ""
            console.print(Text(f"  also in {', '.join(names[:PLACES_SHOWN])}{rest}", style="dim"))
    for rule, number in found.items():
        if number > FINDINGS_SHOWN:
            line = Text(f"{number - FINDINGS_SHOWN} more of {rule.code} ")
            line.append(rule.severity.value, style=STYLES[rule.severity])
            console.print(line.append(f" ({rule.name}); --format json has every finding", style="default"))


def print_verdict(report: FindingsReport, console: Console, answer: str = "") -> None:
    """Print the verdict, the number of findings by severity, the ledger, and the answer: of a failure its first error."""
    line = Text(report.verdict.upper(), style=VERDICT_STYLES[report.verdict])
    first = next((f"first: {each.message}" for each in report.findings if each.rule.severity is Severity.ERROR), "")
    said = filter(None, (severities_text(report.count), account_text(report.ledger), plain(answer or first)))
    line.append(f": {'; '.join(said)}", style="default")
    sum_up(line, console)


def severities_text(count: Callable[[Severity], int]) -> str:
    """`2 errors, 1 warning, 3 info`."""
    numbers = {severity: count(severity) for severity in Severity}
    return ", ".join(f"{n} info" if each is Severity.INFO else number_of(n, each.value) for each, n in numbers.items())


def account_text(ledger: Ledger) -> str:
    """The ledger in words."""
    account = f"{ledger.compared} of {ledger.declared} judged"
    account += f", {ledger.waived} waived" if ledger.waived else ""
    return account + (f", {ledger.missing} missing" if ledger.missing else "")


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """A table with text in the first column and numbers in the others."""
    built = Table(title=title, title_justify="left", title_style="bold", header_style="dim", box=None, pad_edge=False)
    for place, name in enumerate(columns):  # names in the first column are whole at any width
        built.add_column(
            name, justify="right" if place else "left", no_wrap=not place, overflow="fold" if place else "ignore"
        )
    for row in rows:
        built.add_row(*(Text(plain(cell)) for cell in row))
    return built


def tracked(items: Sequence[Item], what: str) -> Iterator[Item]:
    """Iterate with a progress bar on stderr; without a bar for short loops, or if stderr is not a terminal."""
    if len(items) < _PROGRESS_AFTER_ITEMS or not _is_watched():
        yield from items
        return
    with _bar() as progress:
        yield from progress.track(items, description=what)


def _is_watched() -> bool:
    return sys.stderr.isatty() and not is_quiet()


@contextmanager
def counted(total: int, what: str) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr for work in any order; call the yielded function with the number of finished items."""
    if not _is_watched():
        yield lambda _: None
        return
    with _bar() as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.advance(task, done)


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """Show on stderr that work of unknown length is running; nothing if stderr is not a terminal.

    Call the yielded function with what is done now.
    """
    if not _is_watched():
        yield lambda _: None
        return
    with Console(stderr=True).status(what) as status:
        yield status.update


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield progress


# An answer as data: its verdict, the sentence that answers, and what stands above it. Every format is a template of it.
_STYLES = {EXIT_PASS: "bold green", EXIT_FINDINGS: "bold red"}
_HUGE = 1e6
"""A ratio beyond it says no more: its tolerance is next to nothing."""


@dataclass(frozen=True)
class Sentence:
    """A sentence. style: of a terminal, of all of it or of the word that it begins with.

    rank: its place in a comment, the smallest first; None for one that it leaves out.
    """

    text: str
    style: str = ""
    rank: int | None = None
    word: str = ""


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
            line = Text(plain(each.word or each.text), style=each.style)
            console.print(line.append(plain(each.text), style="default") if each.word else line)
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
    print_findings([[finding] for finding in report.findings], console)
    print_verdict(report, console, headline)


def number_text(value: Any, unknown: str = "") -> str:
    """Three digits of a number; nothing where there is none."""
    return unknown if value is None else f"{value:.3g}"


def ratio_text(value: float | None) -> str:
    """An error in tolerances."""
    return "> 1e6" if value is not None and value > _HUGE else number_text(value)


# The templates of answers: words stand in them, numbers come from Python.
def template(path: Path, *, is_page: bool = False, **filters: Callable[..., str]) -> Template:
    """A template of its folder; a name that it is not given is an error.

    is_page: what it is given is escaped for HTML, its control characters too.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # where something is written by one

    environment = Environment(loader=FileSystemLoader(path.parent), autoescape=is_page, undefined=StrictUndefined)  # noqa: S701
    environment.trim_blocks = environment.lstrip_blocks = environment.keep_trailing_newline = True
    environment.filters |= {"cell": markdown_cell, "code_cell": _code} | filters
    if is_page:
        environment.finalize = lambda value: printable(value) if type(value) is str else value
    return environment.get_template(path.name)


def markdown_cell(text: str) -> str:
    """Text of a file as a table cell: it ends no cell and no line, and is not a tag, link, picture or mention of anybody."""
    return _MARKUP.sub(lambda found: f"&#{ord(found[0])};", _code(text))


_MARKUP = re.compile(r"<(?=[A-Za-z/!?])|&(?=[#A-Za-z])|(?<=\])\(|:(?=//)|(?<=www)\.|@(?=\w)", re.IGNORECASE)
"""Signs that begin a tag, an entity, a link or a mention: `[0, 3)` and `det < 0` stay as they are."""


def _code(text: str) -> str:
    return printable(text).replace("|", "\\|").replace("`", "'")
