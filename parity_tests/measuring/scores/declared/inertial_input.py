"""The input of a network that reads six inertial sensors: orientations and accelerations as seen from the pelvis.

Written from the description of the published input. It imports nothing of rigpact. `mistakes` names what this side does wrong,
as knob and value of the contract.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from .plain import (
    AS_WRITTEN,
    Array,
    F,
    Maths,
    conjugate,
    drawn_turns,
    matrix_to_quaternion,
    near_orders,
    picked,
    to_matrix,
    w_last,
    w_last_taken_first,
)

LEAVES = {"reversed": [4, 3, 2, 1, 0], "swapped_sides": [1, 0, 3, 2, 4]}
PELVIS = 5
Wrong = Callable[[str], "str | None"]


def drawn_sensors(frames: int, seed: int) -> dict[str, Array]:
    """Six sensors on a body that moves."""
    turns = drawn_turns(6, frames, seed, size=1.8)
    time = np.arange(frames)[:, None] / 60.0
    rng = np.random.default_rng(seed + 1)
    accelerations = 6.0 * np.sin(rng.uniform(2.0, 20.0, 18) * time + rng.uniform(0.0, 6.0, 18))
    return {
        "orientations": to_matrix(turns).reshape(frames, 54).astype(F),
        "accelerations": accelerations.astype(F),
    }


def run(sensors: Mapping[str, Array], mistakes: Mapping[str, str], maths: Maths = AS_WRITTEN) -> dict[str, Array]:
    """The 72 numbers of every frame."""
    wrong = mistakes.get
    rows = []
    for orientations, accelerations in zip(sensors["orientations"], sensors["accelerations"], strict=True):
        quaternions = _quaternions(maths.real(orientations), wrong)
        root, leaves = quaternions[PELVIS], quaternions[LEAVES.get(wrong("leaf_rotations.order") or "", slice(0, 5))]
        parts = {
            "acceleration": _accelerations(maths.real(accelerations).reshape(6, 3), root, wrong, maths),
            "leaf_orientation": _orientations(leaves, root, wrong, maths),
            "root_orientation": orientations[9 * PELVIS :],
        }
        order = near_orders(list(parts), wrong("network_input.order"))
        rows.append(np.concatenate([parts[name].reshape(-1) for name in order]).astype(F))
    return {**sensors, "network_input": np.stack(rows)}


def _quaternions(orientations: Array, wrong: Wrong) -> Array:
    """(54,) to what this side holds for each sensor, (6, 4)."""
    matrices = orientations.reshape(6, 3, 3)
    if (wrong("rotations.reads") == "column_major") != (wrong("rotations.sense") == "transposed"):
        matrices = matrices.swapaxes(-1, -2)
    quaternions = np.stack([matrix_to_quaternion(matrix) for matrix in matrices])
    return w_last(quaternions) if wrong("rotations.writes") == "xyzw" else quaternions


def _accelerations(sensed: Array, root: Array, wrong: Wrong, maths: Maths) -> Array:
    leaves = sensed[LEAVES.get(wrong("leaf_accelerations.order") or "", slice(0, 5))]
    pelvis = sensed[PELVIS]
    q = w_last_taken_first(root) if wrong("leaf_acceleration_in_root.quaternion_order") else root
    seen = picked(
        {
            "out_of_frame": lambda: maths.rotate(q, leaves) + pelvis,
            "into_frame_origin_kept": lambda: maths.rotate(conjugate(q), leaves),
            "into_frame_turned_forward": lambda: maths.rotate(q, leaves - pelvis),
            "into_frame_not_turned": lambda: leaves - pelvis,
            "out_of_frame_not_turned": lambda: leaves + pelvis,
        },
        wrong("leaf_acceleration_in_root.direction"),
        lambda: maths.rotate(conjugate(q), leaves - pelvis),
    )
    own = w_last_taken_first(root) if wrong("root_acceleration_in_root.quaternion_order") else root
    direction = wrong("root_acceleration_in_root.direction")
    if direction != "none":
        pelvis = maths.rotate(own if direction == "forward" else conjugate(own), pelvis)
    both = [seen, pelvis[None]]
    joined = np.concatenate(both[::-1] if wrong("all_accelerations.order") else both)
    divisor = {
        "none": 1.0, "inverse": 1.0 / 30.0, "twice": 900.0, "negated": -30.0, "counted_in_g": 1.0 / 0.0033989,
        "one_g": 1.0 / 0.1019716,
    }.get(wrong("acceleration.scale") or "", 30.0)  # fmt: skip
    return joined / maths.real(divisor)


def _orientations(leaves: Array, root: Array, wrong: Wrong, maths: Maths) -> Array:
    a = w_last_taken_first(root) if wrong("leaf_rotations_in_root.quaternion_order") else root
    b = w_last_taken_first(leaves) if wrong("leaf_rotations_in_root.second_quaternion_order") else leaves
    seen = picked({
        "first_second": lambda: maths.product(a, b), "second_first": lambda: maths.product(b, a),
        "inverse_of_second": lambda: maths.product(a, conjugate(b)), "first_only": lambda: np.broadcast_to(a, b.shape),
        "second_only": lambda: b,
    }, wrong("leaf_rotations_in_root.product"), lambda: maths.product(conjugate(a), b))  # fmt: skip
    matrices = to_matrix(w_last_taken_first(seen) if wrong("leaf_orientation.reads") else seen)
    is_turned = (wrong("leaf_orientation.writes") == "column_major") != (
        wrong("leaf_orientation.sense") == "transposed"
    )
    return matrices.swapaxes(-1, -2) if is_turned else matrices
