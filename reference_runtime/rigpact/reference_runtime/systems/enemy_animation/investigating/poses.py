"""Tell a file of poses from a recording of the network's output: both hold `y_norm`, of the same width."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rigpact.contract.character import character_of
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.rotation6d import rot6d_defect
from rigpact.contract.rules.bundle.rotations import largest_mean_step_rad
from rigpact.contract.rules.clips.rotations import UNIT_TOLERANCE
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.operations.geometry import rotation_angle_rad
from rigpact.reference_runtime.operations.rot6d import Rot6d


def refuse_poses(path: Path, outputs: FloatArray, contract: Contract) -> None:
    """UnusableInput for poses where the contract's network answers with steps.

    Un-normalised, a pose is columns of a rotation in every row and bone; an answer is so only after reprojection. Exact
    steps are rotations too, but their mean over the rows is small, or they are so after the identity is added.
    """
    character = character_of(contract)
    mode, place = contract.conventions.output_mode, character.output[ROTATIONS].range
    if mode == "absolute" or outputs.ndim != 2 or outputs.shape[1] != character.output.width:
        return  # poses are meant, or the width is refused where the rows are used
    scaled = (outputs.astype(np.float64) * character.output_statistics.std)[:, place]
    codec, bones = Rot6d(contract.conventions), character.bone_count
    pose = (scaled + character.output_statistics.mean[place]).reshape(-1, bones, 6)
    step = scaled.reshape(-1, bones, 6) + codec.identity(1)
    if not _are_rotations(pose) or (mode == "residual" and _are_rotations(step)):
        return
    mean = codec.decode(pose.mean(axis=0).reshape(1, -1))
    if float(rotation_angle_rad(mean, np.eye(3)).max()) <= largest_mean_step_rad(contract.fps or 60.0):
        return
    raise UnusableInput(
        f"{path}#y_norm",
        "poses: un-normalised with MuY and StdY, every row is rotations far from the identity",
        f"the network's own output, which means {mode} here",
        "record the model's output itself; or --set output_mode=absolute to publish the poses as they are",
    )


def _are_rotations(columns: FloatArray) -> bool:
    """Whether all columns (T, B, 6) are those of rotations, as far as a file of a few decimals can say."""
    return bool(np.isfinite(columns).all()) and float(rot6d_defect(columns).max()) <= 2 * UNIT_TOLERANCE
