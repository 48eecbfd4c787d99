"""What a file is: told once, by what it holds; its name counts only where many files look alike. Then it is read once.

`open_file` is the door of every command: a kind, and content that is read when it is first asked for. To add a format: a row in
`FORMATS`. To add a kind of artefact in JSON or TOML: a row in contract/documents.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.documents import Document, Kind, content_to_document, has_marking_key, kind_of
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import JsonFile, bytes_to_json, is_file, opened, read_bytes
from rigpact.contract.files.json_text import decoded
from rigpact.contract.files.reading import remembered
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.recordings import tables
from rigpact.reference_runtime.recordings.tables import Columns, Table, holds_rows, json_to_table, read_json_lines_table
from rigpact.reference_runtime.recordings.trace import Trace
from rigpact.reference_runtime.recordings.trace_bytes import (
    read_binary,
    read_safetensors,
    write_binary,
    write_safetensors,
)
from rigpact.reference_runtime.recordings.trace_lines import (
    begins_with_a_frame,
    read_json_lines,
    write_json_lines,
)

LOG_MARKS = (
    b"[DeltaCompose]", b"[Schema OK]", b"[FusedModel]", b"[TDbg]", b"[PoseHist]", b"[Probe-CS]", b"[BuildCondVector]",
    b"y_reproj[0..11]",
)  # fmt: skip
"""What stands in the lines that the deployed engine's motion model prints."""
SETTINGS_NAMES = frozenset({"rigpact.toml", "pyproject.toml"})
_LOOKED_AT = 1 << 20
"""Bytes in which a recording names a vector: a header, or the first frame."""
_LINE_OF = re.compile(r"(:\d+)?")
_LONGEST_MARK = 16


@dataclass(frozen=True)
class Format:
    """The files of one ending, or of one mark. kind: of each, or what tells it.

    columns, trace: readers, of one that holds numbers; write: None for one that is only read. mark: how its files begin,
    whatever they are called; a refusal shows nothing of a file without it. is_listed: whether a folder's files of this ending
    are recordings without a look. is_log: whether lines of an engine's own log may stand in it.
    """

    kind: Kind | Callable[[Opened], Kind | None] = Kind.COLUMNS
    columns: Callable[[Opened], Table] | None = None
    trace: Callable[[Path], Trace] | None = None
    write: Callable[[Trace, Path], None] | None = None
    mark: bytes = b""
    is_listed: bool = True
    is_log: bool = False


