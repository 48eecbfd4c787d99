"""One operation of a model in the reference evaluator of `onnx`, which takes float64."""

from functools import lru_cache
from typing import Any

import numpy as np

from rigpact.contract.model.program import Operation


class One:
    """A node as a key: one evaluator serves all its evaluations."""

    def __init__(self, node: Operation, names: tuple[str, ...], opset: int) -> None:
        """names: of the operands; an absent one is empty."""
        self.node, self.names, self.opset = node, names, opset

    def __eq__(self, other: object) -> bool:
        """The same node with the same operands."""
        return isinstance(other, One) and (self.node, self.names) == (other.node, other.names)

    def __hash__(self) -> int:
        """Of the node itself."""
        return hash((id(self.node), self.names))


@lru_cache(maxsize=256)
def evaluator(said: One) -> Any:
    """The reference evaluator of one operation."""
    from onnx import TensorProto, helper
    from onnx.reference import ReferenceEvaluator

    node, names = said.node, said.names
    outputs = [name for name in node.outputs if name]
    made = helper.make_node(node.op, list(names), list(node.outputs), **_attributes(node))
    ends = [
        [helper.make_tensor_value_info(name, TensorProto.DOUBLE, None) for name in side if name]
        for side in (names, outputs)
    ]
    graph = helper.make_graph([made], "one", *ends)
    return ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", said.opset)]))


def _attributes(node: Operation) -> dict[str, Any]:
    from onnx import numpy_helper

    return {
        name: numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value
        for name, value in node.attributes.items()
    }
