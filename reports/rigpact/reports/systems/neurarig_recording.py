"""Between NeuraRig's client and recordings: the packets of a trace, and a trace of what was sent and what came back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rigpact.contract.systems.definition import SystemContract
from rigpact.reports.systems.hosted import hosted_contract, read_hosted_trace
from rigpact.reports.systems.interface import ContractFiles

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.recordings.trace import Trace, TraceHeader, write_trace
from rigpact.reference_runtime.systems.neurarig.client import Played, replies_of
from rigpact.reference_runtime.systems.neurarig.graph import graph


def packets_of(clip: Path, bundle: Path) -> tuple[SystemContract, Trace, FloatArray]:
    """The contract, the recording and its packets (T, 63), made from `engine_pose` where they were not recorded."""
    contract = hosted_contract(ContractFiles(bundle))
    trace = read_hosted_trace(clip, contract)
    if "packet" in trace.stages:
        return contract, trace, trace.stages["packet"]
    if "engine_pose" not in trace.stages:
        raise UnusableInput(clip, f"only {', '.join(trace.stages)}", "engine_pose or packet")
    packets = graph(contract)["packet"].compute(trace.stages, contract.conventions)
    return contract, trace, packets


def write_played(out: Path, contract: SystemContract, trace: Trace, packets: FloatArray, played: Played) -> None:
    """Write the frames that were answered: what the engine had, what was sent, what came back, and the legs it makes."""
    if not played.replies:
        raise UnusableInput(
            out, "no reply", "a server that answers", "it answers once its loss stays low, or with --onnx"
        )
    frames = np.array(played.frame_of)
    rows = frames % len(packets)
    stages: dict[str, FloatArray] = {
        "packet": packets[rows],
        "reply": replies_of(played, contract.vectors["reply"].width),
    }
    if "engine_pose" in trace.stages:
        stages["engine_pose"] = trace.stages["engine_pose"][rows]
        for name in ("joints", "foot_error"):
            stages[name] = graph(contract)[name].compute(stages, contract.conventions)
    header = TraceHeader(
        trace.header.fps, "playback", trace.header.clip, contract.sha256, system=contract.definition.name
    )
    ordered = {name: stages[name] for name in contract.definition.vectors if name in stages}
    write_trace(Trace(header, frames, frames / trace.header.fps, ordered), out)
