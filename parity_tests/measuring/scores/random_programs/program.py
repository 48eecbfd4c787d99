"""A program: given vectors, operations, tables, lists of names, networks; and the same as a contract that a user could write.

Nothing here imports rigpact. A parameter is a number, a tuple of numbers, a word, or `Table(name)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.floating[Any]]
Floating = type[np.float32] | type[np.float64]
"""What a program computes in."""


@dataclass(frozen=True)
class Given:
    """A vector from outside. names: its list of names; carried: the operation whose answer of the frame before it is."""

    name: str
    width: int
    names: str = ""
    kind: str = ""
    carried: str = ""


@dataclass(frozen=True)
class Table:
    """A name of the program's tables, as a parameter."""

    name: str


@dataclass(frozen=True)
class Operation:
    """One operation. names: the list that its fields follow, empty where they have no names."""

    name: str
    kind: str
    of: tuple[str, ...]
    params: Mapping[str, Any]
    width: int
    names: str = ""


@dataclass(frozen=True)
class Layers:
    """A network of two layers: tanh between them."""

    first: Rows
    first_bias: Rows
    second: Rows
    second_bias: Rows


@dataclass(frozen=True)
class Program:
    """All of it. tables: name -> (numbers, the list of names that they follow or ""); networks: operation -> layers."""

    fps: int
    given: tuple[Given, ...]
    operations: tuple[Operation, ...]
    lists: Mapping[str, tuple[str, ...]]
    tables: Mapping[str, tuple[tuple[float, ...], str]]
    networks: Mapping[str, Layers]

    @property
    def vectors(self) -> tuple[Given | Operation, ...]:
        """Everything that has a name and a width."""
        return (*self.given, *self.operations)

    def operation(self, name: str) -> Operation:
        """The operation of a name."""
        return next(each for each in self.operations if each.name == name)

    def vector(self, name: str) -> Given | Operation:
        """The vector of a name."""
        return next(each for each in self.vectors if each.name == name)

    def with_operation(self, changed: Operation) -> Program:
        """The same with one operation replaced by its name."""
        return replace(
            self, operations=tuple(changed if each.name == changed.name else each for each in self.operations)
        )

    def fields(self, name: str) -> tuple[str, ...]:
        """The names of a vector's numbers; channel numbers where it has none."""
        vector = self.vector(name)
        return self.lists[vector.names] if vector.names else tuple(map(str, range(vector.width)))


def as_toml(program: Program) -> str:
    """The contract of a program."""
    return "\n".join(_lines(program)) + "\n"


def _lines(program: Program) -> Iterator[str]:
    yield 'format = "rigpact-contract"\nversion = 1\nname = "drawn"\ntitle = "A drawn program"'
    yield f"fps = {program.fps}\ngiven = ["
    for each in program.given:
        shape = f'names = "{each.names}"' if each.names else f"size = {each.width}"
        words = f'kind = "{each.kind}"' if each.kind else shape
        carried = f', carried = "{each.carried}", start = "zeros"' if each.carried else ""
        yield f'    {{ name = "{each.name}", {words}{carried} }},'
    yield "]\nstages = ["
    for operation in program.operations:
        yield f"    {{ {', '.join(_stage(operation))} }},"
    yield "]\n[names]"
    yield from (f"{name} = {_shown(words)}" for name, words in program.lists.items())
    for name, (numbers, names) in program.tables.items():
        yield f"[numbers.{name}]\nvalue = {_shown(numbers)}" + (f'\nnames = "{names}"' if names else "")
    for name in program.networks:
        taken = program.operation(name).of
        yield f'[networks.net_{name}]\nfile = "{name}.onnx"\ninputs = {_shown(taken)}\noutputs = ["{name}"]'


def _stage(operation: Operation) -> Iterator[str]:
    yield f'name = "{operation.name}", operation = "{operation.kind}"'
    if operation.kind == "network":
        yield f'names = "{operation.names}"' if operation.names else f"size = {operation.width}"
        return
    yield f"of = {_shown(operation.of[0] if len(operation.of) == 1 and operation.kind != 'concatenate' else operation.of)}"
    yield from (f"{key} = {_shown(value)}" for key, value in operation.params.items())


def _shown(value: Any) -> str:
    if isinstance(value, Table):
        return f'"{value.name}"'
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_shown, value))}]"
    return repr(value) if isinstance(value, int) else repr(float(value))


def write_network(layers: Layers, path: Path) -> None:
    """The layers as a model file."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    names = ("first", "first_bias", "second", "second_bias")
    weights = [numpy_helper.from_array(np.asarray(getattr(layers, name), np.float32), name) for name in names]
    nodes = [
        helper.make_node("Gemm", ["x", "first", "first_bias"], ["hidden"]),
        helper.make_node("Tanh", ["hidden"], ["bent"]),
        helper.make_node("Gemm", ["bent", "second", "second_bias"], ["y"]),
    ]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", width])
        for name, width in (("x", layers.first.shape[0]), ("y", layers.second.shape[1]))
    ]
    graph = helper.make_graph(nodes, "drawn", ends[:1], ends[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(path))
