"""A robot's policy loop, frame by frame in float32: sensors in, observation, action, motor targets out.

Written from the deployment of the Unitree G1 policies. It imports nothing of rigpact. `mistakes` names what this side does
wrong, as knob and value of the contract.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .plain import AS_WRITTEN, Array, F, Maths, conjugate, near_orders, w_last_taken_first

Wrong = Callable[[str], "str | None"]


@dataclass(frozen=True)
class Robot:
    """The numbers of one robot: names in both orders, pose, factors, ranges of the command, frames of history.

    terms: what the observation is made of, in order. other: an order of the joints that people confuse with the policy's.
    other_factors: what they take for the action's factors. mean, std: what the network normalises with, inside.
    """

    sdk: Sequence[str]
    policy: Sequence[str]
    default_pose: Array
    gyro_factor: float
    dq_factor: float
    action_factor: Array
    lowest: tuple[float, float, float]
    highest: tuple[float, float, float]
    history: int
    terms: tuple[str, ...]
    other: Sequence[str]
    other_factors: Mapping[str, Array] = field(default_factory=dict)
    mean: Array | None = None
    std: Array | None = None


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
    robot: Robot,
    sensors: Mapping[str, Array],
    network: Callable[[Array], Array],
    mistakes: Mapping[str, str],
    maths: Maths = AS_WRITTEN,
) -> dict[str, Array]:
    """Run the loop; the recording holds sensors, observation, action and motor targets."""
    wrong = mistakes.get
    buffers: dict[str, list[Array]] = {term: [] for term in robot.terms}
    last_action = np.zeros(len(robot.policy), F)
    rows: dict[str, list[Array]] = {"obs": [], "action": [], "motor_q": []}
    for t in range(len(sensors["gyro"])):
        now = _terms(robot, {name: values[t] for name, values in sensors.items()}, last_action, wrong, maths)
        for term in robot.terms:
            if not buffers[term]:
                first = np.zeros_like(now[term]) if wrong("obs.start") == "zeros" else now[term]
                buffers[term] = [first] * (robot.history + 1)
            buffers[term] = [*buffers[term][1:], now[term]]
        observation = _observation(robot, buffers, wrong)
        action = network(_network_input(robot, observation, wrong, maths)[None])[0].astype(F)
        target = _target(robot, action, wrong, maths).astype(F)
        motor = _reordered(robot, target, robot.policy, robot.sdk, wrong("motor_q.order"))
        last_action = target if wrong("last_action.carried") == "target" else action
        for name, value in (("obs", observation), ("action", action), ("motor_q", motor)):
            rows[name].append(value)
    return {**sensors, **{name: np.stack(values) for name, values in rows.items()}}


def _terms(
    robot: Robot, sensor: Mapping[str, Array], last_action: Array, wrong: Wrong, maths: Maths
) -> dict[str, Array]:
    q = _reordered(robot, sensor["q"], robot.sdk, robot.policy, wrong("joint_pos.order"))
    dq = _reordered(robot, sensor["dq"], robot.sdk, robot.policy, wrong("joint_vel.order"))
    pose = _pose(robot, wrong("joint_pos_rel.subtract"), maths)
    values = (
        maths.real(sensor["gyro"]) * maths.real(_factor(robot.gyro_factor, wrong("base_ang_vel.scale"))),
        _gravity(sensor["imu_quat"], wrong, maths),
        _command(robot, sensor["sticks"], wrong, maths),
        maths.real(q) - pose,
        maths.real(dq) * maths.real(_factor(robot.dq_factor, wrong("joint_vel_rel.scale"))),
        last_action,
    )
    return {term: value.astype(F) for term, value in zip(robot.terms, values, strict=True)}


def _pose(robot: Robot, reading: str | None, maths: Maths) -> Array:
    pose = maths.real(robot.default_pose)
    if (reading or "").startswith("in_order_of_"):
        return pose[[list(robot.other).index(name) for name in robot.policy]]
    return pose * maths.real({"none": 0.0, "negated": -1.0, "twice": 2.0}.get(reading or "", 1.0))


def _factor(value: float, reading: str | None) -> float:
    readings = {"none": 1.0, "inverse": 1.0 / value, "twice": value * value, "negated": -value, "legged_gym": 0.25}
    return readings.get(reading or "", value)


def _reordered(robot: Robot, values: Array, have: Sequence[str], want: Sequence[str], reading: str | None) -> Array:
    """Values of the joints `have`, in the order `want`, through the map of indices that a deploy file has."""
    if (reading or "").startswith("in_order_of_"):
        want = robot.other
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


def _gravity(quaternion: Array, wrong: Wrong, maths: Maths) -> Array:
    q = w_last_taken_first(quaternion) if wrong("projected_gravity.quaternion_order") == "xyzw" else quaternion
    size = {"negated": -1.0, "times_9.81": 9.81}.get(wrong("projected_gravity.vector") or "", 1.0)
    gravity = maths.real([0.0, 0.0, -size])
    direction = wrong("projected_gravity.direction")
    if direction == "none":
        return gravity
    return maths.rotate(q if direction == "forward" else conjugate(q), gravity)


def _command(robot: Robot, sticks: Array, wrong: Wrong, maths: Maths) -> Array:
    signs = {"none": (1.0, 1.0, 1.0), "negated": (-1.0, 1.0, 1.0)}.get(
        wrong("stick_velocities.scale") or "", (1.0, -1.0, -1.0)
    )
    value = maths.real(sticks) * maths.real(signs)
    low, high = maths.real(robot.lowest), maths.real(robot.highest)
    reading = wrong("command.applied")
    if reading == "none":
        return value
    if reading == "scaled_to_range":
        return low + (value + maths.real(1.0)) * maths.real(0.5) * (high - low)
    if reading == "low_only":
        return np.maximum(value, low)
    return np.minimum(value, high) if reading == "high_only" else np.minimum(np.maximum(value, low), high)


def _observation(robot: Robot, buffers: Mapping[str, list[Array]], wrong: Wrong) -> Array:
    frames = {term: rows[:-1] if wrong("obs.delay") == "one_frame" else rows[1:] for term, rows in buffers.items()}
    if wrong("obs.order") == "newest_first":
        frames = {term: rows[::-1] for term, rows in frames.items()}
    order = near_orders(robot.terms, wrong("obs.terms" if robot.history > 1 else "obs.order"))
    layout = wrong("obs.layout")
    if layout == "frame_major":
        return np.concatenate([frames[term][age] for age in range(robot.history) for term in order]).astype(F)
    if layout == "channel_major":
        blocks = [np.stack(frames[term]).T.reshape(-1) for term in order]
        return np.concatenate(blocks).astype(F)
    return np.concatenate([row for term in order for row in frames[term]]).astype(F)


def _network_input(robot: Robot, observation: Array, wrong: Wrong, maths: Maths) -> Array:
    """The observation; a side that normalises outside of the network too does it here."""
    for _ in range({"once": 1, "twice": 2}.get(wrong("network_input.applied") or "", 0)):
        observation = (maths.real(observation) - maths.real(robot.mean)) / maths.real(robot.std)
    return observation.astype(F)


def _target(robot: Robot, action: Array, wrong: Wrong, maths: Maths) -> Array:
    reading = wrong("target.scale") or ""
    scale = maths.real(robot.other_factors.get(reading, robot.action_factor))
    if reading == "none":
        scale = np.ones_like(scale)
    elif reading == "inverse":
        scale = maths.real(1.0) / scale
    elif reading == "twice":
        scale = scale * scale
    elif reading == "negated":
        scale = -scale
    pose = _pose(robot, wrong("target.offset"), maths)
    if (reading).startswith("in_order_of_"):
        scale = scale[[list(robot.other).index(name) for name in robot.policy]]
    if wrong("target.order") == "constant_first":
        return (maths.real(action) + pose) * scale
    return maths.total((action, scale), (pose, 1.0))
