"""What a diagnosis may suppose: changed conventions, and what each would do to the recorded stages.

`Hypotheses` judges a set of changes against the evidence, remembering every stage replay by the knobs that matter to it, so
that a pair of changes at different stages costs nothing once the singles are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, permutations, product
from typing import Any

import numpy as np

from rigpact.contract.bundle import Contract
from rigpact.contract.conventions import INPUTS, KNOBS, STAGES
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.skeleton import left_right_permutation
from rigpact.contract.statistics import FloatArray
from rigpact.reports.replay import Evidence, Replay, path_of
from rigpact.reports.stage_error import StageError, stage_error

Changes = dict[str, Any]
BENIGN_KNOBS = frozenset({"math"})
"""Knobs that are never a defect."""
_BONE_STAGES = {"y_out": 6, "quat": 4}


class Hypotheses:
    """Changes of conventions, judged on one body of evidence."""

    def __init__(self, evidence: Evidence, contract: Contract) -> None:
        """Find which recorded stages can be judged at all."""
        self.evidence, self.contract = evidence, contract
        self._replays: dict[frozenset[tuple[str, Any]], Replay] = {}
        self._errors: dict[tuple[str, frozenset[tuple[str, Any]]], StageError | None] = {}
        self._paths = {stage: path_of(stage, evidence.recorded) for stage in STAGES if stage in evidence.recorded}
        self.judged = [stage for stage in self._paths if self._has_verdict(stage)]

    def _has_verdict(self, stage: str) -> bool:
        error = self.error(stage, {})
        return error is not None and error.judged > 0

    def matters(self, knob: str, stage: str) -> bool:
        """Whether a knob can change the replay of a recorded stage."""
        return not self._paths[stage].isdisjoint(KNOBS[knob].stages)

    def error(self, stage: str, changes: Mapping[str, Any]) -> StageError | None:
        """A stage judged under some changes; None where it cannot be replayed under them."""
        key = frozenset((knob, value) for knob, value in changes.items() if self.matters(knob, stage))
        if (stage, key) not in self._errors:
            self._errors[stage, key] = self._replayed_error(stage, key)
        return self._errors[stage, key]

    def _replayed_error(self, stage: str, key: frozenset[tuple[str, Any]]) -> StageError | None:
        """None also for a value that this bundle cannot have, such as whitened contacts without their slice."""
        try:
            return stage_error(self._replay(key), stage)
        except UnusableInput:
            return None

    def _replay(self, key: frozenset[tuple[str, Any]]) -> Replay:
        if key not in self._replays:
            self._replays[key] = Replay(self.evidence, self.contract.with_conventions(dict(key)))
        return self._replays[key]

    def excess(self, stage: str, changes: Mapping[str, Any]) -> float:
        """Worst error of a stage in tolerances; infinite where the changes make it impossible to replay."""
        error = self.error(stage, changes)
        return np.inf if error is None else error.worst_finite_excess

    def frames_within(self, stage: str, changes: Mapping[str, Any]) -> int:
        """Number of frames in which a stage is within its tolerance."""
        error = self.error(stage, changes)
        return 0 if error is None else error.frames_within

    def failing(self, changes: Mapping[str, Any]) -> list[str]:
        """Judged stages beyond their tolerance, in loop order."""
        return [stage for stage in self.judged if not self.excess(stage, changes) <= 1.0]

    def explains(self, changes: Mapping[str, Any]) -> bool:
        """Whether every judged stage is within its tolerance under the changes."""
        return all(self.excess(stage, changes) <= 1.0 for stage in self.judged)

    def worst_excess(self, changes: Mapping[str, Any]) -> float:
        """Worst error over all judged stages, in tolerances."""
        return max((self.excess(stage, changes) for stage in self.judged), default=np.inf)

    def singles(self, stages: Iterable[str], base: Mapping[str, Any]) -> list[Changes]:
        """Every single change, on top of `base`, that can matter to one of the stages."""
        wanted = list(stages)
        found: list[Changes] = []
        for knob in KNOBS:
            if knob in BENIGN_KNOBS or knob in base or not any(self.matters(knob, stage) for stage in wanted):
                continue
            found += [{**base, knob: value} for value in self._other_values(knob, base)]
        return found

    def _other_values(self, knob: str, base: Mapping[str, Any]) -> Iterator[Any]:
        if knob == "bone_order":
            order = self.assigned_bone_order(base)
            yield from () if order is None else (order,)
        elif knob == "input_order":
            if self.evidence.network is not None:
                current = self.contract.conventions.input_order
                yield from (order for order in permutations(INPUTS) if order != current)
        else:
            current = getattr(self.contract.conventions, knob)
            yield from (value for value in KNOBS[knob].values if value != current)

    def pairs(self, singles: list[Changes], failing: Iterable[str]) -> Iterator[Changes]:
        """Every pair of single changes of different knobs such that each failing stage is reached by one of them."""
        wanted = list(failing)
        knobs = [list(changes)[-1] for changes in singles]  # the last is the new one, on top of a base
        reach = [{stage for stage in wanted if self.matters(knob, stage)} for knob in knobs]
        for (first, one), (second, other) in combinations(list(zip(singles, knobs, strict=True)), 2):
            if one == other or "bone_order" in (one, other):
                continue
            if reach[knobs.index(one)] | reach[knobs.index(other)] == set(wanted):
                yield {**first, **second}
        for changes, knob in zip(singles, knobs, strict=True):
            order = None if knob == "bone_order" else self.assigned_bone_order(changes)
            if order is not None:
                yield {**changes, "bone_order": order}

    def own_products(self, stage: str, limit: int) -> Iterator[Changes]:
        """Every combination of the knobs that only this stage's own path depends on, where there are few."""
        knobs = [
            knob
            for knob in KNOBS
            if knob not in BENIGN_KNOBS and self.matters(knob, stage) and set(KNOBS[knob].stages) <= self._paths[stage]
        ]
        knobs = [knob for knob in knobs if knob not in ("bone_order", "input_order")]
        values = [KNOBS[knob].values for knob in knobs]
        if np.prod([len(choice) for choice in values], initial=1.0) > limit:
            return
        current = self.contract.conventions
        for chosen in product(*values):
            changes = {
                knob: value for knob, value in zip(knobs, chosen, strict=True) if value != getattr(current, knob)
            }
            if len(changes) > 2:
                yield changes

    def assigned_bone_order(self, changes: Mapping[str, Any]) -> tuple[int, ...] | str | None:
        """The bone permutation that best maps the replayed pose to the recorded one; None when it is the declared one.

        Matched by assignment: each published bone to a replayed bone that lies within its tolerance.
        """
        stage = next((name for name in _BONE_STAGES if name in self.judged), None)
        if stage is None:
            return None
        error = self.error(stage, changes)
        if error is None:
            return None
        order = _matched_bones(*_bone_values(error, self.contract))
        if order is None or order == tuple(range(len(order))):
            return None
        return "left_right_swapped" if order == left_right_permutation(self.contract.bone_names) else order


