"""A sweep that is stopped, broken or repeated, or whose process dies; `rigpact sweep` as people and CI use it."""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reports.sweep import measure, sweep

CELLS = 30


class PowerCut(Exception):
    """The interruption of the first sweep."""


def stopping_after(count, runner):
    def run(cells):
        for number, outcome in enumerate(runner(cells)):
            if number == count:
                raise PowerCut
            yield outcome

    return run


@pytest.fixture
def here(counted, marks):
    """Counted cells in this process."""
    return partial(sweep.in_this_process, measure=partial(counted.measured, marks=marks))


def test_a_stopped_sweep_measures_only_what_is_missing(counted, marks, tmp_path, here):
    """A stop in the tenth hour must not lose the results of nine hours."""
    plan = counted.plan_of(CELLS)
    with pytest.raises(PowerCut):
        sweep.run_sweep(plan, tmp_path / "out", stopping_after(25, here))
    assert not (tmp_path / "out" / sweep.RESULTS).exists()
    begun = counted.times_measured(marks)
    report = sweep.run_sweep(plan, tmp_path / "out", here)
    assert report.measured == CELLS - 25
    again = {cell for cell, count in counted.times_measured(marks).items() if count > begun.get(cell, 0)}
    assert len(again) == CELLS - 25
    assert [row["clip"] for row in sweep.read_results(tmp_path / "out")] == [cell.clip.name for cell in plan]


def test_a_finished_sweep_does_no_work_again_but_for_a_line_that_a_crash_cut_off(counted, marks, tmp_path, here):
    """A job that CI starts twice costs nothing; a half-written line is neither done nor glued to the next one."""
    plan, out = counted.plan_of(10), tmp_path / "out"
    assert sweep.run_sweep([*plan, *plan], out, here).measured == 10  # a copy of a clip is not measured twice
    sweep.run_sweep(plan, out, here)
    before = {name: (out / name).read_bytes() for name in (sweep.RESULTS, sweep.JOURNAL)}
    assert sweep.run_sweep(plan, out, here).measured == 0
    assert {name: (out / name).read_bytes() for name in before} == before
    assert set(counted.times_measured(marks).values()) == {1}
    (out / sweep.JOURNAL).write_bytes(before[sweep.JOURNAL][:-7])
    assert [sweep.run_sweep(plan, out, here).measured for _ in range(2)] == [1, 0]
    assert (out / sweep.RESULTS).read_bytes() == before[sweep.RESULTS]
    assert (
        sweep.run_sweep(counted.plan_of(14), out, here).measured == 4
    )  # tonight's clips are added to yesterday's folder
    assert len(sweep.read_results(out)) == 14


def test_an_edited_journal_is_refused(counted, tmp_path, here):
    """Edited numbers must not enter a table; the error names the line."""
    plan, out = counted.plan_of(3), tmp_path / "out"
    sweep.run_sweep(plan, out, here)
    lines = (out / sweep.JOURNAL).read_bytes().splitlines(keepends=True)
    (out / sweep.JOURNAL).write_bytes(lines[0] + b"{}\n" + lines[2])
    with pytest.raises(UnusableInput) as refusal:
        sweep.run_sweep(plan, out, here)
    assert refusal.value.place.endswith(f"{sweep.JOURNAL}:2")


def test_the_order_of_completion_does_not_show(counted, tmp_path, here):
    """A diff of two nights must show what changed, not which worker was faster."""

    def backwards(cells):
        return iter([*here(cells)][::-1])

    plan = counted.plan_of(CELLS)
    files = [sweep.run_sweep(plan, tmp_path / name, runner).results for name, runner in (("a", here), ("b", backwards))]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_one_process_and_two_give_the_same_bytes(demo_plan, tmp_path):
    """Real cells: a laptop and a farm must publish the same table."""
    plan = demo_plan(frames=4)
    files = [
        sweep.run_sweep(plan, tmp_path / "one", sweep.in_this_process).results,
        sweep.run_sweep(plan, tmp_path / "two", partial(sweep.in_processes, processes=2)).results,
    ]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert {row["verdict"] for row in sweep.read_results(tmp_path / "one")} <= {"pass", "copy_last_is_better"}


def test_a_cell_that_kills_its_process_is_the_only_error(counted, marks, tmp_path):
    """A model that crashes the inference library takes a process with it, not the night."""
    plan = counted.plan_of(5, deadly=2)
    runner = partial(sweep.in_processes, processes=2, measure=partial(counted.measured, marks=marks))
    report = sweep.run_sweep(plan, tmp_path / "out", runner)
    rows = sweep.read_results(tmp_path / "out")
    assert [row["clip"] for row in rows if row["error_kind"] == "died"] == [counted.DEADLY]
    assert len(rows) == report.measured == 5
    assert report.exit_code() == 1
    deadly = next(row["cell"] for row in rows if row["error_kind"] == "died")
    assert counted.times_measured(marks)[deadly] == 2  # in company, and alone


