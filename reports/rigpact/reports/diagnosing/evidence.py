"""Evidence for a diagnosis, gathered from the files that a user has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rigpact.contract.bundle import Contract
from rigpact.contract.conventions import STAGES
from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.network import Network, OnnxNetwork, read_replay
from rigpact.reference_runtime.recordings.clip import Clip, read_clip
from rigpact.reference_runtime.recordings.recording import Recording, read_recording
from rigpact.reports.diagnosing.replay import Evidence


def read_evidence(
    path: Path, contract: Contract, *, clip: Path | None = None, onnx: Path | None = None, replay: Path | None = None
) -> tuple[Evidence, list[str]]:
    """Read a recording and what its inputs are rebuilt from; returns notes that belong beside any verdict.

    replay: recorded network outputs, taken as the recording's own y_norm where it has none.
    """
    recording = read_recording(path, contract)
    driving = read_clip(clip) if clip is not None else None
    network = OnnxNetwork(onnx, contract) if onnx is not None else None
    evidence = recording_to_evidence(recording, contract, driving, network)
    if replay is not None and "y_norm" not in evidence.recorded:
        stages = {**evidence.recorded, "y_norm": _replayed(replay, recording)}
        evidence = replace(evidence, recorded={name: stages[name] for name in STAGES if name in stages})
    return evidence, _notes(recording, contract)


def recording_to_evidence(
    recording: Recording, contract: Contract, clip: Clip | None, network: Network | None
) -> Evidence:
    """What a replay can look at in a recording that was read already; UnusableInput for a stage of another width."""
    _check_widths(recording, contract)
    trace = recording.trace
    return Evidence(
        frame=trace.frame,
        fps=trace.header.fps,
        mode="free" if trace.header.mode == "free" else "teacher",
        recorded={name: trace.stages[name] for name in STAGES if name in trace.stages},
        clip=clip,
        network=network,
    )


def _replayed(replay: Path, recording: Recording) -> FloatArray:
    outputs = read_replay(replay).outputs
    frame = recording.trace.frame
    if frame[-1] >= len(outputs):
        raise UnusableInput(replay, f"{len(outputs)} recorded outputs", f"one for frame {frame[-1]}")
    rows: FloatArray = outputs[frame]
    return rows


def _check_widths(recording: Recording, contract: Contract) -> None:
    """A stage of another width was recorded under another bundle: nothing can be said about it."""
    expected = contract.stage_widths
    for name, width in recording.trace.widths.items():
        if expected.get(name) not in (None, width):
            hint = "is it the right --bundle?"
            raise UnusableInput(f"{recording.path}#/stages/{name}", f"{width} numbers", f"{expected[name]}", hint)


def _notes(recording: Recording, contract: Contract) -> list[str]:
    notes = []
    recorded = recording.trace.header.bundle_sha256
    if recorded is not None and recorded != contract.sha256:
        notes.append(
            f"recorded under the bundle {recorded[:12]}, not under {contract.sha256[:12]} ({contract.path.name})"
        )
    if recording.trace.truncation:
        notes.append(f"the recording is incomplete: {recording.trace.truncation}")
    if recording.trace.header.mode == "playback":
        notes.append("a playback has no network in it: only what is published can be judged")
    return notes
