"""Features of a character's motion for a text-to-motion model: 22 joints in, 263 numbers out, a row less than frames.

Written from the description of the published features. It imports nothing of rigpact. `mistakes` names what this side does
wrong, as knob and value of the contract.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from .plain import (
    AS_WRITTEN,
    Array,
    F,
    Maths,
    conjugate,
    drawn_turns,
    near_orders,
    picked,
    to_matrix,
    w_last_taken_first,
)

JOINTS = (
    "pelvis", "left_hip", "right_hip", "spine1", "left_knee", "right_knee", "spine2", "left_ankle", "right_ankle", "spine3",
    "left_foot", "right_foot", "neck", "left_collar", "right_collar", "head", "left_shoulder", "right_shoulder", "left_elbow",
    "right_elbow", "left_wrist", "right_wrist",
)  # fmt: skip
PARENT = (0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 12, 13, 14, 16, 17, 18, 19)
FEET = ("left_ankle", "left_foot", "right_ankle", "right_foot")
PARTS = (
    "root_yaw_speed", "root_velocity", "root_height", "joint_positions", "joint_rotations", "joint_velocities", "contacts",
)  # fmt: skip
Wrong = Callable[[str], "str | None"]


def drawn_motion(frames: int, seed: int) -> dict[str, Array]:
    """A character that walks, turns and leans; its feet stand for some frames, creep for some, and swing for others."""
    rng = np.random.default_rng(seed)
    time = np.arange(frames)[:, None, None] / 20.0
    heading = 0.9 * np.sin(4.0 * time[:, 0, 0] + rng.uniform(0.0, 6.0)) + 0.5 * time[:, 0, 0]
    lean = drawn_turns(1, frames, seed + 1, size=0.3)[:, 0]
    yaw = np.stack([np.cos(0.5 * heading), 0 * heading, np.sin(0.5 * heading), 0 * heading], axis=-1)
    rest = rng.uniform(-0.6, 0.6, (1, 22, 3)) + np.array([0.0, 1.0, 0.0])
    swing = 0.2 * np.sin(rng.uniform(1.0, 5.0, (22, 3)) * time + rng.uniform(0.0, 6.0, (22, 3)))
    travel = np.concatenate([1.3 * time, 0.05 * np.sin(3.0 * time), 0.7 * time**1.2], axis=-1)
    positions = rest + swing + travel
    for joint in FEET:
        place = JOINTS.index(joint)
        speed = np.abs(rng.choice([0.0, 1e-3, 0.02, 0.04, 0.3, 1.5], (frames, 3))) * rng.choice(
            [-1.0, 1.0], (frames, 3)
        )
        positions[:, place] = rest[0, place] + np.cumsum(speed, axis=0)
    return {
        "positions": positions.reshape(frames, -1).astype(F),
        "rotations": drawn_turns(22, frames, seed + 2, size=1.5).reshape(frames, -1).astype(F),
        "root_rotation": AS_WRITTEN.product(lean.astype(F), yaw.astype(F)).astype(F),
    }


def run(motion: Mapping[str, Array], mistakes: Mapping[str, str], maths: Maths = AS_WRITTEN) -> dict[str, Array]:
    """The features of every frame but the last two: a wrong side may look two frames ahead."""
    wrong, count = mistakes.get, len(motion["positions"]) - 2
    order = near_orders(PARTS, wrong("features.order"))
    rows = []
    for t in range(count):
        parts = _parts(motion, t, wrong, maths)
        rows.append(np.concatenate([parts[name].reshape(-1) for name in order]).astype(F))
    return {**{name: rows[:count] for name, rows in motion.items()}, "features": np.stack(rows)}


def _parts(motion: Mapping[str, Array], t: int, wrong: Wrong, maths: Maths) -> dict[str, Array]:
    positions = motion["positions"].reshape(-1, 22, 3)
    facing = maths.real(motion["root_rotation"][t])
    ahead = {"+0": 0, "+2": 2, "-1": -1}.get(wrong("next_root_rotation.frames") or "", 1)
    following = maths.real(motion["root_rotation"][max(t + ahead, 0)])
    here, steps = maths.real(positions[t]), _steps(positions, t, wrong, maths)
    root = _turned(following, steps[0], "root_step_facing", wrong, maths)
    ground = {"reversed": [2, 0], "ground_is_xy": [0, 1]}.get(wrong("root_velocity.order") or "", [0, 2])
    return {
        "root_yaw_speed": _yaw_speed(following, facing, wrong, maths),
        "root_velocity": root[ground],
        "root_height": here[0, [2 if wrong("root_height.order") == "z_is_up" else 1]],
        "joint_positions": _joint_positions(here, facing, wrong, maths),
        "joint_rotations": _joint_rotations(motion["rotations"][t].reshape(22, 4), wrong, maths),
        "joint_velocities": _turned(facing, steps, "joint_velocities", wrong, maths),
        "contacts": _contacts(steps, wrong, maths),
    }


def _yaw_speed(following: Array, facing: Array, wrong: Wrong, maths: Maths) -> Array:
    a = w_last_taken_first(following) if wrong("root_turn.quaternion_order") else following
    b = w_last_taken_first(facing) if wrong("root_turn.second_quaternion_order") else facing
    turn = picked({
        "first_second": lambda: maths.product(a, b), "second_first": lambda: maths.product(b, a),
        "inverse_of_first": lambda: maths.product(conjugate(a), b), "first_only": lambda: a, "second_only": lambda: b,
    }, wrong("root_turn.product"), lambda: maths.product(a, conjugate(b)))  # fmt: skip
    sine = turn[[3 if wrong("half_turn_sine.order") == "xyzw" else 2]]
    reading = wrong("root_yaw_speed.function")
    if reading == "twice":
        return _arcsin(_arcsin(sine))
    if reading == "doubled":
        return maths.real(2.0) * _arcsin(sine)
    others: Mapping[str, Callable[[Array], Array]] = {
        "none": lambda x: x, "tanh": np.tanh, "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "softmax": np.ones_like, "exp": np.exp,
    }  # fmt: skip
    return others.get(reading or "", _arcsin)(sine)


def _arcsin(value: Array) -> Array:
    return np.arcsin(np.clip(value, -1.0, 1.0))


def _steps(positions: Array, t: int, wrong: Wrong, maths: Maths) -> Array:
    before = max(t - 1, 0)
    earlier, later = {"backward": (before, t), "reversed": (t, before)}.get(wrong("steps.span") or "", (t, t + 1))
    rate = {"per_second": 20.0, "inverse": 1.0 / 20.0}.get(wrong("steps.rate") or "", 1.0)
    return maths.real(rate) * (maths.real(positions[later]) - maths.real(positions[earlier]))


def _turned(q: Array, v: Array, stage: str, wrong: Wrong, maths: Maths) -> Array:
    q = w_last_taken_first(q) if wrong(f"{stage}.quaternion_order") else q
    direction = wrong(f"{stage}.direction")
    if direction == "none":
        return v
    return maths.rotate(conjugate(q) if direction == "inverse" else q, v)


def _joint_positions(here: Array, facing: Array, wrong: Wrong, maths: Maths) -> Array:
    scale = {"none": (1, 1, 1), "negated": (-1, 0, -1)}.get(wrong("root_on_ground.scale") or "", (1, 0, 1))
    origin = here[0] * maths.real(scale)
    q = w_last_taken_first(facing) if wrong("facing_positions.quaternion_order") else facing
    local = picked(
        {
            "into_frame": lambda: maths.rotate(conjugate(q), here - origin),
            "out_of_frame": lambda: maths.rotate(q, here) + origin,
            "into_frame_origin_kept": lambda: maths.rotate(conjugate(q), here),
            "into_frame_not_turned": lambda: here - origin,
            "out_of_frame_not_turned": lambda: here + origin,
        },
        wrong("facing_positions.direction"),
        lambda: maths.rotate(q, here - origin),
    )
    return local[_moving(wrong("joint_positions.order"))]


def _moving(reading: str | None) -> list[int]:
    names = _sides_swapped(JOINTS[1:]) if reading == "swapped_sides" else JOINTS[1:]
    places = list(PARENT[1:]) if reading == "of_the_parent" else [JOINTS.index(name) for name in names]
    return places[::-1] if reading == "reversed" else places


def _sides_swapped(names: Sequence[str]) -> list[str]:
    other = {"left": "right", "right": "left"}
    parts = [name.partition("_") for name in names]
    return [other.get(side, side) + joint + rest for side, joint, rest in parts]


def _joint_rotations(rotations: Array, wrong: Wrong, maths: Maths) -> Array:
    q = maths.real(rotations)[_moving(wrong("moving_rotations.order"))]
    matrix = to_matrix(w_last_taken_first(q) if wrong("joint_rotations.reads") else q)
    if wrong("joint_rotations.sense") == "transposed":
        matrix = matrix.swapaxes(-1, -2)
    writes = wrong("joint_rotations.writes")
    if writes == "interleaved":
        return matrix[..., :2].reshape(len(q), 6)
    if writes == "rows":
        return matrix[..., :2, :].reshape(len(q), 6)
    first, second = (1, 0) if writes == "columns_exchanged" else (0, 1)
    return np.concatenate([matrix[..., first], matrix[..., second]], axis=-1)


def _contacts(steps: Array, wrong: Wrong, maths: Maths) -> Array:
    reading = wrong("foot_steps.order")
    feet = {
        "as_given": sorted(FEET, key=JOINTS.index), "reversed": FEET[::-1], "swapped_sides": _sides_swapped(FEET),
    }.get(reading or "", FEET)  # fmt: skip
    step = steps[[JOINTS.index(name) for name in feet]]
    x, y, z = np.moveaxis(step, -1, 0)
    square = maths.total((x, x), (y, y), (z, z))
    size = picked({
        "euclidean": lambda: np.sqrt(square), "absolute_sum": lambda: np.abs(step).sum(axis=-1),
        "largest": lambda: np.abs(step).max(axis=-1),
    }, wrong("foot_speeds.measure"), lambda: square)  # fmt: skip
    limit = {"zero": 0.0, "half": 0.5, "squared": 0.002**2, "root": 0.002**0.5}.get(
        wrong("contacts.limit") or "", 0.002
    )
    side = wrong("contacts.side")
    if side == "not_applied":
        return size
    return (size > limit if side == "above" else size < limit).astype(F)
