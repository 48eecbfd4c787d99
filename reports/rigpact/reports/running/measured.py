"""What a run has measured about itself, as findings: copying is better, inputs out of range, a run that leaves its range."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.findings import Finding
from rigpact.contract.model.clamps import bound_clamps
from rigpact.contract.model.graph import onnx_is_installed, read_model_graph
from rigpact.contract.rules.answers import run as rules
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.files.declared import files_of
from rigpact.reference_runtime.files.ordinary import FRAMES_OLD, ORDINARY_Z
from rigpact.reference_runtime.graph.network import each_network
from rigpact.reference_runtime.recordings.trace import Trace
from rigpact.reports.comparing.address import channel_address
from rigpact.reports.nonfinite.leaving import Leaving
from rigpact.reports.nonfinite.origin import input_order

_CLAMPED = "the graph clamps it there, so the network sees other numbers than the trace"
_OPEN = "nothing in the graph clamps it"
_UNKNOWN = "recorded answers do not show what the network makes of it"


def measured_findings(contract: Contract, network: Any, clip: Any, trace: Trace, out: Path) -> Iterator[Finding]:
    """Yield what a run says against itself; every system is measured in the same way."""
    baseline = files_of(contract).baseline(trace, contract)
    if baseline is not None and baseline.is_lost:
        values = {name: getattr(baseline, name) for name in ("what", "unit", "error", "copied", "limit")}
        yield rules.COPYING_IS_BETTER.at(out, "", **values, old=FRAMES_OLD)
    yield from _inputs(contract, network, trace, out)
    leaving = Leaving(contract, trace.header.mode, clip)
    for row, frame in enumerate(trace.frame):
        leaving(int(frame), {name: rows[row] for name, rows in trace.stages.items()})
    left = leaving.found
    if left is not None:
        yield rules.RUN_LEAVES.at(out, f"/stages/{left.stage}/{left.channel}", mode=trace.header.mode, words=str(left))


def _inputs(contract: Contract, network: Any, trace: Trace, out: Path) -> Iterator[Finding]:
    parts = each_network(network, contract.system)
    signature = getattr(parts[0][0], "signature", None)
    clamps: dict[str, tuple[float, float]] = {}
    for each, part in parts:
        clamps |= _clamps(contract, part, getattr(getattr(each, "signature", None), "path", None))
    for name in contract.system.network_inputs:
        is_normalised = contract.system.graph[name].measure.unit == "z"
        if name not in trace.stages or not (name in clamps or is_normalised):
            continue  # a number in metres or degrees has no range of its own
        low, high = clamps.get(name, (-ORDINARY_Z, ORDINARY_Z))
        rows = trace.stages[name]
        beyond = np.isfinite(rows) & ((rows < low) | (rows > high))
        if not beyond.any():
            continue
        row, channel = np.unravel_index(int(np.argmax(np.where(beyond, np.abs(rows), -1.0))), rows.shape)
        yield rules.INPUT_BEYOND_RANGE.at(
            out, f"/stages/{name}/{channel}", input=name, low=low, high=high, frames=int(beyond.any(axis=1).sum()),
            total=len(rows), value=float(rows[row, channel]), frame=int(trace.frame[row]),
            address=channel_address(name, int(channel), contract),
            what=_UNKNOWN if signature is None else _CLAMPED if name in clamps else _OPEN,
        )  # fmt: skip


def _clamps(contract: Contract, part: System, model: Path | None) -> dict[str, tuple[float, float]]:
    """The range to which the model's graph clamps each input, by stage: an engine binds inputs by position."""
    if model is None or not onnx_is_installed():
        return {}
    graph = read_model_graph(model)
    order = input_order(contract, part)
    return {order[place]: (clamp.low, clamp.high) for place, clamp in bound_clamps(graph).items() if place < len(order)}
