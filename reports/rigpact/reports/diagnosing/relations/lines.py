"""Lines through the values of each channel, as intervals that every value leaves open, and numbers as people write them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.scalars import gamma
from rigpact.reports.diagnosing.relations.relation import SIMPLE
from rigpact.reports.diagnosing.stage_error import NEARLY

_DIGITS = 9
"""A float32 has no more that tell."""
FACTORS = {
    "-1": -1.0, "2": 2.0, "1/2": 0.5, "100": 100.0, "1/100": 0.01, "180/π": 180.0 / math.pi, "π/180": math.pi / 180.0,
    "π": math.pi, "1/π": 1.0 / math.pi, "2π": 2.0 * math.pi,
}  # fmt: skip
"""Factors that mistakes have: a sign, half an angle, centimetres, degrees, half turns."""


def factors_of(fps: float) -> dict[str, float]:
    """Every factor by name, with the frame rate and its inverse."""
    rate = {} if fps in (0.0, 1.0) else {f"the frame rate, {fps:g},": fps, f"1/{fps:g}, a frame's time,": 1.0 / fps}
    return {**FACTORS, **rate}


def ordinal(count: int) -> str:
    """2nd, 3rd, 4th, … up to 20."""
    return {2: "2nd", 3: "3rd"}.get(count, f"{count}th")


def roundest(low: float, high: float) -> float:
    """The number of fewest decimal digits in [low, high]; the middle where nine do not reach."""
    middle = 0.5 * (low + high)
    for digits in range(1, _DIGITS + 1):
        value = float(f"{middle:.{digits - 1}e}")
        if low <= value <= high:
            return value
    return middle


def is_odd(number: float) -> int:
    """SIMPLE, or 0 for a number that people write: of at most four digits."""
    return 0 if float(f"{number:.3e}") == number else SIMPLE


def almost_all(low: FloatArray, high: FloatArray) -> tuple[float, float]:
    """What almost all intervals leave open: the rest may be of frames in which something else is wrong. Empty if low > high."""
    apart = (1.0 - NEARLY) / 2.0
    return float(np.quantile(low, 1.0 - apart)), float(np.quantile(high, apart))


_OPERATIONS = 8
_FEWEST = 4
"""Values of a channel; a line goes through any two."""
_SMALLEST = float(np.finfo(np.float32).tiny)
_ROUNDS = 32
"""Rounds of weighing anew: any line that they end with is judged by its bound, so fewer only find fewer."""


@dataclass(frozen=True, eq=False)
class Lines:
    """The channels that differ and move, their values where they differ: own to held, (T, C); counts: which values count."""

    channels: NDArray[np.intp]
    own: FloatArray
    held: FloatArray
    bound: FloatArray
    counts: NDArray[np.bool_]

    @classmethod
    def of(cls, own: FloatArray, held: FloatArray, bound: FloatArray, failing: NDArray[np.bool_]) -> Lines | None:
        """The lines of a target; None where nothing can be said."""
        known = np.isfinite(own) & np.isfinite(held) & np.isfinite(bound)
        counts = failing & known
        both = ((own[rows, place], held[rows, place]) for place, rows in enumerate(counts.T))
        channels = np.flatnonzero([_tells(*each) for each in both])
        if not len(channels):
            return None
        wide = np.maximum(bound[:, channels], _SMALLEST) + gamma(_OPERATIONS) * np.abs(held[:, channels])
        return cls(channels, own[:, channels], held[:, channels], wide, counts[:, channels])

    @property
    def slack(self) -> FloatArray:
        """(C,): what a fitted line may be off by beside the bound of its values."""
        return np.asarray(np.where(self.counts, self.bound, 0.0).max(axis=0))

    def factors(self) -> tuple[FloatArray, FloatArray]:
        """(C,) each: the smallest and the largest a of a·x that every value allows; low > high where there is none."""
        tells = self.counts & (np.abs(self.own) > self.bound)
        own = np.where(tells, self.own, 1.0)
        middle, reach = self.held / own, 2.0 * self.bound / np.abs(own)
        return _intersected(middle - reach, middle + reach, tells)

    def summands(self) -> tuple[FloatArray, FloatArray]:
        """(C,) each: the smallest and the largest c of x + c that every value allows."""
        apart = self.held - self.own
        return _intersected(apart - self.bound, apart + self.bound, self.counts)

    def line(self) -> tuple[FloatArray, FloatArray]:
        """a and c, (C,) each: least squares of every second value, weighed anew so that the largest error shrinks."""
        counts = self.counts & (np.cumsum(self.counts, axis=0) % 2 == 1)
        own, held = np.where(counts, self.own, 0.0), np.where(counts, self.held, 0.0)
        weights = np.where(counts, 1.0 / self.bound**2, 0.0)
        best = np.full(own.shape[1], np.inf)
        factor, summand = np.ones(own.shape[1]), np.zeros(own.shape[1])
        for _ in range(_ROUNDS):
            total = weights.sum(axis=0)
            weights = weights / np.where(total > 0.0, total, 1.0)
            centre, level = (weights * own).sum(axis=0), (weights * held).sum(axis=0)
            across = weights * (own - centre)
            spread = (across * (own - centre)).sum(axis=0)
            moves = spread > _SMALLEST + gamma(_OPERATIONS) * centre**2
            slope = np.where(moves, (across * held).sum(axis=0) / np.where(moves, spread, 1.0), 1.0)
            constant = level - slope * centre
            off = np.abs(held - slope * own - constant) / self.bound * counts
            better = off.max(axis=0) < best
            best = np.where(better, off.max(axis=0), best)
            factor, summand = np.where(better, slope, factor), np.where(better, constant, summand)
            weights = weights * np.where(off.max(axis=0) > 0.0, off, 1.0)
        return factor, summand

    def common(self) -> tuple[float, float] | None:
        """One a and one c for all channels, of the fewest digits that every value allows; None where there are none."""
        own, held, bound = (each.T.reshape(-1, 1) for each in (self.own, self.held, self.bound))
        one = Lines(self.channels[:1], own, held, bound, self.counts.T.reshape(-1, 1))
        (fitted,), _ = one.line()
        for digits in range(_DIGITS):
            factor = float(f"{fitted:.{digits}e}")
            apart, reach = one.held - factor * one.own, max(abs(factor), 1.0) * one.bound
            low, high = _intersected(apart - reach, apart + reach, one.counts)
            if low[0] <= high[0] and factor:
                return factor, roundest(float(low[0]), float(high[0]))
        return None

    def fits(self, factor: FloatArray, summand: FloatArray) -> NDArray[np.bool_]:
        """(C,): whether a line tells every value, those that it was not fitted to as well."""
        off = np.abs(self.held - factor * self.own - summand)
        wide = 3.0 * np.maximum(np.abs(factor), 1.0) * self.bound
        return np.asarray(((off <= wide) | ~self.counts).all(axis=0) & (np.abs(factor) > 0.0))


def _tells(own: FloatArray, held: FloatArray) -> bool:
    """Whether the values of a channel that differ may lie on a line: they are many, or as many as there should be."""
    return len(held) >= _FEWEST and len(np.unique(held)) >= min(_FEWEST, len(np.unique(own)))


def _intersected(low: FloatArray, high: FloatArray, counts: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """The intersection of every value's interval; an empty one where fewer than three tell."""
    enough = counts.sum(axis=0) >= _FEWEST - 1
    lowest = np.where(counts, low, -np.inf).max(axis=0)
    highest = np.where(counts, high, np.inf).min(axis=0)
    return np.where(enough, lowest, 1.0), np.where(enough, highest, 0.0)
