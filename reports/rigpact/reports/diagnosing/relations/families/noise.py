"""Noise: what differs has no structure. Its size is said, and that nothing explains it; it is no rule."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.relations.relation import Relation
from rigpact.reports.diagnosing.relations.subject import DivergentStage
from rigpact.reports.diagnosing.relations.ticks import Ticks
from rigpact.reports.diagnosing.stage_error import NEARLY

NOISE = "noise"
"""The kind of a relation that says how large what differs is, and that it depends on nothing."""
_FEWEST = 64
"""Values; of fewer no independence is told."""
_SIGMAS = 5.0
"""Of independent values a mean or a correlation is farther from 0 once in two million."""
_ALIKE = 1.5
"""The sizes of two channels of one noise, as a ratio."""
_EVEN = 2.3
"""The kurtosis of numbers that are drawn evenly is 1.8, that of normal ones 3."""


def noise(subject: DivergentStage, is_open: NDArray[np.bool_]) -> Iterator[Relation]:
    """That almost every number of the channels that differ is off by a number that depends on nothing known."""
    channels = np.flatnonzero(is_open)
    starts = Ticks.of_rows(subject.replayed, subject.evidence.fps).starts
    own, held, bound = (rows[starts][:, channels] for rows in (subject.replayed, subject.recorded, subject.bound))
    told = np.isfinite(bound).all(axis=0)  # a limit may have hidden numbers of a channel
    apart, own, failing = (held - own)[:, told], own[:, told], subject.failing[starts][:, channels[told]]
    if apart.size < _FEWEST or np.count_nonzero(failing) < NEARLY * failing.size or not np.isfinite(apart).all():
        return
    if subject.evidence.precision is not None or subject.stage.is_answer or not _is_independent(apart, own):
        return
    spread = float(apart.std())
    is_even = float(np.mean((apart / spread) ** 4)) < _EVEN
    size = f"evenly within ±{np.abs(apart).max():.2g}" if is_even else f"of a standard deviation of {spread:.2g}"
    excess = np.full(subject.recorded.shape, np.nan)
    excess[:, channels] = subject.error.excess[:, channels]
    frames = len(excess)
    yield Relation(
        subject.stage.name,
        subject.place_of(channels).name,
        NOISE,
        f"what it should be with noise, {size}: no channel and no frame depends on another",
        frames,
        frames,
        0.0,
        channels=tuple(channels.tolist()),
        excess=excess,
        is_rule=False,
    )


def _is_independent(apart: FloatArray, own: FloatArray) -> bool:
    """Whether numbers (T, C) have the mean 0 and one size, and depend on no frame before, no other channel, no value."""
    sizes = apart.std(axis=0)
    if sizes.min() <= 0.0 or sizes.max() > _ALIKE * sizes.min():
        return False
    scores = (apart - apart.mean(axis=0)) / sizes
    beside = np.corrcoef(scores, rowvar=False) - np.eye(scores.shape[1]) if scores.shape[1] > 1 else np.zeros((1, 1))
    moves = own.std(axis=0)
    by_value = np.where(moves > 0.0, (own - own.mean(axis=0)) / np.where(moves > 0.0, moves, 1.0), 0.0)
    alone = [apart.mean() / apart.std(), np.mean(scores[1:] * scores[:-1]), np.mean(scores * by_value)]
    return bool(
        np.abs(alone).max() <= _SIGMAS / np.sqrt(apart.size) and np.abs(beside).max() <= _SIGMAS / np.sqrt(len(apart))
    )
