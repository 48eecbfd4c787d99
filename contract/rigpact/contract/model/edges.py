"""What a graph does at its edges: factors right behind an input and right before an output, and inputs that it clamps.

Exporters put normalisers and factors there; then a side that applies them outside applies them twice.
"""

from collections.abc import Callable, Iterator, Mapping
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
    """scale: a factor for each number, or one for all; operators: all with a constant, in the order of the graph."""

    scale: FloatArray
    operators: tuple[str, ...]

    @property
    def normalises(self) -> bool:
        """Whether a constant is taken off and another one divides."""
        return {"Sub", "Add"}.intersection(self.operators) != set() != {"Div", "Mul"}.intersection(self.operators)


def behind_input(graph: ModelGraph, name: str) -> Edge:
    """What an input meets before anything else."""
    scale, operators = np.ones(1), list[str]()
    while True:
        users = [node for node in graph.nodes if name in (*node.inputs, *node.captured)]
        factor = _factor(graph, users[0], name) if len(users) == 1 else None
        if factor is None or not _fits(scale, factor):
            return Edge(scale, tuple(operators))
        scale = scale * factor
        operators += [users[0].op] if users[0].op not in _PASSED else []
        name = users[0].outputs[0]


def before_output(graph: ModelGraph, name: str) -> Edge:
    """What an output met last. The bias of a layer before it may be among the operators."""
    scale, operators = np.ones(1), list[str]()
    while True:
        node = graph.makers.get(name)
        entry = None if node is None else _variable(graph, node)
        factor = None if node is None or entry is None else _factor(graph, node, entry)
        if node is None or entry is None or factor is None or not _fits(scale, factor):
            return Edge(scale, tuple(operators))
        scale = scale * factor
        operators = [*([node.op] if node.op not in _PASSED else []), *operators]
        name = entry


def _variable(graph: ModelGraph, node: Node) -> str | None:
    """The only input of a node that is not a constant."""
    if node.op in _PASSED:
        return node.inputs[0]
    found = [name for name in node.inputs if name and _constant(graph, name) is None]
    return found[0] if len(found) == 1 else None


def _fits(known: FloatArray, factor: FloatArray) -> bool:
    return len({size for size in (known.size, factor.size) if size > 1}) <= 1


def _factor(graph: ModelGraph, node: Node, name: str) -> FloatArray | None:
    """By what a node that knows nothing but a constant scales one of its inputs; None for any other node."""
    if node.op in _PASSED and node.inputs[0] == name:
        return np.ones(1)
    if node.op not in ("Add", "Sub", "Mul", "Div") or len(node.inputs) != 2:
        return None
    is_first = node.inputs[0] == name
    constant = _constant(graph, node.inputs[1] if is_first else node.inputs[0])
    if constant is None or (node.op == "Div" and (not is_first or not constant.all())):
        return None
    if node.op in ("Add", "Sub"):
        return np.ones(1) if is_first or node.op == "Add" else -np.ones(1)
    return constant if node.op == "Mul" else 1.0 / constant


def _constant(graph: ModelGraph, name: str, depth: int = 0) -> FloatArray | None:
    """A weight as flat numbers, or what small operations on weights give; None for anything else."""
    weight = graph.weight.get(name)
    if weight is not None:
        return np.array(weight.values) if weight.values else None
    node = graph.makers.get(name)
    if node is None or node.op not in _FOLDED or depth > _DEEPEST or len(node.inputs) > 2:
        return None
    values = [_constant(graph, each, depth + 1) for each in node.inputs]
    known = [value for value in values if value is not None]
    if len(known) < len(values) or len({value.size for value in known if value.size > 1}) > 1:
        return None
    with np.errstate(all="ignore"):
        folded = np.asarray(_FOLDED[node.op](*known))
    return folded if np.isfinite(folded).all() else None


_INFINITE = float("inf")


@dataclass(frozen=True)
class Clamp:
    """A Clip node with bounds that stand in the file. source: the input that it cuts, '' for anything else."""

    pointer: str
    source: str
    low: float
    high: float


def clamps(graph: ModelGraph) -> Iterator[Clamp]:
    """Yield every Clip whose bounds are known before the run."""
    for node in graph.nodes:
        if node.op == "Clip":
            low, high = _bound(graph, node, 1, "min"), _bound(graph, node, 2, "max")
            if low is not None and high is not None:
                yield Clamp(node.pointer, _source(graph, node.inputs[0] if node.inputs else ""), low, high)


def _source(graph: ModelGraph, name: str) -> str:
    while name in graph.makers and graph.makers[name].op in _PASSED:
        name = graph.makers[name].inputs[0]
    return name if any(entry.name == name for entry in graph.inputs) else ""


def bound_clamps(graph: ModelGraph) -> Mapping[int, Clamp]:
    """The narrowest clamp of each input, by the position at which an engine binds it; nothing for an input that is not cut."""
    places = {entry.name: place for place, entry in enumerate(graph.inputs)}
    found: dict[int, Clamp] = {}
    for clamp in clamps(graph):
        if clamp.source and clamp.low < clamp.high:
            place = places[clamp.source]
            narrowest = found.get(place)
            if narrowest is None or clamp.high - clamp.low < narrowest.high - narrowest.low:
                found[place] = clamp
    return found


def _bound(graph: ModelGraph, node: Node, place: int, attribute: str) -> float | None:
    """A bound of Clip, an input from opset 11 on, an attribute before; None where only the run knows it."""
    unbounded = -_INFINITE if attribute == "min" else _INFINITE
    name = node.inputs[place] if len(node.inputs) > place else ""
    if not name:
        return float(node.attributes.get(attribute, unbounded))
    weight = graph.weight.get(name)
    return weight.values[0] if weight and weight.values else None
