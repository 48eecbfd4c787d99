"""From a declaration to a system: vectors from outside, stages of operations, networks, numbers.

Every mistake is found in one pass: a stage that cannot be built is left out, and what reads it is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.conventions import CodeHint, Knob
from rigpact.contract.declared.fields import declared_fields
from rigpact.contract.declared.operation import Built, Input, NamedNumbers, Operation, Use, to_numbers
from rigpact.contract.declared.problems import Misdeclared, NotBuilt, Wrong, unknown
from rigpact.contract.declared.profiles import Profile, known_profiles
from rigpact.contract.declared.sources import Sources
from rigpact.contract.declared.vocabulary import HOW_TO_BRING, code_of, known_operations
from rigpact.contract.declared.whole_file import (
    declared_names,
    declared_tables,
    parts_that_do_not_meet,
    words_that_name_nothing,
)
from rigpact.contract.json_pointer import Token
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.description import Description
from rigpact.contract.systems.layout import FieldLayout
from rigpact.contract.systems.stage import Stage
from rigpact.contract.systems.system import NetworkBinding, System

FORMAT = "rigpact-contract"
_OF_EVERY_STAGE = frozenset(
    ("name", "operation", "of", "fields", "names", "parts", "size", "kind", "unit", "space", "low", "high", "knobs")
) | {"left_open", "why"}


@dataclass(frozen=True)
class LeftOpen:
    """A convention that the declaration does not say: its place, its knob, the values that it may have."""

    pointer: str
    knob: str
    values: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Declaration:
    """What a declaration says. system is None where mistakes keep it from being used.

    read: the bytes of the files that the numbers come from, by name. code: those of modules that bring its operations.
    """

    system: System | None
    constants: Mapping[str, Any]
    problems: tuple[Misdeclared, ...]
    left_open: tuple[LeftOpen, ...]
    read: Mapping[str, bytes]
    code: Mapping[str, bytes] = field(default_factory=dict)


def read_declaration(root: Mapping[str, Any], folder: Path) -> Declaration:
    """Read the root of a declaration that follows the schema; `folder` holds its files."""
    return _Reader(root, Sources(folder)).declaration()


def flat_numbers(constants: Mapping[str, Any]) -> dict[str, FloatArray]:
    """Every number of a declared contract by its path, `joint_pos.scale`, in its own shape."""
    flat: dict[str, FloatArray] = {}
    for owner, entries in constants.items():
        flat |= {f"{owner}.{key}": np.array(value, np.float64) for key, value in entries.items()}
    return flat


@dataclass(eq=False)
class _Reader:
    root: Mapping[str, Any]
    sources: Sources
    problems: list[Misdeclared] = field(default_factory=list)
    numbers: dict[str, NamedNumbers] = field(default_factory=dict)
    stages: dict[str, Stage] = field(default_factory=dict)
    networks: dict[str, NetworkBinding] = field(default_factory=dict)
    constants: dict[str, dict[str, Any]] = field(default_factory=dict)
    left_open: list[LeftOpen] = field(default_factory=list)
    code: dict[str, bytes] = field(default_factory=dict)

    def declaration(self) -> Declaration:
        """Read everything, in the order in which one thing needs another."""
        self.problems += words_that_name_nothing(self.root)
        for name, entry in self.root.get("numbers", {}).items():
            with self._noting():
                self._add_numbers(name, entry)
        for name, table in self.root.get("networks", {}).items():
            with self._noting():
                self._add_network(name, table)
        for place, table in declared_tables(self.root):
            with self._noting():
                (self._add_given if place[0] == "given" else self._add_stage)(table, place)
        self.problems += parts_that_do_not_meet(self.root, self.stages, self.networks)
        system = None if self.problems else self._system()
        problems, left_open = tuple(self.problems), tuple(self.left_open)
        return Declaration(system, self.constants, problems, left_open, self.sources.read, self.code)

    @contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except Misdeclared as problem:
            self.problems.append(problem)
        except NotBuilt:
            pass  # its own mistake was noted already

    def _system(self) -> System:
        single = next(iter(self.networks.values())) if len(self.networks) == 1 else None
        fps = self.root.get("fps")
        return System(
            name=self.root["name"],
            title=self.root.get("title", self.root["name"]),
            page="",
            stages=tuple(self.stages.values()),
            inputs=single.inputs if single else (),
            outputs=single.outputs if single else (),
            fps=None if fps is None else float(fps),
            numbers=flat_numbers,
            networks=self.networks,
            recordings=self.root.get("recordings", {}),
            description=Description(facts=_facts, declared=lambda _root: self._sources_of_knobs()),
        )

    def _sources_of_knobs(self) -> dict[str, str]:
        """Who says what each convention is: the contract, unless it is left open."""
        assumed = {each.knob for each in self.left_open}
        names = [knob.name for stage in self.stages.values() for knob in stage.every_knob]
        return {name: "left open: assumed" if name in assumed else "the contract" for name in names}

    @property
    def _profile(self) -> Profile | None:
        return known_profiles().get(self.root.get("profile", ""))

    @property
    def _names(self) -> dict[str, tuple[str, ...]]:
        return {name: tuple(words) for name, words in self.root.get("names", {}).items()}

    def _add_numbers(self, name: str, entry: Any) -> None:
        place: tuple[Token, ...] = ("numbers", name)
        names: tuple[str, ...] = ()
        if isinstance(entry, Mapping):
            value = (
                self.sources.value(entry.get("file"), entry.get("at"), place) if "file" in entry else entry.get("value")
            )
            if "names" in entry:
                names = self._name_list(entry["names"], (*place, "names"))
        else:
            value = entry
        array = to_numbers(value, place)
        if names and array.size != len(names):
            raise Misdeclared(Wrong.WIDTH, place, f"{array.size} numbers", f"{len(names)}, one for each of its names")
        self.numbers[name] = NamedNumbers(self._keep("numbers", name, array), array, names)

    def _name_list(self, value: Any, place: tuple[Token, ...]) -> tuple[str, ...]:
        if isinstance(value, str):
            if value not in self._names:
                raise unknown(place, value, self._names, "a name of [names]")
            return self._names[value]
        return tuple(value)

    def _keep(self, owner: str, key: str, array: FloatArray) -> str:
        self.constants.setdefault(owner, {})[key] = array.tolist()
        return f"{owner}.{key}"

    def _add_network(self, name: str, table: Mapping[str, Any]) -> None:
        place: tuple[Token, ...] = ("networks", name)
        path = self.sources.find(table["file"], (*place, "file")) if "file" in table else None
        (inputs, input_names), (outputs, output_names) = (_bound(table[key]) for key in ("inputs", "outputs"))
        self.networks[name] = NetworkBinding(name, inputs, outputs, path, input_names, output_names)

    def _add_given(self, table: Mapping[str, Any], place: tuple[Token, ...]) -> None:
        layout = declared_fields(table, place, self._names)
        if layout is None:
            raise Misdeclared(Wrong.MISSING, place, f"{table['name']} without fields", "fields, names or size")
        name, carried = table["name"], table.get("carried")
        start = self._start(table, layout, place) if carried else None
        knob = None
        if "wrong" in table:
            effects = {source: source for source in (carried, *table["wrong"])}
            hints = {
                source: CodeHint(f"{name} = {source}; // kept for the next frame", f"{name} = {source}.clone()")
                for source in effects
            }
            meaning = f"the stage of the frame before that {name} is taken over from"
            knob = Knob(f"{name}.carried", effects, meaning, hints)
        self.stages[name] = Stage(
            name, layout, carried=carried, reach=(1, 0) if carried else (0, 0), start=start, source_knob=knob
        )

    def _start(self, table: Mapping[str, Any], layout: FieldLayout, place: tuple[Token, ...]) -> Any:
        value = table.get("start")
        if value is None:
            return None
        if value == "zeros":
            return partial(_row, None, layout.width)
        use = self._use({**table, "operation": ""}, place, (), None)
        path = use.number("start", layout.width).path
        self._take_over(use)
        return partial(_row, path, layout.width)

    def _add_stage(self, table: Mapping[str, Any], place: tuple[Token, ...]) -> None:
        operation = known_operations().get(table["operation"])
        if operation is None:
            raise _no_operation((*place, "operation"), table["operation"])
        if code := code_of(operation.name):
            self.code[f"operation {operation.name}"] = code
        self._refuse_unknown_keys(table, place, operation)
        inputs = tuple(self._input(name, (*place, "of")) for name in _as_list(table.get("of", [])))
        fewest, most = operation.inputs
        if not fewest <= len(inputs) <= most:
            wanted = str(fewest) if fewest == most else f"{fewest} to {most}" if most < 1 << 10 else f"{fewest} or more"
            raise Misdeclared(Wrong.MISSING, (*place, "of"), f"{len(inputs)} stages", f"{wanted} for {operation.name}")
        declared = declared_fields(table, place, self._names)
        use = replace(self._use(table, place, inputs, declared), code=operation.code)
        built = operation.build(use)
        self._take_over(use)
        self.stages[table["name"]] = _stage(use, built, declared)

    def _refuse_unknown_keys(self, table: Mapping[str, Any], place: tuple[Token, ...], operation: Operation) -> None:
        known = [*operation.parameters, *sorted(_OF_EVERY_STAGE)]
        for key in table:
            if key not in known:
                raise unknown((*place, key), key, known, f"a parameter of {operation.name}")
        for index, key in enumerate(table.get("left_open", ())):
            if key not in operation.choices:
                raise unknown((*place, "left_open", index), key, operation.choices, f"a convention of {operation.name}")

    def _use(
        self,
        table: Mapping[str, Any],
        place: tuple[Token, ...],
        inputs: tuple[Input, ...],
        declared: FieldLayout | None,
    ) -> Use:
        name = table["name"]
        network = next((each for each in self.networks.values() if name in each.outputs), None)
        not_read = self.root.get("numbers", {}).keys() - self.numbers.keys()
        return Use(
            name,
            place,
            table,
            inputs,
            self._names,
            self.numbers,
            self.root.get("fps"),
            declared,
            network,
            self._profile,
            not_read,
        )

    def _take_over(self, use: Use) -> None:
        for path, value in use.constants.items():
            owner, key = path.split(".", 1)
            self._keep(owner, key, value)
        for knob, key in use.left_open:
            self.left_open.append(LeftOpen("/" + "/".join(map(str, use.at(key))), knob.name, knob.values))

    def _input(self, name: Any, place: tuple[Token, ...]) -> Input:
        if name in self.stages:
            return Input(name, self.stages[name].fields(None))  # a declaration's fields depend on nothing
        declared = declared_names(self.root)
        if name not in declared:
            raise unknown(place, name, declared, "a vector of [[given]] or an earlier stage")
        own = place[:2]
        if declared.index(name) >= _position(own, self.root):
            raise Misdeclared(
                Wrong.OUT_OF_ORDER, place, f"{name}, which is computed later", "a vector of [[given]] or an earlier stage",
                f'to use the value of the frame before: a [[given]] with carried = "{name}"',
            )  # fmt: skip
        raise NotBuilt


def _no_operation(place: tuple[Token, ...], word: object) -> Misdeclared:
    """The mistake of a word that names no operation: the nearest one, and how to bring one's own."""
    problem = unknown(place, word, known_operations(), "an operation")
    problem.hint = "; ".join(filter(None, (problem.hint, HOW_TO_BRING)))
    return problem


