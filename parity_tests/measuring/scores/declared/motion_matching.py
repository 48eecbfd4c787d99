"""Learned Motion Matching: step the state, decode the pose, move the root."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .plain import AS_WRITTEN, Array, F, Maths, matrix_to_quaternion

FEATURES, BONES, STEP = 27, 22, 1.0 / 60.0


def run(
    stepper: Callable[[Array], Array], decompressor: Callable[[Array], Array], start: Array, frames: int,
    maths: Maths = AS_WRITTEN,
) -> dict[str, Array]:  # fmt: skip
    """Run free from a state (59,) and a tilted root; the recording holds state, pose and root."""
    state, position, rotation = start.astype(F), np.zeros(3, F), np.array([0.8, 0.36, -0.48, 0.0], F)
    rows: dict[str, list[Array]] = {}
    for _ in range(frames):
        rate = stepper(state[None])[0].astype(F)
        state = maths.total((state, 1.0), (maths.real(STEP), rate)).astype(F)
        out = decompressor(state[None])[0].astype(F)
        moved, turned = maths.rotate(rotation, out[330:333]), maths.rotate(rotation, out[333:336])
        position = maths.total((position, 1.0), (maths.real(STEP), moved)).astype(F)
        rotation = _turned(rotation, turned, maths).astype(F)
        published = {
            "stepper_out": rate, "decompressed": out, "features": state[:FEATURES], "latent": state[FEATURES:],
            "positions": out[:66], "rotations": _decoded(maths.real(out[66:198]).reshape(BONES, 6)).reshape(-1),
            "root_velocity": moved, "root_turn": turned, "root_position": position, "root_rotation": rotation,
            "contacts": out[336:338] > 0.5,
        }  # fmt: skip
        for name, value in published.items():
            rows.setdefault(name, []).append(value.astype(F))
    return {name: np.stack(values) for name, values in rows.items()}


def _turned(q: Array, omega: Array, maths: Maths) -> Array:
    half = maths.real(omega) * maths.real(STEP) * maths.real(0.5)
    size = np.sqrt(np.sum(half * half))
    if size < 1e-8:
        small = np.concatenate([[maths.real(1.0)], half])
        return maths.product(small / np.sqrt(np.sum(small * small)), q)
    return maths.product(np.concatenate([[np.cos(size)], np.sin(size) / size * half]), q)


def _unit(v: Array) -> Array:
    return v / (np.sqrt(np.sum(v * v)) + v.dtype.type(1e-8))


def _decoded(six: Array) -> Array:
    """(22, 6) to (22, 4) w, x, y, z; the first column is kept as it comes."""
    quaternions = []
    for numbers in six:
        first, second = (numbers[0::2], numbers[1::2])
        third = _unit(np.cross(first, second))
        quaternions.append(matrix_to_quaternion(np.stack([first, _unit(np.cross(third, first)), third], axis=1)))
    return np.array(quaternions, F)
