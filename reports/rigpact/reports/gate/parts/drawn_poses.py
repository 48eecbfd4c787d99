"""Additions to the picture of a recording, which were not compared: predicted poses beside the clip's, and the root's path."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.character import character_of
from rigpact.contract.layout import ROOT_POSITION, ROOT_YAW, ROTATIONS
from rigpact.contract.settings.gate import RecordedRun
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.units import is_si
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reference_runtime.recordings.recording import Recording
from rigpact.reports.comparing.pose_meter import pose_error, targets_of
from rigpact.reports.gate.answer.compared_run import CLIP, Poses
from rigpact.reports.gate.project import Project

Frames = NDArray[np.int64]


def predicted_poses(project: Project, run: RecordedRun, recording: Recording, frames: Frames) -> Poses | None:
    """The poses that a recording holds beside those that the clip has next, for a project whose reference has none.

    None where the recording has no pose of every bone, ran free, or has a frame whose next pose the clip does not have.
    """
    contract: Contract = project.contract
    stage = project.system.posed
    if (
        run.clip is None
        or recording.bones
        or stage not in recording.trace.stages
        or recording.trace.header.mode == "free"
    ):
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
