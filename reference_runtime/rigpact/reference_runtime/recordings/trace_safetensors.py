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
    index, offset = _read_index(path)
    _refuse_damage(path)
    metadata = index.get("__metadata__")
    text = metadata.get("rigpact") if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        raise UnusableInput(path, "safetensors without a rigpact header", "a trace")
    header, widths = json_to_header(_parsed(text.encode(), path), f"{path}#rigpact")
    with opened(path) as stream:
        mapping = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    mapped = np.frombuffer(mapping, np.uint8)
    expected = {**dict.fromkeys(widths, ("<f4", 2)), "frame": ("<i8", 1), "time": ("<f8", 1)}
    tensors = {}
    for name, (dtype, rank) in expected.items():
        if name not in index:
            raise UnusableInput(f"{path}#{name}", "no tensor", f"{np.dtype(dtype)} of rank {rank}")
        tensors[name] = tensor = _tensor(mapped, index[name], offset, f"{path}#{name}")
        if tensor.dtype != np.dtype(dtype) or tensor.ndim != rank:
            raise UnusableInput(
                f"{path}#{name}", f"{tensor.dtype} of rank {tensor.ndim}", f"{np.dtype(dtype)} of rank {rank}"
            )
    _check_shapes(path, widths, tensors)
    return Trace(header, tensors["frame"], tensors["time"], {name: tensors[name] for name in widths}, mapping=mapping)


def _refuse_damage(path: Path) -> None:
    """UnusableInput for what the format's own library refuses: overlapping tensors, holes, bytes after the end."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy"):
            pass
    except SafetensorError as error:
        raise UnusableInput(path, f"a damaged file ({error})", "a safetensors file", "record again") from None


def _check_shapes(path: Path, widths: dict[str, int], tensors: dict[str, NDArray[Any]]) -> None:
    count = len(tensors["frame"])
    if not np.isfinite(tensors["time"]).all():
        raise UnusableInput(f"{path}#time", "a time that is not finite", "seconds")
    if count == 0 or len(tensors["time"]) != count or np.any(np.diff(tensors["frame"]) <= 0):
        raise UnusableInput(f"{path}#frame", f"{count} frames", "increasing frame numbers, one for each time")
    for name, width in widths.items():
        if tensors[name].shape != (count, width):
            raise UnusableInput(f"{path}#{name}", f"shape {tensors[name].shape}", f"({count}, {width})")


def _read_index(path: Path) -> tuple[dict[str, Any], int]:
    with opened(path) as stream:
        size = int.from_bytes(stream.read(8), "little")
        if size > _MAX_HEADER_BYTES:
            raise UnusableInput(path, f"a header of {size} bytes", "a safetensors trace")
        text = stream.read(size)
    index = _parsed(text, path)
    if not isinstance(index, dict):
        raise UnusableInput(path, "no safetensors header", "a safetensors trace")
    return index, 8 + size


def _parsed(text: bytes, path: Path) -> Any:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    read = bytes_to_json(text, path)
    for pointer in read.repeated_keys:
        raise UnusableInput(f"{path}#{pointer}", "a key that stands twice", "every key once", "two parsers differ")
    return read.data


def _tensor(mapped: NDArray[np.uint8], entry: Any, offset: int, place: str) -> NDArray[Any]:
    """One tensor of a file that `_refuse_damage` has let pass: its bytes stand inside the file and fit its shape."""
    dtype = _DTYPES.get(entry["dtype"])
    if dtype is None:
        raise UnusableInput(place, "a tensor that a trace cannot hold", f"one of {', '.join(_DTYPES)}")
    begin, end = (offset + value for value in entry["data_offsets"])
    tensor: NDArray[Any] = mapped[begin:end].view(dtype).reshape(entry["shape"])
    return tensor
