"""`--format` of the commands that judge: text, JSON, and the formats for test views, code scanning and reviews.

The formats come from `rigpact.reports.renderers`. This module names only the two that every command prints itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rigpact.reports.command_line.options import option, print_found
from rigpact.reports.renderers import FORMATS

if TYPE_CHECKING:
    from rich.console import Console

    from rigpact.contract.findings import FindingsReport
    from rigpact.reports.answer import Answer, Figures, Sentence

TEXT, JSON = "text", "json"
"""The two formats that a command prints itself: text for people, and its own JSON document."""
MARKDOWN, HTML = "markdown", "html"
"""The two formats of a comment: one screen, the answer first."""
CHOICES = tuple(FORMATS)


def _option(choices: tuple[str, ...], words: str) -> Any:
    def chosen(word: str) -> str:
        if word not in choices:
            raise typer.BadParameter(f"{word!r} is not one of {', '.join(map(repr, choices))}.")
        return word

    return option("--format", f"<{'|'.join(choices)}>", words, parser=chosen)


FormatOfGate = Annotated[str, _option(CHOICES, "Text for people, JSON for machines; others for CI.")]
FormatOfReport = Annotated[str, _option((*CHOICES, HTML), "Text for people, JSON for machines; others for CI.")]
FormatOfAnswer = Annotated[str, _option((TEXT, JSON, MARKDOWN, HTML), "Text, JSON or a comment.")]


def refuse_others(output_format: str, known: Sequence[str], what: str) -> None:
    """UnusableInput for a format, printed or written, that an answer does not have."""
    from rigpact.contract.errors import UnusableInput
    from rigpact.reports.command_line.further_answers import asked_formats

    for word in (output_format, *asked_formats()):
        if word not in known:
            raise UnusableInput("--format, --report", f"{word} of {what}", f"one of {', '.join(known)}")


def print_answer(found: Any, answer: Answer, output_format: str, said: Sequence[Sentence | Figures] = ()) -> None:
    """Print what was found: as JSON, as text for people, or as a comment. said: what of the text is printed already."""
    from rigpact.reports.answer import print_answer as print_text

    left = (
        [replace(answer, body=tuple(each for each in answer.body if each not in said))] if output_format == TEXT else []
    )

    def as_text(_: Any, console: Console) -> None:
        print_text(left.pop() if left else answer, console)

    print_found(found, as_text, output_format, partial(print_comment, answer))


def print_comment(answer: Answer, output_format: str) -> None:
    """Print an answer as Markdown or as a page, always as UTF-8."""
    from rigpact.reports.renderers.comment import comment

    typer.echo(comment(answer, output_format).encode("utf-8"), nl=False)


def print_rendered(report: FindingsReport, name: str, title: str, output_format: str, *, strict: bool = False) -> None:
    """Print one command's report in one of the renderers' formats, always as UTF-8.

    name, title: of the part that the report becomes; strict: warnings fail it too.
    """
    from rigpact.reports.renderers import one_part, render

    gate = one_part(name, title, report, strict=strict)
    if output_format == HTML:
        from rigpact.reports.viewer import render_html

        typer.echo(render_html(gate, ()).encode("utf-8"), nl=False)
    else:
        typer.echo(render(gate, output_format).encode("utf-8"), nl=False)
