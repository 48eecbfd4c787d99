"""What a diagnosis of a stage graph may suppose, and what it would do to the recorded stages.

A stage is judged where everything that it is computed from was recorded: it is computed anew from the engine's own inputs,
so that nothing is inherited, and may be off by its bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.definition import SystemContract
from rigpact.reference_runtime.systems.stage_graph import Stage, StageGraph
from rigpact.reports.diagnosing.judged_changes import Changes, JudgedChanges
from rigpact.reports.diagnosing.stage_error import StageError, error_between, same_hemisphere


@dataclass(frozen=True, eq=False)
class GraphEvidence:
    """What was recorded: frame (T,), stages (T, width) of a graph."""

    frame: NDArray[np.int64]
    recorded: Mapping[str, FloatArray]
    graph: StageGraph
    contract: SystemContract


class GraphHypotheses(JudgedChanges):
    """Changes of a system's knobs, judged on one recording."""

    def __init__(self, evidence: GraphEvidence) -> None:
        """Find which recorded stages can be judged."""
        self.evidence = evidence
        self._errors: dict[tuple[str, frozenset[tuple[str, Any]]], StageError] = {}
        self._stages = {stage.name: stage for stage in evidence.graph.stages if self.is_whole(stage)}
        errors = {name: self.error(name, {}) for name in self._stages}
        self.judged = [name for name, error in errors.items() if error is not None and error.judged > 0]

    def is_whole(self, stage: Stage) -> bool:
        """Whether a stage was recorded together with all that it is computed from."""
        return {stage.name, *stage.needs} <= set(self.evidence.recorded)

    @property
    def frame_count(self) -> int:
        """Number of recorded frames."""
        return len(self.evidence.frame)

    def matters(self, knob: str, stage: str) -> bool:
        """Whether a knob is among those that a stage looks at."""
        return knob in self._stages[stage].knobs

    def error(self, stage: str, changes: Mapping[str, Any]) -> StageError | None:
        """A stage judged under some changes."""
        if stage not in self._stages:
            return None
        key = frozenset((knob, value) for knob, value in changes.items() if self.matters(knob, stage))
        if (stage, key) not in self._errors:
            error = graph_stage_error(self.evidence, self._stages[stage], dict(key))
            if len(key) > 1:
                return error
            self._errors[stage, key] = error
        return self._errors[stage, key]

    def singles(self, stages: Iterable[str], base: Mapping[str, Any]) -> list[Changes]:
        """Every other value of every knob that one of the stages looks at."""
        wanted = list(stages)
        contract = self.evidence.contract
        return [
            {**base, knob: value}
            for knob, values in contract.definition.knobs.items()
            if knob not in base and any(self.matters(knob, stage) for stage in wanted)
            for value in values
            if value != contract.conventions[knob]
        ]

    def pairs(self, singles: list[Changes], failing: Iterable[str]) -> Iterator[Changes]:
        """Every pair of singles of different knobs such that each failing stage looks at one of them."""
        wanted = set(failing)
        reach = [{stage for stage in wanted if self.matters(list(changes)[-1], stage)} for changes in singles]
        for (one, first), (other, second) in combinations(list(enumerate(singles)), 2):
            if list(first)[-1] != list(second)[-1] and reach[one] | reach[other] == wanted:
                yield {**first, **second}

    def on_few_frames(self) -> Self | None:
        """Not worth it: stages are computed apart from each other, and there are few knobs at each."""
        return None

    def own_products(self, stage: str, limit: int) -> Iterator[Changes]:
        """Every combination of more than two of the knobs that only this stage looks at, where there are few."""
        contract = self.evidence.contract
        others = {knob for name, each in self._stages.items() if name != stage for knob in each.knobs}
        knobs = [knob for knob in self._stages[stage].knobs if knob not in others]
        values = [contract.definition.knobs[knob] for knob in knobs]
        if np.prod([len(each) for each in values]) > limit:
            return
        for chosen in product(*values):
            pairs = zip(knobs, chosen, strict=True)
            changes = {knob: value for knob, value in pairs if value != contract.conventions[knob]}
            if len(changes) > 2:
                yield changes


def graph_stage_error(evidence: GraphEvidence, stage: Stage, changes: Mapping[str, Any]) -> StageError:
    """Judge one recorded stage against its replay from the recorded inputs."""
    recorded = evidence.recorded[stage.name]
    with np.errstate(all="ignore"):  # what changes and broken recordings lead to is judged, not warned of
        replayed = stage.compute(evidence.recorded, {**evidence.contract.conventions, **changes})
        bound = stage.bound(evidence.recorded, replayed)
    if stage.quaternions:
        replayed = same_hemisphere(recorded.astype(np.float64), replayed.astype(np.float64))
    return error_between(stage.name, recorded, replayed, np.asarray(bound, np.float64))
