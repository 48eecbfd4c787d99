"""A walking policy: sensors of three frames and the last joint targets in, the next joint targets out.

This module is all that rigpact knows of the policy. The package names `SYSTEM` in its pyproject.toml; no file of rigpact does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rigpact.contract.conventions import Knob
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Frames
from rigpact.contract.systems.layout import FieldKind, tiled
from rigpact.contract.systems.stage import Bounds, Measure, Stage
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.graph.network import answer_of
from rigpact.reference_runtime.operations.scalars import gamma

JOINTS, HISTORY = ("hip_l", "knee_l", "hip_r", "knee_r"), 3
LONGEST_SUM = 64.0  # products in the longest sum of the network, rounded up
_SENSORS = (
    ("angular_rate", 3, FieldKind.ANGULAR_RATE, "rad/s", "base"),
    ("gravity", 3, FieldKind.DIRECTION, "", "base"),
    ("command", 2, FieldKind.VECTOR, "m/s, rad/s", "base"),
)
SENSORS = tiled(*_SENSORS)
TARGETS = tiled(*((joint, 1, FieldKind.SCALAR, "rad", "joint", -3.2, 3.2) for joint in JOINTS))
ACTION = tiled(*((joint, 1, FieldKind.RAW, "", "joint") for joint in JOINTS))
OBSERVATION = tiled(
    *((f"{name}_{age}", size, FieldKind.RAW, "", space) for age in range(HISTORY) for name, size, *_, space in _SENSORS),
    *((f"last_{joint}", 1, FieldKind.RAW, "rad", "joint, from the default pose") for joint in JOINTS),
)  # fmt: skip

HISTORY_ORDER = Knob(
    "history_order", {"newest_first": range(HISTORY), "oldest_first": range(HISTORY - 1, -1, -1)},
    "the order of the frames in the observation", {"oldest_first": "the buffer is read from its other end"},
)  # fmt: skip
RATE_UNIT = Knob(
    "rate_unit", {"rad_s": 1.0, "deg_s": float(np.degrees(1.0))}, "the unit of the gyroscope",
    {"deg_s": "the driver gives degrees: multiply by pi/180"},
)  # fmt: skip
ACTION_SCALE = Knob(
    "action_scale", {"declared": lambda numbers: numbers.action_scale, "one": lambda _numbers: 1.0},
    "what an action is multiplied by", {"one": "multiply the action by action_scale before it becomes a target"},
)  # fmt: skip
TARGET_ORIGIN = Knob(
    "target_origin", {"default_pose": 1.0, "zero": 0.0}, "where a target of action zero is",
    {"zero": "add the default pose to the scaled action"},
)  # fmt: skip
SIDES = Knob(
    "sides", {"left_first": [0, 1, 2, 3], "right_first": [2, 3, 0, 1]}, "the leg that stands first",
    {"right_first": "the policy's joints are left leg, right leg"},
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Numbers:
    """The constants of a contract file: default pose (4,) in radians, factors of actions and of angular rates."""

    default_pose: FloatArray
    action_scale: float
    rate_scale: float


def numbers(constants: Mapping[str, Any]) -> Numbers:
    """The constants as the stages need them."""
    pose = np.array(constants["default_pose"], np.float64)
    return Numbers(pose, float(constants["action_scale"]), float(constants["rate_scale"]))


def observation(frames: Frames) -> FloatArray:
    """Sensors of this frame and of two before it, scaled; then the last targets, from the default pose."""
    factors = np.ones(SENSORS.width)
    factors[SENSORS["angular_rate"].range] = frames.numbers.rate_scale * frames.pick(RATE_UNIT)
    past = [frames.at("sensors", -age, start="first") * factors for age in frames.pick(HISTORY_ORDER)]
    return np.hstack([*past, frames["last_targets"] - frames.numbers.default_pose]).astype(np.float32)


def observation_bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
    """Two products or one difference, and the store; a difference rounds as its larger operand does."""
    return np.asarray(gamma(3) * (np.abs(rows.astype(np.float64)) + np.abs(frames.numbers.default_pose).max()))


def action_bound(_frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
    """Another order of summation."""
    return np.broadcast_to(gamma(LONGEST_SUM) * (np.abs(rows.astype(np.float64)).max() + 1.0), rows.shape)


def joint_targets(frames: Frames) -> FloatArray:
    """default pose + action · scale, (N, 4) radians."""
    action = frames["action"][:, frames.pick(SIDES)].astype(np.float64)
    scaled = action * frames.pick(ACTION_SCALE)(frames.numbers)
    return np.asarray(scaled + frames.pick(TARGET_ORIGIN) * frames.numbers.default_pose, np.float32)


def target_bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
    """A product, a sum and the store; the sum rounds as its larger operand does."""
    return np.asarray(gamma(3) * (np.abs(rows.astype(np.float64)) + 2.0 * np.abs(frames.numbers.default_pose)))


STAGES = (
    Stage("sensors", SENSORS),
    Stage("last_targets", TARGETS, carried="joint_targets", reach=(1, 0)),
    Stage(
        "observation", OBSERVATION, ("sensors", "last_targets"), observation, observation_bound, (HISTORY_ORDER, RATE_UNIT),
        reach=(HISTORY - 1, 0),
    ),
    Stage("action", ACTION, ("observation",), answer_of("action"), action_bound, is_answer=True),
    Stage(
        "joint_targets", TARGETS, ("action",), joint_targets, target_bound, (SIDES, ACTION_SCALE, TARGET_ORIGIN), Measure("rad")
    ),
)  # fmt: skip
SYSTEM = System(
    name="walking_policy", title="Walking policy, joint targets of a small robot", stages=STAGES,
    inputs=("observation",), outputs=("action",), fps=50.0, numbers=numbers,
)  # fmt: skip
