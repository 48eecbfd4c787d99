"""docs/performance.md: `python -m parity_tests.measuring.benchmarks [PAGE] [--only WORD]`, every figure beside its rival.

To add one: a function that yields figures, named in `BENCHMARKS`. RIGPACT_ROUNDS=1 shows in minutes whether all still run.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from rigpact import reference_runtime as runtime
from rigpact.contract import Contract, load_contract
from rigpact.contract.contract_files import open_contract
from rigpact.fixtures import demo_bundle
from rigpact.reference_runtime.graph.native_plan import NativeFrames
from rigpact.reference_runtime.graph.run import ClipDrive, LiveFrames
from rigpact.reference_runtime.systems.enemy_animation.runs import clip_rows, free_frames
from rigpact.reports.comparing.compare import compare
from rigpact.reports.comparing.judgement import judge
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.engine.conformance import made_up_clip
from rigpact.reports.engine.cpp_text import headers_folder
from rigpact.reports.sweep.plan import plan_sweep
from rigpact.reports.sweep.sweep import read_results, run_sweep

from ...cpp_room.drawn_contracts import bundle, state_slices, written
from ...scene import generated_scene
from ..frame import Score, table
from ..scores.benign import evidence_of
from .timing import COLUMNS, Action, Figure, beside, growth, in_turns, process, seconds, with_figures

DEMO = demo_bundle()
MODEL, SNEAK, COMPANION = DEMO / "model.onnx", DEMO / "clips" / "Sneak_Turn.json", DEMO / "pretrain_template.json"
FILES = (DEMO / "norm_template.json", COMPANION)
BUNDLE = (FILES[0], "--companion", COMPANION)
RIGPACT = ("-m", "rigpact.reports")
STEP, COMPARING, START = "One step of the runtime", "Comparing and diagnosing", "Starting up"
MATHS = ("f64", "f32")


@dataclass(frozen=True)
class Character:
    """The demo character under one width of maths."""

    contract: Contract
    network: runtime.OnnxNetwork
    clip: runtime.RawClip

    @classmethod
    def demo(cls, math: str = "f64") -> Character:
        """Its files."""
        contract = load_contract(*FILES, changes={"math": math})
        clip = runtime.read_clip(SNEAK)
        assert isinstance(clip, runtime.RawClip)
        return cls(contract, runtime.OnnxNetwork(MODEL, contract), clip)

    def bare(self, runs: int) -> Action:
        """`session.run` and nothing else, with the inputs of the first frame."""
        stages = runtime.open_run(self.contract, self.network, self.clip, "free").step()
        names = zip(self.network._names, self.contract.conventions.input_order, strict=True)
        feed = {name: np.repeat(stages[stage][None], runs, axis=0) for name, stage in names}
        return lambda: self.network._session.run(None, feed)

    def crowd(self, runs: int) -> LiveFrames:
        """Runs that start from different frames of the clip."""
        rows = clip_rows(self.clip, self.contract)
        starts = rows.x_raw[np.arange(runs) % len(rows.x_raw)]
        return free_frames(self.contract, self.network, [rows], starts, kind=NativeFrames)

    def run(self, frames: int, mode: Any = "teacher") -> runtime.Trace:
        """Every stage."""
        run = runtime.open_run(
            self.contract, self.network, runtime.read_clip(DEMO / "clips" / "Run_F.json"), mode, engine="numpy"
        )
        return runtime.run_frames(run, range(frames), "Run_F", mode)


def free_run(_folder: Path) -> Iterator[Figure]:
    """A loop that costs more than its network is the loop's fault; a recorder that moves the frame rate is switched off."""
    for math, (runs, name, most) in product(MATHS, ((1, "one run", 1.4), (64, "64 runs in lockstep", 1.2))):
        scene, rounds = Character.demo(math), 1000 if runs == 1 else 200
        actions = {"ours": scene.crowd(runs).step, "session.run": scene.bare(runs)}
        what = f"free-run frame, {name}, native, {math}"
        yield beside(STEP, what, actions, most, rounds=rounds, clock=time.thread_time)
    for math in MATHS:
        plain, kept = (Character.demo(math).crowd(1) for _ in range(2))
        record: Mapping[str, Action] = {
            "ours": partial(kept.record, range(40)), "recorder off": lambda plain=plain: [plain.step() for _ in range(40)],
        }  # fmt: skip
        what = f"40 free-run frames with every stage recorded, native, {math}"
        yield beside(STEP, what, record, 1.25, rounds=31, clock=time.thread_time, calls=2)
    crowds: dict[str, Action] = {}
    for name, threads in (("ours", str(os.cpu_count())), ("one core", "1")):
        os.environ["OMP_NUM_THREADS"] = threads
        crowds[name] = Character.demo().crowd(1024).step
        crowds[name]()  # the first step makes the threads
    yield beside(STEP, "free-run frame, 1024 runs in lockstep, native, f64, wall time", crowds, 0.9, rounds=60)


