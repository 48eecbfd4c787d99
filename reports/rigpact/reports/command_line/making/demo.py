"""`rigpact demo`: check, run and compare the built-in bundle."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rigpact.reports.command_line.options import Format, OutputFormat


def demo(
    *,
    into: Annotated[
        Path | None, typer.Option("--into", metavar="FOLDER", help="Only copy the character's files into a new folder.")
    ] = None,
    output_format: Format = OutputFormat.TEXT,
) -> None:  # fmt: skip
    """Check, run and compare the built-in bundle: what rigpact does, in seconds, with nothing to prepare.

    The bundle is a generated 46-bone character with a small trained network; `teacher_predictions/` were computed by the
    training side (torch), the run by the reference runtime (numpy and onnxruntime).
    """
    if into is not None:
        from rigpact.fixtures.demo import copy_demo

        copy_demo(into)
        typer.echo(f"the character's files are in {into}")
        return
    from rigpact.reports.running.demonstration import demonstrate
    from rigpact.reports.terminal import print_json

    report = demonstrate(quiet=output_format is OutputFormat.JSON)
    if output_format is OutputFormat.JSON:
        print_json(report.to_json())
    raise typer.Exit(report.exit_code())
