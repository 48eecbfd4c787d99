"""A quadruped's controller, frame by frame in float32: a gating network, a motion network, 27 bones, a root on the ground.

Written from the description of the published runtime. It imports nothing of rigpact. `mistakes` names what this side does
wrong, as knob and value of the contract.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from .plain import AS_WRITTEN, Array, DrawnNetwork, F, Maths, conjugate, near_orders, picked, w_last, w_last_taken_first

BONES, SAMPLE, NOW, FPS = 27, 13, 6, 60.0
GATING = DrawnNetwork((19,), 8, seed=1, gain=2.0, is_softmax=True)
MOTION = DrawnNetwork((480, 8), 363, seed=2, gain=0.6, hidden=32)
Wrong = Callable[[str], "str | None"]


@dataclass(frozen=True, eq=False)
class Statistics:
    """Mean and standard deviation of the input (480,) and the output (363,)."""

    input_mean: Array
    input_std: Array
    output_mean: Array
    output_std: Array


def drawn_statistics(seed: int = 13) -> dict[str, Array]:
    """Statistics under the names of the published files, as beside the contract. The yaw is in degrees a second: it is large."""
    rng = np.random.default_rng(seed)
    drawn = {
        "Xmean": rng.normal(0.0, 0.3, 480), "Xstd": rng.uniform(0.3, 1.2, 480), "Ymean": rng.normal(0.0, 0.2, 363),
        "Ystd": rng.uniform(0.2, 0.9, 363),
    }  # fmt: skip
    drawn["Ystd"][361] = 60.0
    return {name: values.astype(F) for name, values in drawn.items()}


@dataclass(eq=False)
class _State:
    bones: Array
    position: Array
    rotation: Array
    step: Array
    turn: Array


def drawn_trajectory(frames: int, seed: int) -> Array:
    """Twelve samples of where the character shall go, (frames, 156)."""
    rng, time = np.random.default_rng(seed), np.arange(frames)[:, None] / 20.0
    return np.sin(rng.uniform(0.5, 3.0, 156) * time + rng.uniform(0.0, 6.0, 156)).astype(F)


def run(
    statistics: Statistics, trajectory: Array, mistakes: Mapping[str, str], maths: Maths = AS_WRITTEN, seed: int = 0
) -> dict[str, Array]:
    """Run free from drawn bones and a tilted root that stood still."""
    wrong, rng = mistakes.get, np.random.default_rng(seed + 7)
    state = _State(
        rng.normal(0.0, 0.5, (BONES, 12)).astype(F), np.zeros(3, F), np.array([0.8, 0.36, -0.48, 0.0], F),
        np.zeros(3, F), np.array([1.0, 0.0, 0.0, 0.0], F),
    )  # fmt: skip
    rows: dict[str, list[Array]] = {}
    for now in trajectory:
        order = near_orders(["trajectory", "last_bones"], wrong("input.order"))
        numbers = {"trajectory": now, "last_bones": state.bones.reshape(-1)}
        joined = np.concatenate([numbers[name] for name in order]).astype(F)
        scaled = _normalised(joined, statistics, wrong, maths)
        experts = GATING(_gating(scaled, wrong)[None], maths=maths)[0]
        answer = MOTION(scaled[None], experts[None], maths=maths)[0]
        output = _denormalised(answer, statistics, wrong, maths)
        published = {
            "trajectory": now, "input_normalised": scaled, "expert_weights": experts, "output_normalised": answer,
            **_pose(output, state, wrong, maths), **_root(output[360:], state, wrong, maths),
        }  # fmt: skip
        for name, value in published.items():
            rows.setdefault(name, []).append(value.reshape(-1).astype(F))
        fed = output[36:360] if wrong("last_bones.carried") else published["bones"]
        state = _State(
            fed.reshape(BONES, 12).astype(F),
            *(published[name].astype(F) for name in ("root_position", "root_rotation")),
            *(published[name].astype(F) for name in ("root_step", "root_turn")),
        )
    return {name: np.stack(values) for name, values in rows.items()}


def _misread(mean: Array, std: Array, stage: str, wrong: Wrong, maths: Maths) -> tuple[Array, Array]:
    mean, std = maths.real(mean), maths.real(std)
    mean = {"none": 0.0 * mean, "added": -mean}.get(wrong(f"{stage}.mean") or "", mean)
    readings = {"none": np.ones_like(std), "variance": std * std, "root": np.sqrt(std)}
    return mean, readings.get(wrong(f"{stage}.std") or "", std)


def _times(stage: str, wrong: Wrong) -> int:
    return {"twice": 2, "skipped": 0}.get(wrong(f"{stage}.applied") or "", 1)


def _normalised(numbers: Array, statistics: Statistics, wrong: Wrong, maths: Maths) -> Array:
    mean, std = _misread(statistics.input_mean, statistics.input_std, "input_normalised", wrong, maths)
    for _ in range(_times("input_normalised", wrong)):
        numbers = (maths.real(numbers) - mean) / std
    return numbers.astype(F)


def _denormalised(numbers: Array, statistics: Statistics, wrong: Wrong, maths: Maths) -> Array:
    mean, std = _misread(statistics.output_mean, statistics.output_std, "output", wrong, maths)
    for _ in range(_times("output", wrong)):
        numbers = maths.total((maths.real(numbers), std), (mean, 1.0))
    return numbers


def _gating(scaled: Array, wrong: Wrong) -> Array:
    reading = wrong("gating_input.order")
    sample = SAMPLE * (NOW - 1 if reading == "sample_before" else NOW)
    velocities = [np.arange(12 * bone + 165, 12 * bone + 168) for bone in (10, 15, 19, 23)]
    speed, styles = np.arange(sample + 6, sample + 7), np.arange(sample + 7, sample + 13)
    if reading == "as_given":
        places = [speed, styles, *velocities]
    elif reading == "reversed":
        places = [styles, speed, *velocities[::-1]]
    else:
        places = [*velocities, speed, styles]
    return scaled[np.concatenate(places)]


def _pose(output: Array, state: _State, wrong: Wrong, maths: Maths) -> dict[str, Array]:
    answered = output[36:360].reshape(BONES, 4, 3)
    names = ("position", "forward", "up", "velocity")
    parts = {name: answered[:: -1 if wrong(f"{name}.order") else 1, place] for place, name in enumerate(names)}
    before = maths.real(state.bones[:: -1 if wrong("last_positions.order") else 1, :3])
    seen = _relative(before, state.step, state.turn, "positions_now", "into_frame", wrong, maths)
    step = {"left_out": 1.0, "squared": 1 / FPS**2, "half_of_it": 0.5 / FPS, "divided_by": FPS}.get(
        wrong("moved_positions.step") or "", 1 / FPS
    )
    velocity = parts["velocity"]
    moved = picked({
        "absolute": lambda: velocity, "delta": lambda: seen + velocity, "skipped": lambda: seen,
        "negated": lambda: maths.total((seen, 1.0), (velocity, -step)),
    }, wrong("moved_positions.rate_means"), lambda: maths.total((seen, 1.0), (velocity, step)))  # fmt: skip
    one, other = {"first_only": (1.0, 0.0), "all_added": (1.0, 1.0)}.get(wrong("blended.weights") or "", (0.5, 0.5))
    blocks = {"blended": maths.total((moved, one), (parts["position"], other))} | {
        name: parts[name] for name in names[1:]
    }
    order = near_orders(list(blocks), wrong("bones.order"))
    stacked = np.stack([blocks[name] for name in order], axis=0 if wrong("bones.layout") else 1)
    return {"bones": stacked.reshape(-1), "future": output[:36]}


def _relative(
    points: Array, origin: Array, turn: Array, stage: str, declared: str, wrong: Wrong, maths: Maths
) -> Array:
    q = w_last_taken_first(turn) if wrong(f"{stage}.quaternion_order") else turn
    points, origin = maths.real(points), maths.real(origin)
    return {
        "into_frame": lambda: maths.rotate(conjugate(q), points - origin),
        "out_of_frame": lambda: maths.rotate(q, points) + origin,
        "into_frame_origin_kept": lambda: maths.rotate(conjugate(q), points),
        "into_frame_turned_forward": lambda: maths.rotate(q, points - origin),
        "into_frame_not_turned": lambda: points - origin,
        "out_of_frame_not_turned": lambda: points + origin,
    }[wrong(f"{stage}.direction") or declared]()


def _root(motion: Array, state: _State, wrong: Wrong, maths: Maths) -> dict[str, Array]:
    factors = {
        "none": (1, 1, 1),
        "inverse": (FPS, 0.0, FPS),
        "twice": (FPS**-2, 0.0, FPS**-2),
        "negated": (-1 / FPS, 0.0, -1 / FPS),
    }
    step = maths.real(motion) * maths.real(factors.get(wrong("root_step.scale") or "", (1 / FPS, 0.0, 1 / FPS)))
    factors = {
        "none": (1.0, 1.0, 1.0), "inverse": (0, FPS, 0), "twice": (0, FPS**-2, 0), "negated": (0, -1 / FPS, 0),
        "a_second": (0, 1, 0),
    }  # fmt: skip
    angle = maths.real(motion) * maths.real(factors.get(wrong("yaw_of_frame.scale") or "", (0, 1 / FPS, 0)))
    to_radians = {"radians": 1.0, "half_angle": 2.0}.get(wrong("root_turn.reads") or "", np.pi / 180.0)
    turn = _quaternion(maths.real(to_radians) * angle, maths)
    if wrong("root_turn.sense"):
        turn = conjugate(turn)
    if wrong("root_turn.writes"):
        turn = w_last(turn)
    position = _relative(step, state.position, state.rotation, "root_position", "out_of_frame", wrong, maths)
    a = w_last_taken_first(state.rotation) if wrong("root_rotation.quaternion_order") else state.rotation
    b = w_last_taken_first(turn) if wrong("root_rotation.second_quaternion_order") else turn
    rotation = picked({
        "second_first": lambda: maths.product(b, a), "inverse_of_first": lambda: maths.product(conjugate(a), b),
        "inverse_of_second": lambda: maths.product(a, conjugate(b)), "first_only": lambda: a, "second_only": lambda: b,
    }, wrong("root_rotation.product"), lambda: maths.product(a, b))  # fmt: skip
    return {"root_step": step, "root_turn": turn, "root_position": position, "root_rotation": rotation}


def _quaternion(vector: Array, maths: Maths) -> Array:
    """A rotation vector in radians as w, x, y, z."""
    angle = np.sqrt(np.sum(vector * vector))
    axis = vector / (angle if angle > 0 else maths.real(1.0))
    return np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * axis]).astype(maths.kind)
