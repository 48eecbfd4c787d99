"""A runtime as a list of named stages, each a pure function of stages before it.

The same list runs a system, replays one stage from an engine's own recorded inputs, and searches conventions: a stage
names the knobs that it looks at, so nothing else has to know them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.definition import Choices

Stages = Mapping[str, FloatArray]
Compute = Callable[[Stages, Choices], FloatArray]
"""Recorded stages (T, width) float32 and conventions -> the stage's rows (T, width) float32."""
Bound = Callable[[Stages, FloatArray], FloatArray]
"""Recorded stages and the recomputed rows -> how far two correct float32 implementations may differ, (T, width)."""


@dataclass(frozen=True)
class Stage:
    """One stage: what it is computed from, under which knobs, and how far rounding may move it.

    needs: stages that `compute` reads; knobs: conventions that it looks at; unit: of its error, for people.
    quaternions: rows hold quaternions, whose sign says nothing.
    """

    name: str
    needs: tuple[str, ...]
    compute: Compute
    bound: Bound
    knobs: tuple[str, ...] = ()
    unit: str = "raw"
    quaternions: bool = False


@dataclass(frozen=True)
class StageGraph:
    """Stages in the order of the loop; `given` are the vectors that come from outside."""

    given: tuple[str, ...]
    stages: tuple[Stage, ...]

    def __getitem__(self, name: str) -> Stage:
        """Return the stage of that name; KeyError where there is none."""
        for stage in self.stages:
            if stage.name == name:
                return stage
        raise KeyError(name)

    @property
    def names(self) -> Sequence[str]:
        """Given vectors and stages, in order."""
        return (*self.given, *(stage.name for stage in self.stages))

    def run(self, given: Stages, choices: Choices) -> dict[str, FloatArray]:
        """Compute every stage from the given vectors."""
        known = {name: given[name] for name in self.given}
        for stage in self.stages:
            known[stage.name] = stage.compute(known, choices)
        return known
