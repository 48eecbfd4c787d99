"""The reference run for a recording: the reference runtime with the same clip, mode and frames."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.findings import Finding
from rigpact.contract.settings.gate import RecordedRun
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.files.declared import files_of
from rigpact.reference_runtime.files.run import RunOptions, run_frames
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reference_runtime.recordings.recording import Recording, contract_of_side
from rigpact.reference_runtime.recordings.trace import Trace
from rigpact.reports.gate.project import Project
from rigpact.reports.running.run import describe_run, record_run

REFERENCE = "reference run"


def reference_of(project: Project, run: RecordedRun, recording: Recording) -> Recording:
    """The reference run, with the declared number of frames, or as many as the clip has."""
    contract = contract_of_side(recording, project.contract)
    if is_without_model(project, run, recording):
        graph, drive = project.system.graph, project.drive(run.clip or run.file)
        frame = np.arange(expected_frames(project, run))
        answers = (
            _answers_at(frame, recording.trace, graph.answers) if holds_answers(project.system, recording.trace) else {}
        )
        frames = ReplayedFrames(Evidence(frame, recording.trace.header.fps, "teacher", answers, drive), contract)
        names = [name for name in graph.names if name not in answers] if answers else run.stages
        stages = {name: rows for name in names if (rows := frames.computed(name)) is not None}
        trace = Trace(recording.trace.header, frame, frame / recording.trace.header.fps, stages)
    else:
        mode = recording.trace.header.mode
        trace = project.kept(
            (run, mode, contract.conventions),
            lambda: played(project, contract, network_of(project, mode), run, recording.trace),
        )
    return Recording(Path(REFERENCE), REFERENCE, trace, frozenset(trace.stages))


def expected_frames(project: Project, run: RecordedRun) -> int:
    """How many frames the project expects: as declared, else as many as the clip gives. The recording does not choose."""
    return run.frames or int(project.drive(run.clip or run.file)(project.contract).steps)


def network_of(project: Project, mode: str) -> Any:
    """The model; None in a playback of a pose and in a system without a network, where no model runs."""
    has_none = (mode == "playback" and project.system.posed) or not project.system.graph.answers
    return None if has_none else project.network


def is_before_the_model(system: System, stages: Collection[str]) -> bool:
    """Whether there are stages, and none of them is or depends on an answer of the network."""
    return bool(stages) and system.graph.after(system.graph.answers).isdisjoint(stages)


def is_without_model(project: Project, run: RecordedRun, recording: Recording) -> bool:
    """Whether a project without a model can judge a recording: the stages before the model, or all with the recorded answers."""
    return not project.models and (
        is_before_the_model(project.system, run.stages) or holds_answers(project.system, recording.trace)
    )


def holds_answers(system: System, recorded: Trace) -> bool:
    """Whether a run that a clip drove holds what its network answered: then every later stage follows from that."""
    answers = set(system.graph.answers)
    return recorded.header.mode == "teacher" and bool(answers) and answers <= set(recorded.stages)


def _answers_at(frame: NDArray[np.int64], recorded: Trace, answers: Collection[str]) -> dict[str, FloatArray]:
    """The recorded answers at some frames, NaN where a frame was not recorded."""
    shared, at, rows = np.intersect1d(frame, recorded.frame, assume_unique=True, return_indices=True)
    found = {name: np.full((len(frame), recorded.stages[name].shape[1]), np.nan, np.float32) for name in answers}
    for name, values in found.items():
        values[at] = recorded.stages[name][rows]
    return found if len(shared) else {}


def played(project: Project, contract: Contract, network: Any, run: RecordedRun, recorded: Trace) -> Trace:
    """A run under a contract, not necessarily the project's own; UnusableInput where it cannot run."""
    asked = run.mode or recorded.header.mode
    mode = asked if project.system.posed or asked == "free" else "teacher"
    driving, files = Path(run.clip or run.file), files_of(contract)
    until = run.frames if mode == "teacher" else expected_frames(project, run)
    runner = files.start(contract, network, files.clip(driving, contract), RunOptions(mode, until))
    return record_run(runner, driving, mode, until)


def sound_run(project: Project, run: RecordedRun, recorded: Trace) -> Trace:
    """The run of an engine without a defect."""
    return played(project, project.contract, project.network, run, recorded)


def free_report(project: Project, clip: Path, frames: int) -> Sequence[Finding]:
    """The problems of a free run: inputs that are cut or padded, and non-finite values."""
    files, contract = files_of(project.contract), project.contract
    runner = files.start(contract, project.network, files.clip(clip, contract), RunOptions("free", frames))
    trace = run_frames(runner, range(frames), clip.stem, "free")
    return describe_run(runner, trace, project.bundle_path, clip).findings
