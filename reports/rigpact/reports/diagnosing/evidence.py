"""Gather the evidence for a diagnosis from the user's files."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.findings import Severity
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.stage import Stage
from rigpact.reference_runtime.files.declared import files_of, network_of
from rigpact.reference_runtime.graph.bounds import PATTERNS, STORED, WRITTEN_MARGIN, stage_bound
from rigpact.reference_runtime.graph.replayed import Evidence, FedBack, check_widths, path_over_frames
from rigpact.reference_runtime.graph.run import Changes, ClipDrive, LiveFrames
from rigpact.reference_runtime.graph.work import Work
from rigpact.reference_runtime.operations.scalars import gamma
from rigpact.reference_runtime.recordings.recording import Recording, cut_to, judging_contract, with_all_bones
from rigpact.reports.comparing.clock import about_clock
from rigpact.reports.comparing.compare import before_a_gap
from rigpact.reports.comparing.judgement import about_contract, about_precision, about_size

# Feedback that a recording leaves out: it follows from the start of the run, where rounding does not grow without end
_SIGNS = 61
"""Frames after which drawn signs of rounding return."""
_MOST_GROWN = 4096
"""So many times its own rounding a fed-back number may be off; a chaotic loop is off by more after a few frames."""


def with_unrecorded_feedback(evidence: Evidence, contract: Contract) -> Evidence:
    """The evidence with what is fed back and was not recorded, where it can be known; else as it is."""
    graph, recorded = contract.system.graph, evidence.recorded
    missing = [each for each in graph if each.carried is not None and not {each.name, each.carried} & recorded.keys()]
    is_whole = bool(np.array_equal(evidence.frame, np.arange(len(evidence.frame))))
    is_said = all(each.start is not None and not each.carried_fields for each in missing)
    if not (missing and is_whole and is_said) or evidence.mode != "free" or evidence.drive is not None:
        return evidence
    loop = frozenset[str]().union(*(path_over_frames(graph, each.name, recorded) for each in missing))
    knobs, runs = {knob.name for name in loop for knob in graph[name].every_knob}, dict[Hashable, LiveFrames]()

    def fed_back(under: Contract, work: Work, end: int) -> FedBack:
        """Rows up to `end`: each run goes on where it stopped before."""
        key = tuple(sorted((name, str(under.conventions[name])) for name in knobs))
        run = runs[key] = runs[key] if key in runs else _run_from_start(evidence, under, loop)
        while run.frame[0] + 1 < min(end, len(evidence.frame)):
            run.step()
            work.add(np.zeros((1, len(loop))), evaluations=1 + len(loop) // 2)  # one frame takes half as long as many
        return _what_is_handed_on(run, [each.name for each in missing])

    return replace(evidence, fed_back=fed_back) if fed_back(contract, Work(), evidence.end) else evidence


def _run_from_start(evidence: Evidence, contract: Contract, loop: frozenset[str]) -> LiveFrames:
    """A run of what is fed back, before its first frame.

    Beside the run itself others go, in which every stage of the loop is moved by its own rounding in a pattern of signs, and what
    was recorded by the digits that writing it lost.
    """
    graph, rng = contract.system.graph, np.random.default_rng(0)

    def moved_by_rounding(stage: Stage, signs: FloatArray, frames: LiveFrames, rows: FloatArray) -> FloatArray:
        own = gamma(STORED) * np.abs(rows) if stage.is_answer else stage_bound(stage, frames, rows, {})
        return np.asarray(rows + own * signs[frames.frame[0] % len(signs)], np.float32)

    moved: dict[str, Callable[[LiveFrames, FloatArray], FloatArray]] = {}
    for stage in graph:
        if stage.name in loop and stage.compute is not None and stage.name not in evidence.recorded:
            signs = rng.choice(np.array((-1.0, 1.0)), (_SIGNS, 1 + PATTERNS, stage.fields(contract).width))
            signs[:, :3] = np.array((0.0, 1.0, -1.0))[:, None]
            moved[stage.name] = partial(moved_by_rounding, stage, signs)
    written = evidence.moved_by_writing[:PATTERNS] or [evidence] * PATTERNS
    drives = [ClipDrive(each.recorded) for each in (evidence, *written)]
    only = loop.union(*(graph[name].needs for name in loop))
    return LiveFrames(contract, drives, evidence.network, changes=Changes(stages=moved), only=only)


def _what_is_handed_on(run: LiveFrames, missing: Sequence[str]) -> FedBack:
    """Rows of what is fed back and how far rounding moves them, each (T, width); nothing where that is not known."""
    found: FedBack = {}
    for name in missing:
        rows = run.kept.get(name, np.full((1, 1, 1), np.nan))[: run.frame[0] + 1]
        if not np.isfinite(rows[:, 0]).all():
            return {}
        off = np.abs(rows.astype(np.float64) - rows[:, :1]).max(axis=1)
        if not off.max() <= _MOST_GROWN * gamma(STORED) * np.abs(rows[:, 0]).max():
            return {}
        found[name] = rows[:, 0], WRITTEN_MARGIN * off
    return found


@dataclass(frozen=True)
class EvidenceFiles:
    """The files from which a recording's inputs are rebuilt: clip, model, recorded answers of the network.

    resolution: how finely the recording's numbers are written, in words; None where the numbers show it.
    """

    clip: Path | None = None
    onnx: Path | None = None
    replay: Path | None = None
    resolution: str | None = None


class JudgedPart(NamedTuple):
    """Evidence, and the contract that judges it."""

    evidence: Evidence
    contract: Contract


@dataclass(frozen=True, eq=False)
class Gathered:
    """What is judged of a recording: parts of it, each under its own contract, and notes to show beside every verdict."""

    recording: Recording
    parts: tuple[JudgedPart, ...]
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
        parts = (JudgedPart(replace(part.evidence, mode=mode, says_mode=True), part.contract) for part in self.parts)
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
        parts = [JudgedPart(with_unrecorded_feedback(part.evidence, part.contract), part.contract) for part in parts]
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
) -> list[JudgedPart]:
    """The recording as its own side has it; of a recording of some bones, first the stages that it holds with all bones.

    The network needs all bones: only that part can judge its answer.
    """
    return [
        JudgedPart(recording_to_evidence(held, own, drive, None if held.bones else network), own)
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
