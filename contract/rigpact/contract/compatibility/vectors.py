"""Named parts of a vector in two versions, slices or fields: added, removed, moved, resized, renamed, meant otherwise."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from rigpact.contract.compatibility.change import Change, change
from rigpact.contract.layout import Slice
from rigpact.contract.systems.layout import Field

MEANINGS = ("kind", "unit", "space")


Part = Slice | Field
Parts = Iterable[Part]


@dataclass(frozen=True)
class Vector:
    """One vector on both sides; names of parts do not repeat.

    noun: how kinds of change call a part. pointer: of a part's name. also: what else changed in it. otherwise: the change if
    its text differs and nothing else does.
    """

    noun: str
    name: str
    pointer: Callable[[str], str]
    old: Parts
    new: Parts
    also: tuple[Change, ...] = ()
    otherwise: Change | None = None

    def changes(self) -> Iterator[Change]:
        """Yield what changed in the parts, matched by their names and places."""
        found = [*self._places(), *self._meanings(), *self.also]
        yield from found
        if not found and self.otherwise is not None:
            yield self.otherwise

    def _places(self) -> Iterator[Change]:
        renames = renamed_parts(self.old, self.new)
        old, new = {each.name: each for each in self.old}, {each.name: each for each in self.new}
        for name, each in old.items():
            if name in renames:
                other = renames[name]
                yield change(f"{self.noun}-renamed", self.pointer(other), name, other, f"{name} is called {other}")
            elif name not in new:
                said = f"{name} {_range(each)} is gone"
                yield change(f"{self.noun}-removed", self.pointer(name), _place(each), None, said)
            else:
                yield from self._moved(each, new[name])
        for name, each in new.items():
            if name not in old and name not in renames.values():
                said = f"{name} {_range(each)} is new"
                yield change(f"{self.noun}-added", self.pointer(name), None, _place(each), said)

    def _moved(self, first: Part, second: Part) -> Iterator[Change]:
        values = self.pointer(first.name), _place(first), _place(second)
        if first.size != second.size:
            message = f"{first.name} holds {second.size} numbers, held {first.size}"
            yield change(f"{self.noun}-resized", *values, message)
        if first.start != second.start:
            message = f"{first.name} starts at {second.start}, started at {first.start}"
            yield change(f"{self.noun}-moved", *values, message)

    def _meanings(self) -> Iterator[Change]:
        renames = renamed_parts(self.old, self.new)
        new = {each.name: each for each in self.new}
        for each in self.old:
            other = new.get(renames.get(each.name, each.name))
            if isinstance(each, Field) and isinstance(other, Field):
                yield from self._meant(each, other)

    def _meant(self, old: Field, new: Field) -> Iterator[Change]:
        pointer, what = self.pointer(new.name), f"{self.name}.{new.name}"
        for meaning in MEANINGS:
            first, second = str(getattr(old, meaning)), str(getattr(new, meaning))
            if first != second:
                said = f"{what}: {first or 'none'} → {second or 'none'}"
                yield change(f"field-{meaning}-changed", f"{pointer}/{meaning}", first, second, said)
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
