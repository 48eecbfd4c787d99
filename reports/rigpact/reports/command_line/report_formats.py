"""`--format` of the commands that judge: text, JSON, and the formats for test views, code scanning and reviews.

The formats come from `rigpact.reports.renderers`. This module names only the two that every command prints itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rigpact.reports.renderers import FORMATS

if TYPE_CHECKING:
    from rigpact.contract.findings import FindingsReport

TEXT, JSON = "text", "json"
"""The two formats that a command prints itself: text for people, and its own JSON document."""
CHOICES = (TEXT, *(name for name in FORMATS if name != "terminal"))


def _format(word: str) -> str:
    if word not in CHOICES:
        raise typer.BadParameter(f"{word!r} is not one of {', '.join(map(repr, CHOICES))}.")
    return word


FormatOfReport = Annotated[
    str,
    typer.Option(
        "--format",
        parser=_format,
        metavar=f"<{'|'.join(CHOICES)}>",
        help="Text for people, JSON for machines; the others for CI: see docs/ci.md.",
    ),
]


def print_rendered(report: FindingsReport, name: str, title: str, output_format: str, *, strict: bool = False) -> None:
    """Print one command's report in one of the renderers' formats, always as UTF-8.

    name, title: of the part that the report becomes; strict: warnings fail it too.
    """
    from rigpact.reports.renderers import one_part, render

    gate = one_part(name, title, report, strict=strict)
    typer.echo(render(gate, output_format).encode("utf-8"), nl=False)
