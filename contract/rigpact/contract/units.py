"""Units: the words for them, what kind of quantity each measures, and how large one is in metres or radians.

A unit that is not here keeps its own word where an error is shown, and nothing is known of its size. To add a unit: a row in
`UNITS`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import pi
from typing import Literal

Kind = Literal["length", "angle"]
NO_UNIT = "raw"
"""The unit of numbers that have none, or not all the same."""


@dataclass(frozen=True)
class Unit:
    """One unit: its kind, its size in metres or radians, and other words that bundles have for it."""

    kind: Kind
    si: float
    spelled: tuple[str, ...] = ()


UNITS: Mapping[str, Unit] = {
    "m": Unit("length", 1.0, ("meters", "metres", "meter", "metre")),
    "cm": Unit("length", 0.01),
    "mm": Unit("length", 0.001),
    "km": Unit("length", 1000.0),
    "rad": Unit("angle", 1.0, ("radians", "radian")),
    "deg": Unit("angle", pi / 180.0),
    "turns": Unit("angle", 2.0 * pi),
}


def spellings(name: str) -> tuple[str, ...]:
    """Every word for a unit, its own last."""
    return (*UNITS[name].spelled, name)


def kind_of(word: str) -> Kind | None:
    """The kind of a unit; None for a unit that is not known."""
    return UNITS[word].kind if word in UNITS else None


def is_si(word: str) -> bool:
    """Whether a unit is the metre or the radian."""
    return word in UNITS and UNITS[word].si == 1.0


def sized(word: str, sizes: Mapping[Kind, float], otherwise: float) -> float:
    """A size in metres or radians, by kind, as so many of a unit; `otherwise` where none is said of its kind."""
    kind = kind_of(word)
    return otherwise if kind is None or kind not in sizes else sizes[kind] / UNITS[word].si


def numerator(word: str) -> str:
    """What stands before the first sign of a compound unit: `m` of `m/s`."""
    return re.split(r"[/·* ²^]", word, maxsplit=1)[0]


def shown(words: Iterable[str]) -> str:
    """The one unit of several numbers; `raw` where they have none, or not all the same."""
    found = set(words)
    return (found.pop() if len(found) == 1 else "") or NO_UNIT
