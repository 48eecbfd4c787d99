"""A channel that is a line of what it should be, or of another vector: a factor, a constant, or both.

One number for all is said first, then a table of the contract, then a number for each channel. Lines are fitted on one half of
the values and tested on all.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reports.diagnosing.relations.lines import Lines
from rigpact.reports.diagnosing.relations.numbers import arrays_of
from rigpact.reports.diagnosing.relations.relation import Reading
from rigpact.reports.diagnosing.relations.round_numbers import factors_of, roundest
from rigpact.reports.diagnosing.relations.subject import Channels, names_of
from rigpact.reports.diagnosing.relations.target import Target, given

_LISTED = 4
"""More channels than these are counted, not listed."""


def on_one_line(target: Target) -> Iterator[Reading]:
    """One factor, or one constant, for every channel that differs: named factors first, then those that were fitted."""
    for place in target.places(np.ones(target.own.shape[1], bool)):
        for words, factor in factors_of(target.subject.evidence.fps).items():
            reading = _times(target, words, place.channels, factor)
            if reading is not None:
                yield reading


def _times(target: Target, words: str, channels: Channels, factor: float, fitted: int = 0) -> Reading | None:
    said = f"{words} times {target.it}"
    return target.reading(
        "scaled", said, channels, partial(_scaled, channels, factor, 0.0), steepness=factor, fitted=fitted
    )


def _scaled(channels: Channels, factor: float | FloatArray, summand: float | FloatArray, own: FloatArray) -> FloatArray:
    return np.asarray(factor * own[:, channels] + summand)


def on_fitted_line(target: Target) -> Iterator[Reading]:
    """One factor, or one constant, for every channel that differs."""
    lines = Lines.of(target.own, target.held, target.bound, target.failing)
    if lines is None:
        return
    for (low, high), say in ((lines.factors(), _factor_reading), (lines.summands(), _summand_reading)):
        lowest, highest = low.max(), high.min()
        if lowest <= highest:
            yield from given(say(target, lines.channels, np.full(len(low), roundest(lowest, highest))))


def on_some_lines(target: Target) -> Iterator[Reading]:
    """One factor, or one constant, for some of the channels that differ, in every frame."""
    lines = None if target.subject.stage.is_answer else _in_every_frame(target)
    if lines is not None:
        yield from _in_groups(lines.channels, *lines.factors(), partial(_factor_reading, target))
        yield from _in_groups(lines.channels, *lines.summands(), partial(_summand_reading, target))


def of_other_vectors(target: Target) -> Iterator[Reading]:
    """Another vector as wide, times one number or a table of the contract, or with one added."""
    subject = target.subject
    if target.name:
        return
    for name, rows in {**subject.inputs, **subject.others}.items():
        if rows.shape != target.own.shape or not subject.may_be_read(name, 0):
            continue
        other = rows.astype(np.float64)
        if not np.ptp(other, axis=0).any():
            continue
        lines = Lines.of(other, target.held, target.bound, target.failing)
        if lines is not None:
            extra = subject.lost_in_writing(other)
            for words, factor, summand in _from_other(subject.contract, lines):
                yield from given(
                    target.reading(
                        "elsewhere", f"{words.format(it=name)} in place of it", lines.channels,
                        partial(_line_of, other, lines.channels, factor, summand), extra=extra[:, lines.channels],
                        fitted=int(np.ndim(factor) == np.ndim(summand) == 0),
                    )
                )  # fmt: skip


def _from_other(contract: Contract, lines: Lines) -> Iterator[tuple[str, float | FloatArray, float | FloatArray]]:
    """One number, or the numbers of a table, that tell every value of another vector's lines: words, factor, summand."""
    for (low, high), words, is_factor in (
        (lines.factors(), "{it} times", True),
        (lines.summands(), "{it} plus", False),
    ):
        if (low > high).any():
            continue
        for name, told in _told(contract, lines.channels, low, high, is_factor=is_factor):
            yield f"{words} {name}", told if is_factor else 1.0, 0.0 if is_factor else told
            break


def _told(
    contract: Contract, channels: Channels, low: FloatArray, high: FloatArray, *, is_factor: bool
) -> Iterator[tuple[str, float | FloatArray]]:
    """One number in every interval, then the tables of the contract that have one in each; of factors the inverse tables too."""
    if low.max() <= high.min():
        number = roundest(float(low.max()), float(high.min()))
        yield f"{number:.6g}", number
    for array in arrays_of(contract):
        values = array.values[channels] if array.values.size > int(channels.max()) else np.zeros(len(channels))
        if _within(values, low, high):
            yield (
                f"{array.name} ({', '.join(f'{value:.4g}' for value in values[:_LISTED])}{' …' * (len(values) > _LISTED)})",
                values,
            )
        if is_factor and values.all() and _within(1.0 / values, low, high):
            yield f"1 / {array.name}", 1.0 / values


