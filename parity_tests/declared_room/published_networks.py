"""The networks of Learned Motion Matching as their authors publish them, written as models.

A file holds four vectors (int32 length, float32 values): mean and std of the input, mean and std of the output; then the number
of layers, and for each layer its rows, columns, weights W[in][out], and its bias with its length. ReLU between layers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..models import floats, saved


def _vectors(path: Path) -> list[Any]:
    """The four statistics, then weights and bias of each layer."""
    content, place = path.read_bytes(), 0

    def taken(kind: str, count: int) -> Any:
        nonlocal place
        place += 4 * count
        return np.frombuffer(content, kind, count, place - 4 * count).copy()

    def whole() -> int:
        return int(taken("<i4", 1)[0])

    found = [taken("<f4", whole()) for _ in range(4)]
    for _ in range(whole()):
        rows, columns = whole(), whole()
        found += [taken("<f4", rows * columns).reshape(rows, columns), taken("<f4", whole())]
    assert place == len(content), "bytes are left over"
    return found


def write_onnx(path: Path, out: Path) -> Path:
    """The network of a file as a model."""
    *statistics, mean_out, std_out = (found := _vectors(path))[:4]
    weights = dict(zip(("mean_in", "std_in"), statistics, strict=True)) | {"mean_out": mean_out, "std_out": std_out}
    nodes = "c = Sub(x, mean_in) h0 = Div(c, std_in)"
    count = len(found) // 2 - 2
    for place in range(count):
        weights |= {f"w{place}": found[4 + 2 * place], f"b{place}": found[5 + 2 * place]}
        nodes += f" g{place} = Gemm(h{place}, w{place}, b{place})"
        nodes += f" h{place + 1} = {'Relu' if place < count - 1 else 'Identity'}(g{place})"
    takes, gives = floats("x", len(weights["mean_in"])), floats("y", len(weights["mean_out"]))
    nodes += f" scaled = Mul(h{count}, std_out) y = Add(scaled, mean_out)"
    return saved(out, f"({takes}) => ({gives}) {{ {nodes} }}", opset=17, **weights)
