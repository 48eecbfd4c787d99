"""Files of named numbers: arrays in .npz or .safetensors, tables in .csv, rows in .jsonl, arrays or rows in .json.

A file is read into columns: a name and one number, or one array, for each frame. What a name means, named_columns.py knows;
which file is of which format, opened.py.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from rigpact.contract.declared.sources import read_arrays
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import write_bytes, written_whole
from rigpact.contract.files.text import decoded
from rigpact.reference_runtime.recordings.json_tables import SAID, read_json_lines_table
from rigpact.reference_runtime.recordings.number_rows import UNNAMED, Table, table_of_rows, text_number
from rigpact.reference_runtime.recordings.trace_json_lines import json_numbers
from rigpact.reference_runtime.recordings.trace_model import Trace


def bytes_to_arrays(content: bytes, path: Path) -> Table:
    """The arrays of a .npz or .safetensors; the one of a .npy has no name."""
    arrays = read_arrays(content, path)
    if not isinstance(arrays, Mapping):
        return Table({UNNAMED: _numbers(np.asarray(arrays), str(path))})
    own = {name: np.asarray(values) for name, values in arrays.items()}
    said = {name: values.item() for name, values in own.items() if name in SAID and values.size == 1}
    columns = {name: _numbers(values, f"{path}#{name}") for name, values in own.items() if name not in said}
    return Table(columns, said)


def _numbers(values: NDArray[Any], place: str) -> NDArray[Any]:
    if values.dtype.kind not in "fiub":
        raise UnusableInput(place, f"values of the type {values.dtype}", "real numbers, one row for each frame")
    return values


def bytes_to_csv(content: bytes, path: Path) -> Table:
    """The columns of a table of text: commas, semicolons or tabs between them."""
    text = decoded(content, path)
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


def bytes_to_lines(content: bytes, path: Path) -> Table:
    """Lines of JSON or of a table, under a name that says neither."""
    is_json = decoded(content, path).lstrip().startswith(("{", "["))
    return read_json_lines_table(path) if is_json else bytes_to_csv(content, path)


def write_npz(trace: Trace, path: Path) -> None:
    """Write a recording as arrays, without what only a trace can say."""
    said = {"fps": np.float64(trace.header.fps), "mode": np.str_(trace.header.mode)}
    arrays: dict[str, Any] = {"frame": trace.frame, "time": trace.time_s, **said, **trace.stages}
    with written_whole(path) as stream:
        np.savez(stream, **arrays)


def write_csv(trace: Trace, path: Path) -> None:
    """Write a recording as a table: a column a number."""
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
    write_bytes(path, stream.getvalue().encode())


def write_json(trace: Trace, path: Path) -> None:
    """Write a recording as arrays in JSON."""
    stages = {name: json_numbers(rows) for name, rows in trace.stages.items()}
    said = {"fps": trace.header.fps, "mode": trace.header.mode, "frame": trace.frame, "time": trace.time_s}
    write_bytes(path, orjson.dumps({**said, "stages": stages}, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n")
