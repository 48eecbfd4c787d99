"""Operations of models, one by one

Every operation that a network's rounding follows is asked of a model that holds it alone, beside onnxruntime and onnx's numpy.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from rigpact.reference_runtime.network_rounding.bounded_model import BoundedModel

from ..every_case import every_case
from .small_models import WIDTH, F, Graph, recurrent_state

Built = Callable[[Graph], str]
ROWS = 3


def flat(graph: Graph, values: str, width: int) -> str:
    return graph.add("Reshape", values, graph.whole(-1, width))


def padded(*pads: int, mode: str = "constant") -> Built:
    """Numbers around each row."""
    width = WIDTH + pads[1] + pads[3]
    return lambda graph: flat(graph, graph.add("Pad", "x", graph.whole(*pads), mode=mode), width)


def padded_axis(graph: Graph) -> str:
    return flat(graph, graph.add("Pad", "x", graph.whole(2, 3), "", graph.whole(1)), WIDTH + 5)


def halved(graph: Graph) -> str:
    """A shape divided by two, rounded towards zero: negative numbers too (-1.5, 19.2)."""
    shape = graph.add("Mul", graph.add("Shape", "x"), graph.whole(-1, 1))
    half = graph.add("Cast", graph.add("Div", shape, graph.whole(2, 5)), to=TensorProto.FLOAT)
    return graph.add("Mul", graph.add("Slice", "x", *(graph.whole(at) for at in (0, 2, 1))), half)


def constants(graph: Graph) -> str:
    """Numbers as nodes instead of weights, in every form that a node may give them."""
    y = graph.add("Mul", "x", graph.add("Constant", value_float=1.5))
    y = graph.add("Add", y, graph.add("Constant", value_floats=[0.25 * place for place in range(WIDTH)]))
    y = graph.add("Mul", y, graph.add("Constant", value=numpy_helper.from_array(np.array([2.0], F))))
    tokens = graph.add("Reshape", y, graph.add("Constant", value_ints=[-1, 8, 12]))
    return graph.add("Gather", tokens, graph.add("Constant", value_int=3), axis=1)


def spread_of_others(graph: Graph) -> str:
    """Squares of a difference that is not a distance from its own mean: an error, not a variance."""
    apart = graph.add("Sub", "x", graph.weight(WIDTH, around=30.0))
    return graph.add("ReduceMean", graph.add("Mul", apart, apart), graph.whole(1))


def shares(graph: Graph) -> str:
    return flat(graph, graph.add("Softmax", graph.tokens(), axis=1), WIDTH)


def convolved(graph: Graph) -> str:
    return flat(graph, graph.add("Conv", graph.tokens(6, 16), graph.weight(4, 6, 3), auto_pad="SAME_UPPER"), 64)


def norms(graph: Graph) -> str:
    """With an offset, and without one."""
    first = graph.add("LayerNormalization", "x", graph.weight(WIDTH, around=1.0), graph.weight(WIDTH, around=2.0))
    return graph.add("LayerNormalization", first, graph.weight(WIDTH, around=1.0))


ANSWERED: dict[str, tuple[Built, int]] = {
    "numbers as nodes": (constants, 12),
    "GELU by its tanh": (lambda graph: graph.add("Gelu", "x", approximate="tanh"), WIDTH),
    "pads that wrap": (padded(0, 0, 0, 2, mode="wrap"), WIDTH + 2),
    "one named axis": (padded_axis, WIDTH + 5),
    "a convolution that pads by itself": (convolved, 64),
    "an ellipsis": (lambda graph: graph.add("Einsum", "x", equation="...i->...i"), WIDTH),
    "Einsum with weights": (lambda graph: graph.add("Einsum", "x", graph.weight(5, WIDTH), equation="ni, oi -> no"), 5),
    "a division of whole numbers": (halved, 2),
    "GRU, linear before reset": (recurrent_state("GRU", 3, linear_before_reset=1), 6),
    "a mean of squares": (spread_of_others, 1),
    "norms of layers": (norms, WIDTH),
}


def saved(build: Built, width: int, path: Path, opset: int = 20) -> Path:
    """The operation as a model."""
    graph = Graph(0)
    return graph.save(path, build(graph), width, opset)


@every_case("case", ANSWERED)
def test_an_operation_answers_as_other_engines_do(case, tmp_path):
    """An operation that is followed wrongly gives a bound around a wrong number: every sound engine is accused."""
    build, width = ANSWERED[case]
    path, x = (
        saved(build, width, tmp_path / "model.onnx"),
        np.random.default_rng(1).normal(size=(ROWS, WIDTH)).astype(F),
    )
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    rounding = BoundedModel(path)
    answer = rounding.derived([x], [np.zeros_like(x)])
    assert answer is not None, rounding.reason
    engines = [session.run, *([] if "before reset" in case else [ReferenceEvaluator(str(path)).run])]
    for run in engines:
        (found,) = run(None, {"x": x})
        assert answer.exact[0].shape == found.shape
        assert (np.abs(answer.exact[0] - found) <= answer.bound[0]).all()
        # float32 holds 24 bits; none of these models sums more than a few hundred terms
        assert (answer.bound[0] <= 1e-4 * (1.0 + np.abs(found).max())).all()


def test_the_norm_of_numbers_that_do_not_differ_is_the_offset_and_its_bound_is_finite(tmp_path: Path) -> None:
    """A deviation of 0 is uncertain by what the squares of the mean round to: below 0 it would be no number."""
    build: Built = lambda graph: graph.add("LayerNormalization", "x", graph.keep(np.ones(WIDTH, F)))  # noqa: E731
    x = np.full((ROWS, WIDTH), 1000.1, F)
    answer = BoundedModel(saved(build, WIDTH, tmp_path / "model.onnx")).derived([x], [np.zeros_like(x)])
    assert answer is not None
    assert np.isfinite(answer.bound[0]).all()
    assert (np.abs(answer.exact[0]) <= answer.bound[0]).all()


def training(graph: Graph) -> str:
    """A normalisation in training mode."""
    numbers = graph.weight(WIDTH, around=1.0), graph.weight(WIDTH), graph.weight(WIDTH), graph.keep(np.ones(WIDTH, F))
    graph.add("BatchNormalization", "x", *numbers, outputs=["b", "mean", "var"], training_mode=1)
    return "b"


def cast(graph: Graph, values: str = "x", *types: int) -> str:
    """One type after another, and float32 in the end."""
    for each in (*types, TensorProto.FLOAT):
        values = graph.add("Cast", values, to=each)
    return values


PEEPHOLES = recurrent_state("LSTM", 4, "", "", "", lambda graph: graph.weight(1, 18))
OF_LENGTHS = recurrent_state("GRU", 3, lambda graph: graph.keep(np.array([8, 3, 8], np.int32)))
Edit = Callable[[Any], object]


def linear(graph: Graph) -> str:
    return graph.linear("x", WIDTH, WIDTH)


def foreign(model: Any) -> None:
    """An operation of another domain."""
    model.graph.node[0].domain = "com.acme"
    model.opset_import.append(helper.make_opsetid("com.acme", 1))


def own_function(model: Any) -> None:
    """A function in the model."""
    sets, node = [helper.make_opsetid("", 18)], helper.make_node("Add", ["a", "a"], ["b"])
    model.functions.append(helper.make_function("acme", "Twice", ["a"], ["b"], [node], sets))


def branch(model: Any) -> None:
    """A graph inside a graph."""
    side = helper.make_graph([helper.make_node("Identity", ["x"], ["s"])], "side", [], [])
    model.graph.node.append(helper.make_node("If", ["which"], ["z"], then_branch=side, else_branch=side))


def elsewhere(model: Any) -> None:
    """Weights that are said to be in a file outside the model's folder."""
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../secret.bin")


