"""`rigpact gate`: check everything that a change can break, with one command and one verdict."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rigpact.reports.command_line.making.known_findings import ConfigFile, configuration_from_option
from rigpact.reports.command_line.options import Base, Strict, option, print_found
from rigpact.reports.command_line.report_formats import TEXT, FormatOfReport

if TYPE_CHECKING:
    from rigpact.contract.settings.configuration import Configuration
    from rigpact.reports.gate.answer.report import GateReport
    from rigpact.reports.gate.measured import GateMeasurement
    from rigpact.reports.outputs import Output

ReportFiles = Annotated[
    list[str] | None, option("--report", "[FORMAT=]FILE", "Write the answer there too, by suffix; may be repeated.")
]
HtmlFile = Annotated[Path | None, option("--html", "FILE", "Write the HTML page.")]


def gate(
    *,
    config: ConfigFile = None,
    archive: Annotated[Path | None, option("--archive", "FILE", "Keep the results: NAME.rigpact.zip.")] = None,
    from_archive: Annotated[
        Path | None, option("--from", "ARCHIVE", "Judge kept results again; nothing is run.")
    ] = None,
    base: Base = None,
    output_format: FormatOfReport = TEXT,
    report: ReportFiles = None,
    html: HtmlFile = None,
    strict: Strict = False,
) -> None:
    """Judge everything that a change can break: one verdict.

    [gate] in rigpact.toml names the files; `rigpact init` writes one. --base wins over [gate]. Exit status 0: everything
    that was asked for was judged and is well; 1: findings; 2: something could not be judged.
    """
    from rigpact.contract.errors import UnusableInput
    from rigpact.contract.files.reach import as_reached, working_directory
    from rigpact.contract.settings.configuration import FILE_NAME
    from rigpact.reports.gate.archive.archive import write_archive
    from rigpact.reports.outputs import write_output

    outputs = outputs_of(report, html)
    kept, source = (path.absolute() if path else None for path in (archive, from_archive))
    _refuse_one_path_twice([output.path for output in outputs] + ([kept] if kept else []))
    if source is not None and base is not None:
        raise UnusableInput("--base", "--from beside it", "one of them", "an archive holds what was measured")
    configuration = configuration_of_gate(config)
    asked = as_reached(configuration.path) if config is not None else working_directory() / FILE_NAME
    found = as_reached(configuration.path)
    with contextlib.chdir(configuration.path.resolve().parent):
        configuration = _here(configuration, base, strict=strict)
        measurement, answer = _answer(configuration, found, asked, source, base)
        if kept is not None:
            write_archive(kept, measurement, answer)
        for output in outputs:
            write_output(output, answer, measurement.runs)
        print_answer(answer, output_format)
    for part in measurement.parts:
        for remark in part.remarks:
            sys.stderr.write(f"{part.name}: {remark}\n")
    raise typer.Exit(answer.exit_code)


def configuration_of_gate(config: Path | None) -> Configuration:
    """The given configuration, else the nearest one; UnusableInput where there is none."""
    from rigpact.contract.errors import UnusableInput
    from rigpact.contract.settings.configuration import FILE_NAME

    found = configuration_from_option(config)
    if found is None:
        raise UnusableInput(FILE_NAME, "nothing", "a configuration with a table [gate]", "`rigpact init` writes one")
    return found


def _here(configuration: Configuration, base: str | None, *, strict: bool) -> Configuration:
    """The configuration as seen from its own folder; options of the command line win over it."""
    from dataclasses import replace

    settings = configuration.gate
    if settings is not None:
        settings = replace(settings, base=settings.base if base is None else base, strict=strict or settings.strict)
    return replace(configuration, path=Path(configuration.path.name), gate=settings)


def _answer(
    configuration: Configuration, found: Path, asked: Path, source: Path | None, base: str | None
) -> tuple[GateMeasurement, GateReport]:
    from dataclasses import replace

    from rigpact.contract.settings.days import today
    from rigpact.reports.gate.archive.archive import read_archive
    from rigpact.reports.gate.guarding import guarded
    from rigpact.reports.gate.judging import judge_gate
    from rigpact.reports.gate.run_gate import measure_gate, other_files, rebound

    if source is None:
        guard = guarded(configuration, found, asked, base)
        measured = configuration
        if guard.is_first and configuration.gate is not None:  # nothing there can break
            measured = replace(configuration, gate=replace(configuration.gate, base=None))
        measurement = measure_gate(measured, asked)
        return measurement, judge_gate(measurement, configuration, today(), about_settings=guard.findings)
    measurement = rebound(read_archive(source).measurement, configuration)
    return measurement, judge_gate(measurement, configuration, today(), tuple(other_files(measurement)))


def outputs_of(report: Sequence[str] | None, html: Path | None) -> list[Output]:
    """Format and absolute path of every file to write; checked before anything runs."""
    from rigpact.reports.outputs import HTML, Output, parse_output

    found = [*map(parse_output, report or ()), *([Output(HTML, html.absolute())] if html else [])]
    _refuse_one_path_twice([output.path for output in found])
    return found


def _refuse_one_path_twice(paths: Sequence[Path]) -> None:
    """UnusableInput where one report would replace another: a view that reads it would show nothing, or the wrong one."""
    from rigpact.contract.errors import UnusableInput

    whole = [path.resolve() for path in paths]
    twice = next((path for place, path in enumerate(paths) if whole[place] in whole[:place]), None)
    if twice is not None:
        raise UnusableInput("--report", f"{twice} twice", "a file of its own for every report")


def print_answer(answer: GateReport, output_format: str) -> None:
    """Print the answer. A format for machines is always UTF-8, whatever the console's encoding."""
    from rigpact.reports.renderers import render
    from rigpact.reports.renderers.terminal import print_gate

    print_found(answer, print_gate, output_format, lambda name: typer.echo(render(answer, name).encode(), nl=False))
