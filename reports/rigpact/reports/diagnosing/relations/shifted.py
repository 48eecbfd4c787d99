"""Another frame: one late or early, the first one held, some frames repeated, a clip that is played at another speed."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reports.diagnosing.relations.relation import Reading, frames_words
from rigpact.reports.diagnosing.relations.subject import Place, Subject
from rigpact.reports.diagnosing.stage_error import error_between

_SMOOTHED = 4
"""A difference, a product, a sum, and storing it."""
LAGS = (-1, 1, -2, 2, -3, 3)
_LARGEST_TERM = 8
SPEEDS = tuple(
    sorted(
        {Fraction(p, q) for p in range(1, _LARGEST_TERM + 1) for q in range(1, _LARGEST_TERM + 1)} - {Fraction(1)},
        key=lambda speed: (speed.numerator + speed.denominator, speed),
    )
)
"""Ratios of two frame rates of at most eight parts, the simple ones first."""


def late(subject: Subject, place: Place) -> Iterator[Reading]:
    """What another frame should hold. Where that frame was not recorded, the frame's own is accepted."""
    own, bound = subject.replayed[:, place.channels], subject.bound[:, place.channels]
    for lag in LAGS:
        rows = subject.shifted(own, lag)
        moved = np.maximum(bound, _bound_of_frame(subject, place, lag))
        yield subject.reading(place, "frame", f"the answer of frame t{lag:+d}", rows, moved)


def _bound_of_frame(subject: Subject, place: Place, lag: int) -> FloatArray:
    """The bound of another frame's replay, and what was lost where it stands now."""
    lost = subject.lost_in_writing(subject.recorded[:, place.channels])
    return np.asarray(subject.shifted(subject.unwritten[:, place.channels], lag) + lost)


def held(subject: Subject, place: Place) -> Iterator[Reading]:
    """What the first recorded frame rightly holds, in every frame."""
    if subject.failing[0, place.channels].any():
        return
    rows = np.broadcast_to(subject.recorded[:1, place.channels], (len(subject.recorded), len(place.channels)))
    words = f"held at the value of frame {int(subject.evidence.frame[0])}"
    yield subject.reading(place, "held", words, rows, subject.bound[:, place.channels], 1)


def smoothed(subject: Subject, place: Place) -> Iterator[Reading]:
    """Each frame goes a share of the way from what the frame before recorded to what it should be. The share is fitted.

    The share is a quotient of sums of squares: its own rounding moves a row by no more than the roundings of the step. What
    stands still is not smoothed: the frame before would explain it alone.
    """
    own = subject.replayed[:, place.channels]
    recorded, bound = subject.recorded[:, place.channels], subject.bound[:, place.channels]
    before = subject.shifted(recorded, -1)
    step = own - before
    if np.mean(np.abs(recorded - before)[1:] > bound[1:]) < 0.5:
        return
    with np.errstate(invalid="ignore", divide="ignore"):
        share = float(np.nansum((recorded - before)[1:] * step[1:]) / np.nansum(step[1:] ** 2))
    if not 0.0 < share < 1.0:
        return
    rows = before + share * step
    rows[0] = recorded[0]
    widest = bound + subject.lost_in_writing(before) + gamma(_SMOOTHED) * (np.abs(before) + np.abs(own))
    yield subject.reading(place, "smoothed", f"smoothed: {share:.4g} of the way from the frame before", rows, widest, 1)


def sometimes_late(subject: Subject, place: Place) -> Iterator[Reading]:
    """Its own frame in most frames, and the frame before or after it in the others."""
    own, bound = subject.replayed[:, place.channels], subject.bound[:, place.channels]
    failing: NDArray[np.bool_] = np.asarray(subject.failing[:, place.channels].any(axis=1))
    for lag in (-1, 1):
        rows = np.where(failing[:, None], subject.shifted(own, lag), own)
        moved = np.maximum(bound, np.where(failing[:, None], _bound_of_frame(subject, place, lag), bound))
        where = frames_words([int(frame) for frame in subject.evidence.frame[failing]])
        words = f"the answer of frame t{lag:+d} in {where}, and of its own frame elsewhere"
        yield subject.reading(place, "some-frames", words, rows, moved)


def at_another_speed(subject: Subject, place: Place) -> Iterator[Reading]:
    """A clip's rows at another speed, or with single frames repeated or skipped."""
    clip = _clip_rows(subject)
    if clip is None or not place.is_whole:
        return
    ahead = 1 if subject.stage.driven_ahead else 0
    own = subject.evidence.frame.astype(np.int64)
    for speed in SPEEDS:
        played = _played(own + ahead, speed)
        yield _reading(subject, place, clip, played, f"the clip's frame {_times(speed)}")
    fits = _best_of(subject, clip, own + ahead)
    if fits is not None:
        moved = [int(frame) for frame, apart in zip(own, fits - own - ahead, strict=True) if apart]
        words = f"the clip's frame before or after its own in {frames_words(moved)}"
        yield _reading(subject, place, clip, fits, words)


def _times(speed: Fraction) -> str:
    top = "t" if speed.numerator == 1 else f"{speed.numerator}·t"
    return top if speed.denominator == 1 else f"{top}/{speed.denominator}"


def _clip_rows(subject: Subject) -> FloatArray | None:
    """The clip's rows of the stage, or of the stage that takes it over; None without a clip that drives it."""
    frames, stage = subject.frames, subject.stage
    if frames.mode == "free" or not frames.has_drive:
        return None
    name = next((each.name for each in subject.contract.system.graph if each.carried == stage.name), stage.name)
    rows: FloatArray | None = frames.drive.rows(name)
    return None if rows is None or rows.shape[1] != subject.recorded.shape[1] else rows.astype(np.float64)


def _played(frame: NDArray[np.int64], speed: Fraction) -> NDArray[np.int64]:
    return frame * speed.numerator // speed.denominator


def _reading(subject: Subject, place: Place, clip: FloatArray, played: NDArray[np.int64], words: str) -> Reading:
    rows = clip[np.clip(played, 0, len(clip) - 1)]
    widest = np.nanmax(subject.bound, axis=0, keepdims=True)
    return subject.reading(place, "clip-frame", words, rows, np.broadcast_to(widest, rows.shape))


def _best_of(subject: Subject, clip: FloatArray, expected: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """For each frame the nearest of the clip's frames at most one away that was recorded; None if there is none."""
    fits = expected.copy()
    is_open = subject.failing.any(axis=1)
    widest = np.broadcast_to(np.nanmax(subject.bound, axis=0, keepdims=True), subject.recorded.shape)
    for lag in (-1, 1):
        played = np.clip(expected + lag, 0, len(clip) - 1)
        error = error_between(subject.stage, subject.recorded, clip[played], widest)
        with np.errstate(invalid="ignore"):
            good = is_open & ~(error.excess > 1.0).any(axis=1)
        fits[good] = played[good]
        is_open &= ~good
    return fits if not is_open.any() else None
