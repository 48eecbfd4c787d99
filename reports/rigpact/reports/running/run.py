"""Run any system from a user's files: a recording and a findings report."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Finding, FindingsReport, Ledger
from rigpact.contract.model.edges import bound_clamps
from rigpact.contract.model.graph import open_model
from rigpact.contract.rules.answers import comparison
from rigpact.contract.rules.answers import run as rules
from rigpact.contract.rules.answers.run import VALUE_UNREAD
from rigpact.contract.rules.teacher.prediction import WORSE_THAN_COPYING, is_worse_than_copying
from rigpact.contract.settings.gate import FREE_RUN_FRAMES
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.files.declared import ContractFiles, files_of, network_of
from rigpact.reference_runtime.files.run import Run, RunOptions, run_frames
from rigpact.reference_runtime.files.sentinel import FRAMES_OLD, ORDINARY_Z, unread_rows
from rigpact.reference_runtime.graph.network import each_network
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reference_runtime.native.library import Engine
from rigpact.reference_runtime.recordings.opened import is_trace_name, write_trace
from rigpact.reference_runtime.recordings.trace import Trace
from rigpact.reports.answer import Sentence, print_with_findings
from rigpact.reports.checking.check import said_of_inputs
from rigpact.reports.comparing.stage_comparison import channel_address
from rigpact.reports.nonfinite.observers import Leaving
from rigpact.reports.nonfinite.origin import input_order
from rigpact.reports.terminal import tracked

_CLAMPED = "the graph clamps it there, so the network sees other numbers than the trace"
_OPEN = "nothing in the graph clamps it"
_UNKNOWN = "recorded answers do not show the network's answer to it"


def measured_findings(contract: Contract, network: Any, clip: Any, trace: Trace, out: Path) -> Iterator[Finding]:
    """Yield what a run says against itself; every system is measured in the same way."""
    baseline = files_of(contract).baseline(trace, contract)
    if baseline is not None and baseline.is_lost:
        values = {name: getattr(baseline, name) for name in ("what", "unit", "error", "copied", "limit")}
        yield rules.COPYING_IS_BETTER.at(out, "", **values, old=FRAMES_OLD)
    elif baseline is not None and baseline.unit == "deg" and is_worse_than_copying(baseline.error, baseline.copied):
        yield WORSE_THAN_COPYING.at(out, "", model_deg=baseline.error, copy_deg=baseline.copied)
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
    if model is None:
        return {}
    graph = open_model(model)
    order = input_order(contract, part)
    return {order[place]: (clamp.low, clamp.high) for place, clamp in bound_clamps(graph).items() if place < len(order)}


def run(
    contract_files: ContractFiles,
    clip: Path,
    out: Path,
    onnx: Path | None = None,
    replay: Path | None = None,
    *,
    mode: str = "teacher",
    frames: int | None = None,
    floor_contacts: bool = False,
    engine: Engine = "auto",
) -> FindingsReport:
    """Run the reference runtime, driven by a clip, write every stage of every frame, and report the problems.

    replay: recorded answers in place of a model. frames: None for the whole clip, or for ten seconds if the run has no end.
    """
    contract = contract_files.opened()
    if not is_trace_name(out):  # a teacher prediction is a file of the training side
        contract = contract.with_conventions(contract.conventions.of_training)
    files = files_of(contract)
    driving, network = files.clip(clip, contract), read_network(contract, onnx, replay)
    limit = frames or (FREE_RUN_FRAMES if mode == "free" else None)
    runner = files.start(contract, network, driving, RunOptions(mode, limit, floor_contacts, engine=engine))
    trace = record_run(runner, clip, mode, frames)
    if is_trace_name(out):
        write_trace(trace, out)
    else:
        files.write(out, trace, runner.contract, driving, (onnx or replay or clip).name)
    measured = tuple(measured_findings(runner.contract, network, driving, trace, out))
    measured += said_of_inputs(contract_files, (clip,))
    return describe_run(runner, trace, contract_files.bundle or clip, out, measured)


def read_network(contract: Contract, onnx: Path | None, replay: Path | None) -> Any:
    """The model, or recorded answers instead; None if neither is given, because the clip may hold the answers."""
    if onnx is not None and replay is not None:
        raise UnusableInput("--onnx and --replay", "both", "one of them")
    return network_of(contract, onnx) if replay is None else files_of(contract).replay(replay, contract)


def record_run(runner: Run, clip: Path, mode: str, frames: int | None) -> Trace:
    """Step the run and keep every stage. frames: by default the clip's, or ten seconds if there is no end."""
    limit = runner.frame_limit
    if limit is not None and frames is not None and frames > limit:
        raise UnusableInput("--frames", str(frames), f"at most {limit}, the steps of {clip.name}")
    count = frames or limit or FREE_RUN_FRAMES
    return run_frames(runner, tracked(range(count), f"{mode} run"), clip.stem, mode)


