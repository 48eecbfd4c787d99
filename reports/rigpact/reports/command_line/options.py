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


BUNDLE = typer.Option("--bundle", metavar="FILE", help="The schema bundle, or a contract.")
CLIP = typer.Option("--clip", metavar="FILE", help="The clip that drives the run.")
MODE = typer.Option("--mode", help="Who drives the run: the clip or its output.")
OUT = typer.Option("--out", "-o", metavar="FILE", help="The file to write.")

ContractArgument = Annotated[Path, typer.Argument(metavar="CONTRACT", help="The schema bundle, or a contract.")]
Bundle = Annotated[Path | None, BUNDLE]
Clip = Annotated[Path | None, CLIP]
Mode = Annotated[RunMode | None, MODE]
Out = Annotated[Path, OUT]
Model = Annotated[
    Path | None, typer.Option("--onnx", metavar="FILE", help="The ONNX model that belongs to the contract.")
]
Replay = Annotated[Path | None, typer.Option("--replay", metavar="FILE", help="Recorded answers in place of a model.")]
Frames = Annotated[int | None, typer.Option("--frames", min=1, metavar="N", help="End after N frames.")]
FloorContacts = Annotated[
    bool, typer.Option("--floor-contacts", help="Measure foot contacts over a floor; else the clip's.")
]
Fps = Annotated[
    float | None,
    typer.Option("--fps", min=0.001, max=100_000, metavar="N", help="Frames a second, where the file does not say it."),
]
Segment = Annotated[
    int | None,
    typer.Option("--segment", min=1, metavar="N", help="Only the Nth segment of a recording."),
]
Base = Annotated[str | None, typer.Option("--base", metavar="REV", help="Compare with this git revision.")]
Force = Annotated[bool, typer.Option("--force", help="Write over a file that is there.")]
EngineOption = Annotated[
    EngineChoice, typer.Option("--engine", help="Who computes a free run; auto: C++ where it agrees with numpy.")
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
