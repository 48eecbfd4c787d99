"""Run any system from a user's files: a recording and a findings report."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from rigpact.contract.declared.sources import read_arrays
from rigpact.contract.documents import Kind
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import MAX_JSON_DEPTH, bytes_to_json, read_bytes, write_bytes
from rigpact.contract.findings import Finding, FindingsReport, Ledger
from rigpact.contract.model.edges import bound_clamps
from rigpact.contract.model.graph import open_model
from rigpact.contract.rules.family import answers as rules
from rigpact.contract.rules.prediction import is_worse_than_copying
from rigpact.contract.rules.prediction import rules as prediction_rules
from rigpact.contract.settings.gate import FREE_RUN_FRAMES
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.files.declared import ContractFiles, files_of, network_of
from rigpact.reference_runtime.files.run import Run, RunOptions, run_frames
from rigpact.reference_runtime.files.sentinel import FRAMES_OLD, ORDINARY_Z, unread_rows
from rigpact.reference_runtime.graph.network import each_network
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reference_runtime.native.library import Engine
from rigpact.reference_runtime.recordings.bags import read_mcap
from rigpact.reference_runtime.recordings.named_columns import opened_recording
from rigpact.reference_runtime.recordings.opened import (
    WRITTEN_ENDINGS,
    is_trace_name,
    labelled_vectors,
    open_file,
    write_recording,
    write_trace,
)
from rigpact.reference_runtime.recordings.recording import read_recording
from rigpact.reference_runtime.recordings.stores import (
    is_data_set,
    read_data_set,
    read_parquet,
)
from rigpact.reference_runtime.recordings.tables import Table
from rigpact.reference_runtime.recordings.trace import Trace
from rigpact.reports.checking.check import said_of_inputs
from rigpact.reports.comparing.stage_comparison import channel_address
from rigpact.reports.nonfinite.observers import Leaving
from rigpact.reports.nonfinite.origin import input_order
from rigpact.reports.terminal import Sentence, print_with_findings, tracked

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
        yield prediction_rules.WORSE_THAN_COPYING.at(out, "", model_deg=baseline.error, copy_deg=baseline.copied)
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
    differs = [rules.NATIVE_LOOP_DIFFERS.at(bundle, found=runner.engine.refused)] if runner.engine.refused else []
    findings = (*_alignments(runner, bundle), *differs, *_not_finite(contract, trace, out), *measured)
    return FindingsReport(findings, Ledger(values, values), summary)


def _alignments(runner: Run, bundle: Path) -> Iterator[Finding]:
    for event in sorted(runner.alignments):
        what = "cuts it" if event.given > event.bound else "pads it with zeros"
        values = {"position": event.position, "given": event.given, "bound": event.bound, "what": what}
        yield rules.INPUT_ALIGNED.at(bundle, f"/{event.name}", input=event.name, **values)


def _not_finite(contract: Contract, trace: Trace, out: Path) -> Iterator[Finding]:
    evidence = Evidence(trace.frame, trace.header.fps, trace.header.mode, trace.stages)
    unread = unread_rows(evidence, contract)
    for name, rows in trace.stages.items():
        is_read = ~unread.get(name, np.zeros(len(rows), bool))
        places = np.argwhere(~np.isfinite(rows))
        bad, passed_over = places[is_read[places[:, 0]]], places[~is_read[places[:, 0]]]
        for rule, found in ((rules.VALUE_UNREAD, passed_over), (rules.NOT_FINITE, bad)):
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


# A recording in another format: whatever can be read is written as a trace, or as a table.
def write_arrays(
    source: Path, out: Path, below: str = "", *, tick: str | None = None, episode: int | None = None
) -> Table:
    """Write every array of a file as .npz; UnusableInput where it holds none, or the other name is no .npz.

    below: the path of the arrays that are wanted. tick: the topic of a bag whose messages are the frames. episode: the one that
    is wanted, of a data set.
    """
    if out.suffix.lower() != ".npz":
        expected = "a name ending in .npz; or --contract, for a recording of it"
        raise UnusableInput(out, f"the name {out.name}", expected)
    table = arrays_in(source, below, tick=tick, episode=episode)
    stream = io.BytesIO()
    named: dict[str, Any] = dict(table.columns)
    np.savez(stream, **named)
    write_bytes(out, stream.getvalue())
    return table


def arrays_in(path: Path, below: str, *, tick: str | None = None, episode: int | None = None) -> Table:
    """Every array by its path in the file, those below one path by the rest of it; UnusableInput where there are none."""
    notes: tuple[str, ...] = ()
    read = next((each for ending, each in _FILES.items() if path.name.lower().endswith(ending)), None)
    if read is not None:
        table = read(path, tick, episode)
        every, notes = _of_table(table), table.notes
    elif path.suffix.lower() == ".json":
        root = bytes_to_json(read_bytes(path), path).data
        every = _of_table(read_data_set(path, episode)) if is_data_set(root) else dict(_arrays(root, "", 0))
    elif path.suffix.lower() not in _ARRAYS and open_file(path).kind is Kind.COLUMNS:
        every = {name: rows for name, (rows, _) in labelled_vectors(open_file(path)).items()}
    else:
        arrays = read_arrays(read_bytes(path), path)
        every = dict(arrays) if isinstance(arrays, Mapping) else {path.stem: arrays}
    starts = (f"{below}.", f"{below}[") if below else ""
    found = {name.removeprefix(below).lstrip("."): rows for name, rows in every.items() if name.startswith(starts)}
    if not found:
        held = ", ".join(list(every)[:6]) or "no array of numbers"
        raise UnusableInput(path, held, f"arrays below {below!r}" if below else "an array of numbers")
    unwritable = next((name for name in found if not name.isprintable()), None)
    if unwritable is not None:
        raise UnusableInput(path, f"an array named {unwritable!r}", "names of characters that can be shown")
    return Table(found, notes=notes)


_ARRAYS = {".npz", ".npy", ".safetensors"}
"""Arrays of any shapes, not only those with a row for each frame."""
_FILES: Mapping[str, Callable[[Path, str | None, int | None], Table]] = {
    ".mcap": lambda path, tick, _: read_mcap(path, tick),
    ".parquet": lambda path, _, episode: read_parquet(path, episode),
}  # fmt: skip


def _of_table(table: Table) -> dict[str, Any]:
    return {**table.columns, **{name: np.float64(value) for name, value in table.said.items() if name == "fps"}}


def _arrays(value: Any, name: str, depth: int) -> Iterator[tuple[str, FloatArray]]:
    """Rectangular lists of numbers by their path: `sequences[0].imu_data`."""
    if depth > MAX_JSON_DEPTH:
        return
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _arrays(each, f"{name}.{key}" if name else str(key), depth + 1)
    elif isinstance(value, list) and value:
        rows = _rectangular(value)
        if rows is not None:
            yield name, rows
            return
        for place, each in enumerate(value):
            yield from _arrays(each, f"{name}[{place}]", depth + 1)


def _rectangular(value: list[Any]) -> FloatArray | None:
    try:
        rows = np.asarray(value)
    except ValueError:
        return None
    return rows.astype(np.float64) if rows.dtype.kind in "iuf" else None


def is_recording(path: Path) -> bool:
    """Whether a file says itself what its numbers are, without a contract: a trace, a clip or a teacher file."""
    return open_file(path).kind in {Kind.TRACE, Kind.RAW_CLIP, Kind.TEACHER_BATCH, Kind.TEACHER_PREDICTION}


def convert_recording(
    path: Path, out: Path, files: ContractFiles, *, unnamed: Sequence[str] = (), says: Mapping[str, Any] | None = None
) -> tuple[Trace, list[str]]:
    """Read a recording and write it in the format that the name of the other file says; what was written, and notes.

    unnamed: the stages of numbers without names. says: what the file does not: mode, frames a second (fps), producer.
    """
    if not out.name.lower().endswith(WRITTEN_ENDINGS):
        raise UnusableInput(out, f"the name {out.name}", f"a name ending in {', '.join(WRITTEN_ENDINGS)}")
    contract = files.opened_if_given()
    if contract is None:
        trace = opened_recording(path, None) if open_file(path).is_recording else read_recording(path).trace
    elif unnamed:
        trace = opened_recording(path, contract, unnamed=unnamed)
    else:
        trace = files_of(contract).recording(path, contract).trace
    header, notes = trace.header, []
    said = {name: value for name, value in (says or {}).items() if value}
    trace = replace(trace, header=replace(header, **said))
    if not header.says_mode and "mode" not in said:
        notes.append(f"the driver of the run is unknown: written as {header.mode}; --mode says it")
    if trace.truncation:
        notes.append(f"the recording is incomplete: {trace.truncation}")
    if trace.precision is not None:
        notes.append(f"its numbers are written with {trace.precision}: the other file holds no more than they do")
    write_recording(trace, out)
    return trace, notes
