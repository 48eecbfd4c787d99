"""Compare one stage of two recordings with its tolerance, one piece of frames at a time.

A `StageMeter` takes frames in order, in pieces of any length. Its result, a `StageComparison`, does not depend on the
length of the pieces. It keeps a few numbers for each channel, so a long comparison needs no more memory than a short
one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.layout import ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.layout import QUATERNION_KINDS, FieldKind
from rigpact.contract.systems.stage import Measure
from rigpact.reference_runtime.graph.bounds import distance


# Name the place of a channel of a stage in words: slice, bone, component.
@dataclass(frozen=True)
class Address:
    """A channel's place: stage and index, and slice, bone and component where the channel has them."""

    stage: str
    channel: int
    slice: str | None = None
    bone: str | None = None
    component: str | None = None

    @property
    def words(self) -> str:
        """The place in words, the bone first."""
        words = [word for word in (self.bone, self.slice, self.component) if word]
        return f"{', '.join(words)} (channel {self.channel})" if words else f"channel {self.channel}"

    def __str__(self) -> str:
        return self.words


def channel_address(stage: str, channel: int, contract: Contract | None, bones: Sequence[str] = ()) -> Address:
    """Name the place of one channel by its field. Without a contract, only published rotations have a name."""
    if contract is None:
        bone, offset = divmod(channel, 6)
        name = bones[bone] if bone < len(bones) else f"bone {bone}"
        return Address(stage, channel, ROTATIONS, name, f"6D[{offset}]")
    field = contract.fields(stage).field_at(channel)
    if field is None:
        return Address(stage, channel)
    offset = channel - field.start
    if not field.bone:
        return Address(stage, channel, field.name if field.size == 1 else f"{field.name}[{offset}]")
    return Address(stage, channel, field.name or None, field.bone, _component(field.kind, offset))


def _component(kind: FieldKind, offset: int) -> str:
    if kind in QUATERNION_KINDS:
        return ("xyzw" if kind is FieldKind.QUATERNION_XYZW else "wxyz")[offset % 4]
    return f"{'6D' if kind is FieldKind.ROT6D else 'xyz'}[{offset}]"


_NOTHING = -1.0
"""Smaller than every error."""


@dataclass(frozen=True, eq=False)
class StageComparison:
    """One stage of both sides over the shared frames: the largest |a - b|, and the values beyond their tolerance.

    `judged` (width,) marks the channels that can be judged. A non-finite value has an infinite error. The worst value
    is the largest error beyond its tolerance, if there is one, else the largest error. over: how many of `total` values
    are beyond their tolerance.
    """

    stage: str
    judged: NDArray[np.bool_]
    frame_count: int
    over: int
    first_frame_over: int | None
    worst_frame: int
    worst_channel: int
    worst_error: float
    worst_tolerance: float
    unknown: int
    """How many values of judged channels could not be judged, because their tolerance is infinite."""
    first_unknown: tuple[int, int] | None
    """Frame and channel of the first of them."""
    left_out: int
    """How many frames nobody can judge: they depend on a later frame that is not recorded."""
    frame_ratios: FloatArray
    """(T,): the largest error of each frame divided by its tolerance, over the values that can be judged."""

    @property
    def judged_total(self) -> int:
        """Number of values of the channels that can be judged."""
        return self.frame_count * int(self.judged.sum())

    @property
    def left_out_total(self) -> int:
        """Number of values of the channels that can be judged, at frames that nobody can judge."""
        return self.left_out * int(self.judged.sum())

    @property
    def compared_total(self) -> int:
        """Number of values that were judged."""
        return self.judged_total - self.unknown - self.left_out_total

    @property
    def total(self) -> int:
        """Number of values on each side."""
        return self.frame_count * len(self.judged)


class _Extremes:
    """Errors of one kind, per channel: their number, the first, the largest, and the first largest."""

    def __init__(self, width: int) -> None:
        self.count = np.zeros(width, np.int64)
        self.first = np.full(width, -1, np.int64)
        self.largest = np.full(width, _NOTHING)
        self.row = np.zeros(width, np.int64)
        self.tolerance = np.zeros(width)

    def add_some(self, chosen: NDArray[np.bool_], error: FloatArray, tolerance: FloatArray, start: int) -> None:
        """Add the chosen errors of a piece that begins at row `start`."""
        if not chosen.any():
            return
        self.count += chosen.sum(axis=0)
        new = np.flatnonzero((self.first < 0) & chosen.any(axis=0))
        self.first[new] = start + chosen[:, new].argmax(axis=0)
        self.add_largest(np.where(chosen, error, _NOTHING), tolerance, start)

    def add_largest(self, error: FloatArray, tolerance: FloatArray, start: int) -> None:
        """Keep an error that is larger than all before; of equal errors, keep the first."""
        largest = error.max(axis=0)
        better = np.flatnonzero(largest > self.largest)
        rows = error[:, better].argmax(axis=0)
        self.largest[better], self.row[better] = largest[better], start + rows
        self.tolerance[better] = tolerance[rows, better]

    def where(self, chosen: NDArray[np.bool_], other: _Extremes) -> _Extremes:
        """Take the chosen channels from self and the others from `other`."""
        mixed = _Extremes(len(chosen))
        for name, kept in vars(self).items():
            setattr(mixed, name, np.where(chosen, kept, getattr(other, name)))
        return mixed

    def place_of_first(self, frames: NDArray[np.int64]) -> tuple[int, int] | None:
        """Frame and channel of the first error; None if there is none."""
        channels = np.flatnonzero(self.first >= 0)
        if not len(channels):
            return None
        channel = int(channels[np.argmin(self.first[channels])])
        return int(frames[self.first[channel]]), channel

    def worst(self) -> tuple[int, int, float, float] | None:
        """Row, channel, error and tolerance of the largest error; of equal errors the first. None if there is none."""
        if self.largest.max() == _NOTHING:
            return None
        candidates = np.flatnonzero(self.largest == self.largest.max())
        channel = int(candidates[np.argmin(self.row[candidates])])
        return int(self.row[channel]), channel, float(self.largest[channel]), float(self.tolerance[channel])


