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

from rigpact.reports.command_line import run_command_line
from rigpact.reports.sweep import measure
from rigpact.reports.sweep.results import COLUMNS, read_results

Command = Callable[..., Any]
HERE = ("--processes", 1, "--frames", 12)


@pytest.fixture
def words(demo_bundle: Path, tmp_path: Path) -> tuple[object, ...]:
    """The demo's clips, one model, an output folder."""
    clips, model = demo_bundle / "clips", demo_bundle / "model.onnx"
    return (clips, "--onnx", model, "--out", tmp_path / "out", *HERE)


def test_a_sweep_passes_and_a_second_one_measures_nothing(sweep_command: Command, words: tuple[object, ...]) -> None:
    """The last line of a nightly log must show what was measured."""
    first, second = sweep_command(*words), sweep_command(*words)
    assert (first.status, second.status) == (0, 0)
    assert "6 of 6 measured now" in first.out
    assert "0 of 6 measured now" in second.out
    assert first.err == ""


def test_the_best_checkpoint_is_the_one_that_was_trained(
    sweep_command: Command, words: tuple[object, ...], checkpoint: Callable[..., Path], tmp_path: Path
) -> None:
    """Weights doubled or tripled are worse; a table that ranks them otherwise picks the wrong build."""
    others = [word for factor in (2, 3) for word in ("--onnx", checkpoint(f"times_{factor}", factor))]
    answer = sweep_command(*words, *others, "--mode", "teacher", "--format", "json")
    document = json.loads(answer.out)
    assert {Path(row["model"]).name for row in document["best"]} == {"model.onnx"}
    assert {Path(row["model"]).name for row in document["worst"][:3]} == {"times_3.onnx"}
    assert (document["cells"], document["measured"], document["verdict"]) == (9, 9, "pass")
    for row in read_results(tmp_path / "out"):
        assert list(row) == list(COLUMNS)
        assert len(row["model_sha256"]) == len(row["clip_sha256"]) == len(row["bundle_sha256"]) == 64


def test_a_broken_clip_fails_the_sweep_and_nothing_else(
    sweep_command: Command, words: tuple[object, ...], clip_copy: Callable[..., Path], tmp_path: Path
) -> None:
    """One interrupted export among ten thousand is named; the others have their rows."""
    answer = sweep_command(*words, clip_copy("broken.json", size=4000))
    assert answer.status == 1
    rows = read_results(tmp_path / "out")
    assert [row["error_kind"] for row in rows].count("unusable") == 2
    assert len(rows) == 8
    assert "broken.json" in answer.out


def test_nothing_judged_is_not_a_pass(
    sweep_command: Command, words: tuple[object, ...], clip_copy: Callable[..., Path], demo_bundle: Path, tmp_path: Path
) -> None:
    """A farm without its files must not turn the night green."""
    broken, model = clip_copy("broken.json", size=4000), demo_bundle / "model.onnx"
    answer = sweep_command(broken, "--onnx", model, "--out", tmp_path / "out", *HERE)
    assert answer.status == 2
    assert "UNDETERMINED" in answer.out


def test_values_that_are_not_finite_fail(
    sweep_command: Command, words: tuple[object, ...], checkpoint: Callable[..., Path]
) -> None:
    """A checkpoint whose character vanishes must not ship."""
    answer = sweep_command(*words, "--onnx", checkpoint("broken", float("nan")), "--format", "json")
    document = json.loads(answer.out)
    assert (answer.status, document["verdicts"]["nonfinite"], document["verdict"]) == (1, 6, "fail")


def test_a_run_that_copying_beats_fails_only_when_strict(sweep_command: Command, words: tuple[object, ...]) -> None:
    """An early network's free run is often worse than standing still: this is reported, but fails only with strict."""
    long = [word for word in words if word not in ("--frames", 12)]
    assert sweep_command(*long, "--mode", "free").status == 0
    strict = sweep_command(*long, "--mode", "free", "--strict")
    assert (strict.status, "copy_last_is_better" in strict.out) == (1, True)


def test_a_defect_of_rigpact_is_status_3(
    sweep_command: Command, words: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our own bug must not look like the checkpoint's."""

    def fails(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(measure, "pose_errors", fails)
    assert sweep_command(*words).status == 3


def test_errors_are_measured_again_when_asked_for(
    sweep_command: Command, words: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the disk is mounted again only the failed cells are run."""

    def fails(*_: object) -> None:
        raise OSError

    with monkeypatch.context() as broken:
        broken.setattr(measure, "_clip", fails)
        assert sweep_command(*words).status == 3
    assert "0 of 6 measured now" in sweep_command(*words).out
    answer = sweep_command(*words, "--retry-errors")
    assert (answer.status, "6 of 6 measured now" in answer.out) == (0, True)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--scheduler", "tcp://127.0.0.1:9"), "--processes and --scheduler"),
        (("--set", "mirror=w"), "mirror"),
        (("nowhere",), "nowhere"),
    ],
)
def test_bad_words_are_one_clear_line(
    sweep_command: Command, words: tuple[object, ...], more: tuple[str, ...], said: str
) -> None:
    """Status 2 and the place, before a minute is spent."""
    answer = sweep_command(*words, *more)
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert answer.err.startswith(f"rigpact: error: {said}: found ")


def test_without_pyarrow_there_is_one_clear_error(
    sweep_command: Command, words: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error must name the extra before any measurement, not at the end of the sweep."""
    original = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "pyarrow" else original(name, *rest)
    )
    answer = sweep_command(*words)
    assert answer.status == 2
    assert "rigpact[sweep]" in answer.err


def test_several_processes_from_a_real_command_line(words: tuple[object, ...], tmp_path: Path) -> None:
    """Processes import the main module again: unguarded, each would start a sweep of its own."""
    chosen = ["2" if word == 1 else str(word) for word in words]
    demo = Path(chosen[0]).parent
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-m", "rigpact.reports", "sweep", "--contract", str(demo / "norm_template.json"), "--companion",
         str(demo / "pretrain_template.json"), *chosen],
        check=False, capture_output=True, text=True, timeout=120, env=environment,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("6 of 6 measured now") == 1


def test_without_dask_there_is_one_clear_error(
    sweep_command: Command, words: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extra for clusters is another one; local sweeps do not need it."""
    original = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "distributed" else original(name, *rest)
    )
    answer = sweep_command(*words[:5], "--scheduler", "tcp://127.0.0.1:9")
    assert answer.status == 2
    assert "rigpact[cluster]" in answer.err


def test_a_clip_that_cannot_drive_a_run_is_said(
    capfd: pytest.CaptureFixture[str], checkout: Path, tmp_path: Path
) -> None:
    """A recording without what is carried from frame to frame cannot drive one: that is not a defect of rigpact."""
    robot = checkout / "fixtures/bundles/robot"
    words = (
        "sweep",
        "--contract",
        robot / "contract.toml",
        robot / "run.csv",
        "--onnx",
        robot,
        "--out",
        tmp_path,
        *HERE,
    )
    assert run_command_line([str(word) for word in words]) == 1
    rows = {row["mode"]: row for row in read_results(tmp_path)}
    assert "run.csv: found nothing that motor_targets can be computed from" in rows["teacher"]["error"]
    assert rows["free"]["verdict"] == "pass"
    capfd.readouterr()
