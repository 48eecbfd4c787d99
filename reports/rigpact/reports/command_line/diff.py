"""`rigpact diff`: two recordings side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rigpact.reports.command_line.options import (
    Companion,
    ConventionsFile,
    Format,
    OutputFormat,
    Settings,
    Strict,
    contract_from_options,
)

File = Annotated[Path, typer.Argument(help="A trace, a teacher prediction or batch, or a raw clip.")]


def diff(
    a: File,
    b: File,
    *,
    bundle: Annotated[
        Path | None,
        typer.Option("--bundle", metavar="FILE", help="The bundle: gives tolerances, bone names and centimetres."),
    ] = None,
    companion: Companion = None,
    settings: Settings = None,
    conventions: ConventionsFile = None,
    stage: Annotated[
        list[str] | None, typer.Option("--stage", metavar="NAME", help="Compare only this stage; may be repeated.")
    ] = None,
    table: Annotated[
        Path | None, typer.Option("--table", metavar="FILE", help="Write the error of every bone and frame as CSV.")
    ] = None,
    output_format: Format = OutputFormat.TEXT,
    strict: Strict = False,
) -> None:
    """Compare two recordings: per stage, bone and frame, in degrees and centimetres, with the first divergence.

    Any mix of traces, teacher predictions and raw clips. Exit status 0: the same within rounding; 1: they differ, or
    something was not compared; 2: nothing could be compared.
    """
    from rigpact.contract.errors import UnusableInput
    from rigpact.reference_runtime.recording import read_recording
    from rigpact.reports.compare import compare
    from rigpact.reports.comparison_text import print_comparison
    from rigpact.reports.judgement import judge
    from rigpact.reports.terminal import print_json, stdout

    if bundle is None and (companion or settings or conventions):
        raise UnusableInput("--companion, --set, --conventions", "no --bundle beside them", "the bundle they belong to")
    contract = contract_from_options(bundle, companion, settings, conventions) if bundle else None
    first, second = read_recording(a, contract), read_recording(b, contract)
    comparison = compare(first, second, contract, only=tuple(stage or ()))
    report = judge(comparison)
    if table is not None:
        from rigpact.reports.error_table import write_error_table

        write_error_table(comparison, table)
    if output_format is OutputFormat.JSON:
        print_json(report.to_json())
    else:
        print_comparison(report, stdout())
    raise typer.Exit(report.exit_code(strict=strict))
