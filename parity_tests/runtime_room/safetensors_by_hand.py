"""Safetensors files of two frames: sound ones of other tensors, and traces whose header was tampered with."""

import json
import struct

import numpy as np
import safetensors.numpy

from rigpact.reference_runtime import Trace, TraceHeader, write_trace

HEADER = {
    "format": "rigpact-trace", "version": 1, "producer": {"name": "engine", "version": "5.4"},
    "contract": {"bundle_sha256": None}, "fps": 60, "mode": "free", "clip": "Walk_F", "stages": {"cond": 2, "quat": 4},
}  # fmt: skip


def with_metadata(tmp_path, metadata, **entries):
    """A safetensors trace whose header was tampered with."""
    frames = np.arange(2)
    stages = {"cond": np.ones((2, 2), np.float32), "quat": np.ones((2, 4), np.float32)}
    path = tmp_path / "x.trace.safetensors"
    write_trace(Trace(TraceHeader(60.0, "free"), frames, frames / 60.0, stages), path)
    content = path.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    index = json.loads(content[8 : 8 + size]) | entries
    if metadata is not None:
        index["__metadata__"] = metadata
    text = json.dumps(index).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + size :])
    return path


def saved(tmp_path, *, metadata=None, **tensors):
    """A file that the format's own library has written, so that only its meaning can be wrong."""
    held = {
        "cond": np.ones((2, 2), np.float32), "quat": np.ones((2, 4), np.float32), "frame": np.arange(2),
        "time": np.arange(2) / 60.0,
    }  # fmt: skip
    held = {name: rows for name, rows in (held | tensors).items() if rows is not None}
    path = tmp_path / "saved.trace.safetensors"
    said = {"rigpact": json.dumps(HEADER)} if metadata is None else metadata
    path.write_bytes(safetensors.numpy.save(held, metadata=said))
    return path
