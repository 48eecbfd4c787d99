"""A network's own rounding

The tolerance of a network's answer is derived from the operations of its model. The oracles are onnxruntime with and without its
optimiser and threads, the float32 numpy of onnx, and sums in other orders; none of them is used to derive the tolerance.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx.reference import ReferenceEvaluator

from rigpact.reference_runtime.network_rounding.bounded_model import BoundedModel

from ..every_case import every_case
from .small_models import ARCHITECTURES, OUT, WIDTH, F, Graph, saved
from .tried import passes, refused

Array = Any
LEVELS = onnxruntime.GraphOptimizationLevel
TENS = 100.0
"""The bound may be 60 times the worst error of 10,000 draws. Of the 84 errors of a row here (twelve numbers, seven engines) the
worst is 1.6 times smaller: 2.4 deviations in place of 3.9."""
NAMES = [(name, batch) for batch in (0, 1) for name in ARCHITECTURES]


def session(path: Path, level: Any = LEVELS.ORT_ENABLE_ALL, threads: int = 1) -> onnxruntime.InferenceSession:
    """A model in onnxruntime."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level, options.intra_op_num_threads = level, threads
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def by_rows(run: Any, x: Array, step: int) -> Array:
    return np.concatenate([run(x[at : at + step]) for at in range(0, len(x), step)])


def engines(path: Path, x: Array, step: int = 0) -> Iterator[Array]:
    """Answers in float32: all fused kernels or none, one thread or two, all rows at once or `step`; onnx's own numpy."""
    sessions = [(LEVELS.ORT_DISABLE_ALL, 1), (LEVELS.ORT_ENABLE_BASIC, 1), (LEVELS.ORT_ENABLE_ALL, 2)]
    runs, numpy = [session(path, *how).run for how in sessions], ReferenceEvaluator(str(path))
    if numpy.opsets[""] > 12:  # it computes today's Softmax in every older set too
        runs.append(numpy.run)
    for run in runs:
        yield by_rows(lambda rows, run=run: run(None, {"x": rows})[0], x, step or len(x))


def drawn(rows: int = 6, seed: int = 5) -> Array:
    """A row at rest, rows of ordinary size, and one that has drifted away."""
    x = np.random.default_rng(seed).normal(size=(rows, WIDTH)).astype(F)
    x[0], x[-1] = x[0] * F(0.01), x[-1] * F(8.0)
    return x


def bounded(path: Path, x: Array, batch: int = 0, moved: float = 0.0) -> tuple[str, Array, Array]:
    """Why no bound is derived, the exact answer, and its bound where the inputs may be off by `moved`."""
    run, step = session(path).run, batch or len(x)
    model = BoundedModel(
        path, lambda given: [by_rows(lambda rows: run(None, {"x": rows})[0], given[0], step)], takes_one_row=batch == 1
    )
    answer = model.answer([x], [np.full_like(x, moved)])
    return model.reason, answer.exact[0], answer.bound[0]


@passes("the same model of fifteen kinds: fused or not, in one batch or row by row, on one thread or two, in numpy")
@every_case("name, batch", NAMES)
def test_an_honest_engine_stays_within_the_bound(name, batch, tmp_path):
    """An alarm at another order of summation is an alarm at every character, and the gate is switched off."""
    path, x = saved(name, tmp_path / "model.onnx", batch=batch), drawn()
    reason, exact, bound = bounded(path, x, batch)
    assert reason == (name if "several" in name else "")
    found = list(engines(path, x, batch))
    assert len(found) > 1
    for one in found:
        assert (np.abs(one - exact) <= bound).all()
        assert (np.abs(one - found[0]) <= bound).all()
    largest = np.max([np.abs(one - exact) for one in found], axis=0)
    assert reason or np.median(bound.max(axis=1) / largest.max(axis=1)) < TENS  # else it is measured on the first one
    # a wrong weight of 1 % moves an answer by about as much: a bound of that size would hide it
    assert name == "cancelling" or (bound < 1e-3 * (1.0 + np.abs(exact).max())).all()


def one_weight(graph: Graph) -> None:
    """The largest weight of the last layer, 1 % off."""
    name = [key for key, values in graph.weights.items() if values.shape and values.shape[0] == OUT][-2]
    values = graph.weights[name]
    values[np.unravel_index(np.abs(values).argmax(), values.shape)] *= F(1.01)


def halved_precision(graph: Graph) -> None:
    for values in (each for each in graph.weights.values() if each.dtype == F and each.shape):
        values[...] = values.astype(np.float16).astype(F)


@refused("a weight that is off by a hundredth, or weights of float16, in models of fourteen kinds", "the bound is left")
@every_case("edit", [one_weight, halved_precision], ids=lambda edit: edit.__name__)
@every_case("name", [name for name in ARCHITECTURES if name != "cancelling"])
def test_a_defect_leaves_the_bound(name, edit, tmp_path):
    """A weight that is 1 % off, or weights of float16, change how a character walks."""
    x = drawn()
    _, exact, bound = bounded(saved(name, tmp_path / "model.onnx"), x)
    wrong = saved(name, tmp_path / "wrong.onnx", edit=edit)
    left = [(np.abs(found - exact) > bound).any() for found in engines(wrong, x)]
    assert (all(left), len(left)) == (True, 3 if "several" in name else 4)


@refused("an answer off by a ten-thousandth of its weights while the character stands", "the derived bound is passed")
def test_a_small_defect_at_rest_is_seen(tmp_path):
    """At rest the terms are small, so the tolerance is; a tolerance of the size of the largest answer hides the defect."""
    x = drawn(16) * F(0.01)
    path = saved("perceptron", tmp_path / "model.onnx")
    wrong = saved("perceptron", tmp_path / "wrong.onnx", edit=lambda graph: graph.weights["w4"].__imul__(F(1.0 + 1e-4)))
    _, _, bound = bounded(path, x)
    assert (np.abs(next(engines(wrong, x)) - next(engines(path, x))) > bound).any(axis=1).all()


