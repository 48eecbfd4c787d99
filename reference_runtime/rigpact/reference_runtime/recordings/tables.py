"""Files of named numbers: arrays in .npz or .safetensors, tables in .csv, rows in .jsonl, arrays or rows in .json.

A file is read into columns: a name and one number, or one array, for each frame. What a name means, named_columns.py knows. To
add a format: a reader, and a row in `FORMATS`.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np
import orjson
from numpy.typing import NDArray

from rigpact.contract.declared.sources import read_arrays
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes, write_bytes
from rigpact.contract.files.text import decoded
from rigpact.reference_runtime.recordings.json_tables import (
    SAID,
    is_json_table,
    read_json_lines_table,
    read_json_table,
)
from rigpact.reference_runtime.recordings.number_rows import UNNAMED, Table, table_of_rows, text_number
from rigpact.reference_runtime.recordings.trace_json_lines import json_numbers
from rigpact.reference_runtime.recordings.trace_model import Trace


@dataclass(frozen=True)
class Format:
    """A format of named numbers. write: None for one that is only read.

    holds: by its name a file is columns; or lines, which may be those of an engine's own log; or columns by what it holds.
    """

    read: Callable[[Path], Table]
    write: Callable[[Trace], bytes] | None = None
    holds: Literal["columns", "lines", "anything"] = "columns"
    is_binary: bool = False
    """Whether the file begins with marks of its format: a refusal shows nothing of a file of another kind."""
    is_log: bool = False
    """Whether lines of an engine's own log may stand in such a file."""


def column_suffixes() -> tuple[str, ...]:
    """Names of files that hold columns, whatever is in them."""
    return tuple(suffix for suffix, each in FORMATS.items() if each.holds == "columns")


def may_be_log(path: Path) -> bool:
    """Whether the name of a file leaves open that it is an engine's own log."""
    own = _format_of(path)
    return own is None or own.is_log


def written_suffixes() -> tuple[str, ...]:
    """Names of files that `write_table` writes."""
    return tuple(suffix for suffix, each in FORMATS.items() if each.write)


def is_binary(path: Path) -> bool:
    """Whether the format of a file begins with marks of its own."""
    own = _format_of(path)
    return own is not None and own.is_binary


def _format_of(path: Path) -> Format | None:
    return next((each for suffix, each in FORMATS.items() if path.name.lower().endswith(suffix)), None)


def is_table(path: str | Path) -> bool:
    """Whether a file holds named numbers: by its name, and a .json file by its content."""
    own = _format_of(Path(path))
    return own is not None and (own.holds != "anything" or is_json_table(Path(path)))


def read_table(path: Path) -> Table:
    """Every array or column of a recording; UnusableInput says where it is not a table of numbers."""
    own = _format_of(path)
    if own is None:
        raise UnusableInput(path, f"the name {path.name}", f"a name ending in {', '.join(FORMATS)}")
    if not path.is_file():
        read_bytes(path)  # says what is wrong with it
    return own.read(path)


def _other(place: str, name: str) -> Callable[[Path], Table]:
    """A reader of another module, which is imported with the first file of its format: few runs have one."""

    def read(path: Path) -> Table:
        own: Callable[[Path], Table] = getattr(import_module(f"{__package__}.{place}"), name)
        return own(path)

    return read


def _read_npz(path: Path) -> Table:
    arrays = read_arrays(read_bytes(path), path)
    if not isinstance(arrays, Mapping):
        return Table({UNNAMED: _numbers(np.asarray(arrays), str(path))})
    return _from_arrays(arrays, path)


def _from_arrays(arrays: Mapping[str, Any], path: Path) -> Table:
    own = {name: np.asarray(values) for name, values in arrays.items()}
    said = {name: values.item() for name, values in own.items() if name in SAID and values.size == 1}
    columns = {name: _numbers(values, f"{path}#{name}") for name, values in own.items() if name not in said}
    return Table(columns, said)


def _numbers(values: NDArray[Any], place: str) -> NDArray[Any]:
    if values.dtype.kind not in "fiub":
        raise UnusableInput(place, f"values of the type {values.dtype}", "real numbers, one row for each frame")
    return values


def _read_csv(path: Path) -> Table:
    text = decoded(read_bytes(path), path)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=text.partition("\n")[0].count))
    try:
        header = [name.strip() for name in next(lines, [])]
        rows = [(lines.line_num, words) for words in lines]
    except csv.Error as error:
        raise UnusableInput(
            f"{path}:{lines.line_num}", f"a line that does not belong to a table ({error})", "a table"
        ) from None
    if all(text_number(word) is not None for word in header):
        numbers = _filled([(1, header), *rows], len(header), path)
        unnamed = ({UNNAMED: _cells(words, header, path, line)} for line, words in numbers)
        return table_of_rows(unnamed, path)
    return _named_table(header, rows, path)


