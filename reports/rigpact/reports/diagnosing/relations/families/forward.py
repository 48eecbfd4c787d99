"""An edit of one free number before a stage that cannot be worked back: the number is fitted through the stage itself.

A network, a difference over frames, a squash that loses digits: what stood before them is not known. So the edit is made, the
stage is computed, and its number is moved by Gauss-Newton until what comes out is what was recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.relations.lines import almost_all, is_odd, roundest
from rigpact.reports.diagnosing.relations.pulled_back import STORED
from rigpact.reports.diagnosing.relations.relation import CandidateEdit, ChannelSet
from rigpact.reports.diagnosing.relations.subject import DivergentStage

_STEP = 2.0**-10
"""How far a number is moved, in parts of its size, to see what comes of it."""
_FRAMES = 96
"""A number is fitted up to so many frames after the first that differs, and judged in all."""
_ROUNDS = 10
_PATIENCE, _WORSE = 2, 0.7
"""A start from which so many steps more leave this part of the error leads nowhere."""
_NEAR = 2.0**-6
"""The part of the error that may be left before the number is made round and judged."""
_SMALLEST = float(np.finfo(np.float32).tiny)


Rule = Callable[[FloatArray, float], FloatArray]
RowsOf = Callable[[float], FloatArray | None]
"""Rows (T, W) and a number to rows; a number to the rows of the stage in `_beginning`."""


@dataclass(frozen=True)
class _Edit:
    """words: with the number and the name of the vector; starts: numbers to begin with."""

    words: str
    rule: Rule
    starts: Callable[[FloatArray], Sequence[float]]


def _step_by_step(step: Callable[[FloatArray, FloatArray, FloatArray, float], FloatArray], *, from_zeros: bool) -> Rule:
    """The rule of a step: what stood there, what comes in, what came in before, and the number, to what stands there then."""

    def rule(rows: FloatArray, number: float) -> FloatArray:
        found, was = np.empty_like(rows), 0.0 * rows[0] if from_zeros else rows[0]
        for row, new in enumerate(rows):
            was = found[row] = step(was, new, rows[max(row - 1, 0)], number)
        return found

    return rule


def _quantiles(values: FloatArray) -> Sequence[float]:
    """A few sizes, the large ones first."""
    sizes = np.abs(values[np.isfinite(values) & (values != 0.0)])
    return [float(np.quantile(sizes, part)) for part in (0.8, 0.5, 0.2)] if sizes.size else []


_EDITS = (
    _Edit("{number} times {name}", lambda rows, number: number * rows, lambda _rows: (1.5, 0.5)),
    _Edit(
        "{number} more than {name}",
        lambda rows, number: rows + number,
        lambda rows: (float(np.std(rows)), -float(np.std(rows))),
    ),
    _Edit("the number {number} in place of {name}", np.full_like, lambda _rows: (1.0, -0.5)),
    _Edit(
        "{name}, smoothed: {number} of the way from the frame before",
        _step_by_step(lambda was, new, _last, share: was + share * (new - was), from_zeros=False),
        lambda _rows: (0.6, 0.2),
    ),
    _Edit(
        "{name}, moved by at most {number} a frame",
        _step_by_step(lambda was, new, _last, most: was + np.clip(new - was, -abs(most), abs(most)), from_zeros=False),
        lambda rows: _quantiles(np.diff(rows, axis=0)),
    ),
    _Edit(
        "{name}, high pass: {number} kept each frame",
        _step_by_step(lambda was, new, last, share: share * (was + new - last), from_zeros=True),
        lambda _rows: (0.9, 0.7),
    ),
    _Edit(
        "{name}, summed up: {number} of it added each frame",
        _step_by_step(lambda was, new, _last, share: was + share * new, from_zeros=True),
        lambda _rows: (0.02, 0.2),
    ),
    _Edit("{name} clipped to [-{number}, {number}]", lambda rows, number: np.clip(rows, -abs(number), abs(number)), _quantiles),
)  # fmt: skip


def fitted_forward(subject: DivergentStage, names: Sequence[str]) -> Iterator[CandidateEdit]:
    """Every edit of every vector before the stage, with its number."""
    for name in names:
        rows = subject.before[name].astype(np.float64)
        if not np.isfinite(rows).all():
            continue
        begun = _beginning(subject)
        for edit in _EDITS:
            rows_of = partial(_rows_under, subject, name, rows[begun], edit)
            number = _fitted(subject, rows_of, edit.starts(rows))
            if number is None:
                continue
            words = f"computed from {edit.words.format(number=f'{number:.6g}', name=name)}"
            found = subject.recomputed("input", words, partial(_changed, name, edit, number), fitted=1)
            if found is not None:
                yield replace(found, source=ChannelSet(name, np.arange(rows.shape[1])), pieces=is_odd(number))


def _changed(name: str, edit: _Edit, number: float, known: DivergentStage) -> Mapping[str, FloatArray]:
    return {name: edit.rule(known.before[name].astype(np.float64), number)}


def _rows_under(subject: DivergentStage, name: str, rows: FloatArray, edit: _Edit, number: float) -> FloatArray | None:
    return subject.rows_from(name, edit.rule(rows, number), _beginning(subject))


def _fitted(subject: DivergentStage, rows_of: RowsOf, starts: Sequence[float]) -> float | None:
    """The roundest number that brings the stage near to what was recorded, from the first start that leads there; else None."""
    return next((each for start in starts if (each := _gauss_newton(subject, rows_of, start)) is not None), None)


def _beginning(subject: DivergentStage) -> list[int]:
    """The frames that a number is fitted to: all up to some after the first that differs, as a filter remembers every one."""
    first = int(np.argmax(subject.failing.any(axis=1)))
    return list(range(min(len(subject.failing), first + _FRAMES)))


def _gauss_newton(subject: DivergentStage, rows_of: RowsOf, number: float) -> float | None:
    begun = _beginning(subject)
    recorded, failing = subject.recorded[begun], subject.failing[begun]

    def left(value: float) -> FloatArray | None:
        rows = rows_of(value)
        return None if rows is None else (recorded - rows)[failing]

    apart = (recorded - subject.replayed[begun])[failing]
    error = left(number)
    for turn in range(_ROUNDS):
        move = _STEP * max(abs(number), _STEP)
        beside = left(number + move)
        if error is None or beside is None:
            return None
        known = np.isfinite(error) & np.isfinite(beside)
        slope = (error - beside) / move
        weight = float(np.sum(slope[known] ** 2))
        if not known.any() or weight <= _SMALLEST:
            return None
        near = _size(error[known]) <= _NEAR * _size(apart[known])
        found = _roundest(subject, number, error, slope) if near else None
        if found is not None:
            return found
        moved = number + float(np.sum((slope * error)[known])) / weight
        error = left(moved)
        if error is None or (turn == _PATIENCE and _size(error) > _WORSE * _size(apart)):
            return None
        number = moved
    return None


def _size(values: FloatArray) -> float:
    """The middle size: a few values may be beside the edit."""
    return float(np.median(np.abs(np.nan_to_num(values, nan=np.inf))))


def _roundest(subject: DivergentStage, number: float, error: FloatArray, slope: FloatArray) -> float | None:
    """The number that almost every value that tells leaves open; None where they leave none: it is not there yet."""
    begun = _beginning(subject)
    bound = (subject.bound + STORED * np.abs(subject.recorded))[begun][subject.failing[begun]]
    tells = np.isfinite(error) & (np.abs(slope) > 0.5 * np.median(np.abs(slope[slope != 0.0])))
    if not tells.any():
        return None
    middle, reach = number + error[tells] / slope[tells], bound[tells] / np.abs(slope[tells])
    low, high = almost_all(middle - reach, middle + reach)
    return roundest(low, high) if low <= high else None
