"""One table of a configuration file, read key by key. A value that is not allowed is refused, and the error names its place.

This module does not know what the keys mean; configuration.py and gate.py do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files.reading import refuse_word_outside


@dataclass(frozen=True)
class SettingsTable:
    """A table at a dotted name of a file; `content` is what it holds. Absent keys give None, or nothing."""

    path: Path
    name: str
    content: Mapping[str, Any]

    def refuse_unknown(self, known: Iterable[str]) -> SettingsTable:
        """Return the table; UnusableInput for an unknown key, with the nearest known one."""
        for key in self.content:
            if key not in known:
                expected = f"one of {', '.join(known)}"
                raise UnusableInput(self.place(key), f"the key {key!r}", expected, did_you_mean(key, known))
        return self

    def place(self, key: str = "") -> str:
        """What an error calls a key of this table."""
        return f"{self.path}: {'.'.join(filter(None, (self.name, key)))}"

    def text(self, key: str, expected: str = "a file name") -> str | None:
        """Non-empty text."""
        value = self.content.get(key)
        if value is None or (isinstance(value, str) and value):
            return value
        raise UnusableInput(self.place(key), repr(value), expected)

    def file(self, key: str, expected: str = "a file name") -> str | None:
        """A file's name; UnusableInput for one outside of the repository."""
        name = self.text(key, expected)
        if name is not None:
            self._refuse_outside(key, name)
        return name

    def files(self, key: str, expected: str) -> tuple[str, ...]:
        """Names and patterns of files; UnusableInput for one that leads out of the repository."""
        names = self.texts(key, expected)
        for name in names:
            self._refuse_outside(key, name)
        return names

    def required_file(self, key: str, expected: str) -> str:
        """A file's name that must be there."""
        self._refuse_outside(key, name := self.required_text(key, expected))
        return name

    def _refuse_outside(self, key: str, name: str) -> None:
        refuse_word_outside(name, self.path.resolve().parent, self.place(key))

    def required_text(self, key: str, expected: str) -> str:
        """Text that must be there."""
        value = self.text(key, expected)
        if value is None:
            raise UnusableInput(self.place(), f"no {key}", expected)
        return value

    def texts(self, key: str, expected: str) -> tuple[str, ...]:
        """A list of texts; a single text makes a list of one."""
        value = self.content.get(key, [])
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not all(isinstance(each, str) and each for each in values):
            raise UnusableInput(self.place(key), repr(value), expected)
        return tuple(values)

    def number(self, key: str) -> float | None:
        """A positive finite number."""
        value = self.content.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
            raise UnusableInput(self.place(key), repr(value), "a positive number")
        return float(value)

    def count(self, key: str) -> int | None:
        """A positive whole number."""
        value = self.number(key)
        if value is None:
            return None
        if value != int(value):
            raise UnusableInput(self.place(key), repr(self.content[key]), "a whole number")
        return int(value)

    def flag(self, key: str) -> bool:
        """True or false; false where it is absent."""
        value = self.content.get(key, False)
        if not isinstance(value, bool):
            raise UnusableInput(self.place(key), repr(value), "true or false")
        return value

    def table(self, key: str) -> SettingsTable:
        """A table inside; an empty one where it is absent."""
        value = self.content.get(key, {})
        name = ".".join(filter(None, (self.name, key)))
        if not isinstance(value, Mapping):
            raise UnusableInput(self.place(key), repr(value), f"a table, headed [{name}]")
        return SettingsTable(self.path, name, value)

    def tables(self, key: str) -> tuple[SettingsTable, ...]:
        """A list of tables."""
        value = self.content.get(key, [])
        name = ".".join(filter(None, (self.name, key)))
        if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
            raise UnusableInput(self.place(key), repr(value), f"tables, each headed [[{name}]]")
        return tuple(SettingsTable(self.path, f"{name}[{index}]", each) for index, each in enumerate(value))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint at the known word that is nearest, if one is near."""
    spelt = {each.lower(): each for each in known}
    close = get_close_matches(word.lower(), spelt, n=9, cutoff=0.5)
    if not close:
        return ""
    # letters at the same place count most: RP07O is nearest to RP070
    best = max(close, key=lambda each: sum(a == b for a, b in zip(each, word.lower(), strict=False)))
    return f"{spelt[best]!r} was meant?"
