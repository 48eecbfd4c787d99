"""Recordings that people have: arrays or columns with names, in .npz, .npy, .safetensors, .csv or .jsonl.

An array of a .npy has the file's name. A hosted system knows the names that its project uses. A declared contract says in
[recordings] under which name a file holds each vector; else it is the vector's own name. A column of a table is one number:
`q[3]`, `q.left_knee` or `q/left_knee` belong to `q`. Nested JSON objects are read as such names.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.declared.sources import read_arrays
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import MAX_JSON_DEPTH, bytes_to_json, read_bytes
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.layout import FieldLayout
from rigpact.reference_runtime.recordings.trace import is_trace_path
from rigpact.reference_runtime.recordings.trace_model import Trace, TraceHeader

SUFFIXES = (".npz", ".npy", ".safetensors", ".csv", ".jsonl")
_FRAME, _TIME = ("frame", "frames"), ("time", "time_s", "t", "timestamp")
_PLACE = re.compile(r"^(.*)\[(\d+)\]$")
Columns = Mapping[str, NDArray[Any]]
"""Names -> (T,) or (T, …) numbers."""


def is_named_columns(path: str | Path) -> bool:
    """Whether a file's name is that of such a recording."""
    return Path(path).name.lower().endswith(SUFFIXES)


def is_recording_path(path: str | Path) -> bool:
    """Whether a file's name is that of a recording: of a trace, or of named columns."""
    return is_trace_path(path) or is_named_columns(path)


def read_named_columns(path: Path, contract: Any) -> Trace:
    """A recording of a declared contract; UnusableInput where it holds none of its vectors, or one of another width."""
    columns = read_columns(path)
    names: Mapping[str, Any] = contract.system.recordings
    found: dict[str, FloatArray] = {}
    for stage in contract.system.graph.names:
        source = names.get(stage, stage)
        for known in contract.system.published.get(stage, ()):
            source = known if source not in columns and known in columns else source
        rows = _rows(columns, source, contract.fields(stage), path, is_declared=stage in names)
        if rows is not None:
            found[stage] = rows
    if not found:
        held = ", ".join(list(columns)[:12])
        raise UnusableInput(
            path, f"{held or 'nothing'}", "a vector of the contract", "name the columns under [recordings]"
        )
    if contract.system.windowed:
        found = _one_window(found)
    frame, time_s, fps = _clock(columns, found, contract, path)
    is_fed_back = contract.system.graph.feeds_itself and not contract.system.published
    mode = "free" if is_fed_back else "teacher"
    header = TraceHeader(fps, mode, producer="unknown", producer_version="unknown", system=contract.system.name)
    return Trace(header, frame, time_s, found)


def vectors_of(path: Path) -> dict[str, FloatArray]:
    """Every vector of a recording, (T, width): columns `q[0]`, `q.knee` or `q/knee` of a table are one vector `q`."""
    parts: dict[str, list[NDArray[Any]]] = {}
    for name, values in sorted(read_columns(path).items(), key=_place):
        match = _PLACE.match(name)
        whole = match[1] if match else re.split(r"[./]", name, maxsplit=1)[0]
        # an array of a .npz may have a dot or a slash in its own name
        is_array = values.ndim != 1
        parts.setdefault(name if is_array else whole, []).append(values.reshape(len(values) if values.ndim else 1, -1))
    same = {name: {len(each) for each in listed} for name, listed in parts.items()}
    return {name: np.hstack(listed).astype(np.float64) for name, listed in parts.items() if len(same[name]) == 1}


def _place(column: tuple[str, Any]) -> int:
    """The numbered columns of a vector follow their numbers, all others stay as the file has them."""
    match = _PLACE.match(column[0])
    return int(match[2]) if match else -1


def read_columns(path: Path) -> Columns:
    """Every array or column of a recording, by name."""
    content, name = read_bytes(path), path.name.lower()
    if name.endswith(".npy"):
        return {path.stem: np.asarray(read_arrays(content, path))}
    if name.endswith((".npz", ".safetensors")):
        return {key: np.asarray(value) for key, value in read_arrays(content, path).items()}
    rows = _csv_rows(content, path) if name.endswith(".csv") else _json_rows(content, path)
    columns: dict[str, list[float]] = {}
    for line, row in rows:
        if columns and row.keys() != columns.keys():
            other = sorted(row.keys() ^ columns.keys())[0]
            raise UnusableInput(f"{path}:{line}", f"another set of columns ({other})", "the columns of the first row")
        for key, value in row.items():
            columns.setdefault(key, []).append(value)
    return {key: np.array(values, np.float64) for key, values in columns.items()}


def _csv_rows(content: bytes, path: Path) -> Iterator[tuple[int, dict[str, float]]]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnusableInput(path, "bytes that are not text", "UTF-8 with a line of column names") from None
    reader = csv.reader(io.StringIO(text, newline=""))
    header = [name.strip() for name in next(reader, [])]
    if len(set(header)) != len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise UnusableInput(f"{path}:1", f"two columns {twice!r}", "each name once")
    for line, words in enumerate(reader, 2):
        if not words:
            continue
        if len(words) != len(header):
            raise UnusableInput(f"{path}:{line}", f"{len(words)} values", f"{len(header)}, one for each column")
        yield line, {name: _number(word, f"{path}:{line}", name) for name, word in zip(header, words, strict=True)}


