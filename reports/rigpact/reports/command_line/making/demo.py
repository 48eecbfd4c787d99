"""`rigpact demo`: what rigpact does, on the built-in character or robot."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rigpact.reports.command_line.options import Format, OutputFormat, argument, option


class Shown(StrEnum):
    """What is shown."""

    CHARACTER = "character"
    ROBOT = "robot"


def demo(
    shown: Annotated[
        Shown, argument("character|robot", "A character in an engine, or a policy on a robot.")
    ] = Shown.CHARACTER,
    *,
    into: Annotated[Path | None, option("--into", "FOLDER", "Only copy the files into a new folder.")] = None,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Show what rigpact does, on the built-in character or robot.

    The character: check, run and compare it, then explain an engine with a mistake. Exit status 0: its four parts pass.
    The robot: explain a recording of a runtime with a mistake. Exit status 1: the mistake is named.
    """
    from rigpact.reports.terminal import print_json

    is_robot, is_json = shown is Shown.ROBOT, output_format is OutputFormat.JSON
    if into is not None:
        from rigpact.fixtures.demo import copy_demo, copy_robot

        (copy_robot if is_robot else copy_demo)(into)
        typer.echo(f"the {shown}'s files are in {into}")
        return
    from rigpact.reports.running.demonstration import demonstrate, demonstrate_robot

    found = demonstrate_robot(quiet=is_json) if is_robot else demonstrate(quiet=is_json)
    if is_json:
        print_json(found.to_json())
    raise typer.Exit(found.exit_code() if callable(found.exit_code) else found.exit_code)
