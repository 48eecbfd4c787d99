"""Named parts of a vector in two versions, slices or fields: added, removed, moved, resized, renamed, meant otherwise."""

from collections.abc import Callable, Iterable, Iterator

from rigpact.contract.compatibility.change import Change, change
from rigpact.contract.layout import Slice
from rigpact.contract.systems.layout import Field

MEANINGS = ("kind", "unit", "space")

Part = Slice | Field
Parts = Iterable[Part]
Pointer = Callable[[str], str]


def part_changes(
    noun: str,
    name: str,
    pointer: Pointer,
    parts: tuple[Parts, Parts],
    also: Iterable[Change] = (),
    otherwise: Change | None = None,
) -> Iterator[Change]:
    """Yield what changed in the parts of one vector, matched by their names and places; names of parts do not repeat.

    noun: how kinds of change call a part. pointer: of a part's name. also: what else changed in it. otherwise: the change if
    its text differs and nothing else does.
    """
    found = [*_places(noun, pointer, *parts), *_meanings(name, pointer, *parts), *also]
    yield from found
    if not found and otherwise is not None:
        yield otherwise


def _places(noun: str, pointer: Pointer, first: Parts, second: Parts) -> Iterator[Change]:
    renames = renamed_parts(first, second)
    old, new = {each.name: each for each in first}, {each.name: each for each in second}
    for name, each in old.items():
        if name in renames:
            other = renames[name]
            yield change(f"{noun}-renamed", pointer(other), name, other, f"{name} is called {other}")
        elif name not in new:
            yield change(f"{noun}-removed", pointer(name), _place(each), None, f"{name} {_range(each)} is gone")
        else:
            yield from _moved(noun, pointer, each, new[name])
    for name, each in new.items():
        if name not in old and name not in renames.values():
            yield change(f"{noun}-added", pointer(name), None, _place(each), f"{name} {_range(each)} is new")


def _moved(noun: str, pointer: Pointer, first: Part, second: Part) -> Iterator[Change]:
    values = pointer(first.name), _place(first), _place(second)
    if first.size != second.size:
        yield change(f"{noun}-resized", *values, f"{first.name} holds {second.size} numbers, held {first.size}")
    if first.start != second.start:
        yield change(f"{noun}-moved", *values, f"{first.name} starts at {second.start}, started at {first.start}")


def _meanings(name: str, pointer: Pointer, first: Parts, second: Parts) -> Iterator[Change]:
    renames, new = renamed_parts(first, second), {each.name: each for each in second}
    for each in first:
        other = new.get(renames.get(each.name, each.name))
        if isinstance(each, Field) and isinstance(other, Field):
            yield from _meant(pointer(other.name), f"{name}.{other.name}", each, other)


def _meant(pointer: str, what: str, old: Field, new: Field) -> Iterator[Change]:
    for meaning in MEANINGS:
        first, second = str(getattr(old, meaning)), str(getattr(new, meaning))
        if first != second:
            message = f"{what}: {first or 'none'} → {second or 'none'}"
            yield change(f"field-{meaning}-changed", f"{pointer}/{meaning}", first, second, message)
    ranges = [old.low, old.high], [new.low, new.high]
    if ranges[0] != ranges[1]:
        yield change("field-range-changed", pointer, *ranges, f"{what}: {ranges[0]} → {ranges[1]}")


def renamed_parts(first: Parts, second: Parts) -> dict[str, str]:
    """Old names that became new ones: a part that is gone and one that is new at the very same place are one."""
    names = {each.name for each in first}, {each.name for each in second}
    gone = {(each.start, each.size): each.name for each in first if each.name not in names[1]}
    new = (each for each in second if each.name not in names[0])
    return {gone[each.start, each.size]: each.name for each in new if (each.start, each.size) in gone}


def _place(part: Part) -> dict[str, int]:
    return {"start": part.start, "size": part.size}


def _range(part: Part) -> str:
    return f"[{part.start}, {part.start + part.size})"
