"""Where each number came from: every channel that differs against every channel that could have reached it.

A channel holds another channel (exchanged, of another vector, of a frame before), or its negative. What one rule tells of all
channels is said once: pairs that are exchanged, an order of another vector, components in another order, a step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.extent import frames_in_words
from rigpact.reports.diagnosing.relations.families.copied import (
    FEWEST,
    Copy,
    Vector,
    component_words,
    copy_words,
    step_of,
)
from rigpact.reports.diagnosing.relations.relation import IN_SOME_FRAMES, CandidateEdit
from rigpact.reports.diagnosing.relations.target import Target

_SCREEN = 3
"""Rows on which every channel of a vector is tried first."""
_LAGS = (0, -1, -2, -3)
_SWITCHES = 6
"""Changes of a channel of two or three values, as a flag has them: fewer prove no copy."""
_IN_ITS_PLACE = IN_SOME_FRAMES + 1
"""What it costs to say that a vector stands where it should: another frame of a clip comes before it."""
_VECTORS = 4
"""Vectors that are said alone: those that most channels come from."""


def exchanged(target: Target) -> Iterator[CandidateEdit]:
    """Channels that hold others of their own vector, or their negatives."""
    found = _copies(target, [Vector("", target.own, target.own_bound, is_own=True)])
    if found:
        yield from _filled(target, found)


def elsewhere(target: Target) -> Iterator[CandidateEdit]:
    """Channels that hold those of any vector that could have reached them."""
    copies = _copies(target, list(_vectors(target)))
    by_vector = {copy.vector.words: [each for each in copies if each.vector is copy.vector] for copy in copies}
    for found in sorted(by_vector.values(), key=len, reverse=True)[:_VECTORS]:
        yield from _filled(target, found)
    if len(by_vector) > 1:
        yield from _filled(target, copies)


def _copies(target: Target, vectors: Sequence[Vector]) -> list[Copy]:
    """The copies of channels that differ in enough values; none where some values are not finite."""
    if not target.is_finite:
        return []
    columns = _Columns(vectors)
    found = list[Copy]()
    before: Copy | None = None
    for channel in target.channels:
        rows = np.flatnonzero(target.failing[:, channel])
        is_told = len(np.unique(target.held[rows, channel])) >= FEWEST or _is_flag(target.held[:, channel])
        before = columns.copy_of(target, int(channel), rows, before) if is_told else None
        if before is not None:
            found.append(before)
    found += _other_halves(target, found)
    return sorted([*found, *_exchanged_flags(target, found)], key=lambda copy: copy.channel)


def _other_halves(target: Target, found: Sequence[Copy]) -> Iterator[Copy]:
    """The second channels of exchanges: they differ, too rarely to tell by themselves, and hold what the first should hold."""
    told = {copy.channel for copy in found}
    for copy in found:
        if copy.vector.is_own and copy.source not in told and copy.source in target.channels:
            rows = target.failing[:, copy.source]
            apart = np.abs(target.held[rows, copy.source] - copy.sign * target.own[rows, copy.channel])
            if (apart <= target.bound[rows, copy.source] + target.bound[rows, copy.channel]).all():
                yield Copy(copy.source, copy.vector, copy.channel, copy.sign)


def _exchanged_flags(target: Target, found: Sequence[Copy]) -> Iterator[Copy]:
    """Pairs of channels with too few values to tell by themselves: each holds what the other should hold, in every frame."""
    told = {copy.channel for copy in found}
    left = [int(each) for each in target.channels if each not in told and len(np.unique(target.held[:, each])) < FEWEST]
    held, answers, bound = (values[:, left] for values in (target.held, target.own, target.bound))
    own = Vector("", target.own, target.own_bound, is_own=True)
    for place, one in enumerate(left):
        holds = (np.abs(held[:, [place]] - answers) <= bound[:, [place]]).all(axis=0)
        is_held = (np.abs(held - answers[:, [place]]) <= bound).all(axis=0)
        for other in (left[each] for each in np.flatnonzero(holds & is_held) if each > place):
            if not told.intersection((one, other)):
                told |= {one, other}
                yield from (Copy(one, own, other, 1.0), Copy(other, own, one, 1.0))


def _is_flag(column: FloatArray) -> bool:
    """Whether a channel has few values and often changes between them."""
    return len(np.unique(column)) < FEWEST and int(np.count_nonzero(np.diff(column))) >= _SWITCHES


class _Columns:
    """Every channel of some vectors side by side, (T, K)."""

    def __init__(self, vectors: Sequence[Vector]) -> None:
        self._vectors = vectors
        self._rows = np.hstack([vector.rows for vector in vectors])
        self._bound = np.hstack([vector.bound for vector in vectors])
        self._of = np.repeat(np.arange(len(vectors)), [vector.rows.shape[1] for vector in vectors])
        self._source = np.concatenate([np.arange(vector.rows.shape[1]) for vector in vectors])

    def copy_of(self, target: Target, channel: int, rows: NDArray[np.intp], before: Copy | None) -> Copy | None:
        """The channel that one holds where it differs: its neighbour's next, else the nearest of the first vector."""
        screen = rows[:: max(1, len(rows) // _SCREEN)][:_SCREEN]
        found: list[tuple[int, float, int, int]] = []
        for sign in (1.0, -1.0):
            possible = self._held_in(target, channel, int(screen[0]), sign)
            for some in (screen, rows):
                if len(possible):
                    possible = possible[self._holds(target, channel, some, possible, sign)]
            found += [
                (int(self._of[each]), -sign, abs(int(self._source[each]) - channel), int(each)) for each in possible
            ]
        if not found:
            return None
        _, minus, _, column = min(found)
        follows = [each for each in found if before is not None and self._follows(each, before)]
        if follows and before is not None and before.channel == channel - 1:
            _, minus, _, column = follows[0]
        return Copy(channel, self._vectors[self._of[column]], int(self._source[column]), -minus)

    def _held_in(self, target: Target, channel: int, row: int, sign: float) -> NDArray[np.intp]:
        """The columns that a channel holds in one row: all columns are looked at in one row, few of them in more."""
        apart = np.abs(sign * self._rows[row] - target.held[row, channel])
        return np.flatnonzero(apart <= self._bound[row] + target.bound[row, channel])

    def _holds(
        self, target: Target, channel: int, rows: NDArray[np.intp], columns: NDArray[np.intp], sign: float
    ) -> NDArray[np.bool_]:
        """Which of some columns a channel holds in some rows."""
        places = np.ix_(rows, columns)
        apart = np.abs(sign * self._rows[places] - target.held[rows, channel, None])
        return np.asarray((apart <= self._bound[places] + target.bound[rows, channel, None]).all(axis=0))

    def _follows(self, found: tuple[int, float, int, int], before: Copy) -> bool:
        of, minus, _, column = found
        return (self._vectors[of], -minus, int(self._source[column])) == (before.vector, before.sign, before.source + 1)


def _vectors(target: Target) -> Iterator[Vector]:
    """The target itself, its frames before, then every vector that could have reached it."""
    subject = target.subject
    yield Vector("", target.own, target.own_bound, is_own=True)
    seen = {target.name}
    for lag in _LAGS:
        for name, rows in {**subject.inputs, **subject.others}.items():
            if (name in seen and lag == 0) or not subject.may_be_read(name, lag):
                continue
            exact = rows.astype(np.float64)
            if not np.isfinite(exact).all():
                continue
            words = name if lag == 0 else f"{name} of frame t{lag:+d}"
            moved = exact if lag == 0 else subject.shifted(exact, lag)
            is_recorded = ~np.isnan(subject.frames.shifted(np.zeros((len(exact), 1), np.float32), lag))
            bound = np.where(is_recorded, subject.lost_in_writing(exact), np.inf)
            yield Vector(words, moved, bound, rightly=_of_the_clip(target, name, lag))


def _of_the_clip(target: Target, name: str, lag: int) -> FloatArray | None:
    """What the clip that drives the target puts in another vector, (T, W); None where it does not drive both."""
    subject = target.subject
    if target.name or subject.clip_rows is None:
        return None
    if lag == -1 and name == subject.stage.carried:
        return target.own
    is_driven = lag == 0 and subject.frames.drive.rows(name) is not None
    return subject.frames.driven(name) if is_driven else None


def _tells_nothing(target: Target, copy: Copy) -> bool:
    """Whether a copy is as it should be: the clip puts the same numbers in both places, and neither has them."""
    rightly = copy.vector.rightly
    return rightly is not None and np.array_equal(rightly[:, copy.source], target.own[:, copy.channel], equal_nan=True)


def _filled(target: Target, found: Sequence[Copy]) -> Iterator[CandidateEdit]:
    copies = _in_one_step(target, _in_whole_vectors(target, found))
    channels = np.array([copy.channel for copy in copies])
    extra = np.stack([copy.vector.bound[:, copy.source] for copy in copies], axis=1)
    words, pieces = copy_words(target, copies)
    in_frames, more = _frames_words(target, copies)
    yield from target.edit(
        "elsewhere",
        words + in_frames,
        channels,
        partial(_put, target, copies),
        extra=extra,
        pieces=pieces + more + _IN_ITS_PLACE * all(_tells_nothing(target, copy) for copy in copies),
    )


def _frames_words(target: Target, copies: Sequence[Copy]) -> tuple[str, int]:
    """In which frames copies stand, if not in every one, and what that costs."""
    channels = [copy.channel for copy in copies]
    apart = np.abs(np.stack([_source_rows(target, copy) for copy in copies], axis=1) - target.held[:, channels])
    bound = np.stack([copy.vector.bound[:, copy.source] for copy in copies], axis=1) + target.bound[:, channels]
    differs = np.asarray(target.failing[:, channels].any(axis=1))
    if (apart <= bound)[~differs].all():
        return "", 0
    return f" {frames_in_words(differs, target.subject.evidence.frame)}", IN_SOME_FRAMES


def _source_rows(target: Target, copy: Copy) -> FloatArray:
    return np.asarray(copy.sign * (target.own if copy.vector.is_own else copy.vector.rows)[:, copy.source])


def _in_whole_vectors(target: Target, copies: Sequence[Copy]) -> Sequence[Copy]:
    """With the components of the same vectors that are as they should be, where one order of components tells all of it."""
    if not component_words(target, copies):
        return copies
    channels = {copy.channel for copy in copies}
    parts = [
        range(start, start + group.part)
        for group in target.groups
        for start in range(group.start, group.stop, group.part)
        if channels.intersection(range(start, start + group.part))
    ]
    rest = [each for part in parts for each in part if each not in channels]
    whole = [*copies, *(Copy(each, copies[0].vector, each, 1.0) for each in rest)]
    return sorted(whole, key=lambda copy: copy.channel)


def _in_one_step(target: Target, copies: Sequence[Copy]) -> Sequence[Copy]:
    """With every channel that differs, where almost all are of the one so many places on: of the rest the number is not told."""
    step = step_of(target, copies)
    sources = range(target.own.shape[1])
    if not step or any(channel + step not in sources for channel in target.channels):
        return copies
    vector = next(copy.vector for copy in copies if copy.source - copy.channel == step)
    return [Copy(int(channel), vector, int(channel) + step, 1.0) for channel in target.channels]


def _put(target: Target, copies: Sequence[Copy], own: FloatArray) -> FloatArray:
    rows = own[:, [copy.channel for copy in copies]].copy()
    for place, copy in enumerate(copies):
        source = own if copy.vector.is_own else copy.vector.rows
        where = target.failing[:, copy.channel]
        rows[where, place] = copy.sign * source[where, copy.source]
    return rows