class Opened:
    """A file: its kind, None for what rigpact does not know, and what it holds, each read when first asked for."""

    def __init__(self, path: Path) -> None:
        """Nothing is read yet."""
        self.path = path

    @cached_property
    def is_there(self) -> bool:
        """Whether it is a file; one that is not has the kind that its name says."""
        return is_file(self.path)

    @cached_property
    def format(self) -> Format | None:
        """The row of its mark, else of its ending."""
        begin = b""
        if self.is_there:
            with opened(self.path) as stream:
                begin = stream.read(_LONGEST_MARK)
        marked = (each for each in FORMATS.values() if each.mark and begin.startswith(each.mark))
        return next(marked, None) or _format_of(self.path)

    @cached_property
    def kind(self) -> Kind | None:
        """What it is."""
        own = self.format
        if (own is None or own.is_log) and self.is_there and any(mark in self._plain for mark in LOG_MARKS):
            return Kind.ENGINE_LOG
        if own is None:
            return _document_kind(self) if self.is_there else None
        return own.kind(self) if callable(own.kind) else own.kind

    @property
    def is_recording(self) -> bool:
        """Whether it holds recorded numbers: a trace, or columns."""
        return self.kind in (Kind.TRACE, Kind.COLUMNS)

    @cached_property
    def content(self) -> bytes:
        """All of its bytes."""
        return read_bytes(self.path)

    @property
    def _plain(self) -> bytes:
        return self.content.replace(b"\0", b"")

    @cached_property
    def json(self) -> JsonFile:
        """The value of JSON that is no document, also in UTF-16."""
        return bytes_to_json(decoded(self.content, self.path).encode(), self.path)

    @cached_property
    def document(self) -> Document:
        """The artefact in JSON or TOML; UnusableInput where it is none."""
        return content_to_document(self.content, self.path)

    @cached_property
    def table(self) -> Table:
        """Every array or column; UnusableInput says where it is not a table of numbers."""
        own = self.format
        if own is None or own.columns is None:
            raise _other_name(
                self.path, (ending for ending, each in FORMATS.items() if each.columns and not each.trace)
            )
        if not self.is_there:
            read_bytes(self.path)  # says what is wrong with it
        return own.columns(self)

    def table_of(self, names: Iterable[str]) -> Table:
        """The table; the refusal of a file that holds none of these names shows nothing that stands in it."""
        try:
            return self.table
        except UnusableInput as error:
            is_marked = self.format is not None and bool(self.format.mark)
            if is_marked or not self.is_there or self._names_one(names):
                raise
            place = error.place if _LINE_OF.fullmatch(error.place.removeprefix(str(self.path))) else self.path
            raise UnusableInput(place, "no table of numbers, and no vector of the contract", "a recording") from None

    @property
    def notes(self) -> tuple[str, ...]:
        """How the rows of a recording were made, and what was left out, in words."""
        held = self.table if self.kind is Kind.COLUMNS else self.trace
        said = self.table.about if self.kind is Kind.COLUMNS else self.trace.notes
        return said if held.truncation is None else (*said, f"the recording is incomplete: {held.truncation}")

    def _names_one(self, names: Iterable[str]) -> bool:
        """Whether the start of the file holds a name, with no letter beside it: a vector may be called `x`."""
        words = "|".join(map(re.escape, names))
        with opened(self.path) as stream:
            start = stream.read(_LOOKED_AT).replace(b"\0", b"")
        return re.search(rf"(?<![^\W\d_])(?:{words})(?![^\W\d_])".encode(), start) is not None

    @cached_property
    def trace(self) -> Trace:
        """The trace that it says itself to be; UnusableInput names the file and line of an error."""
        own = _format_of(self.path)
        if own is None or own.trace is None:
            raise _other_name(self.path, TRACE_ENDINGS)
        if self.path.is_dir():
            raise UnusableInput(self.path, "a directory", "a trace file")
        if not self.path.is_file():
            raise UnusableInput(self.path, "nothing", "an existing file", "check the spelling of the path")
        if self.path.stat().st_size == 0:
            raise UnusableInput(self.path, "an empty file", "a trace")
        return own.trace(self.path)


def open_file(path: str | Path) -> Opened:
    """The one door: what a file is, and what it holds. A command that asks twice gets what it got before."""
    return remembered(Path(path), Opened)


def read_trace(path: str | Path) -> Trace:
    """Read a trace in any format; UnusableInput names the file and line of an error."""
    return open_file(path).trace


def read_table(path: str | Path) -> Table:
    """Every array or column of a recording; UnusableInput says where it is not a table of numbers."""
    return open_file(path).table


def write_recording(trace: Trace, path: str | Path) -> None:
    """Write a recording in the format that its name says; a table or arrays hold no more of it than its numbers."""
    own = _format_of(Path(path))
    if own is None or own.write is None:
        raise _other_name(path, WRITTEN_ENDINGS)
    own.write(trace, Path(path))


def write_trace(trace: Trace, path: str | Path) -> None:
    """Write a trace in the format given by its name, first under a temporary name."""
    if not is_trace_name(path):
        raise _other_name(path, TRACE_ENDINGS)
    write_recording(trace, path)


def is_trace_name(path: str | Path) -> bool:
    """Whether a file to be written is called like a trace."""
    own = _format_of(Path(path))
    return own is not None and own.trace is not None


def listed_endings() -> tuple[str, ...]:
    """Names of files that are recordings, whatever is in them: those that are taken from a folder."""
    return tuple(ending for ending, each in FORMATS.items() if each.columns and each.is_listed)


