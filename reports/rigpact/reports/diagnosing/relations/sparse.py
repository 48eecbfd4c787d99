"""Which channels of a network's input were other numbers, and which: what its answer tells of a few channels at once.

The answer changes by J·d where its input changes by d. The channels that explain most of what differs are chosen one by one, some
frames together (orthogonal least squares, Chen, Billings and Luo 1989). After each choice the numbers of all chosen ones are
solved again in every frame, by Gauss-Newton on the network itself.
"""

from __future__ import annotations

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.relations.pulled_back import STORED, Stood
from rigpact.reports.diagnosing.relations.subject import DivergentStage

_MOST_CHANNELS = 6
_ROUNDS = 6
_FRAMES = 16
"""Channels are chosen by so many frames that differ; their numbers are solved in all."""
_SOLVED = 2.0**-10
"""The part of the error that may be left: what is solved is judged by its bound afterwards."""
_STEP = 2.0**-7
"""How far an input is moved, in parts of its size, to see what comes of it."""
_SMALLEST = float(np.finfo(np.float32).tiny)


def solved_input(subject: DivergentStage, name: str) -> Stood | None:
    """The few channels of an input that explain all that differs; None where a few do not."""
    own = subject.before[name].astype(np.float64)
    if not (np.isfinite(own).all() and np.isfinite(subject.recorded).all()):
        return None
    steps = _STEP * np.maximum(np.abs(own).max(axis=0), _STEP)
    differs = np.flatnonzero(subject.failing.any(axis=1))
    few = differs[np.unique(np.linspace(0, len(differs) - 1, _FRAMES).astype(int))].tolist()
    slopes = _slopes(subject, name, own[few], subject.replayed[few], range(own.shape[1]), steps, few)
    if slopes is None:
        return None
    held: FloatArray = own
    left: FloatArray = subject.recorded - subject.replayed
    chosen = list[int]()
    first = float(np.sum(left**2))
    while len(chosen) < min(_MOST_CHANNELS, subject.recorded.shape[1] - 1):
        chosen.append(int(np.argmax(_gains(slopes, left[few], chosen))))
        found = _gauss_newton(subject, name, held, chosen, steps)
        if found is None:
            return None
        held, left, bound = found
        if np.sum(left**2) <= _SOLVED**2 * first:
            wide = STORED * np.abs(held)
            wide[:, chosen] += bound
            return Stood(held, wide)
    return None


def _slopes(
    subject: DivergentStage,
    name: str,
    rows: FloatArray,
    answer: FloatArray,
    channels: range | list[int],
    steps: FloatArray,
    few: list[int] | None = None,
) -> FloatArray | None:
    """What each channel does to each number of the answer, (C, T, O); few: in those frames only."""
    found = []
    for channel in channels:
        moved = rows.copy()
        moved[:, channel] += steps[channel]
        beside = subject.rows_from(name, moved, few)
        if beside is None:
            return None
        found.append((beside - answer) / steps[channel])
    return np.stack(found)


def _gains(slopes: FloatArray, left: FloatArray, chosen: list[int]) -> FloatArray:
    """How much of what is left each channel would explain beside the chosen ones, (C,): by what they do not do already."""
    apart = np.ascontiguousarray(slopes.swapaxes(0, 1))  # (T, C, O): a product of matrices for each frame
    if chosen:
        basis, _ = np.linalg.qr(np.moveaxis(slopes[chosen], 0, 2))  # (T, O, chosen)
        apart -= (apart @ basis) @ basis.swapaxes(1, 2)
    along = (apart @ left[:, :, None])[:, :, 0]
    sizes = np.maximum((apart**2).sum(axis=2), _SMALLEST)
    gain = np.asarray((along**2 / sizes).sum(axis=0))
    gain[chosen] = 0.0
    return gain


def _gauss_newton(
    subject: DivergentStage, name: str, start: FloatArray, chosen: list[int], steps: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """The numbers of the chosen channels in every frame: the input, what is left of the answer, and the bound, (T, C)."""
    differs = np.asarray(subject.failing.any(axis=1))
    held = start
    for _ in range(_ROUNDS):
        answer = subject.rows_from(name, held)
        slopes = None if answer is None else _slopes(subject, name, held, answer, chosen, steps)
        if answer is None or slopes is None:
            return None
        left = subject.recorded - answer
        inverse = np.linalg.pinv(np.moveaxis(slopes, 0, 2))  # (T, C, O)
        step = np.einsum("tco,to->tc", inverse, left)
        most = steps[chosen] / _STEP * 2.0
        held = held.copy()
        held[:, chosen] += np.where(differs[:, None], np.clip(step, -most, most), 0.0)
        if np.abs(step[differs]).max(initial=0.0) <= _SMALLEST:
            break
    answer = subject.rows_from(name, held)
    if answer is None:
        return None
    bound = np.einsum("tco,to->tc", np.abs(inverse), subject.bound) * 2.0
    return held, subject.recorded - answer, bound
