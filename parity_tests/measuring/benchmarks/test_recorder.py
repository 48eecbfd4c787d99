"""Cost of the C++ recorder on the thread that records: formats × queue × bones, with the fifteen stages of a character."""

import os
import shutil
import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from rigpact.reference_runtime import read_trace
from rigpact.reports.engine.codegen import headers_folder

SOURCE = Path(__file__).with_name("recorder_cost.cpp")
HEAP = Path(__file__).parents[2] / "cpp_room"
"""Where counting_heap.hpp lies."""
FRAMES, BONES, QUEUES, ENDINGS = 500, (23, 46, 92), (0, 64), (".trace.bin", ".trace.jsonl")
LARGEST = 3.0
"""Times what writing the same vectors takes, of 46 bones on the caller's thread: a header, a copy and the write are two or three
passes over the bytes, so a recording may stay on in a play test."""
LARGEST_QUEUED = 0.33
"""The same where a queue's thread writes: the copy alone, which is what an animation thread of many characters can spare."""
HEAD = (
    "| through | format | queue | bones | kB a frame | median µs | 95 % below | written plainly µs | allocations |",
    "|---|---|---|---|---|---|---|---|---|",
)


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The recorder and the Unreal plug-in with the optimisation of a shipping build."""
    if shutil.which("g++") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no g++")
    folder = tmp_path_factory.mktemp("recorder")
    words = ["g++", "-std=c++17", "-O2", "-pthread", f"-I{headers_folder()}", f"-I{HEAP}"]
    subprocess.run([*words, str(SOURCE), "-o", str(folder / "recorder")], check=True, timeout=300)
    module = headers_folder().parent / "unreal" / "RigpactTrace" / "Source" / "RigpactTrace"
    words += ["-DRIGPACT_TRACE=1", "-DCOST_UNREAL", f"-I{HEAP / 'unreal_stub'}", f"-I{module / 'Public'}"]
    words += [str(SOURCE), str(module / "Private" / "RigpactTrace.cpp"), "-o", str(folder / "plug-in")]
    subprocess.run(words, check=True, timeout=300)
    return {name: folder / name for name in ("recorder", "plug-in")}


def cost(program, folder, ending, queue, bones):
    """Of every frame after the first: microseconds, recorded and plainly written; allocations, drops, kilobytes a frame."""
    words = [program, folder / f"run{ending}", queue, bones, FRAMES]
    environment = os.environ | {"UNREAL_STUB_SAVED": str(folder)}
    done = subprocess.run(
        list(map(str, words)), check=True, capture_output=True, text=True, timeout=120, env=environment
    )
    said = done.stdout.splitlines()
    first, *took = said[said.index("costs") + 1 :]
    allocations, dropped = map(int, first.split())
    (path,) = folder.rglob(f"*{ending}")
    assert len(read_trace(path).frame) == FRAMES - dropped
    size = path.stat().st_size / (FRAMES - dropped) / 1024
    path.unlink()
    return np.array([line.split() for line in took], float).T, allocations, dropped, size


def test_a_recorded_frame_costs_its_thread_little(programs, tmp_path, benchmark):
    """A recorder that moves the frame rate is switched off, and then the defect comes back. Nothing may be allocated."""
    rows, typical = [], {}
    for (through, program), ending, queue, bones in product(programs.items(), ENDINGS, QUEUES, BONES):
        (took, plainly), allocations, dropped, size = cost(program, tmp_path, ending, queue, bones)
        (middle, late), plain = np.percentile(took, [50, 95]), np.median(plainly)
        typical[through, ending, queue, bones] = middle / plain
        rows.append(
            f"| {through} | `{ending}` | {queue} | {bones} | {size:.0f} | {middle:.1f} | {late:.1f} | {plain:.1f} "
            f"| {allocations} |"
        )
        assert (allocations, dropped) == (0, 0)
    print("\n".join(["", *HEAD, *rows]))  # noqa: T201
    benchmark.extra_info |= {" ".join(map(str, key)): value for key, value in typical.items()}
    benchmark.pedantic(cost, (programs["recorder"], tmp_path, ".trace.bin", 0, 46), rounds=1)
    for through in programs:
        assert typical[through, ".trace.bin", 0, 46] <= LARGEST
        assert max(typical[through, ending, 64, 46] for ending in ENDINGS) <= LARGEST_QUEUED
