"""Gather the evidence for a diagnosis from the user's files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rigpact.contract.findings import Severity
from rigpact.reference_runtime.files.declared import files_of, network_of
from rigpact.reference_runtime.graph.replayed import Evidence, check_widths
from rigpact.reference_runtime.recordings.recording import Recording
from rigpact.reports.comparing.clock import about_clock
from rigpact.reports.comparing.compare import before_a_gap
from rigpact.reports.comparing.recorded_with import about_contract
from rigpact.reports.diagnosing.unrecorded_feedback import with_unrecorded_feedback


@dataclass(frozen=True)
class EvidenceFiles:
    """The files from which a recording's inputs are rebuilt: clip, model, recorded answers of the network."""

    clip: Path | None = None
    onnx: Path | None = None
    replay: Path | None = None


def read_evidence(path: Path, contract: Any, given: EvidenceFiles | None = None) -> tuple[Evidence, list[str]]:
    """Read a recording and the files for its inputs. Also returns notes to show beside every verdict."""
    given, files = given or EvidenceFiles(), files_of(contract)
    recording = files.recording(path, contract)
    drive = None if given.clip is None else files.drive(given.clip, contract)
    network = network_of(contract, given.onnx)
    evidence = recording_to_evidence(recording, contract, drive, network)
    if given.replay is None and given.clip is None:
        evidence = with_unrecorded_feedback(evidence, contract)
    if given.replay is not None:
        answers = files.answers(given.replay, evidence.frame, contract)
        stages = {**answers, **evidence.recorded}
        order = contract.system.graph.names
        evidence = replace(evidence, recorded={name: stages[name] for name in order if name in stages})
    notes = _notes(recording, contract)
    if given.clip is not None and given.clip.resolve() == path.resolve():
        notes.append("the recording is its own clip: what drove it is taken as it was recorded")
    return evidence, notes


def recording_to_evidence(
    recording: Recording, contract: Any, drive: Callable[[Any], Any] | None = None, network: Any = None
) -> Evidence:
    """The evidence in a recording that is already read; UnusableInput for a stage with a wrong width."""
    trace = recording.trace
    check_widths(contract, trace.stages, recording.path)
    is_free = trace.header.mode == "free"
    judged = before_a_gap(trace.frame) if is_free else slice(None)
    order = contract.system.graph.names
    return Evidence(
        frame=trace.frame[judged],
        fps=trace.header.fps,
        mode="free" if is_free else "teacher",
        recorded={name: trace.stages[name][judged] for name in order if name in trace.stages},
        drive=drive,
        network=network,
        printed=trace.printed,
        says_mode=trace.header.says_mode,
    )


def _notes(recording: Recording, contract: Any) -> list[str]:
    notes: list[str] = []
    header, frame = recording.trace.header, recording.trace.frame
    found = (*about_contract(recording, contract), *about_clock(recording, contract))
    notes += [each.message for each in found if each.rule.severity is not Severity.INFO]
    judged = frame[before_a_gap(frame)]
    if header.mode == "free" and len(judged) < len(frame):
        notes.append(
            f"frame {judged[-1] + 1} was not recorded: the {len(frame) - len(judged)} frames after it are not judged"
        )
    if recording.trace.truncation:
        notes.append(f"the recording is incomplete: {recording.trace.truncation}")
    if header.mode == "playback":
        notes.append("a playback has no network in it: only what is published can be judged")
    return notes
