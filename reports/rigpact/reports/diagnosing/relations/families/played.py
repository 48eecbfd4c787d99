"""Another frame: for each frame that differs the one whose numbers stand there, and the rule behind them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.relations.lines import ordinal
from rigpact.reports.diagnosing.relations.pulled_back import STORED
from rigpact.reports.diagnosing.relations.relation import ENDS_NO_SEARCH, FRAME, CandidateEdit, ChannelSet
from rigpact.reports.diagnosing.relations.target import Target
from rigpact.reports.diagnosing.relations.ticks import Ticks
from rigpact.reports.diagnosing.stage_error import ENOUGH, NEARLY

_TELLING = 8
"""Channels on which frames are matched: those that move most in tolerances."""
_FEWEST = 4
"""Frames; of fewer no rule is told."""
_LAGS = 4
"""So many lags that almost every frame may have are tried, the shortest first."""
_NEAR_LAG = 4
"""A frame that is farther away may hold the same by chance, and says more."""
_HOLDS = range(2, 17)
_LARGEST_TERM = 8
SPEEDS = tuple(
    sorted(
        {Fraction(p, q) for p in range(1, _LARGEST_TERM + 1) for q in range(1, _LARGEST_TERM + 1)} - {Fraction(1)},
        key=lambda speed: (speed.numerator + speed.denominator, speed),
    )
)
"""Ratios of two frame rates of at most eight parts, the simple ones first."""
_SMALLEST = float(np.finfo(np.float32).tiny)

_PIECES = 6
"""So many pieces in another order are an order; more are none."""

Frames = NDArray[np.int64]
Source = partial[Frames]
"""Frame numbers (T,) -> the frames whose numbers stand there."""


def played(target: Target) -> Iterator[CandidateEdit]:
    """Every place that differs, with the frames that its numbers are of."""
    every = _Timeline.of(target)
    is_known = bool(np.isfinite(every.rows).all() and np.isfinite(target.held).all())
    if not is_known or len(target.own) < _FEWEST:
        return
    is_seen = np.isfinite(target.bound).mean() >= ENOUGH  # not between the ticks of what is held anyway
    for place in target.places:
        matches = _matches(target, place, every)
        if np.count_nonzero(matches.any(axis=1)) < ENOUGH * len(matches):
            continue
        frame = target.subject.evidence.frame
        differs = frame[target.failing[:, place.channels].any(axis=1)]
        rules = (
            _rules(target, every, _lags(matches, differs, every)),
            _in_other_order(target, every, matches, differs) if _tells_frames(matches) else (),
        )
        for words, source in chain.from_iterable(rules):
            if _may_hold(matches, differs, every, source):
                rows, known = every.at(source(frame))
                values = every.rows[rows][:, place.channels]
                if source.func is _held and not (is_seen and _holds_between(target, place, values, known)):
                    continue
                extra = np.where(known[:, None], every.bound[rows][:, place.channels], 0.0)
                rule, is_far = (
                    partial(_taken, place, values, known),
                    source.func is _late and abs(source.args[0]) > _NEAR_LAG,
                )
                yield from target.edit(FRAME, words, place.channels, rule, extra=extra, pieces=ENDS_NO_SEARCH * is_far)


@dataclass(frozen=True, eq=False)
class _Timeline:
    """What should stand in every frame of which it is known: numbers (N,), rows and their bound, (N, W).

    ahead: by how much a frame's number in the clip is larger; None without a clip.
    """

    frame: Frames
    rows: FloatArray
    bound: FloatArray
    ahead: int | None = None

    @classmethod
    def of(cls, target: Target) -> _Timeline:
        """The recorded frames; where a clip drives the stage, every frame of the clip."""
        subject = target.subject
        clip = None if target.name else subject.clip_rows
        if clip is None:
            return cls(subject.evidence.frame, target.own, target.own_bound)
        ahead = subject.stage.driven_ahead
        frame, bound = np.arange(len(clip)) - ahead, np.tile(np.nanmax(target.bound, axis=0), (len(clip), 1))
        recorded = np.isin(subject.evidence.frame, frame)
        bound[subject.evidence.frame[recorded] + ahead] = target.bound[recorded]
        return cls(frame, clip, bound, ahead)

    def at(self, wanted: Frames) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """The row of each frame, and whether it is known."""
        rows = np.minimum(np.searchsorted(self.frame, wanted), len(self.frame) - 1)
        return rows, self.frame[rows] == wanted


def _matches(target: Target, place: ChannelSet, every: _Timeline) -> NDArray[np.bool_]:
    """Which known frames each frame that differs may hold, (frames that differ, N); sign and size of a quaternion apart."""
    differs = target.failing[:, place.channels].any(axis=1)
    own, held, bound = (rows[:, place.channels] for rows in (every.rows, target.held[differs], target.bound[differs]))
    wide = every.bound[:, place.channels]
    signless = not target.name and target.subject.stage.measure.has_signless_quaternions
    found = np.ones((len(held), len(own)), bool)
    for channel in np.argsort(-np.ptp(own, axis=0) / np.maximum(wide.max(axis=0), _SMALLEST))[:_TELLING]:
        apart = np.abs(held[:, channel, None] - own[None, :, channel])
        if signless:
            apart = np.minimum(apart, np.abs(held[:, channel, None] + own[None, :, channel]))
        found &= apart <= bound[:, channel, None] + wide[None, :, channel]
    return found


def _lags(matches: NDArray[np.bool_], differs: Frames, every: _Timeline) -> list[int]:
    """By how many frames the numbers of almost every frame that differs may come late (-) or early (+), the shortest first."""
    row, other = np.nonzero(matches)
    lags, counts = np.unique(every.frame[other] - differs[row], return_counts=True)
    enough = (counts > min(_FEWEST, len(differs) - 1)) & (lags != 0)  # where fewer frames differ, all of them
    nearest = sorted(
        zip(lags[enough].tolist(), counts[enough].tolist(), strict=True), key=lambda each: (abs(each[0]), each)
    )
    fits = (lag for lag, count in nearest if count >= NEARLY * np.count_nonzero(every.at(differs + lag)[1]))
    return list(islice(fits, _LAGS))


def _may_hold(matches: NDArray[np.bool_], differs: Frames, every: _Timeline, source: Source) -> bool:
    """Whether almost every frame that differs may hold the frame that a rule names, where that is known."""
    rows, known = every.at(source(differs))
    fits = matches[np.arange(len(rows)), rows]
    return bool(known.any() and np.count_nonzero(fits[known]) >= NEARLY * np.count_nonzero(known))


def _holds_between(target: Target, place: ChannelSet, values: FloatArray, known: NDArray[np.bool_]) -> bool:
    """Whether the frames that do not differ hold what a rule names too: what is held is held in every frame."""
    right = np.asarray(known & ~target.failing[:, place.channels].any(axis=1))
    apart = np.abs(values - target.held[:, place.channels])
    bound = 2.0 * target.bound[:, place.channels] + STORED * np.abs(values)
    fits = np.asarray((apart <= bound).all(axis=1))
    return bool(np.count_nonzero(fits[right]) >= NEARLY * np.count_nonzero(right))


def _taken(place: ChannelSet, values: FloatArray, known: NDArray[np.bool_], own: FloatArray) -> FloatArray:
    """Where the frame is not known, the frame's own."""
    return np.where(known[:, None], values, own[:, place.channels])


