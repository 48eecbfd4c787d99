"""A model with one edit: what goes wrong where a network is exported, or written by hand for an engine."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from rigpact.contract.model.graph import ModelGraph, Node

_ORDINALS = {1: "first", 2: "2nd", 3: "3rd"}
_PLAIN: Mapping[str, Any] = {}
ACTIVATIONS: Mapping[str, Mapping[str, Any]] = {
    "Relu": _PLAIN, "LeakyRelu": {"alpha": 0.01}, "Elu": {"alpha": 1.0}, "Tanh": _PLAIN, "Sigmoid": _PLAIN, "Softplus": _PLAIN,
    "Gelu": _PLAIN, "Selu": _PLAIN,
}  # fmt: skip
"""Operations and the attributes that ONNX assumes where none are written."""
SLOPES = (0.01, 0.1, 0.2, 0.3)
"""Slopes of LeakyRelu: the defaults of PyTorch and ONNX, of Darknet, of TensorFlow, of Keras."""
_INVERSES = {"Add": "Sub", "Sub": "Add", "Mul": "Div", "Div": "Mul"}
_WORDS = {
    "Add": "the addition of {}", "Sub": "the subtraction of {}", "Mul": "the multiplication by {}", "Div": "the division by {}",
}  # fmt: skip
Edits = Iterator[tuple[str, Mapping[int, list[Node]]]]
"""Each edit in words, and what stands in place of which node."""


def edits_of(graph: ModelGraph) -> Iterator[tuple[str, ModelGraph]]:
    """Every edit of a computable model: `computed WORDS`, and the model."""
    for words, changed in (*_of_activations(graph.nodes), *_of_arithmetic(graph)):
        nodes = (each for place, node in enumerate(graph.nodes) for each in changed.get(place, [node]))
        yield words, replace(graph, nodes=tuple(nodes))
    products = (node.inputs[1] for node in graph.nodes if node.op in ("Gemm", "MatMul") and not node.domain)
    square = [name for name in products if _is_square(graph.constants.get(name))]
    for names in [square, *([each] for each in square if len(square) > 1)] if square else []:
        turned = {name: value.T if name in names else value for name, value in graph.constants.items()}
        yield f"with the weights {', '.join(names)} transposed", replace(graph, constants=turned)
    for words, fewest in (("weights", 0), ("weights, but no biases,", 2)):
        halves = {
            name: value.astype(np.float16).astype(np.float64)
            if value.dtype.kind == "f" and value.ndim >= fewest
            else value
            for name, value in graph.constants.items()
        }
        yield f"with {words} that were rounded to float16", replace(graph, constants=halves)


def _is_square(value: Any) -> bool:
    return value is not None and value.ndim == 2 and value.shape[0] == value.shape[1]


def _of_activations(nodes: Sequence[Node]) -> Edits:
    """Another activation or none, everywhere or in its last place; no clamp; no bias of a layer."""

    def become(places: Sequence[int], op: str, attributes: Mapping[str, Any] = _PLAIN) -> Mapping[int, list[Node]]:
        first = {place: nodes[place].inputs[:1] for place in places}
        return {place: [replace(nodes[place], op=op, inputs=first[place], attributes=attributes)] for place in places}

    active = [place for place, node in enumerate(nodes) if not node.domain and node.op in ACTIVATIONS]
    for op in dict.fromkeys(nodes[place].op for place in active):
        every = [place for place in active if nodes[place].op == op]
        is_last = len(every) > 1 and every[-1] == active[-1]
        for places, words in ((every, op), *([(every[-1:], f"the last {op}")] if is_last else [])):
            for said, other, attributes in _in_place_of(nodes[places[0]], words):
                yield said, become(places, other, attributes)
            yield f"without {words}", become(places, "Identity")
    if clamps := [place for place, node in enumerate(nodes) if not node.domain and node.op == "Clip"]:
        yield "without Clip", become(clamps, "Identity")
    layers = [place for place, node in enumerate(nodes) if not node.domain and node.op == "Gemm"]
    for number, place in enumerate(layers, 1):
        if len(nodes[place].inputs) > 2:
            which = "last" if number == len(layers) else _ORDINALS.get(number, f"{number}th")
            without = {place: [replace(nodes[place], inputs=nodes[place].inputs[:2])]}
            yield f"without the bias of the {which} layer", without


def _in_place_of(node: Node, words: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Other activations: in words, the operation, its attributes."""
    for other, attributes in ACTIVATIONS.items():
        if other != node.op:
            yield f"with {other} in place of {words}", other, attributes
    if node.op != "LeakyRelu":
        for slope in SLOPES[1:]:
            yield f"with LeakyRelu of a slope of {slope:g} in place of {words}", "LeakyRelu", {"alpha": slope}
        return
    own = float(node.attributes.get("alpha", 0.01))
    for slope in SLOPES:
        if abs(slope - own) > 1e-6:  # a slope is stored as float32
            yield f"with a slope of {slope:g} in place of {own:g} in LeakyRelu", "LeakyRelu", {"alpha": slope}


@dataclass(frozen=True)
class _Arithmetic:
    """An addition to, or a product with, a constant of the model. data: the other input."""

    place: int
    node: Node
    constant: str
    data: str

    @property
    def words(self) -> str:
        """`std_in` and what is done with it."""
        return _WORDS[self.node.op].format(self.constant)

    def of(self, data: str, output: str) -> Node:
        """The same operation of another value."""
        inputs = tuple(data if name == self.data else name for name in self.node.inputs)
        return replace(self.node, inputs=inputs, outputs=(output,))


def _of_arithmetic(graph: ModelGraph) -> Edits:
    """Normalisers: the inverse operation, none, two neighbours in the other order, a whole run left out or done twice."""

    def without(run: Sequence[_Arithmetic]) -> Mapping[int, list[Node]]:
        return {each.place: [replace(each.node, op="Identity", inputs=(each.data,), attributes=_PLAIN)] for each in run}

    runs: list[list[_Arithmetic]] = []
    for place, node in enumerate(graph.nodes):
        constants = [name for name in node.inputs if name in graph.constants]
        data = [name for name in node.inputs if name not in graph.constants]
        if node.op not in _INVERSES or node.domain or not len(constants) == len(data) == 1:
            continue
        each, inverse = _Arithmetic(place, node, constants[0], data[0]), _INVERSES[node.op]
        own, other = _WORDS[node.op].format("it"), _WORDS[inverse].format(each.constant)
        yield f"with {other} in place of {own}", {place: [replace(node, op=inverse)]}
        yield f"without {each.words}", without([each])
        if runs and runs[-1][-1].node.outputs[0] == each.data:
            runs[-1].append(each)
        else:
            runs.append([each])
    for run in runs:
        for one, following in pairwise(run):
            between, end = one.node.outputs[0], following.node.outputs[0]
            changed = {one.place: [following.of(one.data, between)], following.place: [one.of(between, end)]}
            yield f"with {following.words} before {one.words}", changed
        words = " and ".join(each.words for each in run)
        if len(run) > 1:
            yield f"without {words}", without(run)
        names = [run[0].data, *(f"{each.node.outputs[0]} before" for each in run)]
        before = [each.of(data, output) for each, (data, output) in zip(run, pairwise(names), strict=True)]
        yield f"with {words}, twice", {run[0].place: [*before, run[0].of(names[-1], run[0].node.outputs[0])]}
