"""Traces as JSON Lines, plain or compressed: a header, then one object per frame.

The file is written frame by frame, so a crash loses at most the last line. It is read up to the last complete line. A file
that is damaged in any other way is refused: a failing checksum, bytes after the end, a key that stands twice.
"""

import gzip
import math
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import orjson

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import written_whole
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.recordings.json_lines import cut_off_text, json_line, lines_of
from rigpact.reference_runtime.recordings.precision import PrecisionCensus
from rigpact.reference_runtime.recordings.trace_model import (
    FORMAT,
    Trace,
    another_segment,
    is_integer,
    is_number,
    json_to_header,
)

_ENDLESS = {math.inf: "Infinity", -math.inf: "-Infinity"}
_NON_FINITE = {"NaN", *_ENDLESS.values()}
_BLOCK_FRAMES, _BLOCK_NUMBERS = 512, 1 << 22
"""Number of frames per block while reading, and the largest number of values in a block."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def write_json_lines(trace: Trace, path: Path) -> None:
    """Write a trace line by line; the name selects the compression."""
    with written_whole(path) as raw, _compressing(raw, path) as stream:
        stream.write(orjson.dumps(trace.header.to_json(trace.widths)) + b"\n")
        for row, (frame, time_s) in enumerate(zip(trace.frame.tolist(), trace.time_s.tolist(), strict=True)):
            stages = {name: json_numbers(rows[row]) for name, rows in trace.stages.items()}
            line = {"frame": frame, "time": time_s, "stages": stages}
            stream.write(orjson.dumps(line, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n")


def json_numbers(row: FloatArray) -> Any:
    """An array as JSON can hold it: what is not finite becomes a word."""
    if np.isfinite(row).all():
        return np.ascontiguousarray(row)
    # shortest text that reads back as the same float32, as orjson writes finite arrays
    return [json_numbers(value) if isinstance(value, np.ndarray) else _number(value) for value in row]


def _number(value: np.floating[Any]) -> float | str:
    shortest = float(str(value))
    return "NaN" if math.isnan(shortest) else _ENDLESS.get(shortest, shortest)


def _compressing(raw: IO[bytes], path: Path) -> Any:
    if path.name.endswith(".gz"):
        return gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0)
    if path.name.endswith(".zst"):
        import zstandard

        return zstandard.ZstdCompressor().stream_writer(raw)
    return nullcontext(raw)


def read_json_lines(path: Path) -> Trace:
    """Read a trace line by line; `truncation` reports any data after the last complete line."""
    lines = lines_of(path)
    header, widths = json_to_header(json_line(_first_of(lines), f"{path}:1"), f"{path}:1")
    rows = FrameRows(widths)
    truncation = None
    for number, (line, whole) in enumerate(lines, start=2):
        if not line.strip() and whole:
            continue
        try:
            entry = json_line(line, f"{path}:{number}")
        except UnusableInput:
            truncation = cut_off_text(line, whole, number, len(rows.frames))
            if truncation is None:
                raise
            break
        if is_header(line):
            raise another_segment(f"{path}:{number}", len(rows.frames))
        rows.append(entry, f"{path}:{number}")
    if not rows.frames:
        raise UnusableInput(path, "a header and no whole frame", "at least one frame")
    stages = {name: rows.joined(name) for name in widths}
    frame, time_s = np.array(rows.frames, np.int64), np.array(rows.times_s)
    return Trace(header, frame, time_s, stages, truncation, of_text=rows.census.precision)


def _first_of(lines: Iterator[tuple[bytes, bool]]) -> bytes:
    """The first line, without the byte order mark that Windows editors write; empty where there is none."""
    return next((line for line, _ in lines), b"").removeprefix(_BYTE_ORDER_MARK)


def is_header(line: bytes) -> bool:
    """Whether a line is the header of a recording."""
    if FORMAT.encode() not in line:  # nearly every line is a frame, and long
        return False
    try:
        entry = json_line(line, "")
    except UnusableInput:
        return False
    return isinstance(entry, dict) and entry.get("format") == FORMAT


def begins_with_a_frame(path: Path) -> bool:
    """Whether the first line is a frame, and no header: the log of a recorder that writes none."""
    try:
        entry = json_line(_first_of(lines_of(path)), str(path))
    except UnusableInput:
        return False
    if not isinstance(entry, dict) or entry.keys() & {"format", "version", "producer"}:
        return isinstance(entry, list)
    return "frame" in entry or any(isinstance(value, list) for value in entry.values())


@dataclass
class FrameRows:
    """Frames read so far: every one has every stage of the header."""

    widths: dict[str, int]
    frames: list[int] = field(default_factory=list)
    times_s: list[float] = field(default_factory=list)
    census: PrecisionCensus = field(default_factory=PrecisionCensus)
    _blocks: dict[str, list[FloatArray]] = field(default_factory=dict)

    def append(self, entry: Any, place: str) -> None:
        """Add one frame; UnusableInput if it does not match the header or the frames before it."""
        frame = entry.get("frame") if isinstance(entry, dict) else None
        if not isinstance(frame, int) or not is_integer(frame) or not -(1 << 62) < frame < 1 << 62:
            raise UnusableInput(f"{place}#/frame", repr(frame)[:60], "a frame number")
        time_s, stages = entry.get("time"), entry.get("stages")
        if self.frames and frame <= self.frames[-1]:
            raise UnusableInput(
                f"{place}#/frame", str(frame), f"a number above {self.frames[-1]}", "frames must increase"
            )
        if not is_number(time_s) or not math.isfinite(time_s):
            raise UnusableInput(f"{place}#/time", repr(time_s)[:60], "seconds")
        if not isinstance(stages, dict) or set(stages) != set(self.widths):
            found = ", ".join(stages) if isinstance(stages, dict) else repr(stages)[:60]
            raise UnusableInput(f"{place}#/stages", found, f"the header's stages: {', '.join(self.widths)}")
        read = {name: _row(stages[name], width, f"{place}#/stages/{name}") for name, width in self.widths.items()}
        for name, row in read.items():
            self.census.add_text(row)
            self._keep(name, row)
        self.frames.append(frame)
        self.times_s.append(float(time_s))

    def _keep(self, name: str, row: FloatArray) -> None:
        """Put a row into the stage's last block. Large blocks return to the system after joining, rows do not."""
        blocks = self._blocks.setdefault(name, [])
        height = max(1, min(_BLOCK_FRAMES, _BLOCK_NUMBERS // len(row)))
        place = len(self.frames) % height
        if place == 0:
            blocks.append(np.empty((height, len(row)), np.float32))
        with np.errstate(over="ignore"):
            blocks[-1][place] = row

    def joined(self, name: str) -> FloatArray:
        """The stage as one array. Its blocks are released, so memory never holds both forms of all stages."""
        return np.concatenate(self._blocks.pop(name))[: len(self.frames)]


def _row(values: Any, width: int, place: str) -> FloatArray:
    if not isinstance(values, list) or len(values) != width:
        found = f"{len(values)} numbers" if isinstance(values, list) else repr(values)[:60]
        raise UnusableInput(place, found, f"{width} numbers")
    if set(map(type, values)) != {float}:
        _check_numbers(values, place)
    return np.array(values, np.float64)


def _check_numbers(values: list[Any], place: str) -> None:
    for index, value in enumerate(values):
        if type(value) is not float and not is_number(value) and not (isinstance(value, str) and value in _NON_FINITE):
            raise UnusableInput(f"{place}/{index}", repr(value)[:60], "a number")
