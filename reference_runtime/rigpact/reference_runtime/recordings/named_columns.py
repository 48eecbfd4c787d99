"""Recordings that people have: arrays or columns with names, in .npz, .csv, .json, .jsonl or .safetensors (opened.py tells them).

A contract says under [recordings] by which name a file holds each vector; else it is the vector's own name, or one that the
project of a hosted system uses. An array of a .npy has the file's name. A column of a table is one number: `q[3]`, `q_3`,
`q.left_knee` or `q.left_knee.2` belong to `q`. A column of a vector that has no place in it is refused, and so is a vector of
which a column is missing: nothing is padded, and nothing is passed over.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.documents import Kind
from rigpact.contract.errors import UnusableInput
from rigpact.contract.pages.registry import known_systems
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.reference_runtime.recordings.opened import PLACE, open_file
from rigpact.reference_runtime.recordings.precision import PrecisionCensus
from rigpact.reference_runtime.recordings.tables import UNNAMED, Columns, Table, left_out
from rigpact.reference_runtime.recordings.trace import MODES, Trace, TraceHeader

_FRAME, _TIME = ("frame", "frames"), ("time", "time_s", "t", "timestamp")
CLOCK = (*_FRAME, *_TIME)  # names of columns that say when a row was recorded
NO_RATE = 1.0
"""Frames a second where nobody says them."""
_UNDERSCORED = re.compile(r"^(.*)_(\d{1,9}|[xyzw])$")
_INDEXED = re.compile(r"^(.*?)(?:[./]|\[)(\d+|[xyzw])\]?$")
_LETTERS = {FieldKind.QUATERNION_XYZW: "xyzw", FieldKind.QUATERNION_WXYZ: "wxyz"}


class NoVector(UnusableInput):
    """A file of named numbers that holds no vector of the contract: somebody else's table."""


def opened_recording(path: Path, contract: Contract | None, *, unnamed: Sequence[str] = ()) -> Trace:
    """A trace as it says itself, or named columns as the contract says; without a contract columns are refused.

    unnamed: as in `read_named_columns`; a trace has no numbers without names.
    """
    if open_file(path).kind is not Kind.COLUMNS:
        if unnamed:
            raise UnusableInput("--as", ", ".join(unnamed), "a file whose numbers have no names")
        return open_file(path).trace
    if contract is None:
        expected = f"the contract: {path.name} holds columns, and the contract gives their meaning"
        raise UnusableInput("--contract", "none", expected)
    return read_named_columns(path, contract, unnamed=unnamed)


def read_named_columns(path: Path, contract: Contract, *, unnamed: Sequence[str] = ()) -> Trace:
    """A recording of a contract's system; UnusableInput where it holds none of its vectors, or one of another width.

    unnamed: the vectors that stand one after the other in a file without names.
    """
    table = open_file(path).table_of({*contract.system.graph.names, *_other_names(contract)})
    named = _with_names(_by_file_name(table.columns, contract, path), unnamed, contract, path)
    columns = _of_frames(_with_brackets(named, contract, path), contract, path)
    names = _published(columns, contract)
    found: dict[str, FloatArray] = {}
    for stage in contract.system.graph.names:
        fields = contract.fields(stage)
        rows = _declared(columns, names[stage], fields, path) if stage in names else _own(columns, stage, fields, path)
        if rows is not None:
            found[stage] = rows
    _refuse_misspelt(columns, contract.system.graph.names, path)
    if not found:
        held = f"{len(columns)} columns of other names" if columns else "nothing"
        raise NoVector(path, held, "a vector of the contract", "name the columns under [recordings]")
    if contract.system.windowed:
        found = _one_window(found)
    frame, time_s, fps = _clock(table, columns, found, contract, path)
    header = _header(table, fps, contract)
    census = PrecisionCensus()
    for rows in found.values() if table.is_text else ():
        census.add_text(rows.ravel())
    stages = {name: rows.astype(np.float32) for name, rows in found.items()}
    said = (str(name) for said in names.values() for name in np.atleast_1d(said))
    notes = tuple(left_out(table, [name for name in columns if name not in CLOCK], {*found, *said}))
    if contract.fps is None and "fps" not in table.said and not any(name in columns for name in _TIME):
        notes = ("no rate is said, and no stage depends on it: a frame counts as a second", *notes)
    return Trace(header, frame, time_s, stages, table.truncation, of_text=census.precision, notes=notes)


def _published(columns: Columns, contract: Contract) -> dict[str, Any]:
    """The name or names under which a file holds a vector: as the contract says, else as the system's own project calls it."""
    found = dict(contract.system.recordings)
    for stage, known in contract.system.published.items():
        held = [name for name in known if name in columns]
        if held and stage not in columns and found.get(stage, stage) not in columns:
            found[stage] = held[-1]
    return found