def _within(values: FloatArray, low: FloatArray, high: FloatArray) -> bool:
    """Whether numbers that are not all one are each in its interval."""
    return bool((values >= low).all() and (values <= high).all() and np.ptp(values) > 0.0)


def _line_of(
    other: FloatArray, channels: Channels, factor: float | FloatArray, summand: float | FloatArray, _own: FloatArray
) -> FloatArray:
    return np.asarray(factor * other[:, channels] + summand)


def _in_every_frame(target: Target) -> Lines | None:
    everywhere = np.broadcast_to(target.failing.any(axis=0), target.failing.shape)
    return Lines.of(target.own, target.held, target.bound, everywhere)


def on_lines(target: Target) -> Iterator[Reading]:
    """A factor, a constant or both of its own for each channel that differs, in every frame, as few numbers as fit."""
    lines = None if target.subject.stage.is_answer else _in_every_frame(target)
    if lines is None:
        return
    yield from _each(lines.channels, *lines.factors(), partial(_factor_reading, target))
    yield from _each(lines.channels, *lines.summands(), partial(_summand_reading, target))
    factor, summand = lines.line()
    fits = lines.fits(factor, summand)
    channels, factor, summand = lines.channels[fits], factor[fits], summand[fits]
    if not len(channels):
        return
    shown = [
        f"{a:.4g}·x{c:+.4g} at {names_of(target.layout, [int(channel)])}"
        for channel, a, c in zip(channels, factor, summand, strict=True)
    ]
    words = "scaled and moved by constants of its own in each channel, as with other statistics"
    yield from given(
        target.reading(
            "statistics", f"{target.prefix}{words}: {_some(shown)}", channels,
            partial(_scaled, channels, factor, summand), steepness=factor, extra=lines.slack[fits], fitted=2 * len(channels),
        )
    )  # fmt: skip


def _factor_reading(target: Target, channels: Channels, values: FloatArray) -> Reading | None:
    if len(np.unique(values)) == 1:
        return _times(target, f"{values[0]:.6g}", channels, float(values[0]), 1)
    words = "scaled by a constant of its own in each channel, as with another scale, σ or floor"
    return target.reading(
        "statistics", f"{target.prefix}{words}: {_listed(target, channels, values, '·')}", channels,
        partial(_scaled, channels, values, 0.0), steepness=values, fitted=len(values),
    )  # fmt: skip


def _summand_reading(target: Target, channels: Channels, values: FloatArray) -> Reading | None:
    rule = partial(_scaled, channels, 1.0, values)
    if len(np.unique(values)) == 1:
        of = f" than {target.name}" if target.name else " than it should be"
        size, more = abs(float(values[0])), "more" if values[0] > 0 else "less"
        words = f"{size:.6g} {more}{of}"
        return target.reading("added", words, channels, rule, extra=np.abs(values) * 2.0**-22, fitted=1)
    words = "moved by a constant of its own in each channel, as with another mean"
    words = f"{target.prefix}{words}: {_listed(target, channels, values, '+')}"
    return target.reading("statistics", words, channels, rule, extra=np.abs(values) * 2.0**-22, fitted=len(values))


def _listed(target: Target, channels: Channels, values: FloatArray, sign: str) -> str:
    shown = [
        f"{value:{'+' if sign == '+' else ''}.6g} at {names_of(target.layout, [int(channel)])}"
        for channel, value in zip(channels[:_LISTED], values, strict=False)
    ]
    return ", ".join(shown) + (f" and {len(channels) - _LISTED} more" if len(channels) > _LISTED else "")


Say = Callable[[Channels, FloatArray], Reading | None]


def _in_groups(channels: Channels, low: FloatArray, high: FloatArray, say: Say) -> Iterator[Reading]:
    """Channels that one number explains together, the group of the number that is known best first."""
    left = low <= high
    while left.any():
        best = np.argmin(np.where(left, high - low, np.inf))
        together = left & (low <= high[best]) & (high >= low[best])
        lowest, highest = low[together].max(), high[together].min()
        if lowest > highest:
            together = np.arange(len(left)) == best
            lowest, highest = low[best], high[best]
        yield from given(say(channels[together], np.full(np.count_nonzero(together), roundest(lowest, highest))))
        left &= ~together


def _each(channels: Channels, low: FloatArray, high: FloatArray, say: Say) -> Iterator[Reading]:
    """All channels that a number each explains."""
    possible = low <= high
    if np.count_nonzero(possible) > 1:
        values = [roundest(a, b) for a, b in zip(low[possible], high[possible], strict=True)]
        yield from given(say(channels[possible], np.array(values)))


def _some(words: Sequence[str]) -> str:
    return ", ".join(words[:_LISTED]) + (f" and {len(words) - _LISTED} more" if len(words) > _LISTED else "")
