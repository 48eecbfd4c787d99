"""A system: the declarations of its page, once for every contract of it, and what it adds to the description of a contract.

A `System` is declared once, where its stages are (see `rigpact.reference_runtime.systems`), and found through the entry points
`rigpact.systems`. An exported contract file of one is a `rigpact-system`, version 1. `rigpact show` builds the tables that every
system has from its stages; a `Description` has those that only one kind of contract file can fill. Nothing here judges a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from rigpact.contract.conventions import Conventions, Knob
from rigpact.contract.systems.layout import FieldLayout
from rigpact.contract.systems.stage import Graph, Problem, Stage

Row = tuple[str, ...]
_SHOWN_CHARACTERS = 120


@dataclass(frozen=True)
class Section:
    """One table with its title and the sentences that stand before it."""

    title: str
    lines: tuple[str, ...] = ()
    columns: Row = ()
    rows: tuple[Row, ...] = ()


def constants_section(contract: Any, _model: Any) -> Iterator[Section]:
    """Yield the table of the constants that a system's contract file declares."""
    rows = tuple((name, *_glance(value)) for name, value in contract.constants.items())
    yield Section("Constants", () if rows else ("The file declares none.",), ("name", "holds", "value"), rows)


@dataclass(frozen=True, eq=False)
class Description:
    """Functions that describe what only this system's contract has.

    facts: contract, JSON root of its file -> rows (name, value) of the first table. declared: JSON root -> each knob that the
    file declares, with its place. sections: contract, model or None -> tables of the system's own numbers.
    """

    facts: Callable[[Any, Mapping[str, Any]], Sequence[Row]] = field(default=lambda _contract, _root: ())
    declared: Callable[[Mapping[str, Any]], Mapping[str, str]] = field(
        default=lambda root: {knob: f"conventions.{knob}" for knob in root.get("conventions", {})}
    )
    sections: Callable[[Any, Any], Iterator[Section]] = constants_section


