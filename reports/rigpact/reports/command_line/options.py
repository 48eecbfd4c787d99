"""Command-line options that several commands share."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rigpact.contract.errors import UnusableInput
from rigpact.reports.command_line.completion import known_conventions

if TYPE_CHECKING:
    from rigpact.reference_runtime.files.declared import ContractFiles


class OutputFormat(StrEnum):
    """The format of a command's output."""

    TEXT = "text"
    JSON = "json"


class RunMode(StrEnum):
    """Whether the clip or the system's own output drives the run."""

    TEACHER = "teacher"
    FREE = "free"
    PLAYBACK = "playback"


class EngineChoice(StrEnum):
    """Who computes the stages of a free run."""

    AUTO = "auto"
    NUMPY = "numpy"
    NATIVE = "native"


def option(name: str, value: str, words: str, **more: Any) -> Any:
    """An option with a value: its name, what stands for the value in its help, what it does."""
    return typer.Option(name, metavar=value, help=words, **more)


def argument(value: str, words: str, **more: Any) -> Any:
    """An argument: what stands for it in the help, what it is."""
    return typer.Argument(metavar=value, help=words, **more)


BUNDLE = option("--contract", "FILE", "The schema bundle, or a contract.")
CLIP = option("--clip", "FILE", "The clip that drives the run.")
MODE = typer.Option("--mode", help="Who drives the run: the clip or its output.")
ONNX = option("--onnx", "FILE", "The ONNX model that belongs to the contract.")
OUT = typer.Option("--out", "-o", metavar="FILE", help="The file to write.")

ContractArgument = Annotated[Path, argument("CONTRACT", "The schema bundle, or a contract.")]
Bundle = Annotated[Path | None, BUNDLE]
Clip = Annotated[Path | None, CLIP]
Mode = Annotated[RunMode | None, MODE]
Out = Annotated[Path, OUT]
Model = Annotated[Path | None, ONNX]
Replay = Annotated[Path | None, option("--replay", "FILE", "Recorded answers in place of a model.")]
Frames = Annotated[int | None, option("--frames", "N", "End after N frames.", min=1)]
FloorContacts = Annotated[
    bool, typer.Option("--floor-contacts", help="Measure foot contacts over a floor; else the clip's.")
]
Fps = Annotated[
    float | None, option("--fps", "N", "Frames a second, where the file does not say it.", min=0.001, max=100_000)
]
Segment = Annotated[int | None, option("--segment", "N", "Only the Nth segment of a recording.", min=1)]
Base = Annotated[str | None, option("--base", "REV", "Compare with this git revision.")]
Force = Annotated[bool, typer.Option("--force", help="Write over a file that is there.")]
EngineOption = Annotated[
    EngineChoice, typer.Option("--engine", help="Who computes a free run; auto: C++ where it agrees with numpy.")
]
Format = Annotated[OutputFormat, typer.Option("--format", help="Text for people, JSON for machines.")]
ReportFiles = Annotated[
    list[str] | None, option("--report", "[FORMAT=]FILE", "Write the answer there too, by suffix; may be repeated.")
]
HtmlFile = Annotated[Path | None, option("--html", "FILE", "Write the HTML page.")]
Strict = Annotated[bool, typer.Option("--strict", help="Let warnings fail the command too.")]
Resolution = Annotated[
    str | None,
    option("--resolution", "WORDS", "How finely numbers are written: float16, …"),
]
COMPANION = option("--companion", "FILE", "File with the auxiliary-input statistics.")
Companion = Annotated[Path | None, COMPANION]
Settings = Annotated[
    list[str] | None,
    option("--set", "KNOB=VALUE", "Declare a convention; may be repeated.", autocompletion=known_conventions),
]
ConventionsFile = Annotated[Path | None, option("--conventions", "FILE", "TOML file that declares conventions.")]


def refuse_beside(given: Mapping[str, object], found: str, expected: str, hint: str = "") -> None:
    """UnusableInput for those of some options that are given: passed over, they would seem to have been followed."""
    if names := ", ".join(name for name, value in given.items() if value):
        raise UnusableInput(names, found, expected, hint)


def contract_files(
    bundle: Path | None, companion: Path | None, settings: list[str] | None, conventions: Path | None
) -> ContractFiles:
    """The files and options that define a contract; `opened` reads them."""
    from rigpact.reference_runtime.files.declared import ContractFiles

    return ContractFiles(bundle, companion, tuple(settings or ()), conventions)
