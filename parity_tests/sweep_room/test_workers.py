"""Processes and cluster workers that die: the others' results arrive, the one to blame is found."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reports.sweep import workers
from rigpact.reports.sweep.plan import SweepPlan
from rigpact.reports.sweep.results import RESULTS, read_results
from rigpact.reports.sweep.sweep import run_sweep
from rigpact.reports.sweep.workers import in_processes, in_this_process, on_cluster

CELLS, CELL_S = 60, 0.02


@pytest.fixture
def cluster(counted: ModuleType) -> Iterator[Any]:
    """Two Dask workers, a process each; `counted` comes first, so that they find its module."""
    dask = pytest.importorskip("dask")
    distributed = pytest.importorskip("distributed")
    # a cell that kills its worker is blamed at once: each death costs seconds
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0, "distributed.comm.timeouts.connect": "3s"}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as started,
    ):
        yield started


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


@pytest.mark.nightly
def test_a_killed_cluster_worker_loses_nothing(counted: ModuleType, marks: Path, tmp_path: Path, cluster: Any) -> None:
    """One of two machines goes down in the middle of a sweep: all arrive, none twice, and there is nothing left to do."""
    plan = counted.plan_of(CELLS)
    runner = partial(
        on_cluster, address=cluster.scheduler_address, measure=partial(counted.measured, marks=marks, seconds=CELL_S)
    )
    victim = next(iter(cluster.workers.values())).pid
    killer = threading.Thread(target=_kill_when, args=(victim, marks, CELLS // 2))
    killer.start()
    report = run_sweep(plan, tmp_path / "out", runner)
    killer.join()
    rows = read_results(tmp_path / "out")
    assert report.measured == len(rows) == len({row["cell"] for row in rows}) == CELLS
    assert {row["verdict"] for row in rows} == {"pass"}
    done = sum(counted.times_measured(marks).values())
    assert run_sweep(plan, tmp_path / "out", runner).measured == 0
    assert sum(counted.times_measured(marks).values()) == done
    run_sweep(plan, tmp_path / "here", partial(in_this_process, measure=partial(counted.measured, marks=marks)))
    assert (tmp_path / "here" / RESULTS).read_bytes() == (tmp_path / "out" / RESULTS).read_bytes()


def _kill_when(process: int, marks: Path, count: int) -> None:
    while len(list(marks.iterdir())) < count:
        time.sleep(0.01)
    os.kill(process, signal.SIGTERM if os.name == "nt" else signal.SIGKILL)


@pytest.mark.nightly
def test_a_cell_that_kills_cluster_workers_is_the_only_error(
    counted: ModuleType, marks: Path, tmp_path: Path, cluster: Any, demo_plan: Callable[..., SweepPlan]
) -> None:
    """A deadly cell must not be handed on for ever; everything that a real cell needs must reach another process."""
    said: list[str] = []
    plan = demo_plan(frames=4, knobs=["math=f64,f32"])
    remote = partial(on_cluster, address=cluster.scheduler_address, say=said.append)
    here, there = (run_sweep(plan, tmp_path / n, r).results for n, r in (("a", in_this_process), ("b", remote)))
    assert here.read_bytes() == there.read_bytes()
    assert said[0].startswith("dashboard: ")
    measure = partial(counted.measured, marks=marks)
    deadly = partial(on_cluster, address=cluster.scheduler_address, retries=1, measure=measure)
    run_sweep(counted.plan_of(6, deadly=2), tmp_path / "out", deadly)
    rows = read_results(tmp_path / "out")
    assert [row["clip"] for row in rows if row["error_kind"] == "died"] == [counted.DEADLY]
    assert [row["verdict"] for row in rows].count("pass") == 5


def test_nobody_at_the_address_is_one_clear_error(
    counted: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the scheduler is down, one line must report it, not a traceback."""
    pytest.importorskip("distributed")
    monkeypatch.setattr(workers, "_CONNECT_S", 1)
    with pytest.raises(UnusableInput) as refusal:
        run_sweep(counted.plan_of(3), tmp_path / "out", partial(on_cluster, address="tcp://127.0.0.1:9"))
    assert refusal.value.place == "--scheduler tcp://127.0.0.1:9"
