"""Operations of models, one by one

Every operation that a network's rounding follows is asked of a model that holds it alone. onnxruntime is the oracle.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from rigpact.reference_runtime.network_rounding.rounding_of_network import NetworkRounding

from ..every_case import every_case
from .small_models import WIDTH, Array, Graph

Built = Callable[[Graph], str]
ROWS = 3


def whole(graph: Graph, *numbers: int) -> str:
    return graph.keep(np.array(numbers, np.int64))


def flat(graph: Graph, values: str, width: int) -> str:
    """Rows again, to leave the model."""
    return graph.add("Reshape", values, whole(graph, -1, width))


def padded(graph: Graph, pads: tuple[int, ...], *fill: str, mode: str = "constant") -> str:
    return flat(graph, graph.add("Pad", "x", whole(graph, *pads), *fill, mode=mode), WIDTH + pads[1] + pads[3])


def padded_axis(graph: Graph) -> str:
    """The axes are named: the second pair of numbers of every other axis is 0."""
    return flat(graph, graph.add("Pad", "x", whole(graph, 2, 3), "", whole(graph, 1)), WIDTH + 5)


def sides(graph: Graph) -> str:
    """Two linear layers of the same rows, multiplied row by row: an attention without its softmax."""
    left, right = graph.linear("x", 4, WIDTH), graph.linear("x", 4, WIDTH)
    return graph.add("Einsum", left, right, equation="ni,nj->nij")


def einsum(graph: Graph) -> str:
    return flat(graph, sides(graph), 16)


def einsum_of_weights(graph: Graph) -> str:
    return flat(graph, graph.add("Einsum", "x", graph.weight(5, WIDTH), equation="ni, oi -> no"), 5)


def summed(graph: Graph) -> str:
    return graph.add("ReduceSum", "x", whole(graph, 1))


def counted(graph: Graph) -> str:
    """The sum of a shape, as an exporter writes the size of a flattened row: 3 rows of 96 numbers sum to 99."""
    count = graph.add("ReduceSum", graph.add("Shape", "x"), whole(graph, 0))
    return graph.add("Mul", "x", graph.add("Cast", count, to=TensorProto.FLOAT))


def halved(graph: Graph) -> str:
    """A shape divided by two, rounded towards zero: negative numbers too."""
    shape = graph.add("Mul", graph.add("Shape", "x"), whole(graph, -1, 1))
    half = graph.add("Cast", graph.add("Div", shape, whole(graph, 2, 5)), to=TensorProto.FLOAT)  # -1.5, 19.2
    return graph.add("Mul", graph.add("Slice", "x", *(whole(graph, at) for at in (0, 2, 1))), half)


def constants(graph: Graph) -> str:
    """Numbers as nodes instead of weights, in every form that a node may give them."""
    y = graph.add("Mul", "x", graph.add("Constant", value_float=1.5))
    y = graph.add("Add", y, graph.add("Constant", value_floats=[0.25 * place for place in range(WIDTH)]))
    y = graph.add("Mul", y, graph.add("Constant", value=numpy_helper.from_array(np.array([2.0], np.float32))))
    tokens = graph.add("Reshape", y, graph.add("Constant", value_ints=[-1, 8, 12]))
    return graph.add("Gather", tokens, graph.add("Constant", value_int=3), axis=1)


def recurrent(op: str, gates: int, **attributes: object) -> Built:
    """Eight steps of twelve numbers."""

    def build(graph: Graph) -> str:
        steps = graph.add("Transpose", graph.add("Reshape", "x", whole(graph, -1, 8, 12)), perm=[1, 0, 2])
        weights = graph.weight(1, gates * 6, 12), graph.weight(1, gates * 6, 6), graph.weight(1, 2 * gates * 6)
        graph.add(op, steps, *weights, outputs=["all", "last"], hidden_size=6, **attributes)
        return graph.add("Squeeze", "last", whole(graph, 0))

    return build


def spread_of_others(graph: Graph) -> str:
    """Squares of a difference that is not a distance from its own mean: an error, not a variance."""
    apart = graph.add("Sub", "x", graph.weight(WIDTH, around=30.0))
    return graph.add("ReduceMean", graph.add("Mul", apart, apart), whole(graph, 1))


def convolved(graph: Graph, **attributes: object) -> str:
    channels = graph.add("Reshape", "x", whole(graph, -1, 6, 16))
    return flat(graph, graph.add("Conv", channels, graph.weight(4, 6, 3), **attributes), 64)


ANSWERED: dict[str, tuple[Built, int]] = {
    "numbers as nodes": (constants, 12),
    "GELU by its tanh": (lambda graph: graph.add("Gelu", "x", approximate="tanh"), WIDTH),
    "zeros around": (lambda graph: padded(graph, (0, 2, 0, 3)), WIDTH + 5),
    "a number around": (lambda graph: padded(graph, (0, 1, 0, 1), graph.keep(np.array(0.5, np.float32))), WIDTH + 2),
    "mirrored": (lambda graph: padded(graph, (0, 2, 0, 2), mode="reflect"), WIDTH + 4),
    "a convolution that pads by itself": (lambda graph: convolved(graph, auto_pad="SAME_UPPER"), 64),
    "an ellipsis": (lambda graph: graph.add("Einsum", "x", equation="...i->...i"), WIDTH),
    "pads that wrap": (lambda graph: padded(graph, (0, 0, 0, 2), mode="wrap"), WIDTH + 2),
    "the edge again": (lambda graph: padded(graph, (0, 2, 0, 2), mode="edge"), WIDTH + 4),
    "one named axis": (padded_axis, WIDTH + 5),
    "Einsum of two layers": (einsum, 16),
    "Einsum with weights": (einsum_of_weights, 5),
    "a sum": (summed, 1),
    "a sum of whole numbers": (counted, WIDTH),
    "a division of whole numbers": (halved, 2),
    "GRU": (recurrent("GRU", 3), 6),
    "GRU, linear before reset": (recurrent("GRU", 3, linear_before_reset=1), 6),
    "a mean of squares": (spread_of_others, 1),
}


def saved(build: Built, width: int, folder: Path, opset: int = 20) -> Path:
    graph = Graph(0)
    return graph.save(folder / "model.onnx", build(graph), width, opset)


@every_case("case", ANSWERED)
def test_an_operation_answers_as_onnxruntime_does(case: str, tmp_path: Path) -> None:
    """An operation that is followed wrongly gives a bound around a wrong number: every sound engine is accused."""
    build, width = ANSWERED[case]
    path = saved(build, width, tmp_path)
    x: Array = np.random.default_rng(1).normal(size=(ROWS, WIDTH)).astype(np.float32)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"x": x})
    rounding = NetworkRounding(path)
    answer = rounding.answer([x], [np.zeros_like(x)])
    assert answer is not None, rounding.reason
    assert answer.exact[0].shape == expected.shape
    assert (np.abs(answer.exact[0] - expected) <= answer.bound[0]).all()
    # float32 holds 24 bits; none of these models sums more than a few hundred terms
    assert (answer.bound[0] <= 1e-4 * (1.0 + np.abs(expected).max())).all()


def peepholes(graph: Graph) -> str:
    steps = graph.add("Transpose", graph.add("Reshape", "x", whole(graph, -1, 8, 12)), perm=[1, 0, 2])
    weights = graph.weight(1, 24, 12), graph.weight(1, 24, 6), graph.weight(1, 48)
    graph.add("LSTM", steps, *weights, "", "", "", graph.weight(1, 18), outputs=["all", "last"], hidden_size=6)
    return graph.add("Squeeze", "last", whole(graph, 0))


def of_lengths(graph: Graph) -> str:
    steps = graph.add("Transpose", graph.add("Reshape", "x", whole(graph, -1, 8, 12)), perm=[1, 0, 2])
    weights = graph.weight(1, 18, 12), graph.weight(1, 18, 6), graph.weight(1, 36)
    lengths = graph.keep(np.array([8, 3, 8], np.int32))
    graph.add("GRU", steps, *weights, lengths, outputs=["all", "last"], hidden_size=6)
    return graph.add("Squeeze", "last", whole(graph, 0))


def training(graph: Graph) -> str:
    numbers = [
        graph.weight(WIDTH, around=1.0),
        graph.weight(WIDTH),
        graph.weight(WIDTH),
        graph.keep(np.ones(WIDTH, "f4")),
    ]
    graph.add("BatchNormalization", "x", *numbers, outputs=["b", "mean", "var"], training_mode=1)
    return "b"


def as_text(graph: Graph) -> str:
    words = graph.add("Cast", "x", to=TensorProto.STRING)
    return graph.add("Cast", words, to=TensorProto.FLOAT)


REFUSED: dict[str, tuple[Built, int, str]] = {
    "a normalisation in training": (training, WIDTH, "training mode"),
    "pads that cut": (lambda graph: padded(graph, (0, -1, 0, 0)), WIDTH - 1, "Pad"),
    "numbers as text": (as_text, WIDTH, "Cast to type 8"),
    "an LSTM with peepholes": (peepholes, 6, "peepholes"),
    "sequences of several lengths": (of_lengths, 6, "several lengths"),
    "a recurrent layer with activations of its own": (recurrent("GRU", 3, activations=["Relu", "Tanh"]), 6, "activations"),
    "numbers of float16": (
        lambda graph: graph.add("Cast", graph.keep(np.ones((3, WIDTH), np.float16)), to=TensorProto.FLOAT),
        WIDTH,
        "float16",
    ),
}  # fmt: skip


@every_case("case", REFUSED)
def test_what_is_not_followed_is_said_and_not_guessed(case: str, tmp_path: Path) -> None:
    """A bound of another operation than the model's passes a wrong engine; the reason says what is measured instead."""
    build, width, words = REFUSED[case]
    rounding, x = NetworkRounding(saved(build, width, tmp_path)), np.zeros((ROWS, WIDTH), np.float32)
    assert rounding.answer([x], [np.zeros_like(x)]) is None
    assert words in rounding.reason
    assert rounding.answer([x], [np.zeros_like(x)]) is None  # it is not tried a second time


