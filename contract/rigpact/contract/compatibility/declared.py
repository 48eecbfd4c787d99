"""Two declared contracts, of one robot or character: where they part, each place once.

Vectors and stages are matched by their names. A stage that only one side has is looked through where it has one input, so that
`obs` of a scaled gyro and `obs` of the gyro itself differ in the scale alone. Numbers are matched by the names of the fields.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from rigpact.contract.compatibility.differences import (
    UNDECLARED,
    Both,
    Worst,
    constant_changes,
    differences,
    part_changes,
    same,
    text_of,
    word_changes,
)
from rigpact.contract.compatibility.kinds import Change, change
from rigpact.contract.contract_files import system_of
from rigpact.contract.declared.reading import declaration_of
from rigpact.contract.declared.values import known_profiles
from rigpact.contract.declared.vocabulary import known_operations, stands_in
from rigpact.contract.documents import Document
from rigpact.contract.errors import UnusableInput
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.model.edges import behind_input
from rigpact.contract.model.graph import open_model
from rigpact.contract.rules.system_view import DeclaredView
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.system import NetworkBinding

_OF_EVERY_STAGE = frozenset(
    {"name", "operation", "of", "fields", "names", "size", "kind", "unit", "space", "low", "high"}
)
_OF_FIELDS = frozenset({"fields", "names", "size", "kind"})
_NOTES = frozenset({"why", "wrong", "left_open"})
_OF_A_HISTORY = ("layout", "order", "start")
_OF_THE_FILE = {
    "fps": "frame-rate-changed",
    "recordings": "recording-columns-changed",
    "name": "bookkeeping-changed",
    "title": "bookkeeping-changed",
}
_OF_A_STATEMENT = {
    "handedness": "handedness-changed",
    "up": "axes-changed",
    "length": "units-changed",
    "angle": "units-changed",
}

_NEUTRAL: Mapping[str, float] = {"scale": 1.0, "offset": 0.0, "subtract": 0.0, "epsilon": 0.0, "floor": 0.0}
"""What a parameter is where a stage does not have it."""
_NO_NUMBERS = frozenset({"name", "operation", "of", "names", "take", "kind", "unit", "space", "carried"})


@dataclass(frozen=True, eq=False)
class Pair:
    """The same contract on two sides."""

    old: DeclaredView
    new: DeclaredView

    @cached_property
    def shared(self) -> tuple[str, ...]:
        """Vectors and stages that both have, in the new order."""
        return tuple(name for name in self.new.tables if name in self.old.tables)

    def tables(self, name: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The table of a stage that both have, on both sides."""
        return self.old.tables[name], self.new.tables[name]

    def said(self, name: str, key: str, absent: Any = UNDECLARED) -> Both:
        """What both sides say of a key of a stage."""
        old, new = self.tables(name)
        return old.get(key, absent), new.get(key, absent)

    def sources(self, old: tuple[str, ...], new: tuple[str, ...]) -> Both:
        """Vectors on both sides, each looked through as far as a stage that both have."""
        sides = ((self.old, old), (self.new, new))
        first, second = (", ".join(self._source(view, name) for name in names) for view, names in sides)
        return first, second

    def _source(self, view: DeclaredView, name: str) -> str:
        while name not in self.shared and len(view.inputs_of(name)) == 1:
            (name,) = view.inputs_of(name)
        return name


def declared_differences(old: Document, new: Document) -> Iterator[Change]:
    """Yield where two contracts part; ContractRefused for one with mistakes, UnusableInput where they have nothing in common."""
    pair = Pair(_view(old), _view(new))
    if not any(name in pair.shared for name in pair.old.system.graph.given):
        expected, hint = (
            f"one of the robot or character of {old.path}",
            "give the same vector the same name in both files",
        )
        raise UnusableInput(new.path, "a contract that shares no given vector with the other", expected, hint)
    parts: tuple[Iterator[Change], ...] = (
        _file(pair), _vectors(pair), _stages(pair), _numbers(pair.old, pair.new), _feedback(pair), _networks(pair),
    )  # fmt: skip
    found = [each for part in parts for each in part]
    yield from found
    if not found:  # notes, readings of other sides, lists that nobody takes
        for (key,), _ in differences(old.data, new.data, depth=1):
            yield change("spelled-differently", json_pointer(key), None, None, f"{key} is written otherwise")


