"""Small models with a value that is not finite, and whether it arrives: known by how they are built.

Every model picks its numbers from the state and calls the node of interest `innocent` or `culprit`. Needs `onnx`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from rigpact.contract.bundle import INPUTS, Contract

Nodes = Sequence[tuple[str, str, str]]
"""Operator, inputs and output of each node, in order; an output of `innocent` or `culprit` also is the node's name."""

# zero, below (at most -1) and big (overflows Exp) are made from the picked state x: nothing can be folded away
SWALLOWED: Mapping[str, tuple[Nodes, float]] = {
    "Where drops NaN": ((("Sqrt", "below", "innocent"), ("Where", "never innocent x", "z")), np.nan),
    "Where drops an infinity": ((("Reciprocal", "zero", "innocent"), ("Where", "never innocent x", "z")), np.inf),
    "Clip caps 1/0": ((("Reciprocal", "zero", "innocent"), ("Clip", "innocent low high", "z")), np.inf),
    "Clip lifts log 0": ((("Log", "zero", "innocent"), ("Clip", "innocent low high", "z")), -np.inf),
    "Min caps 1/0": ((("Reciprocal", "zero", "innocent"), ("Min", "innocent high", "z")), np.inf),
    "Max lifts log 0": ((("Log", "zero", "innocent"), ("Max", "innocent low", "z")), -np.inf),
    "Relu drops log 0": ((("Log", "zero", "innocent"), ("Relu", "innocent", "z")), -np.inf),
    "Softmax of a mask chosen by Where": ((("Where", "half x minus", "innocent"), ("Softmax", "innocent", "z")), -np.inf),
    "Softmax of a mask that is added": ((("Add", "x mask", "innocent"), ("Softmax", "innocent", "z")), -np.inf),
    "Tanh of an overflow": ((("Exp", "big", "innocent"), ("Tanh", "innocent", "z")), np.inf),
    "Sigmoid of log 0": ((("Log", "zero", "innocent"), ("Sigmoid", "innocent", "z")), -np.inf),
    "Exp of log 0": ((("Log", "zero", "innocent"), ("Exp", "innocent", "z")), -np.inf),
    "Reciprocal of an overflow": ((("Exp", "big", "innocent"), ("Reciprocal", "innocent", "z")), np.inf),
    "Div by an overflow": ((("Exp", "big", "innocent"), ("Div", "x innocent", "z")), np.inf),
    "Where that is passed on to Relu": (
        (("Where", "half x minus", "innocent"), ("Identity", "innocent", "same"), ("Relu", "same", "z")), -np.inf,
    ),
}  # fmt: skip
"""Models whose output z is finite, and the value that was caught on the way."""
REAL: Mapping[str, Nodes] = {
    "Sqrt": (("Sqrt", "below", "culprit"),),
    "Log": (("Log", "zero", "culprit"),),
    "Div": (("Div", "x zero", "culprit"),),
    "Exp": (("Exp", "big", "culprit"),),
    "Reciprocal": (("Reciprocal", "zero", "culprit"),),
}
"""Nodes whose value does arrive."""
_MADE: Nodes = (
    ("Gather", "state which", "x"), ("Sub", "x x", "zero"), ("Abs", "x", "size"), ("Neg", "size", "negative"),
    ("Sub", "negative one", "below"), ("Sub", "high below", "large"), ("Mul", "large large", "big"),
)  # fmt: skip


def model_bytes(contract: Contract, nodes: Nodes, output: str) -> bytes:
    """A model of the engine's five inputs that computes `output` from the state; the other inputs add nothing."""
    width = contract.output.width
    half = np.arange(width) % 2 == 0
    weights = {
        "which": np.arange(width, dtype=np.int64), "one": np.float32(1), "low": np.float32(-16), "high": np.float32(16),
        "never": np.zeros(width, bool), "half": half, "minus": np.float32(-np.inf),
        "mask": np.where(half, 0.0, -np.inf).astype(np.float32),
    }  # fmt: skip
    every = (*_MADE, *nodes, ("Identity", output, "motion_pred"))
    made = [_node(*each) for each in every]
    read = {name for each in every for name in each[1].split()}
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["B", contract.input_widths[name]]) for name in INPUTS
    ]
    graph = helper.make_graph(
        made, "infinite", inputs, [helper.make_tensor_value_info("motion_pred", TensorProto.FLOAT, ["B", width])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items() if name in read],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    content: bytes = model.SerializeToString()
    return content


def _node(op: str, inputs: str, output: str) -> Any:
    attributes = {"axis": 1} if op == "Gather" else {}
    return helper.make_node(op, inputs.split(), [output], name=output, **attributes)


def write_model(folder: Path, contract: Contract, nodes: Nodes, output: str = "z") -> Path:
    """The same, as a file."""
    path = folder / "infinite.onnx"
    path.write_bytes(model_bytes(contract, nodes, output))
    return path
