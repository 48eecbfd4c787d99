"""Convert recordings of NeuraRig's wire: a trace to packets, the exchanged packets and a capture of a network to a trace."""

from pathlib import Path

import numpy as np

from rigpact.contract.contract_files import open_contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.files.declared import files_of
from rigpact.reference_runtime.graph.run import stages_from
from rigpact.reference_runtime.recordings.trace import Trace, TraceHeader, run_header, write_trace
from rigpact.reference_runtime.systems.neurarig.capture import Captured
from rigpact.reference_runtime.systems.neurarig.client import Played, replies_of
from rigpact.reference_runtime.systems.neurarig.wire import LEGS, SYSTEM, Profile


def open_own_contract(bundle: Path) -> Contract:
    """The contract in a file; UnusableInput for a contract of another system."""
    contract = open_contract(bundle)
    if contract.system is not SYSTEM:
        raise UnusableInput(bundle, f"a contract of {contract.system.name}", SYSTEM.name)
    return contract


def packets_of(clip: Path, bundle: Path) -> tuple[Contract, Trace, FloatArray]:
    """The contract, the recording and its packets (T, 63), built from `engine_pose` if they were not recorded."""
    contract = open_own_contract(bundle)
    trace = files_of(contract).recording(clip, contract).trace
    packets = stages_from(contract, trace.stages).get("packet")
    if packets is None:
        raise UnusableInput(clip, f"only {', '.join(trace.stages)}", "engine_pose or packet")
    return contract, trace, packets


def write_played(out: Path, contract: Contract, trace: Trace, packets: FloatArray, played: Played) -> None:
    """Write the answered frames: the engine's pose, the packet sent, the reply, and the resulting legs."""
    if not played.replies:
        refused = "".join(f"; refused {count} times: {words}" for words, count in played.refusals.items())
        hint = "it answers once its loss stays low, or with --onnx"
        raise UnusableInput(out, f"no reply{refused}", "a server that answers", hint)
    frames = np.array(played.frame_of)
    rows = frames % len(packets)
    replies = replies_of(played, contract.fields("reply").width)
    known: dict[str, FloatArray] = {"packet": packets[rows], "reply": replies}
    if "engine_pose" in trace.stages:
        known["engine_pose"] = trace.stages["engine_pose"][rows]
        computed = stages_from(contract, known)
        known |= {name: computed[name] for name in ("joints", "foot_error")}
    header = run_header(contract, trace.header.fps, "playback", trace.header.clip)
    ordered = {name: known[name] for name in contract.system.graph.names if name in known}
    write_trace(Trace(header, frames, frames / trace.header.fps, ordered), out)


def contract_of_wire(bundle: Path) -> tuple[Contract, Profile]:
    """The contract, and what its datagrams hold; a declared contract has `packet` and `reply` of its own."""
    contract = open_contract(bundle)
    if contract.system is SYSTEM:
        return contract, LEGS
    missing = next((name for name in ("packet", "reply") if name not in contract.system.graph), None)
    if missing is not None:
        expected = f"a contract of {SYSTEM.name}, or one with packet and reply"
        raise UnusableInput(bundle, f"no vector {missing}", expected)
    sent, answered = (contract.fields(name).width for name in ("packet", "reply"))
    return contract, Profile(contract.system.name, (), sent, answered, has_header=False)


def write_captured(out: Path, contract: Contract, captured: Captured) -> None:
    """Write the answered frames of a capture with their replies; every frame where no reply was captured."""
    rows = np.array(sorted(captured.replies) or range(len(captured.frames)))
    fps = contract.fps or 60.0
    known = {"packet": captured.frames[rows]}
    if captured.replies:
        known["reply"] = np.stack([captured.replies[row] for row in rows.tolist()])
    header = TraceHeader(fps, "teacher", producer="unknown", producer_version="unknown", system=contract.system.name)
    write_trace(Trace(header, rows, rows / fps, known), out)
