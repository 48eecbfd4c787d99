"""`rigpact geometry`: measure the training side's own rotation functions."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from rigpact.reports.command_line.making.known_findings import ConfigFile, configuration_from_option
from rigpact.reports.command_line.options import Companion, ConventionsFile, Format, OutputFormat, Settings, Strict

if TYPE_CHECKING:
    from rigpact.contract.conventions import Conventions
    from rigpact.contract.settings.geometry import GeometrySettings
    from rigpact.reports.geometry_parity.calling.backend import BackendName


class Library(StrEnum):
    """The array library of the functions."""

    NUMPY = "numpy"
    TORCH = "torch"


_LIBRARIES: Mapping[Library, BackendName] = {Library.NUMPY: "numpy", Library.TORCH: "torch"}


def geometry(
    module: Annotated[str, typer.Argument(metavar="MODULE", help="pkg.mod, or path/to/file.py; it runs.")],
    *,
    mapping: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="ROLE=FUNCTION", help="Which function plays a role; may be repeated."),
    ] = None,
    backend: Annotated[
        Library | None,
        typer.Option("--backend", help="Library of the functions; else torch where their module uses it."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the inputs; the same seed, the same answer.")] = 0,
    bundle: Annotated[
        Path | None, typer.Option("--bundle", metavar="BUNDLE", help="Take the declared columns from this bundle.")
    ] = None,
    companion: Companion = None,
    settings: Settings = None,
    conventions: ConventionsFile = None,
    config: ConfigFile = None,
    output_format: Format = OutputFormat.TEXT,
    strict: Strict = False,
) -> None:
    """Test the rotation functions of a Python module.

    It says what each function computes, and how it behaves where formulas break down. Exit status 0: they agree with the
    contract; 1: findings; 2: no function, one that must be tested and cannot be, or a module that cannot be imported.
    """
    from rigpact.contract.settings.geometry import GeometrySettings
    from rigpact.reports.geometry_parity.declared import asked_functions, of_module
    from rigpact.reports.geometry_parity.examination import examine, print_examination
    from rigpact.reports.geometry_parity.loading import find_functions, load_module, parse_mapping, unknown_functions
    from rigpact.reports.terminal import print_json, show, working

    configuration = configuration_from_option(config)
    project = configuration.geometry if configuration is not None else GeometrySettings()
    declared = _declared(project, _Options(bundle, companion, settings, conventions))
    names = parse_mapping(mapping or ())
    loaded = load_module(module)
    found = find_functions(loaded, module, names)
    library = None if backend is None else _LIBRARIES[backend]
    functions = asked_functions(found, loaded, module, library, of_module(project.functions, module))
    with working("asking every function"):
        unknown = unknown_functions(loaded, [each.spelled for each in functions])
        report = examine(module, functions, declared, seed, unknown)
    if output_format is OutputFormat.JSON:
        print_json(report.to_json())
    else:
        show(partial(print_examination, report))
    raise typer.Exit(report.exit_code(strict=strict))


class _Options(NamedTuple):
    bundle: Path | None
    companion: Path | None
    settings: list[str] | None
    conventions: Path | None


def _declared(project: GeometrySettings, options: _Options) -> Conventions:
    """The conventions that the functions are compared with: the project's, then the options', which win.

    A bundle's `output_mode` describes the network. A training function takes a residual unless the user declares
    otherwise.
    """
    from rigpact.contract import load_contract
    from rigpact.contract.conventions import declared_changes
    from rigpact.contract.pages.registry import ENEMY_ANIMATION, find_system

    own = find_system(ENEMY_ANIMATION).conventions()
    base = load_contract(options.bundle, options.companion).conventions if options.bundle else own
    changes = declared_changes(options.settings or (), options.conventions)
    return base.replaced({"output_mode": "residual", **project.conventions, **changes})