def _glance(value: Any) -> Row:
    """What a constant holds, and its value or its range."""
    if not isinstance(value, list | tuple):
        return ("" if not isinstance(value, Mapping) else f"{len(value)} entries"), _short(value)
    try:
        shape = " × ".join(map(str, np.shape(value)))
    except ValueError:  # rows of several lengths
        shape = str(len(value))
    numbers, text = list(_numbers(value)), str(value)
    if len(numbers) <= 1 or len(text) <= _SHOWN_CHARACTERS:
        return shape if value else "empty", _short(value) if len(numbers) <= 1 else text
    return shape, f"{min(numbers):.7g} … {max(numbers):.7g}"


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, list | tuple):
        for each in value:
            yield from _numbers(each)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def _short(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


FORMAT, VERSION = "rigpact-system", 1


def _no_problems(*_anything: Any) -> Iterator[Problem]:
    yield from ()


@dataclass(frozen=True)
class NetworkBinding:
    """A network of a system: the stages that it takes and gives, in the order of their binding.

    path: its file, if the contract names one. input_names, output_names: the model's own, where they are
    bound by name.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    path: Path | None = None
    input_names: tuple[str, ...] = ()
    output_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Architecture:
    """What the published network of a system is made of: its number of parameters, and the functions between its layers.

    A contract whose network is another one says so under `parameters` and `activations` of its constants.
    """

    parameters: int
    activations: tuple[str, ...]

    def declared(self, constants: Mapping[str, Any]) -> Architecture:
        """The architecture that a contract declares; a constant that says none is not listened to."""
        parameters: Any = constants.get("parameters")
        activations: Any = constants.get("activations")
        is_number = isinstance(parameters, int) and not isinstance(parameters, bool)
        is_list = isinstance(activations, list) and all(isinstance(each, str) for each in activations)
        return Architecture(
            parameters if is_number else self.parameters, tuple(activations) if is_list else self.activations
        )


@dataclass(frozen=True, eq=False)
class System:
    """A system as rigpact knows it.

    name: as in files and on the command line; title: for people.
    stages: in the order of the loop. inputs, outputs: which of them the model takes and gives, in the order of their binding.
    networks: the same of each network by name, where a contract names them. recordings: under which name, or list of names,
    recordings of other formats hold a stage, where it is not the stage's own. published: under which names the files of the
    project that the system comes from hold a stage; the first that is there counts. template: the constants that it publishes.
    architecture: its published network, where every model of this system is that one.
    windowed: rows are samples of a window that is evaluated as a whole, not frames that stand alone.
    numbers: constants of a contract file -> the system's own numbers; constant_problems, data_problems: what is wrong with them
    and with a recording (contract, stages by name). files: the artefacts of this system, where it has some of its own.
    benign_knobs: choices that belong to no stage and are never a defect.
    classes: vectors of one number for each class: how many there are and what they are called stands in the contract.
    own_page: the text of its page, where it is one. left_open: the conventions that its declaration does not say.
    posed: the stage whose rotations move a skeleton, if any. description: what `rigpact show` adds about its contracts.
    """

    name: str
    title: str
    stages: tuple[Stage, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    fps: float | None = None
    windowed: bool = False
    numbers: Callable[[Mapping[str, Any]], Any] = field(default=lambda constants: constants)
    constant_problems: Callable[[Mapping[str, Any]], Iterator[Problem]] = _no_problems
    data_problems: Callable[[Any, Mapping[str, Any]], Iterator[Problem]] = _no_problems
    files: Any = None
    benign_knobs: tuple[Knob, ...] = ()
    classes: tuple[str, ...] = ()
    posed: str = ""
    description: Description = field(default_factory=Description)
    networks: Mapping[str, NetworkBinding] = field(default_factory=dict)
    recordings: Mapping[str, Any] = field(default_factory=dict)
    published: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    template: Callable[[], Mapping[str, Any]] = dict
    architecture: Architecture | None = None
    own_page: str = ""
    left_open: tuple[str, ...] = ()

    @cached_property
    def graph(self) -> Graph:
        """The stages, to be looked up."""
        return Graph(self.stages)

    @cached_property
    def network_inputs(self) -> tuple[str, ...]:
        """The stages that its networks take, in the order of the loop's networks, each once."""
        every = (self.inputs, *(each.inputs for each in self.networks.values()))
        return tuple(dict.fromkeys(name for inputs in every for name in inputs))

    @property
    def binding(self) -> NetworkBinding:
        """How its network is bound; by position where no network of its stages is declared."""
        own = (each for each in self.networks.values() if each.inputs == self.inputs)
        return next(own, NetworkBinding("", self.inputs, self.outputs))

    @cached_property
    def knobs(self) -> Mapping[str, Knob]:
        """Every knob, in the order of the loop."""
        return self.graph.knobs() | {knob.name: knob for knob in self.benign_knobs}

    @cached_property
    def vectors(self) -> Mapping[str, FieldLayout]:
        """The layouts that do not depend on a contract, by stage."""
        return {stage.name: stage.layout for stage in self.stages if isinstance(stage.layout, FieldLayout)}

    def expected_fields(self, vector: str, declared: FieldLayout) -> FieldLayout:
        """What a contract that declares these fields must mean by a vector: classes are its own, all else is the system's."""
        own = self.vectors[vector]
        if vector not in self.classes or not declared.fields:
            return own
        named = (replace(own.fields[0], name=each.name, start=place) for place, each in enumerate(declared))
        return FieldLayout(tuple(named))

    def with_classes(self, declared: Mapping[str, FieldLayout]) -> Self:
        """The system with the classes of a contract."""
        own = {
            name: declared[name]
            for name in self.classes
            if declared.get(name, self.vectors[name]) != self.vectors[name]
        }
        if not own:
            return self
        return replace(
            self, stages=tuple(replace(each, layout=own.get(each.name, each.layout)) for each in self.stages)
        )

    def problems_of(self, constants: Mapping[str, Any]) -> Iterator[Problem]:
        """What is wrong with a contract file's constants; one that the system cannot read at all is a problem too."""
        found = list(self.constant_problems(constants))
        if found:
            yield from found
            return  # what is wrong in itself is not computed with
        try:
            self.numbers(constants)
        except (LookupError, TypeError, ValueError) as error:
            what = f"no {error}" if isinstance(error, KeyError) else f"{type(error).__name__}: {error}"
            yield Problem("", what, f"the numbers of {self.title}", "nothing can be computed without them")

    def conventions(self, changes: Mapping[str, Any] | None = None) -> Conventions:
        """The system's own conventions, some changed; UnusableInput for an unknown knob or value."""
        return Conventions(self.knobs, changes)
