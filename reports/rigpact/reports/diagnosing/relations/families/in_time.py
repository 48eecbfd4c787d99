"""What a loop does to a vector from tick to tick: filters, differences, integrals, limits of its rate, sums with other vectors.

One regression over the vector, what stood there before and the other vectors of the recording, each at a few ticks, finds the
coefficients; they are made round, and the recurrence runs from its first tick on its own numbers alone: so it is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.graph.work import SEARCHED_FRAMES
from rigpact.reference_runtime.operations.scalars import gamma
from rigpact.reports.diagnosing.relations.lines import almost_all, is_odd, roundest
from rigpact.reports.diagnosing.relations.pulled_back import STORED
from rigpact.reports.diagnosing.relations.relation import ENDS_NO_SEARCH, CandidateEdit, ChannelSet
from rigpact.reports.diagnosing.relations.target import Target
from rigpact.reports.diagnosing.relations.ticks import Ticks
from rigpact.reports.diagnosing.stage_error import ENOUGH, NEARLY

Recurrence = Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
"""What should be there at each tick and its bound, (N, C) each, to rows and how far rounding moves them."""
Term = tuple[str, int]
"""A vector by name, and how many ticks before; two are no vector's names."""
OWN, WAS = "", "what stood there"

_FEWEST = 8
"""Values for each coefficient: fewer prove nothing of a sum."""
_NUMBERS = 1 << 14
"""So many numbers tell a few coefficients; each is judged on every number afterwards."""
_PRODUCTS = 16
"""Terms whose products with one another cost about what an evaluation of as many numbers does."""
_EXPLAINED = 1e-3
"""The part of the squared error that a sum may leave before it is looked at closely."""
_SURE = 6.0
"""Standard errors of a coefficient."""
_OPERATIONS = 8
"""Roundings of a term: its product, its sum, storing it on each side."""
_EQUAL = 1e-6
"""How far coefficients that are equal, or whose sum is 1, may be apart: they were made round one by one."""
_NO_PART = 1e-4
"""The part of a sum's terms that is 0 where coefficients are rounded."""
_SMALLEST = float(np.finfo(np.float32).tiny)

_OF_ITSELF: tuple[tuple[Term, ...], ...] = (
    ((OWN, 0), (WAS, 1)),
    ((OWN, 0), (OWN, 1)),
    ((OWN, 0), (OWN, 1), (WAS, 1)),
    ((OWN, 0), (WAS, 1), (WAS, 2)),
    ((OWN, 0), (OWN, 1), (OWN, 2)),
    ((OWN, 0), (OWN, 1), (WAS, 1), (WAS, 2)),
)


def _with_another(name: str) -> Iterator[tuple[Term, ...]]:
    yield from (((name, 0), (name, 1)), ((name, 1), (name, 2)), ((name, -1), (name, 0)), ((name, -1), (name, 1)))
    yield from (((OWN, 0), (name, 0)), ((OWN, 0), (name, 1)), ((WAS, 1), (name, 0)), ((WAS, 1), (name, 1)))
    yield ((WAS, 1), (OWN, 0), (name, 0))


def in_time(target: Target) -> Iterator[CandidateEdit]:
    """Every sum over ticks, and a limit of the rate, of all channels, or of those that differ."""
    subject = target.subject
    is_unbroken = bool((np.diff(subject.evidence.frame) == 1).all())
    if not target.is_finite or not is_unbroken or subject.contract.system.windowed:
        return
    ticks = Ticks.of_rows(target.own, subject.evidence.fps, target.held, target.bound)
    for place in replace(target, is_narrow=True).places:
        series = _Series(target, place, ticks)
        if len(np.unique(series.held[series.counts])) >= _FEWEST:  # what stands still is the sum of anything that does
            yield from _rate_limited(series)
            yield from _sums(series)


