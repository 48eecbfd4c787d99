"""`rigpact run`: drive the reference runtime and write what it did."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rigpact.reports.command_line.options import (
    Companion,
    ConventionsFile,
    Format,
    OutputFormat,
    Settings,
    Strict,
)


class RunMode(StrEnum):
    """Who drives the character."""

    TEACHER = "teacher"
    FREE = "free"
    PLAYBACK = "playback"


def run(
    bundle: Annotated[Path, typer.Argument(help="The schema bundle, norm_template.json, or a system contract.")],
    *,
    clip: Annotated[
        Path,
        typer.Option("--clip", metavar="FILE", help="Raw clip, teacher file or, of another system, a trace to drive it."),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FILE",
            help="A trace (.trace.jsonl, .trace.jsonl.gz, .trace.jsonl.zst, .trace.safetensors) or, ending in .json, "
            "a teacher prediction.",
        ),
    ],
    onnx: Annotated[Path | None, typer.Option("--onnx", metavar="FILE", help="The model.")] = None,
    replay: Annotated[
        Path | None, typer.Option("--replay", metavar="FILE", help="Recorded network outputs in place of a model.")
    ] = None,
    mode: Annotated[RunMode, typer.Option("--mode", help="Who drives the character.")] = RunMode.TEACHER,
    frames: Annotated[
        int | None, typer.Option("--frames", min=1, help="Number of frames; the whole clip if not given.")
    ] = None,
    floor_contacts: Annotated[
        bool, typer.Option("--floor-contacts", help="Free-run measures foot contacts over a floor instead of the clip's.")
    ] = False,
    companion: Companion = None,
    settings: Settings = None,
    conventions: ConventionsFile = None,
    output_format: Format = OutputFormat.TEXT,
    strict: Strict = False,
) -> None:  # fmt: skip
    """Run the engine's loop on a clip and write every stage of every frame.

    Free-run takes condition and contacts from the clip, which loops; the pose comes from the loop's own output.
    """
    from rigpact.reports.systems.interface import ContractFiles, RunRequest
    from rigpact.reports.systems.registry import system_of

    from rigpact.contract.errors import UnusableInput
    from rigpact.reports.running.run_report import print_run
    from rigpact.reports.terminal import print_json, stdout

    if onnx and replay:
        raise UnusableInput("--onnx and --replay", "both", "one of them")
    files = ContractFiles(bundle, companion, settings or (), conventions)
    request = RunRequest(
        files, clip, out, onnx=onnx, replay=replay, mode=mode.value, frames=frames, floor_contacts=floor_contacts
    )
    report = system_of(bundle).run(request)
    if output_format is OutputFormat.JSON:
        print_json(report.to_json())
    else:
        print_run(report, stdout())
    raise typer.Exit(report.exit_code(strict=strict))
