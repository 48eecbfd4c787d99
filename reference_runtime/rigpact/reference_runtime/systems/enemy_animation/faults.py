"""Injected faults: defects inside an engine that no file shows; and guards: runs with one put right. For free runs only.

A fault is data; `faulty_contract` and `faulty` say what a run with the fault is. Faults are missing guards (a floor, a
fallback axis, a tanh written by hand) and damaged memory (history, state). Bad numbers in files need no fault. To add
one: a row in `KINDS`, and its effect in the affected part. A guard takes a `RunSetup` and returns the changed subject with
a text, or None if nothing would change: a row in `GUARDS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from rigpact.contract.character import character_of
from rigpact.contract.conventions import Conventions
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROOT_VELOCITY, ROTATIONS
from rigpact.contract.statistics import (
    AUXILIARY_SCALE_FLOOR,
    STD_FLOOR,
    TANH_SCALE_FLOOR,
    FloatArray,
    SquashedStatistics,
    Statistics,
)
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.files.declared import RunSetup
from rigpact.reference_runtime.graph.run import Changes, LiveFrames
from rigpact.reference_runtime.operations.scalars import zscored_by
from rigpact.reference_runtime.operations.six_numbers import UNGUARDED, Rot6d
from rigpact.reference_runtime.systems.enemy_animation.answer import OutputStages
from rigpact.reference_runtime.systems.enemy_animation.inputs import AngularVelocityInput
from rigpact.reference_runtime.systems.enemy_animation.past_poses import (
    Frame,
    HistoryNormaliser,
    PoseHistory,
    free_history,
)
from rigpact.reference_runtime.systems.enemy_animation.state import (
    SQUASH,
    Features,
    Squash,
    StateNormaliser,
    scaled_tanh,
)

KINDS: Mapping[str, str] = {
    "no-std-floor": "z-scores divide by std itself, not by max(|std|, 1e-6)",
    "no-scale-floor": "tanh arguments are divided by the scale itself, not by its floor",
    "exp-tanh": "tanh is written as (e^2x - 1) / (e^2x + 1), which is inf / inf for large x",
    "no-axis-guard": "Gram-Schmidt divides by a length of zero instead of taking a fallback axis",
    "no-reprojection": "the composed pose is published as it is",
    "uninitialised-history": "ResetPoseHistoryFromPose is never called: the ring holds whatever was in memory",
    "ring-slot": "one number of the newest history entry is overwritten",
    "state": "one number of the carried raw state is overwritten",
    "seed-1ulp": "the seed's rotations are off by one float32 step",
    "seed-1e-6": "the seed's rotations are off by 1e-6",
}
_WORD = re.compile(r"(?P<kind>[\w-]+?)(@(?P<frame>\d{1,9})(:(?P<channel>\d{1,9}))?)?(=(?P<value>\S+))?")
_PLACED = frozenset({"ring-slot", "state"})
"""The kinds that overwrite one number in one frame; the others hold for the whole run."""


@dataclass(frozen=True)
class Fault:
    """One fault: its kind; and frame, channel and value if it overwrites a number."""

    kind: str
    frame: int = 0
    channel: int = 0
    value: float = float("nan")

    def __post_init__(self) -> None:
        """Refuse an unknown kind."""
        if self.kind not in KINDS:
            raise UnusableInput(f"--perturb {self.kind}", "an unknown kind", f"one of {', '.join(KINDS)}")

    def __str__(self) -> str:
        """The form that `parse_fault` reads."""
        place = f"@{self.frame}:{self.channel}" if self.kind in _PLACED else ""
        return f"{self.kind}{place}={self.value!r}"


def parse_fault(word: str) -> Fault:
    """Read KIND[@FRAME[:CHANNEL]][=VALUE], as `--perturb` takes it."""
    match = _WORD.fullmatch(word)
    if match is None:
        raise UnusableInput(f"--perturb {word}", "something else", "KIND[@FRAME[:CHANNEL]][=VALUE]")
    if match["kind"] in KINDS and match["kind"] not in _PLACED and match["frame"]:
        raise UnusableInput(f"--perturb {word}", "a frame", f"{match['kind']} alone: it holds from the first frame on")
    try:
        value = float(match["value"] or "nan")
    except ValueError:
        raise UnusableInput(f"--perturb {word}", match["value"], "a number") from None
    return Fault(match["kind"], int(match["frame"] or 0), int(match["channel"] or 0), value)


class UnflooredStatistics(Statistics):
    """Statistics of an implementation without the floor."""

    @property
    def std_floored(self) -> FloatArray:
        """The deviation without a floor."""
        return self.std


def refuse_idle(faults: Iterable[Fault], contract: Contract, frames: int | None) -> None:
    """UnusableInput for a fault that a run of so many frames would never meet, or that names no number of the run."""
    character = character_of(contract)
    width = {"state": character.state.width, "ring-slot": 6 * character.bone_count}
    for fault in faults:
        if fault.kind not in width:
            continue
        if frames is not None and fault.frame >= frames:
            raise UnusableInput(f"--perturb {fault}", f"frame {fault.frame}", f"a frame before {frames}, the run's end")
        if fault.channel >= width[fault.kind]:
            expected = f"a channel below {width[fault.kind]}"
            raise UnusableInput(f"--perturb {fault}", f"channel {fault.channel}", expected)


def faulty_contract(contract: Contract, faults: Iterable[Fault]) -> Contract:
    """The effective contract of an implementation with these faults."""
    character = character_of(contract)
    kinds = {fault.kind for fault in faults}
    if "no-reprojection" in kinds:
        contract = contract.with_conventions({"reproject": "none"})
    if "no-std-floor" not in kinds:
        return contract
    unfloored = replace(
        character,
        state_statistics=_unfloored(character.state_statistics),
        pose_history=_unfloored_auxiliary(character.pose_history),
        angular_velocity=_unfloored_auxiliary(character.angular_velocity),
    )
    return contract.with_numbers(unfloored)


def faulty(contract: Contract, faults: Iterable[Fault]) -> Changes:
    """What is different in a free run with these faults."""
    kept = tuple(faults)
    kinds = frozenset(fault.kind for fault in kept)
    squashing, history = _Squashing(kinds), FaultyHistory(contract, kept)
    normaliser, past, rates = StateNormaliser(contract), HistoryNormaliser(contract), AngularVelocityInput(contract)
    squashing.alter(normaliser.features, contract)
    rates.squash = squashing.auxiliary
    if contract.conventions.pose_history_norm == "tanh_zscore":
        past.normalise = squashing.auxiliary
    parts: dict[Any, Any] = {
        StateNormaliser: normaliser,
        PoseHistory: history,
        free_history: history,
        HistoryNormaliser: past,
        AngularVelocityInput: rates,
    }
    if "no-axis-guard" in kinds:
        parts[OutputStages] = OutputStages(contract, unguarded(contract.conventions))
    return Changes(parts, {"x_raw": partial(_damaged_state, kept, character_of(contract).state[ROTATIONS].range)})


def _damaged_state(faults: Iterable[Fault], rotations: slice, frames: LiveFrames, x_raw: FloatArray) -> FloatArray:
    for fault in faults:
        if fault.kind == "state" and fault.frame == frames.frame[0]:
            x_raw = _overwritten(x_raw, fault)
        elif fault.kind.startswith("seed-") and frames.frame[0] == 0:
            x_raw = _nudged(x_raw, rotations, fault.kind)
    return x_raw


def _unfloored(statistics: Statistics) -> Statistics:
    return UnflooredStatistics(statistics.mean, statistics.std)


def _unfloored_auxiliary(auxiliary: SquashedStatistics | None) -> SquashedStatistics | None:
    return None if auxiliary is None else replace(auxiliary, statistics=_unfloored(auxiliary.statistics))


def _exponential_tanh(value: FloatArray, scale: FloatArray) -> FloatArray:
    power = np.exp(2.0 * (value / scale))
    return np.asarray((power - 1.0) / (power + 1.0))


@dataclass(frozen=True)
class _Squashing:
    """The squash of an implementation with these faults: the kind of tanh, and whether the scale has a floor."""

    kinds: frozenset[str]

    def scale(self, own: FloatArray, floor: float) -> FloatArray:
        return np.maximum(np.abs(own), np.float32(0.0 if "no-scale-floor" in self.kinds else floor))

    def alter(self, features: Features, contract: Contract) -> None:
        """The state's features, without the floor of their scales, or with a tanh written by hand."""
        character = character_of(contract)
        scales = {ROOT_VELOCITY: character.rootvel_scales, ANGULAR_VELOCITIES: character.angvel_scales}
        floored = {name: self.scale(own, TANH_SCALE_FLOOR) for name, own in scales.items()}
        maps = Features(contract, character.state, floored).maps
        features.maps = [(place, scale, self._squash(squash)) for place, scale, squash in maps]

    def _squash(self, own: Squash) -> Squash:
        is_exponential = "exp-tanh" in self.kinds and own is SQUASH["tanh"]
        return own._replace(before=_exponential_tanh) if is_exponential else own

    def auxiliary(self, value: FloatArray, auxiliary: SquashedStatistics) -> FloatArray:
        scale = self.scale(auxiliary.scale, AUXILIARY_SCALE_FLOOR).astype(value.dtype)
        squash = _exponential_tanh if "exp-tanh" in self.kinds else scaled_tanh
        return zscored_by(squash(value, scale), auxiliary.statistics)


