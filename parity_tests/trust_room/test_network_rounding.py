"""A network's own rounding

The tolerance of a network's answer is derived from the operations of its model. The oracles are onnxruntime with and without
its optimiser, and sums in other orders; none of them is used to derive the tolerance.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from rigpact.reference_runtime.network_rounding.bounded_model import BoundedModel
from rigpact.reference_runtime.network_rounding.rounding_of_network import NetworkRounding

from .small_models import KINDS, WIDTH, Graph, cancelling, normalised_by_hand, perceptron, write_model
from .tried import passes, refused

Array = Any
ROWS = 48
TENS = 60.0
"""The bound may be some tens of times the largest error that is seen."""
HUNDREDS = 200.0
"""A variance written out may be fused into E[x²] - E[x]², which this onnxruntime does more accurately than others."""


def inputs(seed: int = 0) -> Array:
    """Rows of ordinary size, rows at rest and rows that have drifted away."""
    x = np.random.default_rng(seed).normal(size=(ROWS, WIDTH)).astype(np.float32)
    x[: ROWS // 3] *= np.float32(0.01)
    x[-ROWS // 4 :] *= np.float32(8.0)
    return x


def versions(path: Path, x: Array) -> Iterator[Array]:
    """The answers of onnxruntime: all its fused kernels or none, all rows at once or one by one, one thread or two."""
    levels = onnxruntime.GraphOptimizationLevel
    for level in (levels.ORT_ENABLE_ALL, levels.ORT_DISABLE_ALL):
        for threads in (1, 2):
            options = onnxruntime.SessionOptions()
            options.graph_optimization_level, options.intra_op_num_threads = level, threads
            session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
            yield session.run(None, {"x": x})[0]
            yield np.concatenate([session.run(None, {"x": x[row : row + 1]})[0] for row in range(len(x))])


def bound_of(path: Path, x: Array) -> tuple[Array, Array]:
    """The exact answer and its bound, derived from every operation of the model."""
    rounding = NetworkRounding(path)
    answer = rounding.answer([x], [np.zeros_like(x)])
    assert answer is not None, rounding.reason
    return answer.exact[0], answer.bound[0]


@passes("the same model in onnxruntime: fused or not, in one batch or row by row, on one thread or two")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("seed", range(3))
def test_no_version_of_a_model_leaves_its_bound(kind: Callable[[Graph], str], seed: int, tmp_path: Path) -> None:
    """A console's build of the runtime sums in another order: an alarm there is an alarm for every character."""
    path, x = write_model(kind, tmp_path / "model.onnx", seed), inputs(seed)
    exact, bound = bound_of(path, x)
    found = list(versions(path, x))
    for one in found:
        assert (np.abs(one - exact) <= bound).all()
        assert all((np.abs(one - other) <= bound).all() for other in found)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_bound_is_some_tens_of_the_error_that_is_seen(kind: Callable[[Graph], str], tmp_path: Path) -> None:
    """A bound of thousands of roundings hides a wrong weight."""
    path, x = write_model(kind, tmp_path / "model.onnx"), inputs()
    exact, bound = bound_of(path, x)
    largest = np.max([np.abs(one - exact) for one in versions(path, x)], axis=0)
    limit = HUNDREDS if kind is normalised_by_hand else TENS
    assert np.median(bound.max(axis=1) / largest.max(axis=1)) < limit


def sums(x: Array, weight: Array, bias: Array) -> dict[str, Array]:
    """x Wᵀ + b in float32 by several orders of summation, and with a fused multiply-add."""
    products, start = x[:, None, :] * weight, np.tile(bias, (len(x), 1))
    length = products.shape[-1]
    found = {}
    for name, order in (("forward", range(length)), ("backward", range(length - 1, -1, -1))):
        total = start.copy()
        for place in order:
            total += products[..., place]
        found[name] = total
    lanes = np.zeros((*start.shape, 8), np.float32)
    for first in range(0, length, 8):
        lanes += products[..., first : first + 8]
    found["eight lanes"] = np.add.accumulate(lanes, axis=-1)[..., -1] + start
    fused = start.astype(np.float64)
    for place in range(length):
        exact = x[:, None, place].astype(np.float64) * weight[:, place].astype(np.float64)
        fused = (exact + fused).astype(np.float32).astype(np.float64)
    found["fused"] = fused.astype(np.float32)
    return found


