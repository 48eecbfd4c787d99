"""`rigpact nan` as its users meet it."""

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.fixtures.motion.skeleton import demo_skeleton
from rigpact.reference_runtime.recordings.trace import read_trace, write_trace
from rigpact.reports.command_line import run_command_line

from .conftest import Command

Damage = Callable[..., Path]
BONE_5 = demo_skeleton().names[5]


def test_a_sound_run_is_finite_and_says_so(nan_command: Command) -> None:
    """A good build must give no alarm."""
    answer = nan_command("--frames", 60, "--format", "json")
    assert answer.status == 0
    document = answer.document
    assert (document["format"], document["version"], document["verdict"]) == ("rigpact-nonfinite", 1, "finite")
    assert document["origin"] is None


@pytest.mark.parametrize("key", ["MuX", "StdX", "MuY", "StdY"])
def test_a_length_that_disagrees_with_the_layout_is_found_by_name(
    nan_command: Command, damaged_bundle: Damage, key: str
) -> None:
    """The contract document's first hint for a NaN in free-run: look at the lengths of MuX and StdX."""
    answer = nan_command("--format", "json", bundle=damaged_bundle(key))
    origin = answer.document["origin"]
    assert (answer.status, origin["stage"], origin["slice"]) == (1, "load", key)
    assert answer.document["suspects"][0]["name"] == "statistic-length-differs"


def test_a_tanh_scale_that_disagrees_with_training_is_found_by_name(
    nan_command: Command, damaged_bundle: Damage
) -> None:
    """The document's second hint: the scale that the engine divides by is not the one that training used."""
    bundle = damaged_bundle("tanh_scales_angvel", 7, 123.0)
    answer = nan_command("--frames", 20, "--perturb", "state@3:0", "--format", "json", bundle=bundle)
    names = {finding["name"] for finding in answer.document["suspects"]}
    assert answer.status == 1
    assert "angvel-scale-clobbered-by-merge" in names
    changes = {guard["guard"]: guard["change"] for guard in answer.document["guards"]}
    assert changes["training-scales"].startswith("tanh_scales_angvel[7] = 123, training")


def test_a_forgotten_merge_is_offered_as_a_guard(demo_bundle: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The engine reads one file: statistics that stand in the other one are silently 1 and 0."""
    words = ["nan", demo_bundle / "clips" / "Sneak_Turn.json", "--contract", demo_bundle / "norm_template.json"]
    words += ["--onnx", demo_bundle / "model.onnx", "--frames", 9, "--perturb", "state@3:0", "--format", "json"]
    capfd.readouterr()
    assert run_command_line([str(word) for word in words]) == 1
    guards = {guard["guard"] for guard in json.loads(capfd.readouterr().out)["guards"]}
    assert "merged-statistics" in guards


def test_an_overflowing_mean_is_named_with_bone_operation_and_guard(
    nan_command: Command, damaged_bundle: Damage
) -> None:
    """One wrong number of 422 makes the mesh disappear; the report must name it."""
    answer = nan_command("--frames", 30, "--format", "json", bundle=damaged_bundle("MuX", 100, 1e39))
    origin, guard = answer.document["origin"], answer.document["guard"]
    assert (origin["frame"], origin["stage"], origin["channel"], origin["slice"]) == (
        0,
        "state",
        100,
        "BoneRotations6D",
    )
    assert origin["operands"]["MuX[100]"] == "Infinity"
    assert guard["guard"] == "finite-statistics"
    assert guard["change"].startswith("MuX[100] = inf")
    assert guard["survives_frames"] == 30


def test_the_command_that_is_printed_fails_alike(nan_command: Command, command: Any, damaged_bundle: Damage) -> None:
    """What is pasted into a bug must show the same place, in as few frames as there can be."""
    first = nan_command("--frames", 30, "--format", "json", bundle=damaged_bundle("MuX", 100, 1e39)).document
    again = shlex.split(first["command"])
    assert again[:2] == ["rigpact", "nan"]
    assert again[-2:] == ["--frames", str(first["origin"]["frame"] + 1)]

    answer = json.loads(command(*again[1:], "--format", "json").out)

    assert answer["origin"] == first["origin"]


def test_a_recorded_engine_run_is_looked_into(nan_command: Command, demo_bundle: Path, tmp_path: Path) -> None:
    """The NaN happened in the engine: only its trace is there."""
    run, model = tmp_path / "run.trace.jsonl", demo_bundle / "model.onnx"
    words = ["run", "--contract", demo_bundle / "norm_template.json"]
    words += ["--companion", demo_bundle / "pretrain_template.json"]
    words += ["--onnx", model, demo_bundle / "clips" / "Sneak_Turn.json", "--mode", "free", "--frames", "12"]
    assert run_command_line([str(word) for word in (*words, "-o", run)]) == 0
    trace = read_trace(run)
    stages = {name: rows.copy() for name, rows in trace.stages.items()}
    stages["delta6d"][7, 33] = np.nan
    for stage in ("next6d", "y_out", "quat", "x_raw_next"):
        stages[stage][7, 30] = np.nan
    for stage in ("x_raw", "state"):
        stages[stage][8:, 36] = np.nan
    damaged = tmp_path / "engine.trace.jsonl"
    write_trace(replace(trace, stages=stages), damaged)
    answer = nan_command(damaged, "--format", "json", network=False)
    origin = answer.document["origin"]
    assert answer.status == 1
    assert (origin["frame"], origin["stage"], origin["channel"], origin["bone"]) == (7, "delta6d", 33, BONE_5)
    assert [link["stage"] for link in answer.document["chain"]] == ["next6d", "y_out", "quat", "x_raw_next"]
    assert nan_command(run, network=False).status == 0


@pytest.mark.parametrize("words", [("--perturb", "gremlins"), ("--perturb", "state@x"), ("--perturb", "state@1=abc")])
def test_a_perturbation_that_is_none_is_refused_with_the_choices(nan_command: Command, words: tuple[str, ...]) -> None:
    """A misspelt fault that injects nothing would pass as 'survives'."""
    answer = nan_command(*words)
    assert (answer.status, "--perturb" in answer.err) == (2, True)


def test_neither_model_nor_recording_cannot_be_judged(nan_command: Command) -> None:
    """Without a run, the answer must not be a pass."""
    assert nan_command(network=False).status == 2
