"""Numbers of two contracts that belong together: which moved by more than rounding, and the worst of each group."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.compatibility.change import Change, change
from rigpact.contract.statistics import FloatArray

SAME, ROUNDED, DRIFTED, MOVED = range(4)
_ALIKE = 1e-3


@dataclass(frozen=True)
class Worst:
    """The worst number of a group: its place, by how much it moved; how many moved, and whether all by the same amount."""

    place: int
    amount: float
    values: tuple[float, float]
    count: int
    are_alike: bool


def number_changes(
    old: FloatArray,
    new: FloatArray,
    amount: FloatArray,
    kinds: Callable[[str], tuple[str, str, str]],
    say: Callable[[Worst], tuple[str, str]],
    *,
    limit: float = 0.0,
    groups: Sequence[str] = (),
    rounded: NDArray[np.bool_] | None = None,
) -> Iterator[Change]:
    """Yield one change for each group of numbers that differ, by the worst: numbers of one meaning on both sides.

    old, new: (N,) or (N, K), with an amount (N,) by which each moved. kinds: of what rounding explains in a group, of what moved
    by less than `limit`, of the rest. groups: one change for each. say: the place and the sentence of a change. rounded: (N,); by
    default, what differs by one float32 step at most.
    """
    masks = (old == new) | (np.isnan(old) & np.isnan(new)), is_rounding(old, new) if rounded is None else rounded
    known = [each.all(axis=tuple(range(1, old.ndim))) for each in masks]
    grade = np.select([*known, amount < limit], [SAME, ROUNDED, DRIFTED], default=MOVED).astype(np.int64)
    amount = np.where(np.isnan(amount), np.inf, amount)
    places_of: dict[str, list[int]] = {}
    for place in np.flatnonzero(grade).tolist():
        places_of.setdefault(groups[place] if groups else "", []).append(place)
    for group, places in places_of.items():
        worst = max(places, key=lambda place: (grade[place], amount[place]))
        are_alike = len(places) > 1 and bool(np.ptp(amount[places]) <= _ALIKE * amount[worst])
        values = old[worst].tolist(), new[worst].tolist()
        pointer, message = say(Worst(worst, float(amount[worst]), values, len(places), are_alike))
        yield change(kinds(group)[grade[worst] - 1], pointer, *values, message)


def is_rounding(a: FloatArray, b: FloatArray) -> NDArray[np.bool_]:
    """Whether numbers are one float32 step apart at most."""
    with np.errstate(all="ignore"):
        step = np.spacing(np.maximum(np.abs(a), np.abs(b)).astype(np.float32)).astype(np.float64)
        return np.asarray((a == b) | (np.abs(a - b) <= step))


def constant(_group: str) -> tuple[str, str, str]:
    """The kinds of a number that nobody measures again: it is the same, or it is another one."""
    return "constant-rounded", "constant-changed", "constant-changed"


def from_to(what: str, found: Worst, by: str = "") -> str:
    """The first half of a sentence about the worst number."""
    return f"{what} goes from {found.values[0]:.7g} to {found.values[1]:.7g}{by}"


def and_others(found: Worst, of: int) -> str:
    """How many numbers of a table changed, where it is more than the one that was named."""
    return f"; {found.count} of {of} numbers changed" if found.count > 1 else ""
