"""Two contracts of one's own, of one robot or character: where they part, each place once.

Vectors and stages are matched by their names. A stage that only one side has is looked through where it has one input, so that
`obs` of a scaled gyro and `obs` of the gyro itself differ in the scale alone. Numbers are matched by the names of the fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rigpact.contract.compatibility.change import Change, change
from rigpact.contract.compatibility.contract_files import compare_fields
from rigpact.contract.compatibility.declared.numbers import compare_declared_numbers
from rigpact.contract.compatibility.values import UNDECLARED, same, short_of, text_of
from rigpact.contract.declared.profiles import known_profiles
from rigpact.contract.declared.reading import declaration_of
from rigpact.contract.declared.vocabulary import known_operations
from rigpact.contract.documents import Document
from rigpact.contract.errors import UnusableInput
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.model.edges import behind_input
from rigpact.contract.model.graph import read_model_graph
from rigpact.contract.rules.hosted.declared_view import DeclaredView
from rigpact.contract.systems.reading import system_of

_OF_EVERY_STAGE = frozenset(
    {"name", "operation", "of", "fields", "names", "size", "kind", "unit", "space", "low", "high"}
)
_NOTES = frozenset({"why", "knobs", "wrong"})
_ARRANGED = frozenset({"history", "concatenate"})
"""Their fields follow from their inputs."""
_OF_A_HISTORY = ("layout", "order", "start")


@dataclass(frozen=True, eq=False)
class Pair:
    """The same contract on two sides."""

    old: DeclaredView
    new: DeclaredView

    @cached_property
    def shared(self) -> tuple[str, ...]:
        """Vectors and stages that both have, in the new order."""
        return tuple(name for name in self.new.tables if name in self.old.tables)

    def sources(self, view: DeclaredView, names: tuple[str, ...]) -> tuple[str, ...]:
        """Vectors, each looked through as far as a stage that both have."""
        return tuple(self._source(view, name) for name in names)

    def _source(self, view: DeclaredView, name: str) -> str:
        while name not in self.shared and len(view.inputs_of(name)) == 1:
            (name,) = view.inputs_of(name)
        return name


def compare_declared_contracts(old: Document, new: Document) -> Iterator[Change]:
    """Yield where two contracts part; ContractRefused for one with mistakes, UnusableInput where they have nothing in common."""
    pair = Pair(_view(old), _view(new))
    if not any(name in pair.shared for name in pair.old.system.graph.given):
        raise UnusableInput(
            new.path, "a contract that shares no given vector with the other", f"one of the robot or character of {old.path}",
            "give the same vector the same name in both files",
        )  # fmt: skip
    found = [
        *_compare_file(pair), *_compare_vectors(pair), *_compare_stages(pair), *compare_declared_numbers(pair.old, pair.new),
        *_compare_feedback(pair), *_compare_networks(pair),
    ]  # fmt: skip
    yield from found
    if not found:
        yield from _spelled(old.data, new.data)


def _view(document: Document) -> DeclaredView:
    system = system_of(document)
    return DeclaredView(document, declaration_of(document), system)


def _changed(kind: str, pointer: str, values: tuple[Any, ...], what: str) -> Change:
    said = f"{what}: {' → '.join(map(text_of, values))}"
    return change(kind, pointer, short_of(values[0]), short_of(values[-1]), said)


def _compare_file(pair: Pair) -> Iterator[Change]:
    kinds = {
        "fps": "frame-rate-changed", "recordings": "recording-columns-changed", "name": "bookkeeping-changed",
        "title": "bookkeeping-changed",
    }  # fmt: skip
    for key, kind in kinds.items():
        values = pair.old.root.get(key, UNDECLARED), pair.new.root.get(key, UNDECLARED)
        if not same(*values):
            yield _changed(kind, json_pointer(key), values, key)
    yield from _compare_profiles(pair.old.root.get("profile", UNDECLARED), pair.new.root.get("profile", UNDECLARED))


_OF_A_STATEMENT = {
    "handedness": "handedness-changed",
    "up": "axes-changed",
    "length": "units-changed",
    "angle": "units-changed",
}


def _compare_profiles(old: Any, new: Any) -> Iterator[Change]:
    """One change for each statement that two profiles make otherwise."""
    if same(old, new):
        return
    if UNDECLARED in (old, new):
        kind = "declaration-added" if old is UNDECLARED else "declaration-removed"
        yield _changed(kind, "/profile", (old, new), "profile")
        return
    first, second = known_profiles()[old].says, known_profiles()[new].says
    parting = [key for key in first if key in second and first[key] != second[key]]
    for key in parting:
        what = f"{key}, as the profiles {old} and {new} say it"
        yield _changed(_OF_A_STATEMENT.get(key, "convention-changed"), "/profile", (first[key], second[key]), what)
    if not parting:
        yield _changed("spelled-differently", "/profile", (old, new), "profile")


def _compare_vectors(pair: Pair) -> Iterator[Change]:
    for view, kind, word in ((pair.old, "stage-removed", "is gone"), (pair.new, "stage-added", "is new")):
        for name in view.tables:
            if name not in pair.shared:
                size, said = f"{view.layout(name).width} numbers", f"{name} {word}: {_computed(view, name)}"
                sizes = (size, None) if view is pair.old else (None, size)
                yield change(kind, view.at(name), sizes[0], sizes[1], said)
    yield from _reordered(pair)
    for name in pair.shared:
        if _says_fields(pair.old, name) or _says_fields(pair.new, name):
            yield from _compare_layout(pair, name)


def _computed(view: DeclaredView, name: str) -> str:
    """What a stage computes, in a few words."""
    table = view.tables[name]
    if "operation" not in table:
        return f"{view.layout(name).width} numbers from outside"
    keys = table.keys() - _OF_EVERY_STAGE - _NOTES
    parameters = ", ".join(f"{key} {text_of(_plain(table[key]))}" for key in table if key in keys)
    return f"{table['operation']} of {', '.join(view.inputs_of(name)) or 'its network'}" + f" ({parameters})" * bool(
        keys
    )


def _plain(value: Any) -> Any:
    return value.get("value", value) if isinstance(value, Mapping) else value


def _says_fields(view: DeclaredView, name: str) -> bool:
    table = view.tables[name]
    return "operation" not in table or bool(table.keys() & {"fields", "names", "size", "kind"})


def _is_reordered(pair: Pair, name: str) -> bool:
    own, other = pair.old.names(name), pair.new.names(name)
    return own != other and sorted(own) == sorted(other)


def _reordered(pair: Pair) -> Iterator[Change]:
    """One change for all vectors whose fields stand in another order in the same way."""
    found: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for name in pair.shared:
        if _is_reordered(pair, name) and pair.new.tables[name].get("operation") not in _ARRANGED:
            found.setdefault((pair.old.names(name), pair.new.names(name)), []).append(name)
    for (old, new), names in found.items():
        orders = [", ".join([*words[:4], "…"]) for words in (old, new)]
        said = f"the {len(old)} fields of {', '.join(names)} stand in another order: {' → '.join(orders)}"
        yield change("fields-reordered", pair.new.at(names[0]), orders[0], orders[1], said)


def _compare_layout(pair: Pair, name: str) -> Iterator[Change]:
    layouts = pair.old.layout(name), pair.new.layout(name)
    moves = {"field-moved"} if _is_reordered(pair, name) else set()
    tables = pair.old.tables[name], pair.new.tables[name]
    if all(table.get("operation") in _ARRANGED for table in tables):
        return
    found: dict[tuple[str, str, str], list[Change]] = {}
    for each in compare_fields(name, *layouts):
        if each.kind.name not in moves:
            alike = (each.kind.name, str(each.old), str(each.new))
            found.setdefault(alike, []).append(each)
    for (kind, _, _), (first, *more) in found.items():
        said = first.message + (f", and so {len(more)} more of {name}" if more else "")
        yield change(kind, pair.new.at(name), first.old, first.new, said)


def _compare_stages(pair: Pair) -> Iterator[Change]:
    for name in pair.shared:
        old, new = pair.old.tables[name], pair.new.tables[name]
        sources = pair.sources(pair.old, pair.old.inputs_of(name)), pair.sources(pair.new, pair.new.inputs_of(name))
        if sources[0] != sources[1]:
            values = ", ".join(sources[0]), ", ".join(sources[1])
            yield _changed("stage-computed-otherwise", pair.new.at(name, "of"), values, f"{name} is computed from")
        operations = old.get("operation", "given"), new.get("operation", "given")
        if set(operations) <= _ARRANGED:
            yield from _compare_history(pair, name)
        elif operations[0] != operations[1]:
            yield _changed("stage-computed-otherwise", pair.new.at(name), operations, f"the operation of {name}")
        elif "operation" in new:
            yield from _compare_words(pair, name, _words(pair.old, name) | _words(pair.new, name))


def _words(view: DeclaredView, name: str) -> set[str]:
    """The parameters of a stage that are choices: words, and what it leaves to its profile or its operation."""
    operation = known_operations()[view.tables[name]["operation"]]
    said = {key for key, value in view.tables[name].items() if isinstance(value, str)}
    return (said | set(operation.choices)) - _OF_EVERY_STAGE - _NOTES - {"take"}


def _compare_words(pair: Pair, name: str, keys: set[str]) -> Iterator[Change]:
    for key in sorted(keys):
        if any(_is_number(view, name, key) for view in (pair.old, pair.new)):
            continue
        written = tuple(view.tables[name].get(key, UNDECLARED) for view in (pair.old, pair.new))
        meant = tuple(_meant(view, name, key) for view in (pair.old, pair.new))
        if not same(*meant):
            yield _changed("convention-changed", pair.new.at(name), meant, f"{key} of {name}")
        elif not same(*written):
            kind = "declaration-added" if written[0] is UNDECLARED else "declaration-removed"
            yield _changed(kind, pair.new.at(name), written, f"{key} of {name}")


def _is_number(view: DeclaredView, name: str, key: str) -> bool:
    value = view.tables[name].get(key)
    return isinstance(value, str) and value in view.root.get("numbers", {})


def _meant(view: DeclaredView, name: str, key: str) -> Any:
    """The value of a choice, as declared or as the profile or the operation gives it."""
    knob = view.system.knobs.get(f"{name}.{key}")
    return view.tables[name].get(key, UNDECLARED if knob is None else knob.default)


def _compare_history(pair: Pair, name: str) -> Iterator[Change]:
    """A concatenation is a history of one frame; layout and order matter where both have more."""
    lengths = pair.old.tables[name].get("length", 1), pair.new.tables[name].get("length", 1)
    if lengths[0] != lengths[1]:
        yield _changed("history-length-changed", pair.new.at(name), lengths, f"frames in {name}")
    if min(lengths) > 1:
        yield from _compare_words(pair, name, set(_OF_A_HISTORY))


def _compare_feedback(pair: Pair) -> Iterator[Change]:
    for name in pair.shared:
        for key in ("carried", "start"):
            values = pair.old.tables[name].get(key, UNDECLARED), pair.new.tables[name].get(key, UNDECLARED)
            is_given = "operation" not in pair.old.tables[name] and "operation" not in pair.new.tables[name]
            is_compared_as_numbers = key == "start" and UNDECLARED not in values
            if is_given and not is_compared_as_numbers and not same(*values):
                what = {"carried": f"{name} is taken over from", "start": f"{name} starts with"}[key]
                yield _changed("convention-changed", pair.new.at(name), values, what)


def _compare_networks(pair: Pair) -> Iterator[Change]:
    old, new = pair.old.system.networks, pair.new.system.networks
    for name in sorted(old.keys() | new.keys()):
        place = json_pointer("networks", name)
        if name not in old or name not in new:
            kind, word = ("stage-removed", "is gone") if name in old else ("stage-added", "is new")
            yield change(kind, place, None, None, f"the network {name} {word}")
            continue
        for what, first, second in (
            ("takes", pair.sources(pair.old, old[name].inputs), pair.sources(pair.new, new[name].inputs)),
            ("gives", old[name].outputs, new[name].outputs),
            ("binds by name", old[name].input_names, new[name].input_names),
        ):
            if first != second:
                values = ", ".join(first), ", ".join(second)
                yield _changed("stage-computed-otherwise", place, values, f"what the network {name} {what}")
        inside = tuple(None if each.path is None else _normalises(each.path) for each in (old[name], new[name]))
        if None not in inside and inside[0] != inside[1]:
            said = tuple("inside" if each else "not inside" for each in inside)
            yield _changed("convention-changed", place, said, f"the normaliser of the network {name}")


def _normalises(path: Any) -> bool:
    graph = read_model_graph(path)
    return any(behind_input(graph, entry.name).normalises for entry in graph.inputs)


def _spelled(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    """Sections that are written otherwise and mean the same: notes, readings of other sides, lists that nobody takes."""
    for key in sorted(old.keys() | new.keys()):
        if not same(old.get(key, UNDECLARED), new.get(key, UNDECLARED)):
            yield change("spelled-differently", json_pointer(key), None, None, f"{key} is written otherwise")