def _bone_values(error: StageError, contract: Contract) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Recorded, replayed and tolerance as (B, T·k), rows that cannot be judged left out."""
    width = _BONE_STAGES[error.stage]
    place = contract.output[ROTATIONS].range if error.stage == "y_out" else slice(None)
    arrays = [array[:, place] for array in (error.recorded, error.replayed, error.tolerance)]
    known = np.isfinite(np.concatenate(arrays, axis=1)).all(axis=1)
    recorded, replayed, tolerance = (
        array[known].reshape(int(known.sum()), -1, width).swapaxes(0, 1).astype(np.float64) for array in arrays
    )
    return recorded, replayed, tolerance


def _matched_bones(recorded: FloatArray, replayed: FloatArray, tolerance: FloatArray) -> tuple[int, ...] | None:
    """For each recorded bone the replayed bone that it takes; None when no permutation fits. Arrays (B, T, k)."""
    if recorded.shape[1] == 0:
        return None
    fits = [
        (np.abs(bone[None] - replayed) <= allowed[None] + tolerance).all(axis=(1, 2))
        for bone, allowed in zip(recorded, tolerance, strict=True)
    ]
    taken: dict[int, int] = {}
    for bone in range(len(fits)):
        if not _augment(bone, fits, taken, set()):
            return None
    by_recorded = {bone: source for source, bone in taken.items()}
    return tuple(by_recorded[bone] for bone in range(len(fits)))


def _augment(bone: int, fits: list[Any], taken: dict[int, int], visited: set[int]) -> bool:
    """One augmenting path of bipartite matching; a bone's own slot is tried first."""
    candidates = sorted(np.flatnonzero(fits[bone]).tolist(), key=lambda source: source != bone)
    for source in candidates:
        if source in visited:
            continue
        visited.add(source)
        if source not in taken or _augment(taken[source], fits, taken, visited):
            taken[source] = bone
            return True
    return False
