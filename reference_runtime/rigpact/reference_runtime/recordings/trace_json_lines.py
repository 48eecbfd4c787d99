"""Traces as JSON Lines, plain or compressed: a header, then one object per frame.

The file is written frame by frame, so a crash loses at most the last line. It is read up to the last complete line. A file
that is damaged in any other way is refused: a failing checksum, bytes after the end, a key that stands twice.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import zlib
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import orjson
import zstandard

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import bytes_to_json, opened, read_bytes, refuse_bomb, written_whole
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.recordings.precision import PrecisionCensus
from rigpact.reference_runtime.recordings.text import UTF16_MARKS, decoded
from rigpact.reference_runtime.recordings.trace_model import Trace, TraceHeader, is_integer, is_number, json_to_header

_NON_FINITE = {"NaN", "Infinity", "-Infinity"}
_C_TOKENS = re.compile(
    r"(?<=[\[,:\s])([+-]?)(nan(?:\([^)\]]{0,32}\))?|1\.#(?:IND|QNAN|SNAN)\d*|inf(?:inity)?|1\.#INF\d*)(?=\s*[,\]}])",
    re.IGNORECASE,
)
_CHUNK_BYTES = 1 << 20
_ZST_BYTES = 1 << 11
"""Read at once of a zstd file: four bytes of it can be 128 KiB of text, so these are 64 MiB at most."""
_LINE_BYTES = 1 << 26
"""The longest line: three million numbers in one frame."""
_EMPTY_LINES = 1 << 12
_BLOCK_FRAMES, _BLOCK_NUMBERS = 512, 1 << 22
"""Number of frames per block while reading, and the largest number of values in a block."""
_DAMAGED = (zlib.error, gzip.BadGzipFile, zstandard.ZstdError)
_ZST_MAGIC = zstandard.FRAME_HEADER
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
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return float(str(value))


def _compressing(raw: IO[bytes], path: Path) -> Any:
    if path.name.endswith(".gz"):
        return gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0)
    if path.name.endswith(".zst"):
        return zstandard.ZstdCompressor().stream_writer(raw, closefd=False)
    return nullcontext(raw)


def read_json_lines(path: Path) -> Trace:
    """Read a trace line by line; `truncation` reports any data after the last complete line."""
    lines = lines_of(path)
    first, _ = next(lines, (b"", False))
    first = first.removeprefix(_BYTE_ORDER_MARK)  # as Windows editors write it
    header, widths = json_to_header(json_line(first, f"{path}:1"), f"{path}:1")
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
        rows.append(entry, f"{path}:{number}")
    if not rows.frames:
        raise UnusableInput(path, "a header and no whole frame", "at least one frame")
    stages = {name: rows.joined(name) for name in widths}
    frame, time_s = np.array(rows.frames, np.int64), np.array(rows.times_s)
    return Trace(header, frame, time_s, stages, truncation, of_text=rows.census.precision)


def cut_off_text(line: bytes, whole: bool, number: int, frames: int) -> str | None:  # noqa: FBT001 - as `lines_of` yields it
    """Where a file ends whose last line cannot be read; None where the line is no frame that was cut off."""
    if whole or not _is_cut_off(line):
        return None
    return f"cut off in line {number}, after {frames} whole frames"


def begins_with_a_frame(path: Path) -> bool:
    """Whether the first line is a frame, and no header: the log of a recorder that writes none."""
    try:
        first, _ = next(lines_of(path), (b"", False))
        entry = json_line(first.removeprefix(_BYTE_ORDER_MARK), str(path))
    except UnusableInput:
        return False
    if not isinstance(entry, dict) or entry.keys() & {"format", "version", "producer"}:
        return isinstance(entry, list)
    return "frame" in entry or any(isinstance(value, list) for value in entry.values())


def _is_cut_off(line: bytes) -> bool:
    """Whether a last line that cannot be read is the beginning of a frame, and not a frame with other bytes after it."""
    text = line.strip().decode("utf-8", "replace")
    try:
        json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return not text or text.startswith("{")
    return False


def lines_of(path: Path) -> Iterator[tuple[bytes, bool]]:
    """Yield (line, whole): `whole` is False for a last line that was cut off."""
    rest, broken = _Rest(path), False
    try:
        for chunk in _bounded(path):
            *lines, last = chunk.split(b"\n")
            for line in lines:
                yield rest.ended_by(line), True
            rest.add(last)
    except EOFError:
        broken = True
    except _DAMAGED as error:
        hint = "copy it again, or record again"
        raise UnusableInput(path, f"damaged data ({error})", "a whole compressed file", hint) from None
    if line := rest.ended_by(b""):
        yield line, False
    if broken:  # even if the rest is a complete object
        yield b"", False


class _Rest:
    """The pieces of a line whose end was not read yet; UnusableInput for a line without end, and for nothing but empty lines."""

    def __init__(self, path: Path) -> None:
        self._path, self._pieces, self._bytes, self._empty = path, list[bytes](), 0, 0

    def add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._bytes += len(piece)
        if self._bytes > _LINE_BYTES:
            raise UnusableInput(self._path, f"a line of more than {_LINE_BYTES} bytes", "one frame a line")

    def ended_by(self, piece: bytes) -> bytes:
        line = b"".join([*self._pieces, piece]) if self._bytes else piece
        self._pieces, self._bytes = [], 0
        self._empty = 0 if line.strip() else self._empty + 1
        if self._empty > _EMPTY_LINES:
            raise UnusableInput(self._path, f"more than {_EMPTY_LINES} empty lines in succession", "one frame a line")
        return line


def _bounded(path: Path) -> Iterator[bytes]:
    """Pieces of a file, unpacked; UnusableInput before they become too many."""
    packed, total = path.stat().st_size, 0
    for chunk in _chunks(path):
        total += len(chunk)
        refuse_bomb(path, packed, total)
        yield chunk


def _chunks(path: Path) -> Iterator[bytes]:
    """Decompressed pieces of a file; EOFError if a compressed stream ends too early."""
    with opened(path) as raw:
        if path.name.endswith(".zst"):
            yield from _zst_chunks(raw)
            return
        if raw.read(2) in UTF16_MARKS:  # as `>` of a Windows shell writes it
            yield decoded(read_bytes(path), path).encode()
            return
        raw.seek(0)
        stream: Any = gzip.GzipFile(fileobj=raw) if path.name.endswith(".gz") else raw
        while chunk := stream.read1(_CHUNK_BYTES) if hasattr(stream, "read1") else stream.read(_CHUNK_BYTES):
            yield chunk


def _zst_chunks(raw: IO[bytes]) -> Iterator[bytes]:
    """A file may have several zstd frames; the last one must be complete."""
    decompressor, begin = zstandard.ZstdDecompressor().decompressobj(), b""
    while chunk := raw.read(_ZST_BYTES):
        while chunk:
            if decompressor.eof:
                decompressor, begin = zstandard.ZstdDecompressor().decompressobj(), b""
            begin = (begin + chunk)[: len(_ZST_MAGIC)]
            yield decompressor.decompress(chunk)
            chunk = decompressor.unused_data
    if len(begin) < len(_ZST_MAGIC) and not _ZST_MAGIC.startswith(begin):  # too few bytes for zstandard to say so
        raise zstandard.ZstdError("bytes after the end")
    if not decompressor.eof:
        raise EOFError


def json_line(line: bytes, place: str) -> Any:
    """The value of one line, with NaN as C and C++ print it; UnusableInput names its place."""
    try:
        return _each_key_once(orjson.loads(line), line, place)
    except orjson.JSONDecodeError:
        pass
    except RecursionError:
        raise UnusableInput(place, "names in names without end", "a JSON object on one line") from None
    try:  # NaN as C and C++ print it
        text = _C_TOKENS.sub(_standard_token, line.decode("utf-8"))
        return _each_key_once(json.loads(text), text.encode("utf-8"), place)
    except (ValueError, RecursionError):
        is_json = line.lstrip()[:1] in (b"{", b"[")  # of another file no more is shown than its first character
        shown = line[: 40 if is_json else 1].decode("utf-8", "replace")
        raise UnusableInput(place, repr(shown), "a JSON object on one line", "a truncated line?") from None


def _each_key_once(entry: Any, line: bytes, place: str) -> Any:
    """The entry; UnusableInput for a key that stands twice. As a rule, counting `":` is enough to know."""
    if line.count(b'":') != _keys(entry):
        for pointer in bytes_to_json(line, place).repeated_keys:
            raise UnusableInput(f"{place}#{pointer}", "a key that stands twice", "every key once", "two parsers differ")
    return entry


def _keys(entry: Any) -> int:
    return len(entry) + sum(map(_keys, entry.values())) if isinstance(entry, dict) else 0


def _standard_token(match: re.Match[str]) -> str:
    is_infinite = "inf" in match.group(2).lower()
    return f'"{"-" if is_infinite and match.group(1) == "-" else ""}{"Infinity" if is_infinite else "NaN"}"'


@dataclass
class FrameRows:
    """Frames read so far: every one has every stage of the header."""

    widths: dict[str, int]
    frames: list[int] = field(default_factory=list)
    times_s: list[float] = field(default_factory=list)
    census: PrecisionCensus = field(default_factory=PrecisionCensus)
    _blocks: dict[str, list[FloatArray]] = field(default_factory=dict)
    _count: int = 0

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
        self._count += 1

    def _keep(self, name: str, row: FloatArray) -> None:
        """Put a row into the stage's last block. Large blocks return to the system after joining, rows do not."""
        blocks = self._blocks.setdefault(name, [])
        height = max(1, min(_BLOCK_FRAMES, _BLOCK_NUMBERS // len(row)))
        place = self._count % height
        if place == 0:
            blocks.append(np.empty((height, len(row)), np.float32))
        with np.errstate(over="ignore"):
            blocks[-1][place] = row

    def taken(self, header: TraceHeader) -> Trace | None:
        """The frames since the last call, which are then forgotten; None where there are none. The digits stay counted."""
        if not self._count:
            return None
        stages = {name: self.joined(name) for name in self.widths}
        frame, time_s = np.array(self.frames, np.int64), np.array(self.times_s)
        frame, time_s = frame[-self._count :], time_s[-self._count :]
        self.frames, self.times_s, self._count = self.frames[-1:], self.times_s[-1:], 0
        return Trace(header, frame, time_s, stages, of_text=self.census.precision)

    def joined(self, name: str) -> FloatArray:
        """The stage as one array. Its blocks are released, so memory never holds both forms of all stages."""
        blocks = self._blocks.pop(name)
        missing = len(blocks) * len(blocks[0]) - self._count
        blocks[-1] = blocks[-1][: len(blocks[-1]) - missing]
        return np.concatenate(blocks)


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
