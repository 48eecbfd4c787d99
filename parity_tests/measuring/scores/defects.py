"""Random defects that are not conventions: a diagnosis must not name a cause for them.

Each is drawn from a seed: a stage, a frame, a bone or channel, a kind and a size. To add a kind: a row in `KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass

import numpy as np

from rigpact.contract.layout import INPUTS
from rigpact.contract.pages.registry import find_system
from rigpact.contract.statistics import FloatArray
from rigpact.fixtures.mutants.engine import Spoil, Stages, slip
from rigpact.fixtures.mutants.scene import Scene, SyntheticNetwork
from rigpact.fixtures.mutants.slips import frame_dropped, frame_repeated, scaled
from rigpact.reference_runtime.operations.rot6d import Rot6d

STAGE_NAMES = find_system("enemy_animation").graph.names

POSE_STAGES = ("delta6d", "next6d", "y_out")


@dataclass(frozen=True, eq=False)
class Defect:
    """A spoilt run: all stages (T, width) as recorded, and the stage that was spoilt."""

    name: str
    stage: str
    stages: Stages


Kind = Callable[[Stages, str, np.random.Generator], tuple[str, Spoil]]


def random_defects(scene: Scene, count: int, seed: int) -> Iterator[Defect]:
    """`count` defects of a scene, every kind in turn."""
    honest = scene.record().stages
    chance = np.random.default_rng(seed)
    for index in range(count):
        kind, (make, places) = list(KINDS.items())[index % len(KINDS)]
        stage = str(chance.choice([place for place in places if place in honest]))
        words, spoil = make(honest, stage, chance)
        yield Defect(f"{index}: {kind}, {stage}, {words}", stage, slip(scene, honest, stage, spoil))


def _size_of(values: FloatArray) -> float:
    return float(np.abs(values).mean()) or 1.0


def _channel_off(stages: Stages, stage: str, chance: np.random.Generator) -> tuple[str, Spoil]:
    channel, start = int(chance.integers(stages[stage].shape[1])), int(chance.integers(len(stages[stage]) - 2))
    amount = float(chance.choice((-1.0, 1.0)) * 10.0 ** chance.uniform(-2.0, 0.5) * _size_of(stages[stage]))

    def spoil(honest: Stages, _scene: Scene) -> FloatArray:
        values = honest[stage].copy()
        values[start:, channel] += np.float32(amount)
        return values

    return f"channel {channel} off by {amount:.3g} from frame {start}", spoil


def _channel_stuck(stages: Stages, stage: str, chance: np.random.Generator) -> tuple[str, Spoil]:
    moving = np.flatnonzero(np.ptp(stages[stage], axis=0) > 0.0)
    channel = int(chance.choice(moving)) if len(moving) else 0
    start = int(chance.integers(1, len(stages[stage]) - 2))

    def spoil(honest: Stages, _scene: Scene) -> FloatArray:
        values = honest[stage].copy()
        values[start:, channel] = values[start - 1, channel]
        return values

    return f"channel {channel} stuck from frame {start}", spoil


def _noise(stages: Stages, stage: str, chance: np.random.Generator) -> tuple[str, Spoil]:
    size = float(10.0 ** chance.uniform(-3.0, 0.0) * _size_of(stages[stage]))
    values = stages[stage] + chance.normal(0.0, size, stages[stage].shape)
    return f"size {size:.2g}", lambda _honest, _scene: values


def _bit_flipped(stages: Stages, stage: str, chance: np.random.Generator) -> tuple[str, Spoil]:
    """One of the upper bits of the mantissa, or the lowest of the exponent, of one number in one frame."""
    values = np.array(stages[stage], np.float32)
    row, channel, bit = (
        int(chance.integers(values.shape[0])),
        int(chance.integers(values.shape[1])),
        int(chance.integers(17, 25)),
    )
    values.view(np.uint32)[row, channel] ^= np.uint32(1 << bit)
    return f"bit {bit} of channel {channel} in frame {row}", lambda _honest, _scene: values


def _turned(frames: slice, bone: int, turn: FloatArray, stage: str) -> Spoil:
    def spoil(honest: Stages, scene: Scene) -> FloatArray:
        codec = Rot6d(scene.contract.conventions)
        matrices = codec.decode(honest[stage].astype(np.float64))
        matrices[frames, bone] = turn @ matrices[frames, bone]
        values = honest[stage].copy()
        place = slice(6 * bone, 6 * bone + 6)
        values[frames, place] = codec.encode(matrices).astype(np.float32)[frames, place]
        return values

    return spoil


def _bone_turned_once(stages: Stages, stage: str, chance: np.random.Generator) -> tuple[str, Spoil]:
    bone, frame = int(chance.integers(stages[stage].shape[1] // 6)), int(chance.integers(len(stages[stage])))
    turn, degrees = _random_turn(chance)
    return f"bone {bone} by {degrees:.2g} degrees in frame {frame}", _turned(slice(frame, frame + 1), bone, turn, stage)


def _bone_offset(stages: Stages, stage: str, chance: np.random.Generator) -> tuple[str, Spoil]:
    bone = int(chance.integers(stages[stage].shape[1] // 6))
    turn, degrees = _random_turn(chance)
    return f"bone {bone} by {degrees:.2g} degrees", _turned(slice(None), bone, turn, stage)


def _random_turn(chance: np.random.Generator) -> tuple[FloatArray, float]:
    """A rotation about a random axis by 0.1 to 90 degrees, (3, 3)."""
    x, y, z = (axis := chance.normal(0.0, 1.0, 3)) / np.linalg.norm(axis)
    angle = np.radians(0.1) * 900.0 ** chance.uniform()
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * skew + (1.0 - np.cos(angle)) * skew @ skew, float(np.degrees(angle))


def _frame_lost(stages: Stages, stage: str, chance: np.random.Generator) -> tuple[str, Spoil]:
    at = int(chance.integers(1, len(stages[stage]) - 2))
    return (
        (f"frame {at} dropped", frame_dropped(stage, at))
        if chance.integers(2)
        else (f"frame {at} stepped twice", frame_repeated(stage, at))
    )


def _scaled(_stages: Stages, stage: str, chance: np.random.Generator) -> tuple[str, Spoil]:
    factor = float(1.0 + chance.choice((-1.0, 1.0)) * 10.0 ** chance.uniform(-2.5, -0.5))
    return f"by {factor:.4g}", scaled(stage, factor)


def _weight(_stages: Stages, stage: str, chance: np.random.Generator) -> tuple[str, Spoil]:
    """One weight of the second layer, or of the first, changed; needs a network whose weights are at hand."""
    amount, which = float(10.0 ** chance.uniform(-2.0, 0.0)), int(chance.integers(2))
    place = chance.random(2)

    def spoil(honest: Stages, scene: Scene) -> FloatArray:
        network = scene.network
        if not isinstance(network, SyntheticNetwork):  # the trained model: its answer to another weight is another bias
            values = honest[stage].copy()
            values[:, int(place[0] * values.shape[1])] += np.float32(amount * _size_of(values))
            return values
        return _with_weight(network, which, place, amount).run([honest[name] for name in INPUTS], 0)

    return f"layer {which} by {amount:.2g}", spoil


def _with_weight(network: SyntheticNetwork, layer: int, place: FloatArray, amount: float) -> SyntheticNetwork:
    """A copy with `amount` added to one weight; place: row and column as fractions of the matrix, in [0, 1)."""
    changed = copy(network)
    weights = (network.first, network.second)[layer].copy()
    row, column = (int(fraction * size) for fraction, size in zip(place, weights.shape, strict=True))
    weights[row, column] += np.float32(amount)
    if layer == 0:
        changed.first = weights
    else:
        changed.second = weights
    return changed


KINDS: Mapping[str, tuple[Kind, tuple[str, ...]]] = {
    "one channel off": (_channel_off, STAGE_NAMES),
    "one channel stuck": (_channel_stuck, tuple(stage for stage in STAGE_NAMES if stage not in ("cond_raw", "cond"))),
    "noise": (_noise, STAGE_NAMES),
    "a bit flipped": (_bit_flipped, STAGE_NAMES),
    "a bone turned in one frame": (_bone_turned_once, POSE_STAGES),
    "a wrong bone offset": (_bone_offset, POSE_STAGES),
    "a frame lost": (_frame_lost, ("x_raw", "state", "pose_hist_raw", "y_norm", "y_raw", "next6d", "y_out", "quat")),
    "values scaled": (_scaled, ("state", "angvel", "pose_hist", "y_norm", "y_raw", "x_raw")),
    "a weight changed": (_weight, ("y_norm",)),
}
"""Each kind of defect, and the stages that it is put into."""
