"""A robot's policy loop, frame by frame in float32: sensors in, observation, action, motor targets out.

Written from the deployment of the Unitree G1 policies. It imports nothing of rigpact. `mistakes` names what this side does
wrong, as knob and value of the contract.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

F = np.float32
Array = np.ndarray


@dataclass(frozen=True)
class Robot:
    """The numbers of one robot: names in both orders, pose, factors, ranges of the command, frames of history."""

    sdk: Sequence[str]
    policy: Sequence[str]
    default_pose: Array
    gyro_factor: float
    dq_factor: float
    action_factor: Array
    lowest: tuple[float, float, float]
    highest: tuple[float, float, float]
    history: int


TERMS = ("base_ang_vel", "projected_gravity", "command", "joint_pos_rel", "joint_vel_rel", "last_action")


def drawn_sensors(joints: int, frames: int, seed: int) -> dict[str, Array]:
    """A robot that sways and is steered, in its motors' order of joints."""
    rng = np.random.default_rng(seed)
    time = np.arange(frames)[:, None] / 50.0
    axis, angle = rng.normal(size=3), 0.5 * np.sin(2.1 * time + 0.3) + 0.2
    axis = axis / np.linalg.norm(axis)
    quaternion = np.hstack([np.cos(0.5 * angle), np.sin(0.5 * angle) * axis])
    wave = rng.uniform(0.5, 3.0, joints) * time + rng.uniform(0.0, 6.0, joints)
    return {
        "gyro": rng.normal(0.0, 1.0, (frames, 3)).astype(F),
        "imu_quat": quaternion.astype(F),
        "q": (0.6 * np.sin(wave) + 0.1 * rng.normal(size=joints)).astype(F),
        "dq": (1.7 * np.cos(wave)).astype(F),
        "sticks": rng.uniform(-1.0, 1.0, (frames, 3)).astype(F),
    }


def run(
    robot: Robot, sensors: Mapping[str, Array], network: Callable[[Array], Array], mistakes: Mapping[str, str]
) -> dict[str, Array]:
    """Run the loop; the recording holds sensors, observation, action and motor targets."""
    wrong = mistakes.get
    buffers: dict[str, list[Array]] = {term: [] for term in TERMS}
    last_action = np.zeros(len(robot.policy), F)
    rows: dict[str, list[Array]] = {"obs": [], "action": [], "motor_q": []}
    for t in range(len(sensors["gyro"])):
        now = _terms(robot, {name: values[t] for name, values in sensors.items()}, last_action, wrong)
        for term in TERMS:
            if not buffers[term]:
                first = np.zeros_like(now[term]) if wrong("obs.start") == "zeros" else now[term]
                buffers[term] = [first] * (robot.history + 1)
            buffers[term] = [*buffers[term][1:], now[term]]
        observation = _observation(robot, buffers, wrong)
        action = network(observation[None])[0].astype(F)
        target = _target(robot, action, wrong)
        motor = _reordered(target, robot.policy, robot.sdk, wrong("motor_q.order"))
        last_action = target if wrong("last_action.carried") == "target" else action
        for name, value in (("obs", observation), ("action", action), ("motor_q", motor)):
            rows[name].append(value)
    return {**sensors, **{name: np.stack(values) for name, values in rows.items()}}


Wrong = Callable[[str], "str | None"]


def _terms(robot: Robot, sensor: Mapping[str, Array], last_action: Array, wrong: Wrong) -> dict[str, Array]:
    q = _reordered(sensor["q"], robot.sdk, robot.policy, wrong("joint_pos.order"))
    dq = _reordered(sensor["dq"], robot.sdk, robot.policy, wrong("joint_vel.order"))
    pose = robot.default_pose.astype(F)
    if wrong("joint_pos_rel.subtract") == "in_order_of_sdk":
        pose = np.array([pose[list(robot.sdk).index(name)] for name in robot.policy], F)
    pose = pose * F({"none": 0.0, "negated": -1.0, "twice": 2.0}.get(wrong("joint_pos_rel.subtract") or "", 1.0))
    return {
        "base_ang_vel": sensor["gyro"] * _factor(robot.gyro_factor, wrong("base_ang_vel.scale")),
        "projected_gravity": _gravity(sensor["imu_quat"], wrong),
        "command": _command(robot, sensor["sticks"], wrong),
        "joint_pos_rel": q - pose,
        "joint_vel_rel": dq * _factor(robot.dq_factor, wrong("joint_vel_rel.scale")),
        "last_action": last_action,
    }


