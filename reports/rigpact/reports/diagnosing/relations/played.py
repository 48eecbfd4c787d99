"""Another frame: for each frame that differs the one whose numbers stand there, and the rule behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.relations.relation import Reading
from rigpact.reports.diagnosing.relations.subject import Place
from rigpact.reports.diagnosing.relations.target import Target
from rigpact.reports.diagnosing.stage_error import NEARLY

_TELLING = 8
"""Channels on which frames are matched first: those that move most in tolerances."""
_LAGS = tuple(sign * lag for lag in range(1, 13) for sign in (-1, 1))
_HOLDS = range(2, 17)
_LARGEST_TERM = 8
SPEEDS = tuple(
    sorted(
        {Fraction(p, q) for p in range(1, _LARGEST_TERM + 1) for q in range(1, _LARGEST_TERM + 1)} - {Fraction(1)},
        key=lambda speed: (speed.numerator + speed.denominator, speed),
    )
)
"""Ratios of two frame rates of at most eight parts, the simple ones first."""

Source = Callable[[NDArray[np.int64]], NDArray[np.int64]]
"""Frame numbers (T,) -> the frames whose numbers stand there."""


def played(target: Target) -> Iterator[Reading]:
    """Every place that differs, with the frames that its numbers are of."""
    for place in target.places(np.ones(target.own.shape[1], bool)):
        fits = _Fits.of(target, place)
        if fits is None:
            continue
        for words, source in _rules(target):
            if fits.allows(source):
                rule = partial(_taken, target, place, source)
                reading = target.reading("frame", words, place.channels, rule, extra=_bound_of(target, place, source))
                if reading is not None:
                    yield reading


class _Fits:
    """Which recorded frames each frame that differs may hold, (failing frames, T)."""

    def __init__(self, frames: NDArray[np.int64], every: NDArray[np.int64], matches: NDArray[np.bool_]) -> None:
        self._frames, self._every, self._matches = frames, every, matches

    @classmethod
    def of(cls, target: Target, place: Place) -> _Fits | None:
        """Match the frames of a place; None where almost none is another's."""
        frame = target.subject.evidence.frame
        failing = np.flatnonzero(target.failing[:, place.channels].any(axis=1))
        own, held, bound = (rows[:, place.channels] for rows in (target.own, target.held, target.bound))
        if len(own) < 4 or not (np.isfinite(own).all() and np.isfinite(held).all()):
            return None
        signless = not target.name and target.subject.stage.measure.has_signless_quaternions
        reach = np.ptp(own, axis=0) / np.maximum(bound.max(axis=0), 1e-30)
        telling = np.argsort(-reach)[:_TELLING]
        matches = np.ones((len(failing), len(own)), bool)
        for channel in telling:
            apart = np.abs(held[failing, channel, None] - own[None, :, channel])
            if signless:
                apart = np.minimum(apart, np.abs(held[failing, channel, None] + own[None, :, channel]))
            matches &= apart <= bound[failing, channel, None] + bound[None, :, channel]
        if np.count_nonzero(matches.any(axis=1)) < 0.5 * len(failing):
            return None
        return cls(frame[failing], frame, matches)

    def allows(self, source: Source) -> bool:
        """Whether almost every frame that differs may hold the frame that a rule names, where that was recorded."""
        wanted = source(self._frames)
        rows = np.minimum(np.searchsorted(self._every, wanted), len(self._every) - 1)
        known = self._every[rows] == wanted
        fits = self._matches[np.arange(len(rows)), rows]
        return bool(known.any() and np.count_nonzero(fits[known]) >= NEARLY * np.count_nonzero(known))


def _rules(target: Target) -> Iterator[tuple[str, Source]]:
    """Every rule, in words; the simple ones first."""
    frame = target.subject.evidence.frame
    for lag in _LAGS:
        yield target.of_frame(lag), partial(_late, lag)
    failing = frame[target.failing.any(axis=1)]
    for first in dict.fromkeys((int(frame[0]), int(failing[0]) - 1)):
        words = f"{target.name} held at its value" if target.name else "held at the value"
        yield f"{words} of frame {first}", partial(_fixed, first)
    for count in _HOLDS:
        for start in range(count):
            words = f"{target.it} of every {_nth(count)} frame, held between"
            yield f"{words} (frames {start}, {start + count}, …)", partial(_held, count, start)
    for speed in SPEEDS:
        yield f"{target.it} of frame {_times(speed)}", partial(_at_speed, speed)


def _nth(count: int) -> str:
    return {2: "2nd", 3: "3rd"}.get(count, f"{count}th")


def _times(speed: Fraction) -> str:
    top = "t" if speed.numerator == 1 else f"{speed.numerator}·t"
    return top if speed.denominator == 1 else f"{top}/{speed.denominator}"


def _late(lag: int, frame: NDArray[np.int64]) -> NDArray[np.int64]:
    return frame + lag


def _fixed(first: int, frame: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.full_like(frame, first)


def _held(count: int, start: int, frame: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray((frame - start) // count * count + start)


def _at_speed(speed: Fraction, frame: NDArray[np.int64]) -> NDArray[np.int64]:
    return frame * speed.numerator // speed.denominator


def _rows_of(target: Target, source: Source) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The row of each frame's source, and where it was recorded."""
    frame = target.subject.evidence.frame
    wanted = source(frame)
    rows = np.minimum(np.searchsorted(frame, wanted), len(frame) - 1)
    return rows, frame[rows] == wanted


def _taken(target: Target, place: Place, source: Source, own: FloatArray) -> FloatArray:
    """Where the frame was not recorded, the frame's own: nobody can know it."""
    rows, known = _rows_of(target, source)
    values = own[:, place.channels]
    return np.where(known[:, None], values[rows], values)


def _bound_of(target: Target, place: Place, source: Source) -> FloatArray:
    rows, known = _rows_of(target, source)
    bound = target.bound[:, place.channels]
    return np.where(known[:, None], bound[rows], 0.0)
