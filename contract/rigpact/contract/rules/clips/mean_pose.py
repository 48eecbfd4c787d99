"""RP560-RP562, RP912: the mean pose of a clip against the bundle's, under every reading of its rotations.

Two numbers are known of each bone: how far the clip's mean pose is from the bundle's, and how far single frames of the training
data are from it (the spread, from StdX). A reading is named where it brings the clip at least twice as near as the declared one,
on bones that the spread does not explain. Another motion than the statistics' does not do that: no turn, order or
column of it gives the mean pose of a body.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.layout import ROOT_POSITION
from rigpact.contract.rotation6d import rotation_angle_rad, transposed
from rigpact.contract.rules.bundle.symmetry import twins
from rigpact.contract.rules.clips.pose_readings import ClipRotations, Kind, PoseReading, exchanged, readings_of
from rigpact.contract.rules.family import Family, Need, rules_in
from rigpact.contract.rules.subject import Subject
from rigpact.contract.rules.views.bundle import BundleView, is_finite_float32, member
from rigpact.contract.rules.views.clip import ClipView
from rigpact.contract.statistics import FloatArray

_MESSAGE = (
    "{reading}: read so, the clip's mean pose is {fit_deg:.1f}° from the bundle's, as declared it is {own_deg:.1f}°"
    " (mean over {bones}){also}"
)
CLIP_NUMBERS_READ_OTHERWISE = Rule.titled(
    "RP560 error clip-numbers-read-otherwise",
    message=_MESSAGE,
    hint="export the columns that meta.rot6d_spec declares, or declare the columns of both files (--set rot6d_columns=…)",
    why="clip and bundle decode the same six numbers to other rotations: every limb points elsewhere",
)
CLIP_IN_OTHER_SPACE = Rule.titled(
    "RP561 error clip-in-other-space",
    message=_MESSAGE,
    hint="export the clip with the bundle's settings: local rotations, columns are axes, the same axes and root",
    why="training learns a pose in one space and the engine plays it in another: limbs turn about the wrong axes",
)
CLIP_ROWS_MOVED = Rule.titled(
    "RP562 error clip-rows-moved",
    message=_MESSAGE,
    hint="export the rows in the order of bone_names; look for a root row too many and for two bones that changed places",
    why="bones are matched by index: a leg plays an arm, and every number is in range",
)
CLIP_SIDES_SWAPPED = Rule.titled(
    "RP912 error clip-sides-swapped",
    message="left and right of the clip are exchanged: its mean pose is {own_deg:.1f}° from the bundle's, and {fit_deg:.1f}°"
    " with every left bone read as its right twin (mean of {pairs} pairs){also}",
    hint="export the clip again; a mirror or a bone map was applied to the names or to the rotations only",
    why="each limb plays the motion of the other side: the character limps, and contacts belong to the other foot",
)

_RULE_OF = {
    Kind.NUMBERS: CLIP_NUMBERS_READ_OTHERWISE, Kind.SPACE: CLIP_IN_OTHER_SPACE, Kind.ROWS: CLIP_ROWS_MOVED,
    Kind.SIDES: CLIP_SIDES_SWAPPED,
}  # fmt: skip
_ROUNDED_RAD = 1e-2
"""Two decimals of a column. A bone that never moved in training has no spread, and this is left of it."""
_FAR = 3.0
"""A clip that makes up a tenth of the training data lies at most sqrt(10 - 1) spreads from the mean (Chebyshev)."""
_NEARER = 2.0
"""Nearer to one reading than to the other: a mean pose in the middle is as far from both."""
_HALF = 0.5
"""From this part of the bones on, a reading is judged by most of them; below it, by every one."""
_DENSE_ROWS = 8
"""Of eight bones that move at random, all come nearer to another reading once in 256 motions. Of fewer, every one must fit."""


def check_mean_pose(subject: Subject) -> Iterator[Finding]:
    """Yield at most one finding for each clip: the reading under which it fits the bundle."""
    if subject.view is None:
        return
    for clip in subject.clips:
        comparison = _comparison(clip, subject.view)
        fits = () if comparison is None else comparison.fits()
        if comparison is not None and fits:
            yield comparison.finding(fits[0], fits[1:])


FAMILY = Family(__name__, rules_in(globals()), (Need.CLIP, Need.BUNDLE), check_mean_pose)


@dataclass(frozen=True, eq=False)
class _Comparison:
    """The rotations of a clip beside the bundle's mean pose (B, 3, 3) and its spread in radians, (B,)."""

    clip: ClipView
    bundle: BundleView
    rotations: ClipRotations
    pose: FloatArray
    spread_rad: FloatArray

    @cached_property
    def own_pose(self) -> FloatArray:
        """As declared."""
        return self.rotations.mean_pose(self.rotations.rotations)

    @cached_property
    def own_rad(self) -> FloatArray:
        """How far the declared reading is from the bundle, (B,)."""
        return _apart_rad(self.own_pose, self.pose)

    def fits(self) -> tuple[PoseReading, ...]:
        """The readings that fit where the declared one does not: the best, then those of another kind that fit as well.

        As well: less than twice as far from the bundle. On a symmetric body an exchange of left and right is almost a mirror.
        """
        if not np.any(self.own_rad > _FAR * self.spread_rad):
            return ()
        found = [each for each in chain(readings_of(self.rotations), self._exchanges()) if self._fits(each)]
        # of readings that fit alike up to rounding, the first
        ranked = sorted(found, key=lambda reading: round(self._left_over(reading), 6))
        near = [reading for reading in ranked if self._left_over(reading) <= _NEARER * self._left_over(ranked[0])]
        others = {
            each.kind: each for each in near[::-1] if each.kind is not near[0].kind and not _are_same(each, near[0])
        }
        return (*near[:1], *others.values())

    def _left_over(self, reading: PoseReading) -> float:
        """The mean distance over all bones, radians; a bone without a row counts as one that is ordinary."""
        apart = _apart_rad(reading.pose, self.pose)
        return float(np.where(np.isfinite(apart), apart, np.minimum(self.own_rad, self.spread_rad)).mean())

    def moved(self, reading: PoseReading) -> NDArray[np.bool_]:
        """The bones on which a reading and the declared one differ, (B,); without those that it has no row for."""
        return _apart_rad(reading.pose, self.own_pose) > _ROUNDED_RAD

    def _fits(self, reading: PoseReading) -> bool:
        apart = _apart_rad(reading.pose, self.own_pose)
        moved = self.moved(reading)
        if not moved.any() or (reading.tilt is not None and not self._keeps_its_height(reading.tilt)):
            return False
        fit_rad = _apart_rad(reading.pose, self.pose)
        own, fit = self.own_rad / self.spread_rad, fit_rad / self.spread_rad
        # so far apart that no bone is ordinary under both
        telling = apart > 2 * _FAR * self.spread_rad
        if moved.sum() >= max(_HALF * len(moved), _DENSE_ROWS):
            if not telling.any():
                return False
            nearer = np.median(fit[telling]) * _NEARER <= np.median(own[telling])
            halved = fit_rad[moved].mean() * _NEARER <= self.own_rad[moved].mean()
            return bool(nearer and halved and np.median(own[telling]) > _FAR)
        return self._fits_every_bone(own, fit, moved)

    @staticmethod
    def _fits_every_bone(own: FloatArray, fit: FloatArray, moved: NDArray[np.bool_]) -> bool:
        """A reading of few bones: the others are ordinary as they are, these only when they are read so."""
        ordinary = (own[~moved] <= _FAR) | ~np.isfinite(fit[~moved])
        theirs, so = (float(np.sqrt(np.mean(each[moved] ** 2))) for each in (own, fit))
        worst_so = float(fit[moved].max())
        return bool(ordinary.all() and theirs > _FAR and so * _NEARER <= theirs and worst_so <= _FAR)

    def _keeps_its_height(self, turn: FloatArray) -> bool:
        """Whether a turned root is not a body that lies down: it is upright, or as high above the ground as in training.

        Where the height never varied in training it says nothing, and a body may lie.
        """
        up = next((axis for axis in range(3) if member(self.bundle.meta, "axes", "xyz"[axis]) == "up"), 2)
        if turn[up, up] == 1:
            return True
        state, position = self.bundle.state, self.clip.shaped("RootPosition", 3)
        mean, std = self.bundle.statistic("MuX", state), self.bundle.statistic("StdX", state)
        if state is None or ROOT_POSITION not in state or position is None or mean is None or std is None:
            return False
        channel = state[ROOT_POSITION].start + up
        spread = float(std.values[channel])
        return spread > _ROUNDED_RAD and bool(abs(position[:, up].mean() - mean.values[channel]) <= _FAR * spread)

    def _exchanges(self) -> Iterator[PoseReading]:
        """Exchanges of two rows, both far from their own bone and near the other's."""
        far = np.flatnonzero(self.own_rad > self.spread_rad)
        across = _apart_rad(self.own_pose[:, None], self.pose[None])
        for place, a in enumerate(far.tolist()):
            for b in far[place + 1 :].tolist():
                if across[a, b] <= _FAR * self.spread_rad[b] and across[b, a] <= _FAR * self.spread_rad[a]:
                    yield exchanged(self.rotations, a, b)

    def finding(self, reading: PoseReading, others: tuple[PoseReading, ...]) -> Finding:
        """The finding that names a reading, and the others that fit as well."""
        rows = () if reading.row is None else (reading.row,)
        moved = self.moved(reading)
        count = int(moved.sum())
        values: dict[str, Any] = {
            "own_deg": _mean_deg(self.own_rad[moved]),
            "fit_deg": self._fit_deg(reading),
            "reading": reading.words,
        }
        values |= {"bones": "1 bone" if count == 1 else f"{count} bones", "pairs": len(twins(self.rotations.names))}
        values["also"] = "".join(f"; or {each.words} ({self._fit_deg(each):.1f}°)" for each in others)
        if reading.says:
            values["says"] = dict(reading.says)
        return _RULE_OF[reading.kind].at(self.clip.path, ("Frames", 0, "BoneRotations", *rows), **values)

    def _fit_deg(self, reading: PoseReading) -> float:
        return _mean_deg(_apart_rad(reading.pose, self.pose)[self.moved(reading)])


