"""Injected faults: defects inside an engine that no file shows. For free runs only.

A fault is data; `faulty_contract` and `faulty` say what a run with the fault is. Faults are missing guards (a floor, a
fallback axis, a tanh written by hand) and damaged memory (history, state). Bad numbers in files need no fault. To add
one: a row in `KINDS`, and its effect in the affected part.
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
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.statistics import AUXILIARY_SCALE_FLOOR, FloatArray, SquashedStatistics, Statistics
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.graph.run import Changes, LiveFrames
from rigpact.reference_runtime.operations.gram_schmidt import UNGUARDED
from rigpact.reference_runtime.operations.normalisation import zscored_by
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reference_runtime.vocabulary.character.bone_rates import AngularVelocityInput
from rigpact.reference_runtime.vocabulary.character.pose_history import Frame, PoseHistory, free_history
from rigpact.reference_runtime.vocabulary.character.squashed_zscore import HistoryNormaliser
from rigpact.reference_runtime.vocabulary.character.state_features import SQUASH, Squash, StateNormaliser
from rigpact.reference_runtime.vocabulary.posing.composed_pose import ComposedPose
from rigpact.reference_runtime.vocabulary.posing.published_pose import PublishedPose
from rigpact.reference_runtime.vocabulary.posing.turn import Turn

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
_SMALLEST_SCALE = 0.0


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
    parts: dict[Any, Any] = {
        StateNormaliser: FaultyNormaliser(contract, squashing),
        PoseHistory: history,
        free_history: history,
        HistoryNormaliser: FaultyHistoryNormaliser(contract, squashing),
        AngularVelocityInput: FaultyAngularVelocity(contract, squashing),
    }
    if "no-axis-guard" in kinds:
        codec = UnguardedRot6d(contract.conventions)
        parts |= {part: part(contract, codec) for part in (Turn, ComposedPose, PublishedPose)}
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

    @property
    def floored(self) -> bool:
        return "no-scale-floor" not in self.kinds

    def squash(self, own: Squash) -> Squash:
        return own._replace(before=_exponential_tanh) if self.is_exponential and own is SQUASH["tanh"] else own

    @property
    def is_exponential(self) -> bool:
        return "exp-tanh" in self.kinds

    def auxiliary(self, value: FloatArray, auxiliary: SquashedStatistics, floor: float) -> FloatArray:
        least = np.float32(floor if self.floored else _SMALLEST_SCALE)
        scale = np.maximum(np.abs(auxiliary.scale), least).astype(value.dtype)
        squash = _exponential_tanh if self.is_exponential else SQUASH["tanh"].before
        return zscored_by(squash(value, scale), auxiliary.statistics)


class FaultyNormaliser(StateNormaliser):
    """State normalisation without its floor, or with a tanh written by hand."""

    def __init__(self, contract: Contract, squashing: _Squashing) -> None:
        """Replace the scales and the squash of the engine's normaliser."""
        character = character_of(contract)
        super().__init__(contract)
        scales = (character.rootvel_scales, character.angvel_scales)
        self._squashed = [
            (place, scale if squashing.floored else np.abs(own).astype(scale.dtype), squashing.squash(squash))
            for (place, scale, squash), own in zip(self._squashed, scales, strict=True)
        ]


class FaultyHistoryNormaliser(HistoryNormaliser):
    """Pose history without its floors, or with a tanh written by hand."""

    def __init__(self, contract: Contract, squashing: _Squashing) -> None:
        """Replace the normalisation if the contract has one."""
        super().__init__(contract)
        if contract.conventions.pose_history_norm == "tanh_zscore":
            self._normalise = lambda value, statistics: squashing.auxiliary(value, statistics, AUXILIARY_SCALE_FLOOR)


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


class FaultyAngularVelocity(AngularVelocityInput):
    """Angular-velocity input without its floors, or with a tanh written by hand."""

    def __init__(self, contract: Contract, squashing: _Squashing) -> None:
        """Keep the squash."""
        super().__init__(contract)
        self._squashing = squashing

    def _squashed(self, omega: FloatArray, statistics: SquashedStatistics) -> FloatArray:
        return self._squashing.auxiliary(omega, statistics, AUXILIARY_SCALE_FLOOR)


def _overwritten(vector: FloatArray, fault: Fault) -> FloatArray:
    changed = vector.copy()
    changed[..., fault.channel] = fault.value
    return changed


def _nudged(seed: FloatArray, rotations: slice, kind: str) -> FloatArray:
    changed = seed.copy()
    here = changed[..., rotations]
    changed[..., rotations] = np.nextafter(here, np.float32(2.0)) if kind == "seed-1ulp" else here + np.float32(1e-6)
    return changed


class UnguardedRot6d(Rot6d):
    """Gram–Schmidt that always divides by the length: 0 / 0 is NaN."""

    def __init__(self, conventions: Conventions) -> None:
        """Leave out the guards that the conventions name."""
        super().__init__(conventions)
        self.reproject_guard = self.decode_guard = self.delta_guard = UNGUARDED
