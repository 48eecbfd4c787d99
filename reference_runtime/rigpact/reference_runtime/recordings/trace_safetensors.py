"""Traces as safetensors, memory-mapped: data are read on first access.

The library writes the file and checks it. It is read through a mapping of our own, which gives back the pages of frames that
are done: five stages of 100 000 frames, read in pieces, keep 18 MB in memory. The library's slices keep all of the file, 528 MB.
Long recordings are compared so: see the memory row of docs/performance.md.
"""

import mmap
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import bytes_to_json, opened, written_whole
from rigpact.reference_runtime.recordings.trace_model import Trace, json_to_header

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
    read = bytes_to_json(text, path)
    for pointer in read.repeated_keys:
        raise UnusableInput(f"{path}#{pointer}", "a key that stands twice", "every key once", "two parsers differ")
    return read.data