def declared_contract(_folder: Path) -> Iterator[Figure]:
    """Twenty-three stages of learned motion matching: the stages alone, its networks' answers come from the clip."""
    contract = open_contract(Path(__file__).parents[3] / "fixtures/contracts/learned_motion_matching.toml")
    rng, graph, rounds = np.random.default_rng(0), contract.system.graph, 200
    widths = {name: contract.fields(name).width for name in (*graph.given, *graph.answers)}
    clip = ClipDrive({name: np.float32(rng.normal(0.0, 0.1, (60, width))) for name, width in widths.items()})
    for runs in (1, 64):
        kinds = {"ours": NativeFrames, "numpy": LiveFrames}
        actions = {name: kind(contract, [clip] * runs, None, 2 * rounds, "free").step for name, kind in kinds.items()}
        what = f"stages of a declared contract, {runs} at once, native beside numpy"
        yield beside(STEP, what, actions, 0.2, rounds=rounds, clock=time.thread_time)


def loading(folder: Path) -> Iterator[Figure]:
    """A prediction of 87 steps of 46 bones to float32 arrays, beside the least that anybody could do."""
    chance, path = np.random.default_rng(0), folder / "Walk_prediction.json"
    widths = {"state_norm": 420, "cond": 7, "contacts": 2, "angvel_norm": 138, "pose_hist_norm": 828, "y": 276}
    rows = {name: chance.normal(0.0, 1.0, (87, width)).astype(np.float32).tolist() for name, width in widths.items()}
    path.write_bytes(orjson.dumps({
        "clip": "Walk", "fps": 60, "num_pairs": 87, "prediction": {"y_norm": rows["y"], "y_raw": rows["y"]},
        "teacher": {"state_norm": rows["state_norm"], "cond": rows["cond"]},
        "aux_inputs": {name: rows[name] for name in ("contacts", "angvel_norm", "pose_hist_norm")},
    }))  # fmt: skip

    def plain() -> list[Any]:
        root = orjson.loads(path.read_bytes())
        parts = ("teacher", "aux_inputs", "prediction")
        return [np.array(rows, dtype=np.float32) for part in parts for rows in root[part].values()]

    actions = {"ours": lambda: runtime.read_clip(path), "orjson.loads and np.array": plain}
    yield beside("Files", "teacher file of 3.3 MB to float32 arrays", actions, 1.3, "ms", rounds=25)


def pairs_of_conventions(_folder: Path) -> Iterator[Figure]:
    """No conventions explain a channel that is stuck: every pair is tried; from poses alone each is a run of the whole loop."""
    scene = generated_scene("sneak_turn", frames=87)
    trace = scene.record()
    trace.stages["y_out"][:, 62] = 0.3
    alone = replace(trace, stages={"y_out": trace.stages["y_out"]})
    took = seconds(lambda: diagnose(evidence_of(scene, alone), scene.contract), time.process_time)
    what = "all pairs of conventions from y_out, clip and model, 87 frames"
    yield Figure(COMPARING, what, f"{took:.1f} s of processor time", "", "≤ 3 s", took <= 3.0)


def lengthened(trace: runtime.Trace, frames: int) -> runtime.Trace:
    """The trace over and over until it has so many frames."""
    rows, frame = np.arange(frames) % len(trace.frame), np.arange(frames, dtype=np.int64)
    stages = {name: values[rows] for name, values in trace.stages.items()}
    return replace(trace, frame=frame, time_s=frame / trace.header.fps, stages=stages)


PEAK = """
import sys, time
from parity_tests.peak_memory import peak_bytes
from rigpact.reports.command_line import run_command_line
start = time.perf_counter()
run_command_line(sys.argv[1:])
print("PEAK", peak_bytes() / 1e6, time.perf_counter() - start)
"""


def memory(folder: Path) -> Iterator[Figure]:
    """Half an hour of every stage, twice: 3.7 GB of files that differ by rounding and in one value."""
    paths = [folder / f"{name}.trace.safetensors" for name in "ab"]
    for path, math in zip(paths, MATHS, strict=True):
        trace = lengthened(Character.demo(math).run(50), 100_000)
        trace.stages["y_out"][50_000, 7] += np.float32(0.01 * (math == "f32"))
        runtime.write_trace(trace, path)
    size = sum(path.stat().st_size for path in paths) / 1e9
    said = process("-c", PEAK, "diff", *paths, "--contract", *BUNDLE)()
    peak_mb, took = map(float, said.splitlines()[-1].split()[1:])
    what = f"two traces of 100000 frames, 46 bones, every stage ({size:.1f} GB) compared"
    yield Figure("Memory", what, f"{peak_mb:.0f} MB at most, {took:.0f} s", "", "≤ 500 MB", peak_mb <= 500.0)


