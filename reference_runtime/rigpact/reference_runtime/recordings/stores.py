"""Stores of arrays: HDF5, Parquet, and LeRobot's data sets in it.

HDF5: every data set of numbers as a column, by its path. Links, virtual and external data sets, words and images are passed
over. A chunk that unpacks to more than its size is refused before the library sees it: that grows its memory until the chunk is
whole. LeRobot: `meta/info.json` names the files, one holds many episodes (v3.0) or one (v2.x).
"""

import math
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import bytes_to_json, opened, read_bytes, refuse_bomb
from rigpact.contract.files.reading import refuse_too_large
from rigpact.reference_runtime.recordings.tables import Columns, Table, library

_MAX_DEPTH, _MAX_AXES, _MAX_COLUMNS = 16, 3, 1 << 16
_DAMAGED = (OSError, KeyError, RuntimeError, ValueError, TypeError, UnicodeDecodeError, OverflowError, MemoryError)


def read_hdf5(path: Path) -> Table:
    """The columns of an HDF5 file: `observations/qpos` is the column observations.qpos."""
    h5py = library("h5py", path)
    columns: dict[str, Any] = {}
    with opened(path):
        size = path.stat().st_size
        refuse_too_large(path, size)
        try:
            with h5py.File(path, "r") as root:
                unpacked = 0
                for name, data in _data_sets(h5py, root, "", {_address(h5py, root)}):
                    unpacked += max(data.size, math.prod(data.chunks or ())) * data.dtype.itemsize
                    refuse_bomb(path, size, unpacked)
                    if len(columns) == _MAX_COLUMNS:
                        raise UnusableInput(path, f"more than {_MAX_COLUMNS} data sets", "a part of it")
                    _refuse_lies(h5py, data, f"{path}#{name}")
                    columns[name] = np.asarray(data[()])
        except _DAMAGED as error:
            raise UnusableInput(path, f"bytes that are not HDF5 ({error})", "an HDF5 file") from None
    if not columns:
        raise UnusableInput(path, "no data set of numbers", "data sets, one row for each frame")
    return Table(columns)


def _refuse_lies(h5py: Any, data: Any, place: str) -> None:
    """UnusableInput for a chunk that unpacks to more than it may, or by a filter that cannot be measured."""
    if data.chunks is None:
        return
    pipeline = data.id.get_create_plist()
    filters = [pipeline.get_filter(index)[0] for index in range(pipeline.get_nfilters())]
    kept = [each for each in filters if each != h5py.h5z.FILTER_FLETCHER32]
    if {*filters} - {h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32, h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_LZF}:
        raise UnusableInput(place, f"numbers packed by the filters {filters}", "gzip or lzf", "save it with gzip")
    if h5py.h5z.FILTER_DEFLATE not in filters:  # lzf unpacks a byte to 88 at most
        return
    if kept[-1] != h5py.h5z.FILTER_DEFLATE or filters.count(h5py.h5z.FILTER_DEFLATE) > 1:
        raise UnusableInput(place, f"the filters {filters}", "gzip as the last one")
    most = math.prod(data.chunks) * data.dtype.itemsize
    chunks: list[Any] = []
    data.id.chunk_iter(chunks.append)
    for info in chunks:
        mask, content = data.id.read_direct_chunk(info.chunk_offset)
        packed = content[:-4] if len(kept) < len(filters) else content
        if not mask and _unpacks_to_more(packed, most):
            raise UnusableInput(place, "a chunk that unpacks to more", f"at most {most} bytes")


def _unpacks_to_more(packed: bytes, most: int) -> bool:
    """Whether bytes of zlib or gzip (47) unpack to more than `most`, or to several streams; so many are unpacked at most."""
    unpacker = zlib.decompressobj(47)
    try:
        return len(unpacker.decompress(packed, most + 1)) > most or bool(unpacker.unused_data)
    except zlib.error as error:
        raise ValueError(str(error)) from None


def _data_sets(h5py: Any, group: Any, name: str, entered: set[Any]) -> Iterator[tuple[str, Any]]:
    """Data sets by their paths. entered: the addresses of the groups so far: hard links may make rings of them."""
    for key in group:
        if name.count(".") >= _MAX_DEPTH or not isinstance(group.get(key, getlink=True), h5py.HardLink):
            continue
        inside, own = group[key], f"{name}.{key}" if name else str(key)
        if isinstance(inside, h5py.Group) and (address := _address(h5py, inside)) not in entered:
            entered.add(address)
            yield from _data_sets(h5py, inside, own, entered)
        elif isinstance(inside, h5py.Dataset) and _is_column(inside):
            yield own, inside


def _address(h5py: Any, group: Any) -> Any:
    return h5py.h5o.get_info(group.id).addr


def _is_column(data: Any) -> bool:
    is_here = not data.is_virtual and not data.external
    return is_here and data.dtype.kind in "fiub" and 0 < data.ndim <= _MAX_AXES and bool(data.size)


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
