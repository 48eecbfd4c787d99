"""The same model with another activation: what an engine evaluates that writes a network's layers by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from rigpact.contract.model.program import Operation, Program

_PLAIN: Mapping[str, Any] = {}
ACTIVATIONS: Mapping[str, Mapping[str, Any]] = {
    "Relu": _PLAIN, "LeakyRelu": {"alpha": 0.01}, "Elu": {"alpha": 1.0}, "Tanh": _PLAIN, "Sigmoid": _PLAIN, "Softplus": _PLAIN,
    "Gelu": _PLAIN, "Selu": _PLAIN,
}  # fmt: skip
"""Operations and the attributes that ONNX assumes where none are written."""
SLOPES = (0.01, 0.1, 0.2, 0.3)
"""Slopes of LeakyRelu: the defaults of PyTorch and ONNX, of Darknet, of TensorFlow, of Keras."""


def variants_of(program: Program) -> Iterator[tuple[str, Program]]:
    """The program with another activation or none, everywhere or in its last place, or without its last bias; in words, too."""
    active = [place for place, node in enumerate(program.operations) if not node.domain and node.op in ACTIVATIONS]
    for op in dict.fromkeys(program.operations[place].op for place in active):
        places = [place for place in active if program.operations[place].op == op]
        yield from _changed(program, places, op)
        if len(places) > 1 and places[-1] == active[-1]:
            yield from _changed(program, places[-1:], f"the last {op}")
    last = program.operations[-1]
    if last.op == "Gemm" and not last.domain and len(last.inputs) > 2:
        bare = replace(last, inputs=last.inputs[:2])
        yield "without the bias of the last layer", replace(program, operations=(*program.operations[:-1], bare))


def _changed(program: Program, places: list[int], words: str) -> Iterator[tuple[str, Program]]:
    first = program.operations[places[0]]
    for other, attributes in ACTIVATIONS.items():
        if other != first.op:
            yield f"with {other} in place of {words}", _with(program, places, other, attributes)
    if first.op != "LeakyRelu":
        for slope in SLOPES[1:]:
            said = f"with LeakyRelu of a slope of {slope:g} in place of {words}"
            yield said, _with(program, places, "LeakyRelu", {"alpha": slope})
    if first.op == "LeakyRelu":
        own = float(first.attributes.get("alpha", 0.01))
        for slope in SLOPES:
            if abs(slope - own) > 1e-6:  # a slope is stored as float32
                said = f"with a slope of {slope:g} in place of {own:g} in LeakyRelu"
                yield said, _with(program, places, "LeakyRelu", {"alpha": slope})
    yield f"without {words}", _with(program, places, "Identity", _PLAIN)


def _with(program: Program, places: list[int], op: str, attributes: Mapping[str, Any]) -> Program:
    def changed(place: int, node: Operation) -> Operation:
        if place not in places:
            return node
        return replace(node, op=op, inputs=node.inputs[:1], attributes=attributes)

    operations = tuple(changed(place, node) for place, node in enumerate(program.operations))
    return replace(program, operations=operations)
