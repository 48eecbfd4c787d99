"""Cost of one free-run frame, compared with the bare network, a plain numpy loop and torch, on one core."""

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rigpact.contract import Contract, load_contract
from rigpact.contract.contract_files import open_contract
from rigpact.reference_runtime import CallableNetwork, OnnxNetwork, RawClip, open_run, read_clip
from rigpact.reference_runtime.graph.native.plan import NativeFrames
from rigpact.reference_runtime.graph.run import ClipDrive, LiveFrames
from rigpact.reference_runtime.systems.enemy_animation.drive import ClipRows, clip_rows
from rigpact.reference_runtime.systems.enemy_animation.runs import free_frames

from .long_runs import character
from .numpy_rival import NumpyLoop
from .performance_table import add_row
from .timing import growth_exponent
from .torch_rival import TorchLoop, demo_model

pytestmark = pytest.mark.nightly
SECTION = "One step of the runtime"
FRAMES, ROUNDS = 40, 31
RUNS = 64
SAME_POSE = 2e-5
"""Two float32 networks and 20 frames of feeding back: a hundred float32 steps on entries of at most 1."""


@dataclass(frozen=True)
class Demo:
    """The demo character, and the folder that it comes from."""

    folder: Path
    contract: Contract
    network: OnnxNetwork
    clip: RawClip

    @property
    def rows(self) -> ClipRows:
        return clip_rows(self.clip, self.contract)

    def feed(self, runs: int) -> dict[str, np.ndarray]:
        """The network's inputs in the first frame, for a number of runs."""
        stages = open_run(self.contract, self.network, self.clip, "free").step()
        names = zip(self.network._names, self.contract.conventions.input_order, strict=True)
        return {name: np.repeat(stages[stage][None], runs, axis=0) for name, stage in names}

    def bare(self, runs: int) -> Callable[[], Any]:
        """`session.run` and nothing else."""
        session, feed = self.network._session, self.feed(runs)
        return lambda: session.run(None, feed)

    def crowd(self, runs: int = RUNS) -> LiveFrames:
        """Runs that start from different frames of the clip."""
        starts = self.rows.x_raw[np.arange(runs) % len(self.rows.x_raw)]
        return free_frames(self.contract, self.network, [self.rows], starts, kind=NativeFrames)


def demo(demo_bundle: Path, math: str = "f64") -> Demo:
    files = demo_bundle / "norm_template.json", demo_bundle / "pretrain_template.json"
    contract = load_contract(*files, changes={"math": math})
    network = OnnxNetwork(demo_bundle / "model.onnx", contract)
    return Demo(demo_bundle, contract, network, read_clip(demo_bundle / "clips/Sneak_Turn.json"))


def per_frame(
    actions: dict[str, Callable[[], Any]],
    frames: int = FRAMES,
    rounds: int = ROUNDS,
    clock: Callable[[], float] = time.thread_time,
) -> dict[str, list[float]]:
    """Processor seconds a frame of every action in every round; the actions take turns, `frames` calls at a time.

    What runs on the calling thread has its own clock: it leaves out the time that other processes used the core.
    """
    costs: dict[str, list[float]] = {name: [] for name in actions}
    for number in range(-1, rounds):
        for name in list(actions) if number % 2 == 0 else list(actions)[::-1]:
            action, start = actions[name], clock()
            for _ in range(frames):
                action()
            costs[name] += [(clock() - start) / frames] if number >= 0 else []
    return costs


def told(costs: dict[str, list[float]], ours: str, rival: str, what: str, target: float) -> float:
    """Write the figure down: medians, and the median of the rounds' own ratios; returns that ratio."""
    ratio = statistics.median(a / b for a, b in zip(costs[ours], costs[rival], strict=True))
    mine, theirs = (statistics.median(costs[name]) * 1e6 for name in (ours, rival))
    add_row(
        what,
        section=SECTION,
        ours=f"{mine:.0f} us",
        rival=f"{rival}: {theirs:.0f} us",
        ratio=ratio,
        target=f"≤ {target:.3g}",
        met=ratio <= target,
    )
    return ratio


ONE_RUN, CROWD = 1.4, 1.2


@pytest.mark.parametrize("math", ["f64", "f32"])
def test_one_run_beside_the_bare_network(benchmark: Any, demo_bundle: Path, math: str) -> None:
    """A loop that costs more than its network is the loop's fault."""
    scene = demo(demo_bundle, math)
    loop, plain, kept = (scene.crowd(1) for _ in range(3))
    costs = per_frame({"session.run": scene.bare(1), "recorder off": loop.step}, frames=1, rounds=1000)
    told(costs, "recorder off", "session.run", f"free-run frame, one run, native, {math}", ONE_RUN)
    frames = range(FRAMES)
    whole = per_frame(
        {"recorder off": lambda: [plain.step() for _ in frames], "recorder on": lambda: kept.record(frames)},
        frames=2,
    )
    told(
        whole,
        "recorder on",
        "recorder off",
        f"{FRAMES} free-run frames with every stage recorded, native, {math}",
        1.25,
    )
    benchmark(loop.step)


