"""Values from outside that are not finite and that nothing reads: a field of a clip that the contract passes over.

Such a value is not a defect of a run. Whether a stage reads a number is asked of the stage: it is computed again with other
numbers in its place. Where that cannot be asked (a stage that looks at other frames, a network, feedback), it counts as read.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.stage import Graph
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames

_INSTEAD = (0.0, 1.0, -1.0, 1000.0)
"""A function that reads a number differs for one of these: none of them is on the same side of every threshold."""


def unread_rows(evidence: Evidence, contract: Contract) -> dict[str, NDArray[np.bool_]]:
    """For each stage that nothing reads there: where (T,) a row is not finite, and no stage reads what is not."""
    found: dict[str, NDArray[np.bool_]] = {}
    for name, rows in evidence.recorded.items():
        bad: NDArray[np.bool_] = np.asarray(~np.isfinite(rows).all(axis=1))
        if bad.any() and _is_given(contract, name):
            chosen = np.flatnonzero(bad)
            bad[chosen] = ~_is_read(evidence.at_rows(chosen.tolist()), contract, name)
            found[name] = bad
    return found


def unread_stages(stages: Mapping[str, FloatArray], contract: Contract, mode: str) -> frozenset[str]:
    """The same for one frame, (width,) each: the stages that hold a value that is not finite, and that nothing reads."""
    rows = {name: values[None] for name, values in stages.items()}
    evidence = Evidence(np.zeros(1, np.int64), contract.fps or 1.0, mode, rows)
    return frozenset(name for name, is_unread in unread_rows(evidence, contract).items() if is_unread.all())


def _is_given(contract: Contract, name: str) -> bool:
    """Whether a stage comes from outside in every frame, and neither a network nor an engine sees it as it is."""
    system, graph = contract.system, contract.system.graph
    if name not in graph or system.windowed:
        return False
    is_seen = name in (*system.network_inputs, *system.outputs, *graph.answers, *graph.handed_on)
    return not (is_seen or graph[name].needs or graph[name].carried)


def _is_read(evidence: Evidence, contract: Contract, name: str) -> NDArray[np.bool_]:
    """In which rows (T,) a stage differs with other numbers in place of those of `name` that are not finite."""
    graph: Graph = contract.system.graph
    readers = [stage for stage in graph if name in (*stage.needs, *stage.may_use)]
    is_read = np.zeros(len(evidence.frame), bool)
    for stage in readers:
        if stage.is_answer or stage.compute is None or stage.reach_of(contract) != (0, 0):
            return np.ones_like(is_read)
        is_read |= _differs(evidence, contract, name, stage.name)
    return is_read


def _differs(evidence: Evidence, contract: Contract, name: str, reader: str) -> NDArray[np.bool_]:
    rows, first = evidence.recorded[name], None
    differs = np.zeros(len(rows), bool)
    for number in _INSTEAD:
        changed = {**evidence.recorded, name: np.where(np.isfinite(rows), rows, np.float32(number))}
        try:
            with np.errstate(all="ignore"):
                found = ReplayedFrames(replace(evidence, recorded=changed), contract).computed(reader)
        except (UnusableInput, ValueError, ArithmeticError):
            found = None
        if found is None:
            return np.ones_like(differs)
        first = found if first is None else first
        differs |= ~((found == first) & np.isfinite(found)).all(axis=1)
    return differs