def _rules(target: Target, every: _Timeline, lags: Sequence[int]) -> Iterator[tuple[str, Source]]:
    """Every rule, in words; the simple ones first."""
    frame = target.subject.evidence.frame
    ticks = Ticks.of_rows(target.own, target.subject.evidence.fps)
    holds = [(count, start) for count in _HOLDS for start in range(count)]
    of_ticks = ((each * ticks.step, int(start)) for each in _HOLDS for start in ticks.starts[:each])
    for count, start in dict.fromkeys((*holds, *(each for each in of_ticks if each[1] < each[0]))):
        words = f"{target.it} of every {ordinal(count)} frame, held between (frames {start}, {start + count}, …)"
        yield words, partial(_held, count, start)
    for lag in filter(target.may_be_of, lags):
        yield target.of_frame(lag), partial(_late, lag)
        if -_NEAR_LAG <= lag < 0 and frame[0] == 0:  # a queue that is filled with what comes first
            yield f"{target.of_frame(lag)}, from frame 0 on", partial(_late_from_0, lag)
    failing = frame[target.failing.any(axis=1)]
    for first in dict.fromkeys((int(frame[0]), int(failing[0]) - 1)):
        yield f"{target.prefix}held at the value of frame {first}", partial(_fixed, first)
    whose = target.it + " of" if every.ahead is None else "the clip's"
    for speed in SPEEDS if target.may_be_of(len(frame)) else ():
        top = "t" if speed.numerator == 1 else f"{speed.numerator}·t"
        times = top if speed.denominator == 1 else f"{top}/{speed.denominator}"
        yield f"{whose} frame {times}", partial(_at_speed, speed, every.ahead or 0)


def _in_other_order(
    target: Target, every: _Timeline, matches: NDArray[np.bool_], differs: Frames
) -> Iterator[tuple[str, Source]]:
    """Pieces of the recording that stand in each other's place, as episodes that were written in another order."""
    pieces: list[tuple[int, int, int]] = []
    row = 0
    while row < len(differs) and len(pieces) < _PIECES:
        lags = filter(target.may_be_of, every.frame[np.flatnonzero(matches[row])] - differs[row])
        count, lag = max(((_run(matches, differs, every, row, int(lag)), int(lag)) for lag in lags), default=(0, 0))
        if count < _FEWEST:
            return
        pieces.append((int(differs[row]), int(differs[row + count - 1]), lag))
        row += count
    if row == len(differs) and len(pieces) > 1:
        said = ", ".join(
            f"frames {first} to {last} those of {first + lag} to {last + lag}" for first, last, lag in pieces
        )
        yield f"{target.it} in another order of frames: {said}", partial(_moved, tuple(pieces))


def _tells_frames(matches: NDArray[np.bool_]) -> bool:
    """Whether numbers tell of which frame they are: those of a flag, or of what stands still, may be of many."""
    return bool(np.median(matches.sum(axis=1)) < _FEWEST)


def _run(matches: NDArray[np.bool_], differs: Frames, every: _Timeline, row: int, lag: int) -> int:
    """How many frames that differ, from a row on, may hold the frame that lies so far from each."""
    rows, known = every.at(differs[row:] + lag)
    fits = known & matches[np.arange(row, len(differs)), rows]
    return len(fits) if fits.all() else int(np.argmin(fits))


def _moved(pieces: Sequence[tuple[int, int, int]], frame: Frames) -> Frames:
    lags = [np.where((frame >= first) & (frame <= last), lag, 0) for first, last, lag in pieces]
    return np.asarray(frame + np.sum(lags, axis=0))


def _late(lag: int, frame: Frames) -> Frames:
    return frame + lag


def _late_from_0(lag: int, frame: Frames) -> Frames:
    return np.maximum(frame + lag, 0)


def _fixed(first: int, frame: Frames) -> Frames:
    return np.full_like(frame, first)


def _held(count: int, start: int, frame: Frames) -> Frames:
    return np.asarray((frame - start) // count * count + start)


def _at_speed(speed: Fraction, ahead: int, frame: Frames) -> Frames:
    return (frame + ahead) * speed.numerator // speed.denominator - ahead
