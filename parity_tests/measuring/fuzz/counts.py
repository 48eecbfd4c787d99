"""How executions of readers ended, counted."""

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass
class Count:
    """How the executions of one reader ended. places: where anything but a typed error came from, and how often.

    reached: places of the code that a guided run reached with the sound files, and in the end.
    """

    reader: str
    executions: int = 0
    typed: int = 0
    passed: int = 0
    crashes: int = 0
    hangs: int = 0
    peak_mb: int = 0
    slowest_s: float = 0.0
    places: dict[str, int] = field(default_factory=dict)
    reached: tuple[int, int] | None = None


def together(name: str, counts: Iterable[Count]) -> Count:
    """Several counts as one: sums, and the largest of what is not a sum."""
    counts = list(counts)
    total = Count(name, reached=counts[0].reached if len(counts) == 1 else None)
    for count in counts:
        for each in ("executions", "typed", "passed", "crashes", "hangs"):
            setattr(total, each, getattr(total, each) + getattr(count, each))
        total.peak_mb, total.slowest_s = max(total.peak_mb, count.peak_mb), max(total.slowest_s, count.slowest_s)
        for place, times in count.places.items():
            total.places[place] = total.places.get(place, 0) + times
    return total
