"""`rigpact diff`: two recordings side by side."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rigpact.reports.command_line import options
from rigpact.reports.command_line import report_formats as formats
from rigpact.reports.command_line.judging.explain import USUAL

if TYPE_CHECKING:
    from rigpact.reports.comparing.diff import DiffRequest
    from rigpact.reports.diagnosing.two_files import TwoFilesRequest

_FILE = "Arrays, columns, a trace, a prediction, a clip, FILE.py:FUNCTION."


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
    tolerance: Annotated[
        float | None, options.option("--tolerance", "NUMBER", "How far two numbers of arrays may be apart.", min=0.0)
    ] = None,
    state: Annotated[
        list[str] | None,
        options.option(
            "--state", "PARAMETER=RESULT", "What a function takes over from the row before; may be repeated."
        ),
    ] = None,
    output_format: formats.FormatOfDiff = formats.TEXT,
    strict: options.Strict = False,
) -> None:
    """Compare two files of arrays, or two recordings of a contract.

    Without --contract, arrays are compared by name, and what makes one of the other is named; a function of a Python file is run
    on the other side's inputs. --contract gives stages, tolerances, bone names and centimetres; --onnx the tolerance of the
    network's answers. Exit status 0: the same within rounding; 1: they differ; 2: something could not be compared.
    """
    from rigpact.contract.errors import UnusableInput
    from rigpact.reports.comparing.diff import DiffRequest
    from rigpact.reports.diagnosing.script_side import named_script
    from rigpact.reports.diagnosing.two_files import TwoFilesRequest, holds_arrays

    if bundle is None and (companion or settings or conventions):
        raise UnusableInput(
            "--companion, --set, --conventions", "no --contract beside them", "the bundle they belong to"
        )
    if bundle is not None and (script := named_script(a) or named_script(b)):
        expected = "two files, or a function without a contract"
        raise UnusableInput("--contract", f"a contract beside {script.place}", expected)
    if bundle is None and (holds_arrays(a) or holds_arrays(b)):
        if teacher or table or onnx:
            expected = "the contract of two recordings"
            raise UnusableInput("--teacher, --table, --onnx", "no --contract beside them", expected)
        request = TwoFilesRequest(a, b, tuple(stage or ()), tuple(state or ()), resolution, tolerance, USUAL)
        raise typer.Exit(_compare_arrays(request, output_format))
    if tolerance is not None or state:
        raise UnusableInput("--tolerance, --state", "no arrays to compare", "files of arrays and no --contract")
    files = options.contract_files(bundle, companion, settings, conventions)
    recordings = DiffRequest(a, b, files, tuple(stage or ()), table, onnx, resolution, teacher)
    raise typer.Exit(_compare_recordings(recordings, output_format, strict=strict))


def _compare_recordings(request: DiffRequest, output_format: str, *, strict: bool) -> int:
    """Compare recordings of one contract, print the answer, and return the exit status."""
    from rigpact.reports.commenting.of_diff import comment_on_diff
    from rigpact.reports.comparing.comparison_text import print_comparison
    from rigpact.reports.comparing.diff import diff as compared

    report = compared(request)
    rendered = partial(formats.print_rendered, report, "diff", "Two recordings", strict=strict)
    if output_format in (formats.MARKDOWN, formats.HTML):
        rendered = partial(formats.print_comment, comment_on_diff(report, strict=strict))
    options.print_found(report, print_comparison, output_format, rendered)
    return report.exit_code(strict=strict)


def _compare_arrays(request: TwoFilesRequest, output_format: str) -> int:
    """Compare files of named arrays, print the answer, and return the exit status."""
    from rigpact.reports.commenting.of_diagnosis import comment_on_diagnosis
    from rigpact.reports.diagnosing.two_files import compare_files
    from rigpact.reports.diagnosing.two_files_text import print_two_files
    from rigpact.reports.terminal import print_json, show

    found = compare_files(request)
    if output_format == formats.JSON:
        print_json(found.diagnosis.to_json())
    elif output_format == formats.TEXT:
        show(partial(print_two_files, found))
    else:
        formats.print_comment(comment_on_diagnosis(found.diagnosis, found.notes), output_format)
    return found.exit_code
