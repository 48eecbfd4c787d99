"""The expectations of `[[gate.trace]]` about a recording, before a single number of it is compared.

The project says how the run was made and who recorded it; the file does not choose. Otherwise the file that is judged would
choose its reference: a playback runs no model, and rigpact agrees with itself.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.character import bone_names_of, character_of
from rigpact.contract.errors import UnusableInput, near
from rigpact.contract.findings import Finding
from rigpact.contract.layout import ROOT_POSITION, ROOT_YAW, ROTATIONS
from rigpact.contract.rules.answers import gate as rules
from rigpact.contract.settings.gate import RecordedRun
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.units import is_si
from rigpact.reference_runtime.operations.six_numbers import Rot6d
from rigpact.reference_runtime.recordings.recording import Recording
from rigpact.reference_runtime.recordings.trace import OWN_PRODUCER
from rigpact.reports.comparing.pose_meter import pose_error, targets_of
from rigpact.reports.gate.answer.compared_run import CLIP, Poses
from rigpact.reports.gate.project import Project

# Additions to the picture of a recording, which were not compared: predicted poses beside the clip's, and the root's path.
Frames = NDArray[np.int64]


def predicted_poses(project: Project, run: RecordedRun, recording: Recording, frames: Frames) -> Poses | None:
    """The poses that a recording holds beside those that the clip has next, for a project whose reference has none.

    None where the recording has no pose of every bone, ran free, or has a frame whose next pose the clip does not have.
    """
    contract: Contract = project.contract
    stage = project.system.posed
    is_free = recording.trace.header.mode == "free"
    if run.clip is None or recording.bones or stage not in recording.trace.stages or is_free:
        return None
    clip = project.recording_of(Path(run.clip))
    if clip.poses6d is None or not np.isin(frames, clip.trace.frame).all():
        return None
    _, following = targets_of(clip, frames).around(slice(None))
    place = character_of(contract).output[ROTATIONS].range
    predicted = recording.trace.stages[stage][np.isin(recording.trace.frame, frames)][:, place]
    if following.shape != predicted.shape or not np.isfinite(following).all():
        return None
    error = pose_error(following, predicted, Rot6d(contract.conventions), character_of(contract).skeleton)
    return Poses.of((following, predicted), contract, error, CLIP)


def root_path(project: Project, run: RecordedRun, recording: Recording, frames: Frames) -> FloatArray | None:
    """(T, 4): where the clip has the root, in metres, and its heading in radians; None where no clip says it."""
    if not project.system.posed or run.clip is None:
        return None
    drive = project.drive(run.clip)(project.contract)
    for stage in project.system.graph.names:
        layout, rows = project.contract.fields(stage), drive.rows(stage)
        place = {field.name: slice(field.start, field.stop) for field in layout if is_si(field.unit)}
        if rows is None or not {ROOT_POSITION, ROOT_YAW} <= set(place):
            continue
        at = frames % len(rows) if recording.trace.header.mode == "free" else np.minimum(frames, len(rows) - 1)
        found = np.concatenate([rows[at][:, place[name]] for name in (ROOT_POSITION, ROOT_YAW)], axis=1)
        return found if found.shape[1] == 4 and np.isfinite(found).all() else None
    return None


def about_recording(run: RecordedRun, recording: Recording, contract: Contract) -> Iterator[Finding]:
    """Findings about a recording that is not what the project expects; training files have no such expectation."""
    if run.mode is None:
        return
    header, name = recording.trace.header, recording.path.name
    if recording.title != "trace":
        found, expected = f"a {recording.title}", "a trace of the engine"
        yield rules.NOT_OF_THE_ENGINE.at(recording.path, "", recording=name, found=found, expected=expected)
    elif header.producer != run.producer if run.producer else header.producer == OWN_PRODUCER:
        found, expected = f"a recording by {header.producer}", f"one by {run.producer or 'the engine'}"
        yield rules.NOT_OF_THE_ENGINE.at(
            recording.path, "/producer/name", recording=name, found=found, expected=expected
        )
    if header.mode != run.mode and header.says_mode:
        yield rules.IN_ANOTHER_MODE.at(recording.path, "/mode", recording=name, found=header.mode, expected=run.mode)
    yield from _about_bones(run, recording, contract)


def _about_bones(run: RecordedRun, recording: Recording, contract: Contract) -> Iterator[Finding]:
    """A finding for bones that the project expects and the recording does not hold; all bones, if it names none."""
    known = bone_names_of(contract)
    for place, bone in enumerate(run.bones):
        if bone not in known:
            found, expected = repr(bone), f"one of the contract's {len(known)} bones"
            raise UnusableInput(f"{run.place}.bones/{place}", found, expected, near(bone, known))
    held = {known[bone] for bone in recording.bones} if recording.bones else set(known)
    missing = [bone for bone in run.bones or known if bone not in held]
    if missing:
        said = {"count": len(missing), "total": len(run.bones or known), "recording": recording.path.name}
        bones = ", ".join(missing[:4]) + (", …" if len(missing) > 4 else "")
        yield rules.BONES_MISSING.at(recording.path, "/bones", bones=bones, **said)


def as_expected(run: RecordedRun, recording: Recording) -> Recording:
    """The recording in the mode that the project expects, so that nothing after this follows the file's own word."""
    recording = recording.with_resolution(run.resolution, f"{run.place} resolution")
    header = recording.trace.header
    if run.mode is None or run.mode == header.mode:
        return recording
    return replace(recording, trace=replace(recording.trace, header=replace(header, mode=run.mode)))
