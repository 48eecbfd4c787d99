"""Tables of named numbers: arrays in .npz or .safetensors, text in .csv, rows in .jsonl, arrays or rows in .json.

A file is read into columns: a name and one number, or one array, for each frame; a row of another shape is refused at its place.
What a name means, named_columns.py knows; which file is of which format, opened.py.
"""

from __future__ import annotations

import csv
import io
import math
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from rigpact.contract.declared.sources import read_arrays
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import MAX_JSON_DEPTH, JsonFile, write_bytes, written_whole
from rigpact.contract.files.json_text import decoded
from rigpact.reference_runtime.recordings.trace import FORMAT, Trace
from rigpact.reference_runtime.recordings.trace_lines import JsonLines, json_numbers

UNNAMED = ""
"""The name of an array that has none."""
_NOT_FINITE = {
    **dict.fromkeys(("nan", "-nan", "+nan", "nan(ind)", "-nan(ind)", "1.#qnan", "1.#ind", "-1.#ind"), math.nan),
    **dict.fromkeys(("inf", "+inf", "infinity", "1.#inf"), math.inf),
    **dict.fromkeys(("-inf", "-infinity", "-1.#inf"), -math.inf),
}
"""Values that are not finite, as writers of JSON, Python, C and C++ print them."""
Columns = Mapping[str, NDArray[Any]]
"""Names -> (T,) or (T, …) numbers."""


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of a file, and what it says of the whole recording: fps, mode, clip.

    is_text: its numbers were printed, and may have lost digits. truncation: where a file that was cut off ends.
    partial: columns that stand in some rows only, and in how many: they are left out. notes: how its rows were made, in words.
    """

    columns: Columns
    said: Mapping[str, Any] = field(default_factory=dict)
    is_text: bool = False
    truncation: str | None = None
    partial: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def about(self) -> tuple[str, ...]:
        """How its rows were made, and what was left out, in words."""
        return (*self.notes, *(f"{name} stands in {where}: it is left out" for name, where in self.partial.items()))


def library(name: str, path: object) -> Any:
    """A module of a library; UnusableInput that names the extra where it is not installed."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != name.partition(".")[0]:
            raise  # the library is there, and is itself broken
        package = name.partition(".")[0].replace("_", "-")
        hint = "pip install 'rigpact[readers]'"
        raise UnusableInput(path, f"no library {package}", f"{package}, which reads this format", hint) from None


def table_of_rows(
    rows: Iterable[Mapping[str, Any]], path: Path, said: Mapping[str, Any] | None = None, truncation: str | None = None
) -> Table:
    """The columns that every row has; UnusableInput where there is none."""
    columns: dict[str, list[Any]] = {}
    count = 0
    for row in rows:
        count += 1
        for key, value in row.items():
            columns.setdefault(key, []).append(value)
    if not columns:
        raise UnusableInput(path, "no row of numbers", "one row for each frame")
    whole = {name: values for name, values in columns.items() if len(values) == count}
    if not whole:
        raise UnusableInput(
            path, f"{len(columns)} names, each in some of the {count} frames only", "names that every frame has"
        )
    partial = {name: f"{len(values)} of {count} frames" for name, values in columns.items() if name not in whole}
    stacks = {name: stacked(values, f"{path}#{name}") for name, values in whole.items()}
    return Table(stacks, said or {}, is_text=True, truncation=truncation, partial=partial)


def stacked(values: list[Any], place: str) -> NDArray[Any]:
    """(T, …) numbers of T frames; UnusableInput for a frame of another shape, or one that holds something else."""
    if _are_floats(values):
        return np.array(values, np.float64)
    flat: list[float] = []
    shape: tuple[int, ...] | None = None
    for index, value in enumerate(values, 1):
        own = _collected(value, flat, f"{place}, frame {index} of the file")
        if shape not in (None, own):
            found, wanted = math.prod(own), math.prod(shape or ())
            raise UnusableInput(
                f"{place}, frame {index} of the file", f"{found} numbers", f"{wanted}, as in the first frame"
            )
        shape = own
    return np.array(flat, np.float64).reshape(len(values), *(shape or ()))


def _are_floats(values: list[Any]) -> bool:
    return set(map(type, values)) == {float}


def _collected(value: Any, flat: list[float], place: str) -> tuple[int, ...]:
    """Append the numbers of nested lists; returns their shape."""
    if not isinstance(value, list):
        if not is_number(value) and value is not None:
            raise UnusableInput(place, repr(value)[:60], "a number")
        flat.append(to_number(value))
        return ()
    if _are_floats(value):
        flat += value
        return (len(value),)
    inner = {_collected(each, flat, place) for each in value}
    if len(inner) > 1:
        raise UnusableInput(place, "rows of different lengths", "as many numbers in each row")
    return (len(value), *(inner.pop() if inner else ()))


def is_number(value: Any) -> bool:
    """Whether a value of JSON is a number, or the word for one that is not finite. An integer beyond every float is none."""
    if isinstance(value, str):
        return value.strip().lower() in _NOT_FINITE
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, float) or abs(value) <= sys.float_info.max


