"""`rigpact diff`: two recordings side by side."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from rigpact.reports.command_line.options import (
    Bundle,
    Companion,
    ConventionsFile,
    Model,
    Resolution,
    Settings,
    Strict,
)
from rigpact.reports.command_line.report_formats import (
    HTML,
    JSON,
    MARKDOWN,
    TEXT,
    FormatOfDiff,
    print_comment,
    print_rendered,
)

_FILE = "A trace, a teacher prediction or batch, or a raw clip."


def diff(
    a: Annotated[Path, typer.Argument(metavar="A", help=_FILE)],
    b: Annotated[Path, typer.Argument(metavar="B", help=_FILE)],
    *,
    bundle: Bundle = None,
    companion: Companion = None,
    settings: Settings = None,
    conventions: ConventionsFile = None,
    onnx: Model = None,
    resolution: Resolution = None,
    teacher: Annotated[
        Path | None,
        typer.Option(
            "--teacher", metavar="FILE", help="The clip that both predict, or its teacher batch: which is nearer?"
        ),
    ] = None,
    stage: Annotated[
        list[str] | None, typer.Option("--stage", metavar="NAME", help="Compare only this stage; may be repeated.")
    ] = None,
    table: Annotated[
        Path | None, typer.Option("--table", metavar="FILE", help="Write the error of every bone and frame as CSV.")
    ] = None,
    output_format: FormatOfDiff = TEXT,
    strict: Strict = False,
) -> None:
    """Compare two recordings by stage, bone and frame.

    --bundle gives tolerances, bone names and centimetres; --onnx the tolerance of the network's answers. Exit status 0: the
    same within rounding; 1: they differ; 2: something could not be compared.
    """
    from rigpact.contract.errors import UnusableInput
    from rigpact.reference_runtime.files.contracts import ContractFiles
    from rigpact.reports.commenting.of_diff import comment_on_diff
    from rigpact.reports.comparing.comparison_text import print_comparison
    from rigpact.reports.comparing.diff import DiffRequest
    from rigpact.reports.comparing.diff import diff as compare_files
    from rigpact.reports.terminal import print_json, show

    if bundle is None and (companion or settings or conventions):
        raise UnusableInput("--companion, --set, --conventions", "no --bundle beside them", "the bundle they belong to")
    files = ContractFiles(bundle, companion, settings or (), conventions)
    report = compare_files(DiffRequest(a, b, files, tuple(stage or ()), table, onnx, resolution, teacher))
    if output_format == JSON:
        print_json(report.to_json())
    elif output_format == TEXT:
        show(partial(print_comparison, report))
    elif output_format in (MARKDOWN, HTML):
        print_comment(comment_on_diff(report, strict=strict), output_format)
    else:
        print_rendered(report, "diff", "Two recordings", output_format, strict=strict)
    raise typer.Exit(report.exit_code(strict=strict))
