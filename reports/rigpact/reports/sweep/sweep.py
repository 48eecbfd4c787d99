"""Run a sweep: measure the missing cells, write the results, summarise."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from rigpact.reports.sweep.journal import Journal
from rigpact.reports.sweep.measure import DIED
from rigpact.reports.sweep.plan import Cell, SweepPlan
from rigpact.reports.sweep.results import require_pyarrow, rows_of, write_results
from rigpact.reports.sweep.summary import Summary
from rigpact.reports.sweep.workers import RETRIES, Runner, in_processes, in_this_process, on_cluster
from rigpact.reports.terminal import counted


@dataclass(frozen=True)
class SweepReport:
    """The answer: the summary of all rows, the number of newly measured cells, and the file."""

    summary: Summary
    measured: int
    results: Path


def runner_of(processes: int, scheduler: str | None, retries: int = RETRIES) -> Runner:
    """The runner of cells: the cluster at `scheduler`, else processes of this machine."""
    if scheduler is not None:
        say = partial(Console(stderr=True, soft_wrap=True).print, markup=False)
        return partial(on_cluster, address=scheduler, retries=retries, say=say)
    if processes == 1:
        return in_this_process
    return partial(in_processes, processes=processes, retries=retries)


def run_sweep(
    plan: SweepPlan, folder: Path, runner: Runner = in_this_process, *, retry_errors: bool = False
) -> SweepReport:
    """Measure the cells that are not in the folder's journal, then write all rows in the plan's order.

    A cell whose process died is measured again in the next sweep; with `retry_errors`, every cell with an error is.
    Raises UnusableInput for a folder that cannot be written, or if pyarrow is missing.
    """
    require_pyarrow()
    forget = {DIED, "unusable", "internal"} if retry_errors else {DIED}
    with Journal(folder, forget=forget) as journal:
        missing = sum(1 for _ in _missing(plan, journal))
        measured = 0
        with counted(len(plan), "cells") as advance:
            advance(len(plan) - missing)
            for outcome in runner(_missing(plan, journal)) if missing else ():
                journal.add(outcome)
                measured += 1
                advance(1)
        summary = Summary()
        results = write_results(summary.passing(rows_of(plan, journal)), folder)
    return SweepReport(summary, measured, results)


def _missing(plan: SweepPlan, journal: Journal) -> Iterator[Cell]:
    return (cell for cell in plan.distinct() if cell.identity not in journal)