def _json_rows(content: bytes, path: Path) -> Iterator[tuple[int, dict[str, float]]]:
    for line, text in enumerate(content.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        if text.strip():
            entry = bytes_to_json(text, f"{path}:{line}").data
            if not isinstance(entry, dict):
                raise UnusableInput(f"{path}:{line}", type(entry).__name__, "an object of names and numbers")
            yield line, dict(_flat(entry, "", f"{path}:{line}", 0))


def _flat(value: Any, name: str, place: str, depth: int) -> Iterator[tuple[str, float]]:
    """The numbers of nested objects and lists by name: `imu.orientation.x`, `q[3]`. Words are passed over."""
    if depth > MAX_JSON_DEPTH:
        raise UnusableInput(place, "nested names without end", f"at most {MAX_JSON_DEPTH} levels")
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _flat(each, f"{name}.{key}" if name else str(key), place, depth + 1)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _flat(each, f"{name}[{index}]", place, depth + 1)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name, float(value)
    elif value is None:
        yield name, float("nan")


def _number(word: str, place: str, column: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise UnusableInput(place, f"{word[:40]!r} in the column {column}", "a number") from None


def _rows(
    columns: Columns, source: str | Sequence[str], fields: FieldLayout, path: Path, *, is_declared: bool
) -> FloatArray | None:
    """(T, width) of one vector; None where the file does not hold it."""
    parts = [_found(columns, name, fields) for name in ([source] if isinstance(source, str) else source)]
    if any(part is None for part in parts):
        if is_declared and any(part is not None for part in parts):
            missing = [name for name, part in zip(source, parts, strict=True) if part is None]
            raise UnusableInput(path, f"no {', '.join(missing)}", "every column that [recordings] names")
        return None
    if fields.width in _batch_of_one(parts):
        parts = [part[0] for part in parts if part is not None]
    rows = np.hstack([part.reshape(len(part), -1) for part in parts if part is not None])
    if rows.shape[1] != fields.width:
        raise UnusableInput(
            f"{path}#{source}", f"{rows.shape[1]} numbers a frame", f"{fields.width}, as the contract has them"
        )
    return rows.astype(np.float32)


def _batch_of_one(parts: Sequence[NDArray[Any] | None]) -> tuple[int, ...]:
    """The width of the rows in a batch of one window, (1, T, …): that of one array."""
    if len(parts) != 1 or parts[0] is None or parts[0].ndim < 3 or len(parts[0]) != 1:
        return ()
    return (int(np.prod(parts[0].shape[2:])),)


def _one_window(found: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """What is said once of a window stands in every row of a recording."""
    count = max(len(rows) for rows in found.values())
    return {name: np.repeat(rows, count, axis=0) if len(rows) == 1 else rows for name, rows in found.items()}


def _found(columns: Columns, name: str, fields: FieldLayout) -> NDArray[Any] | None:
    """An array of that name, or the columns `name[i]`, or one column for each field."""
    if name in columns:
        return columns[name]
    numbered = {int(match[2]): column for column in columns if (match := _PLACE.match(column)) and match[1] == name}
    if numbered and sorted(numbered) == list(range(len(numbered))):
        return np.stack([columns[numbered[place]] for place in range(len(numbered))], axis=-1)
    for separator in (".", "/"):
        named = [f"{name}{separator}{field.name}" for field in fields]
        if all(column in columns for column in named):
            return np.stack([columns[column] for column in named], axis=-1)
    return None


def _clock(
    columns: Columns, found: Mapping[str, FloatArray], contract: Any, path: Path
) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
    lengths = {name: len(rows) for name, rows in found.items()}
    if len(set(lengths.values())) > 1:
        raise UnusableInput(path, f"{lengths} rows", "as many rows of each vector")
    count = next(iter(lengths.values()))
    frame = next((columns[name] for name in _FRAME if name in columns and columns[name].shape == (count,)), None)
    numbers = np.arange(count) if frame is None else frame.astype(np.int64)
    if frame is not None and (np.any(np.diff(numbers) <= 0) or np.any(numbers < 0) or np.any(numbers != frame)):
        raise UnusableInput(
            f"{path}#frame", "frame numbers that do not rise", "whole numbers, each above the one before"
        )
    time = next((columns[name] for name in _TIME if name in columns and columns[name].shape == (count,)), None)
    fps = contract.fps
    if fps is None and time is not None and count > 1:
        fps = float(1.0 / np.median(np.diff(time)))
    if fps is None:
        raise UnusableInput(path, "no frames per second", "fps in the contract, or a column time")
    return numbers, numbers / fps if time is None else time.astype(np.float64), float(fps)
