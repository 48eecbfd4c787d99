"""Regular expressions of joints, in a time that grows with the expression and the name, whatever they hold.

Python's own matcher tries one way after the other: a stranger's file could keep it for years. Here each part of an expression
says at which places of the name it can end, for all places where it can begin at once: a number whose bits are the places.
"""

import re
from collections.abc import Callable
from functools import lru_cache

_LONGEST = 200
_CHARACTER = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]|\\[dDwWsS]|\\[^a-zA-Z0-9]|[^\\\[\](){}|*+?]", re.DOTALL)
"""What stands for one character of a name."""
Part = Callable[[str, int], int]
"""The places where a part can end, from those where it begins."""


def is_whole(pattern: str, name: str) -> bool:
    """Whether an expression is the whole of a name; ValueError for one that is none, or is not read."""
    longest = max(len(pattern), len(name))
    if longest > _LONGEST:
        raise ValueError(f"{longest} characters")
    return bool(_parsed(pattern)(name, 1) >> len(name) & 1)


@lru_cache(maxsize=256)
def _parsed(pattern: str) -> Part:
    reader = _Reader(pattern)
    part = reader.either()
    if reader.at < len(pattern):
        raise ValueError("a bracket that closes nothing")
    return part


class _Reader:
    """The text of an expression, from the place that was reached."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.repetitions = text, 0, 0

    def takes(self, word: str) -> bool:
        """Go over a word if it stands here."""
        stands = self.text.startswith(word, self.at)
        self.at += len(word) * stands
        return stands

    def either(self) -> Part:
        """Ways with | between them."""
        ways = [self.chain()]
        while self.takes("|"):
            ways.append(self.chain())

        def ends(name: str, begins: int) -> int:
            found = 0
            for way in ways:
                found |= way(name, begins)
            return found

        return ends

    def chain(self) -> Part:
        """One part after the other."""
        parts: list[Part] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            parts.append(self.repeated())

        def ends(name: str, begins: int) -> int:
            for part in parts:
                begins = part(name, begins)
            return begins

        return ends

    def repeated(self) -> Part:
        """A part, and how often it stands."""
        before = self.repetitions
        part = self.single()
        sign = next((each for each in "*+?" if self.takes(each)), "")
        if not sign:
            return part
        self.takes("?")  # a shorter way first: the same names fit
        if sign == "?":
            return lambda name, begins: begins | part(name, begins)
        self.repetitions += 1
        if self.repetitions > before + 1:
            raise ValueError("a repetition of a repetition")

        def ends(name: str, begins: int) -> int:
            found = begins if sign == "*" else part(name, begins)
            new = found
            while new:
                new = part(name, new) & ~found
                found |= new
            return found

        return ends

    def single(self) -> Part:
        """A character, a group, what stands ahead, or an end of the name."""
        if self.takes("^"):
            return lambda _, begins: begins & 1
        if self.takes("$"):
            return lambda name, begins: begins & 1 << len(name)
        if self.takes("("):
            sign = next((each for each in ("?:", "?=", "?!") if self.takes(each)), "")
            inside = self.either()
            if not self.takes(")"):
                raise ValueError("a bracket that is not closed")
            return inside if sign in ("", "?:") else _ahead(inside, is_there=sign == "?=")
        found = _CHARACTER.match(self.text, self.at)
        if found is None:
            raise ValueError(f"{self.text[self.at : self.at + 8]!r}, which is not read here")
        self.at = found.end()
        fits = re.compile(found[0]).fullmatch
        return lambda name, begins: sum(
            2 << place for place, each in enumerate(name) if begins >> place & 1 and fits(each)
        )


def _ahead(part: Part, *, is_there: bool) -> Part:
    """The places from which a part can go on, or cannot."""
    return lambda name, begins: sum(
        1 << place
        for place in range(len(name) + 1)
        if begins >> place & 1 and (part(name, 1 << place) != 0) == is_there
    )
