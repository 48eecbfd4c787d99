"""Comparing two runs: beside Polygraphy's command line, and within a memory that does not grow with the runs."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rigpact.fixtures import demo_bundle
from rigpact.reference_runtime import OnnxNetwork, Trace, read_recording, write_trace
from rigpact.reports.comparing.compare import compare
from rigpact.reports.comparing.judgement import judge

from ...peak_memory import CHECKOUT
from .long_runs import demo_contract, demo_run, write_pair
from .performance_table import add_row, in_turns, told

FRAMES = 1000
LONG, TARGET_MB = 100_000, 500.0
PEAK = """
import sys, time
from parity_tests.peak_memory import peak_bytes
from rigpact.reports.command_line import run_command_line

start = time.perf_counter()
status = run_command_line(sys.argv[1:])
print("PEAK", status, peak_bytes() / 1e6, time.perf_counter() - start)
"""


def command(*words: object, statuses: tuple[int, ...] = (0, 1)) -> Callable[[], str]:
    """Run a command line to its end."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(CHECKOUT), *sys.path])}

    def run() -> str:
        done = subprocess.run(
            [*map(str, words)], capture_output=True, text=True, timeout=900, env=environment, check=False
        )
        assert done.returncode in statuses, done.stderr
        return done.stdout

    return run


def ours(*words: object) -> Callable[[], str]:
    """A rigpact command line."""
    return command(sys.executable, "-m", "rigpact.reports", *words)


BUNDLE = demo_bundle() / "norm_template.json", "--companion", demo_bundle() / "pretrain_template.json"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two free runs of a thousand frames, as traces and as Polygraphy keeps results; the inputs of the first."""
    pytest.importorskip("polygraphy")
    from polygraphy.comparator import IterationResult, RunResults
    from polygraphy.json import save_json

    folder = tmp_path_factory.mktemp("recorded")
    contract = demo_contract()
    network = OnnxNetwork(demo_bundle() / "model.onnx", contract)
    output, order = network.signature.outputs[0].name, contract.conventions.input_order
    names = [entry.name for entry in network.signature.inputs]

    def results(name: str, trace: Trace) -> None:
        kept = RunResults()
        rows = [IterationResult({output: row[None]}, runner_name=name) for row in trace.stages["y_norm"]]
        kept.append((name, rows))
        kept.save(str(folder / f"{name}.json"))

    for name, math in (("a", "f64"), ("b", "f32")):
        trace = demo_run(FRAMES, math=math, mode="free")
        write_trace(trace, folder / f"{name}.trace.safetensors")
        results(name, trace)
        if name == "a":
            feeds = [{names[i]: trace.stages[order[i]][k : k + 1] for i in range(5)} for k in range(FRAMES)]
            save_json(feeds, str(folder / "inputs.json"))
    return folder


def polygraphy(*words: object) -> Callable[[], str]:
    """Polygraphy's command line."""
    return command(Path(sys.executable).with_name("polygraphy"), "run", *words)


@pytest.mark.nightly
@pytest.mark.parametrize("way", ["15 stages", "15 stages, by a call", "run first, two commands"])
def test_comparing_beside_polygraphy(benchmark: Any, recorded: Path, tmp_path: Path, way: str) -> None:
    """A thousand frames from cold start to verdict, in a process that runs already, and through the model first."""
    contract, model = demo_contract(), demo_bundle() / "model.onnx"
    a, b, out = recorded / "a.trace.safetensors", recorded / "b.trace.safetensors", tmp_path / "out.trace.safetensors"
    clip = demo_bundle() / "clips" / "Run_F.json"
    run = ours("run", "--contract", *BUNDLE, clip, "--onnx", model, "--mode", "free", "--frames", FRAMES, "-o", out)
    diff = ours("diff", a, out, "--contract", *BUNDLE)
    action: Callable[[], object] = {
        "15 stages": ours("diff", a, b, "--contract", *BUNDLE),
        "15 stages, by a call": lambda: judge(compare(*(read_recording(path, contract) for path in (a, b)), contract)),
        "run first, two commands": lambda: (run(), diff()),
    }[way]
    outputs = ("--load-outputs", recorded / "a.json")
    rival = polygraphy(*outputs, recorded / "b.json")
    if "run" in way:
        rival = polygraphy(model, "--onnxrt", "--load-inputs", recorded / "inputs.json", *outputs)
    costs = benchmark.pedantic(in_turns, ({"ours": action, "Polygraphy's command line, 1 output": rival}, 3), rounds=1)
    what = f"two recorded runs of {FRAMES} frames compared, {way}"
    assert told("Comparing and diagnosing", what, costs, 0.1 if "run" in way else 0.05, "s") < 1 / 3


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="the peak of a process is read from Linux's /proc")
def test_memory_of_a_long_comparison(benchmark: Any, tmp_path: Path) -> None:
    """Half an hour of every stage, twice: 3.7 GB of files."""
    a, b = write_pair(tmp_path, LONG)
    size = (a.stat().st_size + b.stat().st_size) / 1e9
    diff = command(sys.executable, "-c", PEAK, "diff", a, b, "--contract", *BUNDLE)
    try:
        said = benchmark.pedantic(diff, rounds=1)
    finally:  # pytest keeps the folders of its last runs
        a.unlink()
        b.unlink()
    _, status, peak_mb, took = said.splitlines()[-1].split()
    assert status == "1"
    what = f"two traces of {LONG} frames, 46 bones, every stage ({size:.1f} GB) compared"
    words = f"{float(peak_mb):.0f} MB at most, {float(took):.0f} s"
    add_row("Memory", what, words, "", f"≤ {TARGET_MB:g} MB", met=float(peak_mb) <= TARGET_MB)
    assert float(peak_mb) <= TARGET_MB
