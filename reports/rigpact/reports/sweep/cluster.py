"""Measure cells on a Dask cluster. Needs the extra `cluster`.

If a worker disappears, the scheduler gives its cells to another worker. A cell that stops several workers is tried
again alone; if that fails, it becomes an error. Workers read the files at the same paths as the machine that started
the sweep, and refuse a file whose bytes changed since the plan.
"""

import itertools
import logging
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any

from rigpact.contract.errors import UnusableInput
from rigpact.reports.sweep.journal import Outcome
from rigpact.reports.sweep.measure import DEFECT, failure, measure_cell
from rigpact.reports.sweep.plan import Cell
from rigpact.reports.sweep.workers import RETRIES, Measure, died, timed

_IN_FLIGHT = 4096
"""Largest number of cells at the scheduler at a time: each needs about a kilobyte."""
_AT_ONCE = 512
"""Number of cells in one message."""
_CONNECT_S = 10


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
    _require_dask()
    log = logging.getLogger(
        "distributed.client"
    )  # an error is reported once; Dask would print tracebacks of its own too
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        with _connected(address) as client:
            say(f"dashboard: {client.dashboard_link}")
            yield from _outcomes(client, iter(cells), address, retries, measure)
    finally:
        log.setLevel(level)


def _require_dask() -> None:
    from importlib.util import find_spec

    if find_spec("distributed") is None:
        raise UnusableInput("--scheduler", "no Dask", "the extra cluster", "pip install 'rigpact[cluster]'")
    import_module("distributed")  # Dask sets up its log at import


def _connected(address: str) -> Any:
    from distributed import Client

    try:
        client = Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:120]
        raise UnusableInput(f"--scheduler {address}", f"no answer ({reason})", "tcp://HOST:PORT") from None
    if not client.scheduler_info()["workers"]:
        client.close()
        raise UnusableInput(f"--scheduler {address}", "a cluster without workers", "at least one", "start dask worker")
    return client


def _outcomes(client: Any, waiting: Iterator[Cell], address: str, retries: int, measure: Measure) -> Iterator[Outcome]:
    in_flight: dict[str, Cell] = {}
    killers: list[Cell] = []
    arriving = _arriving(client)
    _hand_over(client, waiting, in_flight, arriving, measure)
    for batch in arriving.batches():
        for future, result in batch:
            cell = in_flight.pop(future.key)
            if _killed(result):
                killers.append(cell)
            else:
                yield _outcome(future, result, cell, address)
        if len(in_flight) <= _IN_FLIGHT - _AT_ONCE:
            _hand_over(client, waiting, in_flight, arriving, measure)
    for cell in killers:
        yield _alone(client, cell, address, retries, measure)


def _hand_over(
    client: Any, waiting: Iterator[Cell], in_flight: dict[str, Cell], arriving: Any, measure: Measure
) -> None:
    while cells := list(itertools.islice(waiting, min(_AT_ONCE, _IN_FLIGHT - len(in_flight)))):
        keys = [f"rigpact-{cell.identity}" for cell in cells]
        in_flight.update(zip(keys, cells, strict=True))
        arriving.update(client.map(timed, [measure] * len(cells), cells, key=keys))


def _alone(client: Any, cell: Cell, address: str, retries: int, measure: Measure) -> Outcome:
    for attempt in range(1, retries + 1):
        arriving = _arriving(client)
        arriving.add(client.submit(timed, measure, cell, key=f"rigpact-{cell.identity}-{attempt}"))
        future, result = next(arriving)
        if not _killed(result):
            return _outcome(future, result, cell, address)
    return died(cell, retries)


def _arriving(client: Any) -> Any:
    from distributed import as_completed

    return as_completed(loop=client.loop, with_results=True, raise_errors=False)


def _killed(result: Any) -> bool:
    from distributed import KilledWorker

    return isinstance(result, tuple) and isinstance(result[1], KilledWorker)


def _outcome(future: Any, result: Any, cell: Cell, address: str) -> Outcome:
    """The outcome that arrived. An error here comes from the cluster: errors of a cell arrive as results.

    The future's status is not used: a worker may disappear after it sent its result.
    """
    if isinstance(result, Outcome):
        return result
    if isinstance(result, tuple):  # (type, error, traceback)
        return Outcome(cell.identity, failure(DEFECT, f"{type(result[1]).__name__}: {result[1]}"), 0.0, "")
    hint = "finished cells are kept: run the same command again"
    raise UnusableInput(f"--scheduler {address}", f"a cell that was {future.status}", "a cluster that stays", hint)
