"""A robot's policy loop, as the Unitree G1 policies are deployed: sensors in, observation, action, motor targets out."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .plain import AS_WRITTEN, Array, F, Maths, conjugate


@dataclass(frozen=True)
class Robot:
    """The numbers of one robot: names in both orders, pose, factors, ranges of the command, frames of history.

    terms: what the observation is made of, in order.
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

    @staticmethod
    def of(path: Path, gyro_factor: float, dq_factor: float) -> Robot:
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
            sdk, names.get("policy", sdk), np.array(pose["value"] if isinstance(pose, dict) else pose), gyro_factor, dq_factor,
            np.broadcast_to(np.array(scale["value"] if isinstance(scale, dict) else scale), len(sdk)), clip["lowest"],
            clip["highest"], tuple(joined["of"]), joined.get("length", 1),
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
    robot: Robot, sensors: Mapping[str, Array], network: Callable[[Array], Array], maths: Maths = AS_WRITTEN,
    *, by_position: bool = False,
) -> dict[str, Array]:  # fmt: skip
    """Run the loop; the recording holds sensors, observation, action and motor targets. by_position: a mistake."""
    buffers: dict[str, list[Array]] = {}
    action = np.zeros(len(robot.policy), F)
    rows: dict[str, list[Array]] = {"obs": [], "action": [], "motor_q": []}
    for t in range(len(sensors["gyro"])):
        now = _terms(robot, {name: values[t] for name, values in sensors.items()}, action, maths)
        for term, value in now.items():
            buffers[term] = [*buffers.get(term, [value] * robot.history)[1:], value]
        observation = np.concatenate([row for term in robot.terms for row in buffers[term]]).astype(F)
        action = network(observation[None])[0].astype(F)
        target = maths.total((action, maths.real(robot.action_factor)), (maths.real(robot.default_pose), 1.0)).astype(F)
        motor = target.copy() if by_position else _reordered(target, robot.policy, robot.sdk)
        for name, value in (("obs", observation), ("action", action), ("motor_q", motor)):
            rows[name].append(value)
    return {**sensors, **{name: np.stack(values) for name, values in rows.items()}}


def _terms(robot: Robot, sensor: Mapping[str, Array], action: Array, maths: Maths) -> dict[str, Array]:
    q, dq = (_reordered(sensor[name], robot.sdk, robot.policy) for name in ("q", "dq"))
    command = maths.real(sensor["sticks"]) * maths.real((1.0, -1.0, -1.0))
    command = np.minimum(np.maximum(command, maths.real(robot.lowest)), maths.real(robot.highest))
    values = (
        maths.real(sensor["gyro"]) * maths.real(robot.gyro_factor),
        maths.rotate(conjugate(sensor["imu_quat"]), maths.real([0.0, 0.0, -1.0])),
        command, maths.real(q) - maths.real(robot.default_pose), maths.real(dq) * maths.real(robot.dq_factor), action,
    )  # fmt: skip
    return {term: value.astype(F) for term, value in zip(robot.terms, values, strict=True)}


def _reordered(values: Array, have: Sequence[str], want: Sequence[str]) -> Array:
    """Values of the joints `have`, in the order `want`, through the map of indices that a deploy file has."""
    return values[[list(have).index(name) for name in want]]
