"""Recordings written by hand, a few lines or bytes each, and what a reader says of one that it refuses.

A frame k holds the numbers [k, -k] and no turn, so that every row tells which frame it is.
"""

import json
import struct
import zlib

import numpy as np
import pytest
import safetensors.numpy

from rigpact.contract.errors import UnusableInput

HEADER = {"format": "rigpact-trace", "version": 1, "fps": 60.0, "mode": "free", "stages": {"cond": 2, "quat": 4}}
MAGIC = b"\x89RPT\r\n\x1a\n"
BINARY_FRAME = 8 + 8 + 8 + 2 * 8 + 4 * 4
"""Bytes of a frame as docs/trace-format.md defines it: size and checksum, number, time, two float64, four float32."""


def frame(number, **changed):
    return {"frame": number, "time": number / 60, "stages": {"cond": [number, -number], "quat": [0, 0, 0, 1]}} | changed


def text(*entries, end="\n"):
    return (end.join(each if isinstance(each, str) else json.dumps(each) for each in entries) + end).encode()


def lines(path, *entries):
    path.write_bytes(text(*entries))
    return path


def sealed(body):
    return struct.pack("<II", len(body), zlib.crc32(body)) + body


def binary(*frames, **changed):
    """A binary trace; frames: numbers, or pairs of a number and a time."""
    rows = [each if isinstance(each, tuple) else (each, each / 60) for each in frames]
    head = MAGIC + sealed(json.dumps(HEADER | {"float64": ["cond"]} | changed).encode())
    return head + b"".join(sealed(struct.pack("<qd2d4f", k, time, k, -k, 0, 0, 0, 1)) for k, time in rows)


def tensors(*, header=HEADER, metadata=None, **changed):
    """A file of two frames that the format's own library has written, so that only its meaning can be wrong."""
    held = {
        "cond": np.array([[0, 0], [1, -1]], np.float32), "quat": np.array([[0, 0, 0, 1]] * 2, np.float32),
        "frame": np.arange(2), "time": np.arange(2) / 60.0,
    }  # fmt: skip
    held = {name: rows for name, rows in (held | changed).items() if rows is not None}
    return safetensors.numpy.save(held, metadata={"rigpact": json.dumps(header)} if metadata is None else metadata)


def tampered(**entries):
    """A safetensors trace whose index was tampered with."""
    content = tensors()
    size = struct.unpack("<Q", content[:8])[0]
    index = json.dumps(json.loads(content[8 : 8 + size]) | entries).encode()
    return struct.pack("<Q", len(index)) + index + content[8 + size :]


def refused(ask, *given, **named):
    """Place, what was found and what was expected, of what is refused; the place of a file without its folder."""
    with pytest.raises(UnusableInput) as raised:
        ask(*given, **named)
    return raised.value.place.removeprefix(str(given[0]) if given else ""), raised.value.found, raised.value.expected
