"""What the gate and its self-test cost on the demo bundle, from a cold start."""

import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from .performance_table import add_row

GATE_TARGET_S, SELFTEST_TARGET_S = 1.5, 4.0


@pytest.fixture(scope="module")
def game(demo_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo bundle with what `rigpact init` writes."""
    folder = tmp_path_factory.mktemp("bench") / "game"
    shutil.copytree(demo_bundle, folder)
    subprocess.run([sys.executable, "-m", "rigpact.reports", "init"], cwd=folder, check=True, capture_output=True)
    return folder


def measured(folder: Path, *words: str, statuses: tuple[int, ...] = (0,)) -> tuple[float, float]:
    """Wall-clock and processor seconds of a command, with those of its processes: medians of three, after one that warms up."""

    def run() -> tuple[float, float]:
        before, start = os.times(), time.perf_counter()
        done = subprocess.run([sys.executable, "-m", "rigpact.reports", *words], cwd=folder, capture_output=True)  # noqa: PLW1510
        assert done.returncode in statuses, done.stderr
        after, took = os.times(), time.perf_counter() - start
        return took, after.children_user - before.children_user + after.children_system - before.children_system

    run()
    wall, own = zip(*(run() for _ in range(3)), strict=True)
    return statistics.median(wall), statistics.median(own)


def row(what: str, times: tuple[float, float], target_s: float) -> None:
    wall, own = times
    add_row(
        what,
        section="Starting up",
        ours=f"{wall:.1f} s, {own:.1f} s of processor time",
        target=f"≤ {target_s:g} s",
        met=wall <= target_s,
    )


def test_the_gate_on_the_demo_bundle(benchmark: Any, game: Path) -> None:
    """People do not run a slow gate on every change."""
    times = benchmark.pedantic(measured, (game, "gate"), rounds=1)
    row("`rigpact gate` of the demo bundle", times, GATE_TARGET_S)
    assert times[1] < 10.0


@pytest.mark.nightly
def test_the_selftest_on_the_demo_bundle(benchmark: Any, game: Path) -> None:
    """A hundred defects, each in a copy of the files."""
    times = benchmark.pedantic(measured, (game, "gate", "--selftest"), {"statuses": (0, 1)}, rounds=1)
    row("`rigpact gate --selftest` of the demo bundle", times, SELFTEST_TARGET_S)
    assert times[1] < 60.0
