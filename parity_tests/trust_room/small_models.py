"""Small ONNX models of the kinds that motion networks are: one input `x` (N, width), one output `y`, random weights."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[Any]
F = np.float32
WIDTH = 96


class Graph:
    """Nodes and weights as they are added."""

    def __init__(self, seed: int) -> None:
        """Random weights from a seed."""
        self.rng, self.nodes, self.weights = np.random.default_rng(seed), [], {}

    def add(self, op: str, *inputs: str, outputs: Sequence[str] = (), **attributes: Any) -> str:
        """Add a node; returns its first output."""
        name = outputs[0] if outputs else f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), list(outputs) or [name], **attributes))
        return name

    def weight(self, *shape: int, scale: float | None = None, around: float = 0.0) -> str:
        """Random numbers, the size of a trained layer's."""
        size = 1.0 / np.sqrt(shape[-1]) if scale is None else scale
        return self.keep((around + size * self.rng.normal(size=shape)).astype(F))

    def keep(self, values: Array) -> str:
        """A constant."""
        name = f"w{len(self.weights)}"
        self.weights[name] = values
        return name

    def linear(self, x: str, rows: int, width: int, around: float = 0.0) -> str:
        """x Wᵀ + b."""
        return self.add("Gemm", x, self.weight(rows, width), self.weight(rows, scale=0.3, around=around), transB=1)

    def save(self, path: Path, y: str, width: int, opset: int = 18) -> Path:
        """Write the model."""
        self.add("Identity", y, outputs=["y"])
        ends = [
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["B", size])]
            for name, size in (("x", WIDTH), ("y", width))
        ]
        weights = [numpy_helper.from_array(values, name) for name, values in self.weights.items()]
        graph = helper.make_graph(self.nodes, "model", *ends, weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
        onnx.checker.check_model(model)
        onnx.save(model, path)
        return path


def perceptron(graph: Graph) -> str:
    """Three layers, ELU."""
    h = graph.add("Elu", graph.linear("x", 256, WIDTH))
    return graph.linear(graph.add("Elu", graph.linear(h, 256, 256)), 40, 256)


def cancelling(graph: Graph) -> str:
    """Large terms that leave a small answer: each weight stands beside its negative, and the features hardly differ."""
    weights = graph.rng.normal(size=(200, WIDTH)).astype(F)
    h = graph.add("Sigmoid", graph.add("Gemm", "x", graph.keep(np.concatenate([weights, weights])), transB=1))
    own = 40.0 * graph.rng.normal(size=(40, 200))
    return graph.add("Gemm", h, graph.keep(np.concatenate([own, -own + 1e-3], axis=1).astype(F)), transB=1)


def normalised(graph: Graph) -> str:
    """LayerNormalization, tanh-free GELU written out, a residual."""
    h = graph.linear("x", 128, WIDTH, around=3.0)
    normal = graph.add("LayerNormalization", h, graph.weight(128, scale=0.1, around=1.0), graph.weight(128, scale=0.1))
    inside = graph.add("Erf", graph.add("Div", normal, graph.keep(np.array(np.sqrt(2.0), F))))
    half = graph.add("Mul", normal, graph.keep(np.array(0.5, F)))
    gelu = graph.add("Mul", half, graph.add("Add", inside, graph.keep(np.array(1.0, F))))
    return graph.linear(graph.add("Add", h, graph.linear(gelu, 128, 128)), 40, 128)


def normalised_by_hand(graph: Graph) -> str:
    """The same normalisation written out, which onnxruntime fuses."""
    h, axes = graph.linear("x", 128, WIDTH, around=1.0), graph.keep(np.array([-1], np.int64))
    centred = graph.add("Sub", h, graph.add("ReduceMean", h, axes))
    square = graph.add("Pow", centred, graph.keep(np.array(2.0, F)))
    spread = graph.add("Add", graph.add("ReduceMean", square, axes), graph.keep(np.array(1e-5, F)))
    normal = graph.add("Div", centred, graph.add("Sqrt", spread))
    scaled = graph.add("Add", graph.add("Mul", normal, graph.weight(128)), graph.weight(128))
    return graph.linear(graph.add("Relu", scaled), 40, 128)


def attention(graph: Graph) -> str:
    """Eight tokens of twelve numbers; one head of scaled products."""
    tokens = graph.add("Reshape", "x", graph.keep(np.array([-1, 8, 12], np.int64)))
    query, key, value = (graph.add("MatMul", tokens, graph.weight(12, 32, scale=0.5)) for _ in range(3))
    scores = graph.add("MatMul", query, graph.add("Transpose", key, perm=[0, 2, 1]))
    shares = graph.add("Softmax", graph.add("Mul", scores, graph.keep(np.array(32**-0.5, F))), axis=-1)
    mixed = graph.add("Reshape", graph.add("MatMul", shares, value), graph.keep(np.array([-1, 256], np.int64)))
    return graph.linear(graph.add("Tanh", mixed), 40, 256)


def convolution(graph: Graph) -> str:
    """Six channels of sixteen samples, a batch normalisation that is folded into the convolution."""
    channels = graph.add("Reshape", "x", graph.keep(np.array([-1, 6, 16], np.int64)))
    h = graph.add("Conv", channels, graph.weight(24, 6, 3, scale=0.3), graph.weight(24), pads=[1, 1], strides=[2])
    spread = graph.keep(np.abs(graph.rng.normal(size=24)).astype(F) + F(0.1))
    numbers = graph.weight(24, scale=0.2, around=1.0), graph.weight(24), graph.weight(24, scale=2.0), spread
    h = graph.add("LeakyRelu", graph.add("BatchNormalization", h, *numbers), alpha=0.1)
    return graph.linear(graph.add("Flatten", h), 40, 192)


def recurrent(graph: Graph, op: str = "GRU", gates: int = 3) -> str:
    """Eight steps of twelve numbers."""
    steps = graph.add("Reshape", "x", graph.keep(np.array([-1, 8, 12], np.int64)))
    first = graph.add("Transpose", steps, perm=[1, 0, 2])
    weights = (
        graph.weight(1, gates * 32, 12),
        graph.weight(1, gates * 32, 32),
        graph.weight(1, 2 * gates * 32, scale=0.1),
    )
    own: dict[str, Any] = {"linear_before_reset": 1} if op == "GRU" else {}
    graph.add(op, first, *weights, outputs=[f"{op}_all", f"{op}_last"], hidden_size=32, **own)
    return graph.linear(graph.add("Squeeze", f"{op}_last", graph.keep(np.array([0], np.int64))), 40, 32)


def long_memory(graph: Graph) -> str:
    """The same as an LSTM."""
    return recurrent(graph, "LSTM", 4)


KINDS: tuple[Callable[[Graph], str], ...] = (
    perceptron, cancelling, normalised, normalised_by_hand, attention, convolution, recurrent, long_memory,
)  # fmt: skip


def write_model(kind: Callable[[Graph], str], path: Path, seed: int = 0) -> Path:
    """Write a model of a kind; its output is 40 wide."""
    graph = Graph(seed)
    return graph.save(path, kind(graph), 40)