def _are_same(a: PoseReading, b: PoseReading) -> bool:
    """Whether two readings give one pose: one pair of twins exchanged is both sides exchanged."""
    return bool(np.nanmax(_apart_rad(a.pose, b.pose)) <= _ROUNDED_RAD)


def _apart_rad(a: FloatArray, b: FloatArray) -> FloatArray:
    return rotation_angle_rad(a @ transposed(b))


def _mean_deg(angles: Iterable[float]) -> float:
    return float(np.degrees(np.mean(np.asarray(angles))))


def _comparison(clip: ClipView, bundle: BundleView) -> _Comparison | None:
    """None where a side has no readable rotations, or the bones differ: then another rule says so."""
    six, pose, std = clip.shaped("BoneRotations", -1, 6), bundle.mean_pose, bundle.statistic("StdX", bundle.state)
    if six is None or clip.rotations is None or pose is None or std is None or six.shape[1] != len(pose):
        return None
    others = any(ours != theirs for ours, theirs in zip(clip.bone_names, bundle.bone_names, strict=False))
    if others or not is_finite_float32(std.values):
        return None
    deviations = bundle.rotations_of(std.values, std.layout)
    if deviations is None:
        return None
    # |turn|² is at most the sum of the squares by which the six numbers change, and at least half of it
    spread = np.maximum(np.sqrt(np.sum(deviations**2, axis=-1)), _ROUNDED_RAD)
    names = bundle.bone_names if len(bundle.bone_names) == len(pose) else ()
    skeletons = [
        each for each in (bundle.skeleton, clip.skeleton) if each is not None and len(each.parents) == len(pose)
    ]
    rotations = ClipRotations(six, clip.columns, names, skeletons[0] if skeletons else None, clip.rotations)
    return _Comparison(clip, bundle, rotations, pose, spread)
