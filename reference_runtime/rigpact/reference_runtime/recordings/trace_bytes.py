"""Traces as bytes: frames as the C++ recorder writes them, and safetensors. docs/trace-format.md defines both.

Frames stand behind a header, each behind its length and its CRC-32. A crash tears at most the last one: the file is read up to
it, and says so. A frame that does not match its checksum with others after it is damage, and refused.

Safetensors are written and checked by their library, and read through a mapping of our own, which gives back the pages of frames
that are done: five stages of 100 000 frames, read in pieces, keep 18 MB in memory; the library's slices keep all 528 MB.
"""

import mmap
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import bytes_to_json, opened, refuse_too_large, write_bytes, written_whole
from rigpact.reference_runtime.recordings.trace import Trace, another_segment, json_to_header
from rigpact.reference_runtime.recordings.trace_lines import is_header, lines_of

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
        segment = _Segment(content, path)
        if segment.count == 0:
            raise UnusableInput(path, "a header and no whole frame", "at least one frame")
        if segment.is_followed(segment.count):
            raise another_segment(f"{path}#byte={segment.end_of(segment.count)}", segment.count)
        return segment.trace()


def binary_segments(path: Path) -> tuple[list[tuple[int, int]], str | None]:
    """Where the segments of a file begin and end, and what a crash left of one more."""
    spans: list[tuple[int, int]] = []
    with opened(path) as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        begin = 0
        while begin < len(content):
            segment = _Segment(content, path, begin) if _has_head(content, begin) or not spans else None
            if segment is None or (spans and not segment.count):
                return spans, f"segment {len(spans) + 1} was cut off before its first frame was whole"
            end = segment.end_of(segment.count) if segment.is_followed(segment.count) else len(content)
            spans.append((begin, end))
            begin = end
    return spans, None


def _header_size(content: mmap.mmap, at: int) -> int:
    return int.from_bytes(content[at + len(_MAGIC) : at + len(_MAGIC) + 4], "little")


def _has_head(content: mmap.mmap, at: int) -> bool:
    return len(content) > at + _HEADER_AT and len(content) >= at + _HEADER_AT + _header_size(content, at)


def _frame_dtype(widths: dict[str, int], doubles: frozenset[str]) -> np.dtype[Any]:
    fixed: list[Any] = [("length", "<u4"), ("crc", "<u4"), ("frame", "<i8"), ("time", "<f8")]
    stages = [
        (f"stage {place}", "<f8" if name in doubles else "<f4", (width,))
        for place, (name, width) in enumerate(widths.items())
    ]
    return np.dtype(fixed + stages)


