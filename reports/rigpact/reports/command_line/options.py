"""Options that several commands share, declared once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rigpact.contract.bundle import Contract


class OutputFormat(StrEnum):
    """How a command answers."""

    TEXT = "text"
    JSON = "json"


Format = Annotated[OutputFormat, typer.Option("--format", help="Text for people, JSON for machines.")]
Strict = Annotated[bool, typer.Option("--strict", help="Let warnings fail the command too.")]
Companion = Annotated[
    Path | None, typer.Option("--companion", metavar="FILE", help="File with the auxiliary-input statistics.")
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KNOB=VALUE", help="Declare a convention; may be repeated.")
]
ConventionsFile = Annotated[
    Path | None, typer.Option("--conventions", metavar="FILE", help="TOML file that declares conventions.")
]


def contract_from_options(
    bundle: Path, companion: Path | None, settings: list[str] | None, conventions: Path | None
) -> Contract:
    """Load the contract under the conventions that the options declare; `--set` wins over the file."""
    from rigpact.contract import load_contract
    from rigpact.contract.conventions import parse_settings, read_conventions

    changes: dict[str, Any] = read_conventions(conventions) if conventions else {}
    return load_contract(bundle, companion, {**changes, **parse_settings(settings or ())})