def _other_name(path: str | Path, endings: Iterable[str]) -> UnusableInput:
    return UnusableInput(path, f"the name {Path(path).name}", f"a name ending in {', '.join(endings)}")


def _format_of(path: Path) -> Format | None:
    return next((each for ending, each in FORMATS.items() if path.name.lower().endswith(ending)), None)


# --- what tells a kind ------------------------------------------------------------------------------------------------


def _document_kind(file: Opened) -> Kind | None:
    try:
        return file.document.kind
    except UnusableInput:
        return None  # its reader says what is wrong with it


def _kind_of_lines(file: Opened) -> Kind:
    return Kind.COLUMNS if file.is_there and begins_with_a_frame(file.path) else Kind.TRACE


def _kind_of_json(file: Opened) -> Kind | None:
    """A list, or an object with lists of numbers, and none of the documents: columns."""
    if not file.is_there:
        return None
    if not has_marking_key(file.content):
        try:
            root = file.json.data
        except UnusableInput:
            return None
        if isinstance(root, list):
            is_table = bool(root) and isinstance(root[0], list | dict) and holds_rows(root)
        else:
            is_table = isinstance(root, dict) and kind_of(root) is None and any(map(holds_rows, root.values()))
        if is_table:
            return Kind.COLUMNS
    return _document_kind(file)


def _kind_of_toml(file: Opened) -> Kind | None:
    return Kind.SETTINGS if file.path.name in SETTINGS_NAMES else _document_kind(file)


# --- the formats ------------------------------------------------------------------------------------------------------


def _whole(read: Callable[[bytes, Path], Table]) -> Callable[[Opened], Table]:
    return lambda file: read(file.content, file.path)


def _other(place: str, name: str) -> Callable[[Opened], Table]:
    return lambda file: getattr(import_module(f"{__package__}.{place}"), name)(file.path)


def _lines(file: Opened) -> Table:
    return read_json_lines_table(file.path)


_TRACE_LINES = Format(_kind_of_lines, _lines, read_json_lines, write_json_lines)
_LINES, _ARRAYS = Format(columns=_lines), Format(columns=_whole(tables.bytes_to_arrays))
_YAML = Format(Kind.CONFIGURATION)
_TEXT = Format(columns=_whole(tables.bytes_to_lines), is_listed=False, is_log=True)
FORMATS: dict[str, Format] = {
    ".trace.jsonl": _TRACE_LINES, ".trace.jsonl.gz": _TRACE_LINES, ".trace.jsonl.zst": _TRACE_LINES,
    ".trace.bin": Format(Kind.TRACE, trace=read_binary, write=write_binary),
    ".trace.safetensors": Format(Kind.TRACE, trace=read_safetensors, write=write_safetensors),
    ".npz": Format(columns=_ARRAYS.columns, write=tables.write_npz),
    ".npy": _ARRAYS, ".safetensors": _ARRAYS,
    ".csv": Format(columns=_whole(tables.bytes_to_csv), write=tables.write_csv, is_log=True),
    ".tsv": Format(columns=_whole(tables.bytes_to_csv), is_log=True),
    ".txt": _TEXT, ".log": _TEXT, ".jsonl": _LINES, ".jsonl.gz": _LINES, ".jsonl.zst": _LINES,
    ".json": Format(_kind_of_json, lambda file: json_to_table(file.json), write=tables.write_json, is_listed=False),
    ".mcap": Format(columns=_other("bags", "read_mcap"), mark=b"\x89MCAP0\r\n"),
    ".parquet": Format(columns=_other("stores", "read_parquet"), mark=b"PAR1"),
    ".toml": Format(_kind_of_toml), ".onnx": Format(Kind.MODEL), ".py": Format(Kind.SCRIPT),
    ".yaml": _YAML, ".yml": _YAML,
}  # fmt: skip
"""Every format, by the end of a file's name. The first row that fits counts."""
TRACE_ENDINGS = tuple(ending for ending, each in FORMATS.items() if each.trace)
WRITTEN_ENDINGS = tuple(ending for ending, each in FORMATS.items() if each.write)


