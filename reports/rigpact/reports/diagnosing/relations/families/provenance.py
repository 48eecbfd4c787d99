"""Where each number came from: every channel that differs against every channel that could have reached it.

A channel holds another channel (exchanged, of another vector, of a frame before), or its negative. What one rule tells of all
channels is said once: pairs that are exchanged, an order of another vector, components in another order, a step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reports.diagnosing.extent import frames_in_words
from rigpact.reports.diagnosing.relations.places import names_of
from rigpact.reports.diagnosing.relations.relation import IN_SOME_FRAMES, Reading, listed
from rigpact.reports.diagnosing.relations.target import Target
from rigpact.reports.diagnosing.stage_error import NEARLY

_SCREEN = 3
"""Rows on which every channel of a vector is tried first."""
_LAGS = (0, -1, -2, -3)
_FEWEST = 4
"""Values of a channel that differ: fewer prove no copy."""
_SWITCHES = 6
"""Changes of a channel of two or three values, as a flag has them: fewer prove no copy."""
_IN_ITS_PLACE = IN_SOME_FRAMES + 1
"""What it costs to say that a vector stands where it should: another frame of a clip comes before it."""
_VECTORS = 4
"""Vectors that are said alone: those that most channels come from."""


@dataclass(frozen=True, eq=False)
class _Vector:
    """What may stand in a wrong place, (T, K), and how far rounding may move it.

    is_own: whether it is the target itself. rightly: where a clip drives both, what it puts there.
    """

    words: str
    rows: FloatArray
    bound: FloatArray
    is_own: bool = False
    rightly: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class _Copy:
    """A channel that holds `sign` times a channel of a vector."""

    channel: int
    vector: _Vector
    source: int
    sign: float


def exchanged(target: Target) -> Iterator[Reading]:
    """Channels that hold others of their own vector, or their negatives."""
    found = _copies(target, [_Vector("", target.own, target.bound, is_own=True)])
    if found:
        yield from _filled(target, found)


def elsewhere(target: Target) -> Iterator[Reading]:
    """Channels that hold those of any vector that could have reached them."""
    copies = _copies(target, list(_vectors(target)))
    by_vector = {copy.vector.words: [each for each in copies if each.vector is copy.vector] for copy in copies}
    for found in sorted(by_vector.values(), key=len, reverse=True)[:_VECTORS]:
        yield from _filled(target, found)
    if len(by_vector) > 1:
        yield from _filled(target, copies)


def _copies(target: Target, vectors: Sequence[_Vector]) -> list[_Copy]:
    """The copies of channels that differ in enough values; none where some values are not finite."""
    if not target.is_finite:
        return []
    columns = _Columns(vectors)
    found = list[_Copy]()
    before: _Copy | None = None
    for channel in target.channels:
        rows = np.flatnonzero(target.failing[:, channel])
        is_told = len(np.unique(target.held[rows, channel])) >= _FEWEST or _is_flag(target.held[:, channel])
        before = columns.copy_of(target, int(channel), rows, before) if is_told else None
        if before is not None:
            found.append(before)
    found += _other_halves(target, found)
    return sorted([*found, *_exchanged_flags(target, found)], key=lambda copy: copy.channel)


def _other_halves(target: Target, found: Sequence[_Copy]) -> Iterator[_Copy]:
    """The second channels of exchanges: they differ, too rarely to tell by themselves, and hold what the first should hold."""
    told = {copy.channel for copy in found}
    for copy in found:
        if copy.vector.is_own and copy.source not in told and copy.source in target.channels:
            rows = target.failing[:, copy.source]
            apart = np.abs(target.held[rows, copy.source] - copy.sign * target.own[rows, copy.channel])
            if (apart <= target.bound[rows, copy.source] + target.bound[rows, copy.channel]).all():
                yield _Copy(copy.source, copy.vector, copy.channel, copy.sign)


def _exchanged_flags(target: Target, found: Sequence[_Copy]) -> Iterator[_Copy]:
    """Pairs of channels with too few values to tell by themselves: each holds what the other should hold, in every frame."""
    told = {copy.channel for copy in found}
    left = [
        int(each) for each in target.channels if each not in told and len(np.unique(target.held[:, each])) < _FEWEST
    ]
    own = _Vector("", target.own, target.bound, is_own=True)
    for one, other in combinations(left, 2):
        apart = np.abs(target.held[:, [one, other]] - target.own[:, [other, one]])
        if not told.intersection((one, other)) and (apart <= target.bound[:, [one, other]]).all():
            told |= {one, other}
            yield from (_Copy(one, own, other, 1.0), _Copy(other, own, one, 1.0))


def _is_flag(column: FloatArray) -> bool:
    """Whether a channel has few values and often changes between them."""
    return len(np.unique(column)) < _FEWEST and int(np.count_nonzero(np.diff(column))) >= _SWITCHES


class _Columns:
    """Every channel of some vectors side by side, (T, K)."""

    def __init__(self, vectors: Sequence[_Vector]) -> None:
        self._vectors = vectors
        self._rows = np.hstack([vector.rows for vector in vectors])
        self._bound = np.hstack([vector.bound for vector in vectors])
        self._of = np.repeat(np.arange(len(vectors)), [vector.rows.shape[1] for vector in vectors])
        self._source = np.concatenate([np.arange(vector.rows.shape[1]) for vector in vectors])

    def copy_of(self, target: Target, channel: int, rows: NDArray[np.intp], before: _Copy | None) -> _Copy | None:
        """The channel that one holds where it differs: its neighbour's next, else the nearest of the first vector."""
        screen = rows[:: max(1, len(rows) // _SCREEN)][:_SCREEN]
        found: list[tuple[int, float, int, int]] = []
        for sign in (1.0, -1.0):
            possible = np.arange(len(self._of))
            for some in (screen, rows):
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
        return _Copy(channel, self._vectors[self._of[column]], int(self._source[column]), -minus)

    def _holds(
        self, target: Target, channel: int, rows: NDArray[np.intp], columns: NDArray[np.intp], sign: float
    ) -> NDArray[np.bool_]:
        """Which of some columns a channel holds in some rows."""
        places = np.ix_(rows, columns)
        apart = np.abs(sign * self._rows[places] - target.held[rows, channel, None])
        return np.asarray((apart <= self._bound[places] + target.bound[rows, channel, None]).all(axis=0))

    def _follows(self, found: tuple[int, float, int, int], before: _Copy) -> bool:
        of, minus, _, column = found
        return (self._vectors[of], -minus, int(self._source[column])) == (before.vector, before.sign, before.source + 1)


def _vectors(target: Target) -> Iterator[_Vector]:
    """The target itself, its frames before, then every vector that could have reached it."""
    subject = target.subject
    yield _Vector("", target.own, target.bound, is_own=True)
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
            bound = np.where(subject.is_recorded_at(lag)[:, None], subject.lost_in_writing(exact), np.inf)
            yield _Vector(words, moved, bound, rightly=_of_the_clip(target, name, lag))


def _of_the_clip(target: Target, name: str, lag: int) -> FloatArray | None:
    """What the clip that drives the target puts in another vector, (T, W); None where it does not drive both."""
    subject = target.subject
    if target.name or subject.clip_rows is None:
        return None
    if lag == -1 and name == subject.stage.carried:
        return target.own
    is_driven = lag == 0 and subject.frames.drive.rows(name) is not None
    return subject.frames.driven(name) if is_driven else None


def _tells_nothing(target: Target, copy: _Copy) -> bool:
    """Whether a copy is as it should be: the clip puts the same numbers in both places, and neither has them."""
    rightly = copy.vector.rightly
    return rightly is not None and np.array_equal(rightly[:, copy.source], target.own[:, copy.channel], equal_nan=True)


def _filled(target: Target, found: Sequence[_Copy]) -> Iterator[Reading]:
    copies = _in_one_step(target, _in_whole_vectors(target, found))
    channels = np.array([copy.channel for copy in copies])
    extra = np.stack([copy.vector.bound[:, copy.source] for copy in copies], axis=1)
    words, pieces = _copy_words(target, copies)
    in_frames, more = _frames_words(target, copies)
    yield from target.edit(
        "elsewhere",
        words + in_frames,
        channels,
        partial(_put, target, copies),
        extra=extra,
        pieces=pieces + more + _IN_ITS_PLACE * all(_tells_nothing(target, copy) for copy in copies),
    )


def _frames_words(target: Target, copies: Sequence[_Copy]) -> tuple[str, int]:
    """In which frames copies stand, if not in every one, and what that costs."""
    channels = [copy.channel for copy in copies]
    apart = np.abs(np.stack([_source_rows(target, copy) for copy in copies], axis=1) - target.held[:, channels])
    bound = np.stack([copy.vector.bound[:, copy.source] for copy in copies], axis=1) + target.bound[:, channels]
    differs = np.asarray(target.failing[:, channels].any(axis=1))
    if (apart <= bound)[~differs].all():
        return "", 0
    return f" {frames_in_words(differs, target.subject.evidence.frame)}", IN_SOME_FRAMES


def _source_rows(target: Target, copy: _Copy) -> FloatArray:
    return np.asarray(copy.sign * (target.own if copy.vector.is_own else copy.vector.rows)[:, copy.source])


def _in_whole_vectors(target: Target, copies: Sequence[_Copy]) -> Sequence[_Copy]:
    """With the components of the same vectors that are as they should be, where one order of components tells all of it."""
    if not _component_words(target, copies):
        return copies
    channels = {copy.channel for copy in copies}
    parts = [
        range(start, start + group.part)
        for group in target.groups
        for start in range(group.start, group.stop, group.part)
        if channels.intersection(range(start, start + group.part))
    ]
    rest = [each for part in parts for each in part if each not in channels]
    whole = [*copies, *(_Copy(each, copies[0].vector, each, 1.0) for each in rest)]
    return sorted(whole, key=lambda copy: copy.channel)


def _in_one_step(target: Target, copies: Sequence[_Copy]) -> Sequence[_Copy]:
    """With every channel that differs, where almost all are of the one so many places on: of the rest the number is not told."""
    step = _step_of(target, copies)
    sources = range(target.own.shape[1])
    if not step or any(channel + step not in sources for channel in target.channels):
        return copies
    vector = next(copy.vector for copy in copies if copy.source - copy.channel == step)
    return [_Copy(int(channel), vector, int(channel) + step, 1.0) for channel in target.channels]


def _put(target: Target, copies: Sequence[_Copy], own: FloatArray) -> FloatArray:
    rows = own[:, [copy.channel for copy in copies]].copy()
    for place, copy in enumerate(copies):
        source = own if copy.vector.is_own else copy.vector.rows
        where = target.failing[:, copy.channel]
        rows[where, place] = copy.sign * source[where, copy.source]
    return rows


def _copy_words(target: Target, copies: Sequence[_Copy]) -> tuple[str, int]:
    """What is said of some copies, and in how many pieces."""
    signed = _component_words(target, copies)
    if signed:
        return signed, 1
    if all(copy.vector.is_own and copy.sign < 0 and copy.source == copy.channel for copy in copies):
        return f"-1 times {target.it}", 0
    pairs = {(copy.channel, copy.source) for copy in copies if copy.vector.is_own and copy.sign > 0}
    names = partial(names_of, target.layout)
    if pairs and len(pairs) == len(copies):
        exchanged = [(a, b) for a, b in sorted(pairs) if a < b and (b, a) in pairs]
        if 2 * len(exchanged) == len(copies):
            fields = _in_runs(target, exchanged)
            words = listed([f"{names([a])} and {names([b])}" for a, b in fields])
            return f"{_with(target)}{words} exchanged", len(fields)
    simple = _step_words(target, copies) or _left_out_words(target, copies) or _own_order(target, copies)
    if simple:
        return simple, 1
    runs = _runs(copies)
    return f"{target.prefix}filled from other channels: {_runs_words(target, runs)}", len(runs)


def _step_words(target: Target, copies: Sequence[_Copy]) -> str:
    """An input that is read so many channels too early or too late."""
    step = _step_of(target, copies)
    return f"{target.name} read {abs(step)} channels too {'late' if step > 0 else 'early'}" if step else ""


def _step_of(target: Target, copies: Sequence[_Copy]) -> int:
    """By how many channels an input is read too late, below 0 too early; 0 where almost all channels tell no one step."""
    steps = Counter(copy.source - copy.channel for copy in copies if copy.vector.is_own and copy.sign > 0)
    step, count = steps.most_common(1)[0] if steps else (0, 0)
    return step if target.name and count >= max(_FEWEST, NEARLY * len(copies)) else 0


def _left_out_words(target: Target, copies: Sequence[_Copy]) -> str:
    """A vector that stands in the place of what is computed from it."""
    vectors = {copy.vector.words for copy in copies}
    is_same = len(copies) == target.own.shape[1] and all(c.channel == c.source and c.sign > 0 for c in copies)
    if len(vectors) > 1 or not is_same or (" of frame" in copies[0].vector.words and not target.name):
        return ""
    if target.name:
        return f"{vectors.pop()} in place of {target.name}"
    return f"{vectors.pop()} as it is: what {target.subject.stage.name} does with it is left out"


def _with(target: Target) -> str:
    return f"{target.name} with " if target.name else "what it should be with "


def _in_runs(target: Target, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Of pairs in fields of several numbers, the first of each field."""
    found = dict[tuple[int, int], tuple[int, int]]()
    for a, b in pairs:
        found.setdefault((_field_start(target, a), _field_start(target, b)), (a, b))
    return list(found.values())


def _field_start(target: Target, channel: int) -> int:
    field = target.layout.field_at(channel)
    return channel if field is None else field.start


def _component_words(target: Target, copies: Sequence[_Copy]) -> str:
    """One order and choice of signs of the components of every vector: `-x, y, z in place of x, y, z`."""
    sizes = {group.part for group in target.groups if any(group.start <= copy.channel < group.stop for copy in copies)}
    size = sizes.pop() if len(sizes) == 1 else 0
    if size not in (3, 4) or not all(copy.vector.is_own for copy in copies):
        return ""
    order, signs = list(range(size)), [1.0] * size
    for copy in copies:
        group = next(each for each in target.groups if each.start <= copy.channel < each.stop)
        own, source = copy.channel - group.start, copy.source - group.start
        if own // size != source // size:
            return ""
        order[own % size], signs[own % size] = source % size, copy.sign
    if sorted(order) != list(range(size)):
        return ""
    names = {3: "xyz", 4: "xyzw"}[size]
    shown = ", ".join(f"{'-' if sign < 0.0 else ''}{names[place]}" for place, sign in zip(order, signs, strict=True))
    return f"{target.it} with {shown} in place of {', '.join(names)}"


def _own_order(target: Target, copies: Sequence[_Copy]) -> str:
    """Whole fields in the order of another list of the contract's names."""
    if len(copies) < _FEWEST or not all(copy.vector.is_own and copy.sign > 0 for copy in copies):
        return ""
    width = target.own.shape[1]
    order = np.arange(width)
    for copy in copies:
        order[copy.channel] = copy.source
    fields = [target.layout.field_at(channel) for channel in range(width)]
    if any(field is None or field.size != 1 for field in fields):
        return ""
    own = [field.name for field in fields if field is not None]
    for words, other in _orders(target.subject.contract, own):
        if (order == other).all():
            return f"{target.it} {words}"
    return ""


def _orders(contract: Contract, own: Sequence[str]) -> Iterator[tuple[str, NDArray[np.intp]]]:
    """Every order in which another vector of the contract has the same fields: taken by name, or through the map once more."""
    seen = {tuple(own)}
    for name in contract.system.graph.names:
        other = tuple(field.name for field in contract.fields(name))
        if other not in seen and sorted(other) == sorted(own):
            seen.add(other)
            to_other = np.array([own.index(each) for each in other])
            yield f"in the order of {name}", to_other
            yield f"reordered: sent through the map to the order of {name} once more", np.argsort(to_other)


def _runs(copies: Sequence[_Copy]) -> list[list[_Copy]]:
    """Neighbouring channels that hold neighbouring channels of one vector, the longest run first."""
    runs: list[list[_Copy]] = []
    for copy in copies:
        last = runs[-1][-1] if runs else None
        if last is not None and (last.vector, last.channel + 1, last.source + 1, last.sign) == (
            copy.vector,
            copy.channel,
            copy.source,
            copy.sign,
        ):
            runs[-1].append(copy)
        else:
            runs.append([copy])
    return sorted(runs, key=lambda run: -len(run))


def _runs_words(target: Target, runs: Sequence[Sequence[_Copy]]) -> str:
    more = f" and {len(runs) - 3} more runs" if len(runs) > 3 else ""
    return ", ".join(_run_words(target, run[0], len(run)) for run in runs[:3]) + more


def _run_words(target: Target, first: _Copy, length: int) -> str:
    """`[3:6] from NAME[0:3] of frame t-1`; whole fields of the same vector by their names."""
    vector, sign = first.vector, "" if first.sign > 0 else "minus "
    to, source = range(first.channel, first.channel + length), range(first.source, first.source + length)
    if vector.is_own and (_is_field(target, to) and _is_field(target, source)):
        return f"{names_of(target.layout, to)} from {sign}{names_of(target.layout, source)}"
    name, _, when = (vector.words or target.name or target.subject.stage.name).partition(" of frame")
    shown = names_of(target.layout, to) if length == 1 else f"[{to.start}:{to.stop}]"
    return f"{shown} from {sign}{name}[{source.start}:{source.stop}]{' of frame' * bool(when)}{when}"


def _is_field(target: Target, channels: range) -> bool:
    field = target.layout.field_at(channels.start)
    if field is None or sum(each.name == field.name and each.bone == field.bone for each in target.layout) > 1:
        return False
    return (field.start, field.stop) == (channels.start, channels.stop)
