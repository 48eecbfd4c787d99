"""`rigpact doctor`: what this installation and this project can judge."""

import contextlib
from functools import partial
from pathlib import Path

import typer

from rigpact.reports.command_line.making.known_findings import ConfigFile, configuration_from_option
from rigpact.reports.command_line.options import Format, OutputFormat, print_found


def doctor(*, config: ConfigFile = None, output_format: Format = OutputFormat.TEXT) -> None:
    """Say what can be judged here, and what is missing for the rest.

    It opens files and measures nothing. Exit status 0: everything that [gate] in rigpact.toml asks for can be judged;
    2: something cannot, or nothing is asked for.
    """
    from rigpact.contract.settings.configuration import FILE_NAME
    from rigpact.contract.settings.days import today
    from rigpact.contract.settings.hearing import Hearing
    from rigpact.reports.gate.setup.doctor import examine, print_examination

    configuration = configuration_from_option(config)
    place = Path(FILE_NAME) if configuration is None else configuration.path
    if configuration is not None:
        Hearing(configuration, today())  # refuses what the gate refuses: known findings that cannot be read, far days
    with contextlib.chdir(place.resolve().parent):
        found = examine(None if configuration is None else configuration.gate, today())
    print_found(found, partial(print_examination, place=place), output_format)
    raise typer.Exit(found.exit_code)
