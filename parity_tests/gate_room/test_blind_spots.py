"""Mistakes that pass other comparators fail here, as the table of docs/gate.md says.

Outputs are renamed, dropped, reordered, cut, of another type, or not finite on both sides. To add one: a row in `SPOTS`.
"""

import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rigpact.contract.bundle import load_contract
from rigpact.contract.findings import Severity
from rigpact.contract.settings.configuration import Configuration
from rigpact.contract.settings.gate import GateSettings, RecordedRun
from rigpact.fixtures import demo_bundle
from rigpact.reference_runtime.network import CallableNetwork, Network, OnnxNetwork
from rigpact.reference_runtime.recordings.clip import RawClip, read_clip
from rigpact.reference_runtime.recordings.trace import Trace
from rigpact.reports.gate.judging import judge_gate
from rigpact.reports.gate.measured import GateMeasurement, Question
from rigpact.reports.gate.project import Project
from rigpact.reports.gate.recordings import ask_traces
from rigpact.reports.gate.report import GateReport

from ..scene import Scene

Arrays = dict[str, NDArray[Any]]
STAGES = ("y_norm", "y_raw", "delta6d", "next6d", "y_out", "quat")
"""The outputs that the engine records."""
EXCHANGED = [*range(6, 12), *range(6), *range(12, 276)]
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


def _not_finite(rows: Any, channels: Any) -> Callable[[Arrays], Arrays]:
    def change(arrays: Arrays) -> Arrays:
        pose = arrays["y_out"].copy()
        pose[rows, channels] = np.nan
        return arrays | {"y_out": pose}

    return change


SPOTS: tuple[Spot, ...] = (
    Spot("an output renamed", lambda arrays: {"pose" if n == "y_out" else n: rows for n, rows in arrays.items()}),
    Spot("an output dropped", lambda arrays: {name: rows for name, rows in arrays.items() if name != "y_out"}),
    Spot("every output but one dropped", lambda arrays: {"quat": arrays["quat"]}),
    Spot("two outputs exchanged", lambda arrays: arrays | {"delta6d": arrays["next6d"], "next6d": arrays["delta6d"]}),
    Spot("two bones exchanged", lambda arrays: arrays | {"y_out": np.take(arrays["y_out"], EXCHANGED, axis=1)}),
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


def scene() -> Scene:
    contract, clip = load_contract(BUNDLE, COMPANION), read_clip(CLIP)
    assert isinstance(clip, RawClip)
    return Scene("demo", contract, OnnxNetwork(MODEL, contract), clip, frames=FRAMES)


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
    traces = (RecordedRun(TRACE, "engine", CLIP, STAGES),)
    settings = GateSettings(bundle=BUNDLE, companion=COMPANION, model=MODEL, traces=traces, strict=True)
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


def test_no_spot_is_blind_and_the_page_says_what_is_seen(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Green would be a lie about each; NaN on both sides is no parity; a table that nobody made again promises what is gone."""
    monkeypatch.chdir(tmp_path)
    for name in (BUNDLE, COMPANION, MODEL, CLIP):
        Path(name).parent.mkdir(exist_ok=True)
        shutil.copyfile(demo_bundle() / name, name)
    trace, seen = scene().record(), []
    for spot in SPOTS:
        write_naively(Path(TRACE), trace, spot.change({name: np.array(trace.stages[name]) for name in STAGES}))
        report = gate_on(spot)
        codes = [finding.rule.code for finding in report.findings if finding.rule.severity is not Severity.INFO]
        seen.append((spot.name, report.verdict, ", ".join(dict.fromkeys(codes))))
    assert [name for name, verdict, codes in seen if verdict == "pass" or not codes] == []
    assert [name for name, _, codes in seen if "RP804" in codes] == [spot.name for spot in SPOTS if "NaN" in spot.name]
    section = (checkout / "docs" / "gate.md").read_text(encoding="utf-8").partition("## What must not pass\n")[2]
    rows = re.findall(r"^\| (.+) \| (.+): (.+) \|$", section.partition("\n## ")[0], re.MULTILINE)
    assert rows == seen
