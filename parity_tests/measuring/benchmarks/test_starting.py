"""Commands from a cold start: people do not use a command that starts slowly, nor run a slow gate on every change."""

import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from .performance_table import Action, add_row, in_turns, seconds, told

SECTION = "Starting up"
LIBRARIES = "numpy, onnxruntime, onnx, jsonschema, orjson, typer, rich"


def process(*words: object, folder: Path | None = None) -> Action:
    """Run Python with these words, as an installed rigpact does."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, *map(str, words)]

    def run() -> None:
        done = subprocess.run(command, capture_output=True, timeout=600, env=environment, cwd=folder, check=False)
        assert done.returncode in (0, 1), done.stderr

    return run


def children_s() -> float:
    """Seconds of processor time of all processes that ended."""
    times = os.times()
    return times.children_user + times.children_system


def test_help_and_check_start_as_fast_as_their_libraries(benchmark: Any, demo_bundle: Path) -> None:
    """`rigpact --help`, and `rigpact check` in a pre-commit hook, beside importing what they need."""
    check = process(
        "-m", "rigpact.reports", "check", demo_bundle / "norm_template.json", "--onnx", demo_bundle / "model.onnx"
    )
    shown = {
        "ours": process("-m", "rigpact.reports", "--help"),
        "`import typer, rich`": process("-c", "import typer, rich"),
    }
    costs = benchmark.pedantic(in_turns, (shown, 15), rounds=1)
    assert told(SECTION, "`rigpact --help`", costs, 2.0, "ms") <= 2.0
    costs = in_turns({"ours": check, "importing its libraries": process("-c", f"import {LIBRARIES}")}, 9)
    took, libraries = (statistics.median(each) for each in costs.values())
    what, rival = "`rigpact check` of the demo bundle and its model", f"importing its libraries: {libraries:.2f} s"
    add_row(SECTION, what, f"{took:.2f} s", rival, "≤ 0.25 s", ratio=took / libraries, met=took <= 0.25)
    assert took <= 1.5


@pytest.mark.nightly
@pytest.mark.parametrize(("words", "target_s", "most_s"), [(("gate",), 1.5, 10.0), (("gate", "--selftest"), 4.0, 60.0)])
def test_the_gate_on_the_demo_bundle(
    benchmark: Any, demo_bundle: Path, tmp_path: Path, words: tuple[str, ...], target_s: float, most_s: float
) -> None:
    """The gate on every change, and its self-test with a hundred defects."""
    folder = tmp_path / "game"
    shutil.copytree(demo_bundle, folder)
    process("-m", "rigpact.reports", "init", folder=folder)()
    run = process("-m", "rigpact.reports", *words, folder=folder)
    wall = benchmark.pedantic(lambda: statistics.median(in_turns({"": run}, 3, time.perf_counter)[""]), rounds=1)
    own = seconds(run, children_s)
    ours = f"{wall:.1f} s, {own:.1f} s of processor time"
    add_row(
        SECTION, f"`rigpact {' '.join(words)}` of the demo bundle", ours, "", f"≤ {target_s:g} s", met=wall <= target_s
    )
    assert own < most_s
