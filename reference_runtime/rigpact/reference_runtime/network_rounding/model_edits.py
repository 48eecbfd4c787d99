"""A model with one edit: what goes wrong where a network is exported, or written by hand for an engine.

Another activation, a normaliser that is left out, done twice, in another order or with the inverse operation, a matrix that is
read transposed, weights that were stored as float16.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from rigpact.contract.model.program import Operation, Program

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


def edits_of(program: Program) -> Iterator[tuple[str, Program]]:
    """Every edit: `computed WORDS`, and the program."""
    yield from _other_activations(program)
    yield from _other_arithmetic(program)
    # Square matrices read the other way round: all of them, or one
    square = [
        node.inputs[1]
        for node in program.operations
        if node.op in ("Gemm", "MatMul") and not node.domain and _is_square(program.constants.get(node.inputs[1]))
    ]
    chosen = [square, *([each] for each in square if len(square) > 1)] if square else []
    for names in chosen:
        changed = {name: value.T if name in names else value for name, value in program.constants.items()}
        yield f"with the weights {', '.join(names)} transposed", replace(program, constants=changed)
    halves = {
        name: value.astype(np.float16).astype(np.float64) if value.dtype.kind == "f" else value
        for name, value in program.constants.items()
    }
    yield "with weights that were rounded to float16", replace(program, constants=halves)


def _other_activations(program: Program) -> Iterator[tuple[str, Program]]:
    """Another activation or none, everywhere or in its last place; no clamp; no last bias."""
    nodes = program.operations
    active = [place for place, node in enumerate(nodes) if not node.domain and node.op in ACTIVATIONS]
    for op in dict.fromkeys(nodes[place].op for place in active):
        places = [place for place in active if nodes[place].op == op]
        yield from _activated(program, places, op)
        if len(places) > 1 and places[-1] == active[-1]:
            yield from _activated(program, places[-1:], f"the last {op}")
    clamps = [place for place, node in enumerate(nodes) if not node.domain and node.op == "Clip"]
    if clamps:
        yield "without Clip", _with(program, clamps, "Identity", _PLAIN)
    last = nodes[-1]
    if last.op == "Gemm" and not last.domain and len(last.inputs) > 2:
        yield (
            "without the bias of the last layer",
            _with_operations(program, {len(nodes) - 1: replace(last, inputs=last.inputs[:2])}),
        )


def _activated(program: Program, places: list[int], words: str) -> Iterator[tuple[str, Program]]:
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


def _with(program: Program, places: Sequence[int], op: str, attributes: Mapping[str, Any]) -> Program:
    """Another operation of the first input in these places."""
    return _with_operations(
        program,
        {
            place: replace(node, op=op, inputs=node.inputs[:1], attributes=attributes)
            for place, node in enumerate(program.operations)
            if place in places
        },
    )


def _with_operations(program: Program, changed: Mapping[int, Operation]) -> Program:
    operations = tuple(changed.get(place, node) for place, node in enumerate(program.operations))
    return replace(program, operations=operations)


@dataclass(frozen=True)
class _Arithmetic:
    """An addition to, or a product with, a constant of the model. data: the other input."""

    place: int
    node: Operation
    constant: str
    data: str

    @property
    def words(self) -> str:
        """`std_in` and what is done with it."""
        return _WORDS[self.node.op].format(self.constant)

    def of(self, data: str, output: str) -> Operation:
        """The same operation of another value."""
        inputs = tuple(data if name == self.data else name for name in self.node.inputs)
        return replace(self.node, inputs=inputs, outputs=(output,))


def _arithmetic(program: Program) -> Iterator[_Arithmetic]:
    for place, node in enumerate(program.operations):
        constants = [name for name in node.inputs if name in program.constants]
        data = [name for name in node.inputs if name not in program.constants]
        if node.op in _INVERSES and not node.domain and len(constants) == len(data) == 1:
            yield _Arithmetic(place, node, constants[0], data[0])


def _other_arithmetic(program: Program) -> Iterator[tuple[str, Program]]:
    """Normalisers: the inverse operation, none, two neighbours in the other order, a whole run left out or done twice."""
    found = list(_arithmetic(program))
    for each in found:
        inverse = {each.place: replace(each.node, op=_INVERSES[each.node.op])}
        other, own = _WORDS[_INVERSES[each.node.op]].format(each.constant), _WORDS[each.node.op].format("it")
        yield f"with {other} in place of {own}", _with_operations(program, inverse)
        yield f"without {each.words}", _without(program, [each])
    runs: list[list[_Arithmetic]] = []
    for each in found:
        if runs and runs[-1][-1].node.outputs[0] == each.data:
            runs[-1].append(each)
        else:
            runs.append([each])
    for run in runs:
        for one, following in pairwise(run):
            changed = {
                one.place: following.of(one.data, one.node.outputs[0]),
                following.place: one.of(one.node.outputs[0], following.node.outputs[0]),
            }
            yield f"with {following.words} before {one.words}", _with_operations(program, changed)
        words = " and ".join(each.words for each in run)
        if len(run) > 1:
            yield f"without {words}", _without(program, run)
        yield f"with {words}, twice", _twice(program, run)


def _without(program: Program, run: Sequence[_Arithmetic]) -> Program:
    same = {each.place: replace(each.node, op="Identity", inputs=(each.data,), attributes=_PLAIN) for each in run}
    return _with_operations(program, same)


def _twice(program: Program, run: Sequence[_Arithmetic]) -> Program:
    """The run once more before itself."""
    before, data = list[Operation](), run[0].data
    for each in run:
        before.append(each.of(data, f"{each.node.outputs[0]} before"))
        data = before[-1].outputs[0]
    first, nodes = run[0].place, program.operations
    again = run[0].of(data, run[0].node.outputs[0])
    return replace(program, operations=(*nodes[:first], *before, again, *nodes[first + 1 :]))


def _is_square(value: Any) -> bool:
    return value is not None and value.ndim == 2 and value.shape[0] == value.shape[1]
