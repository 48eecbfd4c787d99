"""Numbers that stand in another place: another bone, slice or stage, another offset, or the row of one fixed frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.relations.relation import Reading, frames_words
from rigpact.reports.diagnosing.relations.subject import Place, Subject
from rigpact.reports.diagnosing.stage_error import NEARLY

_FEWEST = 4
"""Channels in a row that are taken from neighbouring channels: one alone may be equal by chance."""
_LAGS = (0, -1)
_FIXED = 4
"""First frames whose row may be held in a later one; rows of a first trial."""
_ZEROS = "zeros"
"""What stands beside numbers that were read past the end; a stage of nothing but zeros has a reading of its own."""
_AT_ONCE = 1 << 20
"""Numbers that are compared at once."""
_MOST_VECTORS = 6
"""Vectors of which two together may fill a stage: those that have the most of its channels."""


def elsewhere(subject: Subject, place: Place) -> Iterator[Reading]:
    """Every channel that differs holds a channel of one other vector, or of two, in runs of neighbouring channels."""
    channels = np.flatnonzero(subject.failing.any(axis=0))
    if len(channels) < _FEWEST or not np.isfinite(subject.recorded).all():
        return
    partly: list[tuple[_Vector, NDArray[np.intp]]] = []
    for vector in _vectors(subject):
        sources = _sources(subject, channels, vector)
        if (sources >= 0).any() and not (vector.name == _ZEROS and (sources >= 0).all()):
            partly.append((vector, sources))
    partly.sort(key=lambda found: -int(np.count_nonzero(found[1] >= 0)))
    for found in ([(each,) for each in partly[:1]], combinations(partly[:_MOST_VECTORS], 2)):
        for chosen in found:
            runs = _runs_of(channels, chosen)
            if runs is not None:
                yield _reading(subject, runs)


class _Vector(NamedTuple):
    """What may stand in a wrong place: rows and their bound, (T, width), by a name; when: of which frame."""

    name: str
    when: str
    rows: FloatArray
    bound: FloatArray


class _Run(NamedTuple):
    """Neighbouring channels that hold neighbouring channels of a vector."""

    vector: _Vector
    first: int
    length: int
    source: int


def _runs_of(channels: NDArray[np.intp], chosen: Sequence[tuple[_Vector, NDArray[np.intp]]]) -> list[_Run] | None:
    """The runs of every channel, from the first vector that has it; None if one has none, or there are too many runs."""
    is_open, runs = np.ones(len(channels), bool), list[_Run]()
    for vector, sources in chosen:
        taken = is_open & (sources >= 0)
        is_open &= ~taken
        runs += [_Run(vector, *run) for run in _runs(channels[taken], sources[taken])]
    return None if is_open.any() or len(runs) * _FEWEST > len(channels) else runs


def _vectors(subject: Subject) -> Iterator[_Vector]:
    """The stage itself, nothing, the other stages, one frame's row of them."""
    yield _Vector(subject.stage.name, "", subject.replayed, subject.bound)
    yield _Vector(_ZEROS, "", np.zeros(subject.recorded.shape), np.zeros(subject.recorded.shape))
    for name, rows in {**subject.inputs, **subject.others}.items():
        exact, nothing = rows.astype(np.float64), np.zeros(rows.shape)
        for lag in (each for each in _LAGS if subject.may_be_read(name, each)):
            when = "" if lag == 0 else f" of frame t{lag:+d}"
            yield _Vector(name, when, subject.shifted(exact, lag), nothing)
        for row in range(min(_FIXED, len(rows))) if subject.may_be_read(name, 0) else ():
            fixed = np.broadcast_to(exact[row], exact.shape)
            yield _Vector(name, f" of frame {int(subject.evidence.frame[row])}", fixed, nothing)


def _sources(subject: Subject, channels: NDArray[np.intp], vector: _Vector) -> NDArray[np.intp]:
    """For each channel the one of a vector that it holds where it differs: its neighbour's next, if that fits; -1 for none."""
    found: list[int] = []
    possible = _possible(subject, channels, vector)
    for place, channel in enumerate(channels):
        if not possible[place]:
            found.append(-1)
            continue
        where = np.flatnonzero(subject.failing[:, channel])
        if place and channel == channels[place - 1] + 1 and 0 <= found[-1] < vector.rows.shape[1] - 1:
            source = found[-1] + 1
            if _holds(subject, int(channel), where, vector, slice(source, source + 1)).all():
                found.append(source)
                continue
        fits = np.flatnonzero(_holds(subject, int(channel), where[:_FIXED], vector, slice(None)))
        fits = fits[[_holds(subject, int(channel), where, vector, slice(each, each + 1)).all() for each in fits]]
        found.append(int(fits[0]) if len(fits) else -1)
    return np.asarray(found)


