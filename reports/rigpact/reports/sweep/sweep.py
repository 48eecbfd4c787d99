"""Run a sweep: measure the missing cells, write the results in the plan's order.

`journal.jsonl` holds a line for each measured cell, in the order of completion: a killed sweep continues where it stopped. A cell
that is an error has none, so the next sweep tries it again. `results.parquet` has the same bytes however many processes measured.
When a process dies, the cells in progress are measured again, each alone: so only the cell that killed its process is blamed.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass, fields
from functools import cached_property
from importlib import util
from pathlib import Path, PurePosixPath
from typing import IO, Any

import orjson
from rich.console import Console

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import opened_to_append, written_whole
from rigpact.contract.findings import EXIT_CANNOT_JUDGE, EXIT_FINDINGS, EXIT_INTERNAL, EXIT_PASS
from rigpact.reports.beside import process_pool
from rigpact.reports.sweep.measure import (
    ALIGNED,
    COPY_LAST_IS_BETTER,
    DEFECT,
    DIED,
    ERROR,
    NOT_FINITE,
    PASS,
    VERDICTS,
    MeasuredCell,
    failure,
    measure_cell,
)
from rigpact.reports.sweep.plan import Cell
from rigpact.reports.terminal import Answer, Figures, Sentence, counted, print_answer

# The summary of a sweep: the number of cells per verdict, the worst cells, the best checkpoint of each clip.
Row = Mapping[str, Any]
WORST_SHOWN, BEST_SHOWN = 5, 20
_SHOWN = (
    "clip", "model", "conventions", "mode", "verdict", "stage", "unit", "mean_error", "mean_deg", "mean_cm",
    "copy_last_mean_deg", "error",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Summary:
    """Counts and extremes of the rows of all cells. measured: how many are new; results: their file."""

    rows: Sequence[Row]
    measured: int
    results: Path

    @cached_property
    def verdicts(self) -> Counter[str]:
        """How many cells have each verdict."""
        return Counter(row["verdict"] for row in self.rows)

    @property
    def worst(self) -> list[Row]:
        """The worst cells, the worst first; of equally bad ones the first."""
        ranked = sorted(self.rows, key=lambda row: (VERDICTS.index(row["verdict"]), _error(row)), reverse=True)
        return ranked[:WORST_SHOWN]

    @cached_property
    def best(self) -> list[Row]:
        """The best checkpoint of each clip and mode."""
        found: dict[tuple[str, str], Row] = {}
        for row in self.rows:
            best = found.get((row["clip"], row["mode"]))
            if row["verdict"] in (PASS, COPY_LAST_IS_BETTER) and (best is None or _error(row) < _error(best)):
                found[row["clip"], row["mode"]] = row
        return list(found.values())

    @property
    def verdict(self) -> str:
        """`undetermined` if no cell could be judged, `fail` if one is not finite, misbound or an error, else `pass`."""
        if len(self.rows) == self.verdicts[ERROR]:
            return "undetermined"
        return "fail" if any(self.verdicts[name] for name in (ALIGNED, NOT_FINITE, ERROR)) else "pass"

    def exit_code(self, *, strict: bool = False) -> int:
        """0 pass, 1 findings (if strict, also worse than copying the last pose), 2 nothing judged, 3 our defect."""
        if any(row["error_kind"] == DEFECT for row in self.rows):
            return EXIT_INTERNAL
        if self.verdict == "undetermined":
            return EXIT_CANNOT_JUDGE
        failed = self.verdict == "fail" or (strict and self.verdicts[COPY_LAST_IS_BETTER] > 0)
        return EXIT_FINDINGS if failed else EXIT_PASS

    def to_json(self) -> dict[str, Any]:
        """The `rigpact-sweep` document, version 1."""

        def shown(rows: Iterable[Row]) -> list[Row]:
            return [{name: row[name] for name in _SHOWN} for row in rows]

        return {
            "format": "rigpact-sweep", "version": 1, "verdict": self.verdict, "cells": len(self.rows), "measured": self.measured,
            "verdicts": {name: self.verdicts[name] for name in VERDICTS},
            "worst": shown(self.worst), "best": shown(self.best),
            "results": self.results.as_posix(),
        }  # fmt: skip


def _error(row: Row) -> float:
    found: float | None = row["mean_error"]
    return float("inf") if found is None else found


def print_summary(summary: Summary, console: Console) -> None:
    """Print the worst cells, the best checkpoint of each clip and the verdict."""
    counts = ", ".join(f"{summary.verdicts[name]} {name}" for name in VERDICTS if summary.verdicts[name])
    said = f"{counts}; {summary.measured} of {len(summary.rows)} measured now -> {summary.results.as_posix()}"
    exit_code = {"pass": EXIT_PASS, "fail": EXIT_FINDINGS}.get(summary.verdict, EXIT_CANNOT_JUDGE)
    print_answer(Answer(summary.verdict.upper(), said, exit_code, tuple(_body(summary))), console)


def _body(summary: Summary) -> Iterator[Sentence | Figures]:
    columns = ("clip", "checkpoint", "mode", "mean error", "mean cm", "copy-last", "")
    yield Figures(f"Worst {len(summary.worst)} of {len(summary.rows)} cells", columns, [*map(_line, summary.worst)])
    for row in summary.worst:
        if row["error"]:
            yield Sentence(f"  {row['clip']}, {row['model']}: {row['error']}", "dim")
    best = summary.best[:BEST_SHOWN]
    if best:
        title = f"Best checkpoint of each clip, {len(best)} of {len(summary.best)}"
        yield Figures(title, columns, [*map(_line, best)])


def _line(row: Row) -> tuple[str, ...]:
    clip, model = (PurePosixPath(row[name]).name for name in ("clip", "model"))
    checkpoint = " ".join(word for word in (model, row["conventions"]) if word)
    numbers = (_number(row["mean_error"], row["unit"]), _number(row["mean_cm"]), _number(row["copy_last_mean_deg"]))
    return clip, checkpoint, row["mode"], *numbers, row["verdict"]


def _number(value: float | None, unit: str | None = None) -> str:
    return "" if value is None else f"{value:.3f}" + (f" {unit}" if unit else "")


JOURNAL, RESULTS = "journal.jsonl", "results.parquet"
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


def in_this_process(cells: Iterable[Cell], measure: Measure = measure_cell) -> Outcomes:
    """Measure the cells one after the other."""
    return ((cell, measure(cell)) for cell in cells)


def run_sweep(plan: Sequence[Cell], folder: Path, runner: Runner = in_this_process) -> Summary:
    """Measure the cells that are not in the folder's journal, then write all rows in the plan's order.

    Raises UnusableInput for a folder that cannot be written, or if pyarrow is missing.
    """
    if util.find_spec("pyarrow") is None:
        raise UnusableInput("rigpact sweep", "no pyarrow", "it, to write Parquet", "pip install 'rigpact[sweep]'")
    with opened_journal(folder) as lines, counted(len(plan), "cells") as advance:
        found = _measured_before(lines, folder / JOURNAL)
        first = {cell.identity: cell for cell in reversed(plan)}  # a copy of a clip or model is not measured twice
        missing = [cell for identity, cell in reversed(first.items()) if identity not in found]
        advance(len(plan) - len(missing))
        for cell, measured in runner(missing) if missing else ():
            found[cell.identity] = vars(measured)
            if measured.error_kind is None:
                lines.write(orjson.dumps({"cell": cell.identity, **vars(measured)}) + b"\n")
                lines.flush()
            advance(1)
    rows = [{**_named(cell), "cell": cell.identity, **found[cell.identity]} for cell in plan]
    _write_results(rows, folder / RESULTS)
    return Summary(rows, len(missing), folder / RESULTS)


def opened_journal(folder: Path) -> IO[bytes]:
    """The journal of a folder, to be continued by this process alone; UnusableInput for a folder that cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return opened_to_append(folder / JOURNAL)
    except OSError as error:
        found = f"a folder that cannot be written ({error.strerror})"
        raise UnusableInput(folder, found, "a writable folder") from None


def _measured_before(lines: IO[bytes], path: Path) -> dict[str, dict[str, Any]]:
    """What a journal holds, by cell; an incomplete last line from a crash is removed."""
    found: dict[str, dict[str, Any]] = {}
    lines.seek(0)
    end = 0
    for number, line in enumerate(lines, start=1):
        if not line.endswith(b"\n"):
            break
        try:
            entry = orjson.loads(line)
            cell = str(entry.pop("cell"))
            found[cell] = vars(MeasuredCell(**entry))
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
            said, hint = line[:40].decode("utf-8", "replace"), "was it edited? a sweep into a new folder starts afresh"
            raise UnusableInput(f"{path}:{number}", repr(said), "a measured cell", hint) from None
        end += len(line)
    lines.truncate(end)
    return found


def in_processes(cells: Iterable[Cell], processes: int, *, measure: Measure = measure_cell) -> Outcomes:
    """Measure the cells in several processes of this machine; one that kills its own, in company and alone, is an error."""
    waiting = iter(cells)
    while suspects := (yield from _until_one_dies(waiting, processes, measure)):
        for cell in suspects:
            if (yield from _until_one_dies(iter([cell]), 1, measure)):
                yield cell, failure(DIED, "the process that measured it died, twice in a row")


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
