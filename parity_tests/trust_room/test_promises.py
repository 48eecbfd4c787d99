"""Wrong arguments, and promises that cannot be kept"""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.bundle import load_contract
from rigpact.reference_runtime import OnnxNetwork, open_run, read_clip, read_trace, write_trace
from rigpact.reference_runtime.files.declared import Subject
from rigpact.reference_runtime.files.run import run_frames
from rigpact.reference_runtime.network import read_replay
from rigpact.reports.nonfinite.investigation import investigate

from .failing_models import tail, write_edited
from .tried import passes, refused


@pytest.fixture
def nan(command: Any, demo_bundle: Path) -> Any:
    """`rigpact nan` on the demo."""
    files = ("--companion", demo_bundle / "pretrain_template.json", "--onnx", demo_bundle / "model.onnx", "--contract")
    return lambda *words, bundle="norm_template.json": command("nan", *files, demo_bundle / bundle, *words)


def on(demo: Path, clip: str = "Sneak_Turn") -> tuple[Path]:
    return (demo / "clips" / f"{clip}.json",)


WRONG = (
    ("--mode", "teacher", "--perturb", "state@2=nan"),
    ("--mode", "teacher", "--floor-contacts"),
    ("--mode", "teacher", "--drift"),
    ("--perturb", "seed-1ulp", "--floor-contacts"),
    ("--perturb", "seed-1ulp", "--drift"),
    ("--perturb", "state@700"),  # the run has 600 frames
    ("--frames", "9", "--perturb", "ring-slot@9"),
    ("--frames", "9", "--perturb", "state@3:99999"),  # no such channel
    ("--frames", "9", "--perturb", "no-std-floor@3"),  # it holds from the first frame on
    ("run.trace.jsonl", "--frames", "9"),
    ("run.trace.jsonl", "--perturb", "state@2=nan"),
)


def trace_of_the_demo(demo: Path, out: Path) -> None:
    """A few frames that are finite: looked into without the other options, they are FINITE."""
    contract = load_contract(demo / "norm_template.json", demo / "pretrain_template.json")
    runner = open_run(
        contract, OnnxNetwork(demo / "model.onnx", contract), read_clip(on(demo)[0]), "free", engine="numpy"
    )
    write_trace(run_frames(runner, range(5), "Sneak_Turn", "free"), out)


