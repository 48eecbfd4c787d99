"""The answers of a network that predicts a clip almost exactly, and the limits of a raw clip."""

from __future__ import annotations

import numpy as np

from rigpact.contract.character import character_of
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.operations.definitions.scaling import zscored
from rigpact.reference_runtime.recordings.clip import Clip, RawClip
from rigpact.reference_runtime.systems.enemy_animation.drive import clip_rows
from rigpact.reference_runtime.vocabulary.posing.denormalised_output import ADDS_IDENTITY, ADDS_MEAN
from rigpact.reference_runtime.vocabulary.posing.outputs import OutputStages

_NETWORK_ERROR_Z = 0.05
"""Error of a well-trained network's output, in standard deviations."""


def ideal_outputs(clip: Clip, contract: Contract) -> FloatArray:
    """y_norm rows (T, Dy) of a network that predicts a clip almost exactly, under the contract's own output mode.

    Why only almost: a perfect ΔR is already orthonormal, so the result would be the same with and without reprojection.
    """
    character = character_of(contract)
    rows = clip_rows(clip, contract)
    outputs, statistics = OutputStages(contract), character.output_statistics
    place, mode = character.output[ROTATIONS].range, contract.conventions.output_mode
    rotations = outputs.codec.decode(rows.poses.astype(np.float64))
    wanted = rotations[1:] if mode == "absolute" else rotations[1:] @ np.swapaxes(rotations[:-1], -1, -2)
    six = outputs.codec.encode(wanted) - ADDS_IDENTITY[mode] * outputs.codec.identity(character.bone_count)
    mean = statistics.mean[place].astype(np.float64) * ADDS_MEAN[mode]
    y_norm = np.zeros((len(wanted), character.output.width))
    y_norm[:, place] = zscored(six, mean, statistics.std_floored[place])
    y_norm += _NETWORK_ERROR_Z * np.sin(np.arange(y_norm.size)).reshape(y_norm.shape)
    return y_norm.astype(np.float32)


def clip_limits(clip: Clip) -> list[str]:
    """The limits of a raw clip in words, each with its number."""
    if not isinstance(clip, RawClip):
        return []
    found = []
    yaw = float(np.abs(clip.root_yaw_rad).max())
    if yaw <= np.pi:
        found.append(f"root yaw never leaves ±{yaw:.2f} rad: a yaw-wrap bug would not show; add a turning clip")
    scores = clip.contact_scores
    if scores is None or float(np.abs(scores[:, 0] - scores[:, 1]).max()) < 0.5:
        found.append("both feet always score alike: swapped feet would not show; add a walking clip")
    speed = np.linalg.norm(clip.root_velocity_m_s, axis=1)
    if float(speed.max()) < 0.1:
        found.append(f"the root never moves faster than {float(speed.max()):.2f} m/s: add a clip that walks")
    return found
