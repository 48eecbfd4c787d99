"""From a declaration to a system: vectors from outside, stages of operations, networks, numbers.

Every mistake is found in one pass: a stage that cannot be built is left out, and what reads it is not judged.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.conventions import CodeHint, Knob
from rigpact.contract.declared import vocabulary
from rigpact.contract.declared.cross_checks import (
    MOST_OF_ALL,
    beyond_limits,
    conventions_of_nothing,
    declared_names,
    declared_tables,
    parts_that_do_not_meet,
    refuse_wide,
    said_at_stages,
    said_of_places,
    words_that_name_nothing,
)
from rigpact.contract.declared.fields import OF_A_VECTOR, declared_fields, measure_of_given, with_signs_that_are_read
from rigpact.contract.declared.operation import Built, Input, Operation, Use
from rigpact.contract.declared.sources import Sources, to_numbers
from rigpact.contract.declared.values import NamedNumbers, flat_numbers, known_profiles
from rigpact.contract.errors import Misdeclared, NotBuilt, Wrong, unknown
from rigpact.contract.json_pointer import Token, json_pointer
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.layout import FieldLayout, known_fields
from rigpact.contract.systems.stage import Stage, with_inner
from rigpact.contract.systems.system import Description, NetworkBinding, System
from rigpact.contract.units import shown

FORMAT = "rigpact-contract"
OF_EVERY_STAGE = frozenset((*OF_A_VECTOR, "operation", "of", "knobs", "left_open", "why"))


@dataclass(frozen=True)
class LeftOpen:
    """What the declaration does not say: its place, its knob, the values that it may have; of a given vector none is known."""

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


def read_declaration(
    root: Mapping[str, Any], folder: Path, of_page: Mapping[str, Operation] | None = None
) -> Declaration:
    """Read the root of a declaration that follows the schema; `folder` holds its files. of_page: what a page can name."""
    if beyond := tuple(beyond_limits(root)):
        return Declaration(None, {}, beyond, (), {})
    operations = vocabulary.known_operations() if of_page is None else of_page
    problems = [] if of_page is not None else list(conventions_of_nothing(root, operations))
    if problems:
        return Declaration(None, {}, tuple(problems), (), {})
    return _Reader(said_at_stages(root), Sources(folder), operations, of_page is not None).declaration()


@dataclass(eq=False)
class _Reader:
    root: Mapping[str, Any]
    sources: Sources
    operations: Mapping[str, Operation]
    is_page: bool = False
    problems: list[Misdeclared] = field(default_factory=list)
    numbers: dict[str, NamedNumbers] = field(default_factory=dict)
    stages: dict[str, Stage] = field(default_factory=dict)
    inner: dict[str, Stage] = field(default_factory=dict)
    networks: dict[str, NetworkBinding] = field(default_factory=dict)
    constants: dict[str, dict[str, Any]] = field(default_factory=dict)
    left_open: list[LeftOpen] = field(default_factory=list)
    code: dict[str, bytes] = field(default_factory=dict)
    benign: dict[str, Knob] = field(default_factory=dict)
    width: int = 0

    def declaration(self) -> Declaration:
        """Read everything, in the order in which one thing needs another."""
        self.problems += words_that_name_nothing(self.root, is_page=self.is_page)
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
        fps, order = self.root.get("fps"), [*self.root.get("conventions", ())]
        return System(
            name=self.root["name"],
            title=self.root.get("title", self.root["name"]),
            stages=with_signs_that_are_read(with_inner(self.stages.values(), self.inner, order)),
            inputs=single.inputs if single else (),
            outputs=single.outputs if single else (),
            fps=None if fps is None else float(fps),
            numbers=flat_numbers,
            networks=self.networks,
            benign_knobs=tuple(self.benign.values()),
            recordings=self.root.get("recordings", {}),
            left_open=tuple(each.knob for each in self.left_open if each.values),
            description=Description(facts=vocabulary.declared_facts, declared=lambda _root: self._sources_of_knobs()),
        )

    def _sources_of_knobs(self) -> dict[str, str]:
        """Who says what each convention is: the contract, unless it is left open."""
        assumed = {each.knob for each in self.left_open}
        names = [knob.name for stage in self.stages.values() for knob in stage.every_knob]
        return {name: "left open: assumed" if name in assumed else "the contract" for name in names}

    @property
    def _names(self) -> dict[str, tuple[str, ...]]:
        return {name: tuple(words) for name, words in self.root.get("names", {}).items()}

    @cached_property
    def _conventions(self) -> dict[str, Mapping[str, Any]]:
        return said_of_places(self.root)

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
        array = array.reshape(-1) if names else array
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
        layout = self._declared_fields(table, place)
        if layout is None:
            raise Misdeclared(Wrong.MISSING, place, f"{table['name']} without fields", "fields, names or size")
        self._count(layout, place)
        name, carried = table["name"], table.get("carried")
        for index, key in enumerate(table.get("left_open", ())):
            self.left_open.append(LeftOpen(json_pointer(*place, "left_open", index), f"{name}.{key}", ()))
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
        loop: dict[str, Any] = {
            "carried": carried,
            "start": start,
            "source_knob": knob,
            "reach": (1 if carried else 0, 0),
        }
        taken = self._carried_fields(table, layout, place)
        self.stages[name] = Stage(name, layout, carried_fields=taken, measure=measure_of_given(layout), **loop)

    def _carried_fields(
        self, table: Mapping[str, Any], layout: FieldLayout, place: tuple[Token, ...]
    ) -> tuple[str, ...]:
        """The fields that a vector takes over from the frame before, where the others still come from outside."""
        where = (*place, "carried_fields")
        names = self._name_list(table.get("carried_fields", ()), where)
        if names and "carried" not in table:
            raise Misdeclared(
                Wrong.MISSING, (*place, "carried"), "nothing", "the stage that the fields are taken over from"
            )
        for name in names:
            if name not in layout:
                raise unknown(where, name, [each.name for each in layout], f"a field of {table['name']}")
        return names

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
        operation = self.operations.get(table["operation"])
        if operation is None:
            raise vocabulary.no_operation((*place, "operation"), table["operation"])
        if code := vocabulary.code_of(operation.name):
            self.code[f"operation {operation.name}"] = code
        if operation.only_on_pages and not self.is_page:
            where, hint = (*place, "operation"), "only a system's page names it"
            raise Misdeclared(Wrong.CHOICE, where, operation.name, "an operation of any contract", hint)
        self._refuse_unknown_keys(table, place, operation)
        of = table.get("of", [])
        inputs = tuple(self._input(name, (*place, "of")) for name in ([of] if isinstance(of, str) else of))
        fewest, most = operation.inputs
        if not fewest <= len(inputs) <= most:
            wanted = str(fewest) if fewest == most else f"{fewest} to {most}" if most < 1 << 10 else f"{fewest} or more"
            own = f"its module says how many: Operation({operation.name!r}, …, inputs=({len(inputs)}, {len(inputs)}))"
            hint = own if vocabulary.code_of(operation.name) else ""
            raise Misdeclared(
                Wrong.MISSING, (*place, "of"), f"{len(inputs)} stages", f"{wanted} for {operation.name}", hint
            )
        refuse_wide(sum(each.fields.width for each in inputs), (*place, "of"))
        declared = self._declared_fields(table, place)
        profile = "" if vocabulary.stands_in(operation.name) else operation.name
        use = replace(self._use(table, place, inputs, declared), code=operation.code, operation=profile)
        for knob in operation.shared:
            use.share(knob)
        built = vocabulary.with_own_cpp(operation, operation.build(use))
        self._take_over(use)
        self._count(known_fields(built.fields), place)
        source = _answered_by(use) if built.is_answer and not self.is_page else ""  # a page's models have no files
        stage = self.stages[table["name"]] = _stage(use, replace(built, source=built.source or source), declared)
        if table.get("inner"):
            self.inner[stage.name] = stage
            if stage.reach != (0, 0) or stage.is_answer or stage.carried or stage.earlier or stage.may_use:
                raise use.wrong(Wrong.KIND, "inner", operation.name, "an operation on numbers of the same frame")

    def _declared_fields(self, table: Mapping[str, Any], place: tuple[Token, ...]) -> FieldLayout | None:
        """The fields that a vector declares, not too wide for one vector, after vectors that are not too wide together."""
        if self.width > MOST_OF_ALL:
            raise NotBuilt  # said already
        layout = declared_fields(table, place, self._names)
        refuse_wide(layout.width if layout else 0, place)
        return layout

    def _count(self, layout: FieldLayout, place: tuple[Token, ...]) -> None:
        refuse_wide(layout.width, place)
        self.width += layout.width
        refuse_wide(self.width, place, MOST_OF_ALL)

    def _refuse_unknown_keys(self, table: Mapping[str, Any], place: tuple[Token, ...], operation: Operation) -> None:
        known = [*operation.parameters, *sorted(OF_EVERY_STAGE), *(["inner"] if self.is_page else [])]
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
        profile = known_profiles().get(self.root.get("profile", ""))
        return Use(
            name, place, table, inputs, self._names, self.numbers, self.root.get("fps"), declared, network, profile,
            not_read=not_read, conventions=self._conventions, slices=self.root.get("slices", {}),
            only_named=self.root.get("only_named", False),
        )  # fmt: skip

    def _take_over(self, use: Use) -> None:
        for path, value in use.constants.items():
            owner, key = path.split(".", 1)
            self._keep(owner, key, value)
        self.benign |= {knob.name: knob for knob in use.knobs if knob.is_benign}
        self.left_open += [LeftOpen(json_pointer(*use.at(key)), knob.name, knob.values) for knob, key in use.left_open]

    @cached_property
    def _positions(self) -> dict[str, int]:
        names = declared_names(self.root)
        return dict(zip(reversed(names), reversed(range(len(names))), strict=True))  # the first of a repeated name

    def _input(self, name: Any, place: tuple[Token, ...]) -> Input:
        if name in self.stages:
            return Input(name, known_fields(self.stages[name].layout))
        earlier = "a vector of [[given]] or an earlier stage"
        if name not in self._positions:
            raise unknown(place, name, self._positions, earlier)
        if self._positions[name] >= int(place[1]) + (len(self.root["given"]) if place[0] == "stages" else 0):
            hint = f'to use the value of the frame before: a [[given]] with carried = "{name}"'
            raise Misdeclared(Wrong.OUT_OF_ORDER, place, f"{name}, which is computed later", earlier, hint)
        raise NotBuilt


def _bound(value: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return (tuple(value.values()), tuple(value)) if isinstance(value, Mapping) else (tuple(value), ())


def _row(path: str | None, width: int, contract: Contract) -> FloatArray:
    value = 0.0 if path is None else contract.numbers[path].reshape(-1)
    return np.broadcast_to(value, (width,)).astype(np.float32)


def _stage(use: Use, built: Built, declared: FieldLayout | None) -> Stage:
    layout = built.fields
    if declared is not None and isinstance(layout, FieldLayout):
        if declared.width != layout.width:
            raise Misdeclared(
                Wrong.WIDTH, use.place, f"fields of {declared.width} numbers", f"{layout.width}, as the operation gives"
            )
        layout = declared
    needs = use.network.inputs if built.is_answer and use.network else tuple(each.name for each in use.inputs)
    return Stage(
        use.stage,
        layout,
        needs,
        knobs=tuple(knob for knob in use.knobs if not knob.is_benign),
        unit=use.table.get("unit", "") if declared is None else shown(field.unit for field in declared),
        **{each.name: getattr(built, each.name) for each in fields(built) if each.name != "fields"},
    )


def _answered_by(use: Use) -> str:
    name = "" if use.network is None else use.network.name
    return f"give the model of the network {name}: --onnx FILE, or file = FILE in [networks.{name}]"
