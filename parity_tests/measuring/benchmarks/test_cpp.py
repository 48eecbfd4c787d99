"""Cost of the C++ loop and the Python loop in one run, without the network: both replay recorded outputs."""

import ctypes
import os
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from rigpact.contract import load_contract
from rigpact.reference_runtime import ReplayNetwork, open_run, read_clip
from rigpact.reports.engine.codegen import headers_folder

ROOM = Path(__file__).resolve().parents[2] / "cpp_room"
STEPS = {"python": 150, "cpp": 2000}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The C++ loop with the options that docs/cpp.md recommends, for any x86-64 or Arm."""
    if shutil.which("g++") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no g++")
    out = tmp_path_factory.mktemp("bench") / "parity_abi.so"
    fast = ("-O3", "-fno-math-errno", "-fno-trapping-math")
    words = ["g++", "-std=c++17", *fast, "-shared", "-fPIC", "-pthread", f"-I{headers_folder()}"]
    subprocess.run([*words, str(ROOM / "parity_abi.cpp"), "-o", str(out)], check=True, timeout=300)
    return out


@pytest.fixture(scope="module")
def character(demo_bundle):
    """46 bones, and as many outputs as a run has steps."""
    contract = load_contract(demo_bundle / "norm_template.json")
    outputs = (
        np.random.default_rng(1).normal(0, 1, (max(STEPS.values()), contract.numbers.output.width)).astype(np.float32)
    )
    return contract, read_clip(demo_bundle / "clips" / "Walk_Spin.json"), outputs


def python_step_s(contract, clip, outputs):
    loop = open_run(contract, ReplayNetwork(outputs), clip, "free", engine="numpy")
    start = time.perf_counter()
    for _ in range(STEPS["python"]):
        loop.step()
    return (time.perf_counter() - start) / STEPS["python"]


@pytest.mark.parametrize("math", ["f64", "f32"])
def test_a_cpp_step_of_46_bones_against_a_python_step(library, character, benchmark, math):
    """An engine has less than a millisecond for a character, so the C++ step must be far faster than the reference."""
    from ...cpp_room.cpp_side import CppLoop

    contract, clip, outputs = character
    contract = contract.with_conventions({"math": math})
    cpp, steps = CppLoop(library), STEPS["cpp"]

    def step_s():
        return cpp.run(contract, clip, "free", steps, replay=outputs, keep=False).seconds / steps

    python = min(python_step_s(contract, clip, outputs) for _ in range(3))
    fastest = min(step_s() for _ in range(5))
    benchmark.pedantic(step_s, rounds=3)
    benchmark.extra_info |= {"cpp_step_us": fastest * 1e6, "python_step_us": python * 1e6, "ratio": python / fastest}
    print(f"{math}: C++ {fastest * 1e6:.1f} us, Python {python * 1e6:.0f} us a step, ratio {python / fastest:.0f}")  # noqa: T201
    assert python / fastest > 3.0
    assert isinstance(cpp.library, ctypes.CDLL)
