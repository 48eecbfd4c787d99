"""Models of a declared system: their own order of inputs and outputs, their own axes, one row at a time."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from rigpact.reports.command_line import run_command_line

FRAMES = 5
CONTRACT = """
format = "rigpact-contract"
version = 1
name = "two"
fps = 50
given = [{ name = "a", size = 6 }, { name = "b", size = 4 }]
stages = [
  { name = "y", operation = "network", size = 4 },
  { name = "w", operation = "network", size = 4 },
]
[networks.policy]
file = "model.onnx"
inputs = { a = "a", b = "b" }
outputs = { y = "y", w = "w" }
"""


def write_model(path: Path, last: list[tuple[str, list[str], str]]) -> None:
    """Inputs b (1, 4) and a (1, 2, 3), outputs w and y: the other way round than the contract. y = b; w is made by `last`."""
    nodes = [("ReduceSum", ["a"], "total"), ("Identity", ["b"], "y"), ("Add", ["b", "total"], "sum"),
             ("Sub", ["sum", "sum"], "zero"), ("Reciprocal", ["zero"], "made"), *last]  # fmt: skip
    made = [
        helper.make_node(op, inputs, [output], name=output, **({"keepdims": 0} if op == "ReduceSum" else {}))
        for op, inputs, output in nodes
    ]
    takes = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("b", [1, 4]), ("a", [1, 2, 3]))]
    gives = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 4]) for n in ("w", "y")]
    low, high = (numpy_helper.from_array(np.float32(value), name) for name, value in (("low", -1), ("high", 1)))
    graph = helper.make_graph(made, "own", takes, gives, [low, high])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), str(path))


@pytest.fixture
def answer(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Any:
    """The document of `rigpact nan` about a model."""

    def ask(last: list[tuple[str, list[str], str]], *, recorded: bool = False) -> Any:
        write_model(tmp_path / "model.onnx", last)
        (tmp_path / "contract.toml").write_text(CONTRACT, encoding="utf-8")
        rng = np.random.default_rng(3)
        a, b = (rng.normal(size=(FRAMES, width)).astype(np.float32) for width in (6, 4))
        np.savez(tmp_path / "clip.npz", a=a, b=b, frame=np.arange(FRAMES))
        np.savez(tmp_path / "engine.npz", a=a, b=b, y=b, w=np.ones_like(b), frame=np.arange(FRAMES))
        judged = tmp_path / ("engine.npz" if recorded else "clip.npz")
        words = [
            "nan",
            judged,
            "--contract",
            tmp_path / "contract.toml",
            "--onnx",
            tmp_path / "model.onnx",
            "--format",
            "json",
        ]
        capfd.readouterr()
        run_command_line([str(word) for word in words])
        return json.loads(capfd.readouterr().out)

    return ask


@pytest.mark.parametrize("recorded", [False, True])
def test_what_does_not_arrive_is_told_of_any_model(answer: Any, recorded: bool) -> None:
    """Looked at with its inputs exchanged, the model fails to run, and its values would be nobody's."""
    found = answer([("Clip", ["made", "low", "high"], "w")], recorded=recorded)
    assert found["verdict"] == "finite"
    assert [(each["node"], each["frame"], each["frames"]) for each in found["swallowed"]] == [("made", 0, FRAMES)]


def test_the_node_of_a_second_output_is_named(answer: Any) -> None:
    """The contract's second output is the model's first."""
    found = answer([("Identity", ["made"], "w")])
    assert (found["origin"]["stage"], found["origin"]["network_node"]) == ("w", "made")
    assert found["origin"]["network"]["same_bits"]