def test_inputs_that_differ_move_the_answer_within_its_bound(tmp_path):
    """A z-score over a deviation of 1e-6 is uncertain by 0.1: the answers of two correct engines differ by what it does."""
    path, x = saved("perceptron", tmp_path / "model.onnx"), drawn(16)
    _, _, bound = bounded(path, x, moved=0.1)
    run, rng = session(path).run, np.random.default_rng(0)
    sound = run(None, {"x": x})[0]
    others = [run(None, {"x": x + (0.1 * rng.uniform(-1, 1, x.shape)).astype(F)})[0] for _ in range(20)]
    largest = np.max([np.abs(other - sound) for other in others], axis=0)
    assert (largest <= bound).all()
    assert np.median(bound / largest) < 60


def sums(x: Array, weight: Array, bias: Array) -> dict[str, Array]:
    """x Wᵀ + b in float32 by several orders of summation, and with a fused multiply-add."""
    products, start = x[:, None, :] * weight, np.tile(bias, (len(x), 1))
    length, found = products.shape[-1], {}
    for name, order in (("forward", range(length)), ("backward", range(length - 1, -1, -1))):
        found[name] = start.copy()
        for place in order:
            found[name] += products[..., place]
    lanes = products.reshape(*start.shape, -1, 8)
    found["eight lanes"] = np.add.accumulate(np.add.accumulate(lanes, axis=-2)[..., -1, :], axis=-1)[..., -1] + start
    fused = start.astype(np.float64)
    for place in range(length):
        fused = (x[:, None, place].astype(np.float64) * weight[:, place] + fused).astype(F).astype(np.float64)
    return found | {"fused": fused.astype(F)}


@passes("a layer summed forward, backward, in eight lanes, or with a fused multiply-add")
@every_case("seed", range(3))
def test_no_order_of_summation_leaves_the_bound(seed, tmp_path):
    """An engine with its own inference sums as it likes."""
    graph, x = Graph(seed), drawn(48, seed)
    y = graph.linear("x", 40, WIDTH)
    exact, bound = (np.asarray(each) for each in bounded(graph.save(tmp_path / "model.onnx", y, 40), x)[1:])
    orders = sums(x, graph.weights["w0"], graph.weights["w1"])
    assert len(orders) > 3
    for name, found in orders.items():
        assert (np.abs(found - exact) <= bound).all(), name


@pytest.mark.parametrize("op", ["GlobalAveragePool", "ReduceMean"])
def test_a_long_mean_may_be_summed_one_by_one(op, tmp_path):
    """An engine that adds 98,304 numbers in their order is right, and far from one that adds them in pairs."""
    graph, x = Graph(0), np.random.default_rng(2).uniform(0.5, 1.5, (1, WIDTH)).astype(F)
    long = graph.add("Tile", graph.tokens(1, WIDTH), graph.whole(1, 1, 1024))
    mean = graph.add(op, long, graph.whole(2)) if op == "ReduceMean" else graph.add(op, long)
    path = graph.save(tmp_path / "model.onnx", graph.add("Reshape", mean, graph.whole(-1, 1)), 1, 20)
    answer = BoundedModel(path).derived([x], [np.zeros_like(x)])
    summed = np.add.accumulate(np.tile(x[0], 1024), dtype=F)[-1] / F(1024 * WIDTH)
    assert answer is not None
    assert 0.0 < abs(float(summed) - answer.exact[0].item()) <= answer.bound[0].item()


CONTRACT = f"""format = "rigpact-contract"
version = 1
name = "one"
fps = 50
given = [{{ name = "x", size = {WIDTH} }}]
stages = [{{ name = "y", operation = "network", size = {OUT} }}]
[networks.policy]
file = "model.onnx"
inputs = ["x"]
outputs = ["y"]
"""
SETTINGS = (
    '[gate]\nbundle = "contract.toml"\nmodel = "model.onnx"\n[[gate.trace]]\nfile = "engine.npz"\nclip = "clip.npz"\n'
)
WRONG = {0: None, 1: one_weight}


@pytest.mark.parametrize("status", WRONG)
@pytest.mark.usefixtures("no_search")
def test_every_command_judges_a_model_of_one_row(status, tmp_path, command, monkeypatch):
    """A gate that fails an honest engine is switched off; a wrong weight must show in each command."""
    monkeypatch.chdir(tmp_path)
    Path("contract.toml").write_text(CONTRACT, encoding="utf-8")
    Path("rigpact.toml").write_text(SETTINGS, encoding="utf-8")
    x, numbers = drawn(40), np.arange(40)
    models = (
        saved("RNN", Path("model.onnx"), batch=1),
        saved("RNN", Path("own.onnx"), batch=1, edit=WRONG[status] or id),
    )
    np.savez("clip.npz", x=x, frame=numbers)
    for path, made in (("reference", session(models[0])), ("engine", session(models[1], LEVELS.ORT_DISABLE_ALL))):
        answers = by_rows(lambda rows, made=made: made.run(None, {"x": rows})[0], x, 1)
        np.savez(f"{path}.npz", x=x, y=answers, frame=numbers)
    files = ("--contract", "contract.toml", "--onnx", "model.onnx")
    Path("own.onnx").unlink()
    asked = ("gate",), ("explain", "engine.npz", *files), ("diff", "reference.npz", "engine.npz", *files)
    assert [command(*words).status for words in asked] == [status] * 3
