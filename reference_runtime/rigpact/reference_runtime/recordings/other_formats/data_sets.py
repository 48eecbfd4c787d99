"""Parquet, and LeRobot's data sets in it: `meta/info.json` names the files, one holds many episodes (v3.0) or one (v2.x)."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import bytes_to_json, opened, read_bytes, refuse_bomb
from rigpact.contract.files.reading import refuse_too_large
from rigpact.reference_runtime.recordings.number_rows import Table
from rigpact.reference_runtime.recordings.other_formats.libraries import library

_EPISODE = "episode_index"
_FIELD = re.compile(r"\{(\w+)(?::0?(\d)d)?\}")


def is_data_set(root: Any) -> bool:
    """Whether the root of a JSON file is LeRobot's meta/info.json."""
    return isinstance(root, Mapping) and {"codebase_version", "features", "data_path"} <= root.keys()


def read_parquet(path: Path, episode: int | None = None) -> Table:
    """The columns of a Parquet file: numbers, and lists of one length. Of several episodes one must be chosen."""
    columns = _columns(path)
    episodes = columns.get(_EPISODE)
    if episodes is None:
        if episode is not None:
            raise UnusableInput(path, f"no column {_EPISODE}", "a data set of episodes")
        return Table(columns)
    known = np.unique(episodes)
    if episode is None and len(known) > 1:
        hint = f"`rigpact import {path.name} -o NAME.npz --episode {int(known[0])}`"
        raise UnusableInput(path, f"{len(known)} episodes", "one: its frames are one run", hint)
    if episode is not None and episode not in known:
        raise UnusableInput("--episode", str(episode), f"one of {int(known[0])} to {int(known[-1])}, in {path.name}")
    rows = slice(None) if episode is None else episodes == episode
    return Table({name: each[rows] for name, each in columns.items()})


def read_data_set(path: Path, episode: int | None) -> Table:
    """An episode of a LeRobot data set by its meta/info.json; the rate is said."""
    root = bytes_to_json(read_bytes(path), path).data
    if episode is None:
        raise UnusableInput("--episode", "nothing", f"one of 0 to {int(root.get('total_episodes') or 1) - 1}")
    table = read_parquet(_file_of(path, root, episode), episode)
    fps = root.get("fps")
    return Table(table.columns, {"fps": float(fps)} if isinstance(fps, int | float) else {})


def _file_of(path: Path, root: Mapping[str, Any], episode: int) -> Path:
    """The file of an episode: by the table of episodes (v3), else by its number (v2)."""
    folder = path.resolve().parent.parent
    places = {_EPISODE: episode, "episode_chunk": episode // int(root.get("chunks_size") or 1000)}
    for each in sorted((folder / "meta" / "episodes").rglob("*.parquet")):
        table = _columns(each)
        found = np.flatnonzero(table[_EPISODE] == episode) if _EPISODE in table else np.empty(0, np.int64)
        for key in ("chunk_index", "file_index"):
            if len(found) and f"data/{key}" in table:
                places[key] = int(table[f"data/{key}"][found[0]])
    template = str(root["data_path"])
    unknown = next((match[1] for match in _FIELD.finditer(template) if match[1] not in places), None)
    if unknown is not None:
        raise UnusableInput("--episode", str(episode), f"an episode of meta/episodes (data_path needs {unknown})")
    inside = _FIELD.sub(lambda match: f"{places[match[1]]:0{match[2] or 1}d}", template)
    file = (folder / inside).resolve()
    if not file.is_relative_to(folder):
        raise UnusableInput(f"{path}#/data_path", inside[:60], "a path inside the data set's folder")
    return file


def _columns(path: Path) -> dict[str, Any]:
    arrow, parquet = library("pyarrow", path), library("pyarrow.parquet", path)
    with opened(path):
        size = path.stat().st_size
        refuse_too_large(path, size)
        try:
            file = parquet.ParquetFile(path, memory_map=False)
            groups = [file.metadata.row_group(index) for index in range(file.metadata.num_row_groups)]
            cells = 8 * file.metadata.num_columns
            refuse_bomb(path, size, sum(max(group.total_byte_size, cells * group.num_rows) for group in groups))
            table = file.read()
            read = {name: _numbers(arrow, table.column(name)) for name in dict.fromkeys(table.column_names)}
        except (arrow.ArrowException, OSError, ValueError, LookupError, OverflowError, MemoryError) as error:
            raise UnusableInput(path, f"bytes that are not Parquet ({error})", "a Parquet file") from None
    columns = {name: each for name, each in read.items() if each is not None}
    if not columns:
        raise UnusableInput(path, "no column of numbers", "numbers, one row for each frame")
    return columns


def _numbers(arrow: Any, column: Any) -> Any:
    """(T,) or (T, n) numbers; None for words, tables and lists of several lengths."""
    array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    kind, width = array.type, None
    if arrow.types.is_list(kind) or arrow.types.is_large_list(kind) or arrow.types.is_fixed_size_list(kind):
        lengths = {len(each) for each in array}
        width = lengths.pop() if len(lengths) == 1 else None
        if width is None or array.null_count:
            return None
        array, kind = array.flatten(), kind.value_type
    is_number = arrow.types.is_integer(kind) or arrow.types.is_floating(kind) or arrow.types.is_boolean(kind)
    if not is_number:
        return None
    flat = array.to_numpy(zero_copy_only=False)
    return flat if width is None else flat.reshape(-1, width)
