"""A model before a run: its inputs by position, their order, type, rank, width; recorded answers; a model with one edit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.layout import INPUTS
from rigpact.reference_runtime import OnnxNetwork, ReplayNetwork, Trace, TraceHeader, open_run, read_replay, write_trace
from rigpact.reference_runtime.network import InputAlignment
from rigpact.reference_runtime.network_rounding.bounded_model import BoundedModel

from ..every_case import every_case
from ..models import saved
from . import tiny_character as tiny
from .trace_files import refused

WIDTHS = {"state": 33, "cond": 7, "contacts": 2, "angvel": 9, "pose_hist": 54}


@pytest.fixture(scope="module")
def contract(tmp_path_factory):
    return tiny.contract(tmp_path_factory.mktemp("network"))


def model(folder, inputs, output_width=18, kind="float"):
    """A graph that sums all inputs into every output; `inputs` are (name, shape) pairs."""
    axes = {f"{name}_axes": np.arange(1, len(shape)) for name, shape in inputs}
    sums = " ".join(f"{name}_sum = ReduceSum({name}, {name}_axes)" for name, _ in inputs)
    nodes = f"{sums} total = Sum({', '.join(f'{name}_sum' for name, _ in inputs)}) motion_pred = Mul(total, ones)"
    takes = ", ".join(f"{kind}[{', '.join(map(str, shape))}] {name}" for name, shape in inputs)
    graph = f"({takes}) => ({kind}[N, {output_width}] motion_pred) {{ {nodes} }}"
    ones = np.ones((1, output_width), "f4" if kind == "float" else "f8")
    return saved(folder / "m.onnx", graph, ones=ones, **axes)


def five(names=INPUTS, **widths):
    return [(name, [1, widths.get(name, WIDTHS.get(name, 1))]) for name in names]


OTHER_ORDERS = [("cond", "state", "contacts", "angvel", "pose_hist"), tuple(reversed(INPUTS))]


@every_case(
    ("inputs", "order"),
    [(five(), INPUTS), ([(f"input_{name}", [1, width]) for name, width in WIDTHS.items()], INPUTS),
     ([(name, ["B", width]) for name, width in WIDTHS.items()], INPUTS), *((five(order), order) for order in OTHER_ORDERS)],
)  # fmt: skip
def test_a_model_of_five_inputs_is_bound_by_position(contract, tmp_path, inputs, order):
    """An exporter that calls them input_0 …, has a symbol as batch, or a declared order, is as good to the engine."""
    of = contract.with_conventions({"input_order": ",".join(order)})
    network = OnnxNetwork(model(tmp_path, inputs), of)
    assert network.bound_widths == tuple(WIDTHS[name] for name in order)
    for rows in (1, 2):  # a batch that the export fixed to 1 is run row by row
        got = network.run([np.full((rows, width), 0.5, np.float32) for width in network.bound_widths], 0)
        assert (got.dtype, got.tolist()) == (np.float32, [[52.5] * 18] * rows)  # half of 105 numbers


@every_case(
    ("inputs", "kind", "words"),
    [(five([*INPUTS, "extra"][:count]), "float", f"{count} inputs") for count in (1, 4, 6)]
    + [(five(order), "float", f"inputs in the order {', '.join(order)}") for order in OTHER_ORDERS] + [(five(),
    "double", "float64")]
    + [([("state", shape), *five()[1:]], "float", f"rank {len(shape)}") for shape in ([33], [1, 1, 33])],
)  # fmt: skip
def test_a_model_that_the_engine_cannot_bind_is_refused(contract, tmp_path, inputs, kind, words):
    """The character stands still, the pose history arrives as the state, or a double is read as two numbers."""
    assert words in " ".join(refused(OnnxNetwork, model(tmp_path, inputs, kind=kind), contract))


@every_case(
    ("widths", "cut"),
    [
        ({}, []),
        ({"state": 30, "contacts": 5}, [InputAlignment(0, "state", 33, 30), InputAlignment(2, "contacts", 2, 5)]),
    ],
)
def test_another_width_is_run_as_the_engine_runs_it_and_recorded(contract, tmp_path, widths, cut):
    """The engine's `AlignInputVec` cuts and pads silently: the run continues, and the event is recorded. Sums tell what came."""
    loop = open_run(contract, OnnxNetwork(model(tmp_path, five(**widths)), contract), tiny.clip(tmp_path))
    stages = loop.step()
    total = sum(float(value) for name in INPUTS for value in stages[name][: widths.get(name)])
    assert stages["y_norm"][0] == pytest.approx(total, abs=105 * 2.0**-24 * 100)  # 105 additions in float32
    assert sorted(loop.alignments) == cut


def test_output_of_another_width_is_refused_when_it_runs(contract, tmp_path):
    """The engine only warns; after a missing number, every bone gets another bone's values."""
    network = OnnxNetwork(model(tmp_path, five(), output_width=12), contract)
    assert "1 × 18" in " ".join(refused(open_run(contract, network, tiny.clip(tmp_path)).step))
    given = [np.zeros((1, width), np.float32) for width in WIDTHS.values()]
    assert "1 × 18" in " ".join(refused(network.run, given, 0))  # as `explain` asks it


def test_replay_answers_frame_by_frame(tmp_path):
    """A replay that starts one row late compares every frame with its neighbour; poses are no answers."""
    rows, frames, path = np.arange(6.0, dtype=np.float32).reshape(3, 2), np.arange(3), tmp_path / "a.trace.jsonl"
    for name in ("y_norm", "y_out"):
        write_trace(Trace(TraceHeader(60.0, "teacher"), frames, frames / 60.0, {name: rows}), path)
        if name == "y_norm":
            for network in (ReplayNetwork(rows), read_replay(path)):
                assert [network.run([], frame).tolist() for frame in range(3)] == [[[0, 1]], [[2, 3]], [[4, 5]]]
    assert "y_norm" in " ".join(refused(read_replay, path))


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
def model_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """x -> tanh(((x - mean) / std) w0) w1 · std + mean."""
    nodes = "a = Sub(x, mean_in) b = Div(a, std_in) c = MatMul(b, w0) d = Tanh(c) e = MatMul(d, w1) f = Mul(e, std_out)"
    graph = f"(float[N, 6] x) => (float[N, 3] y) {{ {nodes} y = Add(f, mean_out) }}"
    constants = {"mean_in": MEAN, "std_in": STD, "w0": W0, "w1": W1, "std_out": OUT_STD, "mean_out": OUT_MEAN}
    return saved(tmp_path_factory.mktemp("models") / "model.onnx", graph, opset=17, **constants)


@pytest.mark.parametrize("words", MISTAKES)
def test_an_edit_computes_what_the_mistake_computes(model_model: Path, words: str) -> None:
    """Else a network that an engine evaluates wrongly is blamed for another mistake, or for none."""
    edits = dict(BoundedModel(model_model).variants())
    answer = edits[words].derived([X], [np.zeros_like(X)])
    assert answer is not None
    np.testing.assert_allclose(answer.exact[0], MISTAKES[words](X.astype(float)), rtol=1e-12, atol=1e-12)
