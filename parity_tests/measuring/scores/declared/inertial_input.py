"""The input of a network that reads six inertial sensors: orientations and accelerations as seen from the pelvis."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .plain import AS_WRITTEN, Array, F, Maths, conjugate, drawn_turns, matrix_to_quaternion, to_matrix

PELVIS = 5


def drawn_sensors(frames: int, seed: int) -> dict[str, Array]:
    """Six sensors on a body that moves."""
    turns, rng = drawn_turns(6, frames, seed, size=1.8), np.random.default_rng(seed + 1)
    time = np.arange(frames)[:, None] / 60.0
    accelerations = 6.0 * np.sin(rng.uniform(2.0, 20.0, 18) * time + rng.uniform(0.0, 6.0, 18))
    return {"orientations": to_matrix(turns).reshape(frames, 54).astype(F), "accelerations": accelerations.astype(F)}


def run(sensors: Mapping[str, Array], maths: Maths = AS_WRITTEN) -> dict[str, Array]:
    """The 72 numbers of every frame."""
    rows = []
    for orientations, accelerations in zip(sensors["orientations"], sensors["accelerations"], strict=True):
        matrices = maths.real(orientations).reshape(6, 3, 3)
        quaternions = np.stack([matrix_to_quaternion(matrix) for matrix in matrices])
        root, leaves = quaternions[PELVIS], quaternions[:PELVIS]
        parts = (
            _accelerations(maths.real(accelerations).reshape(6, 3), root, maths),
            to_matrix(maths.product(conjugate(root), leaves)),
            orientations[9 * PELVIS :],
        )
        rows.append(np.concatenate([part.reshape(-1) for part in parts]).astype(F))
    return {**sensors, "network_input": np.stack(rows)}


def _accelerations(sensed: Array, root: Array, maths: Maths) -> Array:
    pelvis, leaves = sensed[PELVIS], sensed[:PELVIS]
    seen = maths.rotate(conjugate(root), leaves - pelvis)
    return np.concatenate([seen, maths.rotate(conjugate(root), pelvis)[None]]) / maths.real(30.0)
