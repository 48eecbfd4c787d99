"""Mistakes that pass other comparators, and the gate's answer to each: the table of docs/gate.md.

Outputs are renamed, dropped, reordered, cut, of another type, or not finite on both sides. Each mistake is put into an engine's
recording of the demo character. To add one: a row in `SPOTS`, and in the table.
"""

import contextlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.bundle import load_contract
from rigpact.contract.findings import Severity
from rigpact.contract.settings.configuration import Configuration
from rigpact.contract.settings.gate import GateSettings, RecordedRun
from rigpact.fixtures.demo import demo_bundle
from rigpact.reference_runtime.network import CallableNetwork, Network, OnnxNetwork
from rigpact.reference_runtime.recordings.clip import RawClip, read_clip
from rigpact.reference_runtime.recordings.trace import Trace
from rigpact.reports.gate.answer.report import GateReport
from rigpact.reports.gate.judging import judge_gate
from rigpact.reports.gate.measured import GateMeasurement, Question
from rigpact.reports.gate.parts.recordings import ask_traces
from rigpact.reports.gate.project import Project

from ..scene import Scene

Arrays = dict[str, NDArray[Any]]
STAGES = ("y_norm", "y_raw", "delta6d", "next6d", "y_out", "quat")
"""The outputs that the engine records."""
BUNDLE, COMPANION, MODEL, CLIP = "norm_template.json", "pretrain_template.json", "model.onnx", "clips/Sneak_Turn.json"
TRACE, FRAMES = "engine.trace.jsonl", 32
DAY = date(2030, 1, 1)


@dataclass(frozen=True)
class Spot:
    """One thing wrong with recorded outputs. on_both_sides: the reference has it too."""

    name: str
    change: Callable[[Arrays], Arrays]
    on_both_sides: bool = False


def _each(change: Callable[[NDArray[Any]], NDArray[Any]]) -> Callable[[Arrays], Arrays]:
    return lambda arrays: {name: change(rows) for name, rows in arrays.items()}


def _renamed(arrays: Arrays) -> Arrays:
    return {"pose" if name == "y_out" else name: rows for name, rows in arrays.items()}


def _exchanged(arrays: Arrays) -> Arrays:
    return arrays | {"delta6d": arrays["next6d"], "next6d": arrays["delta6d"]}


def _bones_exchanged(arrays: Arrays) -> Arrays:
    """The first two bones in each other's place."""
    pose = arrays["y_out"]
    return arrays | {"y_out": np.concatenate((pose[:, 6:12], pose[:, :6], pose[:, 12:]), axis=1)}


def _not_finite(rows: Any, channels: Any) -> Callable[[Arrays], Arrays]:
    def change(arrays: Arrays) -> Arrays:
        pose = arrays["y_out"].copy()
        pose[rows, channels] = np.nan
        return arrays | {"y_out": pose}

    return change


SPOTS: tuple[Spot, ...] = (
    Spot("an output renamed", _renamed),
    Spot("an output dropped", lambda arrays: {name: rows for name, rows in arrays.items() if name != "y_out"}),
    Spot("every output but one dropped", lambda arrays: {"quat": arrays["quat"]}),
    Spot("two outputs exchanged", _exchanged),
    Spot("two bones exchanged", _bones_exchanged),
    Spot("frames in another order", _each(lambda rows: np.roll(rows, 1, axis=0))),
    Spot("the last frames cut off", _each(lambda rows: rows[:-3])),
    Spot("only the first frame", _each(lambda rows: rows[:1])),
    Spot("the last bone cut off", lambda arrays: arrays | {"y_out": arrays["y_out"][:, :-6]}),
    Spot("float16 for float32", _each(lambda rows: rows.astype(np.float16))),
    Spot("integers for float32", _each(lambda rows: rows.astype(np.int32))),
    Spot("texts for numbers", lambda arrays: arrays | {"y_out": arrays["y_out"].astype(str)}),
    Spot("NaN in the recording", _not_finite(7, 100)),
    Spot("the same NaN on both sides", _not_finite(7, 100), on_both_sides=True),
    Spot("all NaN on both sides", _not_finite(slice(None), slice(None)), on_both_sides=True),
)
"""Every one of them must fail the gate."""


@dataclass(frozen=True)
class Seen:
    """The gate's verdict about a mistake, and the codes of its errors and warnings."""

    spot: str
    verdict: str
    codes: tuple[str, ...]


def see_all() -> Iterator[Seen]:
    """Put every spot before the gate."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name in (BUNDLE, COMPANION, MODEL, CLIP):
            Path(name).parent.mkdir(exist_ok=True)
            shutil.copyfile(demo_bundle() / name, name)
        for spot in SPOTS:
            yield _seen(spot)


def _seen(spot: Spot) -> Seen:
    trace = _scene(None).record()
    honest = {name: np.array(trace.stages[name]) for name in STAGES}
    write_naively(Path(TRACE), trace, spot.change(honest))
    report = gate_on(spot)
    codes = [finding.rule.code for finding in report.findings if finding.rule.severity is not Severity.INFO]
    return Seen(spot.name, report.verdict, tuple(dict.fromkeys(codes)))


def _scene(network: Network | None) -> Scene:
    contract, clip = load_contract(BUNDLE, COMPANION), read_clip(CLIP)
    if not isinstance(clip, RawClip):
        raise TypeError(f"{CLIP}: not a raw clip")
    return Scene("demo", contract, network or OnnxNetwork(MODEL, contract), clip, frames=FRAMES)


def write_naively(path: Path, trace: Trace, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a trace as a simple recorder does, which checks nothing that it writes."""
    widths = {name: int(rows.shape[1]) for name, rows in arrays.items()}
    lines: list[Any] = [replace(trace.header, producer="MyEngine").to_json(widths)]
    for index in range(len(next(iter(arrays.values())))):
        stages = {name: [_number(value) for value in rows[index].tolist()] for name, rows in arrays.items()}
        lines.append({"frame": index, "time": index / trace.header.fps, "stages": stages})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8", newline="\n")


def _number(value: Any) -> Any:
    return "NaN" if isinstance(value, float) and np.isnan(value) else value


def gate_on(spot: Spot) -> GateReport:
    """The gate's answer about the recording in the working directory."""
    settings = GateSettings(
        bundle=BUNDLE,
        companion=COMPANION,
        model=MODEL,
        traces=(RecordedRun(TRACE, "engine", CLIP, STAGES),),
        strict=True,
    )
    project = Project(settings, verdict_only=True)
    if spot.on_both_sides:  # an engine and a reference with the same broken network
        project.network = _broken(OnnxNetwork(MODEL, load_contract(BUNDLE, COMPANION)), spot)
    measured = tuple(answer.answered() for answer in ask_traces(project) if isinstance(answer, Question))
    measurement = GateMeasurement(project.system.name, measured, {}, {})
    return judge_gate(measurement, Configuration(Path("rigpact.toml"), gate=settings), DAY)


def _broken(network: Network, spot: Spot) -> CallableNetwork:
    """A network that answers NaN in one frame, or in all frames."""
    frames = iter(range(FRAMES + 1))
    always = spot.name.startswith("all")

    def answer(*vectors: NDArray[Any]) -> NDArray[Any]:
        frame = next(frames, 0)
        output = network.run(vectors, frame).copy()
        output[:, slice(None) if always else 100] = np.nan if always or frame == 7 else output[:, 100]
        return output

    return CallableNetwork(answer)
