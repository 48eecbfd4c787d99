"""`rigpact sweep`: measure many clips, checkpoints and conventions, in processes of this machine."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from rigpact.reports.command_line import options


class SweepMode(StrEnum):
    """Whether the clip or the system's own output drives the run of a cell."""

    TEACHER = "teacher"
    FREE = "free"
    BOTH = "both"


Clips = Annotated[list[str], options.argument("CLIPS…", "Clips, folders of clips, or patterns.")]
Models = Annotated[list[str], options.option("--onnx", "PATH", "Checkpoint, folder or pattern; may be repeated.")]
Folder = Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where results and journal are written.")]
Knobs = Annotated[list[str] | None, options.option("--set", "KNOB=V1,V2", "Values of a convention; may be repeated.")]
Processes = Annotated[
    int | None, typer.Option("--processes", min=1, help="Processes of this machine; else one for each core.")
]
Retries = Annotated[int, typer.Option("--retries", min=0, help="Attempts more for a cell whose process died.")]
RetryErrors = Annotated[bool, typer.Option("--retry-errors", help="Measure cells with an error again.")]


def sweep(
    clip: Clips,
    *,
    onnx: Models,
    out: Folder,
    bundle: options.Bundle = None,
    mode: Annotated[SweepMode, options.MODE] = SweepMode.BOTH,
    engine: options.EngineOption = options.EngineChoice.NUMPY,
    frames: options.Frames = None,
    settings: Knobs = None,
    companion: options.Companion = None,
    conventions: options.ConventionsFile = None,
    processes: Processes = None,
    retries: Retries = 2,
    retry_errors: RetryErrors = False,
    output_format: options.Format = options.OutputFormat.TEXT,
    strict: options.Strict = False,
) -> None:
    """Measure every clip under every checkpoint and convention.

    Results go to FOLDER/results.parquet; a second call goes on where the first one stopped. Exit status 0: every cell was
    measured and is finite; 1: some are not; 2: none was measured. With --strict a cell that is worse than copying the last
    pose fails too.
    """
    from rigpact.contract.conventions import declared_changes
    from rigpact.reports.processes import processors
    from rigpact.reports.sweep.plan import MODES, plan_sweep
    from rigpact.reports.sweep.summary import print_summary
    from rigpact.reports.sweep.sweep import in_processes, in_this_process, run_sweep
    from rigpact.reports.terminal import print_json, show

    contract, base = options.contract_files(bundle, companion, None, None).opened(), declared_changes((), conventions)
    modes, knobs = MODES if mode is SweepMode.BOTH else (mode.value,), settings or ()
    plan = plan_sweep(
        contract, companion, onnx, clip, knobs, base=base, modes=modes, frames=frames, engine=engine.value
    )
    count = min(processes or processors(), len(plan))
    runner = in_this_process if count == 1 else partial(in_processes, processes=count, retries=retries)
    report = run_sweep(plan, out, runner, retry_errors=retry_errors)
    results = report.results.as_posix()
    if output_format is options.OutputFormat.JSON:
        print_json(report.summary.to_json(report.measured, results))
    else:
        show(partial(print_summary, report.summary, report.measured, results))
    raise typer.Exit(report.summary.exit_code(strict=strict))
