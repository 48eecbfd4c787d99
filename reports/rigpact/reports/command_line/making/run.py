"""`rigpact run`: drive the reference runtime and record every stage."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rigpact.contract.errors import UnusableInput
from rigpact.reports.command_line import options
from rigpact.reports.command_line.report_formats import answer_written, print_found


def run(
    clip: Annotated[Path | None, options.argument("CLIP", "The clip that drives the run.")],
    *,
    out: Annotated[Path | None, options.OUT],
    probe: Annotated[
        Path | None, options.option("--probe", "FILE", "Write a short clip that shows all that one can; no CLIP.")
    ] = None,
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
    does not compute, and repeats the clip. --probe runs nothing: it makes a clip under which other conventions give other
    numbers. Exit status 0: no error (nor warning with --strict); 1: findings; 2: could not judge.
    """
    from rigpact.reports.diagnosing.probe import write_probe
    from rigpact.reports.running.run import print_run
    from rigpact.reports.running.run import run as run_files

    files = options.contract_files(bundle, companion, settings, conventions)
    if probe is not None:
        others = {"CLIP": clip, "-o": out, "--replay": replay, "--frames": frames}
        if given := ", ".join(name for name, value in others.items() if value is not None):
            raise UnusableInput("--probe", f"{given} beside it", "the contract alone", "run the probe afterwards")
        write_probe(files.opened(), probe)
        lines = [f"{probe} written: a clip that shows all that a clip can show"]
        answer_written("run", [probe], output_format, lines=lines)
        return
    if clip is None or out is None:  # `left_out` says what is missing
        return
    report = run_files(
        files,
        clip,
        out,
        onnx,
        replay,
        mode=mode.value,
        frames=frames,
        floor_contacts=floor_contacts,
        engine=engine.value,
    )
    print_found(report, print_run, output_format)
    raise typer.Exit(report.exit_code(strict=strict))
