"""Counterfactual runs of the enemy animation: with the engine's guards restored, or with training's statistics.

Each function takes a `Subject` and returns the changed subject with a text, or None if nothing would change. To add
one: a row in `GUARDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from rigpact.contract.character import character_of
from rigpact.contract.statistics import (
    AUXILIARY_SCALE_FLOOR,
    STD_FLOOR,
    TANH_SCALE_FLOOR,
    FloatArray,
    SquashedStatistics,
)
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.files.declared import Subject

Changed = tuple[Subject, str]


def _without(subject: Subject, *kinds: str) -> Subject | None:
    kept = tuple(fault for fault in subject.faults if fault.kind not in kinds)
    return replace(subject, faults=kept) if len(kept) < len(subject.faults) else None


def _std_floor(subject: Subject) -> Changed | None:
    contract, without = subject.contract, _without(subject, "no-std-floor")
    words = [*_below("StdX", character_of(contract).state_statistics.std, STD_FLOOR)]
    for name, auxiliary in _auxiliaries(contract).items():
        words += _below(f"Std{name}", auxiliary.statistics.std, STD_FLOOR)
    if without is None or not words:
        return None
    return without, f"{_listed(words)}: with the engine's {STD_FLOOR:g} floor"


def _scale_floor(subject: Subject) -> Changed | None:
    contract, without = subject.contract, _without(subject, "no-scale-floor")
    words = _below("tanh_scales_rootvel", character_of(contract).rootvel_scales, TANH_SCALE_FLOOR)
    words += _below("tanh_scales_angvel", character_of(contract).angvel_scales, TANH_SCALE_FLOOR)
    for name, auxiliary in _auxiliaries(contract).items():
        words += _below(f"tanh scale of {name}", auxiliary.scale, AUXILIARY_SCALE_FLOOR)
    if without is None or not words:
        return None
    return without, f"{_listed(words)}: with the engine's floor of the tanh scale"


def _library_tanh(subject: Subject) -> Changed | None:
    without = _without(subject, "exp-tanh")
    return None if without is None else (without, "tanh of the library in place of the exponential formula")


def _own_value(knob: str, fault: str, words: str) -> Callable[[Subject], Changed | None]:
    """The engine's own value of a knob, without the faults that act like another value."""

    def guard(subject: Subject) -> Changed | None:
        without = _without(subject, fault) or subject
        own = subject.contract.system.knobs[knob].default
        if without is subject and subject.contract.conventions[knob] == own:
            return None
        return replace(without, contract=without.contract.with_conventions({knob: own})), words

    return guard


def _own_memory(subject: Subject) -> Changed | None:
    without = _without(subject, "uninitialised-history", "ring-slot", "state")
    return None if without is None else (without, "history and state as the loop itself wrote them")


def _merged_statistics(subject: Subject) -> Changed | None:
    merged = subject.companion
    if merged is None:
        return None
    changes = subject.contract.conventions.changes_from(merged.conventions)
    if character_of(subject.contract).angular_velocity is None:
        changes.pop("angvel_source", None)  # without statistics the default differs
    contract = merged.with_conventions(changes)
    return replace(subject, contract=contract, companion=None), "statistics of the companion file merged in"


def _training_scales(subject: Subject) -> Changed | None:
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


GUARDS: Mapping[str, Callable[[Subject], Changed | None]] = {
    "std-floor": _std_floor,
    "scale-floor": _scale_floor,
    "library-tanh": _library_tanh,
    "reprojection": _own_value("reproject", "no-reprojection", "reprojection before and after composing"),
    "fallback-axis": _own_value("degenerate_axis", "no-axis-guard", "degenerate axes taken from the previous frame"),
    "merged-statistics": _merged_statistics,
    "training-scales": _training_scales,
    "own-memory": _own_memory,
}
