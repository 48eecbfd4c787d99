"""What is done to a clock: a sine and a cosine beside each other, whose turn is cut to steps, set ahead, or set back to 0."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.relations.families.maps import STEPPINGS, given
from rigpact.reports.diagnosing.relations.lines import is_odd, roundest
from rigpact.reports.diagnosing.relations.relation import SIMPLE, CandidateEdit, names_of
from rigpact.reports.diagnosing.relations.target import Target
from rigpact.reports.diagnosing.relations.ticks import Ticks
from rigpact.reports.diagnosing.stage_error import NEARLY

_NEAR = 2.0**-20
"""How far a sine and a cosine of float32 are from the circle, and their turn from what was meant."""
_MOST_STEPS = 128
_FEWEST = 3
"""Times that a clock is set back."""
Turns = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Clock:
    """Two channels, the one of the sine and the one of the cosine; their turns, (T,) in [0, 1), as they should be and were."""

    target: Target
    sine: int
    cosine: int
    own: Turns
    held: Turns
    differs: NDArray[np.bool_]

    def edit(self, words: str, turns: Turns, fitted: int, pieces: int = 0) -> Iterator[CandidateEdit]:
        """The reading of other turns, (T,), in words of the turn."""
        channels = np.sort([self.sine, self.cosine])
        angle = 2.0 * np.pi * turns
        rows = np.stack([np.sin(angle) if each == self.sine else np.cos(angle) for each in channels], axis=1)
        said = f"{self.target.it} with its turn {words}"
        extra = self.target.bound[:, channels] + _NEAR * 2.0 * np.pi
        rule = partial(given, rows)
        yield from self.target.edit(
            "clock", said, channels, rule, steepness=0.0, extra=extra, fitted=fitted, pieces=pieces
        )


def clock(target: Target) -> Iterator[CandidateEdit]:
    """Every edit of every clock among the channels that differ."""
    for found in _clocks(target) if target.is_finite else ():
        yield from _ahead(found)
        yield from _in_steps(found)
        yield from _set_back(found)


def _clocks(target: Target) -> Iterator[_Clock]:
    for first in target.channels:
        pair = [int(first), int(first) + 1]
        if pair[1] not in target.channels:
            continue
        if any(np.abs(np.hypot(*rows[:, pair].T) - 1.0).max() > _NEAR for rows in (target.own, target.held)):
            continue
        turns = _turns(*target.own[:, pair].T)
        ways = np.sign(_apart(turns[1:], turns[:-1]))
        if abs(ways.sum()) < NEARLY * max(int(np.count_nonzero(ways)), _FEWEST):
            continue  # a clock goes one way
        if ways.sum() < 0.0:
            pair.reverse()
        own, held = (_turns(*rows[:, pair].T) for rows in (target.own, target.held))
        yield _Clock(target, pair[0], pair[1], own, held, np.abs(_apart(held, own)) > _NEAR)


def _turns(sine: FloatArray, cosine: FloatArray) -> Turns:
    turns = np.arctan2(sine, cosine) / (2.0 * np.pi) % 1.0
    return np.where(turns > 1.0 - _NEAR, 0.0, turns)


def _apart(one: Turns, other: Turns) -> Turns:
    return np.asarray((one - other + 0.5) % 1.0 - 0.5)


def _ahead(clock: _Clock) -> Iterator[CandidateEdit]:
    apart = _apart(clock.held, clock.own)[clock.differs]
    low, high = apart.max() - _NEAR, apart.min() + _NEAR
    if low <= high:
        ahead = roundest(float(low), float(high))
        words = f"{abs(ahead):.6g} of a turn {'ahead' if ahead > 0.0 else 'behind'}"
        yield from clock.edit(words, (clock.own + ahead) % 1.0, 1, is_odd(ahead))


def _in_steps(clock: _Clock) -> Iterator[CandidateEdit]:
    for count in range(2, _MOST_STEPS):
        if np.abs(clock.held * count - np.round(clock.held * count)).max() > count * _NEAR:
            continue
        for word, step in STEPPINGS.items():
            tried = np.stack([step((clock.own + move) % 1.0 * count) / count % 1.0 for move in (0.0, -_NEAR, _NEAR)])
            nearest = np.argmin(np.abs(_apart(tried, clock.held)), axis=0)
            yield from clock.edit(f"{word} to {count}ths", np.take_along_axis(tried, nearest[None], axis=0)[0], 1)
        return


def _set_back(clock: _Clock) -> Iterator[CandidateEdit]:
    """0 while another vector is 0, and on from there."""
    ticks = Ticks.of_rows(clock.own[:, None], clock.target.subject.evidence.fps)
    held, own = clock.held[ticks.starts], clock.own[ticks.starts]
    is_zero = held <= _NEAR
    if np.count_nonzero(is_zero[1:]) < _FEWEST or not (clock.differs & ~is_zero[ticks.of]).any():
        return
    subject = clock.target.subject
    for name, rows in subject.known.items():
        zeros: NDArray[np.bool_] = np.equal(rows[ticks.starts], 0.0)
        channels = np.flatnonzero(zeros[1:][is_zero[1:]].all(axis=0))
        stands: NDArray[np.bool_] = np.asarray(zeros[:, channels].all(axis=1))
        if not len(channels) or not np.array_equal(stands[1:], is_zero[1:]) or not subject.may_be_read(name, 0):
            continue
        last = np.maximum.accumulate(np.where(stands, np.arange(len(own)), -1))
        turns = np.where(last < 0, own, _apart(own, own[np.maximum(last, 0)]) % 1.0)
        where = "" if len(channels) == rows.shape[1] else f" {names_of(subject.contract.fields(name), channels)}"
        words = f"set to 0 while {name}{where} is 0, and going on from there"
        yield from clock.edit(words, turns[ticks.of], 0, SIMPLE)
        return
