"""`rigpact report`: show an archive again, or compare it with an older one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rigpact.reports.command_line.judging.gate import HtmlFile, ReportFiles, outputs_of, print_answer
from rigpact.reports.command_line.options import argument, option, print_found
from rigpact.reports.command_line.report_formats import JSON, TEXT, FormatOfReport


def report(
    archive: Annotated[Path, argument("ARCHIVE", "An archive that `rigpact gate --archive` wrote.")],
    *,
    against: Annotated[Path | None, option("--against", "OLDER", "Say what got better or worse since then.")] = None,
    output_format: FormatOfReport = TEXT,
    report: ReportFiles = None,
    html: HtmlFile = None,
) -> None:
    """Show the answer of an archive again, in any format.

    Nothing is run or judged again. Exit status: the gate's own. With --against 0: not worse; 1: a part fell or an error is
    new; 2: not an archive.
    """
    from rigpact.reports.gate.archive.archive import read_archive
    from rigpact.reports.outputs import write_output

    outputs = outputs_of(report, html)
    kept = read_archive(archive)
    for output in outputs:
        write_output(output, kept.report, kept.runs)
    if against is not None:
        raise typer.Exit(_since(against, archive, output_format))
    print_answer(kept.report, output_format)
    raise typer.Exit(kept.report.exit_code)


def _since(older: Path, newer: Path, output_format: str) -> int:
    from rigpact.contract.errors import UnusableInput
    from rigpact.reports.gate.archive.against import print_progress, progress_between
    from rigpact.reports.gate.archive.archive import read_archive

    if output_format not in (TEXT, JSON):
        raise UnusableInput("--format", f"{output_format} with --against", "text or json")
    progress = progress_between(read_archive(older), read_archive(newer))
    print_found(progress, print_progress, output_format)
    return int(progress.is_worse)
