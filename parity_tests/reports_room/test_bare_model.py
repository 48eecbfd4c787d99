"""`rigpact check model.onnx` without a contract: what the model says of itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Command = Callable[..., Any]


def _model(path: Path) -> Path:
    """x - mean, / std, then weights in which the numbers 2 and 3 of x have no part."""
    mean, std = np.linspace(-1, 1, 5, dtype="f"), np.array([2, 2, 3, 3, 3], "f")
    weights = np.random.default_rng(1).normal(size=(5, 2)).astype("f")
    weights[2:4] = 0.0
    arrays = {"mean": mean, "std": std, "w": weights}
    nodes = [
        helper.make_node("Sub", ["x", "mean"], ["centred"]),
        helper.make_node("Div", ["centred", "std"], ["normal"]),
        helper.make_node("MatMul", ["normal", "w"], ["y"]),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, width]) for name, width in (("x", 5), ("y", 2))]
    graph = helper.make_graph(
        nodes, "g", ends[:1], ends[1:], [numpy_helper.from_array(v, k) for k, v in arrays.items()]
    )
    model = helper.make_model(
        graph, producer_name="somebody", opset_imports=[helper.make_opsetid("", 18)], ir_version=8
    )
    onnx.save(model, path)
    return path


def test_a_model_alone_says_what_it_is(tmp_path: Path, command: Command) -> None:
    """A robot's policy was answered with the five inputs of an animation engine."""
    answer = command("check", _model(tmp_path / "policy.onnx"))
    assert answer.status == 0, answer.out
    assert "RP400" not in answer.out
    assert "input x: float [1, 5]" in answer.out
    assert "exported by somebody; operators ai.onnx 18" in answer.out
    assert "x is normalised inside: minus mean (-1 to 1), divided by std (2 to 3)" in answer.out
    assert "2 of 5 numbers of x change no answer: 2 to 3" in answer.out
    assert "now: rigpact init" in answer.out


def test_the_facts_stand_in_json_too(tmp_path: Path, command: Command) -> None:
    """A service that lists models reads no prose around them."""
    answer = command("check", _model(tmp_path / "policy.onnx"), "--format", "json")
    model = json.loads(answer.out)["summary"]["model"]
    assert any("normalised inside" in line for line in model["facts"])
    assert model["next"].startswith("rigpact init")


def test_a_model_that_says_it_takes_terabytes_is_not_given_them(tmp_path: Path, command: Command) -> None:
    """A stranger's model of a hundred bytes must not fill the memory of the machine that checks it."""
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 1 << 40]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", ends[:1], ends[1:])
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), tmp_path / "huge.onnx"
    )
    answer = command("check", tmp_path / "huge.onnx")
    assert answer.status == 0, answer.err
    assert "its inputs are 1,099,511,627,776 numbers: its answers were not tried" in answer.out
