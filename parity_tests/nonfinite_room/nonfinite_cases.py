"""Seeded runs that become non-finite, each with the place where it happens: the corpus for origin finding.

Every case is built by damaging one thing in a sound character of three bones (or the demo model); where the damage shows is
worked out here from the engine's formulas, not from any finder. To add a kind: a function in `KINDS`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from rigpact.contract.statistics import FloatArray, Statistics, frozen_float32
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.graph.run import Mode
from rigpact.reference_runtime.network import CallableNetwork, Network, ReplayNetwork
from rigpact.reference_runtime.recordings.clip import Clip
from rigpact.reference_runtime.systems.enemy_animation.investigating.faults import Fault

from .nonfinite_character import (
    ANGULAR_START,
    BONES,
    CLIP_FRAMES,
    HISTORY,
    ROTATIONS_START,
    SIX,
    STATE,
    THREE,
    WIDTH,
    WITH_POSITION,
    ordinary_statistics,
    sound_clip,
    sound_contract,
    sound_network,
)

BAD = (np.nan, np.inf, -np.inf)


@dataclass(frozen=True)
class Expected:
    """Where a case becomes non-finite; None where the place has no such thing."""

    frame: int
    stage: str
    channel: int | None
    bone: str | None = None
    slice: str | None = None
    node: str | None = None


@dataclass(frozen=True, eq=False)
class Case:
    """A run and where it fails. `guard` names the single change that it survives, where one is known."""

    name: str
    kind: str
    contract: Contract
    network: Network
    clip: Clip
    expected: Expected
    mode: Mode = "free"
    frames: int = 10
    faults: tuple[Fault, ...] = ()
    guard: str | None = None


def _case(kind: str, seed: int, expected: Expected, **changes: Any) -> Case:
    parts: dict[str, Any] = {"contract": sound_contract(), "network": sound_network(), "clip": sound_clip(seed)}
    return Case(name=f"{kind} {seed}", kind=kind, expected=expected, **{**parts, **changes})


def _changed(values: FloatArray, index: int, value: float) -> FloatArray:
    copy = np.array(values, np.float32)
    copy[index] = value
    return frozen_float32(copy)


def _state_place(channel: int) -> tuple[str, str | None]:
    """Slice and bone of a state channel."""
    place = STATE.slice_at(channel)
    name = place.name if place else ""
    per_bone = {"BoneRotations6D": 6, "BoneAngularVelocities": 3}.get(name)
    return name, BONES[(channel - place.start) // per_bone] if per_bone and place else None


def bad_state_statistics(seed: int) -> Case:
    """MuX or StdX that is not a number; the state is wrong from the first frame on."""
    chance = np.random.default_rng(seed)
    channel, value = int(chance.integers(WIDTH)), BAD[seed % 3]
    contract = sound_contract()
    own = contract.numbers.state_statistics
    if seed % 2 and np.isnan(value):
        damaged = Statistics(own.mean, _changed(own.std, channel, value))
    else:
        damaged = Statistics(_changed(own.mean, channel, value), own.std)
    name, bone = _state_place(channel)
    place = Expected(0, "state", channel, bone, name)
    damaged_contract = contract.with_numbers(replace(contract.numbers, state_statistics=damaged))
    return _case("bad state statistic", seed, place, contract=damaged_contract, guard="finite-statistics")


def bad_output_statistics(seed: int) -> Case:
    """StdY that is not a number."""
    channel = int(np.random.default_rng(seed).integers(SIX))
    contract = sound_contract()
    own = contract.numbers.output_statistics
    damaged = Statistics(own.mean, _changed(own.std, channel, BAD[seed % 3]))
    place = Expected(0, "y_raw", channel, BONES[channel // 6], "BoneRotations6D")
    damaged_contract = contract.with_numbers(replace(contract.numbers, output_statistics=damaged))
    return _case("bad output statistic", seed, place, contract=damaged_contract, guard="finite-statistics")


def bad_auxiliary_statistics(seed: int) -> Case:
    """A mean of the pose history or of the angular velocity that is not a number."""
    contract, history = sound_contract(), seed % 2 == 0
    own = contract.numbers.pose_history if history else contract.numbers.angular_velocity
    if own is None:
        raise ValueError("the sound contract has both")
    channel = int(np.random.default_rng(seed).integers(own.width))
    damaged = replace(own, statistics=Statistics(_changed(own.statistics.mean, channel, np.nan), own.statistics.std))
    if history:
        contract = contract.with_numbers(replace(contract.numbers, pose_history=damaged))
        place = Expected(0, "pose_hist", channel, BONES[channel % SIX // 6], f"history[{channel // SIX}]")
    else:
        contract = contract.with_numbers(replace(contract.numbers, angular_velocity=damaged))
        place = Expected(0, "angvel", channel, BONES[channel // 3], "BoneAngularVelocities")
    return _case("bad auxiliary statistic", seed, place, contract=contract, guard="finite-statistics")


def tiny_std(seed: int) -> Case:
    """A deviation below anything that float32 can divide by, in an implementation without the floor."""
    channel = int(np.random.default_rng(seed).integers(ROTATIONS_START))
    contract = sound_contract()
    own = contract.numbers.state_statistics
    value = 0.0 if seed % 2 else 1e-42
    contract = contract.with_numbers(
        replace(contract.numbers, state_statistics=Statistics(own.mean, _changed(own.std, channel, value)))
    )
    name, bone = _state_place(channel)
    return _case(
        "std without floor",
        seed,
        Expected(0, "state", channel, bone, name),
        contract=contract,
        faults=(Fault("no-std-floor"),),
        guard="std-floor",
    )


def zero_scale(seed: int) -> Case:
    """A bone that never moves: its scale is 0 and so is its velocity, 0 / 0 without the floor."""
    channel = int(np.random.default_rng(seed).integers(THREE))
    contract, clip = sound_contract(), sound_clip(seed)
    velocity = clip.angular_velocity_rad_s.copy()
    velocity[:, channel] = 0.0
    contract = contract.with_numbers(
        replace(contract.numbers, angvel_scales=_changed(contract.numbers.angvel_scales, channel, 0.0))
    )
    name, bone = _state_place(ANGULAR_START + channel)
    return _case(
        "zero scale",
        seed,
        Expected(0, "state", ANGULAR_START + channel, bone, name),
        contract=contract,
        clip=replace(clip, angular_velocity_rad_s=velocity),
        faults=(Fault("no-scale-floor"),),
        guard="scale-floor",
    )


def zero_history_scale(seed: int) -> Case:
    """The same in the pose history: a component that is always 0."""
    contract = sound_contract()
    own = contract.numbers.pose_history
    if own is None:
        raise ValueError("the sound contract has a history")
    # z of the first axis of a turn about z is 0 in every frame of the seed
    entry, bone = seed % HISTORY, seed % len(BONES)
    channel = entry * SIX + 6 * bone + 2
    contract = contract.with_numbers(
        replace(contract.numbers, pose_history=replace(own, scale=_changed(own.scale, channel, 0.0)))
    )
    place = Expected(0, "pose_hist", channel, BONES[bone], f"history[{entry}]")
    return _case(
        "zero history scale", seed, place, contract=contract, faults=(Fault("no-scale-floor"),), guard="scale-floor"
    )


def tanh_overflow(seed: int) -> Case:
    """tanh as a quotient of exponentials: e^(2x) overflows beyond x = 355 in float64."""
    chance = np.random.default_rng(seed)
    channel, frame = int(chance.integers(THREE)), 0
    contract = sound_contract()
    contract = contract.with_numbers(
        replace(contract.numbers, angvel_scales=_changed(contract.numbers.angvel_scales, channel, 1e-3))
    )
    name, bone = _state_place(ANGULAR_START + channel)
    return _case(
        "overflow in tanh",
        seed,
        Expected(frame, "state", ANGULAR_START + channel, bone, name),
        contract=contract,
        faults=(Fault("exp-tanh"),),
        guard="library-tanh",
    )


def degenerate_column(seed: int) -> Case:
    """A first column of exactly 0, or a second one parallel to it, with nothing to fall back on."""
    chance = np.random.default_rng(seed)
    frame, bone, parallel = int(chance.integers(1, 8)), int(chance.integers(len(BONES))), seed % 2
    outputs = chance.normal(0.0, 0.05, (10, SIX)).astype(np.float32)
    contract = sound_contract()
    deviations = Statistics(contract.numbers.output_statistics.mean, frozen_float32(np.full(SIX, 0.5)))
    contract = contract.with_numbers(replace(contract.numbers, output_statistics=deviations))
    six = outputs[frame, 6 * bone : 6 * bone + 6]
    # residual mode: the identity (1, 0, 0, 0, 0, 1) is added to half of these
    six[:] = (2.0, 0.0, 0.0, 4.0, 0.0, -2.0) if parallel else (-2.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    channel = 6 * bone + (3 if parallel else 0)
    place = Expected(frame, "delta6d", channel, BONES[bone], "BoneRotations6D")
    return _case(
        "degenerate column",
        seed,
        place,
        contract=contract,
        network=ReplayNetwork(outputs),
        faults=(Fault("no-axis-guard"),),
        guard="fallback-axis",
    )


def output_overflow(seed: int) -> Case:
    """A finite network output that overflows on denormalising."""
    chance = np.random.default_rng(seed)
    frame, channel = int(chance.integers(1, 9)), int(chance.integers(SIX))
    outputs = chance.normal(0.0, 0.05, (10, SIX)).astype(np.float32)
    outputs[frame, channel] = 3e38 if seed % 2 else -3e38
    contract = sound_contract()
    own = contract.numbers.output_statistics
    contract = contract.with_numbers(
        replace(contract.numbers, output_statistics=Statistics(own.mean, _changed(own.std, channel, 4.0)))
    )
    place = Expected(frame, "y_raw", channel, BONES[channel // 6], "BoneRotations6D")
    return _case("overflow on denormalising", seed, place, contract=contract, network=ReplayNetwork(outputs))


def recorded_output(seed: int) -> Case:
    """A recorded network output that is not a number."""
    chance = np.random.default_rng(seed)
    frame, channel = int(chance.integers(10)), int(chance.integers(SIX))
    outputs = chance.normal(0.0, 0.05, (10, SIX)).astype(np.float32)
    outputs[frame, channel] = BAD[seed % 3]
    place = Expected(frame, "y_norm", channel, BONES[channel // 6], "BoneRotations6D")
    return _case("recorded output", seed, place, network=ReplayNetwork(outputs))


_CLIP_FIELDS: tuple[tuple[str, int], ...] = (
    ("root_position_m", 0), ("root_velocity_m_s", 3), ("root_yaw_rad", 5), ("rotations6d", ROTATIONS_START),
    ("angular_velocity_rad_s", ANGULAR_START),
)  # fmt: skip


def poisoned_teacher_row(seed: int) -> Case:
    """One number of one row of the clip."""
    chance = np.random.default_rng(seed)
    name, start = _CLIP_FIELDS[seed % len(_CLIP_FIELDS)]
    clip = sound_clip(seed)
    rows = getattr(clip, name).copy()
    frame, column = int(chance.integers(CLIP_FRAMES - 1)), int(chance.integers(rows.shape[1]))
    rows[frame, column] = BAD[seed % 3]
    place, bone = _state_place(start + column)
    return _case(
        "poisoned teacher row",
        seed,
        Expected(frame, "x_raw", start + column, bone, place),
        mode="teacher",
        frames=CLIP_FRAMES - 1,
        clip=replace(clip, **{name: rows}),
    )


def poisoned_contacts(seed: int) -> Case:
    """A contact score that is not a number, in free-run."""
    chance = np.random.default_rng(seed)
    clip = sound_clip(seed)
    frame, foot = int(chance.integers(CLIP_FRAMES - 1)), seed % 2
    scores = np.array(clip.contact_scores)
    scores[frame, foot] = np.nan
    place = Expected(frame, "contacts", foot, None, ("left foot", "right foot")[foot])
    return _case("poisoned contact score", seed, place, frames=CLIP_FRAMES, clip=replace(clip, contact_scores=scores))


def ring_slot(seed: int) -> Case:
    """Memory damage in the newest entry of the history."""
    chance = np.random.default_rng(seed)
    frame, channel = int(chance.integers(2, 9)), int(chance.integers(SIX))
    place = Expected(
        frame, "pose_hist_raw", (HISTORY - 1) * SIX + channel, BONES[channel // 6], f"history[{HISTORY - 1}]"
    )
    return _case(
        "poisoned ring slot",
        seed,
        place,
        faults=(Fault("ring-slot", frame, channel, BAD[seed % 3]),),
        guard="own-memory",
    )


def poisoned_state(seed: int) -> Case:
    """Memory damage in the carried raw state."""
    chance = np.random.default_rng(seed)
    frame, channel = int(chance.integers(1, 9)), int(chance.integers(WIDTH))
    name, bone = _state_place(channel)
    return _case(
        "poisoned state",
        seed,
        Expected(frame, "x_raw", channel, bone, name),
        faults=(Fault("state", frame, channel, BAD[seed % 3]),),
        guard="own-memory",
    )


def uninitialised_history(seed: int) -> Case:
    """An uninitialised ring: all older slots are wrong at once, and the first one must be named."""
    place = Expected(0, "pose_hist_raw", 0, BONES[0], "history[0]")
    return _case(
        "uninitialised history",
        seed,
        place,
        guard="own-memory",
        faults=(Fault("uninitialised-history", value=BAD[seed % 3]),),
    )


def wrong_length(seed: int) -> Case:
    """A network with a cut output: the loop stops and names the frame."""
    frame, missing = seed % 5, 1 + seed % 3
    sound = sound_network()
    calls = iter(range(100))

    def run(*inputs: FloatArray) -> FloatArray:
        output = sound.run(inputs, 0)
        return output[:, :-missing] if next(calls) == frame else output

    return _case("truncated output", seed, Expected(frame, "y_norm", None), network=CallableNetwork(run))


def slow_divergence(seed: int) -> Case:
    """A root position that the network multiplies each frame: finite for thousands of frames, then not.

    raw_next = raw · gain (gain > 1, network f(z) = z exactly on these channels up to rounding): overflows float32 after
    ln(limit / start) / ln(gain) frames, found here by doing the same float32 arithmetic without a loop.
    """
    chance = np.random.default_rng(seed)
    gain, axis = 1.0 + float(chance.uniform(0.02, 0.06)), seed % 3
    contract = sound_contract().with_numbers(
        replace(sound_contract().numbers, output=WITH_POSITION, output_statistics=_position_statistics(gain, axis))
    )
    clip = sound_clip(seed)
    position = clip.root_position_m.copy()
    position[0] = 0.5
    clip = replace(clip, root_position_m=position)
    unit = contract.with_numbers(
        replace(contract.numbers, state_statistics=_unit_position(contract.numbers.state_statistics))
    )
    frame = _overflow_frame(np.float32(0.5), np.float32(gain))
    return _case(
        "slow divergence",
        seed,
        Expected(frame, "y_raw", axis, None, "RootPosition"),
        contract=unit,
        clip=clip,
        network=CallableNetwork(_repeats_position),
        frames=frame + 5,
        guard="clamp",
    )


def _position_statistics(gain: float, axis: int) -> Statistics:
    own = ordinary_statistics(SIX, 2, size=0.1)
    std = np.concatenate(([1.0, 1.0, 1.0], own.std))
    std[axis] = gain
    return Statistics(frozen_float32(np.concatenate((np.zeros(3), own.mean))), frozen_float32(std))


def _unit_position(own: Statistics) -> Statistics:
    mean, std = np.array(own.mean), np.array(own.std)
    mean[:3], std[:3] = 0.0, 1.0
    return Statistics(frozen_float32(mean), frozen_float32(std))


def _repeats_position(*inputs: FloatArray) -> FloatArray:
    return np.concatenate((inputs[0][:, :3], np.zeros((len(inputs[0]), SIX), np.float32)), axis=1)


def _overflow_frame(value: np.floating[Any], gain: np.floating[Any]) -> int:
    """The frame whose product overflows; products in float64, rounded to float32 each frame, as the loop stores them."""
    frame = 0
    with np.errstate(over="ignore"):
        while np.isfinite(value):
            value = np.float32(np.float64(value) * np.float64(gain))
            frame += 1
    return frame - 1


Maker = Callable[[int], Case]
KINDS: Mapping[Maker, int] = {
    bad_state_statistics: 14, bad_output_statistics: 9, bad_auxiliary_statistics: 10, tiny_std: 8, zero_scale: 8,
    zero_history_scale: 6, tanh_overflow: 8, degenerate_column: 10, output_overflow: 6, recorded_output: 6,
    poisoned_teacher_row: 15, poisoned_contacts: 4, ring_slot: 9, poisoned_state: 6, uninitialised_history: 3,
    wrong_length: 4, slow_divergence: 6,
}  # fmt: skip
"""How many seeds of each kind."""


@cache
def cases() -> tuple[Case, ...]:
    """The corpus without a model file; models with damaged nodes are in mutants.nonfinite_models."""
    return tuple(_all())


def _all() -> Iterator[Case]:
    for make, count in KINDS.items():
        for seed in range(count):
            yield make(seed)
