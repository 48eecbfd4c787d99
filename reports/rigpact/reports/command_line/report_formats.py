"""`--format` of the commands that judge: text, JSON, and the formats for test views, code scanning and reviews.

The formats come from `rigpact.reports.renderers`. This module names only the two that every command prints itself.
"""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, redirect_stdout
from contextvars import ContextVar
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from rigpact.contract.errors import UnusableInput
from rigpact.reports.command_line.options import ConfigFile, HtmlFile, OutputFormat, ReportFiles, option
from rigpact.reports.renderers import FORMATS, HTML, Output, parse_output, render

if TYPE_CHECKING:
    from rich.console import Console

    from rigpact.reports.gate.report import GateReport
    from rigpact.reports.terminal import Answer, Figures, Sentence


# `--report FORMAT=FILE` and `--html FILE`: the answer that a command prints, written into files in other formats too.
ASKED: ContextVar[tuple[Output, ...]] = ContextVar("asked", default=())


def outputs_of(report: Sequence[str] | None, html: Path | None) -> list[Output]:
    """Format and absolute path of every file to write; checked before anything runs."""
    from rigpact.contract.files.writing import refuse_output

    found = [*map(parse_output, report or ()), *([Output(HTML, html.absolute())] if html else [])]
    whole = [output.path.resolve() for output in found]
    twice = next((path for place, path in enumerate(whole) if path in whole[:place]), None)
    if twice is not None:  # a view that reads it would show nothing, or the wrong one
        raise UnusableInput("--report", f"{twice} twice", "a file of its own for every report")
    for output in found:
        refuse_output(output.path)
    return found


def asked_formats() -> list[str]:
    """The formats of the files that are asked for."""
    return [output.format for output in ASKED.get()]


def write_answers(show: Callable[[str], None]) -> None:
    """Write the files that were asked for. show: prints the answer in a format."""
    from rigpact.contract.files import write_bytes
    from rigpact.reports.terminal import quietly

    for output in ASKED.get():
        written = io.BytesIO()
        stream = io.TextIOWrapper(written, "utf-8", newline="", write_through=True)
        with redirect_stdout(stream), quietly(is_quiet=False):
            show(output.format)
        write_bytes(output.path, written.getvalue())


def print_found(
    found: Any, as_text: Callable[..., None], output_format: str, otherwise: Callable[[str], None] | None = None
) -> None:
    """Print an answer as JSON, as text, or in a format that the command knows itself; write it where it was asked for."""
    from rigpact.reports.terminal import print_json, show

    def give(word: str) -> None:
        if word == OutputFormat.JSON:
            print_json(found.to_json())
        elif word == OutputFormat.TEXT or otherwise is None:
            show(partial(as_text, found))
        else:
            otherwise(word)

    give(output_format)
    write_answers(give)


