"""Run a sweep: measure the missing cells, write the results in the plan's order.

`journal.jsonl` holds one line for each measured cell, in the order of completion: a killed sweep continues where it stopped.
`results.parquet` has the same bytes however many processes measured. When a process dies, the cells in progress are measured
again, each alone: so only the cell that killed its process is blamed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import closing
from dataclasses import dataclass, fields
from importlib import util
from pathlib import Path
from typing import IO, Any

import orjson

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import opened_to_append, written_whole
from rigpact.reports.processes import process_pool
from rigpact.reports.sweep.measure import DEFECT, DIED, UNUSABLE, MeasuredCell, failure, measure_cell
from rigpact.reports.sweep.plan import Cell
from rigpact.reports.sweep.summary import Row, Summary
from rigpact.reports.terminal import counted

JOURNAL, RESULTS = "journal.jsonl", "results.parquet"
RETRIES = 2
"""How often a cell is tried again after its process died: a lack of memory often goes away, a crash does not."""
_WAITING_EACH = 4
"""Number of cells queued for each process, so that no process waits."""
_ROWS_AT_ONCE = 1024
"""Rows in a row group; another value changes the file's bytes."""
_KINDS = {"str": "string", "int": "int64", "float": "double"}
COLUMNS = {
    **dict.fromkeys(("cell", "clip", "model", "conventions", "mode"), "string"),
    **{
        each.name: _KINDS[str(getattr(each.type, "__name__", each.type)).split(" |")[0]]
        for each in fields(MeasuredCell)
    },
    **dict.fromkeys(
        ("bundle", "bundle_sha256", "companion_sha256", "model_sha256", "clip_sha256", "rigpact_version"), "string"
    ),
}
"""All columns with their Arrow types, in order: the cell, what was measured of it, its files."""
Measure = Callable[[Cell], MeasuredCell]
Outcomes = Iterator[tuple[Cell, MeasuredCell]]
Runner = Callable[[Iterable[Cell]], Outcomes]


@dataclass(frozen=True)
class SweepReport:
    """The answer: the summary of all rows, the number of newly measured cells, and the file."""

    summary: Summary
    measured: int
    results: Path


def in_this_process(cells: Iterable[Cell], measure: Measure = measure_cell) -> Outcomes:
    """Measure the cells one after the other."""
    return ((cell, measure(cell)) for cell in cells)


def run_sweep(
    plan: Sequence[Cell], folder: Path, runner: Runner = in_this_process, *, retry_errors: bool = False
) -> SweepReport:
    """Measure the cells that are not in the folder's journal, then write all rows in the plan's order.

    A cell whose process died is measured again in the next sweep; with `retry_errors`, every cell with an error is.
    Raises UnusableInput for a folder that cannot be written, or if pyarrow is missing.
    """
    if util.find_spec("pyarrow") is None:
        raise UnusableInput("rigpact sweep", "no pyarrow", "it, to write Parquet", "pip install 'rigpact[sweep]'")
    forget = {DIED, UNUSABLE, DEFECT} if retry_errors else {DIED}
    with closing(Journal(folder, forget=forget)) as journal:
        first = {cell.identity: cell for cell in reversed(plan)}  # a copy of a clip or model is not measured twice
        missing = [cell for identity, cell in reversed(first.items()) if identity not in journal]
        with counted(len(plan), "cells") as advance:
            advance(len(plan) - len(missing))
            for cell, measured in runner(missing) if missing else ():
                journal.add(cell, measured)
                advance(1)
        rows = [{**_named(cell), **journal.measured(cell.identity)} for cell in plan]
    _write_results(rows, folder / RESULTS)
    return SweepReport(Summary(rows), len(missing), folder / RESULTS)


