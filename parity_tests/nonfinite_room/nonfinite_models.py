"""Models with a damaged weight or a node that fails.

Needs `onnx`. The demo model is damaged in one weight; small models of their own fail in one operation.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from rigpact.contract.layout import INPUTS
from rigpact.contract.systems.contract import Contract
from rigpact.fixtures.demo import demo_bundle
from rigpact.reference_runtime.network import OnnxNetwork
from rigpact.reference_runtime.recordings.clip import Clip, read_clip

from ..scene import demo_contract
from .nonfinite_character import sound_clip, sound_contract


class Case(NamedTuple):
    """A run that fails in its network."""

    name: str
    contract: Contract
    network: OnnxNetwork
    clip: Clip


_WEIGHTS = ("encode_history.weight", "hidden.weight", "output.weight")


def damaged_demo_cases(folder: Path, count: int = 12) -> Iterator[Case]:
    """The demo model with one number of one weight out of order: NaN, infinite, or beyond float32 when multiplied."""
    contract = demo_contract()
    clip = read_clip(demo_bundle() / "clips" / "Sneak_Turn.json")
    for seed in range(count):
        weight = _WEIGHTS[seed % 3]
        path = folder / f"damaged_{seed}.onnx"
        _damage(path, weight, seed, (np.nan, np.inf, 3e38)[seed // 3 % 3])
        yield Case(f"damaged {weight} {seed}", contract, OnnxNetwork(path, contract), clip)


def _damage(path: Path, weight: str, seed: int, value: float) -> None:
    model = onnx.load(str(demo_bundle() / "model.onnx"))
    tensor = next(entry for entry in model.graph.initializer if entry.name == weight)
    values = numpy_helper.to_array(tensor).copy()
    unit = int(np.random.default_rng(seed).integers(276)) if weight == "output.weight" else seed
    row = values[unit] if weight != "output.weight" or values.shape[0] == 276 else values[:, unit]
    row[:] = np.where(row < 0, -np.abs(value), np.abs(value)) if np.isfinite(value) else row
    if not np.isfinite(value):
        row[0] = value
    tensor.CopyFrom(numpy_helper.from_array(values, weight))
    path.write_bytes(model.SerializeToString())


Failing = Callable[[str], list[Any]]
_OPERATIONS: dict[str, Failing] = {
    # x is a z-scored state of ordinary size: each line fails on it, or on the sum of it, in the node named `culprit`
    "Exp": lambda x: [_node("Mul", [x, "million"], "big"), _node("Abs", ["big"], "size"), _culprit("Exp", ["size"])],
    "Sqrt": lambda x: [_node("Abs", [x], "size"), _node("Neg", ["size"], "below"), _culprit("Sqrt", ["below"])],
    "Log": lambda x: [_node("Sub", [x, x], "zero"), _culprit("Log", ["zero"])],
    "Div": lambda x: [_node("Sub", [x, x], "zero"), _culprit("Div", [x, "zero"])],
    "Mul": lambda x: [_node("Mul", [x, "huge"], "large"), _culprit("Mul", ["large", "huge"])],
    "Reciprocal": lambda x: [_node("Sub", [x, x], "zero"), _culprit("Reciprocal", ["zero"])],
}


def failing_operation_cases(folder: Path) -> Iterator[Case]:
    """Small models whose failing node is named by its operation."""
    contract = sound_contract()
    for seed, (name, nodes) in enumerate(_OPERATIONS.items()):
        path = folder / f"failing_{name}.onnx"
        path.write_bytes(_model(contract, nodes("picked")).SerializeToString())
        yield Case(f"failing {name}", contract, OnnxNetwork(path, contract), sound_clip(seed))


def _node(op: str, inputs: list[str], output: str) -> Any:
    return helper.make_node(op, inputs, [output], name=f"node_{output}")


def _culprit(op: str, inputs: list[str]) -> Any:
    return helper.make_node(op, inputs, ["culprit_out"], name="culprit")


def _model(contract: Contract, nodes: list[Any]) -> Any:
    width = contract.numbers.output.width
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["B", contract.numbers.input_widths[name]])
        for name in INPUTS
    ]
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["state", "which"], ["picked"], name="node_picked", axis=1),
            *nodes,
            helper.make_node("Identity", ["culprit_out"], ["motion_pred"], name="node_out"),
        ],
        "failing",
        inputs,
        [helper.make_tensor_value_info("motion_pred", TensorProto.FLOAT, ["B", width])],
        [
            _scalar("million", 1e6),
            _scalar("huge", 1e25),
            numpy_helper.from_array(np.arange(width, dtype=np.int64), "which"),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def _scalar(name: str, value: float) -> Any:
    return numpy_helper.from_array(np.array(value, np.float32), name)
