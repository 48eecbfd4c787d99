"""Where a graph cuts numbers off: its Clip nodes, their bounds, and the input that each of them is applied to."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rigpact.contract.model.graph import ModelGraph, Node

_PASSES_ON = {"Identity", "Cast", "Flatten", "Reshape"}
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
    origin = {entry.name: entry.name for entry in graph.inputs}
    for node in graph.nodes:
        source = origin.get(node.inputs[0], "") if node.inputs else ""
        if node.op in _PASSES_ON and source:
            origin.update(dict.fromkeys(node.outputs, source))
        if node.op == "Clip":
            low, high = _bound(graph, node, 1, "min"), _bound(graph, node, 2, "max")
            if low is not None and high is not None:
                yield Clamp(node.pointer, source, low, high)


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
