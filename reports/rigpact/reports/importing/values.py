"""Values of a foreign file with their places, so that every mistake in it is one clear error."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rigpact.contract.declared.problems import shown
from rigpact.contract.errors import UnusableInput, near
from rigpact.contract.json_pointer import Token, json_pointer

_LONGEST_LIST = 65536


@dataclass(frozen=True)
class Node:
    """A value at its place in a file."""

    value: Any
    path: Path
    tokens: tuple[Token, ...] = ()

    @property
    def place(self) -> str:
        """The file and the pointer into it."""
        return f"{self.path}#{json_pointer(*self.tokens)}"

    def wrong(self, expected: str, hint: str = "", found: str | None = None) -> UnusableInput:
        """The error that this value gives."""
        return UnusableInput(self.place, shown(self.value) if found is None else found, expected, hint)

    @property
    def is_nothing(self) -> bool:
        """Whether the key is not there, or null."""
        return self.value is None

    def get(self, key: Token) -> Node:
        """What stands under a key; a Node of None where there is nothing."""
        inside = self.value.get(key) if isinstance(self.value, Mapping) else None
        return Node(inside, self.path, (*self.tokens, key))

    def need(self, key: Token, expected: str) -> Node:
        """What stands under a key that must be there."""
        found = self.table().get(key)
        if found.is_nothing:
            raise UnusableInput(found.place, "nothing", expected, near(key, [str(each) for each in self.value]))
        return found

    def table(self) -> Node:
        """This value, which must be a table."""
        if not isinstance(self.value, Mapping):
            raise self.wrong("a table of names and values")
        return self

    def children(self) -> Iterator[tuple[str, Node]]:
        """The entries of a table."""
        for key in self.table().value:
            if not isinstance(key, str):
                raise self.wrong("names as keys", found=f"the key {shown(key)}")
            yield key, self.get(key)

    def elements(self) -> list[Node]:
        """The elements of a list."""
        if not isinstance(self.value, list):
            raise self.wrong("a list")
        if len(self.value) > _LONGEST_LIST:
            raise self.wrong(f"at most {_LONGEST_LIST}", found=f"{len(self.value)} elements")
        return [Node(each, self.path, (*self.tokens, place)) for place, each in enumerate(self.value)]

    def only(self, entries: Sequence[tuple[str, Node]], expected: str, hint: str = "") -> Node:
        """The one entry of this table; UnusableInput where there are more, or none."""
        if len(entries) != 1:
            names = ", ".join(name for name, _ in entries) or "none"
            raise self.wrong(expected, hint, f"{self.tokens[-1]}: {names}")
        return entries[0][1]

    def word(self) -> str:
        """A text that is not empty."""
        if not isinstance(self.value, str) or not self.value:
            raise self.wrong("a name")
        return self.value

    def words(self) -> tuple[str, ...]:
        """Names, each once."""
        found = tuple(each.word() for each in self.elements())
        twice = next((name for name in found if found.count(name) > 1), None)
        if twice is not None:
            raise self.wrong("each name once", found=f"{shown(twice)} twice")
        return found

    def number(self) -> float:
        """A finite number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float) or not _is_finite(self.value):
            raise self.wrong("a number")
        return float(self.value)

    def whole(self, low: int = 0, *, otherwise: int | None = None) -> int:
        """A whole number of at least `low`; `otherwise` where there is nothing."""
        if self.is_nothing and otherwise is not None:
            return otherwise
        if isinstance(self.value, bool) or not isinstance(self.value, int) or not low <= self.value < 1 << 20:
            raise self.wrong(f"a whole number of at least {low}")
        return self.value

    def wholes(self, low: int = 0) -> list[int]:
        """A list of whole numbers of at least `low`."""
        return [each.whole(low) for each in self.elements()]

    def numbers(self, count: int | None = None, of: str = "") -> list[float]:
        """A list of numbers; `count` of them, one for each of what `of` says."""
        found = [each.number() for each in self.elements()]
        if count is not None and len(found) != count:
            raise self.wrong(f"{count}{of and f', one for each {of}'}", found=f"{len(found)} numbers")
        return found

    def one_or_each(self, count: int, of: str) -> float | list[float] | None:
        """One number for all, or one for each; one for all too where they are equal; None where there is nothing."""
        if self.is_nothing:
            return None
        if not isinstance(self.value, list):
            return self.number()
        found = self.numbers(count, of)
        return found[0] if found and len(set(found)) == 1 else found

    def limit(self) -> tuple[float, float] | None:
        """A number as a range around zero; None where there is nothing."""
        return None if self.is_nothing else (-self.number(), self.number())

    def range(self) -> tuple[float, float] | None:
        """A low and a high end; None where there is nothing."""
        if self.is_nothing:
            return None
        low, high = self.ends()
        if not low < high:
            raise self.wrong("a low end below the high end")
        return low, high

    def ends(self) -> tuple[float, float]:
        """Two numbers, which may be infinite."""
        ends = self.elements()
        if len(ends) != 2:
            raise self.wrong("a low and a high end", found=f"{len(ends)} numbers")
        low, high = (each.value if each.value in (math.inf, -math.inf) else each.number() for each in ends)
        return float(low), float(high)


def rate_of_step(seconds: float, node: Node) -> float:
    """Frames a second; UnusableInput at the node that says a step which no policy has."""
    if not 1e-5 <= seconds <= 10.0:
        raise node.wrong("the seconds of a step, 0.02 for 50 a second")
    return round(1.0 / seconds, 6)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond float64
        return False
