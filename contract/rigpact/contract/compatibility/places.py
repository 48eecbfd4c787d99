"""Named parts of a vector in two versions, whether slices of a bundle or fields of a stage: added, moved, resized, renamed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from rigpact.contract.compatibility.change import Change, change


class Part(Protocol):
    """A slice or a field."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def start(self) -> int:
        """Its first number."""
        ...

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        ...


Parts = Iterable[Part]


def renamed_parts(first: Parts, second: Parts) -> dict[str, str]:
    """Old names that became new ones: a part that is gone and one that is new at the very same place are one."""
    names = {each.name for each in first}, {each.name for each in second}
    gone = {(each.start, each.size): each.name for each in first if each.name not in names[1]}
    new = (each for each in second if each.name not in names[0])
    return {gone[each.start, each.size]: each.name for each in new if (each.start, each.size) in gone}


def compare_parts(noun: str, pointer: Callable[[str], str], first: Parts, second: Parts) -> Iterator[Change]:
    """Yield what changed in the parts of a vector; noun: how kinds of change call a part. Names do not repeat."""
    renames = renamed_parts(first, second)
    old, new = {each.name: each for each in first}, {each.name: each for each in second}
    for name, each in old.items():
        if name in renames:
            other = renames[name]
            yield change(f"{noun}-renamed", pointer(other), name, other, f"{name} is called {other}")
        elif name not in new:
            yield change(f"{noun}-removed", pointer(name), _place(each), None, f"{name} {_range(each)} is gone")
        else:
            yield from _compare_part(noun, pointer(name), each, new[name])
    for name, each in new.items():
        if name not in old and name not in renames.values():
            yield change(f"{noun}-added", pointer(name), None, _place(each), f"{name} {_range(each)} is new")


def _compare_part(noun: str, pointer: str, first: Part, second: Part) -> Iterator[Change]:
    values = (pointer, _place(first), _place(second))
    if first.size != second.size:
        message = f"{first.name} holds {second.size} numbers, held {first.size}"
        yield change(f"{noun}-resized", *values, message)
    if first.start != second.start:
        yield change(f"{noun}-moved", *values, f"{first.name} starts at {second.start}, started at {first.start}")


def _place(part: Part) -> dict[str, int]:
    return {"start": part.start, "size": part.size}


def _range(part: Part) -> str:
    return f"[{part.start}, {part.start + part.size})"
