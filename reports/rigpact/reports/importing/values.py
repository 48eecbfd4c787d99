"""A foreign file's values with their places, so that every mistake in it is one clear error; the model that lies beside it."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

from rigpact.contract.errors import UnusableInput, near, shown
from rigpact.contract.json_pointer import Token, json_pointer
from rigpact.reports.importing.draft import Entry


@dataclass(frozen=True)
class Model:
    """A model file: names and widths of its inputs and outputs in order, its metadata.

    left_out: inputs that no output needs, and outputs of constants and copies.
    """

    path: Path
    inputs: Mapping[str, int | None]
    outputs: Mapping[str, int | None]
    metadata: Mapping[str, str]
    left_out: tuple[str, ...] = ()

    @property
    def output_width(self) -> int | None:
        """The width of the first output."""
        return next(iter(self.outputs.values()), None)


def input_width(model: Model | None) -> int | None:
    """The width of a model's only input; None where there is no model, or several inputs."""
    return None if model is None or len(model.inputs) != 1 else next(iter(model.inputs.values()))


def read_model_beside(path: Path) -> Model:
    """Open a model; UnusableInput where onnxruntime does not load it, or weights lie outside its folder."""
    from rigpact.contract.model.graph import open_model
    from rigpact.contract.model.signature import open_session, session_signature

    graph = open_model(path)
    if not graph.is_contained:
        raise UnusableInput(path, "weights that are not in the model's folder", "a model with all its weights")
    session = open_session(path)
    signature = session_signature(session, path)
    outputs = {each.name: _width(each.shape) for each in signature.outputs if not graph.is_copied(each.name)}
    outputs = outputs or {each.name: _width(each.shape) for each in signature.outputs}
    needed = graph.inputs_of(outputs)
    inputs = {each.name: _width(each.shape) for each in signature.inputs if each.name in needed}
    left_out = [each.name for each in (*signature.inputs, *signature.outputs) if each.name not in {**inputs, **outputs}]
    return Model(path, inputs, outputs, dict(session.get_modelmeta().custom_metadata_map), tuple(left_out))


def _width(shape: tuple[int | str | None, ...]) -> int | None:
    """Numbers in one row: every fixed axis, without the batch; an axis alone is the batch."""
    if len(shape) == 1 and not (isinstance(shape[0], int) and shape[0] > 1):
        return 1
    sizes = [size for size in shape if isinstance(size, int)]
    return prod(sizes) if sizes and len(sizes) >= len(shape) - 1 else None


def named_file(path: Path | None, out: Path) -> Entry:
    """The key `file` of a network, where the declaration's folder holds it; else a comment that says what to do."""
    if path is None:
        return Entry({}, ("LEFT OPEN: file. Give the model with --onnx, or copy it beside this file and name it here",))
    inside = path_inside(path, out)
    if inside is None:
        return Entry({}, (f"LEFT OPEN: file. {path.name} is not in this folder: copy it here, or give it with --onnx",))
    return Entry({"file": inside})


def path_inside(path: Path, out: Path) -> str | None:
    """The path of a file from the declaration's folder; None where it lies outside."""
    folder = out.parent.resolve()
    whole = path.resolve()
    return whole.relative_to(folder).as_posix() if whole.is_relative_to(folder) else None


@dataclass(frozen=True)
class ImportRequest:
    """What to import: a file or a folder, where the contract goes, its model, a recording to map, the rate, what it builds on.

    files: those of the folder that are looked into; empty for all.
    """

    source: Path
    out: Path
    onnx: Path | None = None
    recording: Path | None = None
    fps: float | None = None
    base: Path | None = None
    files: tuple[Path, ...] = ()

    @cached_property
    def model(self) -> Model | None:
        """The model that is given beside the file."""
        return None if self.onnx is None else read_model_beside(self.onnx)

    @property
    def file(self) -> Entry:
        """What the contract says of the model's file."""
        return named_file(self.onnx, self.out)


_LONGEST_LIST, _LARGEST = 65536, sys.float_info.max


