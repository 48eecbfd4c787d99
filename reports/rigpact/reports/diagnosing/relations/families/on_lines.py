"""A channel that is a line of what it should be, or of another vector: a factor, a constant, or both.

One number for all is said first, then a table of the contract, then a number for each channel. Lines are fitted to every second
value and tested on all.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reports.diagnosing.relations.contract_arrays import arrays_of
from rigpact.reports.diagnosing.relations.lines import Lines, factors_of, is_odd, roundest
from rigpact.reports.diagnosing.relations.pulled_back import STORED
from rigpact.reports.diagnosing.relations.relation import ENDS_NO_SEARCH, CandidateEdit, Channels, listed, names_of
from rigpact.reports.diagnosing.relations.target import Target
from rigpact.reports.diagnosing.stage_error import NEARLY

Say = Callable[[Target, Channels, FloatArray], Iterator[CandidateEdit]]
"""A target, channels and a number for each -> the reading of these factors, or of these constants."""


def on_one_line(target: Target) -> Iterator[CandidateEdit]:
    """A factor that mistakes have, at every place that differs."""
    for place in target.places:
        for words, factor in factors_of(target.subject.evidence.fps).items():
            yield from _times(target, words, place.channels, factor)


def on_fitted_line(target: Target) -> Iterator[CandidateEdit]:
    """One factor, or one constant, or both, for every channel that differs."""
    lines = Lines.of(target.own, target.held, target.bound, target.failing)
    if lines is None or len(lines.channels) < NEARLY * len(target.channels):
        return
    for (low, high), say in _intervals(lines):
        if low.max() <= high.min():
            number = roundest(float(low.max()), float(high.min()))
            yield from say(target, lines.channels, np.full(len(low), number))
    every = _in_every_frame(target)
    line = every.common() if every is not None and len(every.channels) > 1 else None
    if every is not None and line is not None:
        yield from _line_of_all(target, every.channels, *line)


def _line_of_all(target: Target, channels: Channels, factor: float, summand: float) -> Iterator[CandidateEdit]:
    yield from target.edit(
        "scaled",
        f"{factor:.6g} times {target.it}, {_more(summand)}",
        channels,
        partial(_line, channels, factor, summand),
        steepness=factor,
        extra=np.full(len(channels), abs(summand) * STORED),
        fitted=2,
        pieces=ENDS_NO_SEARCH + is_odd(factor) + is_odd(summand),
    )


def _more(summand: float) -> str:
    return f"{abs(summand):.6g} {'more' if summand > 0 else 'less'}"


def on_lines(target: Target) -> Iterator[CandidateEdit]:
    """A factor and a constant of its own for each channel that differs; in every frame, as few numbers as fit."""
    lines = _in_every_frame(target)
    if lines is None:
        return
    for (low, high), say in _intervals(lines):
        possible = low <= high
        if np.count_nonzero(possible) > 1:
            values = [roundest(a, b) for a, b in zip(low[possible], high[possible], strict=True)]
            yield from say(target, lines.channels[possible], np.array(values))
    factor, summand = lines.line()
    fits = lines.fits(factor, summand)
    if fits.any():
        yield from _both(target, lines.channels[fits], factor[fits], summand[fits], lines.slack[fits])


def on_some_lines(target: Target) -> Iterator[CandidateEdit]:
    """One factor, or one constant, for some of the channels that differ, in every frame; that which is known best first."""
    lines = _in_every_frame(target)
    if lines is None:
        return
    for (low, high), say in _intervals(lines):
        left = low <= high
        while left.any():
            best = np.argmin(np.where(left, high - low, np.inf))
            together = left & (low <= high[best]) & (high >= low[best])
            lowest, highest = low[together].max(), high[together].min()
            if lowest > highest:
                together, lowest, highest = np.arange(len(left)) == best, low[best], high[best]
            number = np.full(np.count_nonzero(together), roundest(float(lowest), float(highest)))
            yield from say(target, lines.channels[together], number)
            left &= ~together


def of_other_vectors(target: Target) -> Iterator[CandidateEdit]:
    """Another vector as wide that moves, times one number or a table of the contract, or with one added."""
    subject = target.subject
    for name, rows in () if target.name else {**subject.inputs, **subject.others}.items():
        if rows.shape != target.own.shape or not subject.may_be_read(name, 0) or not np.ptp(rows, axis=0).any():
            continue
        other = rows.astype(np.float64)
        lines = Lines.of(other, target.held, target.bound, target.failing)
        if lines is None:
            continue
        channels = lines.channels
        for words, factor, summand, fitted in _of_other(subject.contract, target.own.shape[1], lines):
            yield from target.edit(
                "elsewhere",
                f"{words.format(it=name)} in place of it",
                channels,
                partial(_line_of, other, channels, factor, summand),
                extra=subject.lost_in_writing(other)[:, channels],
                fitted=fitted,
            )


def _in_every_frame(target: Target) -> Lines | None:
    """The lines of all values of the channels that differ; none of a network's answer, where numbers mean nothing alone."""
    if target.subject.stage.is_answer:
        return None
    everywhere = np.broadcast_to(target.failing.any(axis=0), target.failing.shape)
    return Lines.of(target.own, target.held, target.bound, everywhere)


