"""A quadruped's controller: a gating network, a motion network, 27 bones, a root on the ground."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .plain import AS_WRITTEN, Array, DrawnNetwork, F, Maths, conjugate

BONES, SAMPLE, NOW, FPS = 27, 13, 6, 60.0
GATING = DrawnNetwork((19,), 8, seed=1, gain=2.0, is_softmax=True)
MOTION = DrawnNetwork((480, 8), 363, seed=2, gain=0.6, hidden=32)
SEEN = np.concatenate([*(np.arange(12 * bone + 165, 12 * bone + 168) for bone in (10, 15, 19, 23)),
                       SAMPLE * NOW + np.arange(6, 13)])  # fmt: skip
"""What the gating network is given: velocities of the feet, speed and styles of the sample of now."""


@dataclass(frozen=True, eq=False)
class Statistics:
    """Mean and standard deviation of the input (480,) and the output (363,)."""

    input_mean: Array
    input_std: Array
    output_mean: Array
    output_std: Array


def drawn_trajectory(frames: int, seed: int) -> Array:
    """Twelve samples of where the character shall go, (frames, 156)."""
    rng, time = np.random.default_rng(seed), np.arange(frames)[:, None] / 20.0
    return np.sin(rng.uniform(0.5, 3.0, 156) * time + rng.uniform(0.0, 6.0, 156)).astype(F)


def run(statistics: Statistics, trajectory: Array, maths: Maths = AS_WRITTEN, seed: int = 0) -> dict[str, Array]:
    """Run free from drawn bones and a tilted root that stood still."""
    bones = np.random.default_rng(seed + 7).normal(0.0, 0.5, (BONES, 12)).astype(F)
    position, rotation = np.zeros(3, F), np.array([0.8, 0.36, -0.48, 0.0], F)
    step, turn = np.zeros(3, F), np.array([1.0, 0.0, 0.0, 0.0], F)
    input_std, output_std = maths.real(statistics.input_std), maths.real(statistics.output_std)
    rows: dict[str, list[Array]] = {}
    for now in trajectory:
        joined = np.concatenate([now, bones.reshape(-1)]).astype(F)
        scaled = ((maths.real(joined) - maths.real(statistics.input_mean)) / input_std).astype(F)
        experts = GATING(scaled[SEEN][None], maths=maths)[0]
        answer = MOTION(scaled[None], experts[None], maths=maths)[0]
        output = maths.total((maths.real(answer), output_std), (maths.real(statistics.output_mean), 1.0))
        stacked = _pose(output[36:360].reshape(BONES, 4, 3), maths.real(bones[:, :3]), step, turn, maths)
        step = maths.real(output[360:]) * maths.real((1 / FPS, 0, 1 / FPS))
        angle = maths.real(output[360:]) * maths.real((0, 1 / FPS, 0))
        turn = _quaternion(maths.real(np.pi / 180.0) * angle, maths)
        position = maths.rotate(maths.real(rotation), maths.real(step)) + maths.real(position)
        rotation = maths.product(rotation, turn)
        published = {
            "trajectory": now, "input_normalised": scaled, "expert_weights": experts, "output_normalised": answer,
            "bones": stacked, "future": output[:36], "root_step": step, "root_turn": turn, "root_position": position,
            "root_rotation": rotation,
        }  # fmt: skip
        for name, value in published.items():
            rows.setdefault(name, []).append(value.reshape(-1).astype(F))
        bones = stacked.reshape(BONES, 12).astype(F)
        position, rotation, step, turn = (each.astype(F) for each in (position, rotation, step, turn))
    return {name: np.stack(values) for name, values in rows.items()}


def _pose(answered: Array, before: Array, step: Array, turn: Array, maths: Maths) -> Array:
    """The bones: positions that are half answered and half moved, forward, up and velocity, bone by bone."""
    position, forward, up, velocity = np.moveaxis(answered, 1, 0)
    seen = maths.rotate(conjugate(maths.real(turn)), before - maths.real(step))
    moved = maths.total((seen, 1.0), (velocity, 1 / FPS))
    return np.stack([maths.total((moved, 0.5), (position, 0.5)), forward, up, velocity], axis=1)


def _quaternion(vector: Array, maths: Maths) -> Array:
    """A rotation vector in radians as w, x, y, z."""
    angle = np.sqrt(np.sum(vector * vector))
    axis = vector / (angle if angle > 0 else maths.real(1.0))
    return np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * axis]).astype(maths.kind)