def _view(document: Document) -> DeclaredView:
    system = system_of(document)
    return DeclaredView(document, declaration_of(document), system)


# --- the file ---


def _file(pair: Pair) -> Iterator[Change]:
    old, new = pair.old.root, pair.new.root
    for key, kind in _OF_THE_FILE.items():
        yield from word_changes(kind, json_pointer(key), key, (old.get(key, UNDECLARED), new.get(key, UNDECLARED)))
    yield from _profiles(old.get("profile", UNDECLARED), new.get("profile", UNDECLARED))


def _profiles(old: Any, new: Any) -> Iterator[Change]:
    """One for each statement that two profiles make otherwise."""
    first, second = (known_profiles()[name].says if name in known_profiles() else {} for name in (old, new))
    parting = [key for key in first if key in second and first[key] != second[key]]
    for key in parting:
        what = f"{key}, as the profiles {old} and {new} say it"
        yield from word_changes(
            _OF_A_STATEMENT.get(key, "convention-changed"), "/profile", what, (first[key], second[key])
        )
    if not parting:
        yield from word_changes("convention-changed", "/profile", "profile", (old, new), ("", ""))


# --- vectors ---


def _vectors(pair: Pair) -> Iterator[Change]:
    for name in pair.old.tables:
        if name not in pair.shared:
            said = f"{name} is gone: {_computed(pair.old, name)}"
            yield change("stage-removed", pair.old.at(name), _size(pair.old, name), None, said)
    for name in pair.new.tables:
        if name not in pair.shared:
            said = f"{name} is new: {_computed(pair.new, name)}"
            yield change("stage-added", pair.new.at(name), None, _size(pair.new, name), said)
    yield from _reordered(pair)
    for name in pair.shared:
        if any("operation" not in table or table.keys() & _OF_FIELDS for table in pair.tables(name)):
            yield from _fields(pair, name)


def _size(view: DeclaredView, name: str) -> str:
    return f"{view.layout(name).width} numbers"


def _computed(view: DeclaredView, name: str) -> str:
    """What a stage computes, in a few words."""
    table = view.tables[name]
    if "operation" not in table:
        return f"{_size(view, name)} from outside"
    said = [f"{key} {text_of(_plain(table[key]))}" for key in table if key not in _OF_EVERY_STAGE | _NOTES]
    parameters = f" ({', '.join(said)})" if said else ""
    return f"{table['operation']} of {', '.join(view.inputs_of(name)) or 'its network'}{parameters}"


def _plain(value: Any) -> Any:
    return value.get("value", value) if isinstance(value, Mapping) else value


def _arranged() -> frozenset[str]:
    return frozenset(name for name in ("history", "concatenate") if not stands_in(name))


def _is_reordered(pair: Pair, name: str) -> bool:
    own, other = pair.old.names(name), pair.new.names(name)
    return own != other and sorted(own) == sorted(other)


def _reordered(pair: Pair) -> Iterator[Change]:
    """One change for all vectors whose fields stand in another order in the same way."""
    found: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for name in pair.shared:
        if _is_reordered(pair, name) and pair.new.operation(name) not in _arranged():
            found.setdefault((pair.old.names(name), pair.new.names(name)), []).append(name)
    for (old, new), names in found.items():
        first, second = (", ".join([*words[:4], "…"]) for words in (old, new))
        said = f"the {len(old)} fields of {', '.join(names)} stand in another order: {first} → {second}"
        yield change("fields-reordered", pair.new.at(names[0]), first, second, said)


def _fields(pair: Pair, name: str) -> Iterator[Change]:
    """The fields of a vector; those that changed alike are said once, and fields in another order have not moved."""
    if {*pair.said(name, "operation")} <= _arranged():
        return
    found: dict[tuple[str, str, str], list[Change]] = {}
    pointer = partial(json_pointer, "vectors", name)
    for each in part_changes("field", name, pointer, (pair.old.layout(name), pair.new.layout(name))):
        if each.kind.name != "field-moved" or not _is_reordered(pair, name):
            found.setdefault((each.kind.name, str(each.old), str(each.new)), []).append(each)
    for first, *more in found.values():
        said = first.message + (f", and so {len(more)} more of {name}" if more else "")
        yield replace(first, pointer=pair.new.at(name), message=said)


