"""What stands somewhere by no rule: one number, other numbers in a few frames, noise."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.relations.lines import Lines, roundest
from rigpact.reports.diagnosing.relations.pulled_back import STORED
from rigpact.reports.diagnosing.relations.relation import (
    FRAMES_LISTED,
    GLITCH,
    CandidateEdit,
    Channels,
    Relation,
    frames_words,
    listed,
)
from rigpact.reports.diagnosing.relations.subject import DivergentStage
from rigpact.reports.diagnosing.relations.target import Target
from rigpact.reports.diagnosing.relations.ticks import Ticks
from rigpact.reports.diagnosing.stage_error import NEARLY

_FEWEST = 4
"""Values of a channel that differ: fewer may be one by chance."""
FILL = {np.float32(0.0): "the number 0"} | {
    np.frombuffer(bytes([byte] * 4), np.float32)[0]: f"memory that was never set (0x{byte:02X} in every byte)"
    for byte in (0xCD, 0xCC, 0xFD, 0xDD)
}
"""Zeros, and what debug builds write into memory that nobody has set."""


def one_number(target: Target) -> Iterator[CandidateEdit]:
    """Every value of a place that differs is one number: zero, or memory that nobody has set."""
    for place in target.places:
        values = np.unique(target.held[:, place.channels][target.failing[:, place.channels]])
        if len(values) != 1 or np.float32(values[0]) not in FILL:
            continue
        words = FILL[np.float32(values[0])]
        words = f"{words} in place of {target.name}" if target.name else f"{words}, wherever it differs"
        rule = partial(_where_it_differs, target, place.channels, float(values[0]))
        is_rule = bool(values[0])  # memory that nobody set; who left a zero is not known
        yield from target.edit("constant", words, place.channels, rule, is_rule=is_rule)


def _where_it_differs(target: Target, channels: Channels, value: float, own: FloatArray) -> FloatArray:
    return np.where(target.failing[:, channels], value, own[:, channels])


def stuck(target: Target) -> Iterator[CandidateEdit]:
    """One number in all channels that differ, or a number of its own in each, in every frame that differs."""
    if not target.is_finite:
        return
    lowest = np.where(target.failing, target.held - target.bound, -np.inf).max(axis=0)
    highest = np.where(target.failing, target.held + target.bound, np.inf).min(axis=0)
    channels = np.flatnonzero((target.failing.sum(axis=0) >= _FEWEST) & (lowest <= highest))
    if not len(channels):
        return
    low, high = lowest[channels], highest[channels]
    if low.max() <= high.min():
        values = np.full(len(channels), roundest(float(low.max()), float(high.min())))
    else:
        values = np.array([roundest(a, b) for a, b in zip(low, high, strict=True)])
    shown = listed([f"{value:.6g}" for value in dict.fromkeys(values.tolist())])
    words = f"stuck at {shown} in place of {target.it}"
    fitted = 0 if not values.any() else len(np.unique(values))
    is_rule = fitted <= 1 and not np.ptp(target.own[:, channels], axis=0).any()  # another number of what never moves
    yield from target.edit("constant", words, channels, partial(_always, values), fitted=fitted, is_rule=is_rule)


def _always(values: FloatArray, own: FloatArray) -> FloatArray:
    return np.broadcast_to(values, (len(own), len(values)))


def zeroed(target: Target) -> Iterator[CandidateEdit]:
    """Zeros in the channels that differ, in every frame."""
    channels = target.channels
    if len(channels) and (np.abs(target.held[:, channels]) <= target.bound[:, channels]).all():
        words = f"zeros in place of {target.it}"
        yield from target.edit("constant", words, channels, lambda own: np.zeros((len(own), len(channels))))


_DRAWN = 2.0
"""What lost digits lead to is drawn, and so is its bound: a few values somewhat beyond it tell nothing."""


def lines_in_few_frames(target: Target) -> Iterator[CandidateEdit]:
    """One factor, or one constant, for all channels of each frame that differs."""
    rows = np.flatnonzero(target.failing.any(axis=1))
    if not 1 <= len(rows) <= FRAMES_LISTED or not target.is_finite:
        return
    own, held, bound = (each[rows].T for each in (target.own, target.held, target.bound))
    lines = Lines.of(own, held, bound, target.failing[rows].T)
    if lines is None or len(lines.channels) < len(rows):
        return
    frames = frames_words(target.subject.evidence.frame[rows].tolist())
    for (low, high), words, is_factor in (
        (lines.factors(), "{} times {it} in {frames} only", True),
        (lines.summands(), "{} more than {it} in {frames} only", False),
    ):
        if (low > high).any():
            continue
        numbers = np.array([roundest(a, b) for a, b in zip(low, high, strict=True)])
        shown = listed([f"{number:.6g}" for number in numbers])
        it = target.name or ("what it should be" if is_factor else "it should be")
        rule = partial(_in_rows, rows, numbers if is_factor else 1.0, 0.0 if is_factor else numbers, target.channels)
        extra = 0.0 if is_factor else float(np.abs(numbers).max()) * STORED
        yield from target.edit(
            "few-frames",
            words.format(shown, it=it, frames=frames),
            target.channels,
            rule,
            fitted=len(rows),
            extra=extra,
        )


def _in_rows(
    rows: NDArray[np.intp],
    factor: float | FloatArray,
    summand: float | FloatArray,
    channels: NDArray[np.intp],
    own: FloatArray,
) -> FloatArray:
    changed = own[:, channels].copy()
    changed[rows] = np.reshape(factor, (-1, 1)) * changed[rows] + np.reshape(summand, (-1, 1))
    return changed


def glitch(subject: DivergentStage, is_open: NDArray[np.bool_]) -> Iterator[Relation]:
    """That a few frames hold other numbers, and no other frame does; of what they hold nothing is said."""
    failing = subject.failing & is_open
    rows, channels = np.flatnonzero(failing.any(axis=1)), np.flatnonzero(failing.any(axis=0))
    frames = subject.evidence.frame
    if not 1 <= len(rows) <= FRAMES_LISTED or 2 * len(rows) > len(frames):
        return
    excess = np.full(subject.recorded.shape, np.nan)
    excess[:, channels] = subject.error.excess[:, channels]
    if subject.evidence.precision is not None and not (excess > _DRAWN).any():
        return
    one = len(rows) == len(channels) == 1
    numbers = (float(each[rows[0], channels[0]]) for each in (subject.recorded, subject.replayed))
    shown = ": {:.6g} for {:.6g}".format(*numbers) if one else ""
    words = f"{'another number' if one else 'other numbers'} in {frames_words(frames[rows].tolist())} only{shown}"
    yield Relation(
        subject.stage.name,
        subject.place_of(channels).name,
        GLITCH,
        words,
        len(frames) - len(rows),
        len(frames),
        0.0,
        channels=tuple(channels.tolist()),
        excess=excess,
        cost=len(rows),
        is_rule=False,
        frames_left=tuple(frames[rows].tolist()),
    )


NOISE = "noise"
"""The kind of a relation that says how large what differs is, and that it depends on nothing."""
_FEWEST_OF_NOISE = 64
"""Values; of fewer no independence is told."""
_SIGMAS = 5.0
"""Of independent values a mean or a correlation is farther from 0 once in two million."""
_ALIKE = 1.5
"""The sizes of two channels of one noise, as a ratio."""
_EVEN = 2.3
"""The kurtosis of numbers that are drawn evenly is 1.8, that of normal ones 3."""


def noise(subject: DivergentStage, is_open: NDArray[np.bool_]) -> Iterator[Relation]:
    """That almost every number of the channels that differ is off by a number that depends on nothing known."""
    channels = np.flatnonzero(is_open)
    starts = Ticks.of_rows(subject.replayed, subject.evidence.fps).starts
    own, held, bound = (rows[starts][:, channels] for rows in (subject.replayed, subject.recorded, subject.bound))
    told = np.isfinite(bound).all(axis=0)  # a limit may have hidden numbers of a channel
    apart, own, failing = (held - own)[:, told], own[:, told], subject.failing[starts][:, channels[told]]
    if (
        apart.size < _FEWEST_OF_NOISE
        or np.count_nonzero(failing) < NEARLY * failing.size
        or not np.isfinite(apart).all()
    ):
        return
    if subject.evidence.precision is not None or subject.stage.is_answer or not _is_independent(apart, own):
        return
    spread = float(apart.std())
    is_even = float(np.mean((apart / spread) ** 4)) < _EVEN
    size = f"evenly within ±{np.abs(apart).max():.2g}" if is_even else f"of a standard deviation of {spread:.2g}"
    excess = np.full(subject.recorded.shape, np.nan)
    excess[:, channels] = subject.error.excess[:, channels]
    frames = len(excess)
    yield Relation(
        subject.stage.name,
        subject.place_of(channels).name,
        NOISE,
        f"what it should be with noise, {size}: no channel and no frame depends on another",
        frames,
        frames,
        0.0,
        channels=tuple(channels.tolist()),
        excess=excess,
        is_rule=False,
    )


def _is_independent(apart: FloatArray, own: FloatArray) -> bool:
    """Whether numbers (T, C) have the mean 0 and one size, and depend on no frame before, no other channel, no value."""
    sizes = apart.std(axis=0)
    if sizes.min() <= 0.0 or sizes.max() > _ALIKE * sizes.min():
        return False
    scores = (apart - apart.mean(axis=0)) / sizes
    beside = np.corrcoef(scores, rowvar=False) - np.eye(scores.shape[1]) if scores.shape[1] > 1 else np.zeros((1, 1))
    moves = own.std(axis=0)
    by_value = np.where(moves > 0.0, (own - own.mean(axis=0)) / np.where(moves > 0.0, moves, 1.0), 0.0)
    alone = [apart.mean() / apart.std(), np.mean(scores[1:] * scores[:-1]), np.mean(scores * by_value)]
    return bool(
        np.abs(alone).max() <= _SIGMAS / np.sqrt(apart.size) and np.abs(beside).max() <= _SIGMAS / np.sqrt(len(apart))
    )
