"""Learned Motion Matching: step the state, decode the pose, move the root."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from .plain import AS_WRITTEN, Array, F, Maths, matrix_to_quaternion, w_last

FEATURES, BONES, STEP = 27, 22, 1.0 / 60.0


def run(
    stepper: Callable[[Array], Array], decompressor: Callable[[Array], Array], start: Array, frames: int,
    mistakes: Mapping[str, str], maths: Maths = AS_WRITTEN,
) -> dict[str, Array]:  # fmt: skip
    """Run free from a state (59,) and a tilted root; the recording holds state, pose and root."""
    state, position, rotation = start.astype(F), np.zeros(3, F), np.array([0.8, 0.36, -0.48, 0.0], F)
    step = STEP**2 if mistakes.get("next_state.step") == "squared" else STEP
    limit = {"zero": 0.0, "root": 0.5**0.5}.get(mistakes.get("contacts.limit", ""), 0.5)
    rows: dict[str, list[Array]] = {}
    for _ in range(frames):
        rate = stepper(state[None])[0].astype(F)
        state = maths.total((state, 1.0), (maths.real(step), rate)).astype(F)
        out = decompressor(state[None])[0].astype(F)
        moved, turned = maths.rotate(rotation, out[330:333]), maths.rotate(rotation, out[333:336])
        position = maths.total((position, 1.0), (maths.real(STEP), moved)).astype(F)
        rotation = _turned(rotation, turned, mistakes, maths).astype(F)
        published = {
            "stepper_out": rate, "decompressed": out, "features": state[:FEATURES], "latent": state[FEATURES:],
            "positions": out[:66], "rotations": _decoded(maths.real(out[66:198]).reshape(BONES, 6), mistakes).reshape(-1),
            "root_velocity": moved, "root_turn": turned, "root_position": position, "root_rotation": rotation,
            "contacts": out[336:338] > limit,
        }  # fmt: skip
        for name, value in published.items():
            rows.setdefault(name, []).append(value.astype(F))
    return {name: np.stack(values) for name, values in rows.items()}


def _turned(q: Array, omega: Array, mistakes: Mapping[str, str], maths: Maths) -> Array:
    angle = 1.0 if mistakes.get("root_rotation.angle") == "full" else 0.5
    half = maths.real(omega) * maths.real(STEP) * maths.real(angle)
    size = np.sqrt(np.sum(half * half))
    if size < 1e-8:
        small = np.concatenate([[maths.real(1.0)], half])
        return maths.product(small / np.sqrt(np.sum(small * small)), q)
    return maths.product(np.concatenate([[np.cos(size)], np.sin(size) / size * half]), q)


def _unit(v: Array) -> Array:
    return v / (np.sqrt(np.sum(v * v)) + v.dtype.type(1e-8))


def _decoded(six: Array, mistakes: Mapping[str, str]) -> Array:
    """(22, 6) to (22, 4) w, x, y, z; the first column is kept as it comes."""
    quaternions = []
    for numbers in six:
        first, second = (numbers[0::2], numbers[1::2])
        if mistakes.get("rotations.reads") == "columns_first_kept":
            first, second = numbers[:3], numbers[3:]
        third = _unit(np.cross(first, second))
        quaternion = matrix_to_quaternion(np.stack([first, _unit(np.cross(third, first)), third], axis=1))
        quaternions.append(w_last(quaternion) if mistakes.get("rotations.writes") == "xyzw" else quaternion)
    return np.array(quaternions, F)
