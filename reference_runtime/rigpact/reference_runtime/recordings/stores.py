"""Parquet, and LeRobot's data sets in it: `meta/info.json` names the files, one holds many episodes (v3.0) or one (v2.x)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import bytes_to_json, opened, read_bytes, refuse_bomb
from rigpact.contract.files.reading import refuse_too_large
from rigpact.reference_runtime.recordings.tables import Columns, Table, library

_EPISODE = "episode_index"
_FIELD = re.compile(r"\{(\w+)(?::0?(\d)d)?\}")


def is_data_set(root: Any) -> bool:
    """Whether the root of a JSON file is LeRobot's meta/info.json."""
    return isinstance(root, Mapping) and {"codebase_version", "features", "data_path"} <= root.keys()


def read_parquet(path: Path, episode: int | None = None) -> Table:
    """The columns of a Parquet file: numbers, and lists of one length. Of several episodes one must be chosen."""
    table = _read(path)
    episodes = _whole_numbers(table, _EPISODE, path)
    if episodes is None:
        if episode is not None:
            raise UnusableInput(path, f"no column {_EPISODE}", "a data set of episodes")
        return table
    known = np.unique(episodes)
    if episode is None and len(known) > 1:
        hint = f"`rigpact convert {path.name} -o NAME.npz --episode {int(known[0])}`"
        raise UnusableInput(path, f"{len(known)} episodes", "one: its frames are one run", hint)
    if episode is not None and episode not in known:
        raise UnusableInput("--episode", str(episode), f"one of {int(known[0])} to {int(known[-1])}, in {path.name}")
    rows = slice(None) if episode is None else episodes == episode
    return replace(table, columns={name: each[rows] for name, each in table.columns.items()})


def read_data_set(path: Path, episode: int | None) -> Table:
    """An episode of a LeRobot data set by its meta/info.json; the rate is said."""
    root = bytes_to_json(read_bytes(path), path).data
    if episode is None:
        raise UnusableInput("--episode", "nothing", f"one of 0 to {_whole(path, root, 'total_episodes', 1) - 1}")
    table = read_parquet(_file_of(path, root, episode), episode)
    return replace(table, said={"fps": float(_whole(path, root, "fps", 0))} if "fps" in root else {})


def _whole_numbers(table: Table, name: str, path: Path) -> Any:
    """(T,) whole numbers; None where there is no such column."""
    column = table.columns.get(name)
    if column is not None and (column.ndim > 1 or column.dtype.kind not in "iu"):
        found = f"{column.ndim - 1} axes of {column.dtype}" if column.ndim > 1 else f"values of the type {column.dtype}"
        raise UnusableInput(f"{path}#{name}", found, "a whole number in each row")
    return column


def _whole(path: Path, root: Mapping[str, Any], key: str, otherwise: int) -> int:
    value = root.get(key, otherwise)
    if type(value) is not int or not 0 < value < 1 << 31:
        raise UnusableInput(f"{path}#/{key}", repr(value)[:60], "a whole number above 0")
    return value


def _file_of(path: Path, root: Mapping[str, Any], episode: int) -> Path:
    """The file of an episode: by the table of episodes (v3), else by its number (v2)."""
    folder = path.resolve().parent.parent
    places = {_EPISODE: episode, "episode_chunk": episode // _whole(path, root, "chunks_size", 1000)}
    for each in sorted((folder / "meta" / "episodes").rglob("*.parquet")):
        table = _read(each)
        episodes = _whole_numbers(table, _EPISODE, each)
        found = np.empty(0) if episodes is None else np.flatnonzero(episodes == episode)
        for key in ("chunk_index", "file_index"):
            column = _whole_numbers(table, f"data/{key}", each)
            if len(found) and column is not None:
                places[key] = int(column[found[0]])
    template = str(root["data_path"])
    unknown = next((match[1] for match in _FIELD.finditer(template) if match[1] not in places), None)
    if unknown is not None:
        raise UnusableInput("--episode", str(episode), f"an episode of meta/episodes (data_path needs {unknown})")
    inside = _FIELD.sub(lambda match: f"{places[match[1]]:0{match[2] or 1}d}", template)
    file = (folder / inside).resolve()
    if not file.is_relative_to(folder):
        raise UnusableInput(f"{path}#/data_path", inside[:60], "a path inside the data set's folder")
    return file


def _read(path: Path) -> Table:
    """The columns of numbers; of the others, whose words a few bytes may repeat without end, nothing is read."""
    arrow, parquet = library("pyarrow", path), library("pyarrow.parquet", path)
    compute = library("pyarrow.compute", path)
    with opened(path):
        size = path.stat().st_size
        refuse_too_large(path, size)
        try:
            file = parquet.ParquetFile(path, memory_map=False)
            kinds = {field.name: _kind(arrow, field.type) for field in file.schema_arrow}
            groups = [file.metadata.row_group(index) for index in range(file.metadata.num_row_groups)]
            refuse_bomb(path, size, sum(map(_unpacked, groups)))
            numbers = [name for name, kind in kinds.items() if kind]
            table = file.read(columns=numbers)
            read = {name: _numbers(compute, table.column(name), kinds[name]) for name in numbers}
        except (arrow.ArrowException, OSError, ValueError, LookupError, OverflowError, MemoryError) as error:
            raise UnusableInput(path, f"bytes that are not Parquet ({error})", "a Parquet file") from None
    columns = {name: each for name, each in read.items() if each is not None}
    if not columns:
        raise UnusableInput(path, "no column of numbers", "numbers, one row for each frame")
    return Table(columns, notes=tuple(_missing(table, columns)))


def _kind(arrow: Any, kind: Any) -> str:
    """`number` or `list` for a column of numbers or of lists of them, nothing for words, tables, times and others."""
    types = arrow.types
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return "list" if _kind(arrow, kind.value_type) == "number" else ""
    return "number" if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) else ""


def _unpacked(group: Any) -> int:
    """Bytes of a group of rows: its pages, or eight a number, of which a list may have many."""
    values = sum(group.column(index).num_values for index in range(group.num_columns))
    return int(max(group.total_byte_size, 8 * values, 8 * group.num_rows * group.num_columns))


def _numbers(compute: Any, column: Any, kind: str) -> Any:
    """(T,) or (T, n) numbers; what is missing is NaN, a list or a number in it. None for lists of several lengths."""
    array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if kind == "number":
        return _plain(compute, array)
    lengths = compute.list_value_length(array).drop_null().unique().to_pylist()
    if len(lengths) != 1:
        return None
    flat = _plain(compute, array.flatten()).reshape(-1, lengths[0])
    if not array.null_count:
        return flat
    rows = np.full((len(array), lengths[0]), np.nan)
    rows[array.is_valid().to_numpy(zero_copy_only=False)] = flat
    return rows


def _plain(compute: Any, array: Any) -> Any:
    return (compute.cast(array, "uint8") if str(array.type) == "bool" else array).to_numpy(zero_copy_only=False)


def _missing(table: Any, columns: Columns) -> Iterator[str]:
    for name, rows in columns.items():
        own = table.column(name)
        count = own.null_count + sum(chunk.flatten().null_count for chunk in own.chunks if rows.ndim > 1)
        if count:
            first = int(np.flatnonzero(np.isnan(rows.reshape(len(rows), -1)).any(axis=1))[0])
            yield f"{name}: {count} missing values, first in row {first}, are read as not a number"