class _Segment:
    """A header and the frames behind it, all of one size. count: of the whole ones; truncation: where a torn one was found."""

    def __init__(self, content: mmap.mmap, path: Path, at: int = 0) -> None:
        begin = content[at : at + len(_MAGIC)]
        if begin != _MAGIC[: len(begin)]:
            found = f"a file that begins with {begin!r}"
            raise UnusableInput(path, found, "a binary trace", "another ending of the name?")
        if not _has_head(content, at):
            raise UnusableInput(path, "a header that was cut off", "a header and at least one frame")
        self._content, self._path, self._begin = content, path, at + _HEADER_AT + _header_size(content, at)
        text = content[at + _HEADER_AT : self._begin]
        if zlib.crc32(text) != int.from_bytes(content[at + _HEADER_AT - 4 : at + _HEADER_AT], "little"):
            raise UnusableInput(path, "a header that does not match its checksum", "an undamaged file", _COPY_AGAIN)
        said = bytes_to_json(text, path).with_each_key_once().data
        self._header, self._widths = json_to_header(said, str(path))
        names = said.get("float64", [])
        if not isinstance(names, list) or not all(isinstance(name, str) and name in self._widths for name in names):
            raise UnusableInput(f"{path}#/float64", repr(names)[:60], "a list of recorded stages")
        self._doubles = frozenset(names)
        numbers = (width * (8 if name in names else 4) for name, width in self._widths.items())
        self._size = _FIXED_BYTES + sum(numbers)
        self.count, self.truncation = self._whole()

    def _whole(self) -> tuple[int, str | None]:
        count, rest = divmod(len(self._content) - self._begin, self._size)
        for index in range(count):
            at = self.end_of(index)
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
        return self._begin + count * self._size

    def trace(self) -> Trace:
        """The whole frames as a trace, copied: the file need not stay open."""
        records = np.frombuffer(self._content, _frame_dtype(self._widths, self._doubles), self.count, self._begin)
        frame, time_s = records["frame"].copy(), records["time"].copy()
        with np.errstate(over="ignore"):  # a float64 beyond float32 becomes infinite, as in a line of text
            stages = {
                name: np.array(records[f"stage {place}"], np.float32, order="C")
                for place, name in enumerate(self._widths)
            }
        del records  # the map cannot be closed while an array looks at it
        if np.any(np.diff(frame) <= 0):
            worst = int(np.argmax(np.diff(frame) <= 0)) + 1
            expected = f"a number above {frame[worst - 1]}"
            raise UnusableInput(f"{self._path}#/frames/{worst}", str(frame[worst]), expected)
        if not np.isfinite(time_s).all():
            worst = int(np.argmin(np.isfinite(time_s)))
            raise UnusableInput(f"{self._path}#/frames/{worst}/time", str(time_s[worst]), "seconds")
        return Trace(self._header, frame, time_s, stages, self.truncation)


_DTYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "F64": np.dtype("<f8"), "I64": np.dtype("<i8")}
_MAX_HEADER_BYTES = 1 << 20


def write_safetensors(trace: Trace, path: Path) -> None:
    """Write a trace with its header in the metadata under `rigpact`."""
    from safetensors.numpy import save

    tensors: dict[str, NDArray[Any]] = {name: np.ascontiguousarray(rows) for name, rows in trace.stages.items()}
    tensors |= {"frame": trace.frame, "time": trace.time_s}
    header = orjson.dumps(trace.header.to_json(trace.widths)).decode()
    with written_whole(path) as stream:
        stream.write(save(tensors, metadata={"rigpact": header}))


def read_safetensors(path: Path) -> Trace:
    """Map the tensors of the file; UnusableInput names the tensor that does not match the header."""
    with opened(path) as stream:
        size = int.from_bytes(stream.read(8), "little")
        if size > _MAX_HEADER_BYTES:
            raise UnusableInput(path, f"a header of {size} bytes", "a safetensors trace")
        index = _parsed(stream.read(size), path)
        _refuse_damage(path)
        mapping = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    text = index["__metadata__"].get("rigpact") if isinstance(index, dict) and "__metadata__" in index else None
    if not isinstance(text, str):
        raise UnusableInput(path, "safetensors without a rigpact header", "a trace")
    header, widths = json_to_header(_parsed(text.encode(), path), f"{path}#rigpact")
    mapped, tensors = np.frombuffer(mapping, np.uint8)[8 + size :], dict[str, NDArray[Any]]()
    for name, (kind, rank) in {**dict.fromkeys(widths, ("F32", 2)), "frame": ("I64", 1), "time": ("F64", 1)}.items():
        entry = index.get(name)
        if entry is None or entry["dtype"] != kind or len(entry["shape"]) != rank:
            found = "no tensor" if entry is None else _words(entry["dtype"], len(entry["shape"]))
            raise UnusableInput(f"{path}#{name}", found, _words(kind, rank))
        begin, end = entry["data_offsets"]
        tensors[name] = mapped[begin:end].view(_DTYPES[kind]).reshape(entry["shape"])
    frame, time_s = tensors.pop("frame"), tensors.pop("time")
    if not np.isfinite(time_s).all():
        raise UnusableInput(f"{path}#time", "a time that is not finite", "seconds")
    if not len(frame) or len(time_s) != len(frame) or np.any(np.diff(frame) <= 0):
        raise UnusableInput(f"{path}#frame", f"{len(frame)} frames", "increasing frame numbers, one for each time")
    for name, width in widths.items():
        if tensors[name].shape != (len(frame), width):
            raise UnusableInput(f"{path}#{name}", f"shape {tensors[name].shape}", f"({len(frame)}, {width})")
    return Trace(header, frame, time_s, tensors, mapping=mapping)


