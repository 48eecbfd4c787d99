"""`rigpact demo`: what rigpact does, on the built-in character or robot."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rigpact.reports.command_line.options import Format, OutputFormat, argument, option


class Hero(StrEnum):
    """What is shown."""

    CHARACTER = "character"
    ROBOT = "robot"


def demo(
    shown: Annotated[
        Hero, argument("character|robot", "A character in an engine, or a policy on a robot.")
    ] = Hero.CHARACTER,
    *,
    into: Annotated[Path | None, option("--into", "FOLDER", "Only copy the files into a new folder.")] = None,
    is_opened: Annotated[
        bool, typer.Option("--open", help="Write the HTML page of the mistake, and open it in the browser.")
    ] = False,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Show what rigpact does, on the built-in character or robot.

    The character: check, run and compare it, then explain an engine with a mistake. Exit status 0: its three parts pass.
    The robot: explain a recording of a runtime with a mistake. Exit status 1: the mistake is named.
    --open writes the page into the folder of --into, or into a new one for temporary files.
    """
    import contextlib
    import tempfile

    from rigpact.fixtures import copy_demo

    is_robot = shown is Hero.ROBOT
    if into is not None or is_opened:
        folder = into or Path(tempfile.mkdtemp(prefix="rigpact-")) / shown
        copy_demo(folder, is_robot=is_robot)
        typer.echo(f"the {shown}'s files are in {folder}")
        if is_opened:
            _open(shown, folder)
        return
    with tempfile.TemporaryDirectory() as above:
        copy_demo(Path(above) / shown, is_robot=is_robot)
        with contextlib.chdir(Path(above) / shown):  # findings name the files as the commands do
            status = _shown(shown, is_json=output_format is OutputFormat.JSON)
    raise typer.Exit(status)


def _shown(shown: Hero, *, is_json: bool) -> int:
    from functools import partial

    from rich.console import Console

    from rigpact.reports.answer import print_answer
    from rigpact.reports.demonstration import demonstrate, demonstrate_robot
    from rigpact.reports.diagnosing.diagnosis_text import answer_of_diagnosis
    from rigpact.reports.terminal import is_quiet, print_json, show, stdout

    console = Console(quiet=True) if is_json or is_quiet() else stdout()
    if shown is Hero.ROBOT:
        diagnosis = demonstrate_robot(console)
        document, status = diagnosis.to_json(), diagnosis.exit_code
    else:
        report, diagnosis = demonstrate(console)
        document, status = report.to_json(), report.exit_code()
    if is_json:
        print_json(document)
    elif is_quiet():
        show(partial(print_answer, answer_of_diagnosis(diagnosis)))
    else:
        console.print(f"try it: rigpact demo {shown} --into {shown}; see it: rigpact demo {shown} --open", style="dim")
    return status


def _open(shown: Hero, folder: Path) -> None:
    import contextlib
    import webbrowser

    from rigpact.reports.demonstration import write_page

    with contextlib.chdir(folder):
        page = write_page(is_robot=shown is Hero.ROBOT)
    typer.echo(f"the page is {page}")
    if not webbrowser.open(page.as_uri()):
        typer.echo("no browser could be opened: open it yourself", err=True)