def _intervals(lines: Lines) -> tuple[tuple[tuple[FloatArray, FloatArray], Say], ...]:
    return (lines.factors(), _factors), (lines.summands(), _summands)


def _factors(target: Target, channels: Channels, values: FloatArray) -> Iterator[CandidateEdit]:
    if np.ptp(values) == 0.0:
        yield from _times(target, f"{values[0]:.6g}", channels, float(values[0]), 1)
        return
    words = "scaled by a constant of its own in each channel, as with another scale, σ or floor"
    yield from target.edit(
        "statistics",
        f"{target.prefix}{words}: {_beside(target, channels, values, '.6g')}",
        channels,
        partial(_line, channels, values, 0.0),
        steepness=values,
        fitted=len(values),
        is_rule=False,
    )


def _times(target: Target, words: str, channels: Channels, factor: float, fitted: int = 0) -> Iterator[CandidateEdit]:
    rule = partial(_line, channels, factor, 0.0)
    yield from target.edit(
        "scaled",
        f"{words} times {target.it}",
        channels,
        rule,
        steepness=factor,
        fitted=fitted,
        pieces=is_odd(factor) if fitted else 0,
    )


def _summands(target: Target, channels: Channels, values: FloatArray) -> Iterator[CandidateEdit]:
    rule, extra = partial(_line, channels, 1.0, values), np.abs(values) * STORED
    if np.ptp(values) == 0.0:
        words = f"{_more(values[0])} than {target.name or 'it should be'}"
        yield from target.edit("added", words, channels, rule, extra=extra, fitted=1, pieces=is_odd(float(values[0])))
        return
    words = "moved by a constant of its own in each channel, as with another mean"
    words = f"{target.prefix}{words}: {_beside(target, channels, values, '+.6g')}"
    yield from target.edit("statistics", words, channels, rule, extra=extra, fitted=len(values), is_rule=False)


def _both(
    target: Target, channels: Channels, factor: FloatArray, summand: FloatArray, slack: FloatArray
) -> Iterator[CandidateEdit]:
    shown = [
        f"{a:.4g}·x{c:+.4g} at {names_of(target.layout, [channel])}"
        for channel, a, c in zip(channels, factor, summand, strict=True)
    ]
    words = "scaled and moved by constants of its own in each channel, as with other statistics"
    yield from target.edit(
        "statistics",
        f"{target.prefix}{words}: {listed(shown)}",
        channels,
        partial(_line, channels, factor, summand),
        steepness=factor,
        extra=slack,
        fitted=2 * len(channels),
        is_rule=False,
    )


def _line(channels: Channels, factor: float | FloatArray, summand: float | FloatArray, own: FloatArray) -> FloatArray:
    return np.asarray(factor * own[:, channels] + summand)


def _line_of(
    other: FloatArray, channels: Channels, factor: float | FloatArray, summand: float | FloatArray, _own: FloatArray
) -> FloatArray:
    return _line(channels, factor, summand, other)


def _beside(target: Target, channels: Channels, values: FloatArray, form: str) -> str:
    """Each number and the channel that it belongs to."""
    pairs = zip(channels, values, strict=True)
    return listed([f"{value:{form}} at {names_of(target.layout, [channel])}" for channel, value in pairs])


def _of_other(
    contract: Contract, width: int, lines: Lines
) -> Iterator[tuple[str, float | FloatArray, float | FloatArray, int]]:
    """One number, or a table, that tells every value of another vector's lines: words, factor, summand, how many were fitted."""
    low, high = lines.factors()
    for words, told, fitted in _told(contract, width, lines.channels, low, high, has_inverse=True):
        yield f"{{it}} times {words}", told, 0.0, fitted
    low, high = lines.summands()
    for words, told, fitted in _told(contract, width, lines.channels, low, high, has_inverse=False):
        yield f"{{it}} plus {words}", 1.0, told, fitted


def _told(
    contract: Contract, width: int, channels: Channels, low: FloatArray, high: FloatArray, *, has_inverse: bool
) -> Iterator[tuple[str, float | FloatArray, int]]:
    """One number in every interval, else the tables of the contract that have one in each, or the inverse of one.

    A table of every entry of a history is as wide as one entry.
    """
    if low.max() <= high.min():
        number = roundest(float(low.max()), float(high.min()))
        yield f"{number:.6g}", number, 1
        return
    for array in arrays_of(contract):
        if width % array.values.size:
            continue
        values = np.tile(array.values, width // array.values.size)[channels]
        shown = f"{array.name} ({listed([f'{value:.4g}' for value in values])})"
        if ((low <= values) & (values <= high)).all():
            yield shown, values, 0
        if has_inverse and values.all() and ((low <= 1.0 / values) & (1.0 / values <= high)).all():
            yield f"1 / {shown}", 1.0 / values, 0