def _words(kind: str, rank: int) -> str:
    return f"{_DTYPES.get(kind, kind)} of rank {rank}"


def _refuse_damage(path: Path) -> None:
    """UnusableInput for what the format's own library refuses: overlapping tensors, holes, bytes after the end."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy"):
            pass
    except SafetensorError as error:
        raise UnusableInput(path, f"a damaged file ({error})", "a safetensors file", "record again") from None


def _parsed(text: bytes, path: Path) -> Any:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return bytes_to_json(text, path).with_each_key_once().data


# --- several recordings, one behind the other ---

SEGMENT_ENDINGS = (".trace.jsonl", ".trace.jsonl.gz", ".trace.jsonl.zst", ".trace.bin")
"""Traces that stand one behind the other in a file; a container of arrays has one."""


@dataclass(frozen=True)
class Segments:
    """The segments of a recording as files of their own, in order. tail: what a crash left of one more; None for nothing."""

    paths: tuple[Path, ...]
    tail: str | None = None

    def at(self, number: int | None, path: Path) -> Path:
        """One of them, counted from 1; without a number the only one. UnusableInput where that is none, or not clear."""
        if number is None and len(self.paths) > 1:
            raise UnusableInput(path, f"{len(self.paths)} recordings, one behind the other", "one", "--segment 1")
        if number is not None and not 0 < number <= len(self.paths):
            raise UnusableInput(f"--segment {number}", f"{len(self.paths)} segments", f"1 to {len(self.paths)}")
        return self.paths[(number or 1) - 1]


@contextmanager
def segments(path: Path) -> Iterator[Segments]:
    """The segments of a recording while the block runs. A file of one segment, or of another kind, is itself.

    What the block refuses names the recording and the segment's number, not the file that was made of it.
    """
    if not path.name.endswith(SEGMENT_ENDINGS) or not path.is_file() or path.stat().st_size == 0:
        yield Segments((path,))
        return
    parts, tail = _parts_of_frames(path) if path.name.endswith(".bin") else _parts_of_lines(path)
    if len(parts) <= 1 and tail is None:
        yield Segments((path,))
        return
    base, ending = path.name.split(".trace.", 1)
    with TemporaryDirectory(prefix="rigpact-") as folder:
        names = (f"{base}.segment-{number}.trace.{ending.split('.')[0]}" for number in range(1, len(parts) + 1))
        paths = tuple(Path(folder) / name for name in names)
        for each, content in zip(paths, parts, strict=True):
            write_bytes(each, content)
        try:
            yield Segments(paths, tail)
        except UnusableInput as error:
            for number, each in enumerate(paths, start=1):
                error.place = error.place.replace(str(each), f"{path}#segment={number}")
            error.args = (error.one_line(),)
            raise


def _parts_of_frames(path: Path) -> tuple[list[bytes], str | None]:
    spans, tail = binary_segments(path)
    if len(spans) == 1 and tail is None:
        return [], None
    content = path.read_bytes()
    return [content[begin:end] for begin, end in spans], tail


def _parts_of_lines(path: Path) -> tuple[list[bytes], str | None]:
    if sum(is_header(line) for line, _ in lines_of(path)) < 2:
        return [], None
    parts: list[list[bytes]] = []
    frames = 0
    for line, whole in lines_of(path):
        if not parts or is_header(line):
            parts.append([])
            frames = 0
        else:
            frames += bool(line.strip()) and (whole or line.rstrip().endswith(b"}}"))
        parts[-1].append(line + (b"\n" if whole else b""))
    found = [b"".join(lines) for lines in parts]
    if frames:
        return found, None
    return found[:-1], f"segment {len(parts)} was cut off before its first frame was whole"