def of_twelve(graph: Graph) -> str:
    tokens = graph.add("Reshape", "x", whole(graph, -1, 8, 12))
    return flat(graph, graph.add("Softmax", tokens, axis=1), WIDTH)


def test_a_softmax_of_an_old_operator_set_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    """Up to operator set 12 the axis begins a range of axes: shares of a row would be taken for shares of a column."""
    x = np.zeros((ROWS, WIDTH), np.float32)
    old, new = (NetworkRounding(saved(of_twelve, WIDTH, tmp_path, opset)) for opset in (12, 13))
    assert old.answer([x], [x]) is None
    assert old.reason == "Softmax over several axes"
    answer = new.answer([x], [x])
    assert answer is not None
    np.testing.assert_allclose(answer.exact[0], 1.0 / 8.0)  # eight equal numbers


@pytest.mark.parametrize("op", ["GlobalAveragePool", "ReduceMean"])
def test_a_long_mean_may_be_summed_one_by_one(op: str, tmp_path: Path) -> None:
    """An engine that adds 98,304 numbers in their order is right, and far from one that adds them in pairs."""

    def mean(graph: Graph) -> str:
        long = graph.add("Tile", graph.add("Reshape", "x", whole(graph, -1, 1, WIDTH)), whole(graph, 1, 1, 1024))
        named = {"keepdims": 1} if op == "ReduceMean" else {}
        axes = [whole(graph, 2)] if op == "ReduceMean" else []
        return flat(graph, graph.add(op, long, *axes, **named), 1)

    x = np.random.default_rng(2).uniform(0.5, 1.5, (1, WIDTH)).astype(np.float32)
    answer = NetworkRounding(saved(mean, 1, tmp_path)).answer([x], [np.zeros_like(x)])
    assert answer is not None
    summed = np.add.accumulate(np.tile(x[0], 1024), dtype=np.float32)[-1] / np.float32(1024 * WIDTH)
    assert 0.0 < abs(float(summed) - answer.exact[0].item()) <= answer.bound[0].item()


