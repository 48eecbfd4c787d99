"""`rigpact check-each`: judge every artefact among some files by itself, as a pre-commit hook needs it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from rigpact.reports.command_line.making.known_findings import ConfigFile, configuration_from_option, configured
from rigpact.reports.command_line.options import Strict, argument, print_found
from rigpact.reports.command_line.report_formats import TEXT, FormatOfReport, print_rendered


def check_each(
    paths: Annotated[list[Path], argument("PATH…", "JSON files and ONNX models; folders, patterns.")],
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
    from rigpact.reports.terminal import print_report

    reports = list(check_each_file(named_files(paths, (".json", ".onnx"), "PATH")))
    if not reports:
        raise typer.Exit
    report = configured(joined(reports), configuration_from_option(config))
    rendered = partial(print_rendered, report, "check-each", "Files, each by itself", strict=strict)
    print_found(report, print_report, output_format, rendered)
    raise typer.Exit(report.exit_code(strict=strict))
