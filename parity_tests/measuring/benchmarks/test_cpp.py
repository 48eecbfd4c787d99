"""Cost of the generated C++ loop and the Python loop in one run, without the network: both replay recorded outputs."""

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
from rigpact.reports.engine.header import contract_header

STEPS = 150
MAIN = """
#include <chrono>
#include <cstdio>
#include "contract.hpp"
using namespace rigpact_contract;
int main() {
    static State s;
    rigpact::copy(kConformance.x_raw, s.x_raw);
    double fastest = 1.0;
    for (int round = 0; round < 20; ++round) {
        const auto start = std::chrono::steady_clock::now();
        for (int frame = 0; frame < 200; ++frame) {
            const int row = frame % (kConformance.frame + 1);
            rigpact::copy(kConformance.cond_raw + row * kConditionWidth, s.cond_raw);
            rigpact::copy(kConformance.contacts + row * kContactsWidth, s.contacts);
            const float* answer = kConformance.y_norm + row * kOutputWidth;
            step(s, [&](networks::motion, State& asked) { rigpact::copy(answer, asked.y_norm); });
        }
        const double each = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 200;
        if (each < fastest) fastest = each;
    }
    std::printf("%.9g", fastest);
}
"""


def cpp_step_s(contract, folder):
    """With the options that docs/cpp.md recommends, for any x86-64 or Arm."""
    if shutil.which("g++") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no g++")
    (folder / "contract.hpp").write_text(contract_header(contract, with_loop=True), encoding="utf-8")
    (folder / "main.cpp").write_text(MAIN, encoding="utf-8")
    fast = ("-O3", "-fno-math-errno", "-fno-trapping-math")
    words = ["g++", "-std=c++17", *fast, f"-I{headers_folder()}", str(folder / "main.cpp"), "-o", str(folder / "steps")]
    subprocess.run(words, check=True, timeout=300)
    done = subprocess.run([str(folder / "steps")], check=True, capture_output=True, text=True, timeout=300)
    return float(done.stdout)


def python_step_s(contract, clip, outputs):
    loop = open_run(contract, ReplayNetwork(outputs), clip, "free", engine="numpy")
    start = time.perf_counter()
    for _ in range(STEPS):
        loop.step()
    return (time.perf_counter() - start) / STEPS


@pytest.mark.parametrize("math", ["f64", "f32"])
def test_a_cpp_step_of_46_bones_against_a_python_step(demo_bundle, benchmark, tmp_path, math):
    """An engine has less than a millisecond for a character, so the C++ step must be far faster than the reference."""
    files = demo_bundle / "norm_template.json", demo_bundle / "pretrain_template.json"
    contract, clip = load_contract(*files, changes={"math": math}), read_clip(demo_bundle / "clips" / "Walk_Spin.json")
    outputs = np.random.default_rng(1).normal(0, 1, (STEPS, contract.numbers.output.width)).astype(np.float32)
    python = min(python_step_s(contract, clip, outputs) for _ in range(3))
    fastest = benchmark.pedantic(cpp_step_s, (contract, Path(tmp_path)), rounds=1)
    benchmark.extra_info |= {"cpp_step_us": fastest * 1e6, "python_step_us": python * 1e6, "ratio": python / fastest}
    print(f"{math}: C++ {fastest * 1e6:.1f} us, Python {python * 1e6:.0f} us a step, ratio {python / fastest:.0f}")  # noqa: T201
    assert python / fastest > 3.0