def _facts(_contract: Any, root: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What `rigpact describe` says of a declared contract before its tables: its profile."""
    profile = known_profiles().get(root.get("profile", ""))
    if profile is None:
        return []
    says = ", ".join(f"{key} {value}" for key, value in profile.says.items())
    return [("profile", f"{profile.name}: {says}")]


def _position(place: tuple[Token, ...], root: Mapping[str, Any]) -> int:
    kind, index = place
    return int(index) + (len(root.get("given", [])) if kind == "stages" else 0)


def _bound(value: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The stages of a network's side, and the model's own names of them where a table binds by name."""
    return (tuple(value.values()), tuple(value)) if isinstance(value, Mapping) else (tuple(value), ())


def _as_list(value: Any) -> list[Any]:
    return [value] if isinstance(value, str) else list(value)


def _row(path: str | None, width: int, contract: Any) -> FloatArray:
    """The first row of a vector that is fed back, (width,)."""
    value = np.zeros(width) if path is None else contract.numbers[path]
    return np.broadcast_to(value.reshape(-1), (width,)).astype(np.float32)


def _stage(use: Use, built: Built, declared: FieldLayout | None) -> Stage:
    layout = built.fields
    if declared is not None:
        if declared.width != layout.width:
            raise Misdeclared(
                Wrong.WIDTH, use.place, f"fields of {declared.width} numbers", f"{layout.width}, as the operation gives"
            )
        layout = declared
    needs = use.network.inputs if built.is_answer and use.network else tuple(each.name for each in use.inputs)
    return Stage(
        use.stage, layout, needs, built.compute, built.bound, tuple(use.knobs), built.measure,
        is_answer=built.is_answer, is_propagated=built.is_propagated, source=_answered_by(use) if built.is_answer else "",
        reach=built.reach, planned=built.planned,
    )  # fmt: skip


def _answered_by(use: Use) -> str:
    """What has to be given so that a network's answer can be judged."""
    name = "" if use.network is None else use.network.name
    return f"give the model of the network {name}: --onnx FILE, or file = FILE in [networks.{name}]"