class StageMeter:
    """Collects one stage of two recordings."""

    def __init__(self, stage: str, width: int, measure: Measure) -> None:
        """Start with no frames."""
        self.stage, self._rows, self._left_out = stage, 0, 0
        self._widest, self._measure = measure.widest_bound, measure
        self._over, self._not_finite, self._all, self._unknown = (_Extremes(width) for _ in range(4))
        self._within = np.zeros(width, np.int64)
        self._largest_within, self._smallest_beyond = np.full(width, -np.inf), np.full(width, np.inf)
        self._ratios: list[FloatArray] = []

    def add(
        self, a: FloatArray, b: FloatArray, tolerance: FloatArray, left_out: NDArray[np.bool_] | None = None
    ) -> None:
        """Add the next frames: values of both sides and their tolerance, all (T, width).

        left_out: the frames that nobody can judge, (T,), whatever they hold.
        """
        error = distance(self._measure, a, b)
        if left_out is not None:
            error[left_out] = 0.0
            tolerance = np.where(left_out[:, None], 0.0, tolerance)
            self._left_out += int(np.count_nonzero(left_out))
        if np.isnan(tolerance).any():
            tolerance = np.where(np.isnan(tolerance), 0.0, tolerance)
        self._unknown.add_some(np.isinf(tolerance), error, tolerance, self._rows)
        finite = np.isfinite(error)
        if not finite.all():
            error[~finite] = np.inf
            self._not_finite.add_some(~finite, error, tolerance, self._rows)
        self._over.add_some((error > tolerance) | ~finite, error, tolerance, self._rows)
        self._all.add_largest(error, tolerance, self._rows)
        if self._widest is not None:
            self._split_tolerances(tolerance <= self._widest, tolerance)
        self._ratios.append(self._frame_ratios(error, tolerance))
        if not self._rows:
            self._first_value = float(error[0, 0]), float(tolerance[0, 0])
        self._rows += len(error)

    def _frame_ratios(self, error: FloatArray, tolerance: FloatArray) -> FloatArray:
        counted = error > 0.0
        if self._widest is not None:
            counted &= tolerance <= self._widest
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.divide(error, tolerance, out=np.zeros_like(error), where=counted)
        return np.where(np.isinf(error.max(axis=1)), np.inf, ratios.max(axis=1))

    def _split_tolerances(self, within: NDArray[np.bool_], tolerance: FloatArray) -> None:
        self._within += within.sum(axis=0)
        np.maximum(self._largest_within, np.where(within, tolerance, -np.inf).max(axis=0), out=self._largest_within)
        np.minimum(self._smallest_beyond, np.where(within, np.inf, tolerance).min(axis=0), out=self._smallest_beyond)

    def _judged(self) -> NDArray[np.bool_]:
        """Whether the median tolerance of each channel is narrow enough for a judgement, (width,)."""
        if self._widest is None:
            return np.ones(len(self._within), bool)
        twice = 2 * self._within
        with np.errstate(invalid="ignore"):  # where all are infinite there is no middle
            middle = (self._largest_within + self._smallest_beyond) / 2.0
        return np.asarray((twice > self._rows) | ((twice == self._rows) & (middle <= self._widest)))

    def result(self, frames: NDArray[np.int64]) -> StageComparison:
        """The result over all frames; `frames` are their numbers."""
        judged = self._judged()
        over = self._over.where(judged, self._not_finite)
        found = over if over.count.any() else self._all.where(judged, _Extremes(len(judged)))
        row, channel, error, tolerance = found.worst() or (0, 0, *self._first_value)
        firsts = over.first[over.first >= 0]
        unknown = self._unknown.where(judged, _Extremes(len(judged)))
        return StageComparison(
            self.stage, judged, self._rows, over=int(over.count.sum()),
            first_frame_over=int(frames[firsts.min()]) if len(firsts) else None,
            worst_frame=int(frames[row]), worst_channel=channel, worst_error=error, worst_tolerance=tolerance,
            unknown=int(unknown.count.sum()), first_unknown=unknown.place_of_first(frames), left_out=self._left_out,
            frame_ratios=np.concatenate(self._ratios),
        )  # fmt: skip
