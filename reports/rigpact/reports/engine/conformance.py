"""Conformance vectors: inputs for an engine, and the expected values of every stage with their tolerances.

The motion is generated from the contract alone, so a header needs only the bundle. It has poses around the mean pose,
velocities as large as their scales, and a heading that passes π. Nothing is random: the same bundle gives the same
vectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rigpact.contract.bundle import Contract
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.files.runner import run_frames
from rigpact.reference_runtime.network import ReplayNetwork
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reference_runtime.recordings.clip import RawClip
from rigpact.reference_runtime.systems.enemy_animation.loop import Mode, start_run
from rigpact.reference_runtime.systems.enemy_animation.tolerances import stage_tolerances

_LONGEST = 8
"""The longest history that the vectors fill: each further frame adds a state to the header."""


@dataclass(frozen=True, eq=False)
class Vectors:
    """A clip, the network's answers (T, Dy), and by stage the expected values and tolerances of frame `frame`.

    `free_*` are the values and tolerances of x_raw_next after the first frame of a free run.
    """

    clip: RawClip
    outputs: FloatArray
    frame: int
    expected: Mapping[str, FloatArray]
    tolerance: Mapping[str, FloatArray]
    free_expected: FloatArray
    free_tolerance: FloatArray


def conformance_vectors(contract: Contract) -> Vectors:
    """Run the reference loop on generated motion; UnusableInput for a state that no clip can fill."""
    frame = min(contract.pose_history_length or 1, _LONGEST)
    clip = made_up_clip(contract, frame + 2)
    outputs = stored(_waves(frame + 1, contract.output.width, 1.0, 0.9))
    expected, tolerance = _run(contract, clip, outputs, "teacher", frame)
    free, free_tolerance = _run(contract, clip, outputs, "free", 0)
    return Vectors(clip, outputs, frame, expected, tolerance, free["x_raw_next"], free_tolerance["x_raw_next"])


def _run(
    contract: Contract, clip: RawClip, outputs: FloatArray, mode: Mode, frame: int
) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    runner = start_run(contract, ReplayNetwork(outputs), clip, mode)
    stages = run_frames(runner, range(frame + 1), None, mode).stages
    bounds = stage_tolerances(contract, stages, given=("x_raw", "y_norm"))
    return tuple({name: rows[frame] for name, rows in values.items()} for values in (stages, bounds))  # type: ignore[return-value]


def made_up_clip(contract: Contract, frames: int) -> RawClip:
    """Motion of `frames` frames that the contract's state can hold."""
    codec, place = Rot6d(contract.conventions), contract.state[ROTATIONS].range
    mean = contract.state_statistics.mean[place].astype(np.float64)
    poses = codec.reproject(
        mean + 0.6 * _waves(frames, mean.size, 0.7, 0.4), np.tile(codec.identity(contract.bone_count), (frames, 1))
    )
    count = np.arange(frames)
    return RawClip(
        path=Path("conformance"),
        fps=contract.fps,
        root_position_m=stored(_waves(frames, 3, 0.5, 0.1)),
        root_velocity_m_s=stored(_waves(frames, 2, 1.1, 0.5) * np.abs(contract.rootvel_scales)),
        root_yaw_rad=stored(-2.0 + 1.7 * count[:, None]),
        rotations6d=stored(poses),
        angular_velocity_rad_s=stored(_waves(frames, contract.angvel_scales.size, 0.8, 0.6) * np.abs(contract.angvel_scales)),
        action_bits=stored(np.eye(4)[count % 4]),
        trajectory_direction=stored(_waves(frames, 2, 1.0, 0.3)[:, None, :]),
        contact_scores=stored(0.5 + 0.5 * _waves(frames, 2, 1.0, 0.8)),
    )  # fmt: skip


def _waves(frames: int, width: int, size: float, pace: float) -> FloatArray:
    """Numbers that differ in every channel and frame, so that every swap shows."""
    return np.asarray(size * np.sin(1.7 * np.arange(width) + pace * np.arange(1, frames + 1)[:, None]))
