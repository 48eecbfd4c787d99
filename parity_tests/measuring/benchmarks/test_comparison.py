"""Comparing two runs: beside Polygraphy's command line, and within a memory that does not grow with the runs."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rigpact.fixtures import demo_bundle
from rigpact.reference_runtime import OnnxNetwork, Trace, write_trace

from ...peak_memory import CHECKOUT
from .long_runs import demo_contract, demo_run, write_pair
from .performance_table import add_row
from .timing import in_turns

FRAMES, TARGET_RATIO, TARGET_TWO_COMMANDS = 1000, 20.0, 10.0
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


def bundle_words() -> tuple[object, ...]:
    return demo_bundle() / "norm_template.json", "--companion", demo_bundle() / "pretrain_template.json"


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


def row(what: str, times: tuple[float, float, float], rival: str, wanted: float = TARGET_RATIO) -> float:
    mine, theirs, ratio = times
    faster = 1.0 / ratio
    add_row(
        what, section="Comparing and diagnosing", ours=f"{mine:.2f} s", rival=f"{rival}: {theirs:.1f} s", ratio=faster,
        target=f"≥ {wanted:g} times faster", met=faster >= wanted,
    )  # fmt: skip
    return faster


@pytest.mark.nightly
def test_comparing_two_recorded_runs_beside_polygraphy(benchmark: Any, recorded: Path) -> None:
    """A thousand frames from cold start to verdict: 15 stages, degrees and centimetres, against one output's numbers."""
    traces = recorded / "a.trace.safetensors", recorded / "b.trace.safetensors"
    diff = ours("diff", *traces, "--contract", *bundle_words())
    rival = polygraphy("--load-outputs", recorded / "a.json", recorded / "b.json")
    times = benchmark.pedantic(in_turns, (diff, rival, 3), rounds=1)
    faster = row(
        f"two recorded runs of {FRAMES} frames compared, 15 stages", times, "Polygraphy's command line, 1 output"
    )
    same = in_turns(ours("diff", *traces, "--contract", *bundle_words(), "--stage", "y_norm"), rival, 3)
    row(
        f"two recorded runs of {FRAMES} frames compared, the network's output",
        same,
        "Polygraphy's command line, 1 output",
    )
    assert faster > 3.0


@pytest.mark.nightly
def test_comparing_in_a_process_that_is_warm_beside_polygraphy(benchmark: Any, recorded: Path) -> None:
    """A test suite or a service calls rigpact in a running process; compared with the same command line."""
    from rigpact.reference_runtime import read_recording
    from rigpact.reports.comparing.compare import compare
    from rigpact.reports.comparing.judgement import judge

    contract = demo_contract()

    def library() -> object:
        sides = (read_recording(recorded / f"{name}.trace.safetensors", contract) for name in "ab")
        return judge(compare(*sides, contract))

    rival = polygraphy("--load-outputs", recorded / "a.json", recorded / "b.json")
    times = benchmark.pedantic(in_turns, (library, rival, 3), rounds=1)
    what = f"two recorded runs of {FRAMES} frames compared, 15 stages, by a call"
    assert row(what, times, "Polygraphy's command line, 1 output") > 10.0


@pytest.mark.nightly
def test_running_and_comparing_beside_polygraphy(benchmark: Any, recorded: Path, tmp_path: Path) -> None:
    """A thousand frames through the model, held against a recorded run: ours carries the whole character from frame to frame."""
    model, clip, out = (
        demo_bundle() / "model.onnx",
        demo_bundle() / "clips" / "Run_F.json",
        tmp_path / "out.trace.safetensors",
    )
    words = clip, "--onnx", model, "--mode", "free", "--frames", FRAMES, "-o", out
    run = ours("run", "--contract", *bundle_words(), *words)
    diff = ours("diff", recorded / "a.trace.safetensors", out, "--contract", *bundle_words())
    rival = polygraphy(
        model, "--onnxrt", "--load-inputs", recorded / "inputs.json", "--load-outputs", recorded / "a.json"
    )
    times = benchmark.pedantic(in_turns, (lambda: (run(), diff()), rival, 3), rounds=1)
    what = f"{FRAMES} frames run and compared with a recorded run, two commands"
    assert row(what, times, "Polygraphy's command line, network only", TARGET_TWO_COMMANDS) > 3.0


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="the peak of a process is read from Linux's /proc")
def test_memory_of_a_long_comparison(benchmark: Any, tmp_path: Path) -> None:
    """Half an hour of every stage, twice: 3.7 GB of files."""
    a, b = write_pair(tmp_path, LONG)
    size = (a.stat().st_size + b.stat().st_size) / 1e9
    diff = command(sys.executable, "-c", PEAK, "diff", a, b, "--contract", *bundle_words())
    try:
        said = benchmark.pedantic(diff, rounds=1)
    finally:  # pytest keeps the folders of its last runs
        a.unlink()
        b.unlink()
    _, status, peak_mb, took = said.splitlines()[-1].split()
    assert status == "1"
    add_row(
        f"two traces of {LONG} frames, 46 bones, every stage ({size:.1f} GB) compared",
        section="Memory",
        ours=f"{float(peak_mb):.0f} MB at most, {float(took):.0f} s",
        target=f"≤ {TARGET_MB:g} MB",
        met=float(peak_mb) <= TARGET_MB,
    )
    assert float(peak_mb) <= TARGET_MB
