"""Measure cells on this machine: in this process, or in several processes that may die.

A runner takes cells one by one, and yields outcomes as they arrive. It holds only the cells in progress. To add another
kind of runner (like cluster.py): a generator with the same signature.
"""

import itertools
import os
import socket
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool

from rigpact.reports.processes import process_pool
from rigpact.reports.sweep.journal import Outcome
from rigpact.reports.sweep.measure import DIED, Measured, failure, measure_cell
from rigpact.reports.sweep.plan import Cell

Measure = Callable[[Cell], Measured]
Runner = Callable[[Iterable[Cell]], Iterator[Outcome]]
RETRIES = 2
"""How often a cell is tried again after its process died: a lack of memory often goes away, a crash does not."""
_WAITING_EACH = 4
"""Number of cells queued for each process, so that no process waits."""


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
    """Measure the cells in several processes of this machine.

    When a process dies, the cells in progress are measured again, each alone. So only the cell that killed the process
    is blamed; after `retries` more tries it becomes an error.
    """
    waiting = iter(cells)
    while suspects := (yield from _until_one_dies(waiting, processes, measure)):
        for cell in suspects:
            yield _alone(cell, retries, measure)


def _until_one_dies(waiting: Iterator[Cell], processes: int, measure: Measure) -> Generator[Outcome, None, list[Cell]]:
    """Yield outcomes; return the cells that were in progress when a process died, or none if all are done."""
    in_flight: dict[str, Cell] = {}
    futures: set[Future[Outcome]] = set()
    with process_pool(processes) as pool:
        try:
            while True:
                for cell in itertools.islice(waiting, _WAITING_EACH * processes - len(futures)):
                    in_flight[cell.identity] = cell
                    futures.add(pool.submit(timed, measure, cell))
                if not futures:
                    return []
                done, futures = wait(futures, return_when=FIRST_COMPLETED)
                for future in done:
                    outcome = future.result()
                    del in_flight[outcome.identity]
                    yield outcome
        except BrokenProcessPool:
            return list(in_flight.values())
        finally:
            pool.shutdown(cancel_futures=True)


def _alone(cell: Cell, retries: int, measure: Measure) -> Outcome:
    for _ in range(1 + retries):
        with process_pool(1) as pool:
            try:
                return pool.submit(timed, measure, cell).result()
            except BrokenProcessPool:
                continue
    return died(cell, retries)


def died(cell: Cell, retries: int) -> Outcome:
    """The outcome of a cell whose process dies whenever it is measured."""
    text = f"the process that measured it died, {1 + retries} times in a row"
    return Outcome(cell.identity, failure(DIED, text), 0.0, "")
