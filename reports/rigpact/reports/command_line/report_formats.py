"""`--format` of the commands that judge: beside text and JSON, the formats of test views, code scanning and reviews."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rigpact.contract.findings import FindingsReport


class ReportFormat(StrEnum):
    """How a judging command answers; the names after JSON are those of rigpact.reports.renderers."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"
    SARIF = "sarif"
    GITLAB = "gitlab"
    GITHUB = "github"
    MARKDOWN = "markdown"


FormatOfReport = Annotated[
    ReportFormat,
    typer.Option(
        "--format", help="Text for people, JSON for machines; the others for CI: see docs/ci.md.", show_choices=True
    ),
]


def print_rendered(
    report: FindingsReport, name: str, title: str, output_format: ReportFormat, *, strict: bool = False
) -> None:
    """Print one command's report in one of the renderers' formats, as UTF-8 whatever the console's encoding.

    name, title: of the part that the report becomes; strict: warnings fail it too.
    """
    from rigpact.reports.renderers import one_part, render

    gate = one_part(name, title, report, strict=strict)
    typer.echo(render(gate, output_format.value).encode("utf-8"), nl=False)
