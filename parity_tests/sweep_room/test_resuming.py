"""A sweep that is stopped, broken or repeated, or whose process dies: nothing is lost, nothing is measured twice."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reports.sweep.plan import Cell
from rigpact.reports.sweep.sweep import (
    JOURNAL,
    RESULTS,
    Outcomes,
    Runner,
    in_processes,
    in_this_process,
    read_results,
    run_sweep,
)

CELLS = 30


class PowerCut(Exception):
    """The interruption of the first sweep."""


def stopping_after(count: int, runner: Runner) -> Runner:
    def run(cells: Iterable[Cell]) -> Outcomes:
        for number, outcome in enumerate(runner(cells)):
            if number == count:
                raise PowerCut
            yield outcome

    return run


@pytest.fixture
def here(counted: ModuleType, marks: Path) -> Runner:
    """Counted cells in this process."""
    return partial(in_this_process, measure=partial(counted.measured, marks=marks))


def test_a_stopped_sweep_measures_only_what_is_missing(
    counted: ModuleType, marks: Path, tmp_path: Path, here: Runner
) -> None:
    """A stop in the tenth hour must not lose the results of nine hours."""
    plan = counted.plan_of(CELLS)
    with pytest.raises(PowerCut):
        run_sweep(plan, tmp_path / "out", stopping_after(25, here))
    assert not (tmp_path / "out" / RESULTS).exists()
    begun = counted.times_measured(marks)
    report = run_sweep(plan, tmp_path / "out", here)
    assert report.measured == CELLS - 25
    again = {cell for cell, count in counted.times_measured(marks).items() if count > begun.get(cell, 0)}
    assert len(again) == CELLS - 25
    assert [row["clip"] for row in read_results(tmp_path / "out")] == [cell.clip.name for cell in plan]


def test_a_finished_sweep_does_no_work_again_but_for_a_line_that_a_crash_cut_off(
    counted: ModuleType, marks: Path, tmp_path: Path, here: Runner
) -> None:
    """A job that CI starts twice costs nothing; a half-written line is neither done nor glued to the next one."""
    plan, out = counted.plan_of(10), tmp_path / "out"
    assert run_sweep([*plan, *plan], out, here).measured == 10  # a copy of a clip is not measured twice
    run_sweep(plan, out, here)
    before = {name: (out / name).read_bytes() for name in (RESULTS, JOURNAL)}
    assert run_sweep(plan, out, here).measured == 0
    assert {name: (out / name).read_bytes() for name in before} == before
    assert set(counted.times_measured(marks).values()) == {1}
    (out / JOURNAL).write_bytes(before[JOURNAL][:-7])
    assert [run_sweep(plan, out, here).measured for _ in range(2)] == [1, 0]
    assert (out / RESULTS).read_bytes() == before[RESULTS]
    assert run_sweep(counted.plan_of(14), out, here).measured == 4  # tonight's clips are added to yesterday's folder
    assert len(read_results(out)) == 14


def test_an_edited_journal_is_refused(counted: ModuleType, tmp_path: Path, here: Runner) -> None:
    """Edited numbers must not enter a table; the error names the line."""
    plan, out = counted.plan_of(3), tmp_path / "out"
    run_sweep(plan, out, here)
    lines = (out / JOURNAL).read_bytes().splitlines(keepends=True)
    (out / JOURNAL).write_bytes(lines[0] + b"{}\n" + lines[2])
    with pytest.raises(UnusableInput) as refusal:
        run_sweep(plan, out, here)
    assert refusal.value.place.endswith(f"{JOURNAL}:2")


def test_the_order_of_completion_does_not_show(counted: ModuleType, tmp_path: Path, here: Runner) -> None:
    """A diff of two nights must show what changed, not which worker was faster."""

    def backwards(cells: Iterable[Cell]) -> Outcomes:
        return iter([*here(cells)][::-1])

    plan = counted.plan_of(CELLS)
    files = [run_sweep(plan, tmp_path / name, runner).results for name, runner in (("a", here), ("b", backwards))]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_one_process_and_two_give_the_same_bytes(demo_plan: Callable[..., list[Cell]], tmp_path: Path) -> None:
    """Real cells: a laptop and a farm must publish the same table."""
    plan = demo_plan(frames=4)
    files = [
        run_sweep(plan, tmp_path / "one", in_this_process).results,
        run_sweep(plan, tmp_path / "two", partial(in_processes, processes=2)).results,
    ]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert {row["verdict"] for row in read_results(tmp_path / "one")} <= {"pass", "copy_last_is_better"}


def test_a_cell_that_kills_its_process_is_the_only_error(counted: ModuleType, marks: Path, tmp_path: Path) -> None:
    """A model that crashes the inference library takes a process with it, not the night."""
    plan = counted.plan_of(5, deadly=2)
    runner = partial(in_processes, processes=2, retries=1, measure=partial(counted.measured, marks=marks))
    report = run_sweep(plan, tmp_path / "out", runner)
    rows = read_results(tmp_path / "out")
    assert [row["clip"] for row in rows if row["error_kind"] == "died"] == [counted.DEADLY]
    assert len(rows) == report.measured == 5
    assert report.summary.exit_code() == 1
    deadly = next(row["cell"] for row in rows if row["error_kind"] == "died")
    assert counted.times_measured(marks)[deadly] == 3  # in company, alone, and once more