@dataclass(frozen=True)
class PlacedValue:
    """A value at its place in a file."""

    value: Any
    path: Path
    tokens: tuple[Token, ...] = ()

    @property
    def place(self) -> str:
        """The file and the pointer into it."""
        return f"{self.path}#{json_pointer(*self.tokens)}"

    def wrong(self, expected: str, hint: str = "", found: str | None = None) -> UnusableInput:
        """The error that this value gives."""
        return UnusableInput(self.place, shown(self.value) if found is None else found, expected, hint)

    @property
    def is_nothing(self) -> bool:
        """Whether the key is not there, or null."""
        return self.value is None

    def get(self, key: Token) -> PlacedValue:
        """What stands under a key; a Node of None where there is nothing."""
        inside = self.value.get(key) if isinstance(self.value, Mapping) else None
        return PlacedValue(inside, self.path, (*self.tokens, key))

    def need(self, key: Token, expected: str) -> PlacedValue:
        """What stands under a key that must be there."""
        found = self.table().get(key)
        if found.is_nothing:
            raise UnusableInput(found.place, "nothing", expected, near(key, [str(each) for each in self.value]))
        return found

    def table(self) -> PlacedValue:
        """This value, which must be a table."""
        if not isinstance(self.value, Mapping):
            raise self.wrong("a table of names and values")
        return self

    def children(self) -> Iterator[tuple[str, PlacedValue]]:
        """The entries of a table."""
        for key in self.table().value:
            if not isinstance(key, str):
                raise self.wrong("names as keys", found=f"the key {shown(key)}")
            yield key, self.get(key)

    def elements(self) -> list[PlacedValue]:
        """The elements of a list."""
        if not isinstance(self.value, list):
            raise self.wrong("a list")
        if len(self.value) > _LONGEST_LIST:
            raise self.wrong(f"at most {_LONGEST_LIST}", found=f"{len(self.value)} elements")
        return [PlacedValue(each, self.path, (*self.tokens, place)) for place, each in enumerate(self.value)]

    def only(self, entries: Sequence[tuple[str, PlacedValue]], expected: str, hint: str = "") -> PlacedValue:
        """The one entry of this table; UnusableInput where there are more, or none."""
        if len(entries) != 1:
            names = ", ".join(name for name, _ in entries) or "none"
            raise self.wrong(expected, hint, f"{self.tokens[-1]}: {names}")
        return entries[0][1]

    def word(self) -> str:
        """A text that is not empty."""
        if not isinstance(self.value, str) or not self.value:
            raise self.wrong("a name")
        return self.value

    def words(self) -> tuple[str, ...]:
        """Names, each once."""
        found = tuple(each.word() for each in self.elements())
        twice = next((name for name in found if found.count(name) > 1), None)
        if twice is not None:
            raise self.wrong("each name once", found=f"{shown(twice)} twice")
        return found

    def number(self) -> float:
        """A finite number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float) or not abs(self.value) <= _LARGEST:
            raise self.wrong("a number")
        return float(self.value)

    def whole(self, low: int = 0, *, otherwise: int | None = None) -> int:
        """A whole number of at least `low`; `otherwise` where there is nothing."""
        if self.is_nothing and otherwise is not None:
            return otherwise
        if isinstance(self.value, bool) or not isinstance(self.value, int) or not low <= self.value < 1 << 20:
            raise self.wrong(f"a whole number of at least {low}")
        return self.value

    def wholes(self, low: int = 0) -> list[int]:
        """A list of whole numbers of at least `low`."""
        return [each.whole(low) for each in self.elements()]

    def numbers(self, count: int | None = None, of: str = "") -> list[float]:
        """A list of numbers; `count` of them, one for each of what `of` says."""
        found = [each.number() for each in self.elements()]
        if count is not None and len(found) != count:
            raise self.wrong(f"{count}{of and f', one for each {of}'}", found=f"{len(found)} numbers")
        return found

    def one_or_each(self, count: int, of: str) -> float | list[float] | None:
        """One number for all, or one for each; one for all too where they are equal; None where there is nothing."""
        if self.is_nothing:
            return None
        if not isinstance(self.value, list):
            return self.number()
        found = self.numbers(count, of)
        return found[0] if found and len(set(found)) == 1 else found

    def limit(self) -> tuple[float, float] | None:
        """A number as a range around zero; None where there is nothing."""
        return None if self.is_nothing else (-self.number(), self.number())

    def rate(self, steps: int = 1) -> float:
        """Frames a second, of the seconds of a step and how many steps a frame has."""
        seconds = self.number() * steps
        if not 1e-5 <= seconds <= 10.0:
            raise self.wrong("the seconds of a step, 0.02 for 50 a second")
        return round(1.0 / seconds, 6)

    def range(self) -> tuple[float, float] | None:
        """A low and a high end; None where there is nothing."""
        if self.is_nothing:
            return None
        low, high = self.ends()
        if not low < high:
            raise self.wrong("a low end below the high end")
        return low, high

    def ends(self) -> tuple[float, float]:
        """Two numbers, which may be infinite."""
        ends = self.elements()
        if len(ends) != 2:
            raise self.wrong("a low and a high end", found=f"{len(ends)} numbers")
        low, high = (each.value if each.value in (math.inf, -math.inf) else each.number() for each in ends)
        return float(low), float(high)
