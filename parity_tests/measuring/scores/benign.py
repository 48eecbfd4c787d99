"""Honest variants: runs that differ as two correct implementations may. None of them is to raise an alarm.

`python -m parity_tests.measuring.scores.benign` diagnoses each and prints the alarms; with one it exits with 1.

Other precision, other summation order, other threads, the same rotation by another quaternion, other files of the same
numbers, less of the same recording. To add one: a generator below, called from `benign_variants`.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from rigpact.contract.layout import INPUTS
from rigpact.contract.pages.registry import find_system
from rigpact.contract.statistics import FloatArray
from rigpact.fixtures import demo_bundle
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reference_runtime.network import CallableNetwork
from rigpact.reference_runtime.recordings.opened import read_trace, write_trace
from rigpact.reference_runtime.recordings.trace import Trace
from rigpact.reference_runtime.systems.enemy_animation.runs import drive_of
from rigpact.reports.diagnosing.diagnose import diagnose

from ...scene import LARGEST_Z, Scene, SyntheticNetwork, generated_scene, slip

STAGE_NAMES = find_system("enemy_animation").graph.names

STYLES = ("sneak_turn", "walk", "run_turn", "spin_past_pi", "hop", "idle", "crouch_curve", "march")
OPTIMISATIONS = ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL")
THREADS = (1, 2, 4)
SUFFIXES = (".trace.jsonl", ".trace.jsonl.gz", ".trace.jsonl.zst", ".trace.safetensors")
SUBSETS: tuple[tuple[str, ...], ...] = (
    *((name,) for name in STAGE_NAMES), ("y_norm", "y_out"), ("x_raw", "y_out"), ("y_out", "quat"), ("state", "y_norm"),
    ("x_raw", "delta6d", "next6d"), (*INPUTS, "y_norm"), ("x_raw", "y_raw", "y_out", "quat"), ("y_raw", "y_out"),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Benign:
    """A correct recording, and its scene."""

    name: str
    scene: Scene
    trace: Trace


def benign_variants() -> Iterator[Benign]:
    """Every benign variant."""
    scenes = [generated_scene(style, seed=seed, frames=24) for seed, style in enumerate(STYLES)]
    yield from _float32_maths(scenes)
    yield from _quaternion_signs(scenes)
    yield from _runtimes(scenes[0])
    yield from _summation_orders(scenes[:4])
    yield from _batches(scenes[:2])
    yield from _files(scenes[1])
    yield from _partial(scenes[0])


def _float32_maths(scenes: Sequence[Scene]) -> Iterator[Benign]:
    for scene in scenes:
        for mode in ("teacher", "free"):
            moved = replace(scene, mode=mode)
            yield Benign(f"math=f32, {scene.name}, {mode}", moved, moved.record({"math": "f32"}))


def _quaternion_signs(scenes: Sequence[Scene]) -> Iterator[Benign]:
    for scene in scenes:
        honest = scene.record()
        quats = honest.stages["quat"].reshape(len(honest.frame), -1, 4)
        signs = {
            "all negated": -np.ones(quats.shape[:2]),
            "w never negative": np.where(quats[..., 3] < 0.0, -1.0, 1.0),
            "signs at random": np.random.default_rng(2).choice((-1.0, 1.0), quats.shape[:2]),
        }
        for words, sign in signs.items():
            turned = (quats * sign[..., None]).reshape(honest.stages["quat"].shape).astype(np.float32)
            yield Benign(f"q and -q, {words}, {scene.name}", scene, _with_stages(honest, {"quat": turned}))


def _runtimes(scene: Scene) -> Iterator[Benign]:
    """The demo model in onnxruntime under other session options."""
    import onnxruntime

    for optimisation, threads in product(OPTIMISATIONS, THREADS):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, optimisation)
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(
            demo_bundle() / "model.onnx", options, providers=["CPUExecutionProvider"]
        )
        names = [entry.name for entry in session.get_inputs()]

        def answer(*rows: FloatArray, own: Any = session, names: Sequence[str] = tuple(names)) -> FloatArray:
            output: FloatArray = own.run(None, dict(zip(names, rows, strict=True)))[0]
            return output

        trace = scene.with_network(CallableNetwork(answer)).record()
        yield Benign(f"onnxruntime, {optimisation.lower()}, {threads} threads", scene, trace)


def _one_by_one(a: FloatArray, b: FloatArray) -> FloatArray:
    total: FloatArray = np.zeros((len(a), b.shape[1]), np.float32)
    for column, row in zip(a.T, b, strict=True):
        total = total + column[:, None] * row
    return total


_SUMS: Mapping[str, Any] = {
    "backwards": lambda a, b: np.ascontiguousarray(a[:, ::-1]) @ np.ascontiguousarray(b[::-1]),
    "one by one": _one_by_one,
    "in float64": lambda a, b: (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32),
    "in two halves": lambda a, b: a[:, ::2] @ b[::2] + a[:, 1::2] @ b[1::2],
}


def _summation_orders(scenes: Sequence[Scene]) -> Iterator[Benign]:
    """The synthetic network's sums taken in another order, as another BLAS would."""
    for scene, (order, dot) in product(scenes, _SUMS.items()):
        network = SyntheticNetwork(scene.contract, seed=7)

        def answer(*rows: FloatArray, of: SyntheticNetwork = network, dot: Any = dot) -> FloatArray:
            joined = np.clip(np.concatenate(rows, axis=1), -LARGEST_Z, LARGEST_Z)
            return np.asarray(dot(np.tanh(dot(joined, of.first)), of.second), np.float32)

        trace = scene.with_network(CallableNetwork(answer)).record()
        yield Benign(f"float32 sums {order}, {scene.name}", scene.with_network(network), trace)