def to_number(value: Any) -> float:
    """The number; null is NaN."""
    if isinstance(value, str):
        return _NOT_FINITE[value.strip().lower()]
    return math.nan if value is None else float(value)


def text_number(word: str) -> float | None:
    """The number that a word of text is; None where it is none."""
    try:
        return to_number(word) if is_number(word) else float(word)
    except ValueError:
        return None


_IN_BRACKETS = re.compile(r"\[\d+\]$")
_SHOWN = 8


def left_out(table: Table, names: Iterable[str], used: Collection[str]) -> Iterator[str]:
    """What of a table no vector of a contract takes, in words. names: the table's columns; used: those that are taken."""
    yield from table.about
    known = {*used, *(_IN_BRACKETS.sub("", name) for name in used)}
    others = [
        name
        for name in dict.fromkeys(_IN_BRACKETS.sub("", name) for name in names)
        if name not in known and not any(name.startswith((f"{each}.", f"{each}/")) for each in known)
    ]
    if others:
        more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
        yield f"the contract does not know {', '.join(others[:_SHOWN])}{more}: not judged"


SAID = ("fps", "mode", "clip")
"""What a file may say of the whole recording, beside its columns."""
_STAGES = "stages"
"""The key under which a trace's frame holds its vectors."""


def holds_rows(value: Any) -> bool:
    """Whether a value of JSON holds numbers in rows, or rows of named numbers."""
    if isinstance(value, Mapping):
        return any(isinstance(each, list) and is_number(_first(each)) for each in value.values())
    return isinstance(value, list) and bool(value) and (isinstance(value[0], Mapping) or is_number(_first(value)))


def _first(value: Any) -> Any:
    while isinstance(value, list) and value:
        value = value[0]
    return value


def read_json_lines_table(path: Path) -> Table:
    """One row a line after a trace's header, if there is one; a last line that was cut off is passed over, and said."""
    rows, said, lines = list[dict[str, Any]](), dict[str, Any](), JsonLines(path)
    for line, _, entry in lines:
        said = said or _said_of(entry)
        if rows or not isinstance(entry, dict) or entry.get("format") != FORMAT:
            rows.append(_row(entry, f"{path}:{line}"))
    return table_of_rows(rows, path, said, lines.truncation or None)


def _row(entry: Any, place: str) -> dict[str, Any]:
    if isinstance(entry, list):
        return {UNNAMED: entry}
    if not isinstance(entry, dict):
        raise UnusableInput(place, type(entry).__name__, "an object of names and numbers")
    return dict(flat(entry, "", place, 0))


def json_to_table(read: JsonFile) -> Table:
    """A list of rows, or an object of arrays whose first axis is the frames."""
    path, root, said = read.path, read.with_each_key_once().data, _said_of(read.data)
    if isinstance(root, dict):
        listed = [value for value in root.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
        if not listed:
            named = {name: values for name, values in flat(root, "", f"{path}#", 0) if isinstance(values, list)}
            columns = {name: stacked(values, f"{path}#/{name}") for name, values in named.items()}
            return Table(columns, said, is_text=True)
        root = listed[0]
    if not isinstance(root, list) or not root:
        raise UnusableInput(f"{path}#", "no rows", "a list of frames, or an object of named arrays")
    is_of_lists = isinstance(root[0], list)
    for index, entry in enumerate(root):
        if isinstance(entry, list) is not is_of_lists:
            raise UnusableInput(f"{path}#/{index}", f"a {type(entry).__name__}", "an entry like the first one")
    return table_of_rows((_row(entry, f"{path}#/{index}") for index, entry in enumerate(root)), path, said)


def _said_of(entry: Any) -> dict[str, Any]:
    if not isinstance(entry, dict):
        return {}
    return {name: entry[name] for name in SAID if isinstance(entry.get(name), str | int | float)}


def flat(value: Any, name: str, place: str, depth: int) -> Iterator[tuple[str, Any]]:
    """The numbers and the arrays of nested objects by name. Words are passed over."""
    if depth > MAX_JSON_DEPTH:
        raise UnusableInput(place, "nested names without end", f"at most {MAX_JSON_DEPTH} levels")
    inner: Iterable[tuple[str, Any]] = ()
    if isinstance(value, Mapping):
        held = _unwrapped(value) if depth == 0 else value
        inner = ((f"{name}.{key}" if name else str(key), each) for key, each in held.items())
    elif isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
        inner = ((f"{name}[{index}]", each) for index, each in enumerate(value))
    elif isinstance(value, list):
        if not value or not all(isinstance(each, str) and not is_number(each) for each in value):
            yield name, value
    elif is_number(value) or value is None:
        yield name, to_number(value)
    for inner_name, each in inner:
        yield from flat(each, inner_name, place, depth + 1)


def _unwrapped(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """A frame's names and numbers: those of a trace's frame stand under `stages`."""
    inside = entry.get(_STAGES)
    if not isinstance(inside, Mapping):
        return entry
    return {**{name: value for name, value in entry.items() if name != _STAGES}, **inside}


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