def _named_table(header: list[str], rows: list[tuple[int, list[str]]], path: Path) -> Table:
    twice = next((name for name, count in Counter(header).items() if count > 1), None)
    if twice is not None:
        raise UnusableInput(f"{path}:1", f"two columns {twice!r}", "each name once")
    filled = list(_filled(rows, len(header), path))
    said = _said_words(header, filled)
    for place in sorted(map(header.index, said), reverse=True):
        for words in (header, *(row for _, row in filled)):
            del words[place]
    named = (dict(zip(header, _cells(words, header, path, line), strict=True)) for line, words in filled)
    return table_of_rows(named, path, said)


def _said_words(header: list[str], rows: list[tuple[int, list[str]]]) -> dict[str, str]:
    """Columns of words that say something of the whole recording: the same word in every row."""
    found = {}
    for place, name in enumerate(header):
        words = {row[place].strip() for _, row in rows} if name in SAID else set()
        if len(words) == 1 and text_number(word := words.pop()) is None:
            found[name] = word
    return found


def _filled(rows: list[tuple[int, list[str]]], width: int, path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows up to the last that holds anything; UnusableInput for an empty one between them, or one of another width."""
    while rows and not any(word.strip() for word in rows[-1][1]):
        rows.pop()
    for line, words in rows:
        if not any(word.strip() for word in words):
            raise UnusableInput(f"{path}:{line}", "an empty row", "a row for each frame", "a frame that was lost?")
        if len(words) != width:
            raise UnusableInput(f"{path}:{line}", f"{len(words)} values", f"{width}, one for each column")
        yield line, words


def _cells(words: list[str], header: list[str], path: Path, line: int) -> list[float]:
    try:
        return list(map(float, words))
    except ValueError:  # not one of Python's words for a number: C's, or none
        numbers = [text_number(word) for word in words]
    for word, number, column in zip(words, numbers, header, strict=True):
        if number is None:
            hint = "write a point, not a comma, before the decimals" if word.count(",") == 1 else ""
            raise UnusableInput(f"{path}:{line}", f"{word[:40]!r} in the column {column}", "a number", hint)
    return [number for number in numbers if number is not None]


def _read_lines(path: Path) -> Table:
    """Lines of JSON or of a table, under a name that says neither."""
    is_json = decoded(read_bytes(path), path).lstrip().startswith(("{", "["))
    return read_json_lines_table(path) if is_json else _read_csv(path)


def write_table(trace: Trace, path: Path) -> None:
    """Write a recording as arrays (.npz), as a table (.csv), or as arrays in JSON (.json), without what only a trace can say."""
    own = _format_of(path)
    if own is None or own.write is None:
        raise UnusableInput(path, f"the name {path.name}", f"a name ending in {', '.join(written_suffixes())}")
    write_bytes(path, own.write(trace))


def _to_npz(trace: Trace) -> bytes:
    said = {"fps": np.float64(trace.header.fps), "mode": np.str_(trace.header.mode)}
    arrays: dict[str, Any] = {"frame": trace.frame, "time": trace.time_s, **said, **trace.stages}
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def _to_csv(trace: Trace) -> bytes:
    mode = trace.header.mode
    names = [f"{name}[{place}]" for name, width in trace.widths.items() for place in range(width)]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["frame", "time", "mode", *names])
    clock = zip(trace.frame.tolist(), trace.time_s.tolist(), strict=True)
    for row, (frame, time_s) in enumerate(clock):
        numbers = np.concatenate([rows[row] for rows in trace.stages.values()])
        writer.writerow(
            [frame, repr(time_s), mode, *map(str, numbers)]
        )  # the shortest text that reads back as the same float32
    return stream.getvalue().encode()


def _to_json(trace: Trace) -> bytes:
    stages = {name: json_numbers(rows) for name, rows in trace.stages.items()}
    said = {"fps": trace.header.fps, "mode": trace.header.mode, "frame": trace.frame, "time": trace.time_s}
    return orjson.dumps({**said, "stages": stages}, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n"


FORMATS: Mapping[str, Format] = {
    ".npz": Format(_read_npz, _to_npz),
    ".npy": Format(_read_npz),
    ".safetensors": Format(lambda path: _from_arrays(read_arrays(read_bytes(path), path), path)),
    ".csv": Format(_read_csv, _to_csv, is_log=True),
    ".tsv": Format(_read_csv, is_log=True),
    ".txt": Format(_read_lines, holds="lines", is_log=True),
    ".log": Format(_read_lines, holds="lines", is_log=True),
    ".jsonl": Format(read_json_lines_table),
    ".jsonl.gz": Format(read_json_lines_table),
    ".jsonl.zst": Format(read_json_lines_table),
    ".json": Format(read_json_table, _to_json, holds="anything"),
    ".mcap": Format(_other("other_formats.mcap_files", "read_mcap"), is_binary=True),
    ".hdf5": Format(_other("other_formats.hdf5_files", "read_hdf5"), is_binary=True),
    ".h5": Format(_other("other_formats.hdf5_files", "read_hdf5"), is_binary=True),
    ".parquet": Format(_other("other_formats.data_sets", "read_parquet"), is_binary=True),
    ".bvh": Format(_other("other_formats.bvh_files", "read_bvh"), is_binary=True),
}
"""Every format of named numbers, by the end of a file's name."""
