"""Trace files, version 1: what either side records, in two formats.

`*.trace.jsonl` (also `.gz`, `.zst`) is written frame by frame and survives a crash up to its last whole line;
`*.trace.safetensors` is read by memory map. Any subset of stages is allowed; every frame has all of them.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import orjson
import zstandard
from numpy.typing import NDArray

from rigpact.contract.conventions import STAGES
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import MAX_FILE_BYTES, written_whole
from rigpact.contract.statistics import FloatArray
from rigpact.contract.version import rigpact_version

FORMAT, VERSION = "rigpact-trace", 1
_SUFFIXES = (".trace.jsonl", ".trace.jsonl.gz", ".trace.jsonl.zst", ".trace.safetensors")
_NON_FINITE = {"NaN", "Infinity", "-Infinity"}
_C_TOKENS = re.compile(
    r"(?<=[\[,:\s])([+-]?)(nan(?:\([^)\]]*\))?|1\.#(?:IND|QNAN|SNAN)\d*|inf(?:inity)?|1\.#INF\d*)(?=\s*[,\]}])",
    re.IGNORECASE,
)
MODES = ("teacher", "free", "playback")


@dataclass(frozen=True)
class TraceHeader:
    """First line of a trace: who recorded what, under which contract."""

    fps: float
    mode: str
    clip: str | None = None
    bundle_sha256: str | None = None
    producer: str = "rigpact"
    producer_version: str = field(default_factory=rigpact_version)

    def to_json(self, widths: dict[str, int]) -> dict[str, Any]:
        """The header object, with the width of each stage."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "producer": {"name": self.producer, "version": self.producer_version},
            "contract": {"bundle_sha256": self.bundle_sha256},
            "fps": self.fps,
            "mode": self.mode,
            "clip": self.clip,
            "stages": widths,
        }


@dataclass(frozen=True, eq=False)
class Trace:
    """Recorded stages: `frame` (T,) int64 increasing, `time_s` (T,) float64, each stage (T, width) float32.

    `truncation` tells where a file that was cut off ends; None for a whole one.
    """

    header: TraceHeader
    frame: NDArray[np.int64]
    time_s: NDArray[np.float64]
    stages: dict[str, FloatArray]
    truncation: str | None = None

    @property
    def widths(self) -> dict[str, int]:
        """Width of each stage."""
        return {name: int(rows.shape[1]) for name, rows in self.stages.items()}


def is_trace_path(path: str | Path) -> bool:
    """Whether a file name is that of a trace."""
    return Path(path).name.endswith(_SUFFIXES)


def write_trace(trace: Trace, path: str | Path) -> None:
    """Write a trace in the format that its name asks for, under a temporary name first."""
    name = Path(path).name
    if not is_trace_path(path):
        raise UnusableInput(path, f"the name {name}", f"a name ending in {', '.join(_SUFFIXES)}")
    write = _write_safetensors if name.endswith(".safetensors") else _write_json_lines
    write(trace, Path(path))


def read_trace(path: str | Path) -> Trace:
    """Read a trace in either format; UnusableInput names file and line of what does not fit."""
    if not is_trace_path(path):
        raise UnusableInput(path, f"the name {Path(path).name}", f"a name ending in {', '.join(_SUFFIXES)}")
    place = Path(path)
    if place.is_dir():
        raise UnusableInput(path, "a directory", "a trace file")
    if not place.is_file():
        raise UnusableInput(path, "nothing", "an existing file", "check the spelling of the path")
    if place.stat().st_size == 0:
        raise UnusableInput(path, "an empty file", "a trace")
    return _read_safetensors(place) if place.name.endswith(".safetensors") else _read_json_lines(place)


# --- JSON lines -------------------------------------------------------------------------------------------------------


