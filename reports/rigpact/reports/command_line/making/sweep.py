"""`rigpact sweep`: measure many clips, checkpoints and conventions, on this machine or on a cluster."""

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
    Strict,
    contract_from_options,
)


class SweepMode(StrEnum):
    """Whether the clip or the system's own output drives the run of a cell."""

    TEACHER = "teacher"
    FREE = "free"
    BOTH = "both"


Clips = Annotated[list[str], typer.Option("--clip", metavar="PATH", help="Clip, folder or pattern; may be repeated.")]
Models = Annotated[
    list[str], typer.Option("--onnx", metavar="PATH", help="Checkpoint, folder or pattern; may be repeated.")
]
Folder = Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Results and journal; made if missing.")]
Mode = Annotated[SweepMode, typer.Option("--mode", help="Who drives the character.")]
Frames = Annotated[int | None, typer.Option("--frames", min=1, help="Number of frames; the whole clip if not given.")]
Knobs = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KNOB=V1,V2", help="Values of a convention, each a cell; may be repeated."),
]
Processes = Annotated[
    int | None,
    typer.Option("--processes", min=1, help="Processes of this machine; one for each core if not given."),
]
Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", metavar="ADDRESS", help="Run on the Dask cluster at tcp://HOST:PORT."),
]
Retries = Annotated[int, typer.Option("--retries", min=0, help="How often a cell is tried again whose process died.")]
RetryErrors = Annotated[
    bool, typer.Option("--retry-errors", help="Measure cells again that were an error the last time.")
]


def sweep(
    bundle: Annotated[Path, typer.Argument(help="The schema bundle, norm_template.json, or a contract.")],
    *,
    clip: Clips,
    onnx: Models,
    out: Folder,
    mode: Mode = SweepMode.BOTH,
    engine: EngineOption = EngineChoice.NUMPY,
    frames: Frames = None,
    settings: Knobs = None,
    companion: Companion = None,
    conventions: ConventionsFile = None,
    processes: Processes = None,
    scheduler: Scheduler = None,
    retries: Retries = 2,
    retry_errors: RetryErrors = False,
    output_format: Format = OutputFormat.TEXT,
    strict: Strict = False,
) -> None:
    """Measure every clip under every checkpoint and convention; go on where an earlier run stopped.

    Results are written to FOLDER/results.parquet, the same bytes wherever they were measured.
    Exit status 0: every cell was measured and is finite; 1: some are not; 2: none could be; with --strict a cell that copying
    the last pose beats fails too.
    """
    from rigpact.contract.conventions import declared_changes
    from rigpact.contract.errors import UnusableInput
    from rigpact.reports.processes import processors
    from rigpact.reports.sweep.plan import MODES, plan_sweep
    from rigpact.reports.sweep.summary import print_summary
    from rigpact.reports.sweep.sweep import run_sweep, runner_of
    from rigpact.reports.terminal import print_json, show

    if processes is not None and scheduler is not None:
        raise UnusableInput("--processes and --scheduler", "both", "one of them")
    plan = plan_sweep(
        contract_from_options(bundle, companion, None, None),
        companion,
        onnx,
        clip,
        settings or (),
        base=declared_changes(conventions=conventions),
        modes=MODES if mode is SweepMode.BOTH else (mode.value,),
        frames=frames,
        engine=engine.value,
    )
    runner = runner_of(min(processes or processors(), len(plan)), scheduler, retries)
    report = run_sweep(plan, out, runner, retry_errors=retry_errors)
    results = report.results.as_posix()
    if output_format is OutputFormat.JSON:
        print_json(report.summary.to_json(report.measured, results))
    else:
        show(partial(print_summary, report.summary, report.measured, results))
    raise typer.Exit(report.summary.exit_code(strict=strict))
