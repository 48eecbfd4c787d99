"""JSON Lines, plain or compressed: the lines of a file, the JSON of one line, and traces: a header, then one object per frame.

A trace is written frame by frame, so a crash loses at most the last line; it is read up to the last whole one. A file that is
damaged in any other way is refused: a failing checksum, bytes after the end, a key that stands twice.
"""

import gzip
import json
import math
import re
import zlib
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

import numpy as np
import orjson

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import MAX_JSON_DEPTH, bytes_to_json, opened, read_bytes, refuse_bomb, written_whole
from rigpact.contract.files.json_text import UTF16_MARKS, decoded
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.recordings.precision import PrecisionCensus
from rigpact.reference_runtime.recordings.trace import (
    FORMAT,
    Trace,
    another_segment,
    is_integer,
    is_number,
    json_to_header,
)

_C_TOKENS = re.compile(
    r"(?<=[\[,:\s])([+-]?)(nan(?:\([^)\]]{0,32}\))?|1\.#(?:IND|QNAN|SNAN)\d*|inf(?:inity)?|1\.#INF\d*)(?=\s*[,\]}])",
    re.IGNORECASE,
)
_CHUNK_BYTES = 1_048_576
_ZST_BYTES = 2048
"""Read at once of a zstd file: four bytes of it can be 128 KiB of text, so these are 64 MiB at most."""
_LINE_BYTES = 1 << 26
"""The longest line: three million numbers in one frame."""
_EMPTY_LINES = 1 << 12
_DAMAGED = (zlib.error, gzip.BadGzipFile)


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
    if rest.size:
        yield rest.ended_by(b""), False
    if broken:  # even if the rest is a complete object
        yield b"", False


class _Rest:
    """The pieces of a line whose end was not read yet; UnusableInput for a line without end, and for nothing but empty lines."""

    def __init__(self, path: Path) -> None:
        self._path, self._pieces, self.size, self._empty = path, list[bytes](), 0, 0

    def add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self.size += len(piece)
        if self.size > _LINE_BYTES:
            raise UnusableInput(self._path, f"a line of more than {_LINE_BYTES} bytes", "one frame a line")

    def ended_by(self, piece: bytes) -> bytes:
        line = b"".join([*self._pieces, piece]) if self.size else piece
        self._pieces, self.size = [], 0
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
        yield from (chunk[start : start + _CHUNK_BYTES] for start in range(0, len(chunk), _CHUNK_BYTES))


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
    """A file may have several zstd frames; the last one must be complete. zlib.error for damaged data, as of a .gz file."""
    import zstandard

    decompressor, begin, magic = zstandard.ZstdDecompressor().decompressobj(), b"", zstandard.FRAME_HEADER
    while chunk := raw.read(_ZST_BYTES):
        while chunk:
            if decompressor.eof:
                decompressor, begin = zstandard.ZstdDecompressor().decompressobj(), b""
            begin = (begin + chunk)[: len(magic)]
            try:
                unpacked = decompressor.decompress(chunk)
            except zstandard.ZstdError as error:
                raise zlib.error(str(error)) from None
            yield unpacked
            chunk = decompressor.unused_data
    if len(begin) < len(magic) and not magic.startswith(begin):  # too few bytes for zstandard to say so
        raise zlib.error("bytes after the end")
    if not decompressor.eof:
        raise EOFError


def json_line(line: bytes, place: str) -> Any:
    """The value of one line, with NaN as C and C++ print it; UnusableInput names its place."""
    try:
        return _checked(orjson.loads(line), line, place)
    except orjson.JSONDecodeError:
        pass
    except RecursionError:
        raise UnusableInput(place, "names in names without end", "a JSON object on one line") from None
    try:  # NaN as C and C++ print it
        text = _C_TOKENS.sub(_standard_token, line.decode("utf-8"))
        return _checked(json.loads(text), text.encode("utf-8"), place)
    except (ValueError, RecursionError):
        is_json = line.lstrip()[:1] in (b"{", b"[")  # of another file no more is shown than its first character
        shown = line[: 40 if is_json else 1].decode("utf-8", "replace")
        raise UnusableInput(place, repr(shown), "a JSON object on one line", "a truncated line?") from None


def _checked(entry: Any, line: bytes, place: str) -> Any:
    """The entry; UnusableInput for one that is nested too deep, and for a key that stands twice.

    As a rule, counting brackets and `":` is enough to know.
    """
    if line.count(b"[") + line.count(b"{") > MAX_JSON_DEPTH and _most_open(line) > MAX_JSON_DEPTH:
        bytes_to_json(line, place)  # a text may hold brackets
    if line.count(b'":') != _keys(entry):
        bytes_to_json(line, place).with_each_key_once()
    return entry


def _most_open(line: bytes) -> int:
    """How many brackets are open at once at most, those in texts too."""
    steps = np.zeros(256, np.int8)
    steps[list(b"[{")], steps[list(b"]}")] = 1, -1
    return int(np.cumsum(steps[np.frombuffer(line, np.uint8)], dtype=np.int32).max())


