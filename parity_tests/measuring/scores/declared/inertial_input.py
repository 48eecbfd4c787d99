"""The input of a network that reads six inertial sensors: orientations and accelerations as seen from the pelvis."""

from __future__ import annotations

from collections.abc import Mapping

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
    to_matrix,
    w_last,
    w_last_taken_first,
)  # fmt: skip

LEAVES = {"reversed": [4, 3, 2, 1, 0], "swapped_sides": [1, 0, 3, 2, 4]}
PELVIS = 5


def drawn_sensors(frames: int, seed: int) -> dict[str, Array]:
    """Six sensors on a body that moves."""
    turns, rng = drawn_turns(6, frames, seed, size=1.8), np.random.default_rng(seed + 1)
    time = np.arange(frames)[:, None] / 60.0
    accelerations = 6.0 * np.sin(rng.uniform(2.0, 20.0, 18) * time + rng.uniform(0.0, 6.0, 18))
    return {"orientations": to_matrix(turns).reshape(frames, 54).astype(F), "accelerations": accelerations.astype(F)}


def run(sensors: Mapping[str, Array], mistakes: Mapping[str, str], maths: Maths = AS_WRITTEN) -> dict[str, Array]:
    """The 72 numbers of every frame."""
    rows = []
    for orientations, accelerations in zip(sensors["orientations"], sensors["accelerations"], strict=True):
        matrices = maths.real(orientations).reshape(6, 3, 3)
        quaternions = np.stack([matrix_to_quaternion(matrix) for matrix in matrices])
        quaternions = w_last(quaternions) if mistakes.get("rotations.writes") else quaternions
        root, leaves = quaternions[PELVIS], quaternions[:PELVIS]
        leaves = (
            w_last_taken_first(leaves) if mistakes.get("leaf_rotations_in_root.second_quaternion_order") else leaves
        )
        parts = {
            "acceleration": _accelerations(maths.real(accelerations).reshape(6, 3), root, mistakes, maths),
            "leaf_orientation": to_matrix(maths.product(conjugate(root), leaves)),
            "root_orientation": orientations[9 * PELVIS :],
        }
        order = near_orders(list(parts), mistakes.get("network_input.order"))
        rows.append(np.concatenate([parts[name].reshape(-1) for name in order]).astype(F))
    return {**sensors, "network_input": np.stack(rows)}


def _accelerations(sensed: Array, root: Array, mistakes: Mapping[str, str], maths: Maths) -> Array:
    pelvis, leaves = sensed[PELVIS], sensed[LEAVES.get(mistakes.get("leaf_accelerations.order", ""), slice(0, 5))]
    seen = maths.rotate(conjugate(root), leaves - pelvis)
    divisor = 1.0 / 30.0 if mistakes.get("acceleration.scale") == "inverse" else 30.0
    return np.concatenate([seen, maths.rotate(conjugate(root), pelvis)[None]]) / maths.real(divisor)
