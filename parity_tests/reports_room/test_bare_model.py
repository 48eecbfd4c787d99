"""`rigpact check model.onnx` without a contract: what the model says of itself."""

import json

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from rigpact.reports.checking.bare_model import _runs, facts_of
from rigpact.reports.importing.values import read_model_beside


def saved(path, nodes, ends, arrays=()):
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in ends]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], [numpy_helper.from_array(v, k) for k, v in arrays])
    opsets = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, producer_name="somebody", opset_imports=opsets, ir_version=8), path)
    return path


def test_a_model_alone_says_what_it_is(tmp_path, command):
    """x - mean, / std, then weights in which the numbers 2 and 3 of x have no part; no five inputs of an animation engine."""
    weights = np.random.default_rng(1).normal(size=(5, 2)).astype("f")
    weights[2:4] = 0.0
    arrays = [("mean", np.linspace(-1, 1, 5, dtype="f")), ("std", np.array([2, 2, 3, 3, 3], "f")), ("w", weights)]
    steps = (("Sub", "x", "mean", "centred"), ("Div", "centred", "std", "normal"), ("MatMul", "normal", "w", "y"))
    nodes = [helper.make_node(kind, [a, b], [out]) for kind, a, b, out in steps]
    model = saved(tmp_path / "policy.onnx", nodes, [("x", [1, 5]), ("y", [1, 2])], arrays)
    answer = command("check", model)
    assert (answer.status, "RP400" in answer.out) == (0, False)
    for words in (
        "input x: float [1, 5]", "exported by somebody; operators ai.onnx 18", "2 of 5 numbers of x change no answer: 2 to 3",
        "x is normalised inside: minus mean (-1 to 1), divided by std (2 to 3)", "now: rigpact init",
    ):  # fmt: skip
        assert words in answer.out
    said = json.loads(command("check", model, "--format", "json").out)["summary"]["model"]
    assert any("normalised inside" in line for line in said["facts"])
    assert said["next"].startswith("rigpact init")


def test_a_model_that_says_it_takes_terabytes_is_not_given_them(tmp_path, command):
    """A stranger's model of a hundred bytes must not fill the memory of the machine that checks it."""
    ends = [(name, ["N", 1 << 40]) for name in "xy"]
    answer = command("check", saved(tmp_path / "huge.onnx", [helper.make_node("Relu", ["x"], ["y"])], ends))
    assert (answer.status, "its answers were not tried" in answer.out) == (0, True)


def test_weights_that_an_old_file_lists_among_its_inputs_are_none_of_them(tmp_path):
    """Up to IR version 3 every weight was listed there too: a false line said that the mean is normalised once more."""
    arrays = [(name, np.array(each, "f")) for name, each in (("mean", [2, 4]), ("std", [0.5, 8]), ("fixed", [1, 1]))]
    steps = (("Sub", "x", "mean", "apart"), ("Div", "apart", "std", "y"), ("Add", "fixed", "fixed", "spare"))
    nodes = [helper.make_node(kind, [a, b], [out]) for kind, a, b, out in steps]
    path = saved(tmp_path / "old.onnx", nodes, [("x", ["B", 2]), ("y", ["B", 2]), ("spare", [2])], arrays)
    model = onnx.load(path)
    model.ir_version, model.opset_import[0].version = 3, 8
    model.graph.input.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name, _ in arrays)
    onnx.save(model, path)
    said = [line.partition(":") for line in facts_of(path).lines if "normalised" in line or "no contract" in line]
    assert [(head, rest) for head, _, rest in said] == [
        ("constants or copies, of which no contract needs one", " spare"),
        ("x is normalised inside", " minus mean (2 to 4), divided by std (0.5 to 8); an engine must not do it again"),
    ]
    read = read_model_beside(path)
    assert (read.inputs, read.outputs, read.left_out) == ({"x": 2}, {"y": 2}, ("spare",))


def test_eight_runs_of_places_are_listed_and_of_more_their_count():
    """A line of a thousand places is read by nobody."""
    assert _runs([0, 2, 3, 4, *range(6, 18, 2)]) == "0, 2 to 4, 6, 8, 10, 12, 14, 16"
    assert _runs([*range(0, 18, 2)]) == "0, 2, 4, 6, 8, 10, 12, 14 and 1 more"
