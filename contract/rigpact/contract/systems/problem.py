"""What is wrong with a system's constants or with its training data, before it becomes a finding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Problem:
    """A contradiction: where (a JSON pointer or the name of an array), what was found, what was expected, what follows."""

    pointer: str
    found: str
    expected: str
    why: str


def entries(value: Any) -> list[Any]:
    """The entries of a JSON array; anything else gives none, so that a later check finds it too short."""
    return list(value) if isinstance(value, list | tuple) else []
