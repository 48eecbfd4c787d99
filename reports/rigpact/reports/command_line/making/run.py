"""`rigpact run`: drive the reference runtime and record every stage."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from rigpact.reports.command_line.options import (
    Companion,
    ConventionsFile,
    EngineChoice,
    EngineOption,
    Format,
    OutputFormat,
    Settings,
    Strict,
    contract_files,
)


class RunMode(StrEnum):
    """Whether the clip or the system's own output drives the run."""

    TEACHER = "teacher"
    FREE = "free"
    PLAYBACK = "playback"


def run(
    bundle: Annotated[Path, typer.Argument(help="The schema bundle, norm_template.json, or a contract.")],
    *,
    clip: Annotated[
        Path,
        typer.Option(
            "--clip", metavar="FILE", help="Raw clip, teacher file or, of another system, a trace to drive it."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="A trace (.trace.jsonl, .trace.jsonl.gz, .trace.jsonl.zst, .trace.bin, .trace.safetensors) or, "
            "ending in .json, a teacher prediction.",
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
        bool,
        typer.Option("--floor-contacts", help="Free-run measures foot contacts over a floor instead of the clip's."),
    ] = False,
    engine: EngineOption = EngineChoice.AUTO,
    companion: Companion = None,
    settings: Settings = None,
    conventions: ConventionsFile = None,
    output_format: Format = OutputFormat.TEXT,
    strict: Strict = False,
) -> None:
    """Run a system on a clip and write every stage of every frame.

    A free run takes from the clip, which loops, what the system does not hand on itself: of the enemy animation condition and
    contacts, while the pose comes from the loop's own output.
    """
    from rigpact.reports.running.run import RunRequest, print_run
    from rigpact.reports.running.run import run as run_files
    from rigpact.reports.terminal import print_json, show

    files = contract_files(bundle, companion, settings, conventions)
    report = run_files(RunRequest(files, clip, out, onnx, replay, mode.value, frames, floor_contacts, engine.value))
    if output_format is OutputFormat.JSON:
        print_json(report.to_json())
    else:
        show(partial(print_run, report))
    raise typer.Exit(report.exit_code(strict=strict))
