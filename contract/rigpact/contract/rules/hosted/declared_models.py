"""RP765 to RP767: normalisers and factors that stand inside a model, against those that the contract applies outside."""

from collections.abc import Iterator

import numpy as np

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.model.edges import Edge, before_output, behind_input
from rigpact.contract.model.graph import ModelGraph
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.rules.family import Family, Need, on_declared_networks, rules_in
from rigpact.contract.rules.hosted.declared_numbers import unused_numbers
from rigpact.contract.rules.hosted.declared_stages import changes_much, shown_numbers
from rigpact.contract.rules.views.declaration import DeclaredView
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.binding import bound_tensors
from rigpact.contract.systems.system import NetworkBinding

TWO_NORMALISERS = Rule.titled(
    "RP765 warning model-normaliser-outside-and-inside",
    message="{stage} normalises what goes into {input}, and the model does it again with the same numbers ({operators})",
    hint="leave the stage out, or export the network without its normaliser",
    why="normalised twice, every input is near 0: the network stands still or answers to noise",
)
NO_NORMALISER = Rule.titled(
    "RP766 warning model-normaliser-nowhere",
    message="{numbers} holds {count} numbers, as many as {vector}: no stage applies it, nor does the model",
    hint="normalise before the network with it, or export the network with its normaliser",
    why="the network gets numbers of another size than it was trained with",
)
SCALED_INSIDE = Rule.titled(
    "RP767 warning model-scale-outside-and-inside",
    message="{stage} multiplies by {numbers}, and the model does it again at {tensor} ({operators})",
    hint="keep one of the two: ask whether the exporter put the factor into the graph",
    why="the network's input or answer is scaled by the square of the factor",
)
_SAME = 0.01
"""An exporter's three digits move a number by up to half a percent, on either side."""


def check_edges(view: DeclaredView, network: NetworkBinding, model: ModelSignature) -> Iterator[Finding]:
    """Yield what a declaration applies outside of a network that its graph applies inside, and what neither does."""
    graph = model.graph
    if graph is None:
        return
    inputs, outputs = bound_tensors(model, network)
    for tensor, vector in zip(inputs or (), network.inputs, strict=False):
        yield from _input(view, graph, tensor.name, vector)
    for tensor, vector in zip(outputs or (), network.outputs, strict=False):
        yield from _output(view, graph, tensor.name, vector)


FAMILY = Family(__name__, rules_in(globals()), (Need.DECLARATION, Need.MODEL), on_declared_networks(check_edges))


def _input(view: DeclaredView, graph: ModelGraph, tensor: str, vector: str) -> Iterator[Finding]:
    edge = behind_input(graph, tensor)
    place, operators = json_pointer(tensor), ", ".join(edge.operators)
    if not edge.operators:
        yield from _nowhere(view, vector)
        return
    for stage, inside in _scaled_outside(view, vector, edge):
        values = {"stage": stage, "operators": operators}
        if edge.normalises and view.operation(stage) == "normalise":
            yield TWO_NORMALISERS.at(graph.path, place, input=tensor, **values)
        else:
            yield SCALED_INSIDE.at(graph.path, place, tensor=tensor, numbers=shown_numbers(inside), **values)


def _scaled_outside(view: DeclaredView, vector: str, edge: Edge) -> Iterator[tuple[str, FloatArray]]:
    """Yield each stage whose numbers reach the input unchanged and that multiplied them by what the model does there."""
    channels = view.channels(vector)
    if edge.scale.size not in (1, len(channels)):
        return
    inside = np.broadcast_to(edge.scale, len(channels))
    for stage in dict.fromkeys(name for name, _ in channels):
        scale = view.scale(stage) if view.operation(stage) in ("affine", "normalise") else None
        if scale is not None and changes_much(scale):
            own = np.broadcast_to(scale, view.layout(stage).width)
            pairs = np.array([(own[place], inside[at]) for at, (name, place) in enumerate(channels) if name == stage])
            if np.allclose(pairs[:, 0], pairs[:, 1], rtol=_SAME, atol=0.0):
                yield stage, scale


def _nowhere(view: DeclaredView, vector: str) -> Iterator[Finding]:
    """Numbers as wide as the input that nobody applies: what stands in a contract beside its network are its statistics."""
    width = view.layout(vector).width
    is_normalised = any(view.operation(name) == "normalise" for name, _ in view.channels(vector))
    for name in unused_numbers(view) if not is_normalised and width > 1 else ():
        if np.size(view.declaration.constants["numbers"][name]) == width:
            yield NO_NORMALISER.at(view.path, ("numbers", name), numbers=name, count=width, vector=vector)


def _output(view: DeclaredView, graph: ModelGraph, tensor: str, vector: str) -> Iterator[Finding]:
    edge = before_output(graph, tensor)
    for stage, _ in view.stages_of("affine", "denormalise"):
        scale = view.scale(stage)
        is_behind = {name for name, _ in view.channels(view.inputs_of(stage)[0])} == {vector}
        if scale is None or not is_behind or not changes_much(scale) or edge.scale.size not in (1, scale.size):
            continue
        if np.allclose(edge.scale, scale, rtol=_SAME, atol=0.0):
            yield SCALED_INSIDE.at(
                graph.path,
                (tensor,),
                stage=stage,
                numbers=shown_numbers(scale),
                tensor=tensor,
                operators=", ".join(edge.operators),
            )
