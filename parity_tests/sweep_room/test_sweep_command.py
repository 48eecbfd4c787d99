"""`rigpact sweep` as people and CI use it: exit status, table, machine-readable answer, refusals."""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rigpact.reports.sweep import measure
from rigpact.reports.sweep.sweep import COLUMNS, read_results

Command = Callable[..., Any]
Words = tuple[object, ...]
HERE = ("--processes", 1, "--frames", 6)


@pytest.fixture
def words(demo_bundle: Path, tmp_path: Path) -> Words:
    """The demo's clips, one model, an output folder."""
    return (demo_bundle / "clips", "--onnx", demo_bundle / "model.onnx", "--out", tmp_path / "out", *HERE)


def test_a_sweep_passes_and_a_second_one_measures_nothing(sweep_command: Command, words: Words) -> None:
    """The last line of a nightly log must show what was measured."""
    first, second = sweep_command(*words), sweep_command(*words)
    assert (first.status, second.status, first.err) == (0, 0, "")
    assert ("6 of 6 measured now" in first.out, "0 of 6 measured now" in second.out) == (True, True)


def test_the_best_checkpoint_is_the_one_that_was_trained(
    sweep_command: Command, words: Words, checkpoint: Callable[..., Path], tmp_path: Path
) -> None:
    """Weights doubled or tripled are worse; a table that ranks them otherwise picks the wrong build."""
    others = [word for factor in (2, 3) for word in ("--onnx", checkpoint(f"times_{factor}", factor))]
    document = json.loads(sweep_command(*words, *others, "--mode", "teacher", "--format", "json").out)
    assert {Path(row["model"]).name for row in document["best"]} == {"model.onnx"}
    assert {Path(row["model"]).name for row in document["worst"][:3]} == {"times_3.onnx"}
    assert (document["cells"], document["measured"], document["verdict"]) == (9, 9, "pass")
    for row in read_results(tmp_path / "out"):
        assert list(row) == list(COLUMNS)
        assert len(row["model_sha256"]) == len(row["clip_sha256"]) == len(row["bundle_sha256"]) == 64


def test_a_broken_clip_fails_the_sweep_and_nothing_else(
    sweep_command: Command, words: Words, clip_copy: Callable[..., Path], tmp_path: Path
) -> None:
    """One interrupted export among ten thousand is named; a farm without its files must not turn the night green."""
    broken = clip_copy("broken.json", size=4000)
    answer = sweep_command(*words, broken)
    rows = read_results(tmp_path / "out")
    assert (answer.status, len(rows), "broken.json" in answer.out) == (1, 8, True)
    assert [row["error_kind"] for row in rows].count("unusable") == 2
    nothing = sweep_command(broken, *words[1:4], tmp_path / "none", *HERE)
    assert (nothing.status, "UNDETERMINED" in nothing.out) == (2, True)


def test_values_that_are_not_finite_fail(sweep_command: Command, words: Words, checkpoint: Callable[..., Path]) -> None:
    """A checkpoint whose character vanishes must not ship."""
    answer = sweep_command(*words, "--onnx", checkpoint("broken", float("nan")), "--format", "json")
    document = json.loads(answer.out)
    assert (answer.status, document["verdicts"]["nonfinite"], document["verdict"]) == (1, 6, "fail")


def test_a_run_that_copying_beats_fails_only_when_strict(sweep_command: Command, words: Words) -> None:
    """An early network's free run is often worse than standing still: this is reported, but fails only with strict."""
    long = (*words[:-2], "--mode", "free")
    strict = sweep_command(*long, "--strict")
    assert (sweep_command(*long).status, strict.status, "copy_last_is_better" in strict.out) == (0, 1, True)


def _fails(*_: object) -> None:
    raise OSError


def test_errors_are_measured_again_when_asked_for(sweep_command: Command, words: Words) -> None:
    """Our own bug must not look like the checkpoint's; after the disk is mounted again only the failed cells are run."""
    with pytest.MonkeyPatch.context() as broken:
        broken.setattr(measure, "_clip", _fails)
        assert sweep_command(*words).status == 3
    assert "0 of 6 measured now" in sweep_command(*words).out
    answer = sweep_command(*words, "--retry-errors")
    assert (answer.status, "6 of 6 measured now" in answer.out) == (0, True)


@pytest.mark.parametrize(
    ("more", "said"),
    [(("--set", "mirror=w"), "mirror"), (("nowhere",), "nowhere")],
)
def test_bad_words_are_one_clear_line(sweep_command: Command, words: Words, more: tuple[str, ...], said: str) -> None:
    """Status 2 and the place, before a minute is spent."""
    answer = sweep_command(*words, *more)
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert answer.err.startswith(f"rigpact: error: {said}: found ")


def test_without_its_library_the_extra_is_named(
    sweep_command: Command, words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any measurement, not at the end of the sweep."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "pyarrow" else find(name, *rest)
    )
    answer = sweep_command(*words[:5])
    assert (answer.status, "rigpact[sweep]" in answer.err) == (2, True)


def test_several_processes_from_a_real_command_line(words: Words, demo_bundle: Path) -> None:
    """Processes import the main module again: unguarded, each would start a sweep of its own."""
    files = ("--contract", demo_bundle / "norm_template.json", "--companion", demo_bundle / "pretrain_template.json")
    chosen = [
        str(word) for word in ("-m", "rigpact.reports", "sweep", *files, *words[:5], "--processes", 2, "--frames", 6)
    ]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, *chosen], check=False, capture_output=True, text=True, timeout=120, env=environment
    )
    assert (done.returncode, done.stderr, done.stdout.count("6 of 6 measured now")) == (0, "", 1)


def test_a_clip_that_cannot_drive_a_run_is_said(command: Command, checkout: Path, tmp_path: Path) -> None:
    """A recording without what is carried from frame to frame cannot drive one: that is not a defect of rigpact."""
    robot = checkout / "fixtures/bundles/robot"
    said = ("--contract", robot / "contract.toml", robot / "run.csv", "--onnx", robot, "--out", tmp_path, *HERE)
    assert command("sweep", *said).status == 1
    rows = {row["mode"]: row for row in read_results(tmp_path)}
    assert "run.csv: found nothing that motor_targets can be computed from" in rows["teacher"]["error"]
    assert rows["free"]["verdict"] == "pass"
