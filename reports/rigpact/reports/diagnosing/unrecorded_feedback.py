"""Feedback that a recording leaves out: computed from its start, so that what the network gives can still be judged.

A network that hands its own history on needs that history to be judged, and engines do not record it. Where the contract says how
it starts and no convention stands in the loop, its rows follow from the recorded inputs alone. Rounding goes round the loop with
them: where the network makes it grow beyond what the network's own bound allows, the feedback stays unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.stage import Graph, NotKnown, Stage
from rigpact.reference_runtime.graph.bounds import KnownFrames, stage_bound
from rigpact.reference_runtime.graph.replayed import Evidence, path_of
from rigpact.reference_runtime.graph.run import ClipDrive, LiveFrames
from rigpact.reference_runtime.operations.rounding import UNIT_ROUNDOFF

_SIGNS = 2
"""Runs with moved rows: rounding of either sign."""


def with_unrecorded_feedback(evidence: Evidence, contract: Contract) -> Evidence:
    """The evidence with the rows of feedback that was not recorded, where they can be known; else as it is."""
    graph: Graph = contract.system.graph
    if not _is_replayable(evidence, graph):
        return evidence
    rows = _rows(evidence, contract, 0.0)
    carried = [stage.name for stage in graph if stage.carried is not None]
    if rows is None or not _is_stable(evidence, contract, rows):
        return evidence
    given = {name: evidence.recorded[name] for name in graph.given if name in evidence.recorded}
    drive = ClipDrive({**given, **{name: rows[name] for name in carried}})
    return replace(evidence, mode="teacher", drive=lambda _contract: drive)


def _is_replayable(evidence: Evidence, graph: Graph) -> bool:
    """Whether some feedback is missing, every other input is there, and no convention stands in the loop."""
    carried = [stage for stage in graph if stage.carried is not None]
    missing = [stage for stage in carried if not {stage.name, str(stage.carried)} & evidence.recorded.keys()]
    is_whole = bool(np.array_equal(evidence.frame, np.arange(len(evidence.frame))))
    is_plain = evidence.mode == "free" and evidence.drive is None and evidence.network is not None
    others = [name for name in graph.given if graph[name].carried is None]
    if not (missing and is_whole and is_plain and all(name in evidence.recorded for name in others)):
        return False
    return all(_is_fixed(stage, graph, evidence.recorded) for stage in carried)


def _is_fixed(stage: Stage, graph: Graph, recorded: Mapping[str, FloatArray]) -> bool:
    """Whether what a stage takes over is one answer of a network under every convention, from a start that is said."""
    source = graph[str(stage.carried)]
    on_the_way = path_of(graph, source.name, recorded)
    has_choices = stage.source_knob is not None or any(graph[name].every_knob for name in on_the_way)
    return stage.start is not None and source.is_answer and not has_choices


def _rows(evidence: Evidence, contract: Contract, sign: float) -> dict[str, FloatArray] | None:
    """Every stage from the start on, (T, width): recorded where it was; carried rows moved by their rounding times `sign`."""
    graph: Graph = contract.system.graph
    frames = _Moved(contract, evidence, sign)
    for _ in evidence.frame:
        frames.step()
    rows = {name: frames.history(name, 0) for name in graph.names}
    found = {name: each for name, each in rows.items() if each is not None}
    return found if all(name in found and np.isfinite(found[name]).all() for name in graph.given) else None


class _Moved(LiveFrames):
    """A run in which the fed-back numbers are moved by one rounding in each frame."""

    def __init__(self, contract: Contract, evidence: Evidence, sign: float) -> None:
        super().__init__(contract, [ClipDrive(evidence.recorded)], evidence.network, len(evidence.frame), "free")
        self._sign = sign

    def _rows(self, stage: Stage) -> FloatArray:
        rows = super()._rows(stage)
        return rows if stage.carried is None else (rows * (1.0 + self._sign * 2.0 * UNIT_ROUNDOFF)).astype(np.float32)


def _is_stable(evidence: Evidence, contract: Contract, rows: Mapping[str, FloatArray]) -> bool:
    """Whether rounding of the fed-back numbers moves every answer by less than the network's own bound."""
    graph: Graph = contract.system.graph
    for sign in np.linspace(-1.0, 1.0, _SIGNS):
        moved = _rows(evidence, contract, float(sign))
        for name in graph.answers:
            if moved is None or name not in rows or name not in moved:
                return False
            try:
                bound = stage_bound(graph[name], KnownFrames(contract, rows), rows[name], {})
            except NotKnown:
                return False
            if np.any(np.abs(moved[name].astype(np.float64) - rows[name]) > bound):
                return False
    return True
