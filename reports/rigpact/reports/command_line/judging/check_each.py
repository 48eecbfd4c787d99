"""`rigpact check-each`: judge every artefact among some files by itself, as a pre-commit hook needs it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from rigpact.reports.command_line.making.known_findings import ConfigFile, configuration_from_option, configured
from rigpact.reports.command_line.options import Strict
from rigpact.reports.command_line.report_formats import JSON, TEXT, FormatOfReport, print_rendered


def check_each(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH…", help="JSON files and ONNX models; folders, patterns.")
    ],
    config: ConfigFile = None,
    *,
    strict: Strict = False,
    output_format: FormatOfReport = TEXT,
) -> None:
    """Judge each file of a commit by itself.

    A model is judged with the bundle or contract in its folder; beside several models by itself; without either not at all.
    Other JSON files are passed over. A mistake between two files needs `rigpact check` or `rigpact gate`. Exit status 0: no
    error (nor warning with --strict), or nothing to judge; 1: findings; 2: something could not be judged.
    """
    from rigpact.reports.checking.commit_files import check_each_file, joined
    from rigpact.reports.file_lists import named_files
    from rigpact.reports.terminal import print_json, print_report, show

    reports = list(check_each_file(named_files(paths, (".json", ".onnx"), "PATH")))
    if not reports:
        raise typer.Exit
    report = configured(joined(reports), configuration_from_option(config))
    if output_format == JSON:
        print_json(report.to_json())
    elif output_format == TEXT:
        show(partial(print_report, report))
    else:
        print_rendered(report, "check-each", "Files, each by itself", output_format, strict=strict)
    raise typer.Exit(report.exit_code(strict=strict))
