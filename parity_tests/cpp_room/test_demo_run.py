"""A thousand frames of free-run on the demo model, C++ calling back into the same ONNX session, and its trace judged."""

import json

import numpy as np
import pytest

from rigpact.contract import load_contract
from rigpact.reference_runtime import OnnxNetwork, open_run, read_clip, read_trace, run_frames, write_trace
from rigpact.reference_runtime.graph.bounds import stage_tolerances
from rigpact.reports.command_line import run_command_line

from .cpp_side import excess

FRAMES = 1000
RECORDING = "engine/Sneak_Turn.trace.bin"
LARGEST_ANGLE_DEG = 1e-5
"""Of a published rotation at frame 1000, float64 maths: one unit in the last place of a quaternion is 3.4e-6 degrees."""


def angles_deg(quats, others):
    """Angle between xyzw quaternions (..., 4), by way of the sine: exact near zero."""
    a, b = (
        q / np.linalg.norm(q, axis=-1, keepdims=True) for q in (quats.astype(np.float64), others.astype(np.float64))
    )
    b = b * np.where(np.sum(a * b, axis=-1, keepdims=True) < 0, -1, 1)
    return np.degrees(4.0 * np.arcsin(np.clip(np.linalg.norm(a - b, axis=-1) / 2.0, 0, 1)))


@pytest.fixture(scope="module", params=["f64", "f32"])
def both(request, one_cpp, demo_bundle, tmp_path_factory):
    """(contract, Python trace, C++ answer, folder with both trace files); test_stage_parity.py has both compilers."""
    folder = tmp_path_factory.mktemp("demo_run")
    contract = load_contract(
        demo_bundle / "norm_template.json", demo_bundle / "pretrain_template.json", {"math": request.param}
    )
    clip = read_clip(demo_bundle / "clips" / "Walk_Spin.json")
    network = OnnxNetwork(demo_bundle / "model.onnx", contract)
    python = run_frames(open_run(contract, network, clip, "free", engine="numpy"), range(FRAMES), "Walk_Spin", "free")
    write_trace(python, folder / "python.trace.safetensors")
    answer = one_cpp.run(
        contract,
        clip,
        "free",
        FRAMES,
        network=lambda *vectors: network.run(vectors, 0),
        trace=folder / "cpp.trace.bin",
        queue_frames=16,
    )
    replay = answer.stages["y_norm"]
    one_cpp.run(contract, clip, "free", FRAMES, replay=replay, trace=folder / "cpp.trace.jsonl")
    return contract, python, answer, folder


def test_every_stage_stays_within_its_tolerance(both):
    """A stage that differs by more than rounding is a defect that the next thousand frames build on.

    float64: all frames. float32: the first one; from then on each side steps from its own rounding, see the growth below.
    """
    contract, python, answer, _ = both
    bounds = stage_tolerances(contract, python.stages)
    rows = slice(0, FRAMES if contract.conventions.math == "f64" else 1)
    for name, expected in python.stages.items():
        worst = excess(name, answer.stages[name][rows], expected[rows], bounds[name][rows])
        assert worst <= 0, f"{name}: {worst:g} above its tolerance"


def test_the_pose_of_frame_1000_is_the_same_rotation(both):
    """Two runtimes that drift apart cannot be compared beyond the first second."""
    contract, python, answer, _ = both
    angle = angles_deg(answer.stages["quat"].reshape(FRAMES, -1, 4), python.stages["quat"].reshape(FRAMES, -1, 4)).max(
        axis=1
    )
    print(f"{contract.conventions.math}: largest angle {angle.max():.2e} deg, at frame 1000 {angle[-1]:.2e} deg")  # noqa: T201
    if contract.conventions.math == "f64":
        assert angle[-1] <= LARGEST_ANGLE_DEG
    else:  # 1000 roundings of u = 2^-24 that only add up would be 1000 · 32 u = 0.11 degrees; the network pulls them together
        assert angle.max() <= np.degrees(FRAMES * 32 * 2.0**-24)


def test_both_files_that_cpp_wrote_hold_the_numbers_of_the_run(both):
    """A recorder that rounds, reorders or drops is worse than none."""
    _, _, answer, folder = both
    for name in ("cpp.trace.jsonl", "cpp.trace.bin"):
        trace = read_trace(folder / name)
        assert list(trace.stages) == list(answer.stages)
        assert trace.truncation is None
        for stage, rows in answer.stages.items():
            np.testing.assert_array_equal(trace.stages[stage], rows)


def test_the_command_line_diffs_and_explains_the_cpp_trace(both, demo_bundle, capfd):
    """An engine team has the file and the command, nothing else."""
    contract, _, _, folder = both
    bundle, math = demo_bundle / "norm_template.json", f"math={contract.conventions.math}"
    if contract.conventions.math == "f64":
        words = ["diff", folder / "python.trace.safetensors", folder / "cpp.trace.bin", "--contract", bundle]
        assert run_command_line([*map(str, words), "--set", math]) == 0, capfd.readouterr()
    recorded = folder / "cpp.trace.jsonl"
    if (
        contract.conventions.math == "f32"
    ):  # the same answer sooner: the first 200 frames, as a copy that stopped leaves them
        lines = recorded.read_bytes().splitlines(keepends=True)
        recorded = folder / "short.trace.jsonl"
        recorded.write_bytes(b"".join(lines[:201]))
    words = ["explain", recorded, "--contract", bundle, "--onnx", demo_bundle / "model.onnx"]
    words += ["--clip", demo_bundle / "clips" / "Walk_Spin.json", "--format", "json"]
    capfd.readouterr()
    status = run_command_line(list(map(str, words)))
    answer = json.loads(capfd.readouterr().out)
    assert (status, answer["verdict"]) == (0, "agrees"), answer["stages"]


def test_the_demos_recording_is_what_the_cpp_loop_computes(one_cpp, demo_bundle):
    """`rigpact demo --into` calls it the recording of an engine without a defect: an engine has to give these numbers."""
    contract = load_contract(demo_bundle / "norm_template.json", demo_bundle / "pretrain_template.json")
    clip, recorded = read_clip(demo_bundle / "clips" / "Sneak_Turn.json"), read_trace(demo_bundle / RECORDING)
    network = OnnxNetwork(demo_bundle / "model.onnx", contract)
    answer = one_cpp.run(
        contract, clip, "teacher", len(recorded.frame), network=lambda *vectors: network.run(vectors, 0)
    )
    bounds = stage_tolerances(contract, answer.stages)
    assert (len(recorded.frame), list(recorded.stages)) == (clip.frame_count - 1, ["x_raw", "y_norm", "y_out"])
    for name, rows in recorded.stages.items():
        assert excess(name, rows, answer.stages[name], bounds[name]) <= 0, name
