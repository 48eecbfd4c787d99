"""Faults of a declaration, before they become findings."""

from collections.abc import Iterable
from enum import StrEnum

from rigpact.contract.errors import near
from rigpact.contract.json_pointer import Token, json_pointer

_SHOWN_NAMES = 12
_SHOWN_CHARACTERS = 60


class Wrong(StrEnum):
    """The kinds of mistakes in a declaration: one rule each (`rigpact.contract.rules.declared`)."""

    UNKNOWN_WORD = "unknown word"
    MISSING = "missing"
    OUT_OF_ORDER = "out of order"
    WIDTH = "width"
    NUMBERS = "numbers"
    SOURCE = "source"
    CHOICE = "choice"
    NAMED_TWICE = "named twice"
    KIND = "kind"


class Misdeclared(Exception):
    """One mistake: its kind, where it stands, what was found and what was expected, and what to do."""

    def __init__(self, kind: Wrong, path: Iterable[Token], found: str, expected: str, hint: str = "") -> None:
        """path: the keys from the root of the file."""
        self.kind, self.pointer, self.found, self.expected, self.hint = kind, json_pointer(*path), found, expected, hint
        super().__init__(f"{self.pointer}: found {found}, expected {expected}")


class NotBuilt(Exception):
    """What something is made of was not built; its own mistake is noted already."""


def unknown(path: Iterable[Token], word: object, known: Iterable[str], what: str) -> Misdeclared:
    """A word that names nothing, with the nearest word that does."""
    names = list(known)
    listed = ", ".join(names[:_SHOWN_NAMES]) + (", …" if len(names) > _SHOWN_NAMES else "")
    expected = f"{what}: {listed}" if names else f"{what}; none is declared"
    return Misdeclared(Wrong.UNKNOWN_WORD, path, shown(word), expected, near(word, names))


def shown(value: object) -> str:
    """A value of the file, short."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
