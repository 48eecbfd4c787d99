"""How costs grow with frames, bones, clips and conventions: a job twice as large takes twice as long, not four times.

The exponent is the slope of log cost over log size; 1 is proportional. A constant cost beside it makes it smaller.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract import Contract
from rigpact.fixtures import demo_bundle
from rigpact.reference_runtime import CallableNetwork, Recording, Trace, open_run, run_frames
from rigpact.reports.comparing.compare import compare
from rigpact.reports.comparing.judgement import judge
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.sweep.plan import plan_sweep
from rigpact.reports.sweep.sweep import run_sweep

from ...scene import generated_scene
from ..scores.benign import evidence_of
from .long_runs import character, demo_contract, demo_run, lengthened
from .performance_table import add_row
from .timing import measured_growth

TARGET = 1.05
QUADRATIC = 1.25
"""A part that is quadratic shows above this; a machine that does other work meanwhile does not reach it."""
pytestmark = pytest.mark.nightly


def grown(
    benchmark: Any, what: str, action_of: Callable[[int], Callable[[], Any]], sizes: tuple[int, ...], rounds: int = 11
) -> None:
    """Measure, write the row; fail where something grows faster than its input."""
    exponent = benchmark.pedantic(measured_growth, (action_of, sizes, rounds), rounds=1)
    add_row(
        what,
        section="Growth",
        ours=f"size to the power of {exponent:.2f}",
        rival=f"{sizes[0]} to {sizes[-1]}",
        target=f"≤ {TARGET}",
        met=exponent <= TARGET,
    )
    assert exponent <= QUADRATIC


def recording(trace: Trace, name: str) -> Recording:
    return Recording(Path(name), "trace", trace, frozenset(trace.stages))


def comparing(trace: Trace, contract: Contract) -> Callable[[], Any]:
    """Compare a trace with itself moved by rounding."""
    other = {stage: np.nextafter(rows, np.float32(2.0)) for stage, rows in trace.stages.items()}
    sides = recording(trace, "a"), recording(replace(trace, stages=other), "b")
    return lambda: judge(compare(*sides, contract))


def test_comparing_over_frames(benchmark: Any) -> None:
    """From a second to half a minute of every stage."""
    trace, contract = demo_run(50), demo_contract()
    sizes = (500, 1000, 2000, 4000)
    grown(benchmark, "comparing, frames", lambda frames: comparing(lengthened(trace, frames), contract), sizes)


def test_comparing_over_bones(benchmark: Any) -> None:
    """From a hand to a crowd of twenty."""

    def action(bones: int) -> Callable[[], Any]:
        contract, clip = character(bones, frames=201)
        network = CallableNetwork(lambda state, *_: np.zeros((1, 6 * bones)) + state[:, :1] * 1e-3)
        trace = run_frames(open_run(contract, network, clip, "teacher"), range(200), "clip", "teacher")
        return comparing(trace, contract)

    grown(benchmark, "comparing, bones", action, (50, 100, 200, 400))


def test_diagnosing_over_frames(benchmark: Any) -> None:
    """One changed convention, found in clips of any length."""

    def action(frames: int) -> Callable[[], Any]:
        scene = generated_scene("sneak_turn", frames=frames)
        trace = scene.record({"compose_order": "prev_delta"})
        return lambda: diagnose(evidence_of(scene, trace), scene.contract, with_pairs=False)

    grown(benchmark, "diagnosing one changed convention, frames", action, (50, 100, 200, 400), rounds=3)


def test_sweeping_over_clips(benchmark: Any, tmp_path: Path) -> None:
    """Real cells in one process, from plan to Parquet."""
    source = json.loads((demo_bundle() / "clips" / "Sneak_Turn.json").read_text(encoding="utf-8"))

    def action(count: int) -> Callable[[], Any]:
        folder = tmp_path / f"clips_{count}"
        folder.mkdir()
        for index in range(count):
            source["Frames"][0]["RootPosition"][0] = 0.001 * index  # another clip, of the same length
            (folder / f"{index:04d}.json").write_text(json.dumps(source), encoding="utf-8")
        return sweeping(tmp_path / f"of_{count}", str(folder))

    grown(benchmark, "sweeping, clips", action, (10, 20, 40, 80), rounds=3)


def test_sweeping_over_conventions(benchmark: Any, tmp_path: Path) -> None:
    """Combinations of knobs, each a cell of its own."""
    knobs = ("mirror=none,x,y,z", "math=f64,f32", "bone_order=as_declared;left_right_swapped", "writeback=all,none")

    def action(count: int) -> Callable[[], Any]:
        chosen = {4: knobs[:1], 8: knobs[:2], 16: knobs[:3], 32: knobs}[count]
        return sweeping(tmp_path / f"of_{count}", str(demo_bundle() / "clips" / "Sneak_Turn.json"), chosen)

    grown(benchmark, "sweeping, combinations of conventions", action, (4, 8, 16, 32), rounds=3)


def sweeping(folder: Path, clips: str, knobs: tuple[str, ...] = ()) -> Callable[[], Any]:
    """A sweep that starts afresh each time."""
    companion, model = demo_bundle() / "pretrain_template.json", str(demo_bundle() / "model.onnx")
    plan = plan_sweep(demo_contract(), companion, [model], [clips], knobs, modes=("teacher",))
    runs = iter(range(1000))
    return lambda: run_sweep(plan, folder / str(next(runs)))