class FaultyHistory(PoseHistory):
    """A pose history whose ring holds what nobody pushed."""

    def __init__(self, contract: Contract, faults: tuple[Fault, ...]) -> None:
        """Keep the faults."""
        super().__init__(contract, "free")
        self._faults = faults

    def padding(self, first_pose: FloatArray) -> FloatArray:
        """Whatever was in memory, where the ring was never reset."""
        unset = [fault.value for fault in self._faults if fault.kind == "uninitialised-history"]
        return np.full_like(first_pose, unset[-1]) if unset else super().padding(first_pose)

    def rows(self, frame: Frame, poses_at: Callable[[Frame], FloatArray], padding: FloatArray) -> FloatArray:
        """The entries of the poses that were overwritten in the ring hold the other number as long as they are there."""

        def damaged(wanted: Frame) -> FloatArray:
            poses = poses_at(wanted)
            for fault in self._faults:
                if fault.kind == "ring-slot":
                    poses = np.where((wanted == fault.frame)[..., None], _overwritten(poses, fault), poses)
            return poses

        return super().rows(frame, damaged, padding)


def _overwritten(vector: FloatArray, fault: Fault) -> FloatArray:
    changed = vector.copy()
    changed[..., fault.channel] = fault.value
    return changed


def _nudged(seed: FloatArray, rotations: slice, kind: str) -> FloatArray:
    changed = seed.copy()
    here = changed[..., rotations]
    changed[..., rotations] = np.nextafter(here, np.float32(2.0)) if kind == "seed-1ulp" else here + np.float32(1e-6)
    return changed


