"""The error of a cell's run against its clip: poses in degrees and centimetres, other stages in their own unit."""

from __future__ import annotations

from typing import Any

import numpy as np

from rigpact.contract.character import character_of
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.stage import Stage
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reports.comparing.address import channel_address
from rigpact.reports.comparing.pose_error import pose_error
from rigpact.reports.nonfinite.lanes import distances

Fields = dict[str, Any]
"""Names and values of fields of `Measured`."""


def judged_stage(contract: Contract, clip: Any, poses: FloatArray | None) -> Stage | None:
    """The stage to compare with the clip: the pose, else the last computed stage in the clip; None without one."""
    system = contract.system
    if poses is not None:
        found: Stage = system.graph[system.posed]
        return found
    recorded = getattr(clip, "stages", {})
    return next((each for each in reversed(system.stages) if each.compute is not None and each.name in recorded), None)


def pose_errors(contract: Contract, published: FloatArray, poses: FloatArray, mode: str, fps: float) -> Fields:
    """Errors of the published poses (T, Dy) against the clip's next poses, and errors of copying the last pose."""
    judged = min(len(published), len(poses) - 1)
    if judged == 0:
        return {}
    character = character_of(contract)
    codec, targets = Rot6d(contract.conventions), poses[1 : judged + 1]
    copied = poses[:judged] if mode == "teacher" else np.repeat(poses[:1], judged, axis=0)
    own = pose_error(published[:judged, character.output[ROTATIONS].range], targets, codec, character.skeleton)
    baseline = pose_error(copied, targets, codec, character.skeleton)
    frame, bone = np.unravel_index(int(np.argmax(own.deg)), own.deg.shape)
    last_second = own.deg[-max(1, round(fps)) :]
    return {
        "unit": "deg", "mean_error": float(own.deg.mean()), "max_error": float(own.deg.max()),
        "judged_frames": judged,
        "mean_deg": float(own.deg.mean()), "max_deg": float(own.deg.max()),
        "worst_bone": character.bone_names[bone], "worst_frame": int(frame),
        "mean_cm": _mean(own.cm), "max_cm": None if own.cm is None else float(own.cm.max()),
        "copy_last_mean_deg": float(baseline.deg.mean()), "copy_last_mean_cm": _mean(baseline.cm),
        "last_second_deg": float(last_second.mean()),
    }  # fmt: skip


def stage_errors(contract: Contract, stage: Stage, published: FloatArray, recorded: FloatArray) -> Fields:
    """Errors of a stage against the clip's recorded values, (T, width) each: the worst channel of each frame."""
    judged = min(len(published), len(recorded))
    if judged == 0:
        return {}
    ours, theirs = published[:judged], recorded[:judged]
    sizes = distances(contract, stage, theirs, ours)
    frame = int(np.argmax(sizes))
    channel = int(np.argmax(np.abs(ours[frame].astype(np.float64) - theirs[frame])))
    return {
        "unit": stage.shown_unit, "mean_error": float(sizes.mean()), "max_error": float(sizes.max()),
        "judged_frames": judged, "worst_frame": frame,
        "worst_bone": str(channel_address(stage.name, channel, contract)),
    }  # fmt: skip


def _mean(values: FloatArray | None) -> float | None:
    return None if values is None else float(values.mean())
