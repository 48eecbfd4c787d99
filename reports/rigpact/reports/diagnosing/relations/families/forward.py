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
from rigpact.reports.diagnosing.relations.relation import Place, Reading
from rigpact.reports.diagnosing.relations.round_numbers import almost_all, is_odd, roundest
from rigpact.reports.diagnosing.relations.subject import Subject

_STEP = 2.0**-10
"""How far a number is moved, in parts of its size, to see what comes of it."""
_ROUNDS = 10
_PATIENCE, _WORSE = 2, 0.7
"""A start from which so many steps more leave this part of the error leads nowhere."""
_NEAR = 2.0**-6
"""The part of the error that may be left before the number is made round and judged."""
_SMALLEST = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True)
class _Edit:
    """words: with the number and the name of the vector; rows (T, W) and a number to rows; starts: numbers to begin with."""

    words: str
    rule: Callable[[FloatArray, float], FloatArray]
    starts: Callable[[FloatArray], Sequence[float]]


def _smoothed(rows: FloatArray, share: float) -> FloatArray:
    found = rows.copy()
    for row in range(1, len(rows)):
        found[row] = found[row - 1] + share * (rows[row] - found[row - 1])
    return found


def _slowed(rows: FloatArray, most: float) -> FloatArray:
    found = rows.copy()
    for row in range(1, len(rows)):
        found[row] = found[row - 1] + np.clip(rows[row] - found[row - 1], -abs(most), abs(most))
    return found


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
    _Edit("{name}, smoothed: {number} of the way from the frame before", _smoothed, lambda _rows: (0.6, 0.2)),
    _Edit("{name}, moved by at most {number} a frame", _slowed, lambda rows: _quantiles(np.diff(rows, axis=0))),
    _Edit("{name} clipped to [-{number}, {number}]", lambda rows, number: np.clip(rows, -abs(number), abs(number)), _quantiles),
)  # fmt: skip


def fitted_forward(subject: Subject, names: Sequence[str]) -> Iterator[Reading]:
    """Every edit of every vector before the stage, with its number."""
    for name in names:
        rows = subject.before[name].astype(np.float64)
        if not np.isfinite(rows).all():
            continue
        for edit in _EDITS:
            number = _fitted(subject, name, rows, edit)
            if number is None:
                continue
            words = f"computed from {edit.words.format(number=f'{number:.6g}', name=name)}"
            found = subject.recomputed("input", words, partial(_changed, name, edit, number), fitted=1)
            if found is not None:
                yield replace(found, source=Place(name, np.arange(rows.shape[1])), pieces=is_odd(number))


def _changed(name: str, edit: _Edit, number: float, known: Subject) -> Mapping[str, FloatArray]:
    return {name: edit.rule(known.before[name].astype(np.float64), number)}


def _fitted(subject: Subject, name: str, rows: FloatArray, edit: _Edit) -> float | None:
    """The roundest number of an edit that brings the stage near to what was recorded; None where none does."""
    for start in edit.starts(rows):
        found = _gauss_newton(subject, name, partial(edit.rule, rows), start)
        if found is not None:
            return found
    return None


def _gauss_newton(
    subject: Subject, name: str, rule: Callable[[float], FloatArray], number: float
) -> float | None:  # fmt: skip
    failing = subject.failing

    def left(value: float) -> FloatArray | None:
        rows = subject.rows_from(name, rule(value))
        return None if rows is None else (subject.recorded - rows)[failing]

    apart = (subject.recorded - subject.replayed)[failing]
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


def _roundest(subject: Subject, number: float, error: FloatArray, slope: FloatArray) -> float | None:
    """The number that almost every value that tells leaves open; None where they leave none: it is not there yet."""
    bound = subject.bound[subject.failing]
    tells = np.isfinite(error) & (np.abs(slope) > 0.5 * np.median(np.abs(slope[slope != 0.0])))
    if not tells.any():
        return None
    middle, reach = number + error[tells] / slope[tells], bound[tells] / np.abs(slope[tells])
    low, high = almost_all(middle - reach, middle + reach)
    return roundest(low, high) if low <= high else None
