"""Recordings as JSON: rows of names and numbers, one a line or in a list, or an object of arrays.

A row may be a frame of a trace without the trace's header. Nested objects are read as names: `imu.orientation.x`.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import MAX_JSON_DEPTH, JsonFile
from rigpact.reference_runtime.recordings.json_lines import cut_off_text, json_line, lines_of
from rigpact.reference_runtime.recordings.number_rows import (
    UNNAMED,
    Table,
    is_number,
    stacked,
    table_of_rows,
    to_number,
)
from rigpact.reference_runtime.recordings.trace_model import FORMAT

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
    rows: list[dict[str, Any]] = []
    said: dict[str, Any] = {}
    truncation = None
    for line, (text, whole) in enumerate(lines_of(path), 1):
        if not text.strip():
            continue
        try:
            entry = json_line(text.removeprefix(b"\xef\xbb\xbf"), f"{path}:{line}")
        except UnusableInput:
            truncation = cut_off_text(text, whole, line, len(rows))
            if truncation is None:
                raise
            break
        said = said or _said_of(entry)
        if rows or not isinstance(entry, dict) or entry.get("format") != FORMAT:
            rows.append(_row(entry, f"{path}:{line}"))
    return table_of_rows(rows, path, said, truncation)


def _row(entry: Any, place: str) -> dict[str, Any]:
    if isinstance(entry, list):
        return {UNNAMED: entry}
    if not isinstance(entry, dict):
        raise UnusableInput(place, type(entry).__name__, "an object of names and numbers")
    return dict(flat(entry, "", place, 0))


def json_to_table(read: JsonFile) -> Table:
    """A list of rows, or an object of arrays whose first axis is the frames."""
    path = read.path
    for pointer in read.repeated_keys:
        raise UnusableInput(f"{path}#{pointer}", "a key that stands twice", "every key once", "two parsers differ")
    root, said = read.data, _said_of(read.data)
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
