"""Mistakes of an engine at one stage that are not another convention: a diagnosis must not name a cause for them."""

from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.character import character_of
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.fixtures.mutants.engine import Stages

from ..scene import Scene, Spoil


def of(stage: str, change: Callable[[FloatArray], FloatArray]) -> tuple[str, Spoil]:
    """A change of the numbers of a stage alone."""
    return stage, lambda stages, _: change(stages[stage].copy())


def late(rows: FloatArray) -> FloatArray:
    """Every frame gets the value of the frame before."""
    return np.concatenate((rows[:1], rows[:-1]))


def noisy(size: float) -> Callable[[FloatArray], FloatArray]:
    """Seeded normal noise."""
    return lambda rows: rows + np.random.default_rng(3).normal(0.0, size, rows.shape)


def with_column(rows: FloatArray, channel: int, factor: float) -> FloatArray:
    """One channel multiplied."""
    rows[:, channel] *= factor
    return rows


def _angvel_in_degrees(stages: Stages, scene: Scene) -> FloatArray:
    character, state = character_of(scene.contract), stages["state"].copy()
    place, own = character.state[ANGULAR_VELOCITIES].range, character.state_statistics
    feature = np.tanh(np.degrees(stages["x_raw"][:, place]) / np.abs(character.angvel_scales))
    state[:, place] = (feature - own.mean[place]) / own.std_floored[place]
    return state


def _last_bone_skipped(stages: Stages, scene: Scene) -> FloatArray:
    values = stages["next6d"].copy()
    values[:, -6:] = stages["x_raw"][:, character_of(scene.contract).state[ROTATIONS].range][:, -6:]
    return values


SLIPS: Mapping[str, tuple[str, Spoil]] = {
    "raw state one frame late": of("x_raw", late),
    "angular velocity in degrees": ("state", _angvel_in_degrees),
    "one state channel's sign": of("state", lambda rows: with_column(rows, 60, -1.0)),
    "contacts always on": of("contacts", np.ones_like),
    "angular velocity in radians per frame": of("angvel", lambda rows: rows * np.float32(1.0 / 60.0)),
    "history ring never advances": of("pose_hist_raw", lambda rows: np.repeat(rows[:1], len(rows), axis=0)),
    "normalised history in float16": of("pose_hist", lambda rows: rows.astype(np.float16)),
    "noise on the network output": of("y_norm", noisy(1e-3)),
    "network output scaled by 1.01": of("y_norm", lambda rows: rows * np.float32(1.01)),
    "ΔR one frame late": of("delta6d", late),
    "last bone skipped": ("next6d", _last_bone_skipped),
    "quaternions not of unit length": of("quat", lambda rows: rows * np.float32(1.01)),
}
