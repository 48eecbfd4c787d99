"""Clips of z-scores, and causes that `explain` names

A teacher file holds z-scores. Each side undoes them: z times the deviation plus the mean, in its own arithmetic.
"""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract import load_contract
from rigpact.reference_runtime import OnnxNetwork, Trace, open_run, read_clip, run_frames, write_trace

from ..scene import generated_scene
from .tried import passes, refused, tries

FRAMES = 16
Files = tuple[Path, Path, Path, Path]


@pytest.fixture
def files(demo_bundle: Path) -> Files:
    """Bundle, companion, teacher file and model."""
    names = "norm_template.json", "pretrain_template.json", "teacher_batches/Sneak_Turn_teacher.json", "model.onnx"
    bundle, companion, clip, model = (demo_bundle / name for name in names)
    return bundle, companion, clip, model


def engine(files: Files) -> Trace:
    """What an engine with float32 arithmetic records, driven by the teacher file."""
    contract = load_contract(*files[:2]).with_conventions({"math": "f32"})
    runner = open_run(contract, OnnxNetwork(files[3], contract), read_clip(files[2]), "teacher")
    return run_frames(runner, range(FRAMES), "Sneak_Turn", "teacher")


def explained(command: Any, files: Files, path: Path) -> Any:
    """`rigpact explain` with the teacher file as the clip."""
    bundle, companion, clip, model = files
    return command("explain", path, "--contract", bundle, "--companion", companion, "--clip", clip, "--onnx", model)


@passes("an engine that undoes a teacher file's z-scores in float32")
@pytest.mark.sampled(3)
@pytest.mark.parametrize("left_out", [(), ("x_raw",), ("x_raw", "state")], ids=["all", "no x_raw", "no state"])
def test_undoing_a_z_score_is_a_rounding(command, tmp_path, files, left_out):
    """One rounding of the mean is many roundings of a state near zero: each side is right."""
    trace = engine(files)
    kept = {name: rows for name, rows in trace.stages.items() if name not in left_out}
    path = tmp_path / "engine.trace.safetensors"
    write_trace(replace(trace, stages=kept), path)
    answer = explained(command, files, path)
    assert answer.status == 0, answer.out


@refused("means that are off by a thousandth of their deviations", "DIFFERS in x_raw")
@pytest.mark.usefixtures("no_search")
def test_a_wrong_mean_is_seen(command, tmp_path, files):
    """The wider tolerance must not hide statistics of another training."""
    trace, contract = engine(files), load_contract(*files[:2])
    wrong = trace.stages["x_raw"] + np.float32(1e-3) * contract.numbers.state_statistics.std_floored
    path = tmp_path / "engine.trace.safetensors"
    write_trace(replace(trace, stages={**trace.stages, "x_raw": wrong.astype(np.float32)}), path)
    answer = explained(command, files, path)
    assert answer.status == 1
    row = next(line for line in answer.out.splitlines() if line.startswith("x_raw "))
    assert "DIFFERS" in row


@tries(
    [
        ("refused", "A residual of a named cause far beyond the bound of its channel", "the ratio is printed, and at most 1"),
        ("refused", "A recording of three stages of which one can be judged, and a convention explains that one",
         "`(1 of 3 recorded stages judged)`, exit 1"),
    ]
)  # fmt: skip
def test_a_cause_is_printed_with_its_ratio_and_what_it_rests_on(command, demo_bundle, tmp_path):
    """'explains every stage' was printed for one stage, beside the error of one channel and the tolerance of another."""
    recorded = generated_scene("sneak_turn", frames=24).record({"pose_history_start": "first_target"})
    stages = {name: recorded.stages[name] for name in ("state", "pose_hist", "y_out")}
    write_trace(replace(recorded, stages=stages), tmp_path / "run.trace.safetensors")
    files = ("--contract", demo_bundle / "norm_template.json", "--companion", demo_bundle / "pretrain_template.json")
    printed = command("explain", tmp_path / "run.trace.safetensors", *files)
    document = json.loads(command("explain", tmp_path / "run.trace.safetensors", *files, "--format", "json").out)
    assert (printed.status, document["verdict"]) == (1, "explained")
    assert [stage["stage"] for stage in document["stages"] if stage["ok"] is not None] == ["pose_hist"]
    (cause,) = document["causes"]
    assert cause["ratio"] == pytest.approx(cause["channel_error"] / cause["tolerance"] if cause["channel_error"] else 0)
    assert cause["ratio"] <= 1.0
    said = " ".join(printed.out.split())
    assert re.search(r"everywhere within rounding \(ratio [\d.e-]+\)", said)
    assert "EXPLAINED: pose_history_start = first_target (1 of 3 recorded stages judged)" in said
