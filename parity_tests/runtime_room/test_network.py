"""Checks of a model before a run: five inputs by position, their order, type, rank and width."""

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import INPUTS
from rigpact.reference_runtime import OnnxNetwork, ReplayNetwork, Trace, TraceHeader, open_run, read_replay, write_trace
from rigpact.reference_runtime.network import InputAlignment, aligned

from . import tiny_character as tiny

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402  (onnx is optional)

WIDTHS = {"state": 33, "cond": 7, "contacts": 2, "angvel": 9, "pose_hist": 54}


@pytest.fixture(scope="module")
def contract(tmp_path_factory):
    return tiny.contract(tmp_path_factory.mktemp("network"))


def model(path, inputs, output_width=18, kind=TensorProto.FLOAT):
    """A graph that sums all inputs into every output; `inputs` are (name, shape) pairs."""
    values = [helper.make_tensor_value_info(name, kind, shape) for name, shape in inputs]
    nodes, sums = [], []
    for name, shape in inputs:
        axes = list(range(1, len(shape)))
        axes_name, sum_name = f"{name}_axes", f"{name}_sum"
        tensor = helper.make_tensor(axes_name, TensorProto.INT64, [len(axes)], axes)
        nodes += [
            helper.make_node("Constant", [], [axes_name], value=tensor),
            helper.make_node("ReduceSum", [name, axes_name], [sum_name], keepdims=0),
        ]
        sums.append(sum_name)
    total = sums[0]
    for number, name in enumerate(sums[1:]):
        nodes.append(helper.make_node("Add", [total, name], [f"total{number}"]))
        total = f"total{number}"
    ones = helper.make_tensor("ones_value", kind, [1, output_width], [1.0] * output_width)
    nodes += [
        helper.make_node("Constant", [], ["ones"], value=ones),
        helper.make_node("Mul", [total, "ones"], ["motion_pred"]),
    ]
    outputs = [helper.make_tensor_value_info("motion_pred", kind, [1, output_width])]
    graph = helper.make_graph(nodes, "tiny", values, outputs)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(made, path)
    return path


def five(names=INPUTS, **widths):
    return [(name, [1, widths.get(name, WIDTHS.get(name, 1))]) for name in names]


def test_a_model_of_the_exporters_shape_runs(contract, tmp_path):
    """The sound case must pass, or the refusals below prove nothing."""
    network = OnnxNetwork(model(tmp_path / "m.onnx", five()), contract)
    assert network.bound_widths == (33, 7, 2, 9, 54)
    inputs = [np.full((1, width), 0.5, np.float32) for width in network.bound_widths]
    got = network.run(inputs, 0)
    assert got.dtype == np.float32
    assert got.tolist() == [[52.5] * 18]  # half of 105 numbers


def test_loop_binds_the_five_stages_by_position(contract, tmp_path):
    """Sums of the five vectors, as the loop fed them."""
    loop = open_run(contract, OnnxNetwork(model(tmp_path / "m.onnx", five()), contract), tiny.clip(tmp_path))
    stages = loop.step()
    total = sum(float(value) for name in INPUTS for value in stages[name])
    # 105 additions in float32
    assert stages["y_norm"][0] == pytest.approx(total, abs=105 * 2.0**-24 * 100)
    assert loop.alignments == set()


@pytest.mark.parametrize("count", [1, 4, 6])
def test_another_number_of_inputs_is_refused(contract, tmp_path, count):
    """The engine fails to bind and the character stands still: say so before the build."""
    names = [*INPUTS, "extra"][:count]
    with pytest.raises(UnusableInput, match=f"{count} inputs"):
        OnnxNetwork(model(tmp_path / "m.onnx", five(names)), contract)


@pytest.mark.parametrize("order", [("cond", "state", "contacts", "angvel", "pose_hist"), tuple(reversed(INPUTS))])
def test_inputs_in_another_order_are_refused_by_name(contract, tmp_path, order):
    """Bound by position, the pose history would arrive as the state."""
    path = model(tmp_path / "m.onnx", five(order))
    with pytest.raises(UnusableInput, match="binds by position"):
        OnnxNetwork(path, contract)
    declared = contract.with_conventions({"input_order": ",".join(order)})
    assert OnnxNetwork(path, declared).bound_widths == tuple(WIDTHS[name] for name in order)