@passes("a layer summed forward, backward, in eight lanes, or with a fused multiply-add")
@pytest.mark.parametrize("seed", range(3))
def test_no_order_of_summation_leaves_the_bound(seed: int, tmp_path: Path) -> None:
    """An engine with its own inference sums as it likes."""
    graph = Graph(seed)
    weight = graph.rng.normal(size=(40, WIDTH)).astype(np.float32)
    bias = graph.rng.normal(size=40).astype(np.float32)
    path = graph.save(
        tmp_path / "model.onnx", graph.add("Gemm", "x", graph.keep(weight), graph.keep(bias), transB=1), 40
    )
    x = inputs(seed)
    exact, bound = bound_of(path, x)
    for name, found in sums(x, weight, bias).items():
        assert (np.abs(found - exact) <= bound).all(), name


def test_inputs_that_differ_move_the_answer_within_its_bound(tmp_path: Path) -> None:
    """A z-score over a deviation of 1e-6 is uncertain by 0.1: the answers of two correct engines differ by what it does."""
    path, x = write_model(perceptron, tmp_path / "model.onnx"), inputs()
    moved = np.zeros_like(x)
    moved[:, 5:17] = 0.1
    answer = NetworkRounding(path).answer([x], [moved])
    assert answer is not None
    (session,) = list(versions(path, x))[:1]
    largest = np.zeros(session.shape)
    for seed in range(20):
        other = x + moved * np.random.default_rng(seed).uniform(-1.0, 1.0, x.shape).astype(np.float32)
        largest = np.maximum(largest, np.abs(next(versions(path, other.astype(np.float32))) - session))
    assert (largest <= answer.bound[0]).all()
    assert np.median(answer.bound[0] / largest) < TENS


@refused(
    "an answer off by a hundred-thousandth of its weights while the character stands", "the derived bound is passed"
)
def test_a_small_defect_at_rest_is_seen(tmp_path: Path) -> None:
    """At rest the terms are small, so the tolerance is; a tolerance of the size of the largest answer hides the defect."""
    path, x = write_model(perceptron, tmp_path / "model.onnx"), inputs()[: ROWS // 3]
    _, bound = bound_of(path, x)
    sound = next(versions(path, x))
    graph = Graph(0)
    y = perceptron(graph)
    graph.weights["w4"] = graph.weights["w4"] * np.float32(1.0 + 1e-4)
    wrong = next(versions(graph.save(tmp_path / "wrong.onnx", y, 40), x))
    assert (np.abs(wrong - sound) > bound).any(axis=1).all()


def test_cancelled_terms_are_counted(tmp_path: Path) -> None:
    """Where large terms leave a small answer, a tolerance of the answer's size is an alarm about a correct engine."""
    path, x = write_model(cancelling, tmp_path / "model.onnx"), inputs()
    exact, bound = bound_of(path, x)
    largest = np.max([np.abs(one - exact) for one in versions(path, x)])
    assert bound.max() > largest > 1e-6 * np.abs(exact).max()


def test_an_operation_that_is_not_known_is_measured_and_said(tmp_path: Path) -> None:
    """A new operation must neither pass unjudged nor stop the comparison."""
    graph = Graph(0)
    h = graph.add("Tanh", graph.linear("x", 64, WIDTH))
    tokens = graph.add("Reshape", h, graph.keep(np.array([-1, 8, 8], np.int64)))
    shares = graph.add("Reshape", graph.add("Softmax", tokens, axis=1), graph.keep(np.array([-1, 64], np.int64)))
    path = graph.save(tmp_path / "model.onnx", graph.linear(shares, 40, 64), 40, 12)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    model, x = BoundedModel(path, lambda each: session.run(None, {"x": each[0]}), takes_one_row=False), inputs()
    answer = model.answer([x], [np.zeros_like(x)])
    assert model.rounding.reason == "Softmax over several axes"
    found = list(versions(path, x))
    assert all((np.abs(one - answer.exact[0]) <= answer.bound[0]).all() for one in found)
    assert answer.bound[0].max() < 1e-3
