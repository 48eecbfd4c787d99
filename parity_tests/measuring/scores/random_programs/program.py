"""A program: given vectors, operations, tables, lists of names, networks; and the same as a contract that a user could write.

Nothing here imports rigpact. A parameter is a number, a tuple of numbers, a word, or `Table(name)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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
        return {each.name: each for each in self.given} | {each.name: each for each in self.operations}

    def operation(self, name: str) -> Operation:
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


Move = Callable[[int, Rows, Rows, tuple[float, ...]], Rows]
"""(frame, rows before up to it, rows after up to the one before it, numbers) -> the row after."""


@dataclass(frozen=True)
class Edit:
    """One mistake.

    kind: a key of `MOVES`, or what an operation is replaced for; at: the operation; source: the input before which it stands,
    empty behind it; numbers: of the move; channels: () for all; frames: the first, and the step or 0 for that frame alone;
    program: the program with the operation replaced; words: what an answer has to hold besides the kind's own words; knob: the
    convention that says it, where the vocabulary has one.
    """

    kind: str
    at: str
    source: str = ""
    numbers: tuple[float, ...] = ()
    channels: tuple[int, ...] = ()
    frames: tuple[int, int] = (0, 1)
    program: Program | None = None
    words: tuple[str, ...] = ()
    knob: str = ""

    @property
    def shown(self) -> str:
        """For people."""
        where = f"before {self.at}({self.source})" if self.source else f"at {self.at}"
        parts = [self.kind, where, *(f"{number:.6g}" for number in self.numbers[:6]), *self.words]
        parts += [f"channels {', '.join(map(str, self.channels))}"] if self.channels else []
        if self.frames != (0, 1):
            parts.append(f"frame {self.frames[0]} only" if not self.frames[1] else f"from frame {self.frames[0]} on")
        return " ".join(parts)


def moved_row(edit: Edit, frame: int, x: Rows, y: Rows) -> Rows:
    """One row behind the edit, float32."""
    first, step = edit.frames
    if frame < first or (step == 0 and frame > first):
        return x[frame, :]
    moved = np.asarray(MOVES[edit.kind](frame, x, y, edit.numbers), np.float32)
    if not edit.channels:
        return moved
    row = x[frame, :].copy()
    row[list(edit.channels)] = moved[list(edit.channels)]
    return row


def _turned(frame: int, x: Rows, _y: Rows, numbers: tuple[float, ...]) -> Rows:
    """A vector, or a quaternion w, x, y, z, turned about an axis of the world; numbers: the axis and degrees."""
    axis, half = np.eye(3)[int(numbers[0])], np.radians(numbers[1]) / 2.0
    cosine, along, row = np.cos(half), np.sin(half) * axis, x[frame].astype(np.float64)
    if len(row) == 3:
        across = 2.0 * np.cross(along, row)
        return np.asarray(row + cosine * across + np.cross(along, across))
    w, v = row[0], row[1:]
    return np.concatenate(([cosine * w - along @ v], cosine * v + w * along + np.cross(along, v)))


def _towards(change: Callable[[Rows, float], Rows]) -> Move:
    return lambda t, x, y, n: x[t] if t == 0 else y[t - 1] + change(x[t].astype(np.float64) - y[t - 1], n[0])


MOVES: Mapping[str, Move] = {
    **dict.fromkeys(("exchanged", "permuted"), lambda t, x, _y, n: x[t][[int(each) for each in n]]),
    "signed_axes": lambda t, x, _y, n: x[t][[int(each) for each in n[: len(n) // 2]]] * n[len(n) // 2 :],
    "sign": lambda t, x, _y, _n: -x[t],
    "scale": lambda t, x, _y, n: x[t].astype(float) * n[0],
    "offset": lambda t, x, _y, n: x[t].astype(float) + n[0],
    "delay": lambda t, x, _y, n: x[max(t - int(n[0]), 0)],
    # n[1:]: the first frame, if it is not 0
    "hold": lambda t, x, _y, n: x[max(t - (t - int(sum(n[1:]))) % int(n[0]), 0)],
    "clip": lambda t, x, _y, n: np.clip(x[t].astype(float), n[0], n[1]),
    "tanh": lambda t, x, _y, _n: np.tanh(x[t].astype(float)),
    "smoothed": _towards(lambda way, share: np.float64(share) * way),
    "half": lambda t, x, _y, _n: x[t].astype(np.float16),
    "deadband": lambda t, x, _y, n: np.where(np.abs(x[t]) < n[0], 0.0, x[t]),
    "rate_limit": _towards(lambda way, most: np.clip(way, -most, most)),
    "stuck": lambda t, x, _y, n: np.full_like(x[t], n[0]),
    "frozen": lambda _t, x, _y, n: x[int(n[0])],
    "glitch": lambda t, x, _y, n: x[t].astype(float) * n[0] + n[1],
    "high_pass": lambda t, x, y, n: n[0] * (y[t - 1] + (x[t].astype(float) - x[t - 1])) if t else 0.0 * x[t],
    "summed": lambda t, x, y, n: n[0] * x[t].astype(float) + (y[t - 1] if t else 0.0),
    "changes": lambda t, x, _y, _n: x[t].astype(float) - x[max(t - 1, 0)],
    "averaged": lambda t, x, _y, _n: 0.5 * (x[t].astype(float) + x[max(t - 1, 0)]),
    "steps": lambda t, x, _y, n: np.trunc(x[t].astype(float) / n[0]) * n[0],
    "turned": _turned,
    "uncarried": lambda t, x, _y, _n: 0.0 * x[t],
}


def replaced_numbers(program: Program, own: Operation, key: str, numbers: tuple[float, ...]) -> Program:
    return program.with_operation(replace(own, params={**own.params, key: numbers}))
