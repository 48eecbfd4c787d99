"""Stages that were not recorded, and that a recorded one tells: the terms of an observation, what a loop hands on.

They are searched as if they were recorded. What is wrong is simple at one term, and in a history of hundreds it is not;
and what is handed on to the next frame is there what it was, right or wrong: each frame is judged from the one before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.stage import Stage
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames, path_of, path_over_frames
from rigpact.reports.diagnosing.relations.pulled_back import Inverse, Stood
from rigpact.reports.diagnosing.stage_error import StageError

_FEW = 6
"""Frames on which a stage is looked at that looks at no other frame."""
_NEAR = 2
"""Stages back: what is done to a whole observation is simple there, and is not at each of its terms."""


def with_terms(
    evidence: Evidence,
    contract: Contract,
    errors: Iterable[StageError],
    least: float,
    *,
    behind_terms: bool = True,
    far: bool = True,
    through: bool = False,
) -> Evidence | None:
    """The evidence with what some recorded stages tell of stages that were not recorded; None where they tell nothing.

    errors: of those that agree, then of those that differ. A vector is told where the stages behind it only hold its numbers,
    or where it is handed on. least: the share of its numbers that must be known. behind_terms: whether what is handed on is
    told by what a term that differs is computed from it. far: whether to go farther back than two stages. through: whether terms
    are told too whose observation is scaled, number by number.
    """
    way = _Way(evidence, contract, least, behind_terms, far, through)
    for error in errors:
        with np.errstate(invalid="ignore"):
            failing = np.asarray(error.excess > 1.0)
        own = np.asarray(error.tolerance, np.float64)
        way.agrees = error.ok
        if error.ok:
            way.right |= path_over_frames(contract.system.graph, error.stage, evidence.recorded)
        way.follow(error.stage, Stood(error.recorded.astype(np.float64), own, holds=True), failing)
    if not way.recorded:
        return None
    recorded = {**evidence.recorded, **{name: rows.astype(np.float32) for name, rows in way.recorded.items()}}
    return replace(evidence, recorded=recorded, off={**evidence.off, **way.off})


@dataclass(eq=False)
class _Way:
    """The ways back from some stages; what was found on them."""

    evidence: Evidence
    contract: Contract
    least: float
    behind_terms: bool
    far: bool
    through: bool
    recorded: dict[str, FloatArray] = field(default_factory=dict)
    off: dict[str, FloatArray] = field(default_factory=dict)
    right: set[str] = field(default_factory=set)
    """What stages that agree are computed from: what differs is not told of that."""
    agrees: bool = False
    """Whether the stage from which is gone back agrees: it tells nothing new of a network's answer."""

    def __post_init__(self) -> None:
        self._frames = ReplayedFrames(self.evidence, self.contract)
        self._handed_on = {*self.contract.system.graph.handed_on} if self.evidence.mode == "free" else set()

    def follow(self, name: str, stood: Stood, failing: NDArray[np.bool_], steps: int = 1) -> None:
        """Go back from a stage: from what stood there, and where that is not what should."""
        graph = self.contract.system.graph
        for each in graph[name].needs:
            is_new = each not in self.evidence.recorded and each not in self.recorded
            is_computed = graph[each].compute is not None and not (graph[each].is_answer and self.agrees)
            own = self._frames.get(each) if is_new and is_computed and not graph[name].is_answer else None
            if own is None:
                continue
            found = self._before(graph[name], each, own.astype(np.float64), stood, failing)
            known = None if found is None else np.isfinite(found.bound)
            if found is None or known is None or known.mean() < self.least or not known.any(axis=0).all():
                continue
            differs = np.abs(found.held - own) > found.bound
            is_handed_on, is_behind_a_term = each in self._handed_on, stood.holds and name in self.recorded
            if is_handed_on and each in self.right and differs.any():
                continue
            is_behind_a_scale = self.through and found.by_number and len(graph[each].needs) > 1
            is_told = stood.holds and (found.holds or is_behind_a_scale)
            if not is_told and not (self._leads_on(each) and (self.behind_terms or not is_behind_a_term)):
                continue
            if is_told or is_handed_on:
                self.recorded[each], self.off[each] = found.held, found.bound
            if (is_told or not is_handed_on) and (self.far or steps < _NEAR):
                self.follow(each, replace(found, holds=is_told), differs, steps + 1)

    def _leads_on(self, name: str) -> bool:
        """Whether something on the way to a stage, or itself, is handed on to the next frame."""
        return not self._handed_on.isdisjoint(path_of(self.contract.system.graph, name, self.evidence.recorded))

    def _before(
        self, stage: Stage, name: str, own: FloatArray, stood: Stood, failing: NDArray[np.bool_]
    ) -> Stood | None:
        looks_around = stage.reach_of(self.contract) != (0, 0)
        few = sorted({place * len(own) // _FEW for place in range(_FEW)})
        inverse = Inverse(partial(rows_from, self._frames, stage, name), np.nan_to_num(own), few, looks_around)
        return inverse.stood(stood.held, stood.bound, failing, in_part=True)


def rows_from(
    frames: ReplayedFrames, stage: Stage, name: str, rows: FloatArray, few: list[int] | None = None
) -> FloatArray | None:
    """A stage computed with other rows of one of its inputs, float64; few: of those recorded frames only."""
    names = (*stage.needs, *stage.may_use, *stage.earlier)
    known = {each: own for each in names if each != name and (own := frames.get(each)) is not None}
    evidence = replace(frames.evidence, recorded=known, off={})
    evidence = evidence if few is None else evidence.at_rows(few)
    evidence = replace(evidence, recorded={**evidence.recorded, name: rows.astype(np.float32)})
    try:
        found = ReplayedFrames(evidence, frames.contract).computed(stage.name)
    except UnusableInput:
        return None
    return None if found is None else found.astype(np.float64)
