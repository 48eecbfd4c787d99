"""Gather the evidence for a diagnosis from the user's files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.findings import Severity
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.stage import Graph, NotKnown, Stage
from rigpact.reference_runtime.files.declared import files_of, network_of
from rigpact.reference_runtime.graph.bounds import KnownFrames, stage_bound
from rigpact.reference_runtime.graph.replayed import Evidence, check_widths, path_of
from rigpact.reference_runtime.graph.run import ClipDrive, LiveFrames
from rigpact.reference_runtime.operations.rounding import UNIT_ROUNDOFF
from rigpact.reference_runtime.recordings.recording import Recording, cut_to, judging_contract, with_all_bones
from rigpact.reports.comparing.clock import about_clock
from rigpact.reports.comparing.compare import before_a_gap
from rigpact.reports.comparing.judgement import about_contract, about_precision, about_size

# Feedback that a recording leaves out: computed from its start, so that what the network gives can still be judged
_SIGNS = 2
"""Runs with moved rows: rounding of either sign."""


def with_unrecorded_feedback(evidence: Evidence, contract: Contract) -> Evidence:
    """The evidence with the rows of feedback that was not recorded, where they can be known; else as it is."""
    graph: Graph = contract.system.graph
    if not _is_replayable(evidence, graph):
        return evidence
    rows = _rows(evidence, contract, 0.0)
    carried = [stage.name for stage in graph if stage.carried is not None]
    if rows is None or not _is_stable(evidence, contract, rows):
        return evidence
    given = {name: evidence.recorded[name] for name in graph.given if name in evidence.recorded}
    drive = ClipDrive({**given, **{name: rows[name] for name in carried}})
    return replace(evidence, mode="teacher", drive=lambda _contract: drive)


def _is_replayable(evidence: Evidence, graph: Graph) -> bool:
    """Whether some feedback is missing, every other input is there, and no convention stands in the loop."""
    carried = [stage for stage in graph if stage.carried is not None]
    missing = [stage for stage in carried if not {stage.name, str(stage.carried)} & evidence.recorded.keys()]
    is_whole = bool(np.array_equal(evidence.frame, np.arange(len(evidence.frame))))
    is_plain = evidence.mode == "free" and evidence.drive is None and evidence.network is not None
    others = [name for name in graph.given if graph[name].carried is None]
    if not (missing and is_whole and is_plain and all(name in evidence.recorded for name in others)):
        return False
    return all(_is_fixed(stage, graph, evidence.recorded) for stage in carried)


def _is_fixed(stage: Stage, graph: Graph, recorded: Mapping[str, FloatArray]) -> bool:
    """Whether what a stage takes over is one answer of a network under every convention, from a start that is said."""
    source = graph[str(stage.carried)]
    on_the_way = path_of(graph, source.name, recorded)
    has_choices = stage.source_knob is not None or any(graph[name].every_knob for name in on_the_way)
    return stage.start is not None and source.is_answer and not has_choices


def _rows(evidence: Evidence, contract: Contract, sign: float) -> dict[str, FloatArray] | None:
    """Every stage from the start on, (T, width): recorded where it was; carried rows moved by their rounding times `sign`."""
    graph: Graph = contract.system.graph
    frames = _Moved(contract, evidence, sign)
    for _ in evidence.frame:
        frames.step()
    rows = {name: frames.history(name, 0) for name in graph.names}
    found = {name: each for name, each in rows.items() if each is not None}
    return found if all(name in found and np.isfinite(found[name]).all() for name in graph.given) else None


class _Moved(LiveFrames):
    """A run in which the fed-back numbers are moved by one rounding in each frame."""

    def __init__(self, contract: Contract, evidence: Evidence, sign: float) -> None:
        super().__init__(contract, [ClipDrive(evidence.recorded)], evidence.network, len(evidence.frame), "free")
        self._sign = sign

    def _rows(self, stage: Stage) -> FloatArray:
        rows = super()._rows(stage)
        return rows if stage.carried is None else (rows * (1.0 + self._sign * 2.0 * UNIT_ROUNDOFF)).astype(np.float32)


def _is_stable(evidence: Evidence, contract: Contract, rows: Mapping[str, FloatArray]) -> bool:
    """Whether rounding of the fed-back numbers moves every answer by less than the network's own bound."""
    graph: Graph = contract.system.graph
    for sign in np.linspace(-1.0, 1.0, _SIGNS):
        moved = _rows(evidence, contract, float(sign))
        for name in graph.answers:
            if moved is None or name not in rows or name not in moved:
                return False
            try:
                bound = stage_bound(graph[name], KnownFrames(contract, rows), rows[name], {})
            except NotKnown:
                return False
            if np.any(np.abs(moved[name].astype(np.float64) - rows[name]) > bound):
                return False
    return True


@dataclass(frozen=True)
class EvidenceFiles:
    """The files from which a recording's inputs are rebuilt: clip, model, recorded answers of the network.

    resolution: how finely the recording's numbers are written, in words; None where the numbers show it.
    """

    clip: Path | None = None
    onnx: Path | None = None
    replay: Path | None = None
    resolution: str | None = None


class Part(NamedTuple):
    """Evidence, and the contract that judges it."""

    evidence: Evidence
    contract: Contract