@refused("`nan` with arguments of which one cannot be followed: 12 combinations", "exit 2, one line")
@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_arguments_that_cannot_be_followed_are_no_verdict(
    nan: Any, demo_bundle: Path, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault that was never injected, or an option that nobody read, would count as survived."""
    monkeypatch.chdir(tmp_path)
    with_model = on(demo_bundle)
    if "run.trace.jsonl" in words:
        with_model = ()
        trace_of_the_demo(demo_bundle, Path("run.trace.jsonl"))
    answer = nan(*with_model, *words)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.count("\n") == 1


@refused("wrong arguments, and a bundle that the engine refuses", "exit 2: the arguments come first")
def test_a_broken_bundle_does_not_answer_for_the_arguments(command: Any, demo_bundle: Path, tmp_path: Path) -> None:
    """NONFINITE for a question that was not understood sends people after a NaN that is not there."""
    document = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))
    document["MuX"].pop()
    (tmp_path / "bundle.json").write_text(json.dumps(document), encoding="utf-8")
    answer = command(
        "nan", "--contract", tmp_path / "bundle.json", "--mode", "teacher", "--perturb", "state@2=nan", *on(demo_bundle)
    )
    assert (answer.status, answer.out) == (2, "")


@refused("`nan --frames 300` on a clip or a recording that holds fewer", "exit 2: how many there are")
def test_a_number_of_frames_that_is_not_there_is_refused(nan: Any, demo_bundle: Path) -> None:
    """FINITE after a tenth of the frames that were asked for is read as FINITE after all of them."""
    answer = nan(*on(demo_bundle), "--mode", "teacher", "--frames", 300)
    assert (answer.status, "--frames" in answer.err, "at most 32" in answer.err) == (2, True, True)


@passes("`nan` without a number of frames on a short clip", "finite; a note says how many frames there were")
def test_all_that_is_there_is_run_and_said(nan: Any, demo_bundle: Path) -> None:
    """A clip of 32 frames needs no number, and the answer must say what it rests on."""
    answer = nan(*on(demo_bundle), "--mode", "teacher")
    assert (answer.status, "32 frames: the clip or the recorded answers have no more" in answer.out) == (0, True)


@refused("a free run that is 9·10⁵ deviations from its seed in frame 1, every number finite", "DIVERGING, exit 1")
def test_a_state_far_from_its_seed_diverges(real_data: Path) -> None:
    """The mean pose read as a step turns each limb a hundred degrees a frame, and nothing is ever infinite."""
    contract = load_contract(real_data / "norm_template.json", real_data / "pretrain_template.json")
    network, clip = read_replay(real_data / "Walk_F_network_output.json"), read_clip(real_data / "Walk_F.json")
    found = investigate(Subject(contract, network, clip), 87, guard_frames=0)
    assert (found.verdict, found.exit_code) == ("diverging", 1)
    assert found.left is not None
    assert (found.left.kind, found.left.frame, found.left.size > 1e5) == ("departed", 1, True)
    residual = contract.with_conventions({"output_mode": "residual"})
    stays = investigate(Subject(residual, network, clip), 87, guard_frames=0)  # on answers to inputs that it never has
    assert (stays.verdict, stays.left) == ("undetermined", None)


@refused("a state of 1.6·10³⁶ deviations", "DIVERGING, exit 1, also in a run that the clip drives")
@pytest.mark.parametrize("mode", ["free", "teacher"])
def test_a_state_without_meaning_is_not_finite_enough(
    command: Any, demo_bundle: Path, tmp_path: Path, mode: str
) -> None:
    """float32 numbers of that size are 10²⁹ deviations apart: the network is fed one number for every pose."""
    document = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))
    document["MuX"][0], document["StdX"][0] = 1.6e30, 1e-6
    (tmp_path / "bundle.json").write_text(json.dumps(document), encoding="utf-8")
    words = ("--frames", "20", "--format", "json", *(("--mode", "teacher") if mode == "teacher" else ()))
    files = ("--companion", demo_bundle / "pretrain_template.json", "--onnx", demo_bundle / "model.onnx")
    answer = command("nan", "--contract", tmp_path / "bundle.json", *files, *on(demo_bundle), *words)
    document = json.loads(answer.out)
    assert (answer.status, document["verdict"]) == (1, "diverging")
    assert (document["left"]["kind"], document["left"]["stage"]) == ("absurd", "state")


@passes("free runs of the demo and of every other system that feeds itself, 600 frames each", "finite")
def test_an_ordinary_free_run_is_finite(command: Any, demo_bundle: Path) -> None:
    """An alarm on a run that only drifts is switched off, and then the real one is missed."""
    for clip in sorted((demo_bundle / "clips").glob("*.json")):
        files = ("--companion", demo_bundle / "pretrain_template.json", "--onnx", demo_bundle / "model.onnx")
        assert command("nan", "--contract", demo_bundle / "norm_template.json", *files, clip).status == 0
    for name in ("neurarig", "rig_inversion"):
        folder = demo_bundle.parent / name
        files = ("--onnx", folder / "model.onnx", folder / "clip.trace.safetensors")
        assert command("nan", "--contract", folder / f"{name}.json", *files).status == 0


@refused(
    "a recorded run with an answer of 1e27, looked into; the drift of a model that gives such answers",
    "DIVERGING, exit 1",
)
def test_every_way_to_look_at_a_run_sees_it(nan: Any, command: Any, demo_bundle: Path, tmp_path: Path) -> None:
    """A recording that is judged more mildly than the run it recorded is the one that people send."""
    recorded = tmp_path / "run.trace.jsonl"
    trace_of_the_demo(demo_bundle, recorded)
    assert nan(recorded).status == 0
    trace = read_trace(recorded)
    far = {**trace.stages, "y_norm": trace.stages["y_norm"] * np.float32(1e27)}
    write_trace(replace(trace, stages=far), recorded)
    looked = nan(recorded)
    shutil.copyfile(demo_bundle / "model.onnx", tmp_path / "model.onnx")
    model = write_edited(tmp_path, tail(("Mul", "answer huge", "z"), huge=np.float32(1e27)))
    files = ("--companion", demo_bundle / "pretrain_template.json", "--onnx", model)
    drift = command(
        "nan", "--contract", demo_bundle / "norm_template.json", *files, *on(demo_bundle), "--drift", "--frames", 20
    )
    for answer in (looked, drift):
        assert answer.status == 1
        assert "DIVERGING" in answer.out
        assert "y_norm is" in answer.out
