"""The networks of Learned Motion Matching as their authors publish them, read into models.

A file holds four vectors (int32 length, float32 values): mean and std of the input, mean and std of the output; then the number
of layers, and for each layer its rows, columns, weights W[in][out], and its bias with its length. ReLU between layers.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = Any


def _vectors(path: Path) -> list[Array]:
    """The four statistics, then weights and bias of each layer."""
    content, place = path.read_bytes(), 0

    def whole() -> int:
        nonlocal place
        place += 4
        return int(np.frombuffer(content, "<i4", 1, place - 4)[0])

    def floats(count: int) -> Array:
        nonlocal place
        place += 4 * count
        return np.frombuffer(content, "<f4", count, place - 4 * count).copy()

    found = [floats(whole()) for _ in range(4)]
    for _ in range(whole()):
        rows, columns = whole(), whole()
        found += [floats(rows * columns).reshape(rows, columns), floats(whole())]
    assert place == len(content), "bytes are left over"
    return found


def evaluator(path: Path) -> Callable[[Array], Array]:
    """The network in plain numpy, float32: (N, in) to (N, out)."""
    mean_in, std_in, mean_out, std_out, *layers = _vectors(path)

    def evaluate(rows: Array) -> Array:
        hidden = (rows - mean_in) / std_in
        for weights, bias in zip(layers[::2], layers[1::2], strict=True):
            hidden = hidden @ weights + bias
            if weights is not layers[-2]:
                hidden = np.maximum(hidden, 0.0)
        return np.asarray(hidden * std_out + mean_out, np.float32)

    return evaluate


def write_onnx(path: Path, out: Path) -> Path:
    """The same network as a model."""
    mean_in, std_in, mean_out, std_out, *layers = _vectors(path)
    weights = {"mean_in": mean_in, "std_in": std_in, "mean_out": mean_out, "std_out": std_out}
    nodes = [helper.make_node("Sub", ["x", "mean_in"], ["c"]), helper.make_node("Div", ["c", "std_in"], ["h0"])]
    count = len(layers) // 2
    for place in range(count):
        weights |= {f"w{place}": layers[2 * place], f"b{place}": layers[2 * place + 1]}
        last = place == count - 1
        given = f"g{place}"
        nodes.append(helper.make_node("Gemm", [f"h{place}", f"w{place}", f"b{place}"], [given]))
        nodes.append(helper.make_node("Identity" if last else "Relu", [given], [f"h{place + 1}"]))
    nodes.append(helper.make_node("Mul", [f"h{count}", "std_out"], ["scaled"]))
    nodes.append(helper.make_node("Add", ["scaled", "mean_out"], ["y"]))
    graph = helper.make_graph(
        nodes,
        "published",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", len(mean_in)])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", len(mean_out)])],
        [numpy_helper.from_array(values, name) for name, values in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(out))
    return out