def _write_json_lines(trace: Trace, path: Path) -> None:
    with written_whole(path) as raw, _compressing(raw, path) as stream:
        stream.write(orjson.dumps(trace.header.to_json(trace.widths)) + b"\n")
        for row, (frame, time_s) in enumerate(zip(trace.frame.tolist(), trace.time_s.tolist(), strict=True)):
            stages = {name: _numbers(rows[row]) for name, rows in trace.stages.items()}
            line = {"frame": frame, "time": time_s, "stages": stages}
            stream.write(orjson.dumps(line, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n")


def _numbers(row: FloatArray) -> Any:
    if np.isfinite(row).all():
        return np.ascontiguousarray(row)
    # shortest text that reads back as the same float32, as orjson writes finite arrays
    return [_number(value) for value in row]


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
    return io.BufferedWriter(raw) if isinstance(raw, io.RawIOBase) else _Uncompressed(raw)


class _Uncompressed:
    """A file that the block does not close; its owner does."""

    def __init__(self, raw: IO[bytes]) -> None:
        self.write = raw.write

    def __enter__(self) -> _Uncompressed:
        return self

    def __exit__(self, *_: object) -> None:
        return


def _lines(path: Path) -> Iterator[tuple[bytes, bool]]:
    """Yield (line, whole): the last line is not whole when the file was cut off inside it."""
    with path.open("rb") as raw:
        stream: Any = raw
        if path.name.endswith(".gz"):
            stream = gzip.GzipFile(fileobj=raw)
        elif path.name.endswith(".zst"):
            stream = io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(raw))
        total = 0
        try:
            for line in stream:
                total += len(line)
                if total > MAX_FILE_BYTES:
                    raise UnusableInput(path, f"more than {MAX_FILE_BYTES} bytes of text", "a smaller trace")
                yield line, line.endswith(b"\n")
        except (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError):
            yield b"", False


def _read_json_lines(path: Path) -> Trace:
    lines = _lines(path)
    first, _ = next(lines, (b"", False))
    header, widths = _header(_json_line(first, f"{path}:1"), f"{path}:1")
    frames: list[int] = []
    times: list[float] = []
    rows: dict[str, list[FloatArray]] = {name: [] for name in widths}
    truncation = None
    for number, (line, whole) in enumerate(lines, start=2):
        place = f"{path}:{number}"
        if not line.strip() and whole:
            continue
        try:
            entry = _json_line(line, place)
        except UnusableInput:
            if whole:
                raise
            truncation = f"cut off in line {number}, after {len(frames)} whole frames"
            break
        _append_frame(entry, place, widths, frames, times, rows)
    if not frames:
        raise UnusableInput(path, "a header and no whole frame", "at least one frame")
    stages = {name: np.stack(values) for name, values in rows.items()}
    return Trace(header, np.array(frames, np.int64), np.array(times), stages, truncation)


def _json_line(line: bytes, place: str) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        pass
    try:  # NaN as C and C++ print it
        text = _C_TOKENS.sub(_standard_token, line.decode("utf-8"))
        return json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        shown = line[:40].decode("utf-8", "replace")
        raise UnusableInput(place, repr(shown), "a JSON object on one line", "a truncated line?") from None


def _standard_token(match: re.Match[str]) -> str:
    is_infinite = "inf" in match.group(2).lower()
    return f'"{"-" if is_infinite and match.group(1) == "-" else ""}{"Infinity" if is_infinite else "NaN"}"'


def _header(entry: Any, place: str) -> tuple[TraceHeader, dict[str, int]]:
    if not isinstance(entry, dict) or entry.get("format") != FORMAT:
        raise UnusableInput(place, "no trace header", f'an object with "format": "{FORMAT}"')
    if entry.get("version") != VERSION:
        raise UnusableInput(f"{place}#/version", repr(entry.get("version")), str(VERSION), "update rigpact")
    widths, fps = entry.get("stages"), entry.get("fps")
    if not isinstance(widths, dict) or not widths or not all(_is_width(width) for width in widths.values()):
        raise UnusableInput(f"{place}#/stages", repr(widths)[:60], "an object of stage widths")
    unknown = [name for name in widths if name not in STAGES]
    if unknown:
        raise UnusableInput(f"{place}#/stages", f"the stage {unknown[0]!r}", f"one of {', '.join(STAGES)}")
    if not isinstance(fps, int | float) or isinstance(fps, bool) or not fps > 0:
        raise UnusableInput(f"{place}#/fps", repr(fps), "a positive number")
    if entry.get("mode") not in MODES:
        raise UnusableInput(f"{place}#/mode", repr(entry.get("mode")), f"one of {', '.join(MODES)}")
    producer, contract = entry.get("producer") or {}, entry.get("contract") or {}
    header = TraceHeader(
        fps=float(fps),
        mode=entry["mode"],
        clip=entry.get("clip"),
        bundle_sha256=contract.get("bundle_sha256"),
        producer=str(producer.get("name", "unknown")),
        producer_version=str(producer.get("version", "unknown")),
    )
    return header, {name: int(width) for name, width in widths.items()}


def _is_width(width: Any) -> bool:
    return isinstance(width, int) and not isinstance(width, bool) and width > 0


def _append_frame(
    entry: Any, place: str, widths: dict[str, int], frames: list[int], times: list[float], rows: dict[str, list[FloatArray]]
) -> None:  # fmt: skip
    frame = entry.get("frame") if isinstance(entry, dict) else None
    if not isinstance(frame, int) or isinstance(frame, bool):
        raise UnusableInput(f"{place}#/frame", repr(frame), "a frame number")
    if frames and frame <= frames[-1]:
        raise UnusableInput(f"{place}#/frame", str(frame), f"a number above {frames[-1]}", "frames must increase")
    stages = entry.get("stages")
    if not isinstance(stages, dict) or set(stages) != set(widths):
        found = ", ".join(stages) if isinstance(stages, dict) else repr(stages)
        raise UnusableInput(f"{place}#/stages", found, f"the header's stages: {', '.join(widths)}")
    for name, width in widths.items():
        rows[name].append(_row(stages[name], width, f"{place}#/stages/{name}"))
    frames.append(frame)
    times.append(float(entry.get("time", 0.0)))


def _row(values: Any, width: int, place: str) -> FloatArray:
    if not isinstance(values, list) or len(values) != width:
        found = f"{len(values)} numbers" if isinstance(values, list) else repr(values)
        raise UnusableInput(place, found, f"{width} numbers")
    for index, value in enumerate(values):
        if type(value) not in (float, int) and value not in _NON_FINITE:
            raise UnusableInput(f"{place}/{index}", repr(value), "a number")
    with np.errstate(over="ignore"):
        return np.array(values, np.float64).astype(np.float32)


# --- safetensors ------------------------------------------------------------------------------------------------------


def _write_safetensors(trace: Trace, path: Path) -> None:
    from safetensors.numpy import save

    tensors: dict[str, NDArray[Any]] = {name: np.ascontiguousarray(rows) for name, rows in trace.stages.items()}
    tensors |= {"frame": trace.frame, "time": trace.time_s}
    header = orjson.dumps(trace.header.to_json(trace.widths)).decode()
    with written_whole(path) as stream:
        stream.write(save(tensors, metadata={"rigpact": header}))


_DTYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "F64": np.dtype("<f8"), "I64": np.dtype("<i8")}
_MAX_HEADER_BYTES = 1 << 20


