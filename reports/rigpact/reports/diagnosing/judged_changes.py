"""What a set of changed conventions would do to the recorded stages, judged: the questions that a search asks.

How a stage's error under some changes is found is for whoever knows the stages: hypotheses.py for the enemy animation,
systems/graph_hypotheses.py for every system that is a graph of stages.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np

from rigpact.reports.diagnosing.stage_error import StageError

Changes = dict[str, Any]
ENOUGH = 0.5
"""Share of the values judged without a change that must still be judged under it: what cannot be looked at explains nothing."""


class JudgedChanges(ABC):
    """Changes of conventions, judged on one body of evidence. judged: the recorded stages that can be, in loop order."""

    judged: Sequence[str]

    @property
    @abstractmethod
    def frame_count(self) -> int:
        """Number of recorded frames."""

    @abstractmethod
    def error(self, stage: str, changes: Mapping[str, Any]) -> StageError | None:
        """A stage judged under some changes; None where it cannot be replayed under them."""

    @abstractmethod
    def singles(self, stages: Iterable[str], base: Mapping[str, Any]) -> list[Changes]:
        """Every single change, on top of `base`, that can matter to one of the stages."""

    @abstractmethod
    def pairs(self, singles: list[Changes], failing: Iterable[str]) -> Iterator[Changes]:
        """Every pair of single changes of different knobs such that each failing stage is reached by one of them."""

    @abstractmethod
    def on_few_frames(self) -> Self | None:
        """The same question about a handful of frames, for sieving; None where it would not be quicker."""

    @abstractmethod
    def own_products(self, stage: str, limit: int) -> Iterator[Changes]:
        """Every combination of more than two knobs that only this stage depends on, where there are few."""

    def excess(self, stage: str, changes: Mapping[str, Any]) -> float:
        """Worst error of a stage in tolerances; infinite where the changes make it impossible to replay."""
        error = self.error(stage, changes)
        return np.inf if error is None else error.worst_finite_excess

    def frames_within(self, stage: str, changes: Mapping[str, Any]) -> int:
        """Number of frames in which a stage is within its tolerance."""
        error = self.error(stage, changes)
        return 0 if error is None else error.frames_within

    def may_fit(self, stage: str, changes: Mapping[str, Any]) -> bool:
        """Whether nothing that can be judged of a stage speaks against the changes."""
        return self.excess(stage, changes) <= 1.0

    def fits(self, stage: str, changes: Mapping[str, Any]) -> bool:
        """Whether a stage is within its tolerance, and enough of it can be judged under the changes to say so."""
        error, before = self.error(stage, changes), self.error(stage, {})
        enough = 0.0 if before is None else ENOUGH * before.judged
        return self.may_fit(stage, changes) and error is not None and error.judged >= enough

    def failing(self, changes: Mapping[str, Any]) -> list[str]:
        """Judged stages beyond their tolerance, in loop order."""
        return [stage for stage in self.judged if not self.fits(stage, changes)]

    def explains(self, changes: Mapping[str, Any]) -> bool:
        """Whether every judged stage is within its tolerance under the changes."""
        return all(self.fits(stage, changes) for stage in self.judged)

    def allows(self, changes: Mapping[str, Any]) -> bool:
        """Whether nothing that can be judged speaks against the changes."""
        return all(self.may_fit(stage, changes) for stage in self.judged)

    def worst_excess(self, changes: Mapping[str, Any]) -> float:
        """Worst error over all judged stages, in tolerances."""
        return max((self.excess(stage, changes) for stage in self.judged), default=np.inf)