def _possible(subject: Subject, channels: NDArray[np.intp], vector: _Vector) -> NDArray[np.bool_]:
    """Whether each channel may hold one of a vector: in the first row that differs, at least."""
    first = subject.failing[:, channels].argmax(axis=0)
    recorded, slack = (rows[first, channels][:, None] for rows in (subject.recorded, subject.bound))
    found, step = np.zeros(len(channels), bool), max(1, _AT_ONCE // max(1, vector.rows.shape[1]))
    for start in range(0, len(channels), step):
        some = slice(start, start + step)
        apart = np.abs(vector.rows[first[some]] - recorded[some])
        found[some] = (apart <= vector.bound[first[some]] + slack[some]).any(axis=1)
    return found


def _holds(
    subject: Subject, channel: int, where: NDArray[np.intp], vector: _Vector, sources: slice
) -> NDArray[np.bool_]:
    """Whether a channel holds each of some channels of a vector in some rows."""
    recorded, slack = subject.recorded[where, channel, None], subject.bound[where, channel, None]
    apart = np.abs(vector.rows[where, sources] - recorded)
    return np.asarray((apart <= vector.bound[where, sources] + slack).all(axis=0))


def _runs(channels: NDArray[np.intp], sources: NDArray[np.intp]) -> Iterator[tuple[int, int, int]]:
    """(first channel, length, first source) of each run of neighbours with one offset."""
    apart = (np.diff(channels) != 1) | (np.diff(sources) != 1)
    breaks = [0, *(np.flatnonzero(apart) + 1).tolist(), len(channels)]
    for a, b in pairwise(breaks):
        if b > a:
            yield int(channels[a]), b - a, int(sources[a])


def _reading(subject: Subject, runs: Sequence[_Run]) -> Reading:
    expected, moved = subject.replayed.copy(), subject.bound.copy()
    for run in runs:
        for i in range(run.length):
            where = subject.failing[:, run.first + i]
            expected[where, run.first + i] = run.vector.rows[where, run.source + i]
            moved[where, run.first + i] += run.vector.bound[where, run.source + i]
    shown = ", ".join(
        f"[{run.first}:{run.first + run.length}] from {run.vector.name}[{run.source}:{run.source + run.length}]{run.vector.when}"
        for run in sorted(runs, key=lambda run: -run.length)[:3]
    )
    more = f" and {len(runs) - 3} more runs" if len(runs) > 3 else ""
    frames = subject.evidence.frame[subject.failing.any(axis=1)]
    when = "" if len(frames) == len(subject.evidence.frame) else f", in {frames_words([int(each) for each in frames])}"
    return Reading("elsewhere", f"filled from other channels: {shown}{more}{when}", expected, moved)


def another_bone(subject: Subject) -> Iterator[Reading]:
    """Every part that differs (a bone, a joint) holds another part, whichever sign its quaternion has."""
    group = subject.groups[0] if len(subject.groups) == 1 else None
    if group is None or group.part < 3 or not np.isfinite(subject.recorded).all():
        return
    own, recorded, bound = (_parts(rows, group.part) for rows in (subject.replayed, subject.recorded, subject.bound))
    differs = _parts(subject.failing, group.part).any(axis=(0, 2))
    sources = np.arange(own.shape[1])
    for part in np.flatnonzero(differs):
        found = _part_of(subject, own, recorded[:, part], bound)
        if found is None:
            return
        sources[part] = found
    rows = own[:, sources].reshape(subject.recorded.shape)
    moved = np.maximum(bound[:, sources].reshape(rows.shape), subject.bound)
    yield Reading("another-part", _parts_words(sources), rows, moved)


def _parts(rows: NDArray[Any], size: int) -> NDArray[Any]:
    return rows.reshape(len(rows), -1, size)


def _part_of(subject: Subject, own: FloatArray, recorded: FloatArray, bound: FloatArray) -> int | None:
    """The part of `own` (T, N, k) that `recorded` (T, k) is."""
    apart = np.abs(own - recorded[:, None])
    if subject.stage.measure.has_signless_quaternions:
        other = np.abs(own + recorded[:, None])
        apart = np.where((other.sum(axis=-1) < apart.sum(axis=-1))[..., None], other, apart)
    fits = np.flatnonzero((apart <= 2.0 * bound).all(axis=(0, 2)))
    return int(fits[0]) if len(fits) else None


def _parts_words(sources: NDArray[np.intp]) -> str:
    moved = sources - np.arange(len(sources))
    steps, counts = np.unique(moved[moved != 0], return_counts=True)
    if len(steps) and counts.max() > NEARLY * counts.sum():
        return f"that of the part {int(steps[np.argmax(counts)]):+d} places on, in {int(counts.max())} parts"
    pairs = ", ".join(f"{place} holds {int(sources[place])}" for place in np.flatnonzero(moved)[:3])
    return f"that of other parts ({pairs}, {int(counts.sum())} parts in all)"
