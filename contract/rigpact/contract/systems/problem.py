"""Faults of a system's constants or of its training data, before they become findings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Problem:
    """A contradiction: where (a JSON pointer or the name of an array), what was found, what was expected, what follows."""

    pointer: str
    found: str
    expected: str
    why: str


@dataclass(frozen=True)
class DataCheck:
    """What must hold in every row of a data set that holds the vector `of`; `why` says what follows where it does not.

    same: fields that are one place. computed: the stage whose rows the vector has, where the data hold what it is computed from.
    several: the rows are not all the same. within: how far apart two places may be. judged_by: stages whose operations judge the
    rows, together with those of `labels`, what a network shall answer; moved_by: the stage that computes positions of them.
    """

    of: str
    why: str
    same: Sequence[str] = ()
    computed: str = ""
    several: bool = False
    within: float = 0.0
    judged_by: Sequence[str] = ()
    labels: str = ""
    moved_by: str = ""


def entries(value: Any) -> list[Any]:
    """The entries of a JSON array; anything else gives none, so that a later check finds it too short."""
    return list(value) if isinstance(value, list | tuple) else []
