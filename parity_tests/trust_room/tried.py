"""What a test of this room tried, in words that docs/trust.md prints. To add a row: decorate a test of this folder.

A module of this folder is one section of the page; the first line of its docstring is the heading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeVar

Test = TypeVar("Test", bound=Callable[..., object])


@dataclass(frozen=True)
class Tried:
    """One row of docs/trust.md: something was tried, and this is what rigpact answers."""

    kind: Literal["refused", "passes"]
    tried: str
    answer: str


def refused(tried: str, answer: str) -> Callable[[Test], Test]:
    """Mark a test that tries a pass that would be wrong: what was tried, and what rigpact answers (rule, exit code)."""
    return _mark(Tried("refused", tried, answer))


def passes(tried: str, answer: str = "passes") -> Callable[[Test], Test]:
    """Mark a test that tries a variation that is not a defect, and shows that it raises no alarm."""
    return _mark(Tried("passes", tried, answer))


def tries(rows: Iterable[tuple[Literal["refused", "passes"], str, str]]) -> Callable[[Test], Test]:
    """Mark a test that tries a table of cases: of each the kind, what was tried, and the answer."""

    def mark(test: Test) -> Test:
        for kind, tried, answer in reversed(list(rows)):
            _mark(Tried(kind, tried, answer))(test)
        return test

    return mark


def _mark(row: Tried) -> Callable[[Test], Test]:
    def mark(test: Test) -> Test:
        rows: list[Tried] = getattr(test, "tried", [])
        test.tried = [row, *rows]  # type: ignore[attr-defined]
        return test

    return mark