def unguarded(conventions: Conventions) -> Rot6d:
    """Gram–Schmidt that always divides by the length: 0 / 0 is NaN."""
    codec = Rot6d(conventions)
    codec.reproject_guard = codec.decode_guard = codec.delta_guard = UNGUARDED
    return codec


# Guards

Changed = tuple[RunSetup, str]


def _without(subject: RunSetup, *kinds: str) -> RunSetup | None:
    kept = tuple(fault for fault in subject.faults if fault.kind not in kinds)
    return replace(subject, faults=kept) if len(kept) < len(subject.faults) else None


def _std_floor(subject: RunSetup) -> Changed | None:
    contract, without = subject.contract, _without(subject, "no-std-floor")
    words = [*_below("StdX", character_of(contract).state_statistics.std, STD_FLOOR)]
    for name, auxiliary in _auxiliaries(contract).items():
        words += _below(f"Std{name}", auxiliary.statistics.std, STD_FLOOR)
    if without is None or not words:
        return None
    return without, f"{_listed(words)}: with the engine's {STD_FLOOR:g} floor"


def _scale_floor(subject: RunSetup) -> Changed | None:
    contract, without = subject.contract, _without(subject, "no-scale-floor")
    words = _below("tanh_scales_rootvel", character_of(contract).rootvel_scales, TANH_SCALE_FLOOR)
    words += _below("tanh_scales_angvel", character_of(contract).angvel_scales, TANH_SCALE_FLOOR)
    for name, auxiliary in _auxiliaries(contract).items():
        words += _below(f"tanh scale of {name}", auxiliary.scale, AUXILIARY_SCALE_FLOOR)
    if without is None or not words:
        return None
    return without, f"{_listed(words)}: with the engine's floor of the tanh scale"


