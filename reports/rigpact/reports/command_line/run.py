"""`rigpact run`: drive the reference runtime and write what it did."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rigpact.reports.command_line.options import (
    Companion,
    ConventionsFile,
    Format,
    OutputFormat,
    Settings,
    Strict,
    contract_from_options,
)

if TYPE_CHECKING:
    from rigpact.contract.bundle import Contract
    from rigpact.reference_runtime.network import Network


class RunMode(StrEnum):
    """Who drives the character."""

    TEACHER = "teacher"
    FREE = "free"
    PLAYBACK = "playback"


def run(
    bundle: Annotated[Path, typer.Argument(help="The schema bundle, norm_template.json.")],
    *,
    clip: Annotated[
        Path, typer.Option("--clip", metavar="FILE", help="Raw clip, teacher batch or teacher prediction to drive it.")
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
    from rigpact.contract.errors import UnusableInput
    from rigpact.reference_runtime.clip import read_clip
    from rigpact.reference_runtime.ground_contacts import GroundedInputs
    from rigpact.reference_runtime.loop import LoopParts, start_run
    from rigpact.reports.run_report import describe_run, print_run, record_run, write_run
    from rigpact.reports.terminal import print_json, stdout

    if onnx and replay:
        raise UnusableInput("--onnx and --replay", "both", "one of them")
    contract = contract_from_options(bundle, companion, settings, conventions)
    driving = read_clip(clip)
    if floor_contacts and mode is not RunMode.FREE:
        raise UnusableInput("--floor-contacts", f"a {mode.value} run", "--mode free")
    parts = LoopParts(GroundedInputs) if floor_contacts else None
    runner = start_run(contract, _network(onnx, replay, contract), driving, mode.value, parts)
    trace = record_run(runner, driving, mode.value, frames)
    write_run(out, trace, runner.contract, driving, model=(onnx or replay or clip).name)
    report = describe_run(runner, trace, bundle, out)
    if output_format is OutputFormat.JSON:
        print_json(report.to_json())
    else:
        print_run(report, stdout())
    raise typer.Exit(report.exit_code(strict=strict))


def _network(onnx: Path | None, replay: Path | None, contract: Contract) -> Network | None:
    from rigpact.reference_runtime.network import OnnxNetwork, read_replay

    if onnx:
        return OnnxNetwork(onnx, contract)
    return read_replay(replay) if replay else None
