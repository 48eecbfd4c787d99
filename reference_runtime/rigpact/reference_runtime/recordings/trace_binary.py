"""Traces as frames of bytes: what the C++ recorder writes while a game runs. docs/trace-format.md defines the file.

A header, then frames of one size, each behind its length and its CRC-32. A crash tears at most the last frame: the file is read
up to it, and says so. A frame that does not match its checksum with others after it is damage, and refused.
"""

import mmap
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import bytes_to_json, opened, refuse_too_large, written_whole
from rigpact.reference_runtime.recordings.trace_model import Trace, TraceHeader, another_segment, json_to_header

_MAGIC = b"\x89RPT\r\n\x1a\n"
"""As in PNG: a copy that changed line ends or lost the eighth bit does not begin like this."""
_HEADER_AT = len(_MAGIC) + 8
_SEAL_BYTES = 8
"""Length and CRC-32 before every frame, and before the header."""
_FIXED_BYTES = _SEAL_BYTES + 16
"""Length, CRC-32, number and time of a frame."""
_COPY_AGAIN = "copy it again, or record again"


def write_binary(trace: Trace, path: Path) -> None:
    """Write a trace as the C++ recorder does."""
    header = orjson.dumps(trace.header.to_json(trace.widths))
    frames = np.zeros(len(trace.frame), _frame_dtype(trace.widths, frozenset()))
    frames["frame"], frames["time"] = trace.frame, trace.time_s
    for place, rows in enumerate(trace.stages.values()):
        frames[f"stage {place}"] = rows
    with written_whole(path) as stream:
        stream.write(_MAGIC + _seal(header) + header)
        for frame in frames:
            body = frame.tobytes()[_SEAL_BYTES:]
            stream.write(_seal(body) + body)


def _seal(body: bytes) -> bytes:
    return len(body).to_bytes(4, "little") + zlib.crc32(body).to_bytes(4, "little")


def read_binary(path: Path) -> Trace:
    """Read a trace up to its last whole frame; `truncation` reports a torn frame at the end."""
    refuse_too_large(path, path.stat().st_size)
    with opened(path) as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        head = _read_head(content, path)
        frames = _Frames(content, head, path)
        count, truncation = frames.whole()
        if count == 0:
            raise UnusableInput(path, "a header and no whole frame", "at least one frame")
        if frames.is_followed(count):
            raise another_segment(f"{path}#byte={frames.end_of(count)}", count)
        return frames.trace(count, truncation)


def binary_segments(path: Path) -> tuple[list[tuple[int, int]], str | None]:
    """Where the segments of a file begin and end, and what a crash left of one more."""
    spans: list[tuple[int, int]] = []
    with opened(path) as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        begin = 0
        while begin < len(content):
            head = _read_head(content, path, begin) if _has_head(content, begin) or not spans else None
            frames = None if head is None else _Frames(content, head, path)
            count = 0 if frames is None else frames.whole()[0]
            if frames is None or (spans and not count):
                return spans, f"segment {len(spans) + 1} was cut off before its first frame was whole"
            end = frames.end_of(count) if frames.is_followed(count) else len(content)
            spans.append((begin, end))
            begin = end
    return spans, None


@dataclass(frozen=True)
class _Head:
    """The header of a file, and where its frames begin."""

    header: TraceHeader
    widths: dict[str, int]
    doubles: frozenset[str]
    end: int


def _has_head(content: mmap.mmap, at: int) -> bool:
    """Whether the header that begins there is in the file to its end."""
    size = int.from_bytes(content[at + len(_MAGIC) : at + len(_MAGIC) + 4], "little")
    return len(content) > at + _HEADER_AT and len(content) >= at + _HEADER_AT + size