class Journal:
    """The journal of one folder, open for appending; an incomplete last line from a crash is removed."""

    def __init__(self, folder: Path, *, forget: Collection[str] = ()) -> None:
        """Read the existing journal. forget: kinds of errors whose cells must be measured again."""
        path = folder / JOURNAL
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lines: IO[bytes] = opened_to_append(path)
        except OSError as error:
            found = f"a folder that cannot be written ({error.strerror})"
            raise UnusableInput(folder, found, "a writable folder") from None
        self.close = self._lines.close
        self._places: dict[bytes, int] = {}  # memory holds only positions in the file
        self._lines.seek(0)
        end = 0
        for number, line in enumerate(self._lines, start=1):
            if not line.endswith(b"\n"):
                break
            entry = _entry(line, path, number)
            if entry.get("error_kind") is None or entry["error_kind"] not in forget:
                self._places[bytes.fromhex(entry["cell"])] = end
            end += len(line)
        self._lines.truncate(end)

    def __contains__(self, identity: str) -> bool:
        """Whether a cell is done."""
        return bytes.fromhex(identity) in self._places

    def add(self, cell: Cell, measured: MeasuredCell) -> None:
        """Write a measured cell; the operating system has it when this returns."""
        self._places[bytes.fromhex(cell.identity)] = self._lines.seek(0, 2)
        self._lines.write(orjson.dumps({"cell": cell.identity, **vars(measured)}) + b"\n")
        self._lines.flush()

    def measured(self, identity: str) -> dict[str, Any]:
        """The line of a finished cell: its identity, and the fields of `MeasuredCell`."""
        self._lines.seek(self._places[bytes.fromhex(identity)])
        return dict(orjson.loads(self._lines.readline()))


def _entry(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        entry = orjson.loads(line)
        if isinstance(entry, dict) and len(bytes.fromhex(entry["cell"])) == 16 and "verdict" in entry:
            return entry
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        pass
    hint = "was it edited? a sweep into a new folder starts afresh"
    raise UnusableInput(f"{path}:{number}", repr(line[:40].decode("utf-8", "replace")), "a measured cell", hint)


def in_processes(
    cells: Iterable[Cell], processes: int, *, retries: int = RETRIES, measure: Measure = measure_cell
) -> Outcomes:
    """Measure the cells in several processes of this machine; one that kills its own is an error after `retries` more tries."""
    waiting = iter(cells)
    while suspects := (yield from _until_one_dies(waiting, processes, measure)):
        for cell in suspects:
            for _ in range(1 + retries):
                if not (yield from _until_one_dies(iter([cell]), 1, measure)):
                    break
            else:
                yield cell, failure(DIED, f"the process that measured it died, {1 + retries} times in a row")


def _until_one_dies(
    waiting: Iterator[Cell], processes: int, measure: Measure
) -> Generator[tuple[Cell, MeasuredCell], None, list[Cell]]:
    """Yield outcomes; return the cells that were in progress when a process died, or none if all are done."""
    pool, in_flight, suspects = process_pool(processes), dict[Future[MeasuredCell], Cell](), list[Cell]()
    try:
        while True:
            for cell in itertools.islice(waiting, 0 if suspects else _WAITING_EACH * processes - len(in_flight)):
                try:
                    in_flight[pool.submit(measure, cell)] = cell
                except BrokenExecutor:
                    suspects.append(cell)
                    break
            if not in_flight:
                return suspects
            for future in wait(in_flight, return_when=FIRST_COMPLETED).done:
                cell = in_flight.pop(future)
                try:
                    yield cell, future.result()
                except BrokenExecutor:
                    suspects.append(cell)
                except Exception as error:  # noqa: BLE001 - of the pool: errors of a cell arrive as results
                    yield cell, failure(DEFECT, f"{type(error).__name__}: {error}")
    finally:
        pool.shutdown(cancel_futures=True)


def _named(cell: Cell) -> dict[str, Any]:
    return {
        "clip": cell.clip.name, "model": cell.model.name, "conventions": cell.conventions,
        "mode": cell.mode, "bundle": cell.bundle.name, "bundle_sha256": cell.bundle.sha256,
        "companion_sha256": cell.companion.sha256 if cell.companion else None,
        "model_sha256": cell.model.sha256, "clip_sha256": cell.clip.sha256, "rigpact_version": cell.version,
    }  # fmt: skip


def _write_results(rows: Sequence[Row], path: Path) -> None:
    """Write rows to a Parquet file, first under a temporary name. No row holds a time or a machine's name."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {"string": pa.string(), "int64": pa.int64(), "double": pa.float64()}
    table = pa.Table.from_pylist(list(rows), pa.schema([(name, kinds[kind]) for name, kind in COLUMNS.items()]))
    with written_whole(path) as stream:
        pq.write_table(table, stream, row_group_size=_ROWS_AT_ONCE, compression="zstd")


def read_results(folder: Path) -> list[dict[str, Any]]:
    """The rows of a finished sweep."""
    import pyarrow.parquet as pq

    rows: list[dict[str, Any]] = pq.read_table(folder / RESULTS).to_pylist()
    return rows
