"""Small ONNX models: one input `x` (N, 96), one output `y`, random weights; each operation alone, and motion networks' kinds."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[Any]
F = np.float32
WIDTH, OUT = 96, 12


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

    def keep(self, values: Any) -> str:
        """A constant."""
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(values)
        return name

    def whole(self, *numbers: int) -> str:
        """Whole numbers, for shapes and axes."""
        return self.keep(np.array(numbers, np.int64))

    def linear(self, x: str, rows: int, width: int, around: float = 0.0) -> str:
        """x Wᵀ + b."""
        return self.add("Gemm", x, self.weight(rows, width), self.weight(rows, scale=0.3, around=around), transB=1)

    def save(self, path: Path, y: str, width: int, opset: int = 18, batch: int = 0) -> Path:
        """Write the model; batch: 0 leaves it open."""
        self.add("Identity", y, outputs=["y"])
        ends = [
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [batch or "B", size])]
            for name, size in (("x", WIDTH), ("y", width))
        ]
        weights = [numpy_helper.from_array(values, name) for name, values in self.weights.items()]
        graph = helper.make_graph(self.nodes, "model", *ends, weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
        onnx.checker.check_model(model)
        onnx.save(model, path)
        return path

    def tokens(self, *shape: int) -> str:
        """The input as tokens: eight of twelve numbers unless a shape is given."""
        return self.add("Reshape", "x", self.whole(-1, *(shape or (8, 12))))


def perceptron(graph: Graph) -> str:
    """Three layers, ELU."""
    h = graph.add("Elu", graph.linear("x", 64, WIDTH))
    return graph.linear(graph.add("Elu", graph.linear(h, 64, 64)), OUT, 64)


def cancelling(graph: Graph) -> str:
    """Large terms that leave a small answer: each weight stands beside its negative, and the features hardly differ."""
    weights = graph.rng.normal(size=(200, WIDTH)).astype(F)
    h = graph.add("Sigmoid", graph.add("Gemm", "x", graph.keep(np.concatenate([weights, weights])), transB=1))
    own = 40.0 * graph.rng.normal(size=(OUT, 200))
    return graph.add("Gemm", h, graph.keep(np.concatenate([own, -own + 1e-3], axis=1).astype(F)), transB=1)


def of_three(op: str, activation: str) -> Callable[[Graph], str]:
    return lambda graph: graph.linear(
        graph.add(op, *[graph.add(activation, graph.linear("x", 32, WIDTH)) for _ in range(3)]), OUT, 32
    )


def normalised(graph: Graph) -> str:
    """LayerNormalization, GELU by Erf, a residual."""
    h = graph.linear("x", 32, WIDTH, around=3.0)
    normal = graph.add("LayerNormalization", h, graph.weight(32, scale=0.1, around=1.0), graph.weight(32, scale=0.1))
    inside = graph.add("Erf", graph.add("Div", normal, graph.keep(F(np.sqrt(2.0)))))
    gelu = graph.add("Mul", graph.add("Mul", normal, graph.keep(F(0.5))), graph.add("Add", inside, graph.keep(F(1))))
    return graph.linear(graph.add("Softsign", graph.add("Add", h, gelu)), OUT, 32)


def normalised_by_hand(graph: Graph) -> str:
    """LayerNorm as exporters wrote it before operator set 17."""
    h = graph.linear("x", 32, WIDTH, around=1.0)
    apart = graph.add("Sub", h, graph.add("ReduceMean", h, axes=[1]))
    spread = graph.add("ReduceMean", graph.add("Mul", apart, apart), axes=[1])
    size = graph.add("Sqrt", graph.add("Add", spread, graph.keep(F(1e-5))))
    return graph.linear(graph.add("Div", apart, size), OUT, 32)


def recurrent_state(op: str, gates: int, *more: str | Callable[[Graph], str], **own: Any) -> Callable[[Graph], str]:
    """The last state of a recurrent layer after eight steps of twelve numbers; more: its further inputs."""

    def build(graph: Graph) -> str:
        steps = graph.add("Transpose", graph.tokens(), perm=[1, 0, 2])
        weights = graph.weight(1, gates * 6, 12), graph.weight(1, gates * 6, 6), graph.weight(1, 2 * gates * 6)
        further = [each(graph) if callable(each) else each for each in more]
        graph.add(op, steps, *weights, *further, outputs=["all", "last"], hidden_size=6, **own)
        return graph.add("Squeeze", "last", graph.whole(0))

    return build


def recurrent(op: str, gates: int) -> Callable[[Graph], str]:
    return lambda graph: graph.linear(recurrent_state(op, gates)(graph), OUT, 6)


def attention(graph: Graph) -> str:
    """Eight tokens, one head of products."""
    own = graph.tokens()
    query, key, value = (graph.add("MatMul", own, graph.weight(12, 12)) for _ in range(3))
    score = graph.add("MatMul", query, graph.add("Transpose", key, perm=[0, 2, 1]))
    mixed = graph.add("MatMul", graph.add("Softmax", score, axis=-1), value)
    return graph.linear(graph.add("Tanh", graph.add("Reshape", mixed, graph.whole(-1, WIDTH))), OUT, WIDTH)


def experts(graph: Graph) -> str:
    """Four layers, mixed by a softmax."""
    gate = graph.add("Softmax", graph.linear("x", 4, WIDTH), axis=-1)
    sides = [graph.add("Unsqueeze", graph.linear("x", 32, WIDTH), graph.whole(1)) for _ in range(4)]
    weighted = graph.add("Mul", graph.add("Concat", *sides, axis=1), graph.add("Unsqueeze", gate, graph.whole(2)))
    return graph.linear(graph.add("ReduceSum", weighted, graph.whole(1), keepdims=0), OUT, 32)


def convolved(graph: Graph) -> str:
    """Six channels of sixteen samples, a batch normalisation that is folded into the convolution."""
    h = graph.add("Conv", graph.tokens(6, 16), graph.weight(4, 6, 3), graph.weight(4), pads=[1, 1], strides=[2])
    spread = graph.keep(np.abs(graph.rng.normal(size=4)).astype(F) + F(0.1))
    numbers = graph.weight(4, scale=0.2, around=1.0), graph.weight(4), graph.weight(4, scale=2.0), spread
    h = graph.add("LeakyRelu", graph.add("BatchNormalization", h, *numbers), alpha=0.1)
    return graph.linear(graph.add("Flatten", h), OUT, 32)


def accumulated(graph: Graph) -> str:
    """Running sums of a row: every number depends on all before it, and no rule is derived."""
    h = graph.add("CumSum", graph.linear("x", 32, WIDTH), graph.keep(np.array(1, np.int64)))
    return graph.linear(graph.add("ThresholdedRelu", h, alpha=0.5), OUT, 32)


def lengths(graph: Graph) -> str:
    """Norms of a token, divided away, and a logarithm of a sum of exponentials."""
    h = graph.add("LpNormalization", graph.tokens(), axis=2, p=2)
    return graph.linear(graph.add("ReduceLogSumExp", h, graph.whole(2), keepdims=0), OUT, 8)


def shares_of_columns(graph: Graph) -> str:
    return graph.linear(graph.add("Flatten", graph.add("Softmax", graph.tokens(), axis=1)), OUT, WIDTH)


ARCHITECTURES: dict[str, tuple[Callable[[Graph], str], int]] = {
    "perceptron": (perceptron, 18),
    "cancelling": (cancelling, 18),
    "Sum": (of_three("Sum", "Tanh"), 13),
    "Mean": (of_three("Mean", "Sigmoid"), 21),
    "LayerNormalization": (normalised, 17),
    "LayerNorm by hand": (normalised_by_hand, 13),
    "GRU": (recurrent("GRU", 3), 14),
    "LSTM": (recurrent("LSTM", 4), 15),
    "RNN": (recurrent("RNN", 1), 18),  # without a derived rule, as the last four: their bound is measured in float64
    "attention": (attention, 16),
    "mixture of experts": (experts, 19),
    "convolution": (convolved, 20),
    "running sums": (accumulated, 21),
    "lengths": (lengths, 18),
    "Softmax over several axes": (shares_of_columns, 12),
}
"""Kinds of motion networks, and the operator set of their exporter."""


def saved(name: str, path: Path, *, batch: int = 0, edit: Callable[[Graph], None] = lambda _graph: None) -> Path:
    """A model of a kind, with its weights edited."""
    build, opset = ARCHITECTURES[name]
    graph = Graph(3)
    y = build(graph)
    edit(graph)
    return graph.save(path, y, OUT, opset, batch)
