"""A robot's policy loop, as the Unitree G1 policies are deployed: sensors in, observation, action, motor targets out."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .plain import AS_WRITTEN, Array, F, Maths, conjugate, near_orders

SIDES = {"left": "right", "right": "left"}


@dataclass(frozen=True)
class Robot:
    """The numbers of one robot: names in both orders, pose, factors, ranges of the command, frames of history.

    terms: what the observation is made of, in order. other: an order of the joints that people confuse with the policy's.
    """

    sdk: Sequence[str]
    policy: Sequence[str]
    default_pose: Array
    gyro_factor: float
    dq_factor: float
    action_factor: Array
    lowest: Sequence[float]
    highest: Sequence[float]
    terms: tuple[str, ...]
    history: int = 1
    other: Sequence[str] = field(default=())

    @staticmethod
    def of(path: Path, policy: str, other: str, gyro_factor: float, dq_factor: float) -> Robot:
        """The numbers of a contract, read as plain TOML; its motors' order is `sdk` or `motors`."""
        root = tomllib.loads(path.read_text(encoding="utf-8"))
        stages, names, pose = (
            {each["name"]: each for each in root["stages"]},
            root["names"],
            root["numbers"]["default_pose"],
        )
        clip, scale, joined = stages["command"], stages["target"]["scale"], stages["obs"]
        sdk = names["sdk" if "sdk" in names else "motors"]
        return Robot(
            sdk, names[policy], np.array(pose["value"] if isinstance(pose, dict) else pose), gyro_factor, dq_factor,
            np.broadcast_to(np.array(scale["value"] if isinstance(scale, dict) else scale), len(sdk)), clip["lowest"],
            clip["highest"], tuple(joined["of"]), joined.get("length", 1), names.get(other, sdk),
        )  # fmt: skip


def drawn_sensors(joints: int, frames: int, seed: int) -> dict[str, Array]:
    """A robot that sways and is steered, in its motors' order of joints."""
    rng = np.random.default_rng(seed)
    time = np.arange(frames)[:, None] / 50.0
    axis, angle = rng.normal(size=3), 0.5 * np.sin(2.1 * time + 0.3) + 0.2
    axis = axis / np.linalg.norm(axis)
    wave = rng.uniform(0.5, 3.0, joints) * time + rng.uniform(0.0, 6.0, joints)
    rows = {
        "gyro": rng.normal(0.0, 1.0, (frames, 3)),
        "imu_quat": np.hstack([np.cos(0.5 * angle), np.sin(0.5 * angle) * axis]),
        "q": 0.6 * np.sin(wave) + 0.1 * rng.normal(size=joints),
        "dq": 1.7 * np.cos(wave),
        "sticks": rng.uniform(-1.0, 1.0, (frames, 3)),
    }
    return {name: values.astype(F) for name, values in rows.items()}


def run(
    robot: Robot, sensors: Mapping[str, Array], network: Callable[[Array], Array], mistakes: Mapping[str, str],
    maths: Maths = AS_WRITTEN,
) -> dict[str, Array]:  # fmt: skip
    """Run the loop; the recording holds sensors, observation, action and motor targets."""
    buffers: dict[str, list[Array]] = {}
    action = np.zeros(len(robot.policy), F)
    rows: dict[str, list[Array]] = {"obs": [], "action": [], "motor_q": []}
    order = near_orders(robot.terms, mistakes.get("obs.terms"))
    for t in range(len(sensors["gyro"])):
        now = _terms(robot, {name: values[t] for name, values in sensors.items()}, action, mistakes, maths)
        for term, value in now.items():
            buffers[term] = [*buffers.get(term, [value] * robot.history)[1:], value]
        observation = np.concatenate([row for term in order for row in buffers[term]]).astype(F)
        action = network(observation[None])[0].astype(F)
        target = _target(robot, action, mistakes, maths).astype(F)
        motor = _reordered(robot, target, robot.policy, robot.sdk, mistakes.get("motor_q.order"))
        for name, value in (("obs", observation), ("action", action), ("motor_q", motor)):
            rows[name].append(value)
    return {**sensors, **{name: np.stack(values) for name, values in rows.items()}}


def _terms(
    robot: Robot, sensor: Mapping[str, Array], action: Array, mistakes: Mapping[str, str], maths: Maths
) -> dict[str, Array]:
    q, dq = (
        _reordered(robot, sensor[name], robot.sdk, robot.policy, mistakes.get(f"{stage}.order"))
        for name, stage in (("q", "joint_pos"), ("dq", "joint_vel"))
    )
    command = maths.real(sensor["sticks"]) * maths.real((1.0, -1.0, -1.0))
    if mistakes.get("command.applied") != "high_only":
        command = np.maximum(command, maths.real(robot.lowest))
    if mistakes.get("command.applied") != "low_only":
        command = np.minimum(command, maths.real(robot.highest))
    values = (
        maths.real(sensor["gyro"]) * maths.real(robot.gyro_factor),
        maths.rotate(conjugate(sensor["imu_quat"]), maths.real([0.0, 0.0, -1.0])),
        command, maths.real(q) - maths.real(robot.default_pose), maths.real(dq) * maths.real(robot.dq_factor), action,
    )  # fmt: skip
    return {term: value.astype(F) for term, value in zip(robot.terms, values, strict=True)}


def _reordered(robot: Robot, values: Array, have: Sequence[str], want: Sequence[str], reading: str | None) -> Array:
    """Values of the joints `have`, in the order `want`, through the map of indices that a deploy file has."""
    if reading == "as_given":
        return values.copy()
    if reading and reading.startswith("in_order_of_"):
        want = robot.other
    if reading == "swapped_sides":
        want = [SIDES.get(side, side) + joint + rest for side, joint, rest in (name.partition("_") for name in want)]
    index = [list(have).index(name) for name in want]
    return values[index[::-1] if reading == "reversed" else index]


def _target(robot: Robot, action: Array, mistakes: Mapping[str, str], maths: Maths) -> Array:
    scale, reading = maths.real(robot.action_factor), mistakes.get("target.scale", "")
    if reading == "inverse":
        scale = maths.real(1.0) / scale
    if reading.startswith("in_order_of_"):
        scale = scale[[list(robot.other).index(name) for name in robot.policy]]
    sign = {"none": 0.0, "negated": -1.0}.get(mistakes.get("target.offset", ""), 1.0)
    return maths.total((action, scale), (maths.real(robot.default_pose) * maths.real(sign), 1.0))