# --- stages ---


def _stages(pair: Pair) -> Iterator[Change]:
    for name in pair.shared:
        place, operations = pair.new.at(name), pair.said(name, "operation", "given")
        sources = pair.sources(pair.old.inputs_of(name), pair.new.inputs_of(name))
        yield from word_changes(
            "stage-computed-otherwise", pair.new.at(name, "of"), f"{name} is computed from", sources
        )
        if {*operations} <= _arranged():
            # A concatenation is a history of one frame; layout and order matter where both have more
            lengths = pair.said(name, "length", 1)
            yield from word_changes("history-length-changed", pair.new.at(name), f"frames in {name}", lengths)
            if min(lengths) > 1:
                yield from _words(pair, name, set(_OF_A_HISTORY))
        elif operations[0] != operations[1]:
            yield from word_changes("stage-computed-otherwise", place, f"the operation of {name}", operations)
        elif operations[1] != "given":
            yield from _words(pair, name, _choices(pair.old, name) | _choices(pair.new, name))


def _choices(view: DeclaredView, name: str) -> set[str]:
    """The parameters of a stage that are choices: words, and what it leaves to its profile or its operation."""
    operation = known_operations()[view.tables[name]["operation"]]
    said = {key for key, value in view.tables[name].items() if isinstance(value, str) or _is_words(value)}
    return (said | set(operation.choices)) - _OF_EVERY_STAGE - _NOTES - {"take"}


def _is_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _names_numbers(value: Any, view: DeclaredView) -> bool:
    numbers = view.root.get("numbers", {})
    return any(isinstance(each, str) and each in numbers for each in (value if isinstance(value, list) else [value]))


def _words(pair: Pair, name: str, keys: set[str]) -> Iterator[Change]:
    for key in sorted(keys):
        written, sides = pair.said(name, key), (pair.old, pair.new)
        if any(_names_numbers(value, view) for value, view in zip(written, sides, strict=True)):
            continue
        first, second = (_meant(view, name, key) for view in sides)
        values = written if same(first, second) else (first, second)
        yield from word_changes("convention-changed", pair.new.at(name), f"{key} of {name}", values, (first, second))


def _meant(view: DeclaredView, name: str, key: str) -> Any:
    """The value of a choice, as declared or as the profile or the operation gives it; of a list of names its words."""
    knob = view.system.knobs.get(f"{name}.{key}")
    value = view.tables[name].get(key, UNDECLARED if knob is None else knob.default)
    if isinstance(value, str):
        value = view.lists.get(value, value)
    return ", ".join(value) if isinstance(value, list | tuple) else value


def _feedback(pair: Pair) -> Iterator[Change]:
    for name in pair.shared:
        if any("operation" in table for table in pair.tables(name)):
            continue
        carried, start = pair.said(name, "carried"), pair.said(name, "start")
        fields = _taken_over(pair.old, name), _taken_over(pair.new, name)
        yield from word_changes("convention-changed", pair.new.at(name), f"what {name} takes over", fields)
        yield from word_changes("convention-changed", pair.new.at(name), f"{name} is taken over from", carried)
        if UNDECLARED in start:  # else they are compared as numbers
            yield from word_changes("convention-changed", pair.new.at(name), f"{name} starts with", start)


def _taken_over(view: DeclaredView, name: str) -> str:
    own = {*view.system.graph[name].carried_fields}
    return ", ".join(sorted(own)) if own and own != {*view.names(name)} else "every field"


# --- networks ---


def _networks(pair: Pair) -> Iterator[Change]:
    old, new = pair.old.system.networks, pair.new.system.networks
    for name in sorted(old.keys() | new.keys()):
        if name in old and name in new:
            yield from _network(pair, name, (old[name], new[name]))
            continue
        kind, word = ("stage-removed", "is gone") if name in old else ("stage-added", "is new")
        yield change(kind, json_pointer("networks", name), None, None, f"the network {name} {word}")


