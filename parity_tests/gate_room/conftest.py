"""A project for the gate: the demo character in its own folder, with a recording of a correct engine."""

import contextlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract.bundle import load_contract
from rigpact.contract.settings.configuration import read_configuration
from rigpact.reference_runtime import OnnxNetwork, Trace, open_run, read_clip, write_trace
from rigpact.reference_runtime.files.run import run_frames
from rigpact.reference_runtime.graph.run import Mode
from rigpact.reports.gate.judging import judge_gate, measure_gate
from rigpact.reports.gate.measured import GateMeasurement
from rigpact.reports.gate.report import GateReport

from ..engine_recordings import ENGINE

DAY = date(2030, 6, 1)
CLIP, TRACE, FREE = "clips/Sneak_Turn.json", "engine/Sneak_Turn.trace.safetensors", "engine/free.trace.safetensors"
FILES = f"""[gate]
bundle = "norm_template.json"
companion = "pretrain_template.json"
model = "model.onnx"
free-run = false
[[gate.trace]]
file = "{TRACE}"
clip = "{CLIP}"
name = "sneak"
"""
"""Only the engine's recording is asked, beside files and model."""


Command = Callable[..., Any]
"""The fixture `command`: words in, an answer with status, out and err."""


def record(folder: Path, name: str, mode: Mode = "teacher", frames: int = 32, **changes: Any) -> Trace:
    """What an engine with these conventions records on the clip; it does not say that they are not the contract's own."""
    agreed = load_contract(folder / "norm_template.json", folder / "pretrain_template.json")
    contract = agreed.with_conventions(changes)
    clip = read_clip(folder / CLIP)
    runner = open_run(contract, OnnxNetwork(folder / "model.onnx", contract), clip, mode, engine="numpy")
    ran = run_frames(runner, range(frames), clip.path.stem, mode)
    claims = None if changes else agreed.hashes["conventions_sha256"]
    trace = replace(ran, header=replace(ran.header, producer=ENGINE, conventions_sha256=claims))
    (folder / name).parent.mkdir(exist_ok=True)
    write_trace(trace, folder / name)
    return trace


def respoil(folder: Path, trace: Trace, name: str, stages: Mapping[str, Any]) -> None:
    """Write a recording again with some stages replaced."""
    write_trace(replace(trace, stages={**trace.stages, **stages}), folder / name)


@pytest.fixture(scope="session")
def honest_project(demo_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo bundle's files and a correct engine's recording; read only."""
    folder = tmp_path_factory.mktemp("honest") / "game"
    shutil.copytree(demo_bundle, folder, ignore=shutil.ignore_patterns("engine"))
    record(folder, TRACE)
    return folder


@pytest.fixture
def project(honest_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the project, to be damaged; commands run in it."""
    folder = tmp_path / "game"
    shutil.copytree(honest_project, folder)
    monkeypatch.chdir(folder)
    return folder


def measured(folder: Path, text: str) -> GateMeasurement:
    """Everything measured under a configuration text."""
    (folder / "rigpact.toml").write_text(text, encoding="utf-8")
    with contextlib.chdir(folder):
        return measure_gate(read_configuration(Path("rigpact.toml")))


def judged(folder: Path, text: str, measurement: GateMeasurement, today: date = DAY) -> GateReport:
    """A measurement judged under a configuration text."""
    (folder / "rigpact.toml").write_text(text, encoding="utf-8")
    with contextlib.chdir(folder):
        return judge_gate(measurement, read_configuration(Path("rigpact.toml")), today)


def gated(folder: Path, text: str, today: date = DAY) -> GateReport:
    """The gate's answer under a configuration text."""
    return judged(folder, text, measured(folder, text), today)


def codes(report: GateReport) -> set[str]:
    """The codes of all findings."""
    return {finding.rule.code for finding in report.findings}
