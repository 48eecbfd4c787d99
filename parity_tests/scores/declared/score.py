"""How many mistakes of an independent runtime the diagnosis names under a declared contract, from a sparse recording.

`named`: the answer's conventions are the mistake, or the mistake stands among the changes that explain this data equally well.
`misleading`: other conventions are named with certainty. A mistake whose recording agrees with the contract cannot be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, product
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.files.contracts import ContractFiles, open_contract
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reports.diagnosing.diagnose import Diagnosis, diagnose

from .plain import AS_WRITTEN, Maths

Mistakes = Mapping[str, str]
Record = Callable[[Mistakes, int, Maths], Mapping[str, FloatArray]]
"""Mistakes, a seed and how the engine computes -> what an engine with these mistakes records."""
_MOST_READINGS = 4096
NAMED, LOCATED, UNSEEN, MISLEADING = "named", "located", "unseen", "misleading"


@dataclass(frozen=True, eq=False)
class Subject:
    """A declared contract, its independent runtime, and the network that both run. recorded: the sparse recording."""

    contract: Path
    record: Record
    network: Any
    recorded: tuple[str, ...]
    changes: Mapping[str, str] | None = None


def opened(subject: Subject) -> Any:
    """The contract, under the subject's own conventions."""
    return open_contract(ContractFiles(subject.contract)).with_conventions(subject.changes or {})


def every_mistake(contract: Any) -> list[Mistakes]:
    """Each other value of each knob, alone."""
    knobs = contract.system.knobs.values()
    return [{knob.name: value} for knob in knobs for value in knob.values if value != contract.conventions[knob.name]]


def drawn_pairs(contract: Any, count: int, seed: int = 0) -> list[Mistakes]:
    """Pairs of mistakes of different knobs, drawn without repetition."""
    singles = every_mistake(contract)
    pairs = [{**one, **other} for one, other in combinations(singles, 2) if one.keys() != other.keys()]
    chosen = np.random.default_rng(seed).permutation(len(pairs))[:count]
    return [pairs[index] for index in sorted(chosen)]


def evidence_of(subject: Subject, contract: Any, rows: Mapping[str, FloatArray]) -> Evidence:
    """The sparse recording as a diagnosis takes it."""
    recorded = {
        name: np.asarray(rows[name], np.float32) for name in contract.system.graph.names if name in subject.recorded
    }
    count = len(next(iter(recorded.values())))
    mode = "free" if contract.system.graph.feeds_itself else "teacher"
    return Evidence(np.arange(count), contract.fps or 1.0, mode, recorded, network=subject.network)


def answered(subject: Subject, contract: Any, planted: Mistakes, seed: int) -> str:
    """What the diagnosis makes of one recording."""
    rows = subject.record(planted, seed, AS_WRITTEN)
    planted = _that_show(subject, planted, seed, rows)
    diagnosis = diagnose(evidence_of(subject, contract, rows), contract)
    if diagnosis.verdict == "agrees":
        return UNSEEN
    choices = [(cause.changes, *cause.equivalents) for cause in diagnosis.causes]
    readings = ({name: value for changes in chosen for name, value in changes.items()} for chosen in product(*choices))
    if any(_is(named, planted) for named in islice(readings, _MOST_READINGS)):
        return NAMED
    return MISLEADING if diagnosis.verdict == "explained" else LOCATED


def _that_show(subject: Subject, planted: Mistakes, seed: int, rows: Mapping[str, FloatArray]) -> Mistakes:
    """Of several mistakes those that change the recording: beside the others one may have no effect left."""
    if len(planted) < 2:
        return planted
    shown = {}
    for name, value in planted.items():
        without = subject.record({other: planted[other] for other in planted if other != name}, seed, AS_WRITTEN)
        if any(not np.array_equal(rows[stage], without[stage], equal_nan=True) for stage in subject.recorded):
            shown[name] = value
    return shown


def _is(changes: Mapping[str, Any], planted: Mistakes) -> bool:
    return {name: str(value) for name, value in changes.items()} == dict(planted)


def counted(subject: Subject, planted: Sequence[Mistakes], seed: int = 0) -> Iterator[tuple[Mistakes, str]]:
    """Each set of mistakes with its answer."""
    contract = opened(subject)
    for mistakes in planted:
        yield mistakes, answered(subject, contract, mistakes, seed)