def _network(pair: Pair, name: str, sides: tuple[NetworkBinding, NetworkBinding]) -> Iterator[Change]:
    place, (old, new) = json_pointer("networks", name), sides
    for what, values in (
        ("takes", pair.sources(old.inputs, new.inputs)),
        ("gives", (", ".join(old.outputs), ", ".join(new.outputs))),
        ("binds by name", (", ".join(old.input_names), ", ".join(new.input_names))),
    ):
        yield from word_changes("stage-computed-otherwise", place, f"what the network {name} {what}", values)
    if old.path is not None and new.path is not None:
        first, second = ("inside" if _normalises(path) else "not inside" for path in (old.path, new.path))
        yield from word_changes("convention-changed", place, f"the normaliser of the network {name}", (first, second))


def _normalises(path: Any) -> bool:
    graph = open_model(path)
    return any(behind_input(graph, entry.name).normalises for entry in graph.inputs)


# --- numbers ---


@dataclass(eq=False)
class _Use:
    """Numbers that stages on both sides take: where, by which name, the names of their fields, old and new values."""

    pointer: str
    word: str
    names: tuple[str, ...]
    old: FloatArray
    new: FloatArray
    stages: list[str] = field(default_factory=list)


def _numbers(old: DeclaredView, new: DeclaredView) -> Iterator[Change]:
    """Yield the numbers of stages that both sides have; numbers that several stages take, once."""
    uses: dict[str, _Use] = {}
    for stage, table in new.tables.items():
        if stage not in old.tables or old.tables[stage].get("operation") != table.get("operation"):
            continue
        is_fed_back = "operation" not in table and all("start" in each.tables[stage] for each in (old, new))
        for key in sorted(_keys(old, stage) | _keys(new, stage) | {"start"}):
            if key != "start" or is_fed_back:
                found = _matched(old, new, stage, key)
                uses.setdefault(found.pointer, found).stages.append(f"{stage}.{key}")
    for use in uses.values():
        yield from _compared(use)


def _keys(view: DeclaredView, stage: str) -> set[str]:
    """The parameters of a stage that are numbers, inline or by name."""
    table, own = view.tables[stage], view.declaration.constants.get(stage, {})
    numbers = view.root.get("numbers", {})
    return {key for key in table if key not in _NO_NUMBERS and (key in own or _word(view, stage, key) in numbers)}


def _matched(old: DeclaredView, new: DeclaredView, stage: str, key: str) -> _Use:
    """The numbers of both sides in the new order of the fields."""
    first, second = _value(old, stage, key), _value(new, stage, key)
    own, names = _field_names(old, stage), _field_names(new, stage)
    if first.size == second.size == len(own) and sorted(own) == sorted(names):
        first = first[[own.index(name) for name in names]]
    words = {_word(view, stage, key) for view in (old, new)}
    word = words.pop() if len(words) == 1 else ""
    return _Use(json_pointer("numbers", word) if word else new.at(stage, key), word, names, first, second)


def _value(view: DeclaredView, stage: str, key: str) -> FloatArray:
    value = np.zeros(1) if view.tables[stage].get(key) == "zeros" else view.numbers(stage, key)
    return np.array([_NEUTRAL.get(key, np.nan)]) if value is None else value


def _field_names(view: DeclaredView, stage: str) -> tuple[str, ...]:
    layout = view.layout((view.inputs_of(stage) or (stage,))[0])
    return tuple(map(layout.address, range(layout.width)))


def _word(view: DeclaredView, stage: str, key: str) -> str:
    """The name of the numbers, '' for inline ones."""
    given = view.tables[stage].get(key)
    given = given.get("value") if isinstance(given, Mapping) else given
    return given if isinstance(given, str) else ""


def _compared(use: _Use) -> Iterator[Change]:
    where = f"{use.word} (at {', '.join(use.stages)})" if use.word else use.stages[0]
    if len({use.old.size, use.new.size} - {1}) > 1:
        said = f"{where} has {use.new.size} numbers, had {use.old.size}"
        return iter([change("constant-changed", use.pointer, use.old.size, use.new.size, said)])
    old, new = np.broadcast_arrays(use.old, use.new)

    def told(found: Worst) -> tuple[str, str, str]:
        return use.pointer, where, f" at {use.names[found.place]}" if old.size == len(use.names) > 1 else ""

    return constant_changes(old, new, np.abs(old - new), told)