# --- the vectors of a recording as the file itself names them: no contract says what its columns mean ---

PLACE = re.compile(r"^(.*)\[(\d{1,9})\]$")
Labelled = Mapping[str, tuple[FloatArray, tuple[str, ...]]]
"""(T, width) float64 by name, and what the file calls each of the numbers."""


def labelled_vectors(file: Opened) -> Labelled:
    """Every vector of a recording, those of a trace with frame numbers and times.

    Columns `q[0]`, `q.0`, `q/0`, `q.knee`, a whole run `q_0 …` and `q_x`, `q_y`, `q_z` of a table are one vector `q`. Columns of
    other lengths than each other are vectors of their own, unless their numbers say that they are one: UnusableInput.
    """
    if file.kind is not Kind.COLUMNS:
        trace = file.trace
        stages = {name: np.asarray(rows, np.float64) for name, rows in trace.stages.items()}
        found = {name: (rows, _numbered(name, rows.shape[1])) for name, rows in stages.items()}
        clock = {"frame": trace.frame.astype(np.float64), "time": trace.time_s}
        return found | {name: (each[:, None], (name,)) for name, each in clock.items()}
    return _of_columns({name: values for name, values in file.table.columns.items() if values.size}, file.path)


def _of_columns(columns: Columns, path: Path) -> Labelled:
    owners = {name: (name, -1) if values.ndim != 1 else _owner(name) for name, values in columns.items()}
    owners |= _runs([name for name, (owner, _) in owners.items() if owner == name and columns[name].ndim == 1], owners)
    parts: dict[str, dict[str, FloatArray]] = {}
    for name in sorted(columns, key=lambda name: owners[name][1]):
        rows = columns[name].reshape(len(columns[name]) if columns[name].ndim else 1, -1).astype(np.float64)
        parts.setdefault(owners[name][0], {})[name] = rows
    found: dict[str, tuple[FloatArray, tuple[str, ...]]] = {}
    for owner, held in parts.items():
        counts = sorted({len(rows) for rows in held.values()})
        if len(counts) > 1 and all(owners[name][1] >= 0 for name in held):
            words = f"columns of {' and '.join(map(str, counts))} rows"
            raise UnusableInput(f"{path}#{owner}", words, "as many rows of each number of a vector", "a cut recording?")
        for name, one in {owner: held}.items() if len(counts) == 1 else ((name, {name: held[name]}) for name in held):
            labels = [label for part, rows in one.items() for label in _numbered(part, rows.shape[1])]
            found[name] = np.hstack(list(one.values())), tuple(labels)
    return found


def _owner(name: str) -> tuple[str, int]:
    """The vector that a column is of, and its place in it; -1 where the file's order says it."""
    if match := PLACE.match(name):
        return match[1], int(match[2])
    owner, *rest = re.split(r"[./]", name, maxsplit=1)
    return (owner, int(rest[0])) if rest and rest[0].isdecimal() else (owner, -1)


def _runs(names: Sequence[str], taken: Mapping[str, Any]) -> dict[str, tuple[str, int]]:
    """Columns `q_0`, `q_1`, … from 0 without a gap, and `q_x`, `q_y`, `q_z`, with or without `q_w`: vector and place of each."""
    by_stem: dict[str, dict[str, str]] = {}
    for name in names:
        stem, _, last = name.rpartition("_")
        if stem and stem not in taken:
            by_stem.setdefault(stem, {})[last] = name
    found: dict[str, tuple[str, int]] = {}
    for stem, held in by_stem.items():
        numbered = {int(last): name for last, name in held.items() if last.isdecimal()}
        if len(numbered) > 1 and sorted(numbered) == list(range(len(numbered))):
            found |= {name: (stem, place) for place, name in numbered.items()}
        elif {"x", "y", "z"} <= held.keys() <= {"x", "y", "z", "w"}:
            found |= dict.fromkeys(held.values(), (stem, -1))
    return found


def _numbered(name: str, width: int) -> tuple[str, ...]:
    return (name,) if width == 1 else tuple(f"{name}[{place}]" for place in range(width))
