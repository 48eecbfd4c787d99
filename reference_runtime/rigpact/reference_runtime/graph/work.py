"""How much was computed: counted in numbers, so that the same files cost the same on any machine under any load.

Counted is where stages are evaluated, where an edit is tried and where a reading is judged; nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rigpact.contract.statistics import FloatArray

EACH = 4096
"""What an evaluation costs beside its numbers: as much as so many of them."""
ANSWER = 32
"""An answer of a network counts as so many numbers for each of its own: those of the layers before it."""
SEARCHED_FRAMES = 600
"""Ten seconds at 60 frames a second tell an edit. Of a longer recording the rest is proof, no search ends for it."""


@dataclass(eq=False)
class Work:
    """Numbers that were computed so far. stops: is asked at each evaluation, and raises what ends a run at its deadline."""

    done: int = 0
    stops: Callable[[], None] = lambda: None

    def add(self, rows: FloatArray, weight: int = 1, evaluations: int = 1) -> None:
        """Count what one evaluation gave, (T, width), or several together."""
        self.stops()
        frames = len(rows)
        self.done += evaluations * EACH + weight * (rows.size // max(frames, 1)) * min(frames, SEARCHED_FRAMES)
