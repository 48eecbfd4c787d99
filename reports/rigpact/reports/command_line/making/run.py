"""`rigpact run`: drive the reference runtime and record every stage."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rigpact.reports.command_line import options


def run(
    clip: Annotated[Path, options.argument("CLIP", "The clip that drives the run.")],
    *,
    out: options.Out,
    bundle: options.Bundle = None,
    onnx: options.Model = None,
    replay: options.Replay = None,
    mode: Annotated[options.RunMode, options.MODE] = options.RunMode.TEACHER,
    frames: options.Frames = None,
    floor_contacts: options.FloorContacts = False,
    engine: options.EngineOption = options.EngineChoice.AUTO,
    companion: options.Companion = None,
    settings: options.Settings = None,
    conventions: options.ConventionsFile = None,
    output_format: options.Format = options.OutputFormat.TEXT,
    strict: options.Strict = False,
) -> None:
    """Run a system on a clip and write every stage of every frame.

    The clip is a raw clip, a teacher file or a recording. --out takes the suffixes of a trace (.trace.jsonl, .trace.bin,
    .trace.safetensors, …); .json is a teacher prediction. A free run takes only those inputs from the clip that the system
    does not compute, and repeats the clip. Exit status 0: no error (nor warning with --strict); 1: findings; 2: could not judge.
    """
    from rigpact.reports.running.run import RunRequest, print_run
    from rigpact.reports.running.run import run as run_files

    files = options.contract_files(bundle, companion, settings, conventions)
    report = run_files(RunRequest(files, clip, out, onnx, replay, mode.value, frames, floor_contacts, engine.value))
    options.print_found(report, print_run, output_format)
    raise typer.Exit(report.exit_code(strict=strict))