Edit = Callable[[Any, Path], object]


def foreign(model: Any, _folder: Path) -> None:
    model.graph.node[0].domain = "com.acme"
    model.opset_import.append(helper.make_opsetid("com.acme", 1))


def own_function(model: Any, _folder: Path) -> None:
    sets = [helper.make_opsetid("", 18)]
    model.functions.append(
        helper.make_function("acme", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], sets)
    )


def text(model: Any, _folder: Path) -> None:
    model.graph.node.append(helper.make_node("Constant", [], ["words"], value_string="spine_01"))


def branch(model: Any, _folder: Path) -> None:
    side = helper.make_graph([helper.make_node("Identity", ["x"], ["s"])], "side", [], [])
    model.graph.node.append(helper.make_node("If", ["which"], ["z"], then_branch=side, else_branch=side))


def elsewhere(model: Any, folder: Path) -> None:
    """Weights that are said to be in a file outside the model's folder."""
    (folder.parent / "secret.bin").write_bytes(bytes(4 * WIDTH * WIDTH))
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "../secret.bin"


def unsorted(model: Any, _folder: Path) -> None:
    """onnxruntime sorts the nodes of a model itself."""
    nodes = [*model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(reversed(nodes))


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (foreign, "the operation com.acme.Gemm"),
        (own_function, "functions of its own"),
        (text, "a constant text"),
        (branch, "a If with a graph inside"),
        (elsewhere, "weights in '../secret.bin'"),
        (unsorted, "the value t0, which no operation before its use computes"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_model_that_cannot_be_followed_has_a_reason(edit: Edit, words: str, tmp_path: Path) -> None:
    """The recording is compared all the same, and the report says which part of the model is only measured."""
    folder = tmp_path / "models"
    folder.mkdir()
    path = saved(lambda graph: graph.linear("x", WIDTH, WIDTH), WIDTH, folder)
    model = onnx.load(path)
    edit(model, folder)
    path.write_bytes(model.SerializeToString())
    rounding, x = NetworkRounding(path), np.zeros((1, WIDTH), np.float32)
    assert rounding.answer([x], [x]) is None
    assert rounding.reason == words
