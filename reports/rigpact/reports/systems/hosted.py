"""Every system that is a definition and a graph of stages, under the commands."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rigpact.contract.conventions import conventions_table, split_settings
from rigpact.contract.documents import Kind
from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import FindingsReport, Ledger
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.definition import SystemContract
from rigpact.contract.systems.reading import read_system_contract
from rigpact.reference_runtime.recordings.recording import Recording
from rigpact.reference_runtime.recordings.trace import Trace, TraceHeader, is_trace_path, read_trace, write_trace
from rigpact.reference_runtime.systems.network import OnnxSystemNetwork
from rigpact.reference_runtime.systems.registry import RUNTIMES
from rigpact.reference_runtime.systems.stage_graph import StageGraph
from rigpact.reports.diagnosing.diagnose import Diagnosis
from rigpact.reports.systems.graph_comparison import compare_graph, judge_graph
from rigpact.reports.systems.graph_diagnosis import diagnose_graph
from rigpact.reports.systems.graph_hypotheses import GraphEvidence
from rigpact.reports.systems.hosted_check import check_hosted, first_not_finite
from rigpact.reports.systems.interface import CheckRequest, ContractFiles, DiffRequest, ExplainRequest, RunRequest
from rigpact.reports.terminal import working


class HostedSystem:
    """A `ReportedSystem`: which one a file is of stands in the file."""

    def check(self, request: CheckRequest) -> FindingsReport:
        """Judge a contract file, a model and recordings or data sets under it."""
        contracts = [each for each in request.documents if each.kind is Kind.SYSTEM_CONTRACT]
        others = [each for each in request.documents if each.kind is not Kind.SYSTEM_CONTRACT]
        if others:
            raise UnusableInput(others[0].path, f"a {others[0].kind.words}", "files of the system's own contract")
        if len(contracts) > 1:
            raise UnusableInput(contracts[1].path, f"{len(contracts)} system contracts", "one")
        _refuse_enemy_options(request.companion, request.canary)
        return check_hosted(contracts[0], request.model, request.recordings)

    def run(self, request: RunRequest) -> FindingsReport:
        """Run every stage on the given vectors of a recording."""
        if request.mode != "teacher" or request.floor_contacts:
            raise UnusableInput("--mode, --floor-contacts", request.mode, "neither", "this system does not feed itself")
        if request.onnx and request.replay:
            raise UnusableInput("--onnx and --replay", "both", "one of them")
        contract = hosted_contract(request.contract)
        driving = read_hosted_trace(request.clip, contract)
        outputs = read_hosted_trace(request.replay, contract) if request.replay else None
        if not is_trace_path(request.out):
            raise UnusableInput(
                request.out, f"the name {request.out.name}", "a name ending in .trace.jsonl or .trace.safetensors"
            )
        trace = run_graph(contract, graph_of(contract, request.onnx), driving, outputs, request.frames)
        write_trace(trace, request.out)
        return _run_report(contract, trace, request.out)

    def diff(self, request: DiffRequest) -> FindingsReport:
        """Compare two recordings stage by stage."""
        if request.table is not None:
            raise UnusableInput("--table", "a recording without bones", "--format json")
        contract = hosted_contract(request.contract)
        a, b = (_recording(path, contract) for path in (request.a, request.b))
        return judge_graph(compare_graph(a, b, contract, graph_of(contract, None), request.stages))

    def explain(self, request: ExplainRequest) -> tuple[Diagnosis, list[str]]:
        """Compute every recorded stage anew from its recorded inputs and search the system's knobs."""
        contract = hosted_contract(request.contract)
        trace = read_hosted_trace(request.recording, contract)
        recorded = dict(trace.stages)
        for path in (request.clip, request.replay):
            if path is not None:
                recorded = {**_rows_at(read_hosted_trace(path, contract), trace, path), **recorded}
        evidence = GraphEvidence(trace.frame, recorded, graph_of(contract, request.onnx), contract)
        with working("replaying stages and searching conventions"):
            return diagnose_graph(evidence, with_pairs=request.with_pairs), _notes(trace, contract)


