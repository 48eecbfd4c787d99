"""Every figure of the hosted systems, with the bar it must meet: `python -m parity_tests.measuring.scores.systems_score [NAME…]`.

It trains for minutes; with `--reduced` for seconds, and with fewer bars. The exit status is 1 if a bar is not
met. To add a system: a module NAME_score.py in this folder with `figures(*, reduced)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Annotated

import typer

from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import EXIT_CANNOT_JUDGE, EXIT_FINDINGS, EXIT_PASS
from rigpact.contract.pages.registry import find_system
from rigpact.reports.terminal import print_json, stdout, table, working

from .figure import Figure

SYSTEMS = ("neurarig", "blender_ik", "rig_inversion", "imu_pose")
COLUMNS = ("figure", "value", "unit", "bar", "", "beside it")


def system_figures(name: str, *, reduced: bool) -> Iterator[Figure]:
    """Measure one system."""
    module = import_module(f".{find_system(name).name}_score", __package__)
    yield from module.figures(reduced=reduced)


def score(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]…", help="Systems; all if none is named.")] = None,
    *,
    reduced: Annotated[
        bool, typer.Option("--reduced", help="Train for seconds, with the bars that this can meet.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Train, measure, and print every figure beside its bar and its baseline."""
    try:
        chosen = [find_system(name) for name in names or SYSTEMS]
    except UnusableInput as error:
        typer.echo(f"error: {error.one_line()}", err=True)
        raise typer.Exit(EXIT_CANNOT_JUDGE) from None
    found: dict[str, list[Figure]] = {}
    for system in chosen:
        with working(f"measuring {system.title}"):
            found[system.name] = list(system_figures(system.name, reduced=reduced))
        if not as_json:
            rows = [_row(figure) for figure in found[system.name]]
            stdout().print(table(system.title, COLUMNS, rows))
    if as_json:
        print_json({name: [vars(figure) for figure in each] for name, each in found.items()})
    met = all(figure.met for each in found.values() for figure in each)
    raise typer.Exit(EXIT_PASS if met else EXIT_FINDINGS)


def _row(figure: Figure) -> tuple[str, ...]:
    verdict = "" if not figure.bar else "met" if figure.met else "NOT MET"
    return figure.name, f"{figure.value:,.6g}", figure.unit, figure.bar, verdict, figure.baseline


if __name__ == "__main__":
    typer.run(score)
