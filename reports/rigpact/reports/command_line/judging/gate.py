"""`rigpact gate`: check everything that a change can break, with one command and one verdict."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from rigpact.contract.errors import UnusableInput
from rigpact.reports.command_line.options import (
    Base,
    ConfigFile,
    HtmlFile,
    ReportFiles,
    Strict,
    configuration_from_option,
    option,
)
from rigpact.reports.command_line.report_formats import (
    JSON,
    TEXT,
    FormatOfGate,
    outputs_of,
    print_found,
    refuse_one_path_twice,
    write_output,
)
from rigpact.reports.renderers import Output, render

if TYPE_CHECKING:
    from rigpact.contract.settings.configuration import Configuration
    from rigpact.reports.gate.answer.report import GateReport
    from rigpact.reports.gate.measured import GateMeasurement


class PlantKind(StrEnum):
    """The file in which the self-test injects a defect."""

    BUNDLE = "bundle"
    COMPANION = "companion"
    CLIP = "clip"
    MODEL = "model"
    TRAINING = "training"
    ENGINE = "engine"
    RECORDING = "recording"


def gate(
    *,
    config: ConfigFile = None,
    archive: Annotated[Path | None, option("--archive", "FILE", "Keep the results: NAME.rigpact.zip.")] = None,
    from_archive: Annotated[
        Path | None, option("--from", "ARCHIVE", "Answer from kept results; nothing is run.")
    ] = None,
    base: Base = None,
    selftest: Annotated[
        bool, typer.Option("--selftest", help="Plant defects in copies of your files: the gate must fail.")
    ] = False,
    only: Annotated[
        list[PlantKind] | None, typer.Option("--only", help="With --selftest: plant only there; may be repeated.")
    ] = None,
    output_format: FormatOfGate = TEXT,
    report: ReportFiles = None,
    html: HtmlFile = None,
    strict: Strict = False,
) -> None:
    """Judge everything that a change can break: one verdict.

    [gate] in rigpact.toml names the files; `rigpact init` writes one. --base wins over [gate]. Kept results are judged by the
    settings that govern here; where there are none, the answer is shown as it was given. Exit status 0: everything that was
    asked for was judged and is well, the gate noticed every planted defect; 1: findings; 2: something could not be judged.
    """
    from rigpact.contract.files.reading import as_reached, working_directory
    from rigpact.contract.settings.configuration import FILE_NAME
    from rigpact.reports.gate.archive.archive import write_archive

    given = {"--archive": archive, "--from": from_archive, "--base": base, "--report": report, "--html": html}
    words = [name for name, value in (given | {"--strict": strict}).items() if value]
    if selftest or only:
        _refuse_beside_selftest(words, output_format, is_asked=selftest)
    outputs = outputs_of(report, html)
    kept, source = (path.absolute() if path else None for path in (archive, from_archive))
    refuse_one_path_twice([output.path for output in outputs] + ([kept] if kept else []))
    configuration = configuration_from_option(config)
    if source is not None and (configuration is None or configuration.gate is None):
        _show(source, [word for word in words if word in {"--archive", "--base", "--strict"}], outputs, output_format)
    if configuration is None:
        raise UnusableInput(FILE_NAME, "nothing", "a configuration with a table [gate]", "`rigpact init` writes one")
    asked = as_reached(configuration.path) if config is not None else working_directory() / FILE_NAME
    found = as_reached(configuration.path)
    with contextlib.chdir(configuration.path.resolve().parent):
        settings = configuration.gate
        if settings is not None:  # options of the command line win
            settings = replace(settings, base=settings.base if base is None else base, strict=strict or settings.strict)
        configuration = replace(configuration, path=Path(configuration.path.name), gate=settings)
        if selftest:
            _selftest(configuration, only or (), output_format)
        measurement, answer = _answer(configuration, found, asked, source, base)
        if kept is not None:
            write_archive(kept, measurement, answer)
        for output in outputs:
            write_output(output, answer, measurement.runs)
        _print_answer(answer, output_format)
    for part in measurement.parts:
        for remark in part.remarks:
            sys.stderr.write(f"{part.name}: {remark}\n")
    raise typer.Exit(answer.exit_code)


def _show(archive: Path, words: Sequence[str], outputs: Sequence[Output], output_format: str) -> NoReturn:
    """The answer of an archive as it was given. words: options that only a judgement has."""
    from rigpact.contract.settings.configuration import FILE_NAME
    from rigpact.reports.gate.archive.archive import read_archive
    from rigpact.reports.terminal import say_aside

    if words:
        raise UnusableInput(FILE_NAME, f"nothing, and {', '.join(words)}", "settings with a table [gate] to judge by")
    kept = read_archive(archive)
    for output in outputs:
        write_output(output, kept.report, kept.runs)
    _print_answer(kept.report, output_format)
    say_aside("no settings with a table [gate] here: this is the answer as it was given")
    raise typer.Exit(kept.report.exit_code)


def _refuse_beside_selftest(words: Sequence[str], output_format: str, *, is_asked: bool) -> None:
    """UnusableInput for what the self-test does not have, all at once."""
    if not is_asked:
        raise UnusableInput("--only", "no --selftest", "--selftest beside it")
    others = [*words, *([f"--format {output_format}"] if output_format not in (TEXT, JSON) else [])]
    if others:
        raise UnusableInput("--selftest", f"{', '.join(others)} beside it", "--only, --config, --format text or json")


def _selftest(configuration: Configuration, only: Sequence[PlantKind], output_format: str) -> NoReturn:
    """Plant defects in copies of the project's files, and say which the gate notices."""
    from rigpact.contract.settings.table import today
    from rigpact.reports.gate.selftest.selftest import print_selftest, run_selftest

    found = run_selftest(configuration, today(), [kind.value for kind in only])
    print_found(found, print_selftest, output_format)
    raise typer.Exit(found.exit_code)


def _answer(
    configuration: Configuration, found: Path, asked: Path, source: Path | None, base: str | None
) -> tuple[GateMeasurement, GateReport]:
    """Measure, or take what an archive kept; either is judged under the eyes of the base revision."""
    from rigpact.contract.settings.table import today
    from rigpact.reports.gate.archive.archive import read_archive
    from rigpact.reports.gate.guarding import guarded
    from rigpact.reports.gate.judging import judge_gate, measure_gate, other_files, rebound

    guard = guarded(configuration, found, asked, base)
    measured = configuration
    if guard.is_first and configuration.gate is not None:  # nothing there can break
        measured = replace(configuration, gate=replace(configuration.gate, base=None))
    if source is None:
        measurement = measure_gate(measured, asked)
        return measurement, judge_gate(measurement, configuration, today(), about_settings=guard.findings)
    measurement = rebound(read_archive(source).measurement, measured)
    others = tuple(other_files(measurement))
    return measurement, judge_gate(measurement, configuration, today(), others, guard.findings)


def _print_answer(answer: GateReport, output_format: str) -> None:
    """Print the answer. A format for machines is always UTF-8, whatever the console's encoding."""
    from rigpact.reports.renderers.text import print_gate

    print_found(answer, print_gate, output_format, lambda name: typer.echo(render(answer, name).encode(), nl=False))