def describe_run(
    runner: Run, trace: Trace, bundle: Path, out: Path, measured: tuple[Finding, ...] = ()
) -> FindingsReport:
    """The report on a run: silent alignments, non-finite values, what it measured about itself, and a summary."""
    contract = runner.contract
    values = sum(rows.size for rows in trace.stages.values())
    summary = {
        "out": str(out), "system": contract.system.name, "mode": trace.header.mode, "frames": len(trace.frame),
        "fps": trace.header.fps, "engine": runner.engine.name, "stages": trace.widths,
        "conventions": {name: str(value) for name, value in contract.conventions.items()},
        **files_of(contract).measures(trace, contract),
    }  # fmt: skip
    differs = [comparison.NATIVE_LOOP_DIFFERS.at(bundle, found=runner.engine.refused)] if runner.engine.refused else []
    findings = (*_alignments(runner, bundle), *differs, *_not_finite(contract, trace, out), *measured)
    return FindingsReport(findings, Ledger(values, values), summary)


def _alignments(runner: Run, bundle: Path) -> Iterator[Finding]:
    for event in sorted(runner.alignments):
        what = "cuts it" if event.given > event.bound else "pads it with zeros"
        values = {"position": event.position, "given": event.given, "bound": event.bound, "what": what}
        yield comparison.INPUT_ALIGNED.at(bundle, f"/{event.name}", input=event.name, **values)


def _not_finite(contract: Contract, trace: Trace, out: Path) -> Iterator[Finding]:
    evidence = Evidence(trace.frame, trace.header.fps, trace.header.mode, trace.stages)
    unread = unread_rows(evidence, contract)
    for name, rows in trace.stages.items():
        is_read = ~unread.get(name, np.zeros(len(rows), bool))
        places = np.argwhere(~np.isfinite(rows))
        bad, passed_over = places[is_read[places[:, 0]]], places[~is_read[places[:, 0]]]
        for rule, found in ((VALUE_UNREAD, passed_over), (comparison.NOT_FINITE, bad)):
            if len(found):
                row, channel = (int(index) for index in found[0])
                yield rule.at(
                    out, f"/stages/{name}/{channel}", stage=name, holder="the run", value=str(rows[row, channel]),
                    frame=int(trace.frame[row]), count=len(found), address=channel_address(name, channel, contract),
                )  # fmt: skip


def print_run(report: FindingsReport, console: Console) -> None:
    """Print a summary of the run and the name of its file."""
    summary, out = report.summary, Path(report.summary["out"]).name
    length = f"{summary['frames']} frames at {summary['fps']:g} per second, {len(summary['stages'])} stages"
    body = [Sentence(f"{summary['mode']} run: {length} -> {out}")]
    errors = summary.get("diagnostics") or {}
    if errors.get("GeoDeg") is not None:
        mean, still = errors["GeoDeg"], errors["CopyLastGeoDeg"]
        body.append(Sentence(f"mean error against the clip's next pose {mean:.4f} deg; copy-last {still:.4f} deg"))
    print_with_findings(body, report, console)
