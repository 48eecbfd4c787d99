"""A system's page: a declaration, and the constants that every contract file of the system states in its own numbers.

Entry points `rigpact.systems` name pages. A contract file (`rigpact-system`) names the system and states its vectors, conventions
and constants: so it fills the page. Where it says nothing, the page holds.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from rigpact.contract.declared.constants import constant_problems
from rigpact.contract.declared.data_sets import data_problems
from rigpact.contract.declared.declaration import Declaration, read_declaration
from rigpact.contract.declared.sources import Sources
from rigpact.contract.declared.values import flat_numbers
from rigpact.contract.declared.vocabulary import operations_of_packages, operations_of_rigpact
from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.description import Description
from rigpact.contract.systems.layout import known_fields
from rigpact.contract.systems.problem import DataCheck
from rigpact.contract.systems.stage import RAW, Graph, Measure, Stage
from rigpact.contract.systems.system import Architecture, System

_UNITS_OF_ERRORS = ("m", "cm", "rad")


@dataclass(frozen=True)
class Page:
    """The text of a page, by the name of its system. folder: where the files are that its numbers come from.

    by_rigpact: it is one of rigpact's own, and names rigpact's own operations.
    """

    name: str
    text: str
    folder: Path = Path()
    by_rigpact: bool = False

    @cached_property
    def root(self) -> Mapping[str, Any]:
        """What the page says, with the constants and numbers that stand in a file beside it."""
        root, sources = tomllib.loads(self.text), Sources(self.folder)
        for section in ("constants", "numbers"):
            for name, entry in root.get(section, {}).items():
                if isinstance(entry, dict) and "file" in entry:
                    entry["value"] = sources.value(entry.pop("file"), entry.pop("at", ""), (section, name))
        return root

    @property
    def constants(self) -> dict[str, Any]:
        """The constants as published; a contract file states its own."""
        return {name: entry["value"] for name, entry in self.root.get("constants", {}).items()}

    def numbers(self, constants: Mapping[str, Any]) -> dict[str, FloatArray]:
        """Every number of the page by its path, filled by a contract file; ValueError where the page cannot be built so."""
        declaration = self._filled(constants)
        if declaration.system is None:
            raise ValueError(str(declaration.problems[0]))
        return flat_numbers(declaration.constants)

    def _filled(self, constants: Mapping[str, Any]) -> Declaration:
        """The page with these constants among its numbers and its lists of names."""
        filled = self.constants | {name: value for name, value in constants.items() if name in self.constants}
        names = {name: value for name, value in filled.items() if _is_words(value)}
        numbers = {name: {"value": value} for name, value in filled.items() if name not in names}
        root = {key: value for key, value in self.root.items() if key != "constants"}
        root["names"] = {**root.get("names", {}), **names}
        root["numbers"] = {**root.get("numbers", {}), **numbers}
        return read_declaration(root, Path(), operations_of_rigpact() if self.by_rigpact else operations_of_packages())

    def system(self) -> System:
        """The system; UnusableInput for a page with a mistake."""
        declaration, root = self._filled({}), self.root
        if declaration.system is None:
            raise UnusableInput(f"{self.name}.toml", str(declaration.problems[0]), "a page without mistakes")
        self._refuse_idle_conventions(declaration.system)
        return replace(
            declaration.system,
            stages=tuple(_on_a_page(stage, declaration.system.graph) for stage in declaration.system.stages),
            own_page=self.text,
            windowed=root.get("windowed", False),
            classes=tuple(root.get("classes", ())),
            posed=root.get("posed", ""),
            published={stage: tuple(names) for stage, names in root.get("published", {}).items()},
            architecture=_architecture(root["architecture"]) if "architecture" in root else None,
            numbers=self.numbers,
            constant_problems=lambda constants: constant_problems(root, constants),
            template=lambda: self.constants,
            data_problems=partial(data_problems, [DataCheck(**entry) for entry in root.get("data", ())]),
            description=Description(),
        )

    def _refuse_idle_conventions(self, system: System) -> None:
        """UnusableInput for a convention that says of a stage what this stage does not have."""
        for name, entry in self.root.get("conventions", {}).items():
            where, places = f"{self.name}.toml#/conventions/{name}", entry.get("at", [])
            if "at" not in entry and name not in system.knobs:
                raise UnusableInput(where, name, "a convention that stages share, or `at`")
            for place in [places] if isinstance(places, str) else places:
                if place.partition(".")[0] not in system.graph.stages_of(name):
                    raise UnusableInput(where, place, "a parameter that sides read otherwise")


def _architecture(entry: Mapping[str, Any]) -> Architecture:
    return Architecture(entry["parameters"], tuple(entry["activations"]))


def _is_words(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(each, str) for each in value)


def _on_a_page(stage: Stage, graph: Graph) -> Stage:
    """The stage of a system whose files name no networks; its error is in the unit of its numbers, where they have one."""
    units = {each.unit for each in known_fields(stage.layout)}
    in_unit = stage.measure is RAW and len(units) == 1 and units <= set(_UNITS_OF_ERRORS)
    before = [name for each in stage.needs for name in graph[each].needs or (each,)]
    model = f"--onnx with the model, and record {', '.join(dict.fromkeys(before))}" if stage.is_answer else ""
    measure = Measure(units.pop()) if in_unit else stage.measure
    return replace(stage, measure=measure, source=stage.source or model)