@pytest.mark.parametrize("math", ["f64", "f32"])
def test_lockstep_beside_the_bare_network(benchmark: Any, demo_bundle: Path, math: str) -> None:
    """64 runs in one network call a frame: a sweep of seeds for the price of the network."""
    scene = demo(demo_bundle, math)
    crowd = scene.crowd()
    costs = per_frame({"session.run": scene.bare(RUNS), "lockstep": crowd.step}, frames=1, rounds=200)
    told(costs, "lockstep", "session.run", f"free-run frame, {RUNS} runs in lockstep, native, {math}", CROWD)
    benchmark(crowd.step)


def test_a_large_crowd_on_every_core(benchmark: Any, demo_bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand runs, as a search over seeds makes them: the cores that the network leaves idle share the loop. Wall time."""
    scene, crowds = demo(demo_bundle), {}
    for name, threads in (("one core", "1"), ("every core", str(os.cpu_count()))):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        crowds[name] = scene.crowd(1024).step
        crowds[name]()  # the first step makes the threads
    costs = per_frame(crowds, frames=1, rounds=60, clock=time.perf_counter)
    told(costs, "every core", "one core", "free-run frame, 1024 runs in lockstep, native, f64, wall time", 0.9)
    benchmark(crowds["every core"])


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
    costs = per_frame({"native": native.step, "numpy": by_numpy.step}, frames=1, rounds=rounds)
    told(costs, "native", "numpy", f"stages of a declared contract, {runs} at once, native beside numpy", 0.2)
    benchmark.pedantic(native.step, rounds=20)


def test_one_run_beside_its_rivals(benchmark: Any, demo_bundle: Path) -> None:
    """What an engineer writes in an afternoon computes the same poses; it must not be quicker."""
    scene = demo(demo_bundle)
    torch.set_num_threads(1)
    model = demo_model(scene.folder / "model.onnx", scene.contract)
    rivals = NumpyLoop(scene.contract, scene.network, scene.rows), TorchLoop(scene.contract, model, scene.rows)
    loop = scene.crowd(1)
    for _ in range(20):
        loop.step()
        pose = loop["y_out"][0, scene.contract.numbers.output["BoneRotations6D"].range]
        for rival in rivals:
            np.testing.assert_allclose(np.asarray(rival.step()).ravel(), pose, rtol=0, atol=SAME_POSE)
    costs = per_frame(
        {"ours": loop.step, "numpy loop": rivals[0].step, "torch eager": rivals[1].step},
        frames=20,
    )
    told(costs, "ours", "numpy loop", "free-run frame beside a plain numpy loop, native", 1 / 3)
    told(costs, "ours", "torch eager", "free-run frame beside torch eager, native", 1 / 6)
    benchmark(loop.step)


def grows(benchmark: Any, what: str, action_of: Callable[[int], Callable[[], Any]], sizes: tuple[int, ...]) -> None:
    """Fit the exponent of the cost over the sizes and write it down."""
    actions = {str(size): action_of(size) for size in sizes}
    costs = benchmark.pedantic(per_frame, (actions, 1, 9), rounds=1)
    exponent = growth_exponent(sizes, [min(costs[str(size)]) for size in sizes])
    add_row(
        what,
        section="Growth",
        ours=f"size to the power of {exponent:.2f}",
        rival=f"{sizes[0]} to {sizes[-1]}",
        target="≤ 1.05",
        met=exponent <= 1.05,
    )


def test_cost_grows_with_frames(benchmark: Any, demo_bundle: Path) -> None:
    """An hour of play costs sixty times a minute: nothing may be kept that is looked through every frame."""
    scene = demo(demo_bundle)
    grows(
        benchmark,
        "free run recorded, frames",
        lambda frames: lambda: open_run(scene.contract, scene.network, scene.clip, "free").record(frames),
        (100, 200, 400, 800),
    )


def test_cost_grows_with_bones(benchmark: Any) -> None:
    """A character of 400 bones costs eight times one of 50."""

    def action(bones: int) -> Callable[[], Any]:
        contract, clip = character(bones, frames=101)
        network = CallableNetwork(lambda state, *_: np.zeros((1, 6 * bones)) + state[:, :1] * 1e-3)
        return lambda: open_run(contract, network, clip, "free").record(100)

    grows(benchmark, "free run recorded, bones", action, (50, 100, 200, 400, 800))


def test_cost_grows_with_clips(benchmark: Any, demo_bundle: Path) -> None:
    """A library of clips, each evaluated in one batch."""
    scene = demo(demo_bundle)

    def one() -> object:
        run = open_run(scene.contract, scene.network, scene.clip)
        return run.record(run.frame_limit or 0)

    grows(benchmark, "clips evaluated", lambda clips: lambda: [one() for _ in range(clips)], (2, 4, 8, 16))