def _library_tanh(subject: RunSetup) -> Changed | None:
    without = _without(subject, "exp-tanh")
    return None if without is None else (without, "tanh of the library in place of the exponential formula")


def _own_value(knob: str, fault: str, words: str) -> Callable[[RunSetup], Changed | None]:
    """The engine's own value of a knob, without the faults that act like another value."""

    def guard(subject: RunSetup) -> Changed | None:
        without = _without(subject, fault) or subject
        own = subject.contract.system.knobs[knob].default
        if without is subject and subject.contract.conventions[knob] == own:
            return None
        return replace(without, contract=without.contract.with_conventions({knob: own})), words

    return guard


def _own_memory(subject: RunSetup) -> Changed | None:
    without = _without(subject, "uninitialised-history", "ring-slot", "state")
    return None if without is None else (without, "history and state as the loop itself wrote them")


def _merged_statistics(subject: RunSetup) -> Changed | None:
    merged = subject.companion
    if merged is None:
        return None
    changes = subject.contract.conventions.changes_from(merged.conventions)
    if character_of(subject.contract).angular_velocity is None:
        changes.pop("angvel_source", None)  # without statistics the default differs
    contract = merged.with_conventions(changes)
    return replace(subject, contract=contract, companion=None), "statistics of the companion file merged in"


def _training_scales(subject: RunSetup) -> Changed | None:
    """Training squashes with the companion's scale: its merge overwrites the bundle's scale."""
    contract = subject.contract
    character = character_of(contract)
    auxiliary, own = character.angular_velocity, character.angvel_scales
    if auxiliary is None or auxiliary.origin == str(contract.path) or auxiliary.width != len(own):
        return None
    differs = np.flatnonzero(auxiliary.scale != own)
    if len(differs) == 0:
        return None
    words = [f"tanh_scales_angvel[{i}] = {own[i]:g}, training {auxiliary.scale[i]:g}" for i in differs]
    changed = contract.with_numbers(replace(character, angvel_scales=auxiliary.scale))
    return replace(subject, contract=changed), f"{_listed(words)}: as in training"


def _auxiliaries(contract: Contract) -> dict[str, SquashedStatistics]:
    character = character_of(contract)
    known = {"PoseHist": character.pose_history, "AngVel": character.angular_velocity}
    return {name: auxiliary for name, auxiliary in known.items() if auxiliary is not None}


def _below(name: str, values: FloatArray, floor: float) -> list[str]:
    return [f"{name}[{index}] = {values[index]:g}" for index in np.flatnonzero(np.abs(values) < np.float32(floor))]


def _listed(words: list[str]) -> str:
    return ", ".join(words[:3]) + (f" and {len(words) - 3} more" if len(words) > 3 else "")


GUARDS: Mapping[str, Callable[[RunSetup], Changed | None]] = {
    "std-floor": _std_floor,
    "scale-floor": _scale_floor,
    "library-tanh": _library_tanh,
    "reprojection": _own_value("reproject", "no-reprojection", "reprojection before and after composing"),
    "fallback-axis": _own_value("degenerate_axis", "no-axis-guard", "degenerate axes taken from the previous frame"),
    "merged-statistics": _merged_statistics,
    "training-scales": _training_scales,
    "own-memory": _own_memory,
}
