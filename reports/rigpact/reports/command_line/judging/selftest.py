"""`rigpact selftest`: does the project's own gate notice injected defects?"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rigpact.reports.command_line.making.known_findings import ConfigFile
from rigpact.reports.command_line.options import Format, OutputFormat, print_found


class PlantKind(StrEnum):
    """The file in which a defect is injected."""

    BUNDLE = "bundle"
    COMPANION = "companion"
    CLIP = "clip"
    MODEL = "model"
    TRAINING = "training"
    ENGINE = "engine"
    RECORDING = "recording"


def selftest(
    *,
    config: ConfigFile = None,
    only: Annotated[list[PlantKind] | None, typer.Option("--only", help="Plant only there; may be repeated.")] = None,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Plant defects in copies of your files: the gate must fail.

    Exit status 0: the gate noticed every defect; 1: it did not notice some; 2: no defect could be planted.
    """
    import contextlib
    from dataclasses import replace

    from rigpact.contract.settings.days import today
    from rigpact.reports.command_line.judging.gate import configuration_of_gate
    from rigpact.reports.gate.selftest.selftest import print_selftest, run_selftest

    configuration = configuration_of_gate(config)
    with contextlib.chdir(configuration.path.resolve().parent):
        inside = replace(configuration, path=Path(configuration.path.name))
        found = run_selftest(inside, today(), [kind.value for kind in only or ()])
    print_found(found, print_selftest, output_format)
    raise typer.Exit(found.exit_code)
