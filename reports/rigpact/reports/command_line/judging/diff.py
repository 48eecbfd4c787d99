"""`rigpact diff`: two recordings side by side."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from rigpact.reports.command_line import options
from rigpact.reports.command_line import report_formats as formats

_FILE = "A trace, a teacher prediction or batch, or a raw clip."


def diff(
    a: Annotated[Path, options.argument("A", _FILE)],
    b: Annotated[Path, options.argument("B", _FILE)],
    *,
    bundle: options.Bundle = None,
    companion: options.Companion = None,
    settings: options.Settings = None,
    conventions: options.ConventionsFile = None,
    onnx: options.Model = None,
    resolution: options.Resolution = None,
    teacher: Annotated[
        Path | None,
        options.option("--teacher", "FILE", "The clip that both predict, or its teacher batch: which is nearer?"),
    ] = None,
    stage: Annotated[
        list[str] | None, options.option("--stage", "NAME", "Compare only this stage; may be repeated.")
    ] = None,
    table: Annotated[
        Path | None, options.option("--table", "FILE", "Write the error of every bone and frame as CSV.")
    ] = None,
    output_format: formats.FormatOfDiff = formats.TEXT,
    strict: options.Strict = False,
) -> None:
    """Compare two recordings by stage, bone and frame.

    --bundle gives tolerances, bone names and centimetres; --onnx the tolerance of the network's answers. Exit status 0: the
    same within rounding; 1: they differ; 2: something could not be compared.
    """
    from rigpact.contract.errors import UnusableInput
    from rigpact.reports.commenting.of_diff import comment_on_diff
    from rigpact.reports.comparing.comparison_text import print_comparison
    from rigpact.reports.comparing.diff import DiffRequest
    from rigpact.reports.comparing.diff import diff as compare_files

    if bundle is None and (companion or settings or conventions):
        raise UnusableInput("--companion, --set, --conventions", "no --bundle beside them", "the bundle they belong to")
    files = options.contract_files(bundle, companion, settings, conventions)
    report = compare_files(DiffRequest(a, b, files, tuple(stage or ()), table, onnx, resolution, teacher))
    rendered = partial(formats.print_rendered, report, "diff", "Two recordings", strict=strict)
    if output_format in (formats.MARKDOWN, formats.HTML):
        rendered = partial(formats.print_comment, comment_on_diff(report, strict=strict))
    options.print_found(report, print_comparison, output_format, rendered)
    raise typer.Exit(report.exit_code(strict=strict))
