"""A program: given vectors, operations, tables, lists of names, networks; and the same as a contract that a user could write.

Nothing here imports rigpact. A parameter is a number, a tuple of numbers, a word, or `Table(name)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....models import floats, saved

Rows = NDArray[np.floating[Any]]
Floating = type[np.float32] | type[np.float64]


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
    def vectors(self) -> dict[str, Given | Operation]:
        """Everything that has a name and a width."""
        return {each.name: each for each in self.given} | {each.name: each for each in self.operations}

    def operation(self, name: str) -> Operation:
        """The operation of a name."""
        return next(each for each in self.operations if each.name == name)

    def with_operation(self, changed: Operation) -> Program:
        """The same with one operation replaced by its name."""
        return replace(
            self, operations=tuple(changed if each.name == changed.name else each for each in self.operations)
        )

    def fields(self, name: str) -> tuple[str, ...]:
        """The names of a vector's numbers; channel numbers where it has none."""
        vector = self.vectors[name]
        return self.lists[vector.names] if vector.names else tuple(map(str, range(vector.width)))

    def numbers(self, own: Operation, value: Any) -> tuple[float, ...]:
        """A parameter's numbers; a table with names in the order of the operation's fields."""
        if not isinstance(value, Table):
            return tuple(np.atleast_1d(np.asarray(value, float)).tolist())
        numbers, names = self.tables[value.name]
        if not names or not own.names or names == own.names:
            return numbers
        return tuple(numbers[self.lists[names].index(each)] for each in self.lists[own.names])


def as_toml(program: Program) -> str:
    """The contract of a program."""
    return "\n".join(_lines(program)) + "\n"


def _lines(program: Program) -> Iterator[str]:
    yield 'format = "rigpact-contract"\nversion = 1\nname = "drawn"\ntitle = "A drawn program"'
    yield f"fps = {program.fps}\ngiven = ["
    for each in program.given:
        words = (
            f'kind = "{each.kind}"'
            if each.kind
            else f'names = "{each.names}"'
            if each.names
            else f"size = {each.width}"
        )
        carried = f', carried = "{each.carried}", start = "zeros"' if each.carried else ""
        yield f'    {{ name = "{each.name}", {words}{carried} }},'
    yield "]\nstages = ["
    for own in program.operations:
        of = _shown(own.of[0] if len(own.of) == 1 and own.kind != "concatenate" else own.of)
        said = {"of": of} | {key: _shown(value) for key, value in own.params.items()}
        if own.kind == "network":
            said = {"names": f'"{own.names}"'} if own.names else {"size": str(own.width)}
        words = "".join(f", {key} = {value}" for key, value in said.items())
        yield f'    {{ name = "{own.name}", operation = "{own.kind}"{words} }},'
    yield "]\n[names]"
    yield from (f"{name} = {_shown(words)}" for name, words in program.lists.items())
    for name, (numbers, names) in program.tables.items():
        yield f"[numbers.{name}]\nvalue = {_shown(numbers)}" + (f'\nnames = "{names}"' if names else "")
    for name in program.networks:
        of = _shown(program.operation(name).of)
        yield f'[networks.net_{name}]\nfile = "{name}.onnx"\ninputs = {of}\noutputs = ["{name}"]'


def _shown(value: Any) -> str:
    if isinstance(value, Table | str):
        return f'"{value.name if isinstance(value, Table) else value}"'
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_shown, value))}]"
    return repr(value if isinstance(value, int) else float(value))


def write_network(layers: Layers, path: Path) -> None:
    """The layers as a model file."""
    weights: dict[str, Any] = {each.name: np.float32(getattr(layers, each.name)) for each in fields(layers)}
    ends = floats("x", layers.first.shape[0]), floats("y", layers.second.shape[1])
    body = "h = Gemm(x, first, first_bias) bent = Tanh(h) y = Gemm(bent, second, second_bias)"
    saved(path, f"({ends[0]}) => ({ends[1]}) {{ {body} }}", opset=17, **weights)
