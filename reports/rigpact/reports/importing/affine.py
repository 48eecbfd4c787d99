"""One recorded column as a line of another one: (x - subtract) · scale, perhaps kept within a range.

A line is fitted to every second frame and tested on all; its numbers are the roundest that fit. What fits two different columns
is not told: few values lie on a line of anything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.relations.lines import roundest

Bools = NDArray[np.bool_]
_ROUNDED = 2.0**-21
"""A float32 that went through a subtraction, a factor and a store, relative to the largest number on the way: 8 half units."""
_NARROWER = (0.125, 0.25, 0.5)
"""Parts of this that are tried first: a number that fits more narrowly is nearer to the true one."""
_NEAR = 1e-3
"""1 - correlation of columns that are looked at: a line of float32 numbers is far nearer than this."""
FEW = 3
"""A line goes through any two values: so many different ones are needed."""


@dataclass(frozen=True)
class Line:
    """clip((x - subtract) · scale + offset, lowest, highest). cost: how much has to be said of it."""

    scale: float
    subtract: float
    offset: float = 0.0
    lowest: float | None = None
    highest: float | None = None

    @property
    def cost(self) -> int:
        """0 for a copy, 1 for a factor, 2 for what takes something off, more within a range."""
        cost = 2 if self.subtract or self.offset else int(self.scale != 1.0)
        return cost + 3 * (self.lowest is not None or self.highest is not None)

    @property
    def is_short(self) -> bool:
        """Whether people write its numbers so: six digits at most."""
        return all(float(f"{each:.6g}") == each for each in (self.scale, self.subtract, self.offset))

    def of(self, rows: FloatArray) -> FloatArray:
        """The line at rows."""
        return np.asarray(np.clip((rows - self.subtract) * self.scale + self.offset, self.lowest, self.highest))


def near_columns(held: FloatArray, known: FloatArray) -> Bools:
    """(n, m): whether a column of held (T, n) may be a line of a column of known (T, m)."""
    one, other = (_standard(rows) for rows in (held, known))
    return np.abs(one.T @ other) / max(len(held), 1) > 1.0 - _NEAR


def _standard(rows: FloatArray) -> FloatArray:
    centred = rows - rows.mean(axis=0)
    spread = np.sqrt((centred**2).mean(axis=0))
    moves = spread > _ROUNDED * (1e-30 + np.abs(rows).max(axis=0, initial=0.0))
    return np.where(moves, centred / np.where(moves, spread, 1.0), 0.0)


def line_between(known: FloatArray, held: FloatArray, slack: FloatArray, size: float) -> Line | None:
    """The line from known (T,) to held (T,) with the fewest and roundest numbers; None where none fits in every frame.

    slack (T,): how far writing may have moved each held number. size: the largest number that `known` was computed with.
    """
    if len(np.unique(known)) < FEW or len(np.unique(held)) < FEW:
        return None
    low, high = int(known.argmin()), int(known.argmax())
    slope = (held[high] - held[low]) / (known[high] - known[low])
    wide = slack + _ROUNDED * max(float(np.abs(held).max()), abs(slope) * size)
    if (np.abs(held - known) <= wide).all():
        return Line(1.0, 0.0)
    largest = np.abs(held) + np.abs(slope * known) + abs(held[low] - slope * known[low])
    nearest = None
    for bound in (*(slack + share * _ROUNDED * largest for share in _NARROWER), wide):
        line = _within(known, held, bound)
        if line is not None and line.is_short:
            return line
        nearest = nearest or line
    return nearest


def _within(known: FloatArray, held: FloatArray, bound: FloatArray) -> Line | None:
    half = slice(None, None, 2)
    factor = _factor(known[half], held[half], bound[half])
    for line in (None if factor is None else Line(factor, 0.0), _whole(known[half], held[half], bound[half])):
        if line is not None and (np.abs(held - line.of(known)) <= bound).all():
            return line
    return None


def _factor(known: FloatArray, held: FloatArray, bound: FloatArray) -> float | None:
    tells = np.abs(known) > 1e-30
    middle, reach = held[tells] / known[tells], bound[tells] / np.abs(known[tells])
    if not tells.any() or (np.abs(held[~tells]) > bound[~tells]).any():
        return None
    low, high = float((middle - reach).max()), float((middle + reach).min())
    return roundest(low, high) if low <= high and low * high > 0.0 else None


def _whole(known: FloatArray, held: FloatArray, bound: FloatArray) -> Line | None:
    """A factor and what is taken off, from the two frames that are farthest apart and then the roundest that all allow."""
    low, high = int(known.argmin()), int(known.argmax())
    apart = known[high] - known[low]
    slope, reach = (held[high] - held[low]) / apart, (bound[high] + bound[low]) / apart
    if not abs(slope) > reach:
        return None
    for scale in (roundest(slope - reach, slope + reach), slope):
        constant = held - scale * known
        least, most = float((constant - bound).max()), float((constant + bound).min())
        if least <= 0.0 <= most:
            return Line(float(scale), 0.0)
        if least <= most:
            ends = sorted((-least / scale, -most / scale))
            off, added = roundest(*ends), roundest(least, most)
            is_rounder = len(repr(added)) < len(repr(off))
            return Line(float(scale), 0.0, added) if is_rounder else Line(float(scale), off)
    return None


def clipped_line(known: FloatArray, held: FloatArray, slack: FloatArray, size: float) -> Line | None:
    """A line that is kept within a range: the lowest and the highest held number, where the line goes beyond them."""
    lowest, highest = float(held.min()), float(held.max())
    inside = (held > lowest) & (held < highest)
    ends = [end for end in (lowest, highest) if np.count_nonzero(held == end) >= FEW]
    if not ends:
        return None
    line = line_between(known[inside], held[inside], slack[inside], size)
    if line is None:
        return None
    limits = tuple(_round32(end) if end in ends else None for end in (lowest, highest))
    found = Line(line.scale, line.subtract, line.offset, *limits)
    free, bound = line.of(known), slack + _ROUNDED * max(float(np.abs(held).max()), abs(line.scale) * size)
    is_below, is_above = (
        (free < lowest - bound) & (limits[0] is not None),
        (free > highest + bound) & (limits[1] is not None),
    )
    goes_beyond = is_below | is_above
    is_right = (np.abs(found.of(known) - held) <= bound).all()
    return found if is_right and goes_beyond.any() else None


def _round32(value: float) -> float:
    near = abs(value) * 2.0**-25
    return roundest(value - near, value + near) if value else 0.0