def _batches(scenes: Sequence[Scene]) -> Iterator[Benign]:
    """All frames in one inference, where the recording made one a frame."""
    for scene in scenes:
        honest = scene.record()
        batched = slip(scene, honest.stages, "pose_hist", lambda stages, _scene: stages["pose_hist"])
        yield Benign(f"one batch, {scene.name}", scene, _with_stages(honest, batched))


def _files(scene: Scene) -> Iterator[Benign]:
    honest = scene.record()
    with tempfile.TemporaryDirectory() as folder:
        for suffix in SUFFIXES:
            path = Path(folder) / f"run{suffix}"
            write_trace(honest, path)
            yield Benign(f"written as {suffix}", scene, read_trace(path))
        for digits in (9, 12, 17):
            path = Path(folder) / "printed.trace.jsonl"
            path.write_bytes(_printed(honest, digits))
            yield Benign(f"numbers printed with {digits} digits", scene, read_trace(path))
            packed = Path(folder) / "printed.trace.jsonl.gz"
            packed.write_bytes(gzip.compress(path.read_bytes()))
            yield Benign(f"numbers printed with {digits} digits, packed", scene, read_trace(packed))


def _printed(trace: Trace, digits: int) -> bytes:
    """The trace as a recorder in C++ prints it: %.9g brings every float32 back."""
    lines = [orjson.dumps(trace.header.to_json(trace.widths)).decode()]
    for row, frame in enumerate(trace.frame.tolist()):
        stages = ", ".join(
            f'"{name}": [{", ".join(f"{float(value):.{digits}g}" for value in rows[row])}]'
            for name, rows in trace.stages.items()
        )
        lines.append(f'{{"frame": {frame}, "time": {trace.time_s[row]:.6f}, "stages": {{{stages}}}}}')
    return "\r\n".join(lines).encode()


def _partial(scene: Scene) -> Iterator[Benign]:
    """Less of the same recording: later, sparser, fewer stages, one frame."""
    for mode in ("teacher", "free"):
        moved = replace(scene, mode=mode)
        honest = moved.record()
        for start, stop, step in ((1, None, 1), (7, None, 1), (0, 1, 1), (5, 6, 1), (0, None, 3), (20, None, 1)):
            frames = slice(start, stop, step)
            yield Benign(f"{mode}, frames {start}:{stop}:{step}", moved, _cut(honest, frames))
        for names in SUBSETS:
            kept = {name: honest.stages[name] for name in names}
            yield Benign(f"{mode}, only {', '.join(names)}", moved, replace(honest, stages=kept))


def _cut(trace: Trace, frames: slice) -> Trace:
    stages = {name: rows[frames] for name, rows in trace.stages.items()}
    return replace(trace, frame=trace.frame[frames], time_s=trace.time_s[frames], stages=stages)


def _with_stages(trace: Trace, stages: Mapping[str, FloatArray]) -> Trace:
    return replace(trace, stages={**trace.stages, **stages})


def evidence_of(scene: Scene, trace: Trace) -> Evidence:
    return Evidence(trace.frame, trace.header.fps, scene.mode, trace.stages, drive_of(scene.clip), scene.network)


def alarms(variants: Iterable[Benign]) -> list[str]:
    """The variants that are said to differ. `undetermined` is not an alarm: the recording holds nothing to judge."""
    found = []
    for each in variants:
        verdict = diagnose(evidence_of(each.scene, each.trace), each.scene.contract, with_pairs=False).verdict
        found += [f"{each.name}: {verdict}"] if verdict not in ("agrees", "undetermined") else []
    return found


if __name__ == "__main__":
    every = list(benign_variants())
    raised = alarms(every)
    sys.stdout.write("".join(f"{line}\n" for line in (*raised, f"{len(raised)} alarms on {len(every)} variants")))
    sys.exit(bool(raised))
