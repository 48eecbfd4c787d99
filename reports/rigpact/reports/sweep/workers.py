"""Cells on this machine: in this process, or in several that may die.

A runner takes cells one by one and yields outcomes as they come; it holds only what is in flight. To add another kind of
place where cells run (cluster.py is one): a generator of the same signature.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import socket
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from rigpact.reports.sweep.journal import Outcome
from rigpact.reports.sweep.measure import DIED, Measured, failure, measure_cell
from rigpact.reports.sweep.plan import Cell

Measure = Callable[[Cell], Measured]
Runner = Callable[[Iterable[Cell]], Iterator[Outcome]]
RETRIES = 2
"""How often a cell is tried again whose process died: out of memory is rarely the same twice, a crash in a model is."""
_WAITING_EACH = 4
"""Cells handed to each process beforehand, so that none waits for the next."""


def timed(measure: Measure, cell: Cell) -> Outcome:
    """Measure a cell here and now."""
    start = time.perf_counter()
    measured = measure(cell)
    return Outcome(cell.identity, measured, time.perf_counter() - start, f"{socket.gethostname()}:{os.getpid()}")


def in_this_process(cells: Iterable[Cell], measure: Measure = measure_cell) -> Iterator[Outcome]:
    """One cell after the other."""
    for cell in cells:
        yield timed(measure, cell)


def in_processes(
    cells: Iterable[Cell], processes: int, *, retries: int = RETRIES, measure: Measure = measure_cell
) -> Iterator[Outcome]:
    """Cells in several processes of this machine.

    When a process dies, the cells that were in flight are measured again, each alone, so that the one that kills is found and
    no other is blamed; after `retries` more tries it is an error of its own.
    """
    waiting = iter(cells)
    while suspects := (yield from _until_one_dies(waiting, processes, measure)):
        for cell in suspects:
            yield _alone(cell, retries, measure)


def _until_one_dies(waiting: Iterator[Cell], processes: int, measure: Measure) -> Generator[Outcome, None, list[Cell]]:
    """Yield outcomes; return the cells that were in flight when a process died, none when all are done."""
    in_flight: dict[str, Cell] = {}
    futures: set[Future[Outcome]] = set()
    with _pool(processes) as pool:
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
        with _pool(1) as pool:
            try:
                return pool.submit(timed, measure, cell).result()
            except BrokenProcessPool:
                continue
    return died(cell, retries)


def died(cell: Cell, retries: int) -> Outcome:
    """The outcome of a cell whose process dies whenever it is measured."""
    text = f"the process that measured it died, {1 + retries} times in a row"
    return Outcome(cell.identity, failure(DIED, text), 0.0, "")


def _pool(processes: int) -> ProcessPoolExecutor:
    # a fork would copy the threads of onnxruntime in an unknown state
    return ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn"))
