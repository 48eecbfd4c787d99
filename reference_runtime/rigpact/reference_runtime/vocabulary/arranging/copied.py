"""Copied: a vector of which so many bytes arrive on the other side."""

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Frames
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_same_frame


def first_bytes(rows: FloatArray, count: int) -> FloatArray:
    """Rows of float32 with only the first `count` bytes copied (little-endian); the rest is zero."""
    raw = np.ascontiguousarray(rows, "<f4").view(np.uint8).copy()
    raw[:, count:] = 0
    return raw.view("<f4").astype(np.float32)


def build(use: Use) -> Built:
    """The same numbers, or as many bytes of them as there are numbers."""
    source, width = use.inputs[0], use.inputs[0].fields.width
    hint = f"memcpy counts bytes: {width} floats are {4 * width}; the rest stays zero"
    counts = {"whole": 4 * width, "floats_as_bytes": width}
    copied = use.choice("bytes", counts, f"how many bytes of {source.name} arrive", {"floats_as_bytes": hint})

    def compute(frames: Frames) -> FloatArray:
        return first_bytes(frames[source.name], copied.of(frames))

    def bound(_frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        return of_same_frame(upstream, source.name, rows.shape)

    return Built(source.fields, compute, bound, is_propagated=True)


OPERATION = Operation(
    "copied",
    "a vector as it arrives on the other side: all of its bytes, or too few",
    build,
    {"bytes": "whole, or floats_as_bytes: as many bytes as there are floats, the rest stays zero"},
    choices=("bytes",),
    code={
        "bytes": {
            "whole": CodeHint("memcpy(x, floats, count * sizeof(float))", "x = np.frombuffer(data, '<f4')"),
            "floats_as_bytes": CodeHint("memcpy(x, floats, count)", "x.view('u1')[:count] = data[:count]"),
        }
    },
)