def test_unknown_names_are_bound_by_position(contract, tmp_path):
    """An exporter that calls them input_0 … is as good to the engine."""
    inputs = [(f"input_{place}", [1, WIDTHS[name]]) for place, name in enumerate(INPUTS)]
    assert OnnxNetwork(model(tmp_path / "m.onnx", inputs), contract).bound_widths == (33, 7, 2, 9, 54)


def test_double_precision_inputs_are_refused(contract, tmp_path):
    """The engine copies floats into the tensor: a double reads two of them as one number."""
    with pytest.raises(UnusableInput, match="float64"):
        OnnxNetwork(model(tmp_path / "m.onnx", five(), kind=TensorProto.DOUBLE), contract)


@pytest.mark.parametrize("shape", [[33], [1, 1, 33]])
def test_another_rank_is_refused(contract, tmp_path, shape):
    """A sequence axis is a windowed model, which this loop does not feed."""
    inputs = [("state", shape), *five()[1:]]
    with pytest.raises(UnusableInput, match=f"rank {len(shape)}"):
        OnnxNetwork(model(tmp_path / "m.onnx", inputs), contract)


def test_another_width_is_run_as_the_engine_runs_it_and_recorded(contract, tmp_path):
    """The engine's `AlignInputVec` cuts and pads silently: the run continues, and the event is recorded."""
    network = OnnxNetwork(model(tmp_path / "m.onnx", five(state=30, contacts=5)), contract)
    loop = open_run(contract, network, tiny.clip(tmp_path))
    stages = loop.step()
    assert sorted(loop.alignments) == [
        InputAlignment(0, "state", 33, 30),
        InputAlignment(2, "contacts", 2, 5),
    ]
    total = sum(float(value) for name in INPUTS for value in stages[name][: 30 if name == "state" else None])
    assert stages["y_norm"][0] == pytest.approx(total, abs=105 * 2.0**-24 * 100)


def test_dynamic_batch_axis_is_taken(contract, tmp_path):
    """The exporter's own option; a symbol is not a width."""
    inputs = [(name, ["B", width]) for name, width in WIDTHS.items()]
    assert OnnxNetwork(model(tmp_path / "m.onnx", inputs), contract).bound_widths == (33, 7, 2, 9, 54)


def test_output_of_another_width_is_refused_when_it_runs(contract, tmp_path):
    """The engine only warns; after a missing number, every bone gets another bone's values."""
    network = OnnxNetwork(model(tmp_path / "m.onnx", five(), output_width=12), contract)
    with pytest.raises(UnusableInput, match="1 × 18"):
        open_run(contract, network, tiny.clip(tmp_path)).step()


@pytest.mark.parametrize("content", [b"", b"\x00\xff junk", b"{}"])
def test_file_that_is_no_model_is_refused_in_words(contract, tmp_path, content):
    """A Git LFS pointer in place of the weights is an everyday accident."""
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    with pytest.raises(UnusableInput):
        OnnxNetwork(path, contract)


def test_aligning_copies_the_front_and_fills_with_zeros():
    """Padding at the front would shift every channel."""
    vector = np.arange(1.0, 5.0, dtype=np.float32)[None]
    assert aligned([vector, vector, vector], (None, 2, 6))[0] is vector
    cut, padded = aligned([vector, vector], (2, 6))
    assert cut.tolist() == [[1, 2]]
    assert padded.tolist() == [[1, 2, 3, 4, 0, 0]]


def test_replay_answers_frame_by_frame(tmp_path):
    """A replay that starts one row late compares every frame with its neighbour."""
    rows = np.arange(6.0, dtype=np.float32).reshape(3, 2)
    assert [ReplayNetwork(rows).run([], frame).tolist() for frame in range(3)] == [[[0, 1]], [[2, 3]], [[4, 5]]]
    header, frames = TraceHeader(60.0, "teacher"), np.arange(3)
    write_trace(Trace(header, frames, frames / 60.0, {"y_norm": rows}), tmp_path / "a.trace.jsonl")
    assert read_replay(tmp_path / "a.trace.jsonl").run([], 2).tolist() == [[4, 5]]


def test_trace_without_network_outputs_cannot_be_replayed(tmp_path):
    """Replaying poses as residuals would turn every bone by its own pose."""
    frames = np.arange(2)
    stages = {"y_out": np.zeros((2, 18), np.float32)}
    write_trace(Trace(TraceHeader(60.0, "free"), frames, frames / 60.0, stages), tmp_path / "a.trace.jsonl")
    with pytest.raises(UnusableInput, match="y_norm"):
        read_replay(tmp_path / "a.trace.jsonl")
