"""Command-line options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rigpact.reports.command_line.completion import known_conventions

if TYPE_CHECKING:
    from rigpact.reference_runtime.files.contracts import ContractFiles


class OutputFormat(StrEnum):
    """The format of a command's output."""

    TEXT = "text"
    JSON = "json"


class EngineChoice(StrEnum):
    """Who computes the stages of a free run."""

    AUTO = "auto"
    NUMPY = "numpy"
    NATIVE = "native"


EngineOption = Annotated[
    EngineChoice,
    typer.Option(
        "--engine", help="Who computes a free run: C++ where it is installed and agrees with numpy, or one of them."
    ),
]
Format = Annotated[OutputFormat, typer.Option("--format", help="Text for people, JSON for machines.")]
Strict = Annotated[bool, typer.Option("--strict", help="Let warnings fail the command too.")]
Resolution = Annotated[
    str | None,
    typer.Option(
        "--resolution", metavar="WORDS", help="How the numbers are written: '4 decimals', '6 digits', float16, exact."
    ),
]
Companion = Annotated[
    Path | None, typer.Option("--companion", metavar="FILE", help="File with the auxiliary-input statistics.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KNOB=VALUE", help="Declare a convention; may be repeated.", autocompletion=known_conventions
    ),
]
ConventionsFile = Annotated[
    Path | None, typer.Option("--conventions", metavar="FILE", help="TOML file that declares conventions.")
]


def contract_files(
    bundle: Path | None, companion: Path | None, settings: list[str] | None, conventions: Path | None
) -> ContractFiles:
    """The files and options that define a contract; `opened` reads them."""
    from rigpact.reference_runtime.files.contracts import ContractFiles

    return ContractFiles(bundle, companion, tuple(settings or ()), conventions)


def contract_from_options(
    bundle: Path, companion: Path | None, settings: list[str] | None, conventions: Path | None
) -> Any:
    """The contract with the conventions from the options; `--set` wins over the file."""

    return contract_files(bundle, companion, settings, conventions).opened()
