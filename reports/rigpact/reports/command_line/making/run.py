"""`rigpact run`: drive the reference runtime and record every stage."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from rigpact.reports.command_line.options import (
    CLIP,
    MODE,
    Companion,
    ContractArgument,
    ConventionsFile,
    EngineChoice,
    EngineOption,
    FloorContacts,
    Format,
    Frames,
    Model,
    Out,
    OutputFormat,
    Replay,
    RunMode,
    Settings,
    Strict,
    contract_files,
)


def run(
    bundle: ContractArgument,
    *,
    clip: Annotated[Path, CLIP],
    out: Out,
    onnx: Model = None,
    replay: Replay = None,
    mode: Annotated[RunMode, MODE] = RunMode.TEACHER,
    frames: Frames = None,
    floor_contacts: FloorContacts = False,
    engine: EngineOption = EngineChoice.AUTO,
    companion: Companion = None,
    settings: Settings = None,
    conventions: ConventionsFile = None,
    output_format: Format = OutputFormat.TEXT,
    strict: Strict = False,
) -> None:
    """Run a system on a clip and write every stage of every frame.

    The clip is a raw clip, a teacher file or a recording. --out takes the suffixes of a trace (.trace.jsonl, .trace.bin,
    .trace.safetensors, …); .json is a teacher prediction. A free run takes only those inputs from the clip that the system
    does not compute, and repeats the clip. Exit status 0: no error (nor warning with --strict); 1: findings; 2: could not judge.
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
