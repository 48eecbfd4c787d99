"""Errors for an input of the caller that cannot be used.

    UnusableInput            a file, an argument or an artefact that nothing can be computed from (exit 2)
      ContractRefused        a contract that the engine itself would refuse to load; carries the findings
      OwnFunctionFailed      a function of an operation that rigpact does not bring
      ModelFailed            a model that loads and fails when it runs

A *finding* (findings.py) is something wrong inside a file that could be read; it is data, not an exception.
`Misdeclared` is a fault of a declaration, before it becomes a finding.
Anything else that escapes is a defect of rigpact (exit 3).
"""

from __future__ import annotations

import copyreg
import errno
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher, get_close_matches
from enum import StrEnum
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Any

from rigpact.contract.json_pointer import Token, json_pointer

if TYPE_CHECKING:
    from rigpact.contract.findings import Finding


class UnusableInput(Exception):
    """Input that cannot be used: where it stands, what was found, what was expected, what to do.

    Nothing parses the text; read the fields.
    """

    def __init__(self, place: object, found: str, expected: str, hint: str = "") -> None:
        """Keep the four fields; `place` is a path, a path with a JSON pointer, or an argument's name."""
        self.place, self.found, self.expected, self.hint = str(place), found, expected, hint
        super().__init__(self.one_line())

    def __reduce__(self) -> tuple[Any, ...]:
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]

    def one_line(self) -> str:
        """Render the error on one line: control characters of hostile names escaped, the middle of long texts left out."""
        place, found, expected, hint = (
            shortened(printable(each)) for each in (self.place, self.found, self.expected, self.hint)
        )
        text = f"{place}: found {found}, expected {expected}"
        return f"{text} (hint: {hint})" if hint else text


def near(word: object, names: Iterable[str]) -> str:
    """A hint at the nearest of the known words; empty where none is near.

    Of names that are equally near, the one with the most letters at the same place: RP07O is nearest to RP070.
    """
    text, spelt = str(word).lower(), {each.lower(): each for each in names}

    def nearness(name: str) -> tuple[float, int]:
        return SequenceMatcher(None, name, text).ratio(), sum(a == b for a, b in zip(name, text, strict=False))

    best = max(get_close_matches(text, spelt, 9), key=nearness, default="")
    return f"did you mean {spelt[best]}?" if best else ""


def printable(text: object) -> str:
    """Text of a user's file with control characters escaped: it steers no terminal and begins no line."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in str(text))


_SHOWN_CHARACTERS = 160
LONGEST_SHOWN = 800
"""Characters of a place, of what was found, of what was expected: a file's own words may be megabytes long."""


def shortened(text: str) -> str:
    """Text of at most that length; of a longer one its beginning and its end, and how much lies between."""
    if len(text) <= LONGEST_SHOWN:
        return text
    half = LONGEST_SHOWN // 2 - 20
    return f"{text[:half]} … {len(text) - 2 * half} more … {text[-half:]}"


def line_of(error: BaseException, file: str) -> str:
    """` in line N`, the last line of the file that led to the error; nothing where it is none of the file's lines."""
    name = Path(file).name
    lines = [line for frame, line in walk_tb(error.__traceback__) if Path(frame.f_code.co_filename).name == name]
    return f" in line {lines[-1]}" if lines else ""


def error_text(error: BaseException) -> str:
    """An exception in one line: its type and the start of its message."""
    text = " ".join(str(error).split())
    shown = text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"
    return f"{type(error).__name__}: {shown}" if shown else type(error).__name__


class OwnFunctionFailed(UnusableInput):
    """A function of somebody's own operation that fails, or returns something else than numbers: never a reading to pass over."""


class ModelFailed(UnusableInput):
    """A model that loads, but fails on inputs of the right widths: a fixed batch, a reshape that does not fit."""


DISK_REFUSES = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO})
"""Errors of a disk that is full, beyond a quota, read-only or broken: no defect of rigpact."""


def disk_refusal(place: object, error: OSError) -> UnusableInput:
    """The error of a disk that takes no more bytes."""
    return UnusableInput(place, f"a disk that refuses ({error.strerror})", "room to write", "nothing was kept of it")


class ContractRefused(UnusableInput):
    """A contract that the engine would refuse to load: the character would not initialise."""

    def __init__(self, place: object, findings: Sequence[Finding]) -> None:
        """Describe the first finding and count the others; `findings` keeps them all."""
        self.findings = tuple(findings)
        first = self.findings[0]
        others = f" and {len(self.findings) - 1} more" if len(self.findings) > 1 else ""
        super().__init__(
            f"{place}#{first.pointer}",
            f"{first.rule.code} {first.message}{others}",
            "a contract that the engine can load",
            "run `rigpact check` on it for every finding",
        )


_SHOWN_NAMES = 12
_SHOWN_OF_VALUES = 60


class Wrong(StrEnum):
    """The kinds of mistakes in a declaration: one rule each (`rigpact.contract.rules.contract_files`)."""

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
    return text if len(text) <= _SHOWN_OF_VALUES else f"{text[:_SHOWN_OF_VALUES]}…"