def unsorted(model: Any) -> None:
    """onnxruntime sorts the nodes of a model itself."""
    nodes = [*model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(reversed(nodes))


def text(model: Any) -> None:
    model.graph.node.append(helper.make_node("Constant", [], ["words"], value_string="spine_01"))


def untouched(_model: Any) -> None:
    """No edit."""


REFUSED: dict[str, tuple[Built, int, Edit, str]] = {
    "a normalisation in training": (training, WIDTH, untouched, "training mode"),
    "pads that cut": (padded(0, -1, 0, 0), WIDTH - 1, untouched, "Pad"),
    "numbers as text": (lambda graph: cast(graph, "x", TensorProto.STRING), WIDTH, untouched, "Cast to type 8"),
    "an LSTM with peepholes": (PEEPHOLES, 6, untouched, "peepholes"),
    "sequences of several lengths": (OF_LENGTHS, 6, untouched, "several lengths"),
    "activations of its own": (recurrent_state("GRU", 3, activations=["Relu", "Tanh"]), 6, untouched, "activations"),
    "float16": (lambda graph: cast(graph, graph.keep(np.ones((3, WIDTH), np.float16))), WIDTH, untouched, "float16"),
    "another domain": (linear, WIDTH, foreign, "the operation com.acme.Gemm"),
    "a function": (linear, WIDTH, own_function, "functions of its own"),
    "a text": (linear, WIDTH, text, "constants of the type <U8"),
    "a branch": (linear, WIDTH, branch, "a If with a graph inside"),
    "weights elsewhere": (linear, WIDTH, elsewhere, "weights in '../secret.bin'"),
    "an order of nodes": (linear, WIDTH, unsorted, "the value t0, which no operation before its use computes"),
}


@every_case("case", REFUSED)
def test_what_is_not_followed_is_said_and_not_guessed(case, tmp_path):
    """A bound of another operation than the model's passes a wrong engine; the reason says what is measured instead."""
    build, width, edit, words = REFUSED[case]
    (tmp_path / "secret.bin").write_bytes(bytes(4 * WIDTH * WIDTH))
    (tmp_path / "models").mkdir()
    path = saved(build, width, tmp_path / "models" / "model.onnx")
    model = onnx.load(path)
    edit(model)
    path.write_bytes(model.SerializeToString())
    rounding, x = BoundedModel(path), np.zeros((ROWS, WIDTH), F)
    assert rounding.derived([x], [np.zeros_like(x)]) is None
    assert words in rounding.reason
    assert rounding.derived([x], [np.zeros_like(x)]) is None  # it is not tried a second time


def test_a_softmax_of_an_old_operator_set_is_not_taken_for_a_new_one(tmp_path):
    """Up to operator set 12 the axis begins a range of axes: shares of a row would be taken for shares of a column."""
    x = np.zeros((ROWS, WIDTH), F)
    old, new = (BoundedModel(saved(shares, WIDTH, tmp_path / f"{opset}.onnx", opset)) for opset in (12, 13))
    assert (old.derived([x], [x]), old.reason) == (None, "Softmax over several axes")
    answer = new.derived([x], [x])
    assert answer is not None
    np.testing.assert_allclose(answer.exact[0], 1.0 / 8.0)  # eight equal numbers
