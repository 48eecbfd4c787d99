"""The networks of Learned Motion Matching as their authors publish them, written as models.

A file holds four vectors (int32 length, float32 values): mean and std of the input, mean and std of the output; then the number
of layers, and for each layer its rows, columns, weights W[in][out], and its bias with its length. ReLU between layers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


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
    nodes = [helper.make_node("Sub", ["x", "mean_in"], ["c"]), helper.make_node("Div", ["c", "std_in"], ["h0"])]
    count = len(found) // 2 - 2
    for place in range(count):
        weights |= {f"w{place}": found[4 + 2 * place], f"b{place}": found[5 + 2 * place]}
        nodes.append(helper.make_node("Gemm", [f"h{place}", f"w{place}", f"b{place}"], [f"g{place}"]))
        nodes.append(helper.make_node("Relu" if place < count - 1 else "Identity", [f"g{place}"], [f"h{place + 1}"]))
    nodes.append(helper.make_node("Mul", [f"h{count}", "std_out"], ["scaled"]))
    nodes.append(helper.make_node("Add", ["scaled", "mean_out"], ["y"]))
    takes, gives = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", len(weights[of])])]
        for name, of in (("x", "mean_in"), ("y", "mean_out"))
    )
    tensors = [numpy_helper.from_array(values, name) for name, values in weights.items()]
    graph = helper.make_graph(nodes, "published", takes, gives, tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(out))
    return out
