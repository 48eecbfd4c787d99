"""RP560-RP562, RP912: the mean pose of a clip against the bundle's, under every reading of its rotations.

Two numbers are known of each bone: how far the clip's mean pose is from the bundle's, and how far single frames of the training
data are from it (the spread, from StdX). A reading is named where it brings the clip at least twice as near as the declared one,
on bones that the spread does not explain. Another motion than the statistics' does not do that: no turn, order or
column of it gives the mean pose of a body. To add a reading: a generator in `READINGS`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, permutations, product
from typing import Any

import numpy as np

from rigpact.contract.findings import Finding, Rule, number_of
from rigpact.contract.layout import ROOT_POSITION
from rigpact.contract.rules.bundle_body import twins
from rigpact.contract.rules.bundle_view import BundleView, known, member, need
from rigpact.contract.rules.family import Need, Rules
from rigpact.contract.rules.motion_view import ClipView
from rigpact.contract.skeleton import COLUMN_PAIRS, matrix_to_rot6d, rot6d_to_matrix, rotation_angle_rad, transposed
from rigpact.contract.statistics import FloatArray

rules = Rules("clip_pose")


_MESSAGE = """{reading}: read so, the clip's mean pose is {fit_deg:.1f}° from the bundle's, as declared it is {own_deg:.1f}°
    (mean over {bones}){also}"""


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


@dataclass(frozen=True, eq=False)
class PoseReading:
    """One reading. words: "the six numbers are …"; pose (B, 3, 3): NaN for a bone that it has no row for.

    rule: what it changes. says: the conventions that it amounts to. row: the first that it moves. tilt: the turn of the roots,
    where it is one.
    """

    rule: Rule
    words: str
    pose: FloatArray
    says: Mapping[str, str] = field(default_factory=dict)
    row: int | None = None
    tilt: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Beside:
    """The rotations of a clip beside the bundle's mean pose (B, 3, 3) and its spread in radians, (B,).

    six (T, B, 6) as they stand in the file; the bones, as far as they are known.
    """

    clip: ClipView
    bundle: BundleView
    six: FloatArray
    names: tuple[str, ...]
    parents: tuple[int, ...]
    pose: FloatArray
    spread_rad: FloatArray

    @cached_property
    def mean(self) -> FloatArray:
        """The means of the matrices, which are no rotations, (B, 3, 3)."""
        return np.asarray(self.clip.rotations.mean(axis=0))

    def mean_pose(self, rotations: FloatArray) -> FloatArray:
        """The pose that the means of the six numbers decode to: (T, B, 3, 3) or their mean (B, 3, 3) to (B, 3, 3)."""
        mean, columns = rotations.mean(axis=0) if rotations.ndim == 4 else rotations, self.clip.columns
        return rot6d_to_matrix(matrix_to_rot6d(mean, columns), columns)

    @cached_property
    def own_pose(self) -> FloatArray:
        return self.mean_pose(self.mean)

    @cached_property
    def own_rad(self) -> FloatArray:
        """How far the declared reading is from the bundle, (B,)."""
        return _apart_rad(self.own_pose, self.pose)

    def bone(self, row: int) -> str:
        return self.names[row] if row < len(self.names) else f"bone {row}"

    def fits(self) -> tuple[PoseReading, ...]:
        """The readings that fit where the declared one does not: the best, then those of another kind that fit as well.

        As well: less than twice as far from the bundle. On a symmetric body an exchange of left and right is almost a mirror.
        """
        if not np.any(self.own_rad > _FAR * self.spread_rad):
            return ()
        found = [each for read in READINGS for each in read(self) if self._fits(each)]
        # of readings that fit alike up to rounding, the first
        ranked = sorted(found, key=lambda reading: round(self._left_over(reading), 6))
        near = [reading for reading in ranked if self._left_over(reading) <= _NEARER * self._left_over(ranked[0])]
        # one pair of twins exchanged is both sides exchanged
        others = {
            each.rule: each
            for each in near[::-1]
            if each.rule is not near[0].rule and np.nanmax(_apart_rad(each.pose, near[0].pose)) > _ROUNDED_RAD
        }
        return (*near[:1], *others.values())

    def _left_over(self, reading: PoseReading) -> float:
        """The mean distance over all bones, radians; a bone without a row counts as one that is ordinary."""
        apart = _apart_rad(reading.pose, self.pose)
        return float(np.where(np.isfinite(apart), apart, np.minimum(self.own_rad, self.spread_rad)).mean())

    def _fits(self, reading: PoseReading) -> bool:
        apart = _apart_rad(reading.pose, self.own_pose)
        moved = apart > _ROUNDED_RAD
        if not moved.any() or (reading.tilt is not None and not self._keeps_its_height(reading.tilt)):
            return False
        fit_rad = _apart_rad(reading.pose, self.pose)
        own, fit = self.own_rad / self.spread_rad, fit_rad / self.spread_rad
        if moved.sum() >= max(_HALF * len(moved), _DENSE_ROWS):
            # so far apart that no bone is ordinary under both
            telling = apart > 2 * _FAR * self.spread_rad
            if not telling.any():
                return False
            nearer = np.median(fit[telling]) * _NEARER <= np.median(own[telling])
            halved = fit_rad[moved].mean() * _NEARER <= self.own_rad[moved].mean()
            return bool(nearer and halved and np.median(own[telling]) > _FAR)
        # a reading of few bones: the others are ordinary as they are, these only when they are read so
        ordinary = (own[~moved] <= _FAR) | ~np.isfinite(fit[~moved])
        theirs, so = (float(np.sqrt(np.mean(each[moved] ** 2))) for each in (own, fit))
        return bool(ordinary.all() and theirs > _FAR and so * _NEARER <= theirs and fit[moved].max() <= _FAR)

    def _keeps_its_height(self, turn: FloatArray) -> bool:
        """Whether a turned root is not a body that lies down: it is upright, or as high above the ground as in training.

        Where the height never varied in training it says nothing, and a body may lie.
        """
        up = next((axis for axis in range(3) if member(self.bundle.meta, "axes", "xyz"[axis]) == "up"), 2)
        if turn[up, up] == 1:
            return True
        state, position = self.bundle.state, known(lambda: self.clip.shaped("RootPosition", 3))
        mean, std = self.bundle.statistic("MuX", state), self.bundle.statistic("StdX", state)
        if state is None or ROOT_POSITION not in state or position is None or mean is None or std is None:
            return False
        channel = state[ROOT_POSITION].start + up
        spread = float(std.values[channel])
        return spread > _ROUNDED_RAD and bool(abs(position[:, up].mean() - mean.values[channel]) <= _FAR * spread)

    def told(self, reading: PoseReading) -> tuple[int, float, float]:
        """Of a reading: how many bones it turns, and their mean distance from the bundle as declared and read so, degrees."""
        moved = _apart_rad(reading.pose, self.own_pose) > _ROUNDED_RAD
        own, fit = self.own_rad[moved], _apart_rad(reading.pose, self.pose)[moved]
        return int(moved.sum()), float(np.degrees(own.mean())), float(np.degrees(fit.mean()))


def check_mean_pose(clip: ClipView, bundle: BundleView) -> Iterator[Finding]:
    """Yield at most one finding for each clip: the reading under which it fits the bundle."""
    beside = _beside(clip, bundle)
    reading, *others = need(beside.fits(), when=bool(beside.fits()))
    count, own_deg, fit_deg = beside.told(reading)
    values: dict[str, Any] = {"own_deg": own_deg, "fit_deg": fit_deg, "reading": reading.words}
    values |= {"bones": number_of(count, "bone"), "pairs": len(twins(beside.names))}
    values["also"] = "".join(f"; or {each.words} ({beside.told(each)[2]:.1f}°)" for each in others)
    values |= {"says": dict(reading.says)} if reading.says else {}
    rows = () if reading.row is None else (reading.row,)
    yield reading.rule.at(clip.path, ("Frames", 0, "BoneRotations", *rows), **values)


FAMILY = rules.family("FAMILY", (Need.CLIP, Need.BUNDLE), check_mean_pose)


def _apart_rad(a: FloatArray, b: FloatArray) -> FloatArray:
    return rotation_angle_rad(a @ transposed(b))


def _beside(clip: ClipView, bundle: BundleView) -> Beside:
    """`Unread` where a side has no readable rotations, or the bones differ: then another rule says so."""
    six, pose, std = clip.shaped("BoneRotations", -1, 6), bundle.mean_pose, bundle.finite("StdX", bundle.state)
    others = any(ours != theirs for ours, theirs in zip(clip.bone_names, bundle.bone_names, strict=False))
    need(six, when=six.shape[1] == len(pose) and not others)
    deviations = bundle.rotations_of(std.values, std.layout)
    # |turn|² is at most the sum of the squares by which the six numbers change, and at least half of it
    spread = np.maximum(np.sqrt(np.sum(deviations**2, axis=-1)), _ROUNDED_RAD)
    names = bundle.bone_names if len(bundle.bone_names) == len(pose) else ()
    tables = (each.parents for each in (bundle.skeleton, clip.skeleton) if each is not None)
    parents = next((each for each in tables if len(each) == len(pose)), ())
    return Beside(clip, bundle, six, names, parents, pose, spread)


def _numbers(clip: Beside) -> Iterator[PoseReading]:
    """Other columns, and other packings of them; `rows` holds the first two rows, whatever the columns."""
    own = clip.clip.columns
    for columns, packing in product(COLUMN_PAIRS, ("columns", "interleaved")):
        if (columns, packing) == (own, "columns"):
            continue
        six = clip.six if packing == "columns" else clip.six[..., [0, 2, 4, 1, 3, 5]]
        words = f"the six numbers are the columns {columns[0].upper()} and {columns[1].upper()}"
        words += "" if packing == "columns" else ", one number of each in turn"
        says = {"rot6d_columns": columns} if columns != own else {}
        says |= {"rot6d_packing": packing} if packing != "columns" else {}
        pose = clip.mean_pose(rot6d_to_matrix(six, columns))
        yield PoseReading(rules.CLIP_NUMBERS_READ_OTHERWISE, words, pose, says)
    pose = clip.mean_pose(transposed(rot6d_to_matrix(clip.six, "xy")))
    words = "the six numbers are the first two rows of the matrix"
    yield PoseReading(rules.CLIP_NUMBERS_READ_OTHERWISE, words, pose, {"rot6d_packing": "rows"})


def _space(clip: Beside) -> Iterator[PoseReading]:
    """Inverted; in component space, which the parent's inverse undoes; in other axes, Q·R·Qᵀ; the roots turned.

    A half turn about an axis does what mirroring it does.
    """
    words = "every rotation is inverted (the matrices are transposed)"
    yield PoseReading(rules.CLIP_IN_OTHER_SPACE, words, clip.mean_pose(transposed(clip.mean)))
    parents, rotations = clip.parents, clip.clip.rotations
    if parents and max(parents) >= 0:
        local = rotations.copy()
        for bone, parent in enumerate(parents):
            if parent >= 0:
                local[:, bone] = transposed(rotations[:, parent]) @ rotations[:, bone]
        words = "the rotations are in component space, every bone against the character instead of its parent"
        yield PoseReading(rules.CLIP_IN_OTHER_SPACE, words, clip.mean_pose(local))
    for turn, words in axis_turns():
        mirrored = "" if np.any(turn != np.diag(np.diag(turn))) else "xyz"[int(np.argmax(np.diag(turn)))]
        said = f"every rotation is mirrored in {mirrored}" if mirrored else f"every rotation is in other axes ({words})"
        yield PoseReading(rules.CLIP_IN_OTHER_SPACE, said, clip.mean_pose(transposed(turn) @ clip.mean @ turn))
    roots = [bone for bone, parent in enumerate(parents) if parent < 0]
    for turn, words in axis_turns() if parents else ():
        turned = clip.mean.copy()
        turned[roots] = transposed(turn) @ clip.mean[roots]
        said = f"the root bone is turned, {_turn_words(turn, words)}"
        yield PoseReading(rules.CLIP_IN_OTHER_SPACE, said, clip.mean_pose(turned), row=roots[0], tilt=turn)


def axis_turns() -> Iterator[tuple[FloatArray, str]]:
    """The 23 turns that take axes to axes, without the identity; what each takes x, y, z to."""
    for order, signs in product(permutations(range(3)), product((1.0, -1.0), repeat=3)):
        turn = np.zeros((3, 3))
        turn[list(order), range(3)] = signs
        if np.linalg.det(turn) > 0 and not np.array_equal(turn, np.eye(3)):
            axes = zip("xyz", order, signs, strict=True)
            yield turn, ", ".join(f"{a} to {'' if sign > 0 else '-'}{'xyz'[to]}" for a, to, sign in axes)


def _turn_words(turn: FloatArray, words: str) -> str:
    """A quarter or half turn about one axis in degrees; any other turn by where it takes the axes."""
    fixed = np.flatnonzero(np.diag(turn) == 1)
    if not len(fixed):
        return words
    axis = int(fixed[0])
    sine, cosine = turn[(axis + 2) % 3, (axis + 1) % 3], turn[(axis + 1) % 3, (axis + 1) % 3]
    return f"{np.degrees(np.arctan2(sine, cosine)):.0f}° about {'xyz'[axis]}"


def _sides(clip: Beside) -> Iterator[PoseReading]:
    pairs = twins(clip.names)
    if pairs:
        left, right = ([pair[side] for pair in pairs] for side in (0, 1))
        pose = clip.own_pose.copy()
        pose[[*left, *right]] = pose[[*right, *left]]
        yield PoseReading(rules.CLIP_SIDES_SWAPPED, "left and right are exchanged", pose, row=left[0])


def _rows(clip: Beside) -> Iterator[PoseReading]:
    """All rows one too far or one too early, or those from a bone on: a row too many, or a row that is missing.

    And exchanges of two rows, both far from their own bone and near the other's.
    """
    for start in range(len(clip.own_pose) - 2):
        for step in (1, -1):
            pose = clip.own_pose.copy()
            pose[start:] = np.roll(clip.own_pose[start:], -step, axis=0)
            pose[-1 if step > 0 else start] = np.nan
            which = "every row stands" if start == 0 else f"from about {clip.bone(start)} on, every row stands"
            words = f"{which} one {'behind' if step > 0 else 'before'} its bone's place"
            yield PoseReading(rules.CLIP_ROWS_MOVED, words, pose, row=start)
    far, near = np.flatnonzero(clip.own_rad > clip.spread_rad), _FAR * clip.spread_rad
    across = _apart_rad(clip.own_pose[:, None], clip.pose[None])
    for a, b in combinations(far.tolist(), 2):
        if across[a, b] <= near[b] and across[b, a] <= near[a]:
            pose = clip.own_pose.copy()
            pose[[a, b]] = pose[[b, a]]
            words = f"the rows of {clip.bone(a)} and {clip.bone(b)} are exchanged"
            yield PoseReading(rules.CLIP_ROWS_MOVED, words, pose, row=a)


READINGS: tuple[Callable[[Beside], Iterator[PoseReading]], ...] = (_numbers, _space, _sides, _rows)
"""In this order the first of two that fit alike is named."""
