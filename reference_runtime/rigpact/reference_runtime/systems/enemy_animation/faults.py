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
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import ROTATIONS
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
from rigpact.reference_runtime.operations.six_numbers import UNGUARDED, Rot6d
from rigpact.reference_runtime.systems.enemy_animation.answer import OutputStages
from rigpact.reference_runtime.systems.enemy_animation.inputs import AngularVelocityInput
from rigpact.reference_runtime.systems.enemy_animation.past_poses import (
    Frame,
    HistoryNormaliser,
    PoseHistory,
    free_history,
)
from rigpact.reference_runtime.systems.enemy_animation.shared import ENGINE, Squashing
from rigpact.reference_runtime.systems.enemy_animation.state import StateNormaliser

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
    character, kinds = character_of(contract), {fault.kind for fault in faults}
    if "no-reprojection" in kinds:
        contract = contract.with_conventions({"reproject": "none"})
    if "no-std-floor" not in kinds:
        return contract

    def unfloored(own: Statistics) -> Statistics:
        return UnflooredStatistics(own.mean, own.std)

    named = {"pose_history": character.pose_history, "angular_velocity": character.angular_velocity}
    changed: dict[str, Any] = {
        name: None if each is None else replace(each, statistics=unfloored(each.statistics))
        for name, each in named.items()
    }
    return contract.with_numbers(replace(character, state_statistics=unfloored(character.state_statistics), **changed))


def faulty(contract: Contract, faults: Iterable[Fault]) -> Changes:
    """What is different in a free run with these faults."""
    kept = tuple(faults)
    kinds = {fault.kind for fault in kept}
    tanh = _exponential_tanh if "exp-tanh" in kinds else ENGINE.tanh
    squashing, history = Squashing(tanh, "no-scale-floor" not in kinds), FaultyHistory(contract, kept)
    parts: dict[Any, Any] = {PoseHistory: history, free_history: history}
    for part in (StateNormaliser, HistoryNormaliser, AngularVelocityInput):
        parts[part] = part(contract, squashing)
    if "no-axis-guard" in kinds:
        codec = Rot6d(contract.conventions)  # always divides by the length: 0 / 0 is NaN
        codec.reproject_guard = codec.decode_guard = codec.delta_guard = UNGUARDED
        parts[OutputStages] = OutputStages(contract, codec)
    return Changes(parts, {"x_raw": partial(_damaged_state, kept, character_of(contract).state[ROTATIONS].range)})


def _damaged_state(faults: Iterable[Fault], rotations: slice, frames: LiveFrames, x_raw: FloatArray) -> FloatArray:
    for fault in faults:
        if fault.kind == "state" and fault.frame == frames.frame[0]:
            x_raw = _overwritten(x_raw, fault)
        elif fault.kind.startswith("seed-") and frames.frame[0] == 0:
            x_raw, here = x_raw.copy(), x_raw[..., rotations]
            next_up = np.nextafter(here, np.float32(2.0))
            x_raw[..., rotations] = next_up if fault.kind == "seed-1ulp" else here + np.float32(1e-6)
    return x_raw


def _exponential_tanh(value: FloatArray) -> FloatArray:
    power = np.exp(2.0 * value)
    return np.asarray((power - 1.0) / (power + 1.0))


class FaultyHistory(PoseHistory):
    """A pose history whose ring holds what nobody pushed."""

    def __init__(self, contract: Contract, faults: tuple[Fault, ...]) -> None:
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


# Guards

Changed = tuple[RunSetup, str]


def _without(subject: RunSetup, *kinds: str) -> RunSetup | None:
    kept = tuple(fault for fault in subject.faults if fault.kind not in kinds)
    return replace(subject, faults=kept) if len(kept) < len(subject.faults) else None


def _floors(
    subject: RunSetup, fault: str, words: str, values: Mapping[str, tuple[FloatArray, float]]
) -> Changed | None:
    """The run with the floors that a fault leaves out. values: the numbers that have one, and the floor."""
    without, below = _without(subject, fault), []
    for name, (own, floor) in values.items():
        below += [f"{name}[{index}] = {own[index]:g}" for index in np.flatnonzero(np.abs(own) < np.float32(floor))]
    return (without, f"{_listed(below)}: with the engine's {words}") if without and below else None


def _std_floor(subject: RunSetup) -> Changed | None:
    values = {"StdX": character_of(subject.contract).state_statistics.std}
    values |= {f"Std{name}": each.statistics.std for name, each in _auxiliaries(subject.contract).items()}
    floored = {name: (own, STD_FLOOR) for name, own in values.items()}
    return _floors(subject, "no-std-floor", f"{STD_FLOOR:g} floor", floored)


def _scale_floor(subject: RunSetup) -> Changed | None:
    character, auxiliaries = character_of(subject.contract), _auxiliaries(subject.contract).items()
    values = {f"tanh scale of {name}": (auxiliary.scale, AUXILIARY_SCALE_FLOOR) for name, auxiliary in auxiliaries}
    own = {"tanh_scales_rootvel": character.rootvel_scales, "tanh_scales_angvel": character.angvel_scales}
    values = {name: (scales, TANH_SCALE_FLOOR) for name, scales in own.items()} | values
    return _floors(subject, "no-scale-floor", "floor of the tanh scale", values)


def _put_right(words: str, *faults: str) -> Callable[[RunSetup], Changed | None]:
    """The run without these faults."""

    def guard(subject: RunSetup) -> Changed | None:
        without = _without(subject, *faults)
        return None if without is None else (without, words)

    return guard


def _own_value(knob: str, fault: str, words: str) -> Callable[[RunSetup], Changed | None]:
    """The engine's own value of a knob, without the faults that act like another value."""

    def guard(subject: RunSetup) -> Changed | None:
        without = _without(subject, fault) or subject
        own = subject.contract.system.knobs[knob].default
        if without is subject and subject.contract.conventions[knob] == own:
            return None
        return replace(without, contract=without.contract.with_conventions({knob: own})), words

    return guard


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


def _listed(words: list[str]) -> str:
    return ", ".join(words[:3]) + (f" and {len(words) - 3} more" if len(words) > 3 else "")


GUARDS: Mapping[str, Callable[[RunSetup], Changed | None]] = {
    "std-floor": _std_floor,
    "scale-floor": _scale_floor,
    "library-tanh": _put_right("tanh of the library in place of the exponential formula", "exp-tanh"),
    "reprojection": _own_value("reproject", "no-reprojection", "reprojection before and after composing"),
    "fallback-axis": _own_value("degenerate_axis", "no-axis-guard", "degenerate axes taken from the previous frame"),
    "merged-statistics": _merged_statistics,
    "training-scales": _training_scales,
    "own-memory": _put_right(
        "history and state as the loop itself wrote them", "uninitialised-history", "ring-slot", "state"
    ),
}
