"""The reference run for a recording: the reference runtime with the same clip, mode and frames."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.findings import Finding
from rigpact.contract.settings.gate import RecordedRun
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.files.declared import files_of
from rigpact.reference_runtime.files.runner import RunOptions, run_frames
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reference_runtime.recordings.recording import Recording, contract_of_side
from rigpact.reference_runtime.recordings.trace import Trace
from rigpact.reports.gate.project import Project
from rigpact.reports.running.run import describe_run, record_run

REFERENCE = "reference run"


def reference_of(project: Project, run: RecordedRun, recording: Recording) -> Recording:
    """The reference run, with the declared number of frames, or as many as the clip has."""
    contract = contract_of_side(recording, project.contract)
    if not project.models and is_before_the_model(project.system, run.stages):
        trace = _without_a_model(project, contract, run, recording.trace)
    else:
        trace = played(project, contract, network_of(project, recording.trace.header.mode), run, recording.trace)
    return Recording(Path(REFERENCE), REFERENCE, trace, frozenset(trace.stages))


def expected_frames(project: Project, run: RecordedRun) -> int:
    """How many frames the project expects: as declared, else as many as the clip gives. The recording does not choose."""
    return run.frames or int(project.drive(run.clip or run.file)(project.contract).steps)


def network_of(project: Project, mode: str) -> Any:
    """The model; None in a playback of a pose, where no model runs."""
    return None if mode == "playback" and project.system.posed else project.network


def is_before_the_model(system: System, stages: Collection[str]) -> bool:
    """Whether there are stages, and none of them is or depends on an answer of the network."""
    return bool(stages) and system.graph.after(system.graph.answers).isdisjoint(stages)


def _without_a_model(project: Project, contract: Any, run: RecordedRun, recorded: Trace) -> Trace:
    """The stages before the model, computed for the whole clip in one batch."""
    drive = project.drive(run.clip or run.file)
    frame = np.arange(expected_frames(project, run))
    frames = ReplayedFrames(Evidence(frame, recorded.header.fps, "teacher", {}, drive), contract)
    stages = {name: rows for name in run.stages if (rows := frames.computed(name)) is not None}
    return Trace(recorded.header, frame, frame / recorded.header.fps, stages)


def played(project: Project, contract: Any, network: Any, run: RecordedRun, recorded: Trace) -> Trace:
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
