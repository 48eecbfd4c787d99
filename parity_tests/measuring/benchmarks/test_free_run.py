"""Cost of one free-run frame, compared with the bare network, a plain numpy loop and the stages in numpy, on one core."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract import Contract, load_contract
from rigpact.contract.contract_files import open_contract
from rigpact.reference_runtime import OnnxNetwork, RawClip, open_run, read_clip
from rigpact.reference_runtime.graph.native.plan import NativeFrames
from rigpact.reference_runtime.graph.run import ClipDrive, LiveFrames
from rigpact.reference_runtime.systems.enemy_animation.drive import clip_rows
from rigpact.reference_runtime.systems.enemy_animation.runs import free_frames

from .numpy_rival import NumpyLoop
from .performance_table import Action, in_turns, told

pytestmark = pytest.mark.nightly
SECTION = "One step of the runtime"
FRAMES, RUNS = 40, 64
SAME_POSE = 2e-5
"""Two float32 networks and 20 frames of feeding back: a hundred float32 steps on entries of at most 1."""


@dataclass(frozen=True)
class Demo:
    """The demo character."""

    contract: Contract
    network: OnnxNetwork
    clip: RawClip

    def bare(self, runs: int) -> Action:
        """`session.run` and nothing else, with the inputs of the first frame."""
        stages = open_run(self.contract, self.network, self.clip, "free").step()
        names = zip(self.network._names, self.contract.conventions.input_order, strict=True)
        feed = {name: np.repeat(stages[stage][None], runs, axis=0) for name, stage in names}
        return lambda: self.network._session.run(None, feed)

    def crowd(self, runs: int) -> LiveFrames:
        """Runs that start from different frames of the clip."""
        rows = clip_rows(self.clip, self.contract)
        starts = rows.x_raw[np.arange(runs) % len(rows.x_raw)]
        return free_frames(self.contract, self.network, [rows], starts, kind=NativeFrames)


def demo(demo_bundle: Path, math: str = "f64") -> Demo:
    files = demo_bundle / "norm_template.json", demo_bundle / "pretrain_template.json"
    contract = load_contract(*files, changes={"math": math})
    network = OnnxNetwork(demo_bundle / "model.onnx", contract)
    return Demo(contract, network, read_clip(demo_bundle / "clips/Sneak_Turn.json"))


@pytest.mark.parametrize("math", ["f64", "f32"])
@pytest.mark.parametrize(("runs", "name", "most"), [(1, "one run", 1.4), (RUNS, f"{RUNS} runs in lockstep", 1.2)])
def test_a_frame_beside_the_bare_network(
    benchmark: Any, demo_bundle: Path, math: str, runs: int, name: str, most: float
) -> None:
    """A loop that costs more than its network is the loop's fault; 64 runs share one call of the network."""
    scene = demo(demo_bundle, math)
    actions = {"ours": scene.crowd(runs).step, "session.run": scene.bare(runs)}
    costs = benchmark.pedantic(in_turns, (actions, 1000 if runs == 1 else 200, time.thread_time), rounds=1)
    told(SECTION, f"free-run frame, {name}, native, {math}", costs, most)


@pytest.mark.parametrize("math", ["f64", "f32"])
def test_recording_every_stage(benchmark: Any, demo_bundle: Path, math: str) -> None:
    """A recorder that moves the frame rate is switched off."""
    plain, kept = (demo(demo_bundle, math).crowd(1) for _ in range(2))
    frames = range(FRAMES)
    actions = {"ours": lambda: kept.record(frames), "recorder off": lambda: [plain.step() for _ in frames]}
    costs = benchmark.pedantic(in_turns, (actions, 31, time.thread_time, 2), rounds=1)
    told(SECTION, f"{FRAMES} free-run frames with every stage recorded, native, {math}", costs, 1.25)


def test_a_large_crowd_on_every_core(benchmark: Any, demo_bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand runs, as a search over seeds makes them: the cores that the network leaves idle share the loop. Wall time."""
    scene, crowds = demo(demo_bundle), {}
    for name, threads in (("ours", str(os.cpu_count())), ("one core", "1")):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        crowds[name] = scene.crowd(1024).step
        crowds[name]()  # the first step makes the threads
    costs = benchmark.pedantic(in_turns, (crowds, 60), rounds=1)
    told(SECTION, "free-run frame, 1024 runs in lockstep, native, f64, wall time", costs, 0.9)


@pytest.mark.parametrize("runs", [1, RUNS])
def test_a_declared_contract_beside_numpy(benchmark: Any, runs: int) -> None:
    """Twenty-three stages of learned motion matching: the stages alone, its networks' answers come from the clip."""
    contract = open_contract(Path(__file__).parents[3] / "fixtures/contracts/learned_motion_matching.toml")
    rng, graph, rounds = np.random.default_rng(0), contract.system.graph, 200
    clip = {
        name: rng.normal(0.0, 0.1, (60, contract.fields(name).width)).astype(np.float32)
        for name in (*graph.given, *graph.answers)
    }
    native, by_numpy = (
        kind(contract, [ClipDrive(clip)] * runs, None, 2 * rounds, "free") for kind in (NativeFrames, LiveFrames)
    )
    actions = {"ours": native.step, "numpy": by_numpy.step}
    costs = benchmark.pedantic(in_turns, (actions, rounds, time.thread_time), rounds=1)
    told(SECTION, f"stages of a declared contract, {runs} at once, native beside numpy", costs, 0.2)


def test_one_run_beside_a_plain_loop(benchmark: Any, demo_bundle: Path) -> None:
    """What an engineer writes in an afternoon computes the same poses; it must not be quicker."""
    scene = demo(demo_bundle)
    rival, loop = NumpyLoop(scene.contract, scene.network, clip_rows(scene.clip, scene.contract)), scene.crowd(1)
    for _ in range(20):
        loop.step()
        pose = loop["y_out"][0, scene.contract.numbers.output["BoneRotations6D"].range]
        np.testing.assert_allclose(rival.step().ravel(), pose, rtol=0, atol=SAME_POSE)
    actions = {"ours": loop.step, "numpy loop": rival.step}
    costs = benchmark.pedantic(in_turns, (actions, 31, time.thread_time, 20), rounds=1)
    told(SECTION, "free-run frame beside a plain numpy loop, native", costs, 1 / 3)
