"""The demo character in a folder of its own, and what a correct engine records of it, written as an engine would write it."""

import json
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from rigpact.contract.bundle import load_contract
from rigpact.fixtures import demo_bundle
from rigpact.reference_runtime import OnnxNetwork, Trace, open_run, read_clip, run_frames, write_trace
from rigpact.reference_runtime.graph.run import Mode

from ..engine_recordings import ENGINE

CLIP, TRACE = "clips/Sneak_Turn.json", "engine.trace.jsonl"
FILES = ("norm_template.json", "pretrain_template.json", "model.onnx", CLIP)
CONTRACT = ("--contract", "norm_template.json", "--companion", "pretrain_template.json")
GATE = """[gate]
bundle = "norm_template.json"
companion = "pretrain_template.json"
model = "model.onnx"
free-run = false
"""
SETTINGS = f"""{GATE}[[gate.trace]]
file = "{TRACE}"
clip = "{CLIP}"
frames = 24
"""
Lines = list[dict[str, Any]]


@cache
def recorded(mode: Mode = "teacher", frames: int = 24) -> Trace:
    """What a correct engine records under the demo's contract."""
    folder = demo_bundle()
    contract = load_contract(folder / "norm_template.json", folder / "pretrain_template.json")
    runner = open_run(
        contract, OnnxNetwork(folder / "model.onnx", contract), read_clip(folder / CLIP), mode, engine="numpy"
    )
    trace = run_frames(runner, range(frames), "Sneak_Turn", mode)
    return replace(trace, header=replace(trace.header, producer=ENGINE, producer_version="1"))


def project(folder: Path, trace: Trace | None = None) -> Path:
    """A folder with the demo's files, a recording of an engine, and settings that ask for it."""
    (folder / "clips").mkdir(parents=True)
    for name in FILES:
        shutil.copyfile(demo_bundle() / name, folder / name)
    (folder / "rigpact.toml").write_text(SETTINGS, encoding="utf-8")
    write_trace(recorded() if trace is None else trace, folder / TRACE)
    return folder


def lines_of(path: Path) -> Lines:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def edited(path: Path, edit: Callable[[Lines], object], out: str = TRACE) -> Path:
    """The trace with its lines changed."""
    lines = lines_of(path)
    edit(lines)
    target = path.with_name(out)
    target.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8", newline="\n")
    return target


def said(trace: Trace, **changes: Any) -> Trace:
    return replace(trace, header=replace(trace.header, **changes))


def codes(answer: Any) -> list[str]:
    return [finding["code"] for finding in _findings(answer)]


def errors(answer: Any) -> list[str]:
    return [finding["code"] for finding in _findings(answer) if finding["severity"] == "error"]


def _findings(answer: Any) -> list[dict[str, Any]]:
    document = json.loads(answer.out)
    return [finding for part in document.get("parts", [document]) for finding in part["findings"]]


def wait_for(is_so: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for it."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)
