"""Compares two contracts. Each difference is judged by its own meaning, and none is lost.

A contract of each kind says where it differs from another of its kind: in named parts of vectors, numbers of one meaning, and
words. How such a difference becomes changes is the same for all.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from rigpact.contract.compatibility.bundles import bundle_differences
from rigpact.contract.compatibility.declared import declared_differences
from rigpact.contract.compatibility.differences import (
    MEANINGS,
    UNDECLARED,
    Both,
    Worst,
    constant_changes,
    differences,
    is_rounding,
    part_changes,
    same,
    short_of,
    text_of,
    word_changes,
)
from rigpact.contract.compatibility.kinds import Change, Compatibility, Consumer, change
from rigpact.contract.contract_files import document_to_contract
from rigpact.contract.declared.reading import sources_of
from rigpact.contract.documents import Document, Kind
from rigpact.contract.errors import UnusableInput
from rigpact.contract.json_pointer import Token, json_pointer
from rigpact.contract.pages.registry import canonical_name, find_system
from rigpact.contract.rules.bundle_view import json_to_array
from rigpact.contract.systems.layout import FieldLayout, json_to_fields
from rigpact.contract.systems.system import System

# Two contract files of one declared system: stages, rate, conventions, constants, and what rigpact cannot judge.
_OBJECTS = ("vectors", "conventions", "constants")
_KINDS_OF_THE_REST = {"system": "spelled-differently", "notes": "bookkeeping-changed"}
_KNOWN = {"name", "start", "size", *MEANINGS, "low", "high"}
Layouts = Mapping[str, FieldLayout | None]
"""Fields by stage, None where they cannot be read."""


def system_differences(old: Document, new: Document) -> Iterator[Change]:
    """Yield where two contract files differ; UnusableInput where they are of different systems."""
    names = [str(document.data.get("system")) for document in (old, new)]
    if canonical_name(names[0]) != canonical_name(names[1]):
        raise UnusableInput(new.path, f"a contract of {names[1]}", f"one of {names[0]}, as {old.path} is")
    system, first, second = _installed(names[0]), old.data, new.data
    vectors, conventions, constants = ((_object(first, key), _object(second, key)) for key in _OBJECTS)
    yield from _stages(vectors, system)
    yield from _rate(first.get("fps"), second.get("fps"), system)
    for (name,), written in differences(*conventions, depth=1):
        yield from _convention(str(name), written, system)
    yield from _constants(*constants, ("constants",))
    for path, written in differences(first, second, depth=1):
        is_compared = path[0] in _OBJECTS and all(each is UNDECLARED or isinstance(each, Mapping) for each in written)
        if path != ("fps",) and not is_compared:
            kind = _KINDS_OF_THE_REST.get(str(path[0]), "unjudged-change")
            yield from word_changes(kind, json_pointer(*path), str(path[0]), written)


def _installed(name: str) -> System | None:
    try:
        return find_system(name)
    except UnusableInput:
        return None


def _object(root: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = root.get(key)
    return value if isinstance(value, Mapping) else {}


# --- stages ---


def _stages(written: tuple[Mapping[str, Any], Mapping[str, Any]], system: System | None) -> Iterator[Change]:
    own = {name: system.vectors[name] for name in system.graph.handed_on & system.vectors.keys()} if system else {}
    old, new = ({**own, **{name: _layout(entry) for name, entry in each.items()}} for each in written)
    renames = _renamed(old, new)
    for name, other in renames.items():
        yield change("stage-renamed", json_pointer("vectors", other), name, other, f"{name} is called {other}")
    for name in dict.fromkeys((*old, *new)):
        pointer = json_pointer("vectors", name)
        if name in renames or name in renames.values():
            continue
        if name not in new:
            yield change("stage-removed", pointer, _size(old[name]), None, f"the stage {name} is gone")
        elif name not in old:
            yield change("stage-added", pointer, None, _size(new[name]), f"the stage {name} is new")
        else:
            entries = written[0].get(name, UNDECLARED), written[1].get(name, UNDECLARED)
            yield from _vector(name, pointer, (old[name], new[name]), entries)


def _layout(entry: Any) -> FieldLayout | None:
    """The fields of a vector, names that repeat counted so that none hides another; None where they cannot be read."""
    seen: Counter[str] = Counter()
    fields = []
    try:
        for field in json_to_fields(entry["fields"]):
            seen[field.name] += 1
            fields.append(field if seen[field.name] == 1 else replace(field, name=f"{field.name} ({seen[field.name]})"))
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return FieldLayout(tuple(fields))


def _size(layout: FieldLayout | None) -> str:
    return "unreadable" if layout is None else f"{layout.width} numbers"


def _renamed(old: Layouts, new: Layouts) -> dict[str, str]:
    """A stage that is gone and one that is new with the same fields are one stage; each new one is taken once."""
    come = [name for name in new if name not in old and new[name] is not None]
    found: dict[str, str] = {}
    for name, layout in old.items():
        other = None if name in new else next((each for each in come if new[each] == layout), None)
        if other is not None:
            come.remove(other)
            found[name] = other
    return found


def _vector(
    name: str, pointer: str, layouts: tuple[FieldLayout | None, FieldLayout | None], entries: Both
) -> Iterator[Change]:
    """One vector, by its fields where both can be read."""
    old, new = layouts
    if old is not None and new is not None:
        otherwise = None if same(*entries) else _text(name, pointer, entries)
        yield from part_changes("field", name, partial(json_pointer, "vectors", name), (old, new), otherwise=otherwise)
    elif (old is None) != (new is None):
        kind = "vector-broken" if new is None else "vector-repaired"
        yield change(kind, pointer, _size(old), _size(new), f"the fields of {name} cannot be read in one version")
    elif not same(*entries):
        said = f"the fields of {name} can be read in neither version"
        yield change("vector-unreadable", pointer, None, None, said)


def _text(name: str, pointer: str, entries: Both) -> Change:
    """The same fields, written otherwise: left to the system, spelled otherwise, or with keys that rigpact does not know."""
    if UNDECLARED in entries:
        kind = "declaration-added" if entries[0] is UNDECLARED else "declaration-removed"
        return change(kind, pointer, None, None, f"{name} has the fields that the system gives it")
    if same(*map(_unknown_keys, entries)):
        return change("spelled-differently", pointer, None, None, f"the fields of {name} are written otherwise")
    return change("unjudged-change", pointer, None, None, f"{name} has the same fields and other keys beside them")


def _unknown_keys(entry: Mapping[str, Any]) -> Any:
    """What stands in a vector beside its fields, its hash among them: fields that are the same have one hash."""
    beside = {key: value for key, value in entry.items() if key != "fields"}
    return [beside, [{key: value for key, value in each.items() if key not in _KNOWN} for each in entry["fields"]]]


# --- words ---


def _rate(old: Any, new: Any, system: System | None) -> Iterator[Change]:
    if not same(old, new):
        own = None if system is None else system.fps
        meant = own if old is None else old, own if new is None else new
        written = UNDECLARED if old is None else old, UNDECLARED if new is None else new
        yield from word_changes("frame-rate-changed", "/fps", "fps", written, meant, shown=meant)


def _convention(name: str, written: Both, system: System | None) -> Iterator[Change]:
    knob = None if system is None else system.knobs.get(name)
    own = UNDECLARED if knob is None else knob.default
    meant = own if written[0] is UNDECLARED else written[0], own if written[1] is UNDECLARED else written[1]
    tail = "" if knob is None else f" ({knob.meaning})"
    return word_changes(
        "convention-changed", json_pointer("conventions", name), name, written, meant, shown=meant, tail=tail
    )


# --- constants ---


def _constants(old: Any, new: Any, path: tuple[Token, ...]) -> Iterator[Change]:
    """Objects member by member, tables of numbers by their worst number."""
    for inner, (first, second) in differences(old, new, path, depth=1):
        if isinstance(first, Mapping) and isinstance(second, Mapping):
            yield from _constants(first, second, inner)
        else:
            yield from _value(first, second, inner)


def _value(old: Any, new: Any, path: tuple[Token, ...]) -> Iterator[Change]:
    pointer, name = json_pointer(*path), ".".join(map(str, path[1:]))
    if UNDECLARED in (old, new):
        kind, what = ("constant-added", "is new") if old is UNDECLARED else ("constant-removed", "is gone")
        return iter([change(kind, pointer, short_of(old), short_of(new), f"{name} {what}")])
    a, b = json_to_array(old), json_to_array(new)
    if a is None or b is None or a.shape != b.shape:
        said = f"{name}: {text_of(old)} → {text_of(new)}"
        return iter([change("constant-changed", pointer, short_of(old), short_of(new), said)])
    with np.errstate(all="ignore"):
        share = np.abs(a - b) / np.maximum(np.abs(a), np.abs(b))

    def told(found: Worst) -> tuple[str, str, str]:
        worst = [int(place) for place in np.unravel_index(found.place, a.shape)]
        return json_pointer(*path, *worst), f"{name}{worst or ''}", f", by {found.amount:.3%} of its size"

    # of indices and counts, no difference is a rounding
    rounded = is_rounding(a, b).ravel() & (not (_is_whole(old) and _is_whole(new)))
    return constant_changes(a.ravel(), b.ravel(), share.ravel(), told, rounded)


def _is_whole(value: Any) -> bool:
    return all(map(_is_whole, value)) if isinstance(value, list) else isinstance(value, int)


def compare_contracts(
    old: Document, new: Document, companions: tuple[Document, Document] | None = None
) -> Compatibility:
    """Judge what changed from one contract to another, for everybody who reads either.

    companions: of two bundles, the old and the new file with the auxiliary statistics. UnusableInput for files that are no
    contracts or are contracts of different systems.
    """
    if old.kind is not new.kind:
        raise UnusableInput(new.path, f"a {new.kind.words}", f"a {old.kind.words}, as {old.path} is")
    for companion in companions or ():
        if companion.kind is not Kind.COMPANION:
            raise UnusableInput(companion.path, f"a {companion.kind.words}", f"a {Kind.COMPANION.words}")
    # by how much a change demands, then by class in the order of `Consumer`
    order = list(Consumer).index
    changes = sorted(_differences(old, new, companions), key=lambda found: [*map(order, found.classes)])
    first, second = map(_sha256, (old, new))
    if not changes and first != second:
        changes.append(change("formatting-changed", "", None, None, "the same values, written otherwise"))
    return Compatibility(str(old.path), str(new.path), first, second, tuple(changes))


def _sha256(document: Document) -> str:
    """Of the file, and of those beside it that its numbers come from: an entry in a record holds for one state of all."""
    return document_to_contract(document).sha256 if sources_of(document) else document.file.sha256


def _differences(old: Document, new: Document, companions: tuple[Document, Document] | None) -> Iterator[Change]:
    if new.kind is Kind.BUNDLE:
        return bundle_differences(old, new, companions)
    if not new.kind.is_of_a_system:
        raise UnusableInput(new.path, f"a {new.kind.words}", "a schema bundle or a contract")
    if companions is not None:
        place = str(companions[1].path)
        raise UnusableInput("--companion", place, "contract files alone", "this system has no such file")
    return declared_differences(old, new) if new.kind is Kind.DECLARATION else system_differences(old, new)
