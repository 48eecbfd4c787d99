"""A recording in another format: whatever can be read is written as a trace, or as a table."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.declared.sources import read_arrays
from rigpact.contract.documents import Kind
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import MAX_JSON_DEPTH, bytes_to_json, read_bytes, write_bytes
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.files.declared import ContractFiles, files_of
from rigpact.reference_runtime.recordings.named_columns import opened_recording
from rigpact.reference_runtime.recordings.opened import WRITTEN_ENDINGS, labelled_vectors, open_file, write_recording
from rigpact.reference_runtime.recordings.other_formats.bags import read_mcap
from rigpact.reference_runtime.recordings.other_formats.bvh_files import read_bvh
from rigpact.reference_runtime.recordings.other_formats.stores import (
    is_data_set,
    read_data_set,
    read_hdf5,
    read_parquet,
)
from rigpact.reference_runtime.recordings.recording import read_recording
from rigpact.reference_runtime.recordings.tables import Table
from rigpact.reference_runtime.recordings.trace import Trace


# Arrays out of files that no contract names yet: bags, data sets, animations, tables, lists in JSON; as a .npz.
def write_arrays(
    source: Path, out: Path, below: str = "", *, tick: str | None = None, episode: int | None = None
) -> Table:
    """Write every array of a file as .npz; UnusableInput where it holds none, or the other name is no .npz.

    below: the path of the arrays that are wanted. tick: the topic of a bag whose messages are the frames. episode: the one that
    is wanted, of a data set.
    """
    if out.suffix.lower() != ".npz":
        expected = "a name ending in .npz; or --contract, for a recording of it"
        raise UnusableInput(out, f"the name {out.name}", expected)
    table = arrays_in(source, below, tick=tick, episode=episode)
    stream = io.BytesIO()
    named: dict[str, Any] = dict(table.columns)
    np.savez(stream, **named)
    write_bytes(out, stream.getvalue())
    return table


def arrays_in(path: Path, below: str, *, tick: str | None = None, episode: int | None = None) -> Table:
    """Every array by its path in the file, those below one path by the rest of it; UnusableInput where there are none."""
    notes: tuple[str, ...] = ()
    read = next((each for ending, each in _FILES.items() if path.name.lower().endswith(ending)), None)
    if read is not None:
        table = read(path, tick, episode)
        every, notes = _of_table(table), table.notes
    elif path.suffix.lower() == ".json":
        root = bytes_to_json(read_bytes(path), path).data
        every = _of_table(read_data_set(path, episode)) if is_data_set(root) else dict(_arrays(root, "", 0))
    elif path.suffix.lower() not in _ARRAYS and open_file(path).kind is Kind.COLUMNS:
        every = {name: rows for name, (rows, _) in labelled_vectors(open_file(path)).items()}
    else:
        arrays = read_arrays(read_bytes(path), path)
        every = dict(arrays) if isinstance(arrays, Mapping) else {path.stem: arrays}
    found = {name.removeprefix(below).lstrip("."): rows for name, rows in every.items() if _is_below(name, below)}
    if not found:
        held = ", ".join(list(every)[:6]) or "no array of numbers"
        raise UnusableInput(path, held, f"arrays below {below!r}" if below else "an array of numbers")
    unwritable = next((name for name in found if not name.isprintable()), None)
    if unwritable is not None:
        raise UnusableInput(path, f"an array named {unwritable!r}", "names of characters that can be shown")
    return Table(found, notes=notes)


_ARRAYS = {".npz", ".npy", ".safetensors"}
"""Arrays of any shapes, not only those with a row for each frame."""
_FILES: Mapping[str, Callable[[Path, str | None, int | None], Table]] = {
    ".mcap": lambda path, tick, _: read_mcap(path, tick),
    ".hdf5": lambda path, *_: read_hdf5(path), ".h5": lambda path, *_: read_hdf5(path),
    ".parquet": lambda path, _, episode: read_parquet(path, episode), ".bvh": lambda path, *_: read_bvh(path),
}  # fmt: skip


def _of_table(table: Table) -> dict[str, Any]:
    return {**table.columns, **{name: np.float64(value) for name, value in table.said.items() if name == "fps"}}


def _is_below(name: str, below: str) -> bool:
    return not below or name.startswith((f"{below}.", f"{below}["))


def _arrays(value: Any, name: str, depth: int) -> Iterator[tuple[str, FloatArray]]:
    """Rectangular lists of numbers by their path: `sequences[0].imu_data`."""
    if depth > MAX_JSON_DEPTH:
        return
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _arrays(each, f"{name}.{key}" if name else str(key), depth + 1)
    elif isinstance(value, list) and value:
        rows = _rectangular(value)
        if rows is not None:
            yield name, rows
            return
        for place, each in enumerate(value):
            yield from _arrays(each, f"{name}[{place}]", depth + 1)


def _rectangular(value: list[Any]) -> FloatArray | None:
    try:
        rows = np.asarray(value)
    except ValueError:
        return None
    return rows.astype(np.float64) if rows.dtype.kind in "iuf" else None


def is_recording(path: Path) -> bool:
    """Whether a file says itself what its numbers are, without a contract: a trace, a clip or a teacher file."""
    return open_file(path).kind in {Kind.TRACE, Kind.RAW_CLIP, Kind.TEACHER_BATCH, Kind.TEACHER_PREDICTION}


def convert_recording(
    path: Path, out: Path, files: ContractFiles, *, unnamed: Sequence[str] = (), says: Mapping[str, Any] | None = None
) -> tuple[Trace, list[str]]:
    """Read a recording and write it in the format that the name of the other file says; what was written, and notes.

    unnamed: the stages of numbers without names. says: what the file does not: mode, frames a second (fps), producer.
    """
    if not out.name.lower().endswith(WRITTEN_ENDINGS):
        raise UnusableInput(out, f"the name {out.name}", f"a name ending in {', '.join(WRITTEN_ENDINGS)}")
    contract = files.opened_if_given()
    if contract is None:
        trace = opened_recording(path, None) if open_file(path).is_recording else read_recording(path).trace
    elif unnamed:
        trace = opened_recording(path, contract, unnamed=unnamed)
    else:
        trace = files_of(contract).recording(path, contract).trace
    header, notes = trace.header, []
    said = {name: value for name, value in (says or {}).items() if value}
    trace = replace(trace, header=replace(header, **said))
    if not header.says_mode and "mode" not in said:
        notes.append(f"the driver of the run is unknown: written as {header.mode}; --mode says it")
    if trace.truncation:
        notes.append(f"the recording is incomplete: {trace.truncation}")
    if trace.precision is not None:
        notes.append(f"its numbers are written with {trace.precision}: the other file holds no more than they do")
    write_recording(trace, out)
    return trace, notes
