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
from rigpact.reports.diagnosing.judged_changes import Changes, JudgedChanges
from rigpact.reports.diagnosing.replay import Evidence, Replay, at_rows, path_of
from rigpact.reports.diagnosing.shared_stages import SharedStages
from rigpact.reports.diagnosing.stage_error import StageError, stage_error

BENIGN_KNOBS = frozenset({"math"})
"""Knobs that are never a defect."""
_BONE_STAGES = {"y_out": 6, "quat": 4}
FEW_FRAMES = 6


class Hypotheses(JudgedChanges):
    """Changes of conventions, judged on one body of evidence."""

    def __init__(self, evidence: Evidence, contract: Contract) -> None:
        """Find which recorded stages can be judged at all."""
        self.evidence, self.contract = evidence, contract
        self._shared = SharedStages(evidence, contract.conventions)
        self._errors: dict[tuple[str, frozenset[tuple[str, Any]]], StageError | None] = {}
        self._paths = {stage: path_of(stage, evidence.recorded) for stage in STAGES if stage in evidence.recorded}
        self.judged = [stage for stage in self._paths if self._has_verdict(stage)]

    def _has_verdict(self, stage: str) -> bool:
        error = self.error(stage, {})
        return error is not None and error.judged > 0

    @property
    def frame_count(self) -> int:
        """Number of recorded frames."""
        return len(self.evidence.frame)

    def matters(self, knob: str, stage: str) -> bool:
        """Whether a knob can change the replay of a recorded stage."""
        return not self._paths[stage].isdisjoint(KNOBS[knob].stages)

    def error(self, stage: str, changes: Mapping[str, Any]) -> StageError | None:
        """A stage judged under some changes; None where it cannot be replayed under them.

        Only what at most one change leads to is remembered: the pairs of a search would fill the memory.
        """
        key = frozenset((knob, value) for knob, value in changes.items() if self.matters(knob, stage))
        if (stage, key) in self._errors:
            return self._errors[stage, key]
        error = self._replayed_error(stage, key)
        if len(key) <= 1:
            self._errors[stage, key] = error
        return error

    def _replayed_error(self, stage: str, key: frozenset[tuple[str, Any]]) -> StageError | None:
        """None also for a value that this bundle cannot have, such as whitened contacts without their slice."""
        try:
            replay = Replay(self.evidence, self.contract.with_conventions(dict(key)), shared=self._shared)
            return stage_error(replay, stage)
        except UnusableInput:
            return None

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
        """Every pair of single changes of different knobs such that each failing stage is reached by one of them.

        Where the network's output was not recorded, of the input orders only exchanges of two inputs go into pairs.
        """
        wanted = list(failing)
        if "y_norm" not in self.judged:
            singles = [changes for changes in singles if self._exchanges_two_inputs_at_most(changes)]
        knobs = [list(changes)[-1] for changes in singles]  # the last is the new one, on top of a base
        reach = [{stage for stage in wanted if self.matters(knob, stage)} for knob in knobs]
        for (first, one), (second, other) in combinations(list(zip(singles, knobs, strict=True)), 2):
            if one == other or "bone_order" in (one, other):
                continue
            if reach[knobs.index(one)] | reach[knobs.index(other)] == set(wanted):
                yield {**first, **second}
        yield from self._repairs(singles, set(wanted))
        for changes, knob in zip(singles, knobs, strict=True):
            order = None if knob == "bone_order" else self.assigned_bone_order(changes)
            if order is not None:
                yield {**changes, "bone_order": order}

    def _repairs(self, singles: list[Changes], wanted: set[str]) -> Iterator[Changes]:
        """A change that reaches the failing stages and breaks another one, with a change that only mends that one."""
        for first in singles:
            broken = set(self.failing(first)) - wanted
            base = dict(list(first.items())[:-1])
            for second in self.singles(broken, base):
                knob = list(second)[-1]
                if knob not in first and not any(self.matters(knob, stage) for stage in wanted):
                    yield {**first, **second}

    def _exchanges_two_inputs_at_most(self, changes: Changes) -> bool:
        declared = self.contract.conventions.input_order
        order: tuple[str, ...] = changes.get("input_order", declared)
        return sum(one != other for one, other in zip(order, declared, strict=True)) <= 2

    def on_few_frames(self) -> Hypotheses | None:
        """The same question about a handful of frames, for sieving: what fits all frames fits these. None for short runs.

        They are the ends of the recording, where histories and lags begin and end, and the frames about the worst.
        """
        frames = len(self.evidence.frame)
        if frames <= 2 * FEW_FRAMES:
            return None
        excess = np.zeros(frames)
        for stage in self.judged:
            error = self.error(stage, {})
            if error is not None:
                excess = np.maximum(excess, np.nan_to_num(error.excess).max(axis=1))
        worst = min(max(int(np.argmax(excess)), 1), frames - 1)
        rows = sorted({0, 1, worst - 1, worst, frames - 2, frames - 1})
        return Hypotheses(at_rows(self.evidence, rows), self.contract)

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
        array[known].reshape(int(known.sum()), contract.bone_count, width).swapaxes(0, 1).astype(np.float64)
        for array in arrays
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