@dataclass(frozen=True, eq=False)
class _Series:
    """A target at a place and at its ticks, (N, C) each: what should be there, what was, how far that may be off."""

    target: Target
    place: ChannelSet
    ticks: Ticks

    @cached_property
    def own(self) -> FloatArray:
        return self.target.own[self.ticks.starts][:, self.place.channels]

    @cached_property
    def _held(self) -> tuple[FloatArray, FloatArray]:
        channels = self.place.channels
        return self.ticks.best(self.target.held[:, channels], self.target.bound[:, channels])

    @property
    def held(self) -> FloatArray:
        return self._held[0]

    @cached_property
    def bound(self) -> FloatArray:
        return self._held[1] + STORED * np.abs(self.held) + _SMALLEST

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        return np.isfinite(self.bound)

    @cached_property
    def counts(self) -> NDArray[np.bool_]:
        """What differs and is known."""
        return self.known & (np.abs(self.held - self.own) > self.bound)

    @cached_property
    def others(self) -> Mapping[str, FloatArray]:
        """The other vectors of the recording that are as wide, move, and do not differ, maybe by the same mistake."""
        subject, found = self.target.subject, dict[str, FloatArray]()
        for name, rows in subject.known.items():
            is_other = name != (self.target.name or subject.stage.name) and name not in subject.differs
            if is_other and rows.shape == self.target.own.shape:
                values = rows.astype(np.float64)[self.ticks.starts][:, self.place.channels]
                if np.isfinite(values).all() and np.ptp(values, axis=0).any() and not np.array_equal(values, self.own):
                    found[name] = values
        return found

    @cached_property
    def few_numbers(self) -> tuple[NDArray[np.intp], ...]:
        """Ticks and channels of the numbers that coefficients are fitted to: all, or as many from where it differs first."""
        first = max(0, int(np.argmax(self.counts.any(axis=1))) - SEARCHED_FRAMES // 10)
        ticks, channels = len(self.own[first : first + SEARCHED_FRAMES]), self.own.shape[1]
        chosen = np.unique(np.linspace(0, ticks * channels - 1, min(ticks * channels, _NUMBERS)).astype(np.intp))
        return first + chosen // channels, chosen % channels

    def may_be(self, term: Term) -> bool:
        """Whether a number may come from there: not from what is computed from this vector."""
        name, ticks = term
        return name in (OWN, WAS) or self.target.subject.may_be_read(name, -ticks * self.ticks.step)

    def values(self, term: Term) -> FloatArray:
        """A term in each tick; NaN where that tick is before the first, or not known."""
        name, ticks = term
        rows = (
            self.own if name == OWN else np.where(self.known, self.held, np.nan) if name == WAS else self.others[name]
        )
        return _later(rows, ticks)

    def edit(self, words: str, rows_of: Recurrence, fitted: int, pieces: int = 0) -> Iterator[CandidateEdit]:
        """The reading of rows that a recurrence makes of what should be there, (N, C) to rows and their roundings."""
        target, channels = self.target, self.place.channels
        rule = partial(_in_rows, self, rows_of)
        rows, rounding = rows_of(self.own, self.bound)
        if not np.isfinite(rows).all() or self._is_far(rows):
            return
        yield from target.edit(
            "in-time", words, channels, rule, steepness=0.0, extra=rounding[self.ticks.of], fitted=fitted, pieces=pieces
        )

    def _is_far(self, rows: FloatArray) -> bool:
        near = np.abs(rows - self.held) <= np.maximum(8.0 * self.bound, 0.1 * np.abs(self.own - self.held))
        return bool(np.count_nonzero(near & self.counts) < ENOUGH * np.count_nonzero(self.counts))


def _later(rows: FloatArray, ticks: int) -> FloatArray:
    moved = np.full(rows.shape, np.nan)
    if ticks == 0:
        moved[:] = rows
    elif ticks > 0:
        moved[ticks:] = rows[:-ticks]
    else:
        moved[:ticks] = rows[-ticks:]
    return moved


def _in_rows(series: _Series, rows_of: Recurrence, own: FloatArray) -> FloatArray:
    rows, _ = rows_of(own[series.ticks.starts][:, series.place.channels], series.bound)
    return rows[series.ticks.of]


@dataclass(frozen=True, eq=False)
class _Sum:
    """A sum of terms; state: what stood before the first tick, or in it where `is_first`."""

    terms: Sequence[Term]
    factors: FloatArray
    others: Mapping[str, FloatArray]
    start: FloatArray
    is_first: bool

    def __call__(self, own: FloatArray, bound: FloatArray) -> tuple[FloatArray, FloatArray]:
        finite = np.where(np.isfinite(bound), bound, 0.0)
        rows, moved = np.zeros(own.shape), np.zeros(own.shape)
        of_was = [(lag, factor) for (name, lag), factor in zip(self.terms, self.factors, strict=True) if name == WAS]
        for (name, lag), factor in zip(self.terms, self.factors, strict=True):
            if name != WAS:
                every = own if name == OWN else self.others[name]
                value = np.where(np.isnan(_later(every, lag)), every[:1] if self.is_first else 0.0, _later(every, lag))
                entering = np.nan_to_num(_later(finite, lag)) if name == OWN else 0.0
                rows += factor * value
                moved += abs(factor) * (entering + gamma(_OPERATIONS) * np.abs(value))
        for row in range(len(own)) if of_was else ():
            if row == 0 and self.is_first:
                rows[0], moved[0] = self.start, finite[0]
                continue
            for lag, factor in of_was:
                rows[row] += factor * (rows[row - lag] if row >= lag else self.start)
                moved[row] += abs(factor) * (moved[row - lag] if row >= lag else 0.0) + gamma(2) * np.abs(rows[row])
        return rows, moved


@dataclass(frozen=True, eq=False)
class _Limited:
    """Moved by at most so much a tick."""

    most: float
    start: FloatArray

    def __call__(self, own: FloatArray, bound: FloatArray) -> tuple[FloatArray, FloatArray]:
        rows, before = np.empty(own.shape), self.start
        for row, value in enumerate(own):
            before = rows[row] = before + np.clip(value - before, -self.most, self.most)
        steps = np.arange(1, len(own) + 1)[:, None]
        largest = np.maximum(np.abs(rows), np.abs(own)).max(axis=0)
        finite = np.where(np.isfinite(bound), bound, 0.0).max(axis=0)
        return rows, finite + gamma(2) * steps * largest


def _starts(series: _Series) -> Iterator[tuple[str, FloatArray, bool, int]]:
    """Where a state may begin: in words, its numbers, whether these are the first tick's, and how many are fitted."""
    own, held = series.own[0], series.held[0]
    yield "", own, True, 0
    yield ", from zeros", np.zeros(own.shape), False, 0
    yield ", from zeros in the first tick", np.zeros(own.shape), True, 0
    if series.known[0].all():
        yield (
            ", from what stood in the first tick",
            held,
            True,
            0 if series.target.subject.evidence.frame[0] else held.size,
        )


def _tick(series: _Series) -> str:
    return "frame" if series.ticks.step == 1 else f"tick of {series.ticks.step} frames"


def _rate_limited(series: _Series) -> Iterator[CandidateEdit]:
    """Moved by at most so much a tick, from what stood there a tick before."""
    before = series.values((WAS, 1))
    step = series.held - before
    reach = 2.0 * series.bound
    stands = series.counts & (np.abs(step) > 2.0 * reach) & (np.sign(series.own - before) == np.sign(step))
    if np.count_nonzero(stands) < _FEWEST or np.count_nonzero(stands) < NEARLY * np.count_nonzero(series.counts[1:]):
        return
    low, high = almost_all((np.abs(step) - reach)[stands], (np.abs(step) + reach)[stands])
    if low > high:
        return
    most = roundest(low, high)
    for words, start, _, fitted in _starts(series):
        said = f"{series.target.it}, moved by at most {most:.6g} a {_tick(series)}{words}"
        yield from series.edit(said, _Limited(most, start), 1 + fitted, is_odd(most))


def _sums(series: _Series) -> Iterator[CandidateEdit]:
    sets = [*_OF_ITSELF, *(each for name in series.others for each in _with_another(name))]
    sets += [((one, 0), (other, 0)) for one, other in combinations(series.others, 2)]
    terms = list(dict.fromkeys(term for each in sets for term in each if series.may_be(term)))
    numbers = series.few_numbers
    values = np.stack([series.values(term)[numbers] for term in terms], axis=-1)
    own, held, bound = (each[numbers] for each in (series.own, series.held, series.bound))
    use = series.known[numbers] & np.isfinite(values).all(axis=-1)
    if np.count_nonzero(use & series.counts[numbers]) < _FEWEST:
        return
    known_to_the_bit = STORED * np.abs(held[use]).max()  # such a number is one among the others
    weight = 1.0 / np.maximum(bound[use], known_to_the_bit)
    matrix, held = values[use] * weight[:, None], held[use] * weight
    apart = held - own[use] * weight
    series.target.subject.evidence.work.add(matrix, 1 + len(terms) // _PRODUCTS)
    sizes = np.sqrt((matrix**2).sum(axis=0)) + _SMALLEST
    matrix = matrix / sizes
    gram, along, wanted = matrix.T @ matrix, matrix.T @ held, matrix.T @ apart
    total, left_of_apart = float(held @ held), float(apart @ apart)
    for chosen in sets:
        if not all(term in terms for term in chosen):
            continue
        at = [terms.index(term) for term in chosen]
        has_own = (OWN, 0) in chosen
        goal, size = (wanted[at], left_of_apart) if has_own else (along[at], total)
        try:
            found = np.linalg.solve(gram[np.ix_(at, at)], goal)
        except np.linalg.LinAlgError:
            continue
        if size - float(goal @ found) > _EXPLAINED * left_of_apart + 1e-13 * total:
            continue
        yield from _sum(series, chosen, matrix[:, at], sizes[at], apart if has_own else held, has_own=has_own)


def _sum(
    series: _Series, chosen: tuple[Term, ...], matrix: FloatArray, sizes: FloatArray, goal: FloatArray, *, has_own: bool
) -> Iterator[CandidateEdit]:
    """The readings of a sum whose coefficients were found, as round as they may be, from every start."""
    found, _, rank, _ = np.linalg.lstsq(matrix, goal, rcond=None)
    if rank < len(chosen):
        return
    sigma = max(float(np.sqrt(np.mean((goal - matrix @ found) ** 2))), _EXPLAINED)
    reach = _SURE * sigma * np.linalg.norm(np.linalg.pinv(matrix), axis=1) / sizes
    factors = found / sizes + np.array([float(has_own and term == (OWN, 0)) for term in chosen])
    reach = np.maximum(reach, STORED * np.abs(factors))
    if not (np.abs(factors) > reach).all():
        return  # a smaller sum says the same, or numbers are too near each other to tell
    rate = 1.0 / series.ticks.seconds
    is_told = [_of_time(value, near, rate) for value, near in zip(factors, reach, strict=True)]
    numbers = [
        told or roundest(value - near, value + near) for told, value, near in zip(is_told, factors, reach, strict=True)
    ]
    if _cancels(chosen, numbers):
        return
    fitted = sum(told is None for told in is_told)
    said, free = _words(series, chosen, numbers)
    pieces = max((is_odd(number) for number, told in zip(numbers, is_told, strict=True) if told is None), default=0)
    has_state = any(name == WAS or lag > 0 for name, lag in chosen)
    weighs_less = any(name == WAS and number < 0.0 for (name, _), number in zip(chosen, numbers, strict=True))
    others = {name: series.others[name] for name, _ in chosen if name not in (OWN, WAS)}
    is_mixed = bool(others) and len({name for name, _ in chosen}) > 1  # an edit of one vector may say the same
    for start_words, start, is_first, more in _starts(series) if has_state else [("", series.own[0], True, 0)]:
        rows_of = _Sum(chosen, np.array(numbers), others, start, is_first)
        fitted_here = min(free, fitted) + more
        # numbers that fit may be of a shorter edit; nobody weighs what stood there by less than nothing
        more_words = ENDS_NO_SEARCH if fitted_here > 1 or is_mixed or weighs_less else 0
        yield from series.edit(f"{said}{start_words}", rows_of, fitted_here, pieces + more_words)


def _of_time(value: float, reach: float, rate: float) -> float | None:
    """1, -1, and what a difference divides by: numbers that are not taken from the recording."""
    for number in (1.0, -1.0, rate, -rate, rate / 2.0, -rate / 2.0, 1.0 / rate):
        if abs(value - number) <= reach:
            return number
    return None


def _cancels(chosen: Sequence[Term], numbers: Sequence[float]) -> bool:
    """Whether a sum says what a shorter one says: what comes in is 0 where the filter forgets nothing, or is forgotten."""
    by_term = dict(zip(chosen, numbers, strict=True))
    poles = np.roots([1.0, -by_term.get((WAS, 1), 0.0), -by_term.get((WAS, 2), 0.0)])
    entering = {name for name, _ in chosen if name != WAS}

    def is_zero_at(pole: complex, name: str) -> bool:
        parts = [number * pole**-lag for (each, lag), number in by_term.items() if each == name]
        return bool(abs(sum(parts)) <= _NO_PART * sum(abs(part) for part in parts))

    return any(all(is_zero_at(pole, name) for name in entering) for pole in poles if abs(pole) > _EQUAL)


def _words(series: _Series, chosen: tuple[Term, ...], numbers: Sequence[float]) -> tuple[str, int]:
    """A sum in the field's terms, and how many of its numbers are free."""
    it, tick, seconds = series.target.it, _tick(series), series.ticks.seconds
    names = [name for name, _ in chosen]
    if set(names) <= {OWN, WAS}:
        return _filter_words(it, tick, seconds, chosen, dict(zip(chosen, numbers, strict=True)))
    if len(set(names)) == 1 and len(chosen) == 2:
        (name, one), (_, other) = chosen
        if abs(numbers[0] + numbers[1]) > _EQUAL * abs(numbers[0]):
            return _sum_words(it, chosen, numbers), len(chosen)
        kind = {(0, 1): "backward", (-1, 0): "forward", (-1, 1): "central", (1, 2): "backward, late by one"}[one, other]
        times = numbers[0] * seconds * (other - one)
        said = "" if abs(times - 1.0) <= _EQUAL else f"{times:.6g} times "
        return f"{said}how fast {name} changes, its {kind} difference over a {tick}, a second", 1
    return _sum_words(it, chosen, numbers), len(chosen)


def _filter_words(
    it: str, tick: str, seconds: float, chosen: Sequence[Term], by_term: Mapping[Term, float]
) -> tuple[str, int]:
    kept, new, before = (by_term.get(term, 0.0) for term in ((WAS, 1), (OWN, 0), (OWN, 1)))
    is_difference, is_mean = (abs(new + sign * before) <= _EQUAL * abs(new) for sign in (1.0, -1.0))
    match sorted(chosen):
        case [("", 0), ("what stood there", 1)] if abs(kept + new - 1.0) <= _EQUAL and 0.0 < kept < 1.0:
            cut = -np.log(kept) / (2.0 * np.pi * seconds)
            said = f"{new:.6g} of the new and {kept:.6g} of the old each {tick} (low pass, {cut:.3g} Hz)"
            return f"{it}, smoothed: {said}", 1
        case [("", 0), ("what stood there", 1)] if abs(kept - 1.0) <= _EQUAL:
            return f"{it}, summed up: {new:.6g} of it added each {tick} ({new / seconds:.4g} a second)", 1
        case [("", 0), ("", 1)] if is_difference:
            return f"how much {it} changes in each {tick}, times {new:.6g}", 1
        case [("", 0), ("", 1)] if is_mean:
            return f"the mean of {it} and of that of the {tick} before, times {2.0 * new:.6g}", 1
        case [("", 0), ("", 1), ("what stood there", 1)] if is_difference:
            return f"{it}, high pass: {kept:.6g} kept each {tick}", 1
    return f"{it}, filtered: {_sum_words(it, chosen, list(by_term.values()))}", len(chosen)


def _sum_words(it: str, chosen: Sequence[Term], numbers: Sequence[float]) -> str:
    parts = list[str]()
    for (name, lag), number in zip(chosen, numbers, strict=True):
        what = it if name == OWN else name
        when = "" if lag == 0 else f" {lag} ticks before" if lag > 0 else " of the next tick"
        times = "" if abs(number) == 1.0 else f"{abs(number):.6g} times "
        parts.append(f"{'minus ' if number < 0.0 else 'plus ' if parts else ''}{times}{what}{when}")
    return " ".join(parts)
