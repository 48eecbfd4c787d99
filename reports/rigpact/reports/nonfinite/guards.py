"""Counterfactual guards: the same run with one thing changed, to see which single change it survives.

To add a guard: a row in `GUARDS`; it returns None where it would change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rigpact.contract.bundle import Contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import (
    AUXILIARY_SCALE_FLOOR,
    STD_FLOOR,
    TANH_SCALE_FLOOR,
    FloatArray,
    SquashedStatistics,
    Statistics,
)
from rigpact.reference_runtime.network import Network, Vectors
from rigpact.reference_runtime.operations.geometry import BoolArray
from rigpact.reference_runtime.systems.enemy_animation.sentinel import watch_run
from rigpact.reports.nonfinite.network_node import ORDINARY_Z
from rigpact.reports.nonfinite.subject import Subject

Changed = tuple[Subject, str]


@dataclass(frozen=True)
class GuardResult:
    """A guard, what it changed in words, and how many frames the run then stayed finite; `survived` of those asked for."""

    guard: str
    change: str
    survives_frames: int
    survived: bool

    def to_json(self) -> dict[str, Any]:
        """The `guard` object of the `rigpact-nonfinite` format."""
        return {
            "change": self.change, "survives_frames": self.survives_frames, "guard": self.guard, "survived": self.survived
        }  # fmt: skip

    def __str__(self) -> str:
        """In words."""
        ending = "finite for all" if self.survived else "still fails after"
        return f"{self.change}: {ending} {self.survives_frames} frames"


class ClampedNetwork:
    """A network whose inputs are clamped to the ordinary range, NaN taken as 0."""

    def __init__(self, network: Network) -> None:
        """Wrap a network."""
        self._network = network
        self.name, self.bound_widths = network.name, network.bound_widths

    def run(self, inputs: Vectors, frame: int) -> FloatArray:
        """Clamp, then run."""
        return self._network.run(
            [np.clip(np.nan_to_num(vector, posinf=ORDINARY_Z, neginf=-ORDINARY_Z), -ORDINARY_Z, ORDINARY_Z)
             for vector in inputs], frame,
        )  # fmt: skip


def try_guards(subject: Subject, frames: int) -> list[GuardResult]:
    """Run `frames` frames under every guard that changes something, the survivors first."""
    results = [_tried(name, changed, frames) for name, changed in guarded(subject)]
    return sorted(results, key=lambda result: -result.survives_frames)


def guarded(subject: Subject) -> Iterator[tuple[str, Changed]]:
    """The subject under each guard that changes something, by the guard's name."""
    for name, guard in GUARDS.items():
        changed = guard(subject)
        if changed is not None:
            yield name, changed


def _tried(name: str, changed: Changed, frames: int) -> GuardResult:
    subject, words = changed
    try:
        with np.errstate(all="ignore"):
            loop = subject.start()
    except UnusableInput as refusal:
        return GuardResult(name, f"{words} ({refusal.found})", 0, survived=False)
    watched = watch_run(loop, range(subject.frames_of(loop, frames)))
    return GuardResult(name, words, watched.finite_frames, survived=watched.is_finite)


def _without(subject: Subject, *kinds: str) -> Subject | None:
    kept = tuple(fault for fault in subject.faults if fault.kind not in kinds)
    return replace(subject, faults=kept) if len(kept) < len(subject.faults) else None


def _std_floor(subject: Subject) -> Changed | None:
    contract, without = subject.contract, _without(subject, "no-std-floor")
    words = [*_below("StdX", contract.state_statistics.std, STD_FLOOR)]
    for name, auxiliary in _auxiliaries(contract).items():
        words += _below(f"Std{name}", auxiliary.statistics.std, STD_FLOOR)
    if without is None or not words:
        return None
    return without, f"{_listed(words)}: with the engine's {STD_FLOOR:g} floor"


def _scale_floor(subject: Subject) -> Changed | None:
    contract, without = subject.contract, _without(subject, "no-scale-floor")
    words = _below("tanh_scales_rootvel", contract.rootvel_scales, TANH_SCALE_FLOOR)
    words += _below("tanh_scales_angvel", contract.angvel_scales, TANH_SCALE_FLOOR)
    for name, auxiliary in _auxiliaries(contract).items():
        words += _below(f"tanh scale of {name}", auxiliary.scale, AUXILIARY_SCALE_FLOOR)
    if without is None or not words:
        return None
    return without, f"{_listed(words)}: with the engine's floor of the tanh scale"


def _library_tanh(subject: Subject) -> Changed | None:
    without = _without(subject, "exp-tanh")
    return None if without is None else (without, "tanh of the library in place of the exponential formula")


def _reprojection(subject: Subject) -> Changed | None:
    without = _without(subject, "no-reprojection") or subject
    if without is subject and subject.contract.conventions.reproject == "both":
        return None
    contract = without.contract.with_conventions({"reproject": "both"})
    return replace(without, contract=contract), "reprojection before and after composing"