def _other_names(contract: Contract) -> Iterator[str]:
    """The names under which files hold vectors, beside the vectors' own."""
    for names in (*contract.system.recordings.values(), *contract.system.published.values()):
        yield from map(str, np.atleast_1d(names))


def _by_file_name(columns: Columns, contract: Contract, path: Path) -> Columns:
    """The one array of a .npy under the file's name, where that is the name of a vector."""
    is_a_vector = UNNAMED in columns and path.stem in {*contract.system.graph.names, *_other_names(contract)}
    return {path.stem: columns[UNNAMED]} if is_a_vector else columns


def _with_brackets(columns: Columns, contract: Contract, path: Path) -> Columns:
    """The columns, `q_3` of a table as `q[3]` and `q_x` as `q.x` where q is such a vector; what means something itself stays."""
    vectors = {*contract.system.graph.names, *_other_names(contract)}
    found: dict[str, NDArray[Any]] = {}
    for name, values in columns.items():
        match = _UNDERSCORED.match(name)
        is_place = match and name not in vectors and match[1] in vectors and match[1] not in columns
        own = name
        if match and is_place and match[2].isdecimal():
            own = f"{match[1]}[{int(match[2])}]"
        elif match and is_place and match[1] in contract.system.graph.names:
            own = f"{match[1]}.{match[2]}" if match[2] in _letters(contract.fields(match[1])) else name
        if own in found or (own != name and own in columns):
            raise UnusableInput(f"{path}#{name}", f"{own} a second time", "each number once")
        found[own] = values
    return found


