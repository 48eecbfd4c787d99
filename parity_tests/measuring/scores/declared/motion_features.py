"""Features of a character's motion for a text-to-motion model: 22 joints in, 263 numbers out, a row less than frames."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .plain import AS_WRITTEN, Array, F, Maths, conjugate, drawn_turns, to_matrix

ANKLES_AND_FEET = (7, 10, 8, 11)
"""Left ankle, left foot, right ankle, right foot among the joints."""


def drawn_motion(frames: int, seed: int) -> dict[str, Array]:
    """A character that walks, turns and leans; its feet stand for some frames, creep for some, and swing for others."""
    rng = np.random.default_rng(seed)
    time = np.arange(frames)[:, None, None] / 20.0
    heading = 0.9 * np.sin(4.0 * time[:, 0, 0] + rng.uniform(0.0, 6.0)) + 0.5 * time[:, 0, 0]
    lean = drawn_turns(1, frames, seed + 1, size=0.3)[:, 0]
    yaw = np.stack([np.cos(0.5 * heading), 0 * heading, np.sin(0.5 * heading), 0 * heading], axis=-1)
    rest = rng.uniform(-0.6, 0.6, (1, 22, 3)) + np.array([0.0, 1.0, 0.0])
    swing = 0.2 * np.sin(rng.uniform(1.0, 5.0, (22, 3)) * time + rng.uniform(0.0, 6.0, (22, 3)))
    positions = rest + swing + np.concatenate([1.3 * time, 0.05 * np.sin(3.0 * time), 0.7 * time**1.2], axis=-1)
    for place in ANKLES_AND_FEET:
        sizes, signs = rng.choice([0.0, 1e-3, 0.02, 0.04, 0.3, 1.5], (frames, 3)), rng.choice([-1.0, 1.0], (frames, 3))
        positions[:, place] = rest[0, place] + np.cumsum(np.abs(sizes) * signs, axis=0)
    return {
        "positions": positions.reshape(frames, -1).astype(F),
        "rotations": drawn_turns(22, frames, seed + 2, size=1.5).reshape(frames, -1).astype(F),
        "root_rotation": AS_WRITTEN.product(lean.astype(F), yaw.astype(F)).astype(F),
    }


def run(motion: Mapping[str, Array], maths: Maths = AS_WRITTEN) -> dict[str, Array]:
    """The features of every frame but the last two, of which the first is looked at as the next one."""
    count = len(motion["positions"]) - 2
    rows = [np.concatenate([part.reshape(-1) for part in _parts(motion, t, maths)]).astype(F) for t in range(count)]
    return {**{name: values[:count] for name, values in motion.items()}, "features": np.stack(rows)}


def _parts(motion: Mapping[str, Array], t: int, maths: Maths) -> tuple[Array, ...]:
    """Yaw's speed, velocity and height of the root; positions, rotations, velocities of the joints; contacts."""
    here, there = (maths.real(motion["positions"][at]).reshape(22, 3) for at in (t, t + 1))
    facing, following = (maths.real(motion["root_rotation"][at]) for at in (t, t + 1))
    steps = maths.real(1.0) * (there - here)
    sine = maths.product(following, conjugate(facing))[[2]]
    x, y, z = np.moveaxis(steps[list(ANKLES_AND_FEET)], -1, 0)
    q = maths.real(motion["rotations"][t].reshape(22, 4))[1:]
    matrix = to_matrix(q)
    return (
        np.arcsin(np.clip(sine, -1.0, 1.0)), maths.rotate(following, steps[0])[[0, 2]], here[0, [1]],
        maths.rotate(facing, here - here[0] * maths.real((1, 0, 1)))[1:],
        np.concatenate([matrix[..., 0], matrix[..., 1]], axis=-1), maths.rotate(facing, steps),
        (maths.total((x, x), (y, y), (z, z)) < 0.002).astype(F),
    )  # fmt: skip