def starting(folder: Path) -> Iterator[Figure]:
    """People do not use a command that starts slowly, nor run a slow gate on every change."""
    shown = {"ours": process(*RIGPACT, "--help"), "`import typer, rich`": process("-c", "import typer, rich")}
    yield beside(START, "`rigpact --help`", shown, 2.0, "ms", rounds=15)
    libraries = process("-c", "import numpy, onnxruntime, onnx, jsonschema, orjson, typer, rich")
    costs = in_turns({"ours": process(*RIGPACT, "check", FILES[0], "--onnx", MODEL), "imports": libraries}, 9)
    took, theirs = (statistics.median(each) for each in costs.values())
    what, rival = "`rigpact check` of the demo bundle and its model", f"importing its libraries: {theirs:.2f} s"
    yield Figure(START, what, f"{took:.2f} s", rival, "≤ 0.25 s", took <= 0.25, took / theirs)
    shutil.copytree(DEMO, folder / "game")
    process(*RIGPACT, "init", folder=folder / "game")()
    for words, target_s in (("gate", 1.5), ("gate --selftest", 4.0)):
        run = process(*RIGPACT, *words.split(), folder=folder / "game")
        wall = statistics.median(in_turns({"": run}, 3)[""])
        own = seconds(run, lambda: sum(os.times()[2:4]))
        ours = f"{wall:.1f} s, {own:.1f} s of processor time"
        yield Figure(START, f"`rigpact {words}` of the demo bundle", ours, "", f"≤ {target_s:g} s", wall <= target_s)


def sweeps(folder: Path) -> Iterator[Figure]:
    """The rates that docs/sweep.md plans with: frames for each second of a processor's time."""
    for mode in ("teacher", "free"):
        plan, out = _plan(str(DEMO / "clips"), ("math=f64,f32", "mirror=none,x,y,z"), mode), folder / mode

        def sweep() -> None:
            shutil.rmtree(out, ignore_errors=True)  # noqa: B023 - called in this round alone
            run_sweep(plan, out)  # noqa: B023

        took = min(seconds(sweep, time.process_time) for _ in range(3))
        frames = sum(row["frames"] for row in read_results(out))
        kept = sum(path.stat().st_size for path in out.iterdir()) / len(plan)
        rival = f"{len(plan)} cells of {frames // len(plan)} frames"
        yield Figure("Sweeps", f"{mode} cells: frames a second of one core", f"{frames / took:.0f}", rival, "none")
        yield Figure("Sweeps", f"{mode} cells: bytes kept of one", f"{kept:.0f}", "journal and Parquet", "none")


def _plan(clips: str, knobs: tuple[str, ...] = (), mode: Any = "teacher") -> Any:
    return plan_sweep(load_contract(*FILES), COMPANION, [str(MODEL)], [clips], knobs, modes=(mode,))


def growing(folder: Path) -> Iterator[Figure]:
    """A hand and a crowd, a second and an hour: nothing may be kept that is looked through every frame."""
    demo, places = Character.demo(), (folder / str(number) for number in range(10_000))

    def comparing(trace: runtime.Trace, contract: Contract) -> Action:
        moved = {name: np.nextafter(rows, np.float32(2.0)) for name, rows in trace.stages.items()}
        traces = {"a": trace, "b": replace(trace, stages=moved)}
        a, b = (runtime.Recording(Path(name), "trace", each, frozenset(each.stages)) for name, each in traces.items())
        return lambda: judge(compare(a, b, contract))

    def of_bones(bones: int, mode: Any = "free") -> Action:
        place, spec = next(places), {"columns": ["X", "Z"], "output_mode": "delta"}
        place.mkdir()
        document = bundle(state_slices(bones, contacts=True), {"BoneRotations6D": 6 * bones}, bones, 3, spec, 0.3)
        contract = written(place, document)
        clip = made_up_clip(contract, 201)
        network = runtime.CallableNetwork(lambda state, *_: np.zeros((1, 6 * bones)) + state[:, :1] * 1e-3)
        run = lambda: runtime.open_run(contract, network, clip, mode)  # noqa: E731
        if mode == "free":
            return lambda: run().record(100)
        return comparing(runtime.run_frames(run(), range(200), "clip", mode), contract)

    def diagnosing(frames: int) -> Action:
        scene = generated_scene("sneak_turn", frames=frames)
        trace = scene.record({"compose_order": "prev_delta"})
        return lambda: diagnose(evidence_of(scene, trace), scene.contract, with_pairs=False)

    def sweeping(clips: str, *knobs: str) -> Action:
        plan = _plan(clips, knobs)
        return lambda: run_sweep(plan, next(places))

    def of_clips(count: int) -> Action:
        source, clips = json.loads(SNEAK.read_text(encoding="utf-8")), next(places)
        clips.mkdir()
        for index in range(count):
            source["Frames"][0]["RootPosition"][0] = 0.001 * index  # another clip, of the same length
            (clips / f"{index:04d}.json").write_text(json.dumps(source), encoding="utf-8")
        return sweeping(str(clips))

    knobs = ("mirror=none,x,y,z", "math=f64,f32", "bone_order=as_declared;left_right_swapped", "writeback=all,none")
    of_knobs = lambda count: sweeping(str(SNEAK), *knobs[: count.bit_length() - 2])  # noqa: E731
    yield growth(
        "comparing, frames",
        lambda n: comparing(lengthened(demo.run(50), n), demo.contract),
        (500, 1000, 2000, 4000),
        11,
    )
    yield growth("comparing, bones", partial(of_bones, mode="teacher"), (50, 100, 200, 400), 11)
    yield growth("diagnosing one changed convention, frames", diagnosing, (50, 100, 200, 400), 3)
    yield growth("sweeping, clips", of_clips, (10, 20, 40, 80), 3)
    yield growth("sweeping, combinations of conventions", of_knobs, (4, 8, 16, 32), 3)
    free = lambda n: lambda: runtime.open_run(demo.contract, demo.network, demo.clip, "free").record(n)  # noqa: E731
    yield growth("free run recorded, frames", free, (100, 200, 400, 800), 9)
    yield growth("free run recorded, bones", of_bones, (50, 100, 200, 400, 800), 9)