def _fallback_axis(subject: Subject) -> Changed | None:
    without = _without(subject, "no-axis-guard") or subject
    if without is subject and subject.contract.conventions.degenerate_axis == "previous_frame":
        return None
    contract = without.contract.with_conventions({"degenerate_axis": "previous_frame"})
    return replace(without, contract=contract), "degenerate axes taken from the previous frame"


def _clamp(subject: Subject) -> Changed:
    words = f"network inputs clamped to +-{ORDINARY_Z:g}, NaN to 0"
    return replace(subject, network=ClampedNetwork(subject.network)), words


def _seeded_history(subject: Subject) -> Changed | None:
    without = _without(subject, "uninitialised-history", "ring-slot", "state")
    return None if without is None else (without, "history and state as the loop itself wrote them")


def _merged_statistics(subject: Subject) -> Changed | None:
    merged = subject.companion
    if merged is None:
        return None
    changes = subject.contract.conventions.changes_from(merged.conventions)
    if subject.contract.angular_velocity is None:
        changes.pop("angvel_source", None)  # without statistics the default is another
    return replace(
        subject, contract=merged.with_conventions(changes), companion=None
    ), "statistics of the companion file merged in"


def _training_scales(subject: Subject) -> Changed | None:
    """The scale that training squashes with is the companion's: its merge overwrites the bundle's."""
    contract = subject.contract
    auxiliary = contract.angular_velocity
    if auxiliary is None or auxiliary.origin == str(contract.path) or auxiliary.width != len(contract.angvel_scales):
        return None
    differs = np.flatnonzero(auxiliary.scale != contract.angvel_scales)
    if len(differs) == 0:
        return None
    words = [
        f"tanh_scales_angvel[{i}] = {contract.angvel_scales[i]:g}, training {auxiliary.scale[i]:g}" for i in differs
    ]
    return replace(
        subject, contract=replace(contract, angvel_scales=auxiliary.scale)
    ), f"{_listed(words)}: as in training"


def _finite_statistics(subject: Subject) -> Changed | None:
    contract = subject.contract
    words: list[str] = []
    changes: dict[str, Any] = {}
    for name in ("state_statistics", "output_statistics"):
        repaired, found = _repaired(getattr(contract, name), "X" if name.startswith("state") else "Y")
        changes, words = changes | {name: repaired}, words + found
    for name, field in (("PoseHist", "pose_history"), ("AngVel", "angular_velocity")):
        auxiliary = getattr(contract, field)
        if auxiliary is not None:
            repaired, found = _repaired(auxiliary.statistics, name)
            changes, words = changes | {field: replace(auxiliary, statistics=repaired)}, words + found
    if not words:
        return None
    return replace(subject, contract=replace(contract, **changes)), f"{_listed(words)}: replaced by mean 0, std 1"


def _repaired(statistics: Statistics, letter: str) -> tuple[Statistics, list[str]]:
    mean_bad, std_bad = ~_is_ordinary(statistics.mean), ~_is_ordinary(statistics.std)
    words = [f"Mu{letter}[{index}] = {statistics.mean[index]:g}" for index in np.flatnonzero(mean_bad)]
    words += [f"Std{letter}[{index}] = {statistics.std[index]:g}" for index in np.flatnonzero(std_bad)]
    mean = np.where(mean_bad, np.float32(0), statistics.mean).astype(np.float32)
    std = np.where(std_bad, np.float32(1), statistics.std).astype(np.float32)
    return Statistics(mean, std), words


def _is_ordinary(values: FloatArray) -> BoolArray:
    """Finite, and small enough that a square of it is: no statistic of motion is larger."""
    limit = float(np.sqrt(np.finfo(np.float32).max))
    return np.asarray(np.isfinite(values) & (np.abs(values) < limit))


def _auxiliaries(contract: Contract) -> dict[str, SquashedStatistics]:
    known = {"PoseHist": contract.pose_history, "AngVel": contract.angular_velocity}
    return {name: auxiliary for name, auxiliary in known.items() if auxiliary is not None}


def _below(name: str, values: FloatArray, floor: float) -> list[str]:
    return [f"{name}[{index}] = {values[index]:g}" for index in np.flatnonzero(np.abs(values) < np.float32(floor))]


def _listed(words: list[str]) -> str:
    return ", ".join(words[:3]) + (f" and {len(words) - 3} more" if len(words) > 3 else "")


GUARDS: Mapping[str, Callable[[Subject], Changed | None]] = {
    "std-floor": _std_floor,
    "scale-floor": _scale_floor,
    "library-tanh": _library_tanh,
    "reprojection": _reprojection,
    "fallback-axis": _fallback_axis,
    "finite-statistics": _finite_statistics,
    "merged-statistics": _merged_statistics,
    "training-scales": _training_scales,
    "own-memory": _seeded_history,
    "clamp": _clamp,
}
