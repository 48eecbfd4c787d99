"""Two contract files of one declared system: stages, fields, rate, conventions, constants, and what rigpact cannot judge.

Files that the engine would refuse are compared as far as they can be read. Where the system is installed, its own values stand
for what a file may leave out: the rate, conventions, and the vectors that the next frame takes over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from rigpact.contract.compatibility.change import Change, change
from rigpact.contract.compatibility.constants import compare_constants
from rigpact.contract.compatibility.places import compare_parts, renamed_parts
from rigpact.contract.compatibility.values import UNDECLARED, same, short_of, text_of
from rigpact.contract.documents import Document
from rigpact.contract.errors import UnusableInput
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.systems.layout import Field, FieldLayout, json_to_fields
from rigpact.contract.systems.registry import canonical_name, find_system
from rigpact.contract.systems.system import System

_OBJECTS = ("vectors", "conventions", "constants")
_KINDS_OF_THE_REST = {"system": "spelled-differently", "notes": "bookkeeping-changed"}
_MEANINGS = ("kind", "unit", "space")
Layouts = Mapping[str, FieldLayout | None]
"""Fields by stage, None where they cannot be read."""


def compare_contract_files(old: Document, new: Document) -> Iterator[Change]:
    """Yield what changed between two contract files; UnusableInput where they are of different systems."""
    names = [str(document.data.get("system")) for document in (old, new)]
    if canonical_name(names[0]) != canonical_name(names[1]):
        raise UnusableInput(new.path, f"a contract of {names[1]}", f"one of {names[0]}, as {old.path} is")
    system, first, second = _installed(names[0]), old.data, new.data
    yield from _compare_stages(first, second, system)
    yield from _compare_rate(first.get("fps"), second.get("fps"), system)
    yield from _compare_conventions(_object(first, "conventions"), _object(second, "conventions"), system)
    yield from compare_constants(_object(first, "constants"), _object(second, "constants"))
    yield from _compare_rest(first, second)


def _installed(name: str) -> System | None:
    try:
        return find_system(name)
    except UnusableInput:
        return None


def _object(root: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = root.get(key)
    return value if isinstance(value, Mapping) else {}


def _compare_stages(first: Mapping[str, Any], second: Mapping[str, Any], system: System | None) -> Iterator[Change]:
    written = _object(first, "vectors"), _object(second, "vectors")
    own = {name: system.vectors[name] for name in system.graph.handed_on & system.vectors.keys()} if system else {}
    old, new = ({**own, **_layouts(each)} for each in written)
    renames = _renamed_stages(old, new)
    for name, other in renames.items():
        yield change("stage-renamed", json_pointer("vectors", other), name, other, f"{name} is called {other}")
    for name in (name for name in (*old, *(name for name in new if name not in old))):
        if name in renames or name in renames.values():
            continue
        pointer = json_pointer("vectors", name)
        if name not in new:
            yield change("stage-removed", pointer, _size(old[name]), None, f"the stage {name} is gone")
        elif name not in old:
            yield change("stage-added", pointer, None, _size(new[name]), f"the stage {name} is new")
        else:
            entries = written[0].get(name, UNDECLARED), written[1].get(name, UNDECLARED)
            yield from _compare_vector(name, (old[name], new[name]), entries)


def _layouts(vectors: Mapping[str, Any]) -> Layouts:
    return {name: _layout(entry) for name, entry in vectors.items()}


def _layout(entry: Any) -> FieldLayout | None:
    """The fields of a vector, names that repeat counted so that none hides another; None where they cannot be read."""
    seen: Counter[str] = Counter()
    fields = []
    try:
        for field in json_to_fields(entry["fields"]):
            if not all(type(place) is int for place in (field.start, field.size)):
                return None
            seen[field.name] += 1
            fields.append(field if seen[field.name] == 1 else replace(field, name=f"{field.name} ({seen[field.name]})"))
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return FieldLayout(tuple(fields))


def _size(layout: FieldLayout | None) -> str:
    return "unreadable" if layout is None else f"{layout.width} numbers"


def _renamed_stages(old: Layouts, new: Layouts) -> dict[str, str]:
    """A stage that is gone and one that is new with the same fields are one stage; each new one is taken once."""
    come = [name for name in new if name not in old and new[name] is not None]
    found: dict[str, str] = {}
    for name, layout in old.items():
        other = None if name in new else next((each for each in come if new[each] == layout), None)
        if other is not None:
            come.remove(other)
            found[name] = other
    return found


def _compare_vector(
    name: str, layouts: tuple[FieldLayout | None, FieldLayout | None], entries: tuple[Any, Any]
) -> Iterator[Change]:
    """Yield what changed in one vector, by its fields where both can be read."""
    pointer, (old, new) = json_pointer("vectors", name), layouts
    if old is None or new is None:
        if (old is None) != (new is None):
            kind = "vector-broken" if new is None else "vector-mended"
            yield change(kind, pointer, _size(old), _size(new), f"the fields of {name} cannot be read in one version")
        elif not same(*entries):
            yield change(
                "vector-unreadable", pointer, None, None, f"the fields of {name} can be read in neither version"
            )
        return
    found = [*compare_fields(name, old, new)]
    yield from found
    if not found and not same(*entries):
        yield _compare_text(name, entries)


def compare_fields(vector: str, old: FieldLayout, new: FieldLayout) -> Iterator[Change]:
    """Yield what changed in the fields of one vector, matched by their names."""
    yield from compare_parts("field", partial(json_pointer, "vectors", vector), old, new)
    renames = renamed_parts(old, new)
    for field in old:
        name = renames.get(field.name, field.name)
        if name in new:
            yield from _compare_meaning(json_pointer("vectors", vector, name), vector, field, new[name])


def _compare_meaning(pointer: str, vector: str, old: Field, new: Field) -> Iterator[Change]:
    for meaning in _MEANINGS:
        values = str(getattr(old, meaning)), str(getattr(new, meaning))
        if values[0] != values[1]:
            said = f"{vector}.{new.name}: {values[0] or 'none'} → {values[1] or 'none'}"
            yield change(f"field-{meaning}-changed", f"{pointer}/{meaning}", *values, said)
    ranges = [old.low, old.high], [new.low, new.high]
    if ranges[0] != ranges[1]:
        said = f"{vector}.{new.name}: {ranges[0]} → {ranges[1]}"
        yield change("field-range-changed", pointer, ranges[0], ranges[1], said)


def _compare_text(name: str, entries: tuple[Any, Any]) -> Change:
    """The same fields, written otherwise: left to the system, spelled otherwise, or with keys that rigpact does not know."""
    pointer = json_pointer("vectors", name)
    if UNDECLARED in entries:
        kind = "declaration-added" if entries[0] is UNDECLARED else "declaration-removed"
        return change(kind, pointer, None, None, f"{name} has the fields that the system gives it")
    if same(*map(_unknown_keys, entries)):
        return change("spelled-differently", pointer, None, None, f"the fields of {name} are written otherwise")
    return change("unjudged-change", pointer, None, None, f"{name} has the same fields and other keys beside them")


def _unknown_keys(entry: Mapping[str, Any]) -> Any:
    """What stands in a vector beside its fields, its hash among them: fields that are the same have one hash."""
    known = {"name", "start", "size", *_MEANINGS, "low", "high"}
    beside = {key: value for key, value in entry.items() if key != "fields"}
    return [beside, [{key: value for key, value in each.items() if key not in known} for each in entry["fields"]]]


def _compare_rate(old: Any, new: Any, system: System | None) -> Iterator[Change]:
    if same(old, new):
        return
    own = None if system is None else system.fps
    meant = [own if value is None else value for value in (old, new)]
    silent = "declaration-added" if old is None else "declaration-removed"
    kind = silent if same(*meant) else "frame-rate-changed"
    yield change(kind, "/fps", short_of(old), short_of(new), f"fps: {text_of(meant[0])} → {text_of(meant[1])}")


def _compare_conventions(old: Mapping[str, Any], new: Mapping[str, Any], system: System | None) -> Iterator[Change]:
    for name in sorted(old.keys() | new.keys()):
        values = old.get(name, UNDECLARED), new.get(name, UNDECLARED)
        if not same(*values):
            yield _compare_convention(name, values, system)


def _compare_convention(name: str, values: tuple[Any, Any], system: System | None) -> Change:
    knob = None if system is None else system.knobs.get(name)
    meant = [knob.default if knob is not None and value is UNDECLARED else value for value in values]
    silent = "declaration-added" if values[0] is UNDECLARED else "declaration-removed"
    kind = silent if same(*meant) else "convention-changed"
    said = f"{name}: {text_of(meant[0])} → {text_of(meant[1])}" + (f" ({knob.meaning})" if knob is not None else "")
    return change(kind, json_pointer("conventions", name), short_of(values[0]), short_of(values[1]), said)


def _compare_rest(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    """Every key of the file that nothing above compares."""
    for key in sorted(old.keys() | new.keys()):
        values = old.get(key, UNDECLARED), new.get(key, UNDECLARED)
        is_compared = key in _OBJECTS and all(value is UNDECLARED or isinstance(value, Mapping) for value in values)
        if key != "fps" and not is_compared and not same(*values):
            said = f"{key}: {' → '.join(map(text_of, values))}"
            kind = _KINDS_OF_THE_REST.get(key, "unjudged-change")
            yield change(kind, json_pointer(key), short_of(values[0]), short_of(values[1]), said)
