"""The rate of a sweep's cells per second."""

import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from rigpact.fixtures import demo_bundle
from rigpact.reports.sweep.plan import plan_sweep
from rigpact.reports.sweep.sweep import read_results, run_sweep

from .long_runs import demo_contract
from .performance_table import add_row, seconds

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("mode", ["teacher", "free"])
def test_real_cells_a_second(benchmark: Any, tmp_path: Path, mode: str) -> None:
    """The rates that docs/sweep.md plans with: frames for each second of a processor's time."""
    contract, companion = demo_contract(), demo_bundle() / "pretrain_template.json"
    knobs = ("math=f64,f32", "mirror=none,x,y,z")
    words = [str(demo_bundle() / "model.onnx")], [str(demo_bundle() / "clips")]
    plan = plan_sweep(contract, companion, *words, knobs, modes=(mode,))
    folder = tmp_path / "out"

    def sweep() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        run_sweep(plan, folder)

    took = benchmark.pedantic(lambda: min(seconds(sweep, time.process_time) for _ in range(3)), rounds=1)
    frames = sum(row["frames"] for row in read_results(folder))
    kept = sum(path.stat().st_size for path in folder.iterdir()) / len(plan)
    what, rival = f"{mode} cells: frames a second of one core", f"{len(plan)} cells of {frames // len(plan)} frames"
    add_row("Sweeps", what, f"{frames / took:.0f}", rival, "none", met=True)
    add_row("Sweeps", f"{mode} cells: bytes kept of one", f"{kept:.0f}", "journal and Parquet", "none", met=True)
