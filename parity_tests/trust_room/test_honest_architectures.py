"""Honest float32 engines of many architectures stay within the bound; a wrong weight leaves it.

The engines are onnxruntime with and without its optimiser and threads, and the float32 numpy of onnx's reference evaluator.
Some operations here have no derived rule: their bound is measured in float64.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx.reference import ReferenceEvaluator

from rigpact.reference_runtime.network_rounding.bounded_model import BoundedModel

from ..every_case import every_case
from .small_models import WIDTH, Graph

Array = Any
ROWS, OUT = 6, 12
LEVELS = onnxruntime.GraphOptimizationLevel


def whole(graph: Graph, *numbers: int) -> str:
    return graph.keep(np.array(numbers, np.int64))


def tokens(graph: Graph, x: str = "x") -> str:
    """Eight tokens of twelve numbers."""
    return graph.add("Reshape", x, whole(graph, -1, 8, 12))


def summed(graph: Graph) -> str:
    three = [graph.add("Tanh", graph.linear("x", 32, WIDTH)) for _ in range(3)]
    return graph.linear(graph.add("Sum", *three), OUT, 32)


def averaged(graph: Graph) -> str:
    three = [graph.add("Sigmoid", graph.linear("x", 32, WIDTH)) for _ in range(3)]
    return graph.linear(graph.add("Mean", *three), OUT, 32)


def normalised(graph: Graph) -> str:
    h = graph.linear("x", 32, WIDTH, around=1.0)
    normal = graph.add("LayerNormalization", h, graph.weight(32, around=1.0), graph.weight(32))
    return graph.linear(graph.add("Softsign", normal), OUT, 32)


def normalised_by_hand(graph: Graph) -> str:
    """LayerNorm as exporters wrote it before operator set 17."""
    h = graph.linear("x", 32, WIDTH, around=1.0)
    apart = graph.add("Sub", h, graph.add("ReduceMean", h, axes=[1]))
    spread = graph.add("ReduceMean", graph.add("Mul", apart, apart), axes=[1])
    size = graph.add("Sqrt", graph.add("Add", spread, graph.keep(np.array(1e-5, np.float32))))
    return graph.linear(graph.add("Div", apart, size), OUT, 32)


def recurrent(op: str, gates: int) -> Callable[[Graph], str]:
    def build(graph: Graph) -> str:
        steps = graph.add("Transpose", tokens(graph), perm=[1, 0, 2])
        weights = graph.weight(1, gates * 6, 12), graph.weight(1, gates * 6, 6), graph.weight(1, 2 * gates * 6)
        graph.add(op, steps, *weights, outputs=["all", "last"], hidden_size=6)
        return graph.linear(graph.add("Squeeze", "last", whole(graph, 0)), OUT, 6)

    return build


def plain_recurrent(graph: Graph) -> str:
    """An RNN has no derived rule."""
    return recurrent("RNN", 1)(graph)


def attention(graph: Graph) -> str:
    own = tokens(graph)
    query, key, value = (graph.add("MatMul", own, graph.weight(12, 12)) for _ in range(3))
    score = graph.add("MatMul", query, graph.add("Transpose", key, perm=[0, 2, 1]))
    mixed = graph.add("MatMul", graph.add("Softmax", score, axis=-1), value)
    return graph.linear(graph.add("Reshape", mixed, whole(graph, -1, WIDTH)), OUT, WIDTH)


def experts(graph: Graph) -> str:
    gate = graph.add("Softmax", graph.linear("x", 4, WIDTH), axis=-1)
    sides = [graph.add("Unsqueeze", graph.linear("x", 32, WIDTH), whole(graph, 1)) for _ in range(4)]
    weighted = graph.add("Mul", graph.add("Concat", *sides, axis=1), graph.add("Unsqueeze", gate, whole(graph, 2)))
    return graph.linear(graph.add("ReduceSum", weighted, whole(graph, 1), keepdims=0), OUT, 32)


def convolved(graph: Graph) -> str:
    channels = graph.add("Reshape", "x", whole(graph, -1, 6, 16))
    h = graph.add("Relu", graph.add("Conv", channels, graph.weight(4, 6, 3), graph.weight(4), pads=[1, 1]))
    return graph.linear(graph.add("Reshape", h, whole(graph, -1, 64)), OUT, 64)


def accumulated(graph: Graph) -> str:
    """Running sums of a row: every number depends on all before it, and no rule is derived."""
    h = graph.add("CumSum", graph.linear("x", 32, WIDTH), graph.keep(np.array(1, np.int64)))
    return graph.linear(graph.add("ThresholdedRelu", h, alpha=0.5), OUT, 32)


def lengths(graph: Graph) -> str:
    """Norms of a token, divided away, and a logarithm of a sum of exponentials."""
    h = graph.add("LpNormalization", tokens(graph), axis=2, p=2)
    return graph.linear(graph.add("ReduceLogSumExp", h, whole(graph, 2), keepdims=0), OUT, 8)


ARCHITECTURES = {
    "Sum": (summed, 13),
    "Mean": (averaged, 21),
    "LayerNormalization": (normalised, 17),
    "LayerNorm by hand": (normalised_by_hand, 13),
    "GRU": (recurrent("GRU", 3), 14),
    "LSTM": (recurrent("LSTM", 4), 15),
    "RNN": (plain_recurrent, 18),
    "attention": (attention, 16),
    "mixture of experts": (experts, 19),
    "convolution": (convolved, 20),
    "running sums": (accumulated, 21),
    "lengths": (lengths, 18),
}


def saved(name: str, path: Path, *, batch: int, edit: Callable[[Graph], None] = lambda _graph: None) -> Path:
    """batch: 0 leaves it open."""
    build, opset = ARCHITECTURES[name]
    graph = Graph(3)
    y = build(graph)
    edit(graph)
    graph.save(path, y, OUT, opset)
    model = onnx.load(path)
    for end in (*model.graph.input, *model.graph.output) if batch else ():
        end.type.tensor_type.shape.dim[0].dim_value = batch
    onnx.save(model, path)
    return path


def session(path: Path, level: Any = LEVELS.ORT_ENABLE_ALL, threads: int = 1) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level, options.intra_op_num_threads = level, threads
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def by_rows(run: Callable[[Array], Array], x: Array, step: int) -> Array:
    return np.concatenate([run(x[at : at + step]) for at in range(0, len(x), step)])


def engines(path: Path, x: Array, step: int) -> Iterator[tuple[str, Array]]:
    for level in (LEVELS.ORT_DISABLE_ALL, LEVELS.ORT_ENABLE_BASIC, LEVELS.ORT_ENABLE_ALL):
        for threads in (1, 2):
            made = session(path, level, threads)
            yield f"{level}, {threads} threads", by_rows(lambda rows, run=made.run: run(None, {"x": rows})[0], x, step)
    numpy = ReferenceEvaluator(str(path))
    yield "numpy", by_rows(lambda rows: numpy.run(None, {"x": rows})[0], x, step)


def drawn() -> Array:
    x = np.random.default_rng(5).normal(size=(ROWS, WIDTH)).astype(np.float32)
    x[0] *= np.float32(0.01)
    x[-1] *= np.float32(8.0)
    return x


def bounded(path: Path, x: Array, batch: int) -> tuple[BoundedModel, Array, Array]:
    made = session(path)
    step = batch or len(x)

    def run(inputs: Any) -> Any:
        return [by_rows(lambda rows: made.run(None, {"x": rows})[0], inputs[0], step)]

    model = BoundedModel(path, run, takes_one_row=batch == 1)
    answer = model.answer([x], [np.zeros_like(x)])
    return model, answer.exact[0], answer.bound[0]


@every_case("batch", [0, 1], ids=["dynamic", "batch of 1"])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_an_honest_engine_stays_within_the_bound(name: str, batch: int, tmp_path: Path) -> None:
    """An alarm at another order of summation is an alarm at every character, and the gate is switched off."""
    path, x = saved(name, tmp_path / "model.onnx", batch=batch), drawn()
    model, exact, bound = bounded(path, x, batch)
    assert model.rounding.reason == ""
    for engine, found in engines(path, x, batch or len(x)):
        assert (np.abs(found - exact) <= bound).all(), engine
    # a wrong weight of 1 % moves an answer by about as much: a bound of that size would hide it
    assert (bound < 1e-3 * (1.0 + np.abs(exact).max())).all()


def one_weight(graph: Graph) -> None:
    """The largest weight of the last layer, 1 % off."""
    name = [key for key, values in graph.weights.items() if values.shape and values.shape[0] == OUT][-2]
    values = graph.weights[name]
    values[np.unravel_index(np.abs(values).argmax(), values.shape)] *= np.float32(1.01)


def halved_precision(graph: Graph) -> None:
    for values in graph.weights.values():
        if values.dtype == np.float32:
            values[...] = values.astype(np.float16).astype(np.float32)


@every_case("edit", [one_weight, halved_precision])
@every_case("batch", [0, 1], ids=["dynamic", "batch of 1"])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_defect_leaves_the_bound(name: str, batch: int, edit: Any, tmp_path: Path) -> None:
    """A weight that is 1 % off, or weights of float16, change how a character walks."""
    x = drawn()
    _, exact, bound = bounded(saved(name, tmp_path / "model.onnx", batch=batch), x, batch)
    wrong = saved(name, tmp_path / "wrong.onnx", batch=batch, edit=edit)
    for engine, found in engines(wrong, x, batch or len(x)):
        assert (np.abs(found - exact) > bound).any(), engine
