"""How long a search may take: what it looks at after that is not tried, and is named.

A search asks for its candidates through `within`. What stands last in a search is what a small budget leaves out, so the cheap
and the likely comes first. Without a limit the same recording has the same answer on every machine: programs, the gate and tests
search so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

Candidate = TypeVar("Candidate")


@dataclass(frozen=True)
class Search:
    """What came of a budget. budget_s: its seconds, None without a limit; not_tried: what was left, in words."""

    budget_s: float | None = None
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
        words = f"the search ended at its budget of {self.budget_s:g} s; not tried: {', '.join(self.not_tried)}"
        return f"{words} (--budget SECONDS, 0 without a limit)"

    def to_json(self) -> dict[str, Any]:
        """The search as it stands in a `rigpact-diagnosis` document."""
        return {"budget_s": self.budget_s, "is_complete": self.is_complete, "not_tried": list(self.not_tried)}


def searches_together(searches: Iterable[Search]) -> Search | None:
    """Several searches as one; None where there was none."""
    found = list(searches)
    words = dict.fromkeys(words for each in found for words in each.not_tried)
    return Search(found[0].budget_s, tuple(words)) if found else None


@dataclass(eq=False)
class Budget:
    """Seconds of wall-clock from `start` on; None: without a limit. says: is told what is looked at now.

    clock: seconds that only grow; a test gives its own.
    """

    seconds: float | None = None
    says: Callable[[str], None] = field(default=lambda _words: None)
    clock: Callable[[], float] = time.monotonic
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

    def start(self) -> None:
        """Begin to count; what was started counts on."""
        if self._end is None and self.seconds is not None:
            self._end = self.clock() + self.seconds

    def half(self) -> Budget:
        """Half of what is left of it, so that what comes later is tried too; both say together what was not tried."""
        part = Budget(self.seconds, self.says, self.clock, _left=self._left)
        if self._end is not None:
            now = self.clock()
            part._end = now + max(self._end - now, 0.0) / 2.0
        return part

    @property
    def is_spent(self) -> bool:
        """Whether nothing more may be tried. A budget that was not started is not spent."""
        return self._end is not None and self.clock() >= self._end

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
        return Search(self.seconds, tuple(self._left))