Command = Callable[..., Any]
Words = tuple[object, ...]
HERE = ("--processes", 1, "--frames", 6)


@pytest.fixture
def words(demo_bundle, tmp_path):
    """The demo's clips, one model, an output folder."""
    return (demo_bundle / "clips", "--onnx", demo_bundle / "model.onnx", "--out", tmp_path / "out", *HERE)


def test_a_sweep_passes_and_a_second_one_measures_nothing(sweep_command, words):
    """The last line of a nightly log must show what was measured."""
    first, second = sweep_command(*words), sweep_command(*words)
    assert (first.status, second.status, first.err) == (0, 0, "")
    assert ("6 of 6 measured now" in first.out, "0 of 6 measured now" in second.out) == (True, True)


def test_the_best_checkpoint_is_the_one_that_was_trained(sweep_command, words, checkpoint, tmp_path):
    """Weights doubled or tripled are worse; a table that ranks them otherwise picks the wrong build."""
    others = [word for factor in (2, 3) for word in ("--onnx", checkpoint(f"times_{factor}", factor))]
    document = json.loads(sweep_command(*words, *others, "--mode", "teacher", "--format", "json").out)
    assert {Path(row["model"]).name for row in document["best"]} == {"model.onnx"}
    assert {Path(row["model"]).name for row in document["worst"][:3]} == {"times_3.onnx"}
    assert (document["cells"], document["measured"], document["verdict"]) == (9, 9, "pass")
    for row in sweep.read_results(tmp_path / "out"):
        assert list(row) == list(sweep.COLUMNS)
        assert len(row["model_sha256"]) == len(row["clip_sha256"]) == len(row["bundle_sha256"]) == 64


def test_a_broken_clip_fails_the_sweep_and_nothing_else(sweep_command, words, clip_copy, tmp_path):
    """One interrupted export among ten thousand is named; a farm without its files must not turn the night green."""
    broken = clip_copy("broken.json", size=4000)
    answer = sweep_command(*words, broken)
    rows = sweep.read_results(tmp_path / "out")
    assert (answer.status, len(rows), "broken.json" in answer.out) == (1, 8, True)
    assert [row["error_kind"] for row in rows].count("unusable") == 2
    nothing = sweep_command(broken, *words[1:4], tmp_path / "none", *HERE)
    assert (nothing.status, "UNDETERMINED" in nothing.out) == (2, True)


def test_values_that_are_not_finite_fail(sweep_command, words, checkpoint):
    """A checkpoint whose character vanishes must not ship."""
    answer = sweep_command(*words, "--onnx", checkpoint("broken", float("nan")), "--format", "json")
    document = json.loads(answer.out)
    assert (answer.status, document["verdicts"]["nonfinite"], document["verdict"]) == (1, 6, "fail")


def test_a_run_that_copying_beats_fails_only_when_strict(sweep_command, words):
    """An early network's free run is often worse than standing still: this is reported, but fails only with strict."""
    long = (*words[:-2], "--mode", "free")
    strict = sweep_command(*long, "--strict")
    assert (sweep_command(*long).status, strict.status, "copy_last_is_better" in strict.out) == (0, 1, True)


def _fails(*_):
    raise OSError


def test_errors_are_measured_again(sweep_command, words):
    """Our own bug must not look like the checkpoint's; after the disk is mounted again only the failed cells are run."""
    with pytest.MonkeyPatch.context() as broken:
        broken.setattr(measure, "_clip", _fails)
        assert sweep_command(*words).status == 3
    answer = sweep_command(*words)
    assert (answer.status, "6 of 6 measured now" in answer.out) == (0, True)


@pytest.mark.parametrize(("more", "said"), [(("--set", "mirror=w"), "mirror"), (("nowhere",), "nowhere")])
def test_bad_words_are_one_clear_line(sweep_command, words, more, said):
    """Status 2 and the place, before a minute is spent."""
    answer = sweep_command(*words, *more)
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert answer.err.startswith(f"rigpact: error: {said}: found ")


def test_without_its_library_the_extra_is_named(sweep_command, words, monkeypatch):
    """Before any measurement, not at the end of the sweep."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "pyarrow" else find(name, *rest)
    )
    answer = sweep_command(*words[:5])
    assert (answer.status, "rigpact[sweep]" in answer.err) == (2, True)


def test_several_processes_from_a_real_command_line(words, demo_bundle):
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


def test_a_clip_that_cannot_drive_a_run_is_said(command, checkout, tmp_path):
    """A recording without what is carried from frame to frame cannot drive one: that is not a defect of rigpact."""
    robot = checkout / "fixtures/bundles/robot"
    said = ("--contract", robot / "contract.toml", robot / "run.csv", "--onnx", robot, "--out", tmp_path, *HERE)
    assert command("sweep", *said).status == 1
    rows = {row["mode"]: row for row in sweep.read_results(tmp_path)}
    assert "run.csv: found nothing that motor_targets can be computed from" in rows["teacher"]["error"]
    assert rows["free"]["verdict"] == "pass"
