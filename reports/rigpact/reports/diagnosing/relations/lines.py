"""Lines through the values of each channel: a·x, x + c, a·x + c, as intervals that every value leaves open."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.scalars import gamma
from rigpact.reports.diagnosing.relations.round_numbers import roundest

_OPERATIONS = 8
_FEWEST = 4
"""Values of a channel; a line goes through any two."""
_DIGITS = 9
"""A float32 has no more that tell."""
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