def _factor(value: float, reading: str | None) -> F:
    return F(
        {"none": 1.0, "inverse": 1.0 / value, "twice": value * value, "negated": -value, "legged_gym": 0.25}.get(
            reading or "", value
        )
    )


def _reordered(values: Array, have: Sequence[str], want: Sequence[str], reading: str | None) -> Array:
    """Values of the joints `have`, in the order `want`, through the map of indices that a deploy file has."""
    index = [list(have).index(name) for name in want]
    if reading == "as_given":
        return values.copy()
    if reading == "inverse_map":
        turned = np.zeros_like(values)
        for place, source in enumerate(index):
            turned[source] = values[place]
        return turned
    if reading == "reversed":
        return values[index][::-1].copy()
    if reading == "swapped_sides":
        other = {"left": "right", "right": "left"}
        names = [
            name.replace(name.split("_")[0], other.get(name.split("_")[0], name.split("_")[0]), 1) for name in want
        ]
        return np.array([values[list(have).index(name)] for name in names], F)
    return values[index]


def _gravity(quaternion: Array, wrong: Wrong) -> Array:
    w, x, y, z = quaternion if wrong("projected_gravity.quaternion_order") != "xyzw" else quaternion[[3, 0, 1, 2]]
    g = np.array([0.0, 0.0, -1.0], F)
    g = g * F({"negated": -1.0, "times_9.81": 9.81}.get(wrong("projected_gravity.vector") or "", 1.0))
    direction = wrong("projected_gravity.direction")
    if direction == "none":
        return g
    u = np.array([x, y, z], F) if direction == "forward" else -np.array([x, y, z], F)
    t = F(2.0) * np.cross(u, g)
    return (g + w * t + np.cross(u, t)).astype(F)


def _command(robot: Robot, sticks: Array, wrong: Wrong) -> Array:
    signs = {"none": (1.0, 1.0, 1.0), "negated": (-1.0, 1.0, 1.0)}.get(
        wrong("stick_velocities.scale") or "", (1.0, -1.0, -1.0)
    )
    value = sticks * np.array(signs, F)
    low, high = np.array(robot.lowest, F), np.array(robot.highest, F)
    reading = wrong("command.applied")
    if reading == "none":
        return value
    if reading == "scaled_to_range":
        return low + (value + F(1.0)) * F(0.5) * (high - low)
    if reading == "low_only":
        return np.maximum(value, low)
    return np.minimum(value, high) if reading == "high_only" else np.minimum(np.maximum(value, low), high)


def _observation(robot: Robot, buffers: Mapping[str, list[Array]], wrong: Wrong) -> Array:
    frames = {term: rows[:-1] if wrong("obs.delay") == "one_frame" else rows[1:] for term, rows in buffers.items()}
    if wrong("obs.order") == "newest_first":
        frames = {term: rows[::-1] for term, rows in frames.items()}
    order = _terms_in_order(wrong("obs.terms"))
    layout = wrong("obs.layout")
    if layout == "frame_major":
        return np.concatenate([frames[term][age] for age in range(robot.history) for term in order]).astype(F)
    if layout == "channel_major":
        blocks = [np.stack(frames[term]).T.reshape(-1) for term in order]
        return np.concatenate(blocks).astype(F)
    return np.concatenate([row for term in order for row in frames[term]]).astype(F)


def _terms_in_order(reading: str | None) -> list[str]:
    order = list(TERMS)
    if reading is None:
        return order
    if reading.endswith("_exchanged"):
        one, other = reading.removesuffix("_exchanged").split("_and_")
        a, b = order.index(one), order.index(other)
        order[a], order[b] = order[b], order[a]
    elif reading.endswith("_last"):
        order.append(order.pop(order.index(reading.removesuffix("_last"))))
    elif reading.endswith("_first"):
        order.insert(0, order.pop(order.index(reading.removesuffix("_first"))))
    else:
        order.sort()
    return order


def _target(robot: Robot, action: Array, wrong: Wrong) -> Array:
    scale = robot.action_factor.astype(F)
    reading = wrong("target.scale")
    if reading == "none":
        scale = np.ones_like(scale)
    elif reading == "inverse":
        scale = F(1.0) / scale
    elif reading == "twice":
        scale = scale * scale
    elif reading == "negated":
        scale = -scale
    pose = robot.default_pose.astype(F)
    if wrong("target.offset") == "in_order_of_sdk":
        pose = np.array([pose[list(robot.sdk).index(name)] for name in robot.policy], F)
    pose = pose * F({"none": 0.0, "negated": -1.0, "twice": 2.0}.get(wrong("target.offset") or "", 1.0))
    return (action + pose) * scale if wrong("target.order") == "constant_first" else action * scale + pose
