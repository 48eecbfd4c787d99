"""`rigpact geometry`: measure the training side's own rotation functions."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rigpact.reports.command_line import options
from rigpact.reports.command_line.making.known_findings import ConfigFile, configuration_from_option

if TYPE_CHECKING:
    from rigpact.reports.geometry_parity.calling.backend import BackendName


class Library(StrEnum):
    """The array library of the functions."""

    NUMPY = "numpy"
    TORCH = "torch"


def geometry(
    module: Annotated[str, options.argument("MODULE", "pkg.mod, or path/to/file.py; it runs.")],
    *,
    mapping: Annotated[
        list[str] | None, options.option("--map", "ROLE=FUNCTION", "Which function plays a role; may be repeated.")
    ] = None,
    backend: Annotated[
        Library | None,
        typer.Option("--backend", help="Library of the functions; else torch where their module uses it."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the inputs; the same seed, the same answer.")] = 0,
    bundle: Annotated[
        Path | None, options.option("--contract", "BUNDLE", "Take the declared columns from this bundle.")
    ] = None,
    companion: options.Companion = None,
    settings: options.Settings = None,
    conventions: options.ConventionsFile = None,
    config: ConfigFile = None,
    output_format: options.Format = options.OutputFormat.TEXT,
    strict: options.Strict = False,
) -> None:
    """Test the rotation functions of a Python module.

    It says what each function computes, and how it behaves where formulas break down. Exit status 0: they agree with the
    contract; 1: findings; 2: no function, one that must be tested and cannot be, or a module that cannot be imported.
    """
    from rigpact.contract import load_contract
    from rigpact.contract.conventions import declared_changes
    from rigpact.contract.pages.registry import ENEMY_ANIMATION, find_system
    from rigpact.contract.settings.geometry import GeometrySettings
    from rigpact.reports.geometry_parity.declared import asked_functions, of_module
    from rigpact.reports.geometry_parity.examination import examine, print_examination
    from rigpact.reports.geometry_parity.loading import find_functions, load_module, parse_mapping, unknown_functions
    from rigpact.reports.terminal import working

    configuration = configuration_from_option(config)
    project = configuration.geometry if configuration is not None else GeometrySettings()
    own = find_system(ENEMY_ANIMATION).conventions()
    base = load_contract(bundle, companion).conventions if bundle else own
    # a bundle's output_mode describes the network: a training function takes a residual unless the user declares otherwise
    changes = {"output_mode": "residual", **project.conventions, **declared_changes(settings or (), conventions)}
    names = parse_mapping(mapping or ())
    loaded = load_module(module)
    found = find_functions(loaded, module, names)
    library: BackendName | None = None if backend is None else backend.value
    functions = asked_functions(found, loaded, module, library, of_module(project.functions, module))
    with working("asking every function"):
        unknown = unknown_functions(loaded, [each.spelled for each in functions])
        report = examine(module, functions, base.replaced(changes), seed, unknown)
    options.print_found(report, print_examination, output_format)
    raise typer.Exit(report.exit_code(strict=strict))