@dataclass(frozen=True, eq=False)
class Gathered:
    """What is judged of a recording: parts of it, each under its own contract, and notes to show beside every verdict."""

    recording: Recording
    parts: tuple[Part, ...]
    notes: list[str] = field(default_factory=list)

    @property
    def mode(self) -> str:
        """Who drove the run: `teacher` or `free`."""
        return self.parts[-1].evidence.mode

    @property
    def says_mode(self) -> bool:
        """Whether the file says so itself."""
        return self.parts[-1].evidence.says_mode

    def in_mode(self, mode: str) -> Gathered:
        """The same, driven as somebody says."""
        parts = (Part(replace(part.evidence, mode=mode, says_mode=True), part.contract) for part in self.parts)
        return replace(self, parts=tuple(parts))


def read_evidence(path: Path, contract: Contract, given: EvidenceFiles | None = None) -> Gathered:
    """Read a recording and the files for its inputs."""
    given, files = given or EvidenceFiles(), files_of(contract)
    recording = files.recording(path, contract).with_resolution(given.resolution)
    drive = None if given.clip is None else files.drive(given.clip, contract)
    network = network_of(contract, given.onnx)
    if given.replay is not None:
        recording = _with_answers(recording, contract, files.answers(given.replay, _judged_frames(recording), contract))
    parts = parts_of(recording, contract, drive, network)
    if given.replay is None and given.clip is None:
        parts = [Part(with_unrecorded_feedback(part.evidence, part.contract), part.contract) for part in parts]
    of_side = _about_side(recording, contract) if given.clip is not None else []
    notes = [*_notes(recording, contract), *of_side]
    if given.clip is not None and given.clip.resolve() == path.resolve():
        notes.append("the recording is its own clip: what drove it is taken as it was recorded")
    return Gathered(recording, tuple(parts), notes)


def _about_side(recording: Recording, contract: Contract) -> list[str]:
    """A note on the conventions that a file of the training side has by design, and the engine otherwise."""
    if not recording.is_of_training:
        return []
    return [
        f"a file of the training side: judged with {knob} = {value}; an engine has {contract.conventions[knob]} there"
        for knob, value in contract.conventions.of_training.items()
    ]


def _with_answers(recording: Recording, contract: Contract, answers: Mapping[str, FloatArray]) -> Recording:
    """The recording with recorded answers of the network, which have all bones, where it has none itself."""
    trace, judged = recording.trace, len(_judged_frames(recording))
    own = {name: rows[:judged] for name, rows in trace.stages.items()}
    whole = {**answers, **{name: rows[:judged] for name, rows in recording.whole.items()}}
    found = cut_to(answers, contract, recording.bones) if recording.bones else dict(answers)
    known = {**found, **own}
    stages = {name: known[name] for name in contract.system.graph.names if name in known}
    cut = replace(trace, frame=trace.frame[:judged], time_s=trace.time_s[:judged], stages=stages, mapping=None)
    return replace(recording, trace=cut, whole=whole if recording.bones else {})


def parts_of(
    recording: Recording, contract: Contract, drive: Callable[[Any], Any] | None = None, network: Any = None
) -> list[Part]:
    """The recording as its own side has it; of a recording of some bones, first the stages that it holds with all bones.

    The network needs all bones: only that part can judge its answer.
    """
    return [
        Part(recording_to_evidence(held, own, drive, None if held.bones else network), own)
        for held, own in held_parts(recording, contract)
    ]


def held_parts(recording: Recording, contract: Contract) -> list[tuple[Recording, Contract]]:
    """The recording and its contract; of a recording of some bones, first what it holds of all bones."""
    every = with_all_bones(recording)
    found = [] if every is None else [(every, contract)]
    return [*found, (recording, judging_contract(recording, contract))]


def recording_to_evidence(
    recording: Recording, contract: Contract, drive: Callable[[Any], Any] | None = None, network: Any = None
) -> Evidence:
    """The evidence in a recording, under the contract that judges it; UnusableInput for a stage with a wrong width."""
    trace = recording.trace
    check_widths(contract, trace.stages, recording.path)
    is_free = trace.header.mode == "free"
    judged = slice(len(_judged_frames(recording)))
    order = contract.system.graph.names
    return Evidence(
        frame=trace.frame[judged],
        fps=trace.header.fps,
        mode="free" if is_free else "teacher",
        recorded={name: trace.stages[name][judged] for name in order if name in trace.stages},
        drive=drive,
        network=network,
        precision=trace.precision,
        says_mode=trace.header.says_mode,
    )


def _judged_frames(recording: Recording) -> NDArray[np.int64]:
    """The frames that can be judged: in a free run, those before one that was not recorded."""
    frame = recording.trace.frame
    return frame[before_a_gap(frame)] if recording.trace.header.mode == "free" else frame


def _notes(recording: Recording, contract: Contract) -> list[str]:
    whose = ", ".join(f"{key} {value}" for key, value in recording.trace.header.about)
    notes: list[str] = [f"recorded of {whose}"] if whose else []
    header, frame = recording.trace.header, recording.trace.frame
    found = [*about_contract(recording, contract), *about_clock(recording, contract), *about_precision(recording)]
    found += about_size(recording, contract)
    notes += [each.message for each in found if each.rule.severity is not Severity.INFO]
    judged = frame[before_a_gap(frame)]
    if header.mode == "free" and len(judged) < len(frame):
        notes.append(
            f"frame {judged[-1] + 1} was not recorded: the {len(frame) - len(judged)} frames after it are not judged"
        )
    notes += recording.trace.notes
    if recording.trace.truncation:
        notes.append(f"the recording is incomplete: {recording.trace.truncation}")
    if header.mode == "playback":
        notes.append("a playback has no network in it: only what is published can be judged")
    return notes
