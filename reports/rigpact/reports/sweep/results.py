"""Write the rows of a sweep to Parquet in the plan's order: the same bytes on every machine.

A row holds no time and no machine name. Needs pyarrow (extra `sweep`).
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import written_whole
from rigpact.reports.sweep.journal import Journal
from rigpact.reports.sweep.measure import Measured
from rigpact.reports.sweep.plan import Cell, SweepPlan

RESULTS = "results.parquet"
Row = Mapping[str, Any]
_KINDS = {"str": "string", "int": "int64", "float": "double"}
COLUMNS: Mapping[str, str] = {
    **dict.fromkeys(("cell", "clip", "model", "conventions", "mode"), "string"),
    **{each.name: _KINDS[str(getattr(each.type, "__name__", each.type)).split(" |")[0]] for each in fields(Measured)},
    **dict.fromkeys(
        ("bundle", "bundle_sha256", "companion_sha256", "model_sha256", "clip_sha256", "rigpact_version"), "string"
    ),
}
"""All columns with their Arrow types, in order: the cell, what was measured of it, its files."""
_ROWS_AT_ONCE = 1024
"""Rows in a row group: limits the memory for writing; another value changes the file's bytes."""


def require_pyarrow() -> None:
    """Raise UnusableInput if Parquet cannot be written; called before any measurement."""
    from importlib.util import find_spec

    if find_spec("pyarrow") is None:
        raise UnusableInput("rigpact sweep", "no pyarrow", "it, to write Parquet", "pip install 'rigpact[sweep]'")


def rows_of(plan: SweepPlan, journal: Journal) -> Iterator[Row]:
    """The rows of all cells, in the plan's order."""
    for cell in plan:
        yield {**_named(cell), **journal.measured(cell.identity)}


def _named(cell: Cell) -> dict[str, Any]:
    return {
        "cell": cell.identity, "clip": cell.clip.name, "model": cell.model.name, "conventions": cell.conventions,
        "mode": cell.mode, "bundle": cell.bundle.name, "bundle_sha256": cell.bundle.sha256,
        "companion_sha256": cell.companion.sha256 if cell.companion else None,
        "model_sha256": cell.model.sha256, "clip_sha256": cell.clip.sha256, "rigpact_version": cell.version,
    }  # fmt: skip


def write_results(rows: Iterable[Row], folder: Path) -> Path:
    """Write rows to FOLDER/results.parquet, first under a temporary name; returns the path."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path, remaining = folder / RESULTS, iter(rows)
    kinds = {"string": pa.string(), "int64": pa.int64(), "double": pa.float64()}
    schema = pa.schema([(name, kinds[kind]) for name, kind in COLUMNS.items()])
    with written_whole(path) as stream, pq.ParquetWriter(stream, schema, compression="zstd") as writer:
        while chunk := list(itertools.islice(remaining, _ROWS_AT_ONCE)):
            columns = {name: [row[name] for row in chunk] for name in COLUMNS}
            writer.write_table(pa.table(columns, schema=schema))
    return path


def read_results(folder: Path) -> list[dict[str, Any]]:
    """The rows of a finished sweep."""
    import pyarrow.parquet as pq

    rows: list[dict[str, Any]] = pq.read_table(folder / RESULTS).to_pylist()
    return rows
