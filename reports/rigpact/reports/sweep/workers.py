"""Measure cells: in this process, in several processes of this machine that may die, or on a Dask cluster (extra `cluster`).

A runner takes cells one by one, and yields outcomes as they arrive; it holds only the cells in progress. When a process dies, the
cells in progress are measured again, each alone: so only the cell that killed the process is blamed. Workers of a cluster read
the files at the same paths as the machine that started the sweep, and refuse a file whose bytes changed since the plan.
"""

import itertools
import logging
import os
import socket
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import contextmanager
from functools import partial
from importlib import import_module, util
from queue import SimpleQueue
from typing import Any

from rigpact.contract.errors import UnusableInput
from rigpact.reports.processes import process_pool
from rigpact.reports.sweep.journal import Outcome
from rigpact.reports.sweep.measure import DEFECT, DIED, Measured, failure, measure_cell
from rigpact.reports.sweep.plan import Cell

Measure = Callable[[Cell], Measured]
Runner = Callable[[Iterable[Cell]], Iterator[Outcome]]
RETRIES = 2
"""How often a cell is tried again after its process died: a lack of memory often goes away, a crash does not."""
_WAITING_EACH = 4
"""Number of cells queued for each process, so that no process waits."""
_IN_FLIGHT = 4096
"""Largest number of cells at the scheduler of a cluster at a time: each needs about a kilobyte."""
_CONNECT_S = 10


def timed(measure: Measure, cell: Cell) -> Outcome:
    """Measure a cell in this process, and time it."""
    start = time.perf_counter()
    measured = measure(cell)
    return Outcome(cell.identity, measured, time.perf_counter() - start, f"{socket.gethostname()}:{os.getpid()}")


def in_this_process(cells: Iterable[Cell], measure: Measure = measure_cell) -> Iterator[Outcome]:
    """Measure the cells one after the other."""
    for cell in cells:
        yield timed(measure, cell)


def in_processes(
    cells: Iterable[Cell], processes: int, *, retries: int = RETRIES, measure: Measure = measure_cell
) -> Iterator[Outcome]:
    """Measure the cells in several processes of this machine; one that kills its own is an error after `retries` more tries."""
    return _measured(process_pool, cells, processes, _WAITING_EACH * processes, retries, measure, BrokenExecutor)


def on_cluster(
    cells: Iterable[Cell],
    address: str,
    *,
    retries: int = RETRIES,
    measure: Measure = measure_cell,
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[Outcome]:
    """Measure cells on the cluster whose scheduler listens at `address`. say: receives the dashboard's link.

    Raises UnusableInput if nothing answers there, if there is no worker, or if the scheduler disappears during the
    sweep.
    """
    if util.find_spec("distributed") is None:
        raise UnusableInput("--scheduler", "no Dask", "the extra cluster", "pip install 'rigpact[cluster]'")
    distributed = import_module("distributed")  # Dask sets up its log at import
    with _silent(), _connected(distributed.Client, address) as client:
        say(f"dashboard: {client.dashboard_link}")
        pool = partial(_client_pool, client)
        try:
            yield from _measured(pool, cells, 1, _IN_FLIGHT, retries, measure, distributed.KilledWorker)
        except CancelledError:
            hint = "finished cells are kept: run the same command again"
            raise UnusableInput(f"--scheduler {address}", "a lost cell", "a cluster that stays", hint) from None


@contextmanager
def _silent() -> Iterator[None]:
    """An error is reported once; Dask would print tracebacks of its own too."""
    log = logging.getLogger("distributed.client")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(level)


def _client_pool(client: Any, _processes: int) -> Any:
    return client.get_executor(pure=False)


def _connected(client_of: Any, address: str) -> Any:
    try:
        client = client_of(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:120]
        raise UnusableInput(f"--scheduler {address}", f"no answer ({reason})", "tcp://HOST:PORT") from None
    if not client.scheduler_info()["workers"]:
        client.close()
        raise UnusableInput(f"--scheduler {address}", "a cluster without workers", "at least one", "start dask worker")
    return client


def _measured(
    pool_of: Callable[[int], Executor],
    cells: Iterable[Cell],
    processes: int,
    at_once: int,
    retries: int,
    measure: Measure,
    death: type[BaseException],
) -> Iterator[Outcome]:
    """Measure cells in pools of processes. death: what the result of a cell is whose process died."""
    waiting = iter(cells)
    while suspects := (yield from _until_one_dies(pool_of(processes), waiting, at_once, measure, death)):
        for cell in suspects:
            for _ in range(1 + retries):
                if not (yield from _until_one_dies(pool_of(1), iter([cell]), 1, measure, death)):
                    break
            else:
                text = f"the process that measured it died, {1 + retries} times in a row"
                yield Outcome(cell.identity, failure(DIED, text), 0.0, "")


def _until_one_dies(
    pool: Executor, waiting: Iterator[Cell], at_once: int, measure: Measure, death: type[BaseException]
) -> Generator[Outcome, None, list[Cell]]:
    """Yield outcomes; return the cells that were in progress when a process died, or none if all are done."""
    in_flight: dict[Future[Outcome], Cell] = {}
    arrived: SimpleQueue[Future[Outcome]] = SimpleQueue()
    suspects: list[Cell] = []
    try:
        while True:
            for cell in itertools.islice(waiting, 0 if suspects else at_once - len(in_flight)):
                try:
                    future = pool.submit(timed, measure, cell)
                except BrokenExecutor:
                    suspects.append(cell)
                    break
                in_flight[future] = cell
                future.add_done_callback(arrived.put)
            if not in_flight:
                return suspects
            future = arrived.get()
            cell = in_flight.pop(future)
            try:
                yield future.result()
            except death:
                suspects.append(cell)
            except CancelledError:
                raise
            except Exception as error:  # noqa: BLE001 - of the pool: errors of a cell arrive as results
                yield Outcome(cell.identity, failure(DEFECT, f"{type(error).__name__}: {error}"), 0.0, "")
    finally:
        for future in in_flight:
            future.cancel()
        pool.shutdown()
