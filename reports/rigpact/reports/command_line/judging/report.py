"""`rigpact report`: show an archive again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rigpact.reports.command_line.judging.gate import HtmlFile, ReportFiles, outputs_of, print_answer
from rigpact.reports.command_line.options import argument
from rigpact.reports.command_line.report_formats import TEXT, FormatOfReport


def report(
    archive: Annotated[Path, argument("ARCHIVE", "An archive that `rigpact gate --archive` wrote.")],
    *,
    output_format: FormatOfReport = TEXT,
    report: ReportFiles = None,
    html: HtmlFile = None,
) -> None:
    """Show the answer of an archive again, in any format.

    Nothing is run or judged again. Exit status: the gate's own; 2: not an archive.
    """
    from rigpact.reports.gate.archive.archive import read_archive
    from rigpact.reports.outputs import write_output

    outputs = outputs_of(report, html)
    kept = read_archive(archive)
    for output in outputs:
        write_output(output, kept.report, kept.runs)
    print_answer(kept.report, output_format)
    raise typer.Exit(kept.report.exit_code)
