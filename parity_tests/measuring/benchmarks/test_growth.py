"""How costs grow with frames, bones, clips and conventions: a job twice as large takes twice as long, not four times.

The exponent is the slope of log cost over log size; 1 is proportional. A constant cost beside it makes it smaller.
"""

import json
import time
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
from .performance_table import Action, add_row, growth_exponent, in_turns

TARGET = 1.05
QUADRATIC = 1.25
"""A part that is quadratic shows above this; a machine that does other work meanwhile does not reach it."""


def comparing(trace: Trace, contract: Contract) -> Action:
    """Compare a trace with itself moved by rounding."""
    other = replace(trace, stages={name: np.nextafter(rows, np.float32(2.0)) for name, rows in trace.stages.items()})
    sides = (
        Recording(Path(name), "trace", each, frozenset(each.stages)) for name, each in (("a", trace), ("b", other))
    )
    a, b = sides
    return lambda: judge(compare(a, b, contract))


def free_run_of_bones(bones: int, _folder: Path, mode: str = "free") -> Action:
    contract, clip = character(bones, frames=201)
    network = CallableNetwork(lambda state, *_: np.zeros((1, 6 * bones)) + state[:, :1] * 1e-3)
    if mode == "free":
        return lambda: open_run(contract, network, clip, "free").record(100)
    return comparing(run_frames(open_run(contract, network, clip, "teacher"), range(200), "clip", "teacher"), contract)


def diagnosing(frames: int, _folder: Path) -> Action:
    scene = generated_scene("sneak_turn", frames=frames)
    trace = scene.record({"compose_order": "prev_delta"})
    return lambda: diagnose(evidence_of(scene, trace), scene.contract, with_pairs=False)


def recording(frames: int, _folder: Path) -> Action:
    scene = generated_scene("sneak_turn")
    return lambda: open_run(scene.contract, scene.network, scene.clip, "free").record(frames)


def sweeping_clips(count: int, folder: Path) -> Action:
    """Real cells in one process, from plan to Parquet."""
    source = json.loads((demo_bundle() / "clips" / "Sneak_Turn.json").read_text(encoding="utf-8"))
    clips = folder / f"clips_{count}"
    clips.mkdir()
    for index in range(count):
        source["Frames"][0]["RootPosition"][0] = 0.001 * index  # another clip, of the same length
        (clips / f"{index:04d}.json").write_text(json.dumps(source), encoding="utf-8")
    return sweeping(folder / f"of_{count}", str(clips))


def sweeping_conventions(count: int, folder: Path) -> Action:
    knobs = ("mirror=none,x,y,z", "math=f64,f32", "bone_order=as_declared;left_right_swapped", "writeback=all,none")
    chosen = {4: knobs[:1], 8: knobs[:2], 16: knobs[:3], 32: knobs}[count]
    return sweeping(folder / f"of_{count}", str(demo_bundle() / "clips" / "Sneak_Turn.json"), chosen)


def sweeping(folder: Path, clips: str, knobs: tuple[str, ...] = ()) -> Action:
    """A sweep that starts afresh each time."""
    companion, model = demo_bundle() / "pretrain_template.json", str(demo_bundle() / "model.onnx")
    plan = plan_sweep(demo_contract(), companion, [model], [clips], knobs, modes=("teacher",))
    runs = iter(range(1000))
    return lambda: run_sweep(plan, folder / str(next(runs)))


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("what", "action", "sizes", "rounds"),
    [
        ("comparing, frames", lambda n, _: comparing(lengthened(demo_run(50), n), demo_contract()), (500, 1000, 2000, 4000), 11),
        ("comparing, bones", lambda n, folder: free_run_of_bones(n, folder, "teacher"), (50, 100, 200, 400), 11),
        ("diagnosing one changed convention, frames", diagnosing, (50, 100, 200, 400), 3),
        ("sweeping, clips", sweeping_clips, (10, 20, 40, 80), 3),
        ("sweeping, combinations of conventions", sweeping_conventions, (4, 8, 16, 32), 3),
        ("free run recorded, frames", recording, (100, 200, 400, 800), 9),
        ("free run recorded, bones", free_run_of_bones, (50, 100, 200, 400, 800), 9),
    ],
)  # fmt: skip
def test_growth(
    benchmark: Any,
    tmp_path: Path,
    what: str,
    action: Callable[[int, Path], Action],
    sizes: tuple[int, ...],
    rounds: int,
) -> None:
    """A hand and a crowd, a second and an hour: nothing may be kept that is looked through every frame."""
    actions = {str(size): action(size, tmp_path) for size in sizes}
    costs = benchmark.pedantic(in_turns, (actions, rounds, time.process_time), rounds=1)
    exponent = growth_exponent(sizes, [min(each) for each in costs.values()])
    ours, rival = f"size to the power of {exponent:.2f}", f"{sizes[0]} to {sizes[-1]}"
    add_row("Growth", what, ours, rival, f"≤ {TARGET}", met=exponent <= TARGET)
    assert exponent <= QUADRATIC