def _read_head(content: mmap.mmap, path: Path, at: int = 0) -> _Head:
    begin = content[at : at + len(_MAGIC)]
    if begin != _MAGIC[: len(begin)]:
        raise UnusableInput(path, f"a file that begins with {begin!r}", "a binary trace", "another ending of the name?")
    if not _has_head(content, at):
        raise UnusableInput(path, "a header that was cut off", "a header and at least one frame")
    size = int.from_bytes(content[at + len(_MAGIC) : at + len(_MAGIC) + 4], "little")
    text = content[at + _HEADER_AT : at + _HEADER_AT + size]
    if zlib.crc32(text) != int.from_bytes(content[at + _HEADER_AT - 4 : at + _HEADER_AT], "little"):
        raise UnusableInput(path, "a header that does not match its checksum", "an undamaged file", _COPY_AGAIN)
    read = bytes_to_json(text, path)
    for pointer in read.repeated_keys:
        raise UnusableInput(f"{path}#{pointer}", "a key that stands twice", "every key once", "two parsers differ")
    header, widths = json_to_header(read.data, str(path))
    names = read.data.get("float64", [])
    if not isinstance(names, list) or not all(isinstance(name, str) and name in widths for name in names):
        raise UnusableInput(f"{path}#/float64", repr(names)[:60], "a list of recorded stages")
    return _Head(header, widths, frozenset(names), at + _HEADER_AT + size)


def _frame_dtype(widths: dict[str, int], doubles: frozenset[str]) -> np.dtype[Any]:
    fixed: list[Any] = [("length", "<u4"), ("crc", "<u4"), ("frame", "<i8"), ("time", "<f8")]
    stages = [
        (f"stage {place}", "<f8" if name in doubles else "<f4", (width,))
        for place, (name, width) in enumerate(widths.items())
    ]
    return np.dtype(fixed + stages)


class _Frames:
    """The frames of a file, which all have one size."""

    def __init__(self, content: mmap.mmap, head: _Head, path: Path) -> None:
        self._content, self._head, self._path = content, head, path
        numbers = (width * (8 if name in head.doubles else 4) for name, width in head.widths.items())
        self._size = _FIXED_BYTES + sum(numbers)

    def whole(self) -> tuple[int, str | None]:
        """How many frames are whole, and where a torn one was found."""
        count, rest = divmod(len(self._content) - self._head.end, self._size)
        for index in range(count):
            at = self._head.end + index * self._size
            frame = self._content[at : at + self._size]
            if _seal(frame[_SEAL_BYTES:]) == frame[:_SEAL_BYTES]:
                continue
            if self.is_followed(index):
                return index, None
            if index < count - 1 or rest:
                found = f"frame {index + 1} of the file does not match its checksum, and more follows"
                raise UnusableInput(f"{self._path}#byte={at}", found, "an undamaged file", _COPY_AGAIN)
            return index, f"cut off in frame {index + 1} of the file, after {index} whole frames"
        is_torn = rest and not self.is_followed(count)
        return count, f"cut off in frame {count + 1} of the file, after {count} whole frames" if is_torn else None

    def is_followed(self, count: int) -> bool:
        """Whether another segment begins after so many frames. No frame begins like a header: all have one length."""
        at = self.end_of(count)
        begin = self._content[at : at + len(_MAGIC)]
        return len(begin) >= _SEAL_BYTES // 2 and _MAGIC.startswith(begin)

    def end_of(self, count: int) -> int:
        """The byte after so many frames."""
        return self._head.end + count * self._size

    def trace(self, count: int, truncation: str | None) -> Trace:
        """The first frames as a trace, copied: the file need not stay open."""
        records = np.frombuffer(
            self._content, _frame_dtype(self._head.widths, self._head.doubles), count, self._head.end
        )
        frame, time_s = records["frame"].copy(), records["time"].copy()
        with np.errstate(over="ignore"):  # a float64 beyond float32 becomes infinite, as in a line of text
            stages = {
                name: np.array(records[f"stage {place}"], np.float32, order="C")
                for place, name in enumerate(self._head.widths)
            }
        del records  # the map cannot be closed while an array looks at it
        if np.any(np.diff(frame) <= 0):
            worst = int(np.argmax(np.diff(frame) <= 0)) + 1
            raise UnusableInput(
                f"{self._path}#/frames/{worst}", str(frame[worst]), f"a number above {frame[worst - 1]}"
            )
        if not np.isfinite(time_s).all():
            worst = int(np.argmin(np.isfinite(time_s)))
            raise UnusableInput(f"{self._path}#/frames/{worst}/time", str(time_s[worst]), "seconds")
        return Trace(self._head.header, frame, time_s, stages, truncation)