def _read_safetensors(path: Path) -> Trace:
    """Map the tensors of the file: nothing is read before it is looked at."""
    index, offset = _safetensors_index(path)
    metadata = index.pop("__metadata__", {})
    if "rigpact" not in metadata:
        raise UnusableInput(path, "safetensors without a rigpact header", "a trace")
    header, widths = _header(_json_line(metadata["rigpact"].encode(), f"{path}#rigpact"), f"{path}#rigpact")
    mapped = np.memmap(path, np.uint8, mode="r")
    tensors = {name: _tensor(mapped, entry, offset, f"{path}#{name}") for name, entry in index.items()}
    expected = {**dict.fromkeys(widths, ("<f4", 2)), "frame": ("<i8", 1), "time": ("<f8", 1)}
    for name, (dtype, rank) in expected.items():
        tensor = tensors.get(name)
        if tensor is None or tensor.dtype != np.dtype(dtype) or tensor.ndim != rank:
            found = "no tensor" if tensor is None else f"{tensor.dtype} of rank {tensor.ndim}"
            raise UnusableInput(f"{path}#{name}", found, f"{np.dtype(dtype)} of rank {rank}")
    _check_shapes(path, widths, tensors)
    return Trace(header, tensors["frame"], tensors["time"], {name: tensors[name] for name in widths})


def _check_shapes(path: Path, widths: dict[str, int], tensors: dict[str, NDArray[Any]]) -> None:
    count = len(tensors["frame"])
    if count == 0 or len(tensors["time"]) != count or np.any(np.diff(tensors["frame"]) <= 0):
        raise UnusableInput(f"{path}#frame", f"{count} frames", "increasing frame numbers, one for each time")
    for name, width in widths.items():
        if tensors[name].shape != (count, width):
            raise UnusableInput(f"{path}#{name}", f"shape {tensors[name].shape}", f"({count}, {width})")


def _safetensors_index(path: Path) -> tuple[dict[str, Any], int]:
    with path.open("rb") as stream:
        size = int.from_bytes(stream.read(8), "little")
        if size > _MAX_HEADER_BYTES:
            raise UnusableInput(path, f"a header of {size} bytes", "a safetensors trace")
        text = stream.read(size)
    try:
        index = orjson.loads(text)
    except orjson.JSONDecodeError:
        index = None
    if not isinstance(index, dict):
        raise UnusableInput(path, "no safetensors header", "a safetensors trace")
    return index, 8 + size


def _tensor(mapped: NDArray[np.uint8], entry: Any, offset: int, place: str) -> NDArray[Any]:
    try:
        dtype, shape = _DTYPES[entry["dtype"]], tuple(int(size) for size in entry["shape"])
        begin, end = (offset + int(value) for value in entry["data_offsets"])
    except (KeyError, TypeError, ValueError):
        raise UnusableInput(place, "a tensor that a trace cannot hold", f"one of {', '.join(_DTYPES)}") from None
    if not 0 <= begin <= end <= len(mapped) or end - begin != dtype.itemsize * int(np.prod(shape)):
        raise UnusableInput(place, f"bytes {begin} to {end} of {len(mapped)}", "a tensor inside the file", "cut off?")
    tensor: NDArray[Any] = mapped[begin:end].view(dtype).reshape(shape)
    return tensor