def hosted_contract(files: ContractFiles) -> SystemContract:
    """The contract under the conventions that the options declare; `--set` wins over the file."""
    if files.bundle is None:
        raise UnusableInput("--bundle", "none", "the system's contract file")
    _refuse_enemy_options(files.companion, None)
    declared = conventions_table(files.conventions) if files.conventions else {}
    changes = {name: str(value) for name, value in declared.items()} | split_settings(files.settings)
    return read_system_contract(files.bundle, changes)


def graph_of(contract: SystemContract, onnx: Path | None) -> StageGraph:
    """The system's stages, with the model where there is one."""
    evaluate = None if onnx is None else OnnxSystemNetwork(onnx, contract.definition)
    return RUNTIMES[contract.definition.name].graph(contract, evaluate)


def read_hosted_trace(path: Path, contract: SystemContract) -> Trace:
    """Read a trace of this system; UnusableInput for one of another."""
    trace = read_trace(path)
    if trace.header.system != contract.definition.name:
        found = "no system in its header" if trace.header.system is None else f"a trace of {trace.header.system}"
        raise UnusableInput(f"{path}#/system", found, contract.definition.name, "is it the right --bundle?")
    return trace


def run_graph(
    contract: SystemContract, graph: StageGraph, driving: Trace, outputs: Trace | None = None, frames: int | None = None
) -> Trace:
    """Every stage of the first `frames` frames of a recording of the given vectors."""
    stages = dict(driving.stages) | ({} if outputs is None else _rows_at(outputs, driving, Path("--replay")))
    missing = [name for name in graph.given if name not in stages]
    if missing:
        hint = (
            "--onnx or --replay gives the network's answer" if set(missing) & set(contract.definition.outputs) else ""
        )
        raise UnusableInput(driving.header.clip or "--clip", f"no {', '.join(missing)}", ", ".join(graph.given), hint)
    count = len(driving.frame) if frames is None else frames
    if count > len(driving.frame):
        raise UnusableInput("--frames", str(count), f"at most {len(driving.frame)}, the frames of the clip")
    given = {name: stages[name][:count] for name in graph.given}
    with np.errstate(all="ignore"):  # what is not finite is found and said, not warned of
        known = graph.run(given, contract.conventions)
    header = TraceHeader(
        fps=driving.header.fps, mode="teacher", clip=driving.header.clip, bundle_sha256=contract.sha256,
        system=contract.definition.name,
    )  # fmt: skip
    ordered = {name: known[name] for name in contract.definition.vectors if name in known}
    return Trace(header, driving.frame[:count], driving.time_s[:count], ordered)


def _recording(path: Path, contract: SystemContract) -> Recording:
    trace = read_hosted_trace(path, contract)
    return Recording(path, "trace", trace, frozenset(contract.definition.vectors))


def _rows_at(other: Trace, trace: Trace, path: Path) -> dict[str, FloatArray]:
    """The rows of another recording at the frames of this one."""
    if not set(trace.frame.tolist()) <= set(other.frame.tolist()):
        raise UnusableInput(path, f"{len(other.frame)} frames", "every frame of the recording")
    rows = np.searchsorted(other.frame, trace.frame)
    return {name: values[rows] for name, values in other.stages.items()}


def _notes(trace: Trace, contract: SystemContract) -> list[str]:
    notes = []
    recorded = trace.header.bundle_sha256
    if recorded is not None and recorded != contract.sha256:
        notes.append(
            f"recorded under the contract {recorded[:12]}, not under {contract.sha256[:12]} ({contract.path.name})"
        )
    if trace.truncation:
        notes.append(f"the recording is incomplete: {trace.truncation}")
    return notes


def _run_report(contract: SystemContract, trace: Trace, out: Path) -> FindingsReport:
    values = sum(rows.size for rows in trace.stages.values())
    summary = {
        "out": str(out), "system": contract.definition.name, "mode": "reference", "frames": len(trace.frame),
        "fps": trace.header.fps, "stages": trace.widths, "conventions": dict(contract.conventions),
    }  # fmt: skip
    return FindingsReport(tuple(first_not_finite(contract, trace, out)), Ledger(values, values), summary)


def _refuse_enemy_options(companion: Path | None, canary: Path | None) -> None:
    for option, path in (("--companion", companion), ("--canary", canary)):
        if path is not None:
            raise UnusableInput(option, str(path), "a contract file alone", "this system has no such file")
