"""`rigpact nan`: where a value that is not finite is born, and whether a free run will survive."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rigpact.reports.command_line.options import (
    Companion,
    ConventionsFile,
    Format,
    OutputFormat,
    Settings,
    contract_from_options,
)

if TYPE_CHECKING:
    from rigpact.contract.bundle import Contract
    from rigpact.reports.nonfinite.investigation import Investigation
    from rigpact.reports.nonfinite.subject import Subject

COMPANION_NAME = "pretrain_template.json"
FRAMES = 600
"""Ten seconds at 60 frames per second."""


def nan(
    bundle: Annotated[Path, typer.Argument(help="The schema bundle, norm_template.json.")],
    *,
    onnx: Annotated[Path | None, typer.Option("--onnx", metavar="FILE", help="The model.")] = None,
    replay: Annotated[
        Path | None, typer.Option("--replay", metavar="FILE", help="Recorded network outputs in place of a model.")
    ] = None,
    clip: Annotated[
        Path | None, typer.Option("--clip", metavar="FILE", help="The clip that seeds and drives the run.")
    ] = None,
    trace: Annotated[
        Path | None, typer.Option("--trace", metavar="FILE", help="A recorded run to look into; nothing is run.")
    ] = None,
    teacher: Annotated[bool, typer.Option("--teacher", help="Teacher-driven instead of free.")] = False,
    frames: Annotated[int, typer.Option("--frames", min=1, help="Number of frames to run.")] = FRAMES,
    perturb: Annotated[
        list[str] | None,
        typer.Option("--perturb", metavar="KIND[@FRAME[:CHANNEL]][=VALUE]", help="Inject a fault; may be repeated."),
    ] = None,
    floor_contacts: Annotated[
        bool, typer.Option("--floor-contacts", help="Measure foot contacts over a floor instead of taking the clip's.")
    ] = False,
    drift: Annotated[bool, typer.Option("--drift", help="Judge growth: chaos inside an envelope, or a defect.")] = False,
    against: Annotated[
        Path | None, typer.Option("--against", metavar="TRACE", help="A free-run trace to hold against the envelope.")
    ] = None,
    repro: Annotated[
        Path | None, typer.Option("--repro", metavar="FOLDER", help="Shrink a failing run and write it there.")
    ] = None,
    companion: Companion = None,
    settings: Settings = None,
    conventions: ConventionsFile = None,
    output_format: Format = OutputFormat.TEXT,
) -> None:  # fmt: skip
    """Find the producer of the first value that is not finite, what announced it, and which guard the run survives.

    Exit status 0: finite; 1: not finite, diverging, or a trace outside its drift envelope; 2: could not judge.
    """
    from rigpact.contract.errors import ContractRefused
    from rigpact.reports.nonfinite.investigation import refused_bundle

    try:
        contract = contract_from_options(bundle, companion, settings, conventions)
    except ContractRefused as refusal:
        raise _answer(refused_bundle(refusal), output_format) from None
    if trace is not None:
        raise _answer(_look_into(trace, contract, onnx), output_format)
    subject = _subject(contract, onnx, replay, clip, perturb or [], teacher=teacher, on_floor=floor_contacts)
    beside = _companion_beside(bundle, companion)
    subject = replace(subject, companion=_merged(bundle, beside, settings, conventions))
    if drift or against is not None:
        raise typer.Exit(_judge_drift(subject, frames, against, output_format))
    found = _investigated(subject, frames, (bundle, companion or beside), (bundle, companion), repro)
    raise _answer(found, output_format)


def _answer(found: Investigation, output_format: OutputFormat) -> typer.Exit:
    from rigpact.reports.nonfinite.text import print_investigation
    from rigpact.reports.terminal import print_json, stdout

    if output_format is OutputFormat.JSON:
        print_json(found.to_json())
    else:
        print_investigation(found, stdout())
    return typer.Exit(found.exit_code)


def _subject(
    contract: Contract, onnx: Path | None, replay: Path | None, clip: Path | None, perturb: list[str],
    *, teacher: bool, on_floor: bool,
) -> Subject:  # fmt: skip
    from rigpact.contract.errors import UnusableInput
    from rigpact.reference_runtime.network import Network, OnnxNetwork, read_replay
    from rigpact.reference_runtime.recordings.clip import read_clip
    from rigpact.reference_runtime.systems.enemy_animation.faults import parse_fault
    from rigpact.reference_runtime.systems.enemy_animation.loop import Mode
    from rigpact.reports.nonfinite.subject import Subject

    if (onnx is None) == (replay is None):
        raise UnusableInput("--onnx and --replay", "both" if onnx else "neither", "one of them")
    network: Network = read_replay(replay) if onnx is None and replay is not None else OnnxNetwork(onnx or "", contract)
    if clip is None:
        raise UnusableInput("--clip", "none", "a clip: its first frame is the seed, its rows the player's intent")
    faults = tuple(parse_fault(word) for word in perturb)
    mode: Mode = "teacher" if teacher else "free"
    return Subject(contract, network, read_clip(clip), mode, faults, on_floor=on_floor)


def _companion_beside(bundle: Path, companion: Path | None) -> Path | None:
    """The companion that was not given though it lies beside the bundle: the classic forgotten merge."""
    path = bundle.with_name(COMPANION_NAME)
    return path if companion is None and path.is_file() else None


def _merged(bundle: Path, beside: Path | None, settings: list[str] | None, conventions: Path | None) -> Contract | None:
    from rigpact.contract.errors import UnusableInput

    try:
        return contract_from_options(bundle, beside, settings, conventions) if beside else None
    except UnusableInput:
        return None


def _investigated(
    subject: Subject, frames: int, judged: tuple[Path, Path | None], files: tuple[Path, Path | None], repro: Path | None
) -> Investigation:
    from rigpact.contract.documents import read_document
    from rigpact.reports.nonfinite.investigation import investigate, statistics_suspects, with_suspects
    from rigpact.reports.nonfinite.repro import write_repro

    found = investigate(subject, frames)
    documents = [read_document(path) if path is not None else None for path in judged]
    if documents[0] is not None and found.verdict != "finite":
        found = with_suspects(found, statistics_suspects(documents[0], documents[1]))
    if repro is not None and found.origin is not None:
        found = replace(found, repro=write_repro(repro, subject, found, files))
    return found


def _look_into(trace: Path, contract: Contract, onnx: Path | None) -> Investigation:
    from rigpact.reference_runtime.network import OnnxNetwork
    from rigpact.reference_runtime.recordings.recording import read_recording
    from rigpact.reports.nonfinite.investigation import investigate_recording

    network = OnnxNetwork(onnx, contract) if onnx is not None else None
    return investigate_recording(read_recording(trace, contract), contract, network)


def _judge_drift(subject: Subject, frames: int, against: Path | None, output_format: OutputFormat) -> int:
    from rigpact.reports.nonfinite.drift import judge_drift, print_drift
    from rigpact.reports.terminal import print_json, stdout

    found = judge_drift(subject, frames, against)
    if output_format is OutputFormat.JSON:
        print_json(found.to_json())
    else:
        print_drift(found, stdout())
    return found.exit_code
