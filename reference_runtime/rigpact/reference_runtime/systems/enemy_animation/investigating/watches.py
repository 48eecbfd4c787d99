"""Early signs of trouble in the enemy animation: features beyond the clamp, saturated tanh, axes near zero.

Thresholds are derived at `ORDINARY_Z`, `TANH_SATURATION`, `NEAR_DEGENERATE`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from rigpact.contract.character import character_of
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROOT_VELOCITY
from rigpact.contract.statistics import TANH_SCALE_FLOOR, FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.files.sentinel import ORDINARY_Z, VISIBLE_RAD, Ordinary, Watch
from rigpact.reference_runtime.operations.geometry import KINDA_SMALL_NUMBER, length, perpendicular
from rigpact.reference_runtime.vocabulary.posing.denormalised_output import ADDS_IDENTITY
from rigpact.reference_runtime.vocabulary.posing.outputs import OutputStages

TANH_SATURATION = 9.02
"""Beyond atanh(1 - 2^-25) = 9.01 tanh rounds to 1 in float32: the channel carries no signal."""
NEAR_DEGENERATE = 10.0 * KINDA_SMALL_NUMBER
"""Ten times the length below which the engine replaces an axis."""


def watches(contract: Contract) -> Iterator[Watch]:
    """The watched quantities under a contract."""
    character = character_of(contract)
    for name in ("state", "cond"):
        yield Watch("clamp", name, ORDINARY_Z, lambda stages, name=name: stages[name])  # type: ignore[misc]
    for name, scales in ((ROOT_VELOCITY, character.rootvel_scales), (ANGULAR_VELOCITIES, character.angvel_scales)):
        yield _saturation(character.state[name].range, np.maximum(np.abs(scales), np.float32(TANH_SCALE_FLOOR)))
    yield Watch(
        "degenerate",
        "y_raw",
        NEAR_DEGENERATE,
        _AxisLengths(contract),
        OutputStages(contract).rotations.start,
        is_floor=True,
    )


def ordinary_state(contract: Contract) -> Ordinary:
    """The state in z-scores. A change that nobody sees is not a departure, even of a channel that never moved in training.

    The least raw change is a degree in a column of a rotation; in a squashed velocity or a yaw as a share of half a
    turn, 2% of its whole range is less than that.
    """
    character = character_of(contract)
    deviation = character.state_statistics.std_floored.astype(np.float64)
    least = np.full(len(deviation), np.inf)
    for entry in character.output:
        if entry.name in character.state and character.state[entry.name].size == entry.size:  # what is written back
            place = character.state[entry.name].range
            least[place] = VISIBLE_RAD / np.maximum(deviation[place], np.finfo(np.float32).tiny)
    return Ordinary("state", np.ones(len(deviation)), least)


def _saturation(place: slice, scale: FloatArray) -> Watch:
    return Watch("tanh", "x_raw", TANH_SATURATION, lambda stages: stages["x_raw"][place] / scale, place.start)


class _AxisLengths:
    """For each channel of the answered rotations: the length of its axis before normalisation."""

    def __init__(self, contract: Contract) -> None:
        self._outputs = OutputStages(contract)
        offset = ADDS_IDENTITY[contract.conventions.output_mode]
        self._offset = self._outputs.codec.identity(character_of(contract).bone_count) * offset

    def __call__(self, stages: Mapping[str, FloatArray]) -> FloatArray:
        a, b = self._outputs.codec.split(stages["y_raw"][self._outputs.rotations].astype(np.float64) + self._offset)
        size = length(a)
        rest = length(perpendicular(b, a / np.maximum(size, KINDA_SMALL_NUMBER)))
        return np.repeat(np.concatenate((size, rest), axis=-1), 3, axis=-1).reshape(-1)
