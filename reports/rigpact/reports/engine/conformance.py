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

from rigpact.contract.character import character_of
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROTATIONS
from rigpact.contract.statistics import AUXILIARY_SCALE_FLOOR, FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.files.declared import open_run
from rigpact.reference_runtime.files.run import run_frames
from rigpact.reference_runtime.graph.bounds import stage_tolerances
from rigpact.reference_runtime.network import ReplayNetwork
from rigpact.reference_runtime.operations.scalars import stored
from rigpact.reference_runtime.operations.six_numbers import Rot6d, rotation_errors
from rigpact.reference_runtime.recordings.clip import RawClip

_LONGEST = 8
"""The longest history that the vectors fill: each further frame adds a state to the header."""


@dataclass(frozen=True, eq=False)
class Vectors:
    """A clip, the network's answers (T, Dy), and by stage the expected values and tolerances of a free run, (frames, width).

    frames: those that are compared, of an engine that takes its own state over from frame to frame. given: the condition and the
    contacts of every frame.
    """

    clip: RawClip
    outputs: FloatArray
    given: Mapping[str, FloatArray]
    frames: tuple[int, ...]
    expected: Mapping[str, FloatArray]
    tolerance: Mapping[str, FloatArray]


def conformance_vectors(contract: Contract) -> Vectors:
    """Run the reference loop on generated motion; UnusableInput for a state that no clip can fill."""
    character = character_of(contract)
    frame = min(character.pose_history_length or 1, _LONGEST)
    clip = made_up_clip(contract, frame + 2)
    outputs = stored(_waves(frame + 1, character.output.width, 1.0, 0.9))
    runner = open_run(contract, ReplayNetwork(outputs), clip, "free", engine="numpy")
    free = run_frames(runner, range(len(outputs)), None, "free").stages
    # the first frame, the first that takes something over, and the first with a full history
    frames = sorted({0, 1, frame})
    given = {name: free[name] for name in ("cond_raw", "contacts")}
    both = (free, free_tolerances(contract, free))
    expected, tolerance = ({name: rows[frames] for name, rows in each.items()} for each in both)
    return Vectors(clip, outputs, given, tuple(frames), expected, tolerance)


def free_tolerances(contract: Contract, stages: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Tolerances of a free run whose network answers are given: each frame begins as far off as the frames before it add up to.

    A pose that is turned by a small angle stays turned by this angle when a rotation is composed with it, so the angles of the
    frames add up; a turn by an angle moves no number of a unit axis further than the angle. All other numbers are copied on.
    """
    character = character_of(contract)
    local = stage_tolerances(contract, stages, given=("x_raw", "y_norm"))
    codec, own = Rot6d(contract.conventions), character.state[ROTATIONS].range
    turned = rotation_errors(codec, local["y_out"][:, character.output[ROTATIONS].range])
    angle = _before(np.cumsum(turned, axis=0)).reshape(len(turned), -1)
    x_raw = _before(np.cumsum(local["x_raw_next"], axis=0))
    x_raw[:, own] = np.repeat(angle, 6, axis=1)
    entering = {"x_raw": x_raw, "x_raw_next": x_raw, "angvel": _angular(contract, x_raw, angle)}
    if contract.conventions.output_mode != "absolute":
        entering["next6d"] = x_raw[:, own]
    if "pose_hist_raw" in stages:
        entering["pose_hist_raw"] = np.tile(x_raw[:, own], character.pose_history_length or 1)
    return stage_tolerances(contract, stages, given=("y_norm",), entering=entering)


def _before(summed: FloatArray) -> FloatArray:
    """What a frame begins with: the sum up to the frame before it."""
    return np.concatenate([np.zeros_like(summed[:1]), summed[:-1]])


def _angular(contract: Contract, x_raw: FloatArray, angle: FloatArray) -> FloatArray:
    """Of the squashed angular velocity: that of the state's own slice, or of two poses; tanh has no slope above 1."""
    character = character_of(contract)
    slope: FloatArray = np.ones(1)
    if character.angular_velocity is not None:
        scale = np.maximum(np.abs(character.angular_velocity.scale), AUXILIARY_SCALE_FLOOR)
        slope = 1.0 / (scale * character.angular_velocity.statistics.std_floored)
    own, of_poses = character.state[ANGULAR_VELOCITIES].range, np.repeat(2.0 * contract.known_fps * angle, 3, axis=1)
    return np.asarray(np.maximum(x_raw[:, own], of_poses) * slope, np.float64)


def made_up_clip(contract: Contract, frames: int) -> RawClip:
    """Motion of `frames` frames that the contract's state can hold."""
    character = character_of(contract)
    codec, place = Rot6d(contract.conventions), character.state[ROTATIONS].range
    mean = character.state_statistics.mean[place].astype(np.float64)
    upright = np.tile(codec.identity(character.bone_count), (frames, 1))
    poses = codec.reproject(mean + 0.6 * _waves(frames, mean.size, 0.7, 0.4), upright)
    count = np.arange(frames)
    return RawClip(
        path=Path("conformance"),
        fps=contract.known_fps,
        root_position_m=stored(_waves(frames, 3, 0.5, 0.1)),
        root_velocity_m_s=stored(_waves(frames, 2, 1.1, 0.5) * np.abs(character.rootvel_scales)),
        root_yaw_rad=stored(-2.0 + 1.7 * count[:, None]),
        rotations6d=stored(poses),
        angular_velocity_rad_s=stored(_waves(frames, character.angvel_scales.size, 0.8, 0.6) * np.abs(character.angvel_scales)),
        action_bits=stored(np.eye(4)[count % 4]),
        trajectory_direction=stored(_waves(frames, 2, 1.0, 0.3)[:, None, :]),
        contact_scores=stored(0.5 + 0.5 * _waves(frames, 2, 1.0, 0.8)),
    )  # fmt: skip


def _waves(frames: int, width: int, size: float, pace: float) -> FloatArray:
    return np.asarray(size * np.sin(1.7 * np.arange(width) + pace * np.arange(1, frames + 1)[:, None]))