def recorder(folder: Path) -> Iterator[Figure]:
    """The C++ recorder on the thread that records, with the fifteen stages of a character: formats × queue × bones."""
    here, room = Path(__file__).parent, Path(__file__).parents[2] / "cpp_room"
    words = [
        "g++",
        "-std=c++17",
        "-O2",
        "-pthread",
        f"-I{headers_folder()}",
        f"-I{room}",
        str(here / "recorder_cost.cpp"),
    ]
    subprocess.run([*words, "-o", str(folder / "recorder")], check=True)
    module = headers_folder().parent / "unreal" / "RigpactTrace" / "Source" / "RigpactTrace"
    words += ["-DRIGPACT_TRACE=1", "-DCOST_UNREAL", f"-I{room / 'unreal_stub'}", f"-I{module / 'Public'}"]
    subprocess.run([*words, str(module / "Private" / "RigpactTrace.cpp"), "-o", str(folder / "plug-in")], check=True)
    for through, ending, queue, bones in product(
        ("recorder", "plug-in"), (".trace.bin", ".trace.jsonl"), (0, 64), (23, 46, 92)
    ):
        command = [folder / through, folder / f"run{ending}", queue, bones, 500]
        environment = os.environ | {"UNREAL_STUB_SAVED": str(folder)}
        done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, env=environment)
        said = done.stdout.splitlines()
        first, *took = said[said.index("costs") + 1 :]
        assert first.split() == ["0", "0"], "something was allocated, or a frame was dropped"
        (path,) = folder.rglob(f"*{ending}")
        assert len(runtime.read_trace(path).frame) == 500
        path.unlink()
        ours, plainly = np.median(np.array([line.split() for line in took], float), axis=0)
        what, ratio = f"{through}, `{ending}`, queue of {queue}, {bones} bones", ours / plainly
        most = 0.33 if queue else 3.0 if ending == ".trace.bin" else np.inf
        target = "none" if most == np.inf else f"≤ {most:g}"
        yield Figure("Recorder", what, f"{ours:.1f} us", f"fwrite: {plainly:.1f} us", target, ratio <= most, ratio)


BENCHMARKS: Sequence[Callable[[Path], Iterator[Figure]]] = (
    free_run, declared_contract, loading, pairs_of_conventions, memory, starting, sweeps, growing, recorder,
)  # fmt: skip


def figures(given: argparse.Namespace) -> Iterator[Figure]:
    """Every figure of the benchmarks that are asked for, each in a folder of its own."""
    for each in BENCHMARKS:
        if given.only in each.__name__:
            with tempfile.TemporaryDirectory() as folder:
                yield from each(Path(folder))


def main() -> int:
    """Measure; with a page, rows of the same names are replaced."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", default="", metavar="WORD", help=f"of {', '.join(each.__name__ for each in BENCHMARKS)}"
    )
    rows = lambda found: table(COLUMNS, (each.cells for each in found))  # noqa: E731
    return Score("", figures, lambda each: " | ".join(each.cells), rows, placed=with_figures).main(parser)


if __name__ == "__main__":
    sys.exit(main())
