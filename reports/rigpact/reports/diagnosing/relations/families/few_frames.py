"""A glitch: a few frames that hold other numbers than they should, by one rule for all channels of a frame, or by none."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.relations.lines import Lines
from rigpact.reports.diagnosing.relations.pulled_back import STORED
from rigpact.reports.diagnosing.relations.relation import (
    FRAMES_LISTED,
    GLITCH,
    CandidateEdit,
    Relation,
    frames_words,
    listed,
)
from rigpact.reports.diagnosing.relations.round_numbers import roundest
from rigpact.reports.diagnosing.relations.subject import DivergentStage
from rigpact.reports.diagnosing.relations.target import Target

_DRAWN = 2.0
"""What lost digits lead to is drawn, and so is its bound: a few values somewhat beyond it tell nothing."""


def lines_in_few_frames(target: Target) -> Iterator[CandidateEdit]:
    """One factor, or one constant, for all channels of each frame that differs."""
    rows = np.flatnonzero(target.failing.any(axis=1))
    if not 1 <= len(rows) <= FRAMES_LISTED or not target.is_finite:
        return
    own, held, bound = (each[rows].T for each in (target.own, target.held, target.bound))
    lines = Lines.of(own, held, bound, target.failing[rows].T)
    if lines is None or len(lines.channels) < len(rows):
        return
    frames = frames_words(target.subject.evidence.frame[rows].tolist())
    for (low, high), words, is_factor in (
        (lines.factors(), "{} times {it} in {frames} only", True),
        (lines.summands(), "{} more than {it} in {frames} only", False),
    ):
        if (low > high).any():
            continue
        numbers = np.array([roundest(a, b) for a, b in zip(low, high, strict=True)])
        shown = listed([f"{number:.6g}" for number in numbers])
        it = target.name or ("what it should be" if is_factor else "it should be")
        rule = partial(_in_rows, rows, numbers if is_factor else 1.0, 0.0 if is_factor else numbers, target.channels)
        extra = 0.0 if is_factor else float(np.abs(numbers).max()) * STORED
        yield from target.edit(
            "few-frames",
            words.format(shown, it=it, frames=frames),
            target.channels,
            rule,
            fitted=len(rows),
            extra=extra,
        )


def _in_rows(
    rows: NDArray[np.intp],
    factor: float | FloatArray,
    summand: float | FloatArray,
    channels: NDArray[np.intp],
    own: FloatArray,
) -> FloatArray:
    changed = own[:, channels].copy()
    changed[rows] = np.reshape(factor, (-1, 1)) * changed[rows] + np.reshape(summand, (-1, 1))
    return changed


def glitch(subject: DivergentStage, is_open: NDArray[np.bool_]) -> Iterator[Relation]:
    """That a few frames hold other numbers, and no other frame does; of what they hold nothing is said."""
    failing = subject.failing & is_open
    rows, channels = np.flatnonzero(failing.any(axis=1)), np.flatnonzero(failing.any(axis=0))
    frames = subject.evidence.frame
    if not 1 <= len(rows) <= FRAMES_LISTED or 2 * len(rows) > len(frames):
        return
    excess = np.full(subject.recorded.shape, np.nan)
    excess[:, channels] = subject.error.excess[:, channels]
    if subject.evidence.precision is not None and not (excess > _DRAWN).any():
        return
    one = len(rows) == len(channels) == 1
    numbers = (float(each[rows[0], channels[0]]) for each in (subject.recorded, subject.replayed))
    shown = ": {:.6g} for {:.6g}".format(*numbers) if one else ""
    words = f"{'another number' if one else 'other numbers'} in {frames_words(frames[rows].tolist())} only{shown}"
    yield Relation(
        subject.stage.name,
        subject.place_of(channels).name,
        GLITCH,
        words,
        len(frames) - len(rows),
        len(frames),
        0.0,
        channels=tuple(channels.tolist()),
        excess=excess,
        cost=len(rows),
        is_rule=False,
        frames_left=tuple(frames[rows].tolist()),
    )
