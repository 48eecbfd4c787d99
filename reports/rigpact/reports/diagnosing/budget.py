"""How much a search may compute: what it looks at after that is not tried, and is named.

A search asks for its candidates through `within`. What stands last in a search is what a small budget leaves out, so the cheap
and the likely comes first. A budget counts work (reference_runtime/graph/work.py), never seconds: the same recording has the
same answer on every machine under any load. A deadline ends a run, and changes no answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from rigpact.contract.as_json import AsJson
from rigpact.reference_runtime.graph.work import Work

Candidate = TypeVar("Candidate")

MILLION = 1_000_000


class DeadlinePassed(Exception):
    """A run took longer than it may. It is no bad input: nothing that a search passes over."""


@dataclass(frozen=True)
class Search(AsJson):
    """What came of a budget. budget: its millions of numbers, None without a limit; not_tried: what was left, in words."""

    KEYS = "budget is_complete not_tried"
    budget: float | None = None
    not_tried: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether everything was tried."""
        return not self.not_tried

    @property
    def sentence(self) -> str:
        """That the search was cut, and what it left; nothing of one that was not."""
        if self.is_complete:
            return ""
        words = (
            f"the search ended at its budget of {self.budget:g} million numbers; not tried: {', '.join(self.not_tried)}"
        )
        return f"{words} (--budget MILLIONS, 0 without a limit)"


def searches_together(searches: Iterable[Search]) -> Search | None:
    """Several searches as one; None where there was none."""
    found = list(searches)
    words = dict.fromkeys(words for each in found for words in each.not_tried)
    return Search(found[0].budget, tuple(words)) if found else None


@dataclass(eq=False)
class Budget:
    """Millions of numbers that a search may compute; None: without a limit. says: is told what is looked at now.

    work: counts what the replays of the search compute; they are given it by who searches.
    """

    millions: float | None = None
    says: Callable[[str], None] = field(default=lambda _words: None)
    work: Work = field(default_factory=Work)
    _end: float | None = None
    _left: dict[str, None] = field(default_factory=dict)

    @classmethod
    def unlimited(cls) -> Budget:
        """A search to its end."""
        return cls()

    @classmethod
    def spent(cls) -> Budget:
        """No search at all: stages are judged, and nothing is tried."""
        return cls(0.0)

    def ends_after(self, seconds: float | None) -> Budget:
        """The same, in a run that raises `DeadlinePassed` when it goes on for longer; None: without a deadline."""
        end = time.monotonic() + (seconds or 0.0)

        def stops() -> None:
            if time.monotonic() > end:
                raise DeadlinePassed

        if seconds is not None:
            self.work.stops = stops
        return self

    def start(self) -> None:
        """Begin to count; what was started counts on."""
        if self._end is None and self.millions is not None:
            self._end = self.work.done + self.millions * MILLION

    def part(self, share: float = 0.5) -> Budget:
        """A share of what is left of it, so that what comes later is tried too; both say together what was not tried."""
        part = Budget(self.millions, self.says, self.work, _left=self._left)
        if self._end is not None:
            part._end = self.work.done + share * max(self._end - self.work.done, 0.0)
        return part

    def anew(self) -> Budget:
        """As much again, for what is looked at after a search; both say together what was not tried."""
        again = Budget(self.millions, self.says, self.work, _left=self._left)
        again.start()
        return again

    @property
    def is_spent(self) -> bool:
        """Whether nothing more may be tried. A budget that was not started is not spent."""
        return self._end is not None and self.work.done >= self._end

    @property
    def was_cut(self) -> bool:
        """Whether something was not tried that was to be."""
        return bool(self.millions and self._left)

    def cuts(self, what: str) -> bool:
        """Whether it is spent, so that `what` is not tried."""
        is_spent = self.is_spent
        if is_spent:
            self._left[what] = None
        return is_spent

    def within(self, candidates: Iterable[Candidate], what: str) -> Iterator[Candidate]:
        """The candidates until the budget is spent; what: all of them, in words."""
        self.says(what)
        if self.cuts(what):
            return
        for each in candidates:
            if self.cuts(what):
                return
            yield each

    @property
    def search(self) -> Search:
        """What came of it so far."""
        return Search(self.millions, tuple(self._left))
