"""What happens to a number on its way: held between limits, squashed, blended, rounded to fewer bits or to steps.

Each has few free numbers, read off from what was recorded: a limit is where many values stand, a share is a quotient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.relations.contract_arrays import arrays_of
from rigpact.reports.diagnosing.relations.lines import almost_all, is_odd, roundest
from rigpact.reports.diagnosing.relations.pulled_back import STORED
from rigpact.reports.diagnosing.relations.relation import CLAMPED, CandidateEdit, ChannelSet, listed
from rigpact.reports.diagnosing.relations.target import Target
from rigpact.reports.diagnosing.stage_error import NEARLY

_FEWEST = 4
"""Values at a limit, or in a band."""
_CLEARLY = 4.0
"""A share is read off where the other vector is so many bounds away: nearer values tell nothing of it."""
_SMALLEST = float(np.finfo(np.float32).tiny)


def to_float16(rows: FloatArray) -> FloatArray:
    """Rounded to eleven bits."""
    with np.errstate(over="ignore"):
        return rows.astype(np.float16).astype(np.float64)


def to_bfloat16(rows: FloatArray) -> FloatArray:
    """Rounded to eight bits, ties to even."""
    bits = np.ascontiguousarray(rows, np.float32).view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))) >> np.uint64(16)) << np.uint64(16)
    return rounded.astype(np.uint32).view(np.float32).astype(np.float64)


ROUNDINGS = {"float16": to_float16, "bfloat16": to_bfloat16}
STEPPINGS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "cut": np.trunc,
    "rounded": np.round,
    "rounded down": np.floor,
    "rounded up": np.ceil,
}
"""How a number comes to a whole one."""
_STEP_WIDTH = 32.0
"""A step is told where it is so many bounds wide."""
FUNCTIONS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "tanh({it})": np.tanh,
    "atanh({it}): the tanh is missing": np.arctanh,
    "the size of {it}, without its sign": np.abs,
    "{it} where it is above 0, else 0": lambda rows: np.maximum(rows, 0.0),
    "the sine of {it}": np.sin,
    "the square of {it}": np.square,
    "1 divided by {it}": lambda rows: np.divide(1.0, rows, out=np.zeros_like(rows), where=rows != 0.0),
    "1 minus {it}": lambda rows: 1.0 - rows,
    "exp({it})": np.exp,
    "1/(1 + exp(-{it}))": lambda rows: 1.0 / (1.0 + np.exp(-rows)),
}
"""Functions of one number without a free one."""


def mapped(target: Target) -> Iterator[CandidateEdit]:
    """Every map of a number, at every place that differs."""
    for place in target.places if target.is_finite else ():
        for find in (_rounded, _stepped, _banded, _limited, _functions, _squashed, _blended):
            yield from find(target, place)


def _of(target: Target, place: ChannelSet) -> tuple[FloatArray, FloatArray, FloatArray, NDArray[np.bool_]]:
    """What should be there, what was, how far rounding and storing move it, and where they differ, at a place."""
    own, held, bound = (rows[:, place.channels] for rows in (target.own, target.held, target.bound))
    return own, held, bound + STORED * np.abs(held), target.failing[:, place.channels]


def _on(place: ChannelSet, function: Callable[[FloatArray], FloatArray], own: FloatArray) -> FloatArray:
    return function(own[:, place.channels])


def _rounded(target: Target, place: ChannelSet) -> Iterator[CandidateEdit]:
    """Rounded to float16 or bfloat16; a value within its bound of the middle of two steps may be on either."""
    if target.subject.evidence.precision is not None:  # numbers that were written coarsely do not show who rounded them
        return
    for name, rounded in ROUNDINGS.items():
        if target.name:
            words, rule = f"a {target.name} that was rounded to {name}", partial(_on, place, rounded)
        else:
            rule = partial(given, _nearest_step(target, place, rounded))
            words = f"{target.it}, rounded to {name}"
        yield from target.edit("rounded", words, place.channels, rule)


def _nearest_step(target: Target, place: ChannelSet, stepped: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """What should be there in steps; of two that its rounding leaves open, the one that was there."""
    own, held, bound, _ = _of(target, place)
    bound = np.nan_to_num(bound, posinf=0.0)
    steps = np.stack([stepped(own), stepped(own - bound), stepped(own + bound)])
    nearest = np.argmin(np.abs(steps - held), axis=0)
    return np.asarray(np.take_along_axis(steps, nearest[None], axis=0)[0])


def _stepped(target: Target, place: ChannelSet) -> Iterator[CandidateEdit]:
    """In steps of one size: cut, as by an int, or rounded."""
    own, held, bound, failing = _of(target, place)
    known = failing & np.isfinite(bound)
    size = _step_of(held[known], float(np.median(bound[known]))) if known.any() else None
    if size is None or target.subject.evidence.precision is not None:
        return
    turn = np.log2(2.0 * np.pi / size)
    shown = f"a {2 ** round(turn)}th of a turn" if is_odd(size) and abs(turn - round(turn)) < STORED else f"{size:.6g}"
    for word, whole in STEPPINGS.items():
        rows = _nearest_step(target, place, partial(_in_steps, whole, size))
        words = f"{target.it}, {word} to steps of {shown}"
        yield from target.edit(
            "rounded",
            words,
            place.channels,
            partial(given, rows),
            extra=STORED * np.abs(own),
            fitted=1,
            pieces=is_odd(size),
        )


def _in_steps(whole: Callable[[FloatArray], FloatArray], size: float, values: FloatArray) -> FloatArray:
    return whole(values / size) * size


def _step_of(held: FloatArray, bound: float) -> float | None:
    """The size of which all values are whole numbers of steps, made round; None where there is none."""
    values = np.unique(np.abs(held[np.isfinite(held)]))
    apart = np.diff(values)
    apart = apart[apart > _STEP_WIDTH * bound]
    if len(apart) < 2:
        return None
    size = float(np.quantile(apart, 0.05))
    for reach in (8.0, 64.0, 512.0, np.inf):  # what few steps tell is made precise by many
        count = np.round(values / size)
        near = (count > 0.0) & (count < reach)
        size = float((values[near] * count[near]).sum() / (count[near] ** 2).sum()) if near.any() else size
    off = 2.0 * bound + STORED * values
    if size <= _STEP_WIDTH * bound or np.mean(np.abs(values - np.round(values / size) * size) > off) > 1.0 - NEARLY:
        return None
    reach = (2.0 * bound + STORED * float(values[-1])) / max(1.0, float(np.round(values[-1] / size)))
    return roundest(size - reach, size + reach)


def given(rows: FloatArray, _own: FloatArray) -> FloatArray:
    """The rule that gives some rows, whatever should be there."""
    return rows


def _limited(target: Target, place: ChannelSet) -> Iterator[CandidateEdit]:
    """Held between two limits, the same for every channel, or above or below one; a limit beyond all values is a constant."""
    own, held, bound, failing = _of(target, place)
    low = _limit(held, bound, failing & (held > own))
    high = _limit(held, bound, failing & (held < own))
    low, high = (None if each is None or not own.min() < each < own.max() else each for each in (low, high))
    if low == high:
        return
    if low is not None and high is not None:
        words = f"clipped to [{low:.6g}, {high:.6g}]"
    else:
        words = f"limited to at most {high:.6g}" if low is None else f"limited to at least {low:.6g}"
    limits = (-np.inf if low is None else low, np.inf if high is None else high)
    known = [limit for limit in limits if np.isfinite(limit)]
    rule, pieces = partial(_clipped, place, *limits), sum(map(is_odd, known))
    words = f"{target.prefix}{words}"
    yield from target.edit(CLAMPED, words, place.channels, rule, fitted=len(known), pieces=pieces)


def _clipped(place: ChannelSet, low: float | FloatArray, high: float | FloatArray, own: FloatArray) -> FloatArray:
    return np.asarray(np.clip(own[:, place.channels], low, high))


def _limit(held: FloatArray, bound: FloatArray, stands: NDArray[np.bool_]) -> float | None:
    """The one number at which several values stand; None where they differ."""
    if np.count_nonzero(stands) < _FEWEST:
        return None
    low, high = (held - bound)[stands].max(), (held + bound)[stands].min()
    return roundest(float(low), float(high)) if low <= high else None


def limited_each(target: Target) -> Iterator[CandidateEdit]:
    """Held between limits of its own in each channel, at every place that differs."""
    for place in target.places if target.is_finite else ():
        yield from _limited_each(target, place)


def _limited_each(target: Target, place: ChannelSet) -> Iterator[CandidateEdit]:
    own, held, bound, failing = _of(target, place)
    limits = np.stack((np.full(own.shape[1], -np.inf), np.full(own.shape[1], np.inf)))
    for channel in np.flatnonzero(failing.any(axis=0)):
        column = slice(channel, channel + 1)
        for side, stands in enumerate((held > own, held < own)):
            where = failing[:, column] & stands[:, column]
            limit = _limit(held[:, column], bound[:, column], where)
            if limit is None and where.any():
                return
            if limit is not None:
                limits[side, channel] = limit
    if not np.isfinite(limits).any() or own.shape[1] == 1:
        return
    shown = [f"[{low:.4g}, {high:.4g}]" for low, high in limits.T if np.isfinite((low, high)).any()]
    words = f"held between limits of its own in each channel, {listed(shown)}"
    rule, fitted = partial(_clipped, place, *limits), int(np.isfinite(limits).sum())
    yield from target.edit(CLAMPED, f"{target.prefix}{words}", place.channels, rule, fitted=fitted, is_rule=False)


def _banded(target: Target, place: ChannelSet) -> Iterator[CandidateEdit]:
    """Zero where it is small, or where it is large."""
    own, held, bound, failing = _of(target, place)
    zero = failing & (np.abs(held) <= bound)
    if np.count_nonzero(zero) < _FEWEST or np.count_nonzero(zero) < NEARLY * np.count_nonzero(failing):
        return
    sizes, rest = np.abs(own[zero]), np.abs(own[~failing & (np.abs(own) > bound)])
    for which, without, low, high in (
        ("below", _without_small, sizes.max(), rest.min(initial=np.inf)),
        ("above", _without_large, rest.max(initial=0.0), sizes.min()),
    ):
        if not 0.0 < low < high < np.inf:
            continue
        band = roundest(float(low), float(high))
        words = f"{target.it} with 0 where its size is {which} {band:.6g}"
        rule = partial(without, place, band)
        yield from target.edit("deadband", words, place.channels, rule, fitted=1)


def _without_small(place: ChannelSet, band: float, own: FloatArray) -> FloatArray:
    values = own[:, place.channels]
    return np.where(np.abs(values) < band, 0.0, values)


def _without_large(place: ChannelSet, band: float, own: FloatArray) -> FloatArray:
    values = own[:, place.channels]
    return np.where(np.abs(values) > band, 0.0, values)


def _functions(target: Target, place: ChannelSet) -> Iterator[CandidateEdit]:
    for words, function in FUNCTIONS.items():
        if _is_known(function, target, place):
            said, rule = words.format(it=target.it), partial(_on, place, function)
            yield from target.edit("function", said, place.channels, rule, steepness=_steep(function, target, place))


def _is_known(function: Callable[[FloatArray], FloatArray], target: Target, place: ChannelSet) -> bool:
    """Whether almost every value that differs has a finite one."""
    own, failing = target.own[:, place.channels], target.failing[:, place.channels]
    with np.errstate(all="ignore"):
        known = np.isfinite(function(own))
    return bool(np.count_nonzero(known & failing) >= NEARLY * np.count_nonzero(failing))


def _steep(function: Callable[[FloatArray], FloatArray], target: Target, place: ChannelSet) -> FloatArray:
    """How much a function enlarges a small error, where it is."""
    own, bound = target.own[:, place.channels], np.maximum(target.bound[:, place.channels], _SMALLEST)
    with np.errstate(all="ignore"):
        step = np.maximum(np.abs(function(own + bound) - function(own)), np.abs(function(own - bound) - function(own)))
    return np.nan_to_num(step / bound, nan=1.0, posinf=np.inf)


def _squashed(target: Target, place: ChannelSet) -> Iterator[CandidateEdit]:
    """tanh by a scale of the contract, where the numbers were squashed once more, or not at all."""
    if not place.is_whole:
        return
    for array in arrays_of(target.subject.contract):
        if array.values.shape != (target.own.shape[1],) or not np.all(array.values > 0.0):
            continue
        squash, back = partial(_tanh_of, array.values), partial(_atanh_of, array.values)
        words = f"tanh({target.it} / {array.name}): it is squashed once more than it should be"
        yield from target.edit("function", words, place.channels, partial(_on, place, squash))
        if _is_known(back, target, place):
            words = f"atanh({target.it}) · {array.name}: the tanh is missing"
            yield from target.edit(
                "function", words, place.channels, partial(_on, place, back), steepness=_steep(back, target, place)
            )


def _tanh_of(scale: FloatArray, rows: FloatArray) -> FloatArray:
    return np.asarray(np.tanh(rows / scale))


def _atanh_of(scale: FloatArray, rows: FloatArray) -> FloatArray:
    return np.asarray(np.arctanh(rows) * scale)


def _blended(target: Target, place: ChannelSet) -> Iterator[CandidateEdit]:
    """A share of the way to another vector: its own of the frame before, its first row, a vector as wide."""
    own, held, bound, failing = _of(target, place)
    for words, towards, extra in _blends(target, place):
        step = towards - own
        counts = failing & np.isfinite(step) & (np.abs(step) > _CLEARLY * bound)
        if np.count_nonzero(counts) < 2 * _FEWEST:
            continue
        share = (held - own)[counts] / step[counts]
        reach = (bound + extra)[counts] * 2.0 / np.abs(step[counts])
        low, high = almost_all(share - reach, share + reach)
        if low > high or not 0.0 < low <= high < 1.0:
            continue
        part = roundest(low, high)
        said = words.format(it=target.it, part=part, rest=1.0 - part)
        rule = partial(_between, place, towards, part)
        yield from target.edit(
            "blended", said, place.channels, rule, extra=extra + bound, fitted=1, pieces=is_odd(part)
        )


def _between(place: ChannelSet, towards: FloatArray, part: float, own: FloatArray) -> FloatArray:
    values = own[:, place.channels]
    return np.where(np.isfinite(towards), values + part * (towards - values), values)


def _blends(target: Target, place: ChannelSet) -> Iterator[tuple[str, FloatArray, FloatArray]]:
    subject, (own, held, _, _) = target.subject, _of(target, place)
    lost = subject.lost_in_writing(held)
    earlier = subject.shifted(target.own, -1)[:, place.channels]
    yield (
        "{it}, with {part:.4g} of the one of frame t-1 in it",
        _first_unknown(earlier),
        target.bound[:, place.channels],
    )
    yield (
        "{it}, with {part:.4g} of the first frame's in it",
        np.broadcast_to(own[:1], own.shape),
        target.bound[:, place.channels],
    )
    for name, rows in {**subject.inputs, **subject.others}.items():
        if rows.shape[1] == target.own.shape[1] and name != target.name and subject.may_be_read(name, 0):
            yield f"{{it}}, with {{part:.4g}} of {name} in it", rows.astype(np.float64)[:, place.channels], lost


def _first_unknown(rows: FloatArray) -> FloatArray:
    known = rows.copy()
    known[0] = np.nan
    return known
