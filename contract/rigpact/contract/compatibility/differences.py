"""Two versions side by side: words and other values, numbers of one meaning, and named parts of a vector."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.compatibility.kinds import Change, change
from rigpact.contract.json_pointer import Token
from rigpact.contract.layout import Slice
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.layout import Field

UNDECLARED = object()
"""What stands for a key that a version does not have."""
DECLARED = ("declaration-added", "declaration-removed")
"""A declaration that came or went and says what was meant before."""
Both = tuple[Any, Any]
"""The old and the new value."""
_SHOWN_CHARACTERS = 80


def same(first: Any, second: Any) -> bool:
    """Equal as JSON: 60 is 60.0, but true is not 1; NaN equals itself."""
    if isinstance(first, float) and isinstance(second, float) and math.isnan(first) and math.isnan(second):
        return True
    return (
        (isinstance(first, bool) == isinstance(second, bool)) and bool(first == second) if first is not second else True
    )


def text_of(value: Any) -> str:
    """The value in a sentence, cut where it is long."""
    if value is UNDECLARED:
        return "undeclared"
    text = "null" if value is None else str(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


def short_of(value: Any) -> Any:
    """The value itself where it is short, else the beginning of its text."""
    return None if value is UNDECLARED else value if len(str(value)) <= _SHOWN_CHARACTERS else text_of(value)


def differences(
    first: Any, second: Any, path: tuple[Token, ...] = (), depth: int | None = None
) -> Iterator[tuple[tuple[Token, ...], Both]]:
    """Yield every place where two JSON values differ: arrays as a whole, objects by member, down to a depth.

    The members of an object that appears or disappears are yielded one by one, so that each is judged by its own meaning.
    """
    if same(first, second):
        return
    sides = [{} if one is UNDECLARED and other else one for one, other in ((first, second), (second, first))]
    if depth == 0 or not all(isinstance(side, Mapping) for side in sides):
        yield path, (first, second)
        return
    for key in sorted(sides[0].keys() | sides[1].keys()):
        below = None if depth is None else depth - 1
        yield from differences(sides[0].get(key, UNDECLARED), sides[1].get(key, UNDECLARED), (*path, key), below)


def word_changes(
    kind: str,
    pointer: str,
    what: str,
    written: Both,
    meant: Both | None = None,
    *,
    shown: Both | None = None,
    tail: str = "",
    silent: tuple[str, str] = DECLARED,
) -> Iterator[Change]:
    """Yield what changed in one thing that contracts say: what it is called, what both sides wrote and what they mean by it.

    Without `meant`, the words mean themselves. Where the meaning is the same, a declaration came or went (`silent`), or is
    spelled otherwise. shown: what the sentence says, if it is not what was written.
    """
    meaning = written if meant is None else meant
    if same(*written) and same(*meaning):
        return
    if not any(value is UNDECLARED for value in meaning) and same(*meaning):
        is_silent = any(value is UNDECLARED for value in written)
        kind = silent[0 if written[0] is UNDECLARED else 1] if is_silent else "spelled-differently"
    message = f"{what}: {' → '.join(map(text_of, shown or written))}{tail}"
    yield change(kind, pointer, short_of(written[0]), short_of(written[1]), message)


SAME, ROUNDED, DRIFTED, MOVED = range(4)
_ALIKE = 1e-3


@dataclass(frozen=True)
class Worst:
    """The worst number of a group: its place, by how much it moved; how many moved, and whether all by the same amount."""

    place: int
    amount: float
    values: tuple[float, float]
    count: int
    are_alike: bool


def number_changes(
    old: FloatArray,
    new: FloatArray,
    amount: FloatArray,
    kinds: Callable[[str], tuple[str, str, str]],
    say: Callable[[Worst], tuple[str, str]],
    *,
    limit: float = 0.0,
    groups: Sequence[str] = (),
    rounded: NDArray[np.bool_] | None = None,
) -> Iterator[Change]:
    """Yield one change for each group of numbers that differ, by the worst: numbers of one meaning on both sides.

    old, new: (N,) or (N, K), with an amount (N,) by which each moved. kinds: of what rounding explains in a group, of what moved
    by less than `limit`, of the rest. groups: one change for each. say: the place and the sentence of a change. rounded: (N,); by
    default, what differs by one float32 step at most.
    """
    masks = (old == new) | (np.isnan(old) & np.isnan(new)), is_rounding(old, new) if rounded is None else rounded
    known = [each.all(axis=tuple(range(1, old.ndim))) for each in masks]
    grade = np.select([*known, amount < limit], [SAME, ROUNDED, DRIFTED], default=MOVED).astype(np.int64)
    amount = np.where(np.isnan(amount), np.inf, amount)
    places_of: dict[str, list[int]] = {}
    for place in np.flatnonzero(grade).tolist():
        places_of.setdefault(groups[place] if groups else "", []).append(place)
    for group, places in places_of.items():
        worst = max(places, key=lambda place: (grade[place], amount[place]))
        are_alike = len(places) > 1 and bool(np.ptp(amount[places]) <= _ALIKE * amount[worst])
        values = old[worst].tolist(), new[worst].tolist()
        pointer, message = say(Worst(worst, float(amount[worst]), values, len(places), are_alike))
        yield change(kinds(group)[grade[worst] - 1], pointer, *values, message)


def is_rounding(a: FloatArray, b: FloatArray) -> NDArray[np.bool_]:
    """Whether numbers are one float32 step apart at most."""
    with np.errstate(all="ignore"):
        step = np.spacing(np.maximum(np.abs(a), np.abs(b)).astype(np.float32)).astype(np.float64)
        return np.asarray((a == b) | (np.abs(a - b) <= step))


def constant_changes(
    old: FloatArray,
    new: FloatArray,
    amount: FloatArray,
    told: Callable[[Worst], tuple[str, str, str]],
    rounded: NDArray[np.bool_] | None = None,
) -> Iterator[Change]:
    """Yield the worst of numbers (N,) that nobody measures again: each is the same, or another one.

    told: where it stands, what it is called, by how much or at which name it moved.
    """

    def say(found: Worst) -> tuple[str, str]:
        pointer, what, by = told(found)
        others = f"; {found.count} of {old.size} numbers changed" if found.count > 1 else ""
        return pointer, from_to(what, found, by) + others

    kinds = "constant-rounded", "constant-changed", "constant-changed"
    return number_changes(old, new, amount, lambda _group: kinds, say, rounded=rounded)


def from_to(what: str, found: Worst, by: str = "") -> str:
    """The first half of a sentence about the worst number."""
    return f"{what} goes from {found.values[0]:.7g} to {found.values[1]:.7g}{by}"


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