def _keys(entry: Any) -> int:
    return len(entry) + sum(map(_keys, entry.values())) if isinstance(entry, dict) else 0


def _standard_token(match: re.Match[str]) -> str:
    is_infinite = "inf" in match.group(2).lower()
    return f'"{"-" if is_infinite and match.group(1) == "-" else ""}{"Infinity" if is_infinite else "NaN"}"'


class JsonLines:
    """The entries of a file, one a line, with the line and its number. truncation: where a file ends that was cut off."""

    def __init__(self, path: Path) -> None:
        """Nothing is read yet."""
        self._path, self.truncation = path, ""

    def __iter__(self) -> Iterator[tuple[int, bytes, Any]]:
        """UnusableInput for a line that is none, but for the beginning of one at the end."""
        frames = 0
        for number, (text, whole) in enumerate(lines_of(self._path), start=1):
            line = text.removeprefix(_BYTE_ORDER_MARK)  # of Windows editors
            if not line.strip() and whole:
                continue
            try:
                entry = json_line(line, f"{self._path}:{number}")
            except UnusableInput:
                if whole or not _is_cut_off(line):
                    raise
                self.truncation = f"cut off in line {number}, after {frames} whole frames"
                return
            frames += not _is_of_header(entry)
            yield number, line, entry


def _is_cut_off(line: bytes) -> bool:
    """Whether a last line that cannot be read is the beginning of a frame, and not a frame with other bytes after it."""
    text = line.strip().decode("utf-8", "replace")
    try:
        json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return not text or text.startswith("{")
    return False


_ENDLESS = {math.inf: "Infinity", -math.inf: "-Infinity"}
_NON_FINITE = {"NaN", *_ENDLESS.values()}
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
    """Read a trace line by line; `truncation` reports any data after the last complete line.

    Numbers of a stage stand in one growing buffer, which is the array then: memory never holds a stage twice.
    """
    lines, census = JsonLines(path), PrecisionCensus()
    entries = iter(lines)
    header, widths = json_to_header(next(entries, (1, b"", None))[2], f"{path}:1")
    frames, times_s, numbers = list[int](), list[float](), {name: bytearray() for name in widths}
    for number, line, entry in entries:
        place = f"{path}:{number}"
        if is_header(line):
            raise another_segment(place, len(frames))
        said: Any = entry if isinstance(entry, dict) else {}
        frame, time_s, stages = said.get("frame"), said.get("time"), said.get("stages")
        if not isinstance(frame, int) or not is_integer(frame) or not -(1 << 62) < frame < 1 << 62:
            raise UnusableInput(f"{place}#/frame", repr(frame)[:60], "a frame number")
        if frames and frame <= frames[-1]:
            raise UnusableInput(f"{place}#/frame", str(frame), f"a number above {frames[-1]}", "frames must increase")
        if not is_number(time_s) or not math.isfinite(time_s):
            raise UnusableInput(f"{place}#/time", repr(time_s)[:60], "seconds")
        if not isinstance(stages, dict) or set(stages) != set(widths):
            found = ", ".join(stages) if isinstance(stages, dict) else repr(stages)[:60]
            raise UnusableInput(f"{place}#/stages", found, f"the header's stages: {', '.join(widths)}")
        for name, row in [(name, _row(stages[name], widths[name], f"{place}#/stages/{name}")) for name in widths]:
            census.add_text(row)
            with np.errstate(over="ignore"):
                numbers[name] += row.astype("<f4").data
        frames.append(frame)
        times_s.append(float(time_s))
    if not frames:
        raise UnusableInput(path, "a header and no whole frame", "at least one frame")
    rows = {name: np.frombuffer(numbers[name], "<f4").reshape(len(frames), widths[name]) for name in widths}
    clock = np.array(frames, np.int64), np.array(times_s)
    return Trace(header, *clock, rows, lines.truncation or None, of_text=census.precision)


def _is_of_header(entry: Any) -> bool:
    return isinstance(entry, dict) and entry.get("format") == FORMAT


def is_header(line: bytes) -> bool:
    """Whether a line is the header of a recording."""
    if FORMAT.encode() not in line:  # nearly every line is a frame, and long
        return False
    try:
        return _is_of_header(json_line(line, ""))
    except UnusableInput:
        return False


def begins_with_a_frame(path: Path) -> bool:
    """Whether the first line is a frame, and no header: the log of a recorder that writes none."""
    try:
        first = next((line for line, _ in lines_of(path)), b"").removeprefix(_BYTE_ORDER_MARK)
        entry = json_line(first, str(path))
    except UnusableInput:
        return False
    if not isinstance(entry, dict) or entry.keys() & {"format", "version", "producer"}:
        return isinstance(entry, list)
    return "frame" in entry or any(isinstance(value, list) for value in entry.values())


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
