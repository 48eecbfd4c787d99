"""Cost of the C++ recorder on the thread that records: formats × queue × bones, with the fifteen stages of a character."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from rigpact.reference_runtime import read_trace
from rigpact.reports.engine.codegen import headers_folder

SOURCE = Path(__file__).with_name("recorder_cost.cpp")
HEAP = Path(__file__).parents[2] / "cpp_room"
"""Where counting_heap.hpp lies."""
FRAMES, BONES, QUEUES, ENDINGS = 500, (23, 46, 92), (0, 64), (".trace.bin", ".trace.jsonl")
LARGEST_US = 60.0
"""Of a frame of 46 bones on the caller's thread: 0.4 % of a frame at 60 per second, so a recording may stay on in a play test."""
HEAD = (
    "| format | queue | bones | kB a frame | median µs | 95 % below | allocations |",
    "|---|---|---|---|---|---|---|",
)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The recorder with the optimisation of a shipping build."""
    if shutil.which("g++") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no g++")
    out = tmp_path_factory.mktemp("recorder") / "recorder_cost"
    words = ["g++", "-std=c++17", "-O2", "-pthread", f"-I{headers_folder()}", f"-I{HEAP}", str(SOURCE), "-o", str(out)]
    subprocess.run(words, check=True, timeout=300)
    return out


def cost(program, path, queue, bones):
    """Microseconds of every frame after the first; allocations in them; frames dropped."""
    words = [program, path, queue, bones, FRAMES]
    done = subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True, timeout=120)
    first, *took = done.stdout.splitlines()
    allocations, dropped = map(int, first.split())
    assert len(read_trace(path).frame) == FRAMES - dropped
    return np.array(took, float), allocations, dropped


def test_a_recorded_frame_costs_its_thread_little(program, tmp_path, benchmark):
    """A recorder that moves the frame rate is switched off, and then the defect comes back. Nothing may be allocated."""
    rows, typical = [], {}
    for ending in ENDINGS:
        for queue in QUEUES:
            for bones in BONES:
                path = tmp_path / f"{queue}-{bones}{ending}"
                took, allocations, dropped = cost(program, path, queue, bones)
                size = path.stat().st_size / (FRAMES - dropped) / 1024
                path.unlink()
                middle, late = np.percentile(took, [50, 95])
                typical[ending, queue, bones] = middle
                rows.append(
                    f"| `{ending}` | {queue} | {bones} | {size:.0f} | {middle:.0f} | {late:.0f} | {allocations} |"
                )
                assert (allocations, dropped) == (0, 0)
    print("\n".join(["", *HEAD, *rows]))  # noqa: T201
    benchmark.extra_info |= {" ".join(map(str, key)): value for key, value in typical.items()}
    benchmark.pedantic(cost, (program, tmp_path / "again.trace.bin", 0, 46), rounds=1)
    assert max(typical[".trace.bin", queue, 46] for queue in QUEUES) <= LARGEST_US
    assert typical[".trace.jsonl", 64, 46] <= LARGEST_US