def _one_window(found: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """What is said once of a window stands in every row of a recording."""
    count = max(map(len, found.values()))
    return {name: np.repeat(rows, count, axis=0) if len(rows) == 1 else rows for name, rows in found.items()}


def _of_frames(columns: Columns, contract: Contract, path: Path) -> Columns:
    """The columns without single numbers, which belong to no frame; UnusableInput for a vector without a frame."""
    for name in contract.system.graph.names:
        if name in columns:
            _refuse_without_frames(columns[name], f"{path}#{name}")
    return {name: values for name, values in columns.items() if values.ndim and values.size}


def _refuse_without_frames(values: NDArray[Any], place: str) -> None:
    if not values.ndim or not values.size:
        raise UnusableInput(place, "no frames", "one row of numbers for each frame")


def _header(table: Table, fps: float, contract: Contract) -> TraceHeader:
    """Who drove the run stands in the file, else a system that feeds itself did."""
    said = table.said.get("mode")
    is_fed_back = contract.system.graph.feeds_itself and not contract.system.published
    mode = "free" if is_fed_back else "teacher"
    clip = table.said.get("clip")
    return TraceHeader(
        fps,
        str(said) if said in MODES else mode,
        str(clip) if isinstance(clip, str) else None,
        producer="unknown",
        producer_version="unknown",
        system=contract.system.name,
        says_mode=said in MODES,
    )


def _with_names(columns: Columns, unnamed: Sequence[str], contract: Contract, path: Path) -> Columns:
    """The columns, those without a name cut into the vectors that they are said to be."""
    if UNNAMED not in columns:
        return columns
    _refuse_without_frames(columns[UNNAMED], str(path))
    rows = columns[UNNAMED].reshape(len(columns[UNNAMED]), -1)
    if not unnamed:
        hint = "`rigpact convert … --as STAGE,STAGE` names them"
        raise UnusableInput(path, f"{rows.shape[1]} numbers a frame without a name", "a name for every column", hint)
    for stage in unnamed:
        if stage not in contract.system.graph:
            raise UnusableInput("--as", repr(stage), f"some of {', '.join(contract.system.graph.names)}")
    widths = [contract.fields(stage).width for stage in unnamed]
    if sum(widths) != rows.shape[1]:
        wanted = f"{sum(widths)}: {' + '.join(f'{name} {width}' for name, width in zip(unnamed, widths, strict=True))}"
        raise UnusableInput(path, f"{rows.shape[1]} numbers a frame", wanted)
    ends = np.cumsum(widths)
    return {name: rows[:, end - width : end] for name, end, width in zip(unnamed, ends, widths, strict=True)}


# --- the columns of one vector ------------------------------------------------------------------------------------


def _declared(columns: Columns, source: str | Sequence[str], fields: FieldLayout, path: Path) -> FloatArray | None:
    """A vector whose columns the contract names; None where the file holds none of them."""
    names = [source] if isinstance(source, str) else list(source)
    parts = [_named(columns, name, fields, path) for name in names]
    if all(part is None for part in parts):
        return None
    missing = [name for name, part in zip(names, parts, strict=True) if part is None]
    if missing:
        raise UnusableInput(path, f"no {', '.join(missing)}", "every column that [recordings] names")
    rows = {name: _in_rows(part, fields) for name, part in zip(names, parts, strict=True) if part is not None}
    _count(rows, path)
    return _of_width(np.hstack([rows[name] for name in names]), fields, f"{path}#{', '.join(names)}")


def _named(columns: Columns, name: str, fields: FieldLayout, path: Path) -> NDArray[Any] | None:
    """An array of that name, one place of such an array, the columns `name[i]`, or one column or array for each field."""
    if name in columns:
        return columns[name]
    match = PLACE.match(name)
    if match and match[1] in columns:
        array = columns[match[1]]
        if array.ndim > 2 and len(array) == 1:
            raise UnusableInput(
                f"{path}#{name}", f"one place of an array {array.shape}", "an array of frames and numbers"
            )
        whole = array.reshape(len(array), -1)
        if int(match[2]) < whole.shape[1]:
            return whole[:, int(match[2])]
    numbered = {int(found[2]): column for column in columns if (found := PLACE.match(column)) and found[1] == name}
    if numbered and sorted(numbered) == list(range(len(numbered))):
        return _side_by_side(columns, {numbered[place]: 1 for place in range(len(numbered))}, path)
    for separator in (".", "/"):
        named = {f"{name}{separator}{field.name}": field.size for field in fields}
        if named and all(column in columns for column in named):
            return _side_by_side(columns, named, path)
    return None


def _side_by_side(columns: Columns, sizes: Mapping[str, int], path: Path) -> NDArray[Any]:
    """Columns as one array, in the order of sizes, which says how many numbers a frame each of them has."""
    parts = {name: columns[name].reshape(len(columns[name]), -1) for name in sizes}
    _count(parts, path)
    for name, part in parts.items():
        if part.shape[1] != sizes[name]:
            raise UnusableInput(f"{path}#{name}", f"{part.shape[1]} numbers a frame", str(sizes[name]))
    return np.hstack(list(parts.values()))


def _own(columns: Columns, stage: str, fields: FieldLayout, path: Path) -> FloatArray | None:
    """A vector under its own name: an array, or one column for each of its numbers; None where the file has no such column."""
    parts = [name for name in columns if name.startswith((f"{stage}[", f"{stage}.", f"{stage}/"))]
    if stage in columns:
        doubled = [name for name in parts if _INDEXED.match(name)]
        if doubled:
            raise UnusableInput(f"{path}#{doubled[0]}", f"{stage} a second time", "each number once")
        return _of_width(_in_rows(columns[stage], fields), fields, f"{path}#{stage}")
    channels = _channels(stage, parts, fields)
    taken: dict[int, str] = {}
    for name in parts:
        channel = channels.get(name.replace("/", "."))
        if channel is None:
            continue
        if channel in taken:
            raise UnusableInput(f"{path}#{name}", f"the same number as {taken[channel]}", "each number once")
        taken[channel] = name
    strange = [name for name in parts if name not in taken.values() and (not taken or _INDEXED.match(name))]
    if not taken and not any(map(_INDEXED.match, strange)):
        return None  # names of something else
    if strange:
        raise UnusableInput(f"{path}#{strange[0]}", f"a column that {stage} does not have", _wanted(stage, fields))
    width = fields.width or len(taken)
    missing = sorted(set(range(width)) - set(taken))
    if missing:
        first, *more = missing
        found = f"no column for {stage}[{first}] and {len(more)} more" if more else f"no column {stage}[{first}]"
        place = f"{fields.address(first)}, channel {first}" if fields.width else f"channel {first}"
        raise UnusableInput(path, found, f"{_wanted(stage, fields)} ({place})")
    return _side_by_side(columns, {taken[place]: 1 for place in range(width)}, path).astype(np.float64)


def _wanted(stage: str, fields: FieldLayout) -> str:
    return f"{stage}[0] to {stage}[{fields.width - 1}], or the names of its fields" if fields.width else f"{stage}[i]"


def _channels(stage: str, parts: Sequence[str], fields: FieldLayout) -> dict[str, int]:
    """What a column of the vector may be called -> its place. A name that two places could have is none."""
    found: dict[str, int] = {}
    for name in parts:  # `stage[i]`, `stage.i`; a width that only the recording knows is that of its columns
        match = re.fullmatch(rf"{re.escape(stage)}(?:\[(\d{{1,9}})\]|[./](\d{{1,9}}))", name)
        if match and (not fields.width or int(match[1] or match[2]) < fields.width):
            found[name.replace("/", ".")] = int(match[1] or match[2])
    seen: dict[str, int | None] = {}
    for field in fields if len(found) < len(parts) else ():
        for name, channel in _field_names(field):
            seen[name] = channel if seen.get(name, channel) == channel else None
    named = {f"{stage}.{name.replace('/', '.')}": channel for name, channel in seen.items() if channel is not None}
    return {f"{stage}.{letter}": place for place, letter in enumerate(_letters(fields))} | named | found


def _letters(fields: FieldLayout) -> str:
    """How people call the numbers of a vector that is one thing: x, y, z, and w where its kind says it."""
    (field, *others) = fields.fields or (None,)
    return "" if field is None or others else _LETTERS.get(field.kind, "xyz"[: field.size] if field.size <= 3 else "")


def _field_names(field: Field) -> Iterator[tuple[str, int]]:
    """Each way to write a number of a field: by the field's name, its bone, or both; the component by number or letter."""
    holders = dict.fromkeys(
        name for name in (field.name, field.bone, f"{field.name}.{field.bone}" if field.bone else "") if name
    )
    letters = _letters(FieldLayout((field,)))
    for holder in holders:
        for place in range(field.size):
            channel = field.start + place
            if field.size == 1:
                yield holder, channel
            yield f"{holder}.{place}", channel
            yield f"{holder}[{place}]", channel
            if place < len(letters):
                yield f"{holder}.{letters[place]}", channel


def _in_rows(values: NDArray[Any], fields: FieldLayout) -> NDArray[Any]:
    """(T, width), also of a batch of one window, (1, T, …)."""
    is_batch = values.ndim >= 3 and len(values) == 1 and int(np.prod(values.shape[2:])) == fields.width
    frames = values[0] if is_batch else values
    return frames.reshape(len(frames), -1)


def _of_width(rows: NDArray[Any], fields: FieldLayout, place: str) -> FloatArray:
    if fields.width and rows.shape[1] != fields.width:
        raise UnusableInput(place, f"{rows.shape[1]} numbers a frame", f"{fields.width}, as the contract has them")
    return rows.astype(np.float64)


def _refuse_misspelt(columns: Iterable[str], stages: Sequence[str], path: Path) -> None:
    """UnusableInput for numbered columns whose vector is nearly called like one of the contract's."""
    held = {name.partition("[")[0] for name in columns if PLACE.match(name)} - set(stages)
    for name in sorted(held):
        for near in get_close_matches(name, stages, n=1, cutoff=0.8):
            if near not in columns and f"{near}[0]" not in columns:
                raise UnusableInput(f"{path}#{name}[…]", f"columns of {name}", near, "a spelling mistake?")


# --- frames and times ---------------------------------------------------------------------------------------------


def _clock(
    table: Table, columns: Columns, found: Mapping[str, FloatArray], contract: Contract, path: Path
) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
    count = _count(found, path)
    frame = next((columns[name] for name in _FRAME if name in columns and columns[name].shape == (count,)), None)
    numbers = np.arange(count) if frame is None else _rising(frame, path)
    time = next((columns[name] for name in _TIME if name in columns and columns[name].shape == (count,)), None)
    if time is not None and not np.isfinite(time).all():
        raise UnusableInput(f"{path}#time", "a time that is not finite", "seconds")
    fps = next(filter(_is_rate, (table.said.get("fps"), contract.fps, _rate_of(time))), None)
    if fps is None and time is None and contract.system.name not in known_systems():
        fps = NO_RATE  # a stage that depends on the rate is not declared without it
    if fps is None:
        raise UnusableInput(path, "no frames per second", "fps in the contract, or a column time that rises")
    return numbers, numbers / fps if time is None else time.astype(np.float64), float(fps)


def _count(rows: Mapping[str, NDArray[Any]], path: Path) -> int:
    """How many rows each of them has; UnusableInput where one has more than another."""
    lengths = {name: len(each) for name, each in rows.items()}
    if len(set(lengths.values())) > 1:
        raise UnusableInput(path, f"{lengths} rows", "as many rows of each vector")
    return next(iter(lengths.values()))


def _rising(frame: NDArray[Any], path: Path) -> NDArray[np.int64]:
    """Frame numbers as integers; UnusableInput where they are none, or do not rise."""
    exact = frame.astype(np.float64)
    if np.all((exact >= 0) & (exact < 2.0**62)):
        numbers = frame.astype(np.int64)
        if np.all(numbers == frame) and np.all(np.diff(numbers) > 0):
            return numbers
    raise UnusableInput(f"{path}#frame", "frame numbers that do not rise", "whole numbers, each above the one before")


def _is_rate(fps: Any) -> bool:
    return isinstance(fps, int | float) and not isinstance(fps, bool) and 0 < fps < float(np.finfo(np.float32).max)


def _rate_of(time: NDArray[Any] | None) -> float | None:
    """Frames per second of times; None where they do not rise, or there is no second one."""
    if time is None or len(time) < 2:
        return None
    step = float(np.median(np.diff(time.astype(np.float64))))
    return 1.0 / step if step > 0.0 else None
