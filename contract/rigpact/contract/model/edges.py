"""What a graph does by constants right behind an input and right before an output: x · scale + offset.

Exporters put normalisers and factors there; then a side that applies them outside applies them twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from rigpact.contract.model.graph import ModelGraph, Node
from rigpact.contract.statistics import FloatArray

_PASSED = frozenset({"Identity", "Cast", "Flatten", "Reshape", "Squeeze", "Unsqueeze", "Dropout"})
"""They hand the numbers on in their order."""
_FOLDED: Mapping[str, Callable[..., FloatArray]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Sqrt": np.sqrt,
}  # fmt: skip
_DEEPEST = 8
"""Operations on constants alone that are computed here: sqrt(variance + epsilon) has two."""


@dataclass(frozen=True, eq=False)
class Edge:
    """x · scale + offset, one number each or one for all; operators: what computes it, in the order of the graph."""

    scale: FloatArray
    offset: FloatArray
    operators: tuple[str, ...]

    @property
    def normalises(self) -> bool:
        """Whether a constant is taken off and another one divides."""
        return {"Sub", "Add"}.intersection(self.operators) != set() != {"Div", "Mul"}.intersection(self.operators)


Step = tuple[FloatArray, FloatArray]


def behind_input(graph: ModelGraph, name: str) -> Edge:
    """The constants that an input meets before anything else."""
    scale, offset, operators = np.ones(1), np.zeros(1), list[str]()
    while True:
        users = [node for node in graph.nodes if name in (*node.inputs, *node.captured)]
        step = _step(graph, users[0], name) if len(users) == 1 else None
        if step is None or not _fits(scale, step):
            return Edge(scale, offset, tuple(operators))
        scale, offset = scale * step[0], offset * step[0] + step[1]
        operators += [users[0].op] if users[0].op not in _PASSED else []
        name = users[0].outputs[0]


def before_output(graph: ModelGraph, name: str) -> Edge:
    """The constants that an output met last. The offset may hold the bias of a layer before them."""
    scale, offset, operators = np.ones(1), np.zeros(1), list[str]()
    while True:
        node = next((each for each in graph.nodes if name in each.outputs), None)
        entry = None if node is None else _variable(graph, node)
        step = None if node is None or entry is None else _step(graph, node, entry)
        if node is None or entry is None or step is None or not _fits(scale, step):
            return Edge(scale, offset, tuple(operators))
        scale, offset = scale * step[0], scale * step[1] + offset
        operators = [*([node.op] if node.op not in _PASSED else []), *operators]
        name = entry


def _variable(graph: ModelGraph, node: Node) -> str | None:
    """The only input of a node that is no constant."""
    if node.op in _PASSED:
        return node.inputs[0]
    found = [name for name in node.inputs if name and _constant(graph, name) is None]
    return found[0] if len(found) == 1 else None


def _fits(known: FloatArray, step: Step) -> bool:
    return len({size for size in (known.size, step[0].size, step[1].size) if size > 1}) <= 1


def _step(graph: ModelGraph, node: Node, name: str) -> Step | None:
    """What a node makes of one of its inputs by a constant; None where it does something else."""
    if node.op in _PASSED and node.inputs[0] == name:
        return np.ones(1), np.zeros(1)
    if node.op not in ("Add", "Sub", "Mul", "Div") or len(node.inputs) != 2:
        return None
    is_first = node.inputs[0] == name
    constant = _constant(graph, node.inputs[1] if is_first else node.inputs[0])
    if constant is None or (node.op == "Div" and (not is_first or not constant.all())):
        return None
    sign = 1.0 if is_first else -1.0
    table: Mapping[str, Callable[[FloatArray], Step]] = {
        "Add": lambda c: (np.ones(1), c), "Sub": lambda c: (np.array([sign]), -sign * c),
        "Mul": lambda c: (c, np.zeros(1)), "Div": lambda c: (1.0 / c, np.zeros(1)),
    }  # fmt: skip
    return table[node.op](constant)


def _constant(graph: ModelGraph, name: str, depth: int = 0) -> FloatArray | None:
    """A weight as flat numbers, or what small operations on weights give; None for anything else."""
    weight = graph.weight.get(name)
    if weight is not None:
        return np.array(weight.values) if weight.values else None
    node = next((each for each in graph.nodes if name in each.outputs), None)
    if node is None or node.op not in _FOLDED or depth > _DEEPEST:
        return None
    values = [_constant(graph, each, depth + 1) for each in node.inputs]
    known = [value for value in values if value is not None]
    if len(known) < len(values) or len({value.size for value in known if value.size > 1}) > 1:
        return None
    with np.errstate(all="ignore"):
        folded = np.asarray(_FOLDED[node.op](*known))
    return folded if np.isfinite(folded).all() else None
