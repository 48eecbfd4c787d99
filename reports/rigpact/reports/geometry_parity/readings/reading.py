"""A reading of a function: a formula with the findings that belong to it."""

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


def after(compute: Compute, prepare: Compute) -> Compute:
    """A formula on what another one makes of the input."""
    return lambda given: compute(prepare(given))
