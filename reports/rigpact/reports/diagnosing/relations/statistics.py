"""Other statistics: each channel is scaled and moved by constants of its own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reports.diagnosing.relations.relation import Reading
from rigpact.reports.diagnosing.relations.subject import Place, Subject
from rigpact.reports.diagnosing.stage_error import NEARLY

_OPERATIONS = 8
_CLEARLY = 16.0
"""A channel must move by so many bounds, or a line through two of its values says nothing."""
_ROUNDS = 32
"""Rounds of weighing anew: any line that they end with is judged by its bound, so fewer only find fewer."""
_SMALLEST = float(np.finfo(np.float32).tiny)
_SCALED = "scaled by a constant of its own in each channel, as with another scale, σ or floor"
_MOVED = "moved by a constant of its own in each channel, as with another mean"
_BOTH = "scaled and moved by constants of its own in each channel, as with other statistics"


def other_statistics(subject: Subject, place: Place) -> Iterator[Reading]:
    """a·x, x + c, a·x + c for each channel; the last is said too where the values do not tell the first two apart.

    The line is the one whose largest error is least in bounds. If any line is true, that one is within the values' own
    bounds as well: nothing is added for the fit.
    """
    lines = None if subject.stage.is_answer else _Lines.through(subject, place)
    if lines is None or lines.are_still or not lines.holds_on_the_other_half():
        return
    scaled, moved, both = (
        (lines.factor(), 0.0, _SCALED, 1),
        (1.0, lines.summand(), _MOVED, 1),
        (*lines.line(), _BOTH, 2),
    )
    one_of_two = lines.fits(*scaled[:2]) != lines.fits(*moved[:2])
    for factor, summand, words, fitted in (scaled, moved, both) if one_of_two else (both,):
        rows, bound = lines.rows(factor, summand)
        yield subject.reading(place, "statistics", words, rows, bound, fitted)


class _Lines:
    """The values of a place, and lines through them; sure: those that are near the line through two far ones."""

    def __init__(self, own: FloatArray, recorded: FloatArray, bound: FloatArray, failing: NDArray[np.bool_]) -> None:
        self._own, self._recorded, self._failing = own, recorded, failing
        self._bound = np.maximum(bound, _SMALLEST)
        columns = np.arange(own.shape[1])
        low, high = np.argmin(own, axis=0), np.argmax(own, axis=0)
        error = np.maximum(bound[low, columns], bound[high, columns])
        reach = own[high, columns] - own[low, columns]
        self._moves = reach > _CLEARLY * error
        slope = (recorded[high, columns] - recorded[low, columns]) / np.where(self._moves, reach, np.inf)
        self._slope = np.where(self._moves, slope, 1.0)
        straight = recorded[low, columns] + self._slope * (own - own[low, columns])
        wide = np.maximum(np.abs(self._slope), 1.0) * (bound + error)
        near = np.abs(recorded - straight) <= wide + gamma(_OPERATIONS) * np.abs(straight)
        self._sure = near | ~near.any(axis=0)

    @classmethod
    def through(cls, subject: Subject, place: Place) -> _Lines | None:
        """The lines of a place with enough values that are known."""
        own, recorded, bound = (rows[:, place.channels] for rows in (subject.replayed, subject.recorded, subject.bound))
        if len(own) <= 3 or not all(np.isfinite(rows).all() for rows in (own, recorded, bound)):
            return None
        return cls(own, recorded, bound, subject.failing[:, place.channels])

    @property
    def are_still(self) -> bool:
        """Whether the recorded numbers stand still where they should move: a line through one number proves nothing."""
        should_move = self._moves & self._failing.any(axis=0)
        still = should_move & (np.ptp(self._recorded, axis=0) == 0.0)
        return bool(np.count_nonzero(still) > (1.0 - NEARLY) * np.count_nonzero(should_move))

    def holds_on_the_other_half(self) -> bool:
        """Whether lines through every second frame tell almost all that differs in the frames between.

        A true line and the fitted one are within one bound of every value, so they are within two of each other.
        """
        fitted, tested = slice(None, None, 2), slice(1, None, 2)
        half = _Lines(self._own[fitted], self._recorded[fitted], self._bound[fitted], self._failing[fitted])
        rows, bound = self.rows(*half.line())
        off = np.abs(self._recorded - rows) > 3.0 * bound
        asked = (self._failing & self._sure)[tested]
        return bool(np.count_nonzero(off[tested] & asked) <= (1.0 - NEARLY) * np.count_nonzero(asked))

    def rows(self, factor: float | FloatArray, summand: float | FloatArray) -> tuple[FloatArray, FloatArray]:
        """a·x + c and its bound."""
        rows = factor * self._own + summand
        wide = np.maximum(np.abs(factor), 1.0) * self._bound
        return rows, wide + gamma(_OPERATIONS) * (np.abs(rows) + np.abs(summand))

    def fits(self, factor: float | FloatArray, summand: float | FloatArray) -> bool:
        """Whether every value that differs and is near any line is within its bound."""
        rows, bound = self.rows(factor, summand)
        return bool((np.abs(self._recorded - rows) <= bound)[self._failing & self._sure].all())

    def summand(self) -> FloatArray:
        """(W,): the middle of what every value leaves for c in x + c."""
        apart = self._recorded - self._own
        return self._middle(apart - self._bound, apart + self._bound, self._sure)

    def factor(self) -> FloatArray:
        """(W,): the middle of what every value leaves for a in a·x; 1 where all are too small to tell."""
        wide = np.maximum(np.abs(self._slope), 1.0) * self._bound
        tells = self._sure & (np.abs(self._own) > wide)
        own = np.where(tells, self._own, 1.0)
        middle, reach = self._recorded / own, wide / np.abs(own)
        found = self._middle(middle - reach, middle + reach, tells)
        return np.where(tells.any(axis=0), found, 1.0)

    @staticmethod
    def _middle(low: FloatArray, high: FloatArray, counts: NDArray[np.bool_]) -> FloatArray:
        with np.errstate(invalid="ignore"):
            lowest, highest = np.where(counts, low, -np.inf).max(axis=0), np.where(counts, high, np.inf).min(axis=0)
            return np.asarray(0.5 * (lowest + highest))

    def line(self) -> tuple[FloatArray, FloatArray]:
        """a and c, (W,) each: least squares, weighed anew by what each value is off, so that the largest error shrinks."""
        weights = self._sure / self._bound**2
        best, factor, summand = np.full(self._own.shape[1], np.inf), self._slope, self.summand()
        for _ in range(_ROUNDS):
            weights = weights / weights.sum(axis=0)
            centre, level = (weights * self._own).sum(axis=0), (weights * self._recorded).sum(axis=0)
            across = weights * (self._own - centre)
            spread = (across * (self._own - centre)).sum(axis=0)
            steep = (across * self._recorded).sum(axis=0) / np.where(spread > 0.0, spread, 1.0)
            slope = np.where(self._moves, steep, 1.0)
            constant = level - slope * centre
            off = np.abs(self._recorded - slope * self._own - constant) / self._bound * self._sure
            better = off.max(axis=0) < best
            best = np.where(better, off.max(axis=0), best)
            factor, summand = np.where(better, slope, factor), np.where(better, constant, summand)
            weights = weights * np.where(off.max(axis=0) > 0.0, off, 1.0)
        return factor, summand