# The answer of a command that writes files: what was written, facts about it, notes; as lines for people, or as one document.
def answer_written(
    command: str,
    files: Sequence[Path],
    output_format: OutputFormat,
    *,
    lines: Sequence[str],
    facts: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Print the `rigpact-written` document, version 1, or its lines and notes."""
    from rigpact.reports.terminal import plain, print_json, say

    if output_format is OutputFormat.JSON:
        print_json({
            "format": "rigpact-written", "version": 1, "command": command, "files": [str(path) for path in files],
            "facts": dict(facts or {}), "notes": list(notes),
        })  # fmt: skip
        return
    for line in (*lines, *(f"note: {note}" for note in notes)):
        say(plain(line))


TEXT, JSON = "text", "json"
"""The two formats that a command prints itself: text for people, and its own JSON document."""
MARKDOWN = "markdown"
"""With HTML the formats of a comment: one screen, the answer first."""
CHOICES = tuple(FORMATS)


def _option(choices: tuple[str, ...], words: str) -> Any:
    def chosen(word: str) -> str:
        if word not in choices:
            raise typer.BadParameter(f"{word!r} is not one of {', '.join(map(repr, choices))}.")
        return word

    return option("--format", f"<{'|'.join(choices)}>", words, parser=chosen)


FormatOfReport = Annotated[str, _option((*CHOICES, HTML), "Text for people, JSON for machines; others for CI.")]
FormatOfAnswer = Annotated[str, _option((TEXT, JSON, MARKDOWN, HTML), "Text, JSON or a comment.")]


def refuse_others(output_format: str, known: Sequence[str], what: str) -> None:
    """UnusableInput for a format, printed or written, that an answer does not have."""
    for word in (output_format, *asked_formats()):
        if word not in known:
            raise UnusableInput("--format, --report", f"{word} of {what}", f"one of {', '.join(known)}")


def print_answer(found: Any, answer: Answer, output_format: str, said: Sequence[Sentence | Figures] = ()) -> None:
    """Print what was found: as JSON, as text for people, or as a comment. said: what of the text is printed already."""
    from rigpact.reports.terminal import print_answer as print_text

    left = (
        [replace(answer, body=tuple(each for each in answer.body if each not in said))] if output_format == TEXT else []
    )

    def as_text(_: Any, console: Console) -> None:
        print_text(left.pop() if left else answer, console)

    print_found(found, as_text, output_format, partial(print_comment, answer))


def print_comment(answer: Answer, output_format: str) -> None:
    """Print an answer as Markdown or as a page, always as UTF-8."""
    from rigpact.reports.renderers.for_people import comment

    typer.echo(comment(answer, output_format).encode("utf-8"), nl=False)


def print_rendered(gate: GateReport, output_format: str) -> None:
    """Print a report in one of the renderers' formats, always as UTF-8."""
    from rigpact.reports.viewer import render_html

    text = render_html(gate) if output_format == HTML else render(gate, output_format)
    typer.echo(text.encode("utf-8"), nl=False)


# Options that many commands have alike, and whose functions do not see: `-q`, `--config`, `--report`, `--operations FILE.py`.
Command = Callable[..., None]
_WORDS = "Python module with your own operations; it runs. May be repeated."
_OPTIONS: Mapping[str, tuple[Any, object]] = {
    "own_operations": (Annotated[list[str] | None, typer.Option("--operations", metavar="FILE.py", help=_WORDS)], None),
    "config": (ConfigFile, None),
    "report": (ReportFiles, None),
    "html": (HtmlFile, None),
    "is_quiet": (Annotated[bool, typer.Option("--quiet", "-q", help="Print only the verdict.")], False),
}
"""The annotation and the default of each. `left_out.fill` uses `config`."""


def with_options(command: Command, *names: str) -> Command:
    """A command with some of these options too, less those that it declares itself; they hold for this command only."""
    own = inspect.signature(command, eval_str=True)
    added = {name: _OPTIONS[name] for name in names if name not in own.parameters}

    @wraps(command)
    def wrapped(**options: Any) -> None:
        given = {name: options.pop(name, default) for name, (_, default) in added.items()}
        with ExitStack() as held:
            if given.get("is_quiet"):
                from rigpact.reports.terminal import quietly

                held.enter_context(quietly())
            if given.get("report") or given.get("html"):
                outputs = outputs_of(given["report"], given["html"])
                for output in outputs:
                    get_args(own.parameters["output_format"].annotation)[1].parser(output.format)
                held.callback(ASKED.reset, ASKED.set(tuple(outputs)))
            if given.get("own_operations"):
                _use_operations(given["own_operations"], held, is_each=bool(options.get("each")))
            command(**options)

    declared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in added.items()
    ]
    # typer reads the options from the signature
    wrapped.__signature__ = own.replace(parameters=[*own.parameters.values(), *declared])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {
        **command.__annotations__,
        **{name: annotation for name, (annotation, _) in added.items()},
    }
    return wrapped


def _use_operations(files: list[str], held: ExitStack, *, is_each: bool) -> None:
    from rigpact.contract.declared.vocabulary import forget_operations
    from rigpact.reports.beside import use_operations

    if is_each:
        raise UnusableInput("--operations", "--each beside it", "one of them", "a commit hook runs no code of a commit")
    held.callback(forget_operations)
    use_operations(files)
