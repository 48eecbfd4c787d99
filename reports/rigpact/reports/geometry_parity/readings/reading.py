"""A reading of a function: a formula with the findings that belong to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rigpact.contract.findings import Rule
from rigpact.contract.statistics import FloatArray

Compute = Callable[..., FloatArray]
Named = tuple[Rule, Mapping[str, Any]]


@dataclass(frozen=True)
class Reading:
    """One possible computation on float64 arrays, and its findings; no findings for the contract's own."""

    words: str
    compute: Compute
    findings: Sequence[Named] = field(default=())

    def of(self, prepare: Compute, words: str, findings: Sequence[Named]) -> Reading:
        """The same of what another formula makes of the input, with that one's words and findings."""
        together = ", ".join(filter(None, (self.words, words)))
        return Reading(together, after(self.compute, prepare), [*findings, *self.findings])


def after(compute: Compute, prepare: Compute) -> Compute:
    """A formula on what another one makes of the input."""
    return lambda given: compute(prepare(given))
