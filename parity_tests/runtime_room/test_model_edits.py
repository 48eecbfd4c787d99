"""The edits of a model, against the same mistakes written in numpy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.reference_runtime.network_rounding.bounded_model import BoundedModel

Rows = np.ndarray[Any, np.dtype[np.float64]]
RNG = np.random.default_rng(5)
MEAN, STD, W0, W1, OUT_STD, OUT_MEAN = (
    RNG.normal(0.5, 1.0, shape).astype(np.float32) for shape in ((6,), (6,), (6, 6), (6, 3), (3,), (3,))
)
X = RNG.normal(size=(20, 6)).astype(np.float32)


def _normalised(x: Rows) -> Rows:
    return (x - MEAN) / STD


def _body(h: Rows, square: Rows = W0, last: Rows = W1, hidden: Callable[[Rows], Rows] = np.tanh) -> Rows:
    return np.asarray(hidden(h @ square.astype(float)) @ last.astype(float))


def _out(y: Rows) -> Rows:
    return y * OUT_STD + OUT_MEAN


def _half(values: Rows) -> Rows:
    return values.astype(np.float16).astype(np.float64)


MISTAKES: dict[str, Callable[[Rows], Rows]] = {
    "with the addition of mean_out before the multiplication by std_out": lambda x: (_body(_normalised(x)) + OUT_MEAN) * OUT_STD,
    "with the multiplication by std_in in place of the division by it": lambda x: _out(_body((x - MEAN) * STD)),
    "without the subtraction of mean_in": lambda x: _out(_body(x / STD)),
    "without the subtraction of mean_in and the division by std_in": lambda x: _out(_body(x)),
    "with the subtraction of mean_in and the division by std_in, twice": lambda x: _out(_body(_normalised(_normalised(x)))),
    "with the weights w0 transposed": lambda x: _out(_body(_normalised(x), W0.T)),
    "with Relu in place of Tanh": lambda x: _out(_body(_normalised(x), hidden=lambda h: np.maximum(h, 0.0))),
    "with weights that were rounded to float16": lambda x: (
        _body((x - _half(MEAN)) / _half(STD), _half(W0), _half(W1)) * _half(OUT_STD) + _half(OUT_MEAN)
    ),
    "with weights, but no biases, that were rounded to float16": lambda x: _out(_body(_normalised(x), _half(W0), _half(W1))),
}  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """x -> tanh(((x - mean) / std) w0) w1 · std + mean."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    steps = [("Sub", "x", "mean_in"), ("Div", "a", "std_in"), ("MatMul", "b", "w0"), ("Tanh", "c"), ("MatMul", "d", "w1"),
             ("Mul", "e", "std_out"), ("Add", "f", "mean_out")]  # fmt: skip
    nodes = [helper.make_node(op, list(names), [out]) for (op, *names), out in zip(steps, "abcdefy", strict=True)]
    constants = {"mean_in": MEAN, "std_in": STD, "w0": W0, "w1": W1, "std_out": OUT_STD, "mean_out": OUT_MEAN}
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", size]) for name, size in (("x", 6), ("y", 3))]
    graph = helper.make_graph(
        nodes, "g", ends[:1], ends[1:], [numpy_helper.from_array(each, name) for name, each in constants.items()]
    )
    path = tmp_path_factory.mktemp("models") / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), str(path))
    return path


@pytest.mark.parametrize("words", MISTAKES)
def test_an_edit_computes_what_the_mistake_computes(model: Path, words: str) -> None:
    """Else a network that an engine evaluates wrongly is blamed for another mistake, or for none."""
    edits = dict(BoundedModel(model).variants())
    answer = edits[words].derived([X], [np.zeros_like(X)])
    assert answer is not None
    np.testing.assert_allclose(answer.exact[0], MISTAKES[words](X.astype(float)), rtol=1e-12, atol=1e-12)
