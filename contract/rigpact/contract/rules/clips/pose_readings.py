"""How the rotations of a raw clip may have been meant: every reading gives another mean pose of the same numbers.

This module holds no rules; mean_pose.py compares the poses with the bundle's. To add a reading: a generator in `READINGS`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import permutations, product

import numpy as np

from rigpact.contract.rotation6d import COLUMN_PAIRS, matrix_to_rot6d, rot6d_to_matrix, transposed
from rigpact.contract.rules.bundle.symmetry import twins
from rigpact.contract.skeleton import Skeleton
from rigpact.contract.statistics import FloatArray


class Kind(Enum):
    """What a reading changes: the order of the six numbers, the space of the rotations, the order of the rows."""

    NUMBERS = 1
    SPACE = 2
    ROWS = 3
    SIDES = 4


@dataclass(frozen=True, eq=False)
class ClipRotations:
    """six (T, B, 6) as they stand in the file; the columns that both files declare; the bones, as far as they are known."""

    six: FloatArray
    columns: str
    names: tuple[str, ...]
    skeleton: Skeleton | None
    rotations: FloatArray

    def mean_pose(self, rotations: FloatArray) -> FloatArray:
        """The pose that the means of the six numbers decode to: (T, B, 3, 3) or their mean (B, 3, 3) to (B, 3, 3)."""
        mean = rotations.mean(axis=0) if rotations.ndim == 4 else rotations
        return rot6d_to_matrix(matrix_to_rot6d(mean, self.columns), self.columns)


@dataclass(frozen=True, eq=False)
class PoseReading:
    """One reading. words: "the six numbers are …"; pose (B, 3, 3): NaN for a bone that it has no row for.

    says: the conventions that it amounts to. row: the first that it moves. tilt: the turn of the roots, where it is one.
    """

    kind: Kind
    words: str
    pose: FloatArray
    says: Mapping[str, str] = field(default_factory=dict)
    row: int | None = None
    tilt: FloatArray | None = None


def readings_of(clip: ClipRotations) -> Iterator[PoseReading]:
    """Every reading but the declared one that concerns most of the bones, and turns of the roots."""
    for read in READINGS:
        yield from read(clip)


def _numbers(clip: ClipRotations) -> Iterator[PoseReading]:
    """Other columns, and other packings of them; `rows` holds the first two rows, whatever the columns."""
    for columns, packing in product(COLUMN_PAIRS, ("columns", "interleaved")):
        if (columns, packing) == (clip.columns, "columns"):
            continue
        six = clip.six if packing == "columns" else clip.six[..., [0, 2, 4, 1, 3, 5]]
        words = f"the columns {columns[0].upper()} and {columns[1].upper()}"
        words += "" if packing == "columns" else ", one number of each in turn"
        says = {"rot6d_columns": columns} if columns != clip.columns else {}
        says |= {"rot6d_packing": packing} if packing != "columns" else {}
        pose = clip.mean_pose(rot6d_to_matrix(six, columns))
        yield PoseReading(Kind.NUMBERS, f"the six numbers are {words}", pose, says)
    rows = transposed(rot6d_to_matrix(clip.six, "xy"))
    words = "the six numbers are the first two rows of the matrix"
    yield PoseReading(Kind.NUMBERS, words, clip.mean_pose(rows), {"rot6d_packing": "rows"})


def _transposed(clip: ClipRotations) -> Iterator[PoseReading]:
    pose = clip.mean_pose(transposed(clip.rotations))
    yield PoseReading(Kind.SPACE, "every rotation is inverted (the matrices are transposed)", pose)


def _parent_space(clip: ClipRotations) -> Iterator[PoseReading]:
    """Component space: every bone against the character. Undone by the parent's inverse."""
    if clip.skeleton is None or max(clip.skeleton.parents) < 0:
        return
    local = clip.rotations.copy()
    for bone, parent in enumerate(clip.skeleton.parents):
        if parent >= 0:
            local[:, bone] = transposed(clip.rotations[:, parent]) @ clip.rotations[:, bone]
    words = "the rotations are in component space, every bone against the character instead of its parent"
    yield PoseReading(Kind.SPACE, words, clip.mean_pose(local))


def axis_turns() -> Iterator[tuple[FloatArray, str]]:
    """The 23 turns that take axes to axes, without the identity; what each takes x, y, z to."""
    for order, signs in product(permutations(range(3)), product((1.0, -1.0), repeat=3)):
        turn = np.zeros((3, 3))
        turn[list(order), range(3)] = signs
        if np.linalg.det(turn) > 0 and not np.array_equal(turn, np.eye(3)):
            axes = zip("xyz", order, signs, strict=True)
            yield turn, ", ".join(f"{a} to {'' if sign > 0 else '-'}{'xyz'[to]}" for a, to, sign in axes)


def _other_axes(clip: ClipRotations) -> Iterator[PoseReading]:
    """Every rotation Q·R·Qᵀ: written in other axes. A half turn about an axis does what mirroring it does."""
    mean = clip.rotations.mean(axis=0)
    for turn, words in axis_turns():
        mirrored = "" if np.any(turn != np.diag(np.diag(turn))) else "xyz"[int(np.argmax(np.diag(turn)))]
        said = f"every rotation is mirrored in {mirrored}" if mirrored else f"every rotation is in other axes ({words})"
        yield PoseReading(Kind.SPACE, said, clip.mean_pose(transposed(turn) @ mean @ turn))


def _turned_roots(clip: ClipRotations) -> Iterator[PoseReading]:
    if clip.skeleton is None:
        return
    roots = [bone for bone, parent in enumerate(clip.skeleton.parents) if parent < 0]
    mean = clip.rotations.mean(axis=0)
    for turn, words in axis_turns():
        turned = mean.copy()
        turned[roots] = transposed(turn) @ mean[roots]
        said = f"the root bone is turned, {_turn_words(turn, words)}"
        yield PoseReading(Kind.SPACE, said, clip.mean_pose(turned), row=roots[0], tilt=turn)


def _turn_words(turn: FloatArray, words: str) -> str:
    """A quarter or half turn about one axis in degrees; any other turn by where it takes the axes."""
    fixed = np.flatnonzero(np.diag(turn) == 1)
    if not len(fixed):
        return words
    axis = int(fixed[0])
    sine, cosine = turn[(axis + 2) % 3, (axis + 1) % 3], turn[(axis + 1) % 3, (axis + 1) % 3]
    return f"{np.degrees(np.arctan2(sine, cosine)):.0f}° about {'xyz'[axis]}"


def _shifted(clip: ClipRotations) -> Iterator[PoseReading]:
    """All rows one too far or one too early, or those from a bone on: a row too many, or a row that is missing."""
    mean = clip.mean_pose(clip.rotations)
    count = len(mean)
    for start in range(count - 2):
        for step in (1, -1):
            pose = mean.copy()
            pose[start:] = np.roll(mean[start:], -step, axis=0)
            pose[-1 if step > 0 else start] = np.nan
            behind = "behind" if step > 0 else "before"
            which = "every row stands" if start == 0 else f"from about {_bone(clip, start)} on, every row stands"
            yield PoseReading(Kind.ROWS, f"{which} one {behind} its bone's place", pose, row=start)


def _sides(clip: ClipRotations) -> Iterator[PoseReading]:
    pairs = twins(clip.names)
    if not pairs:
        return
    left, right = ([pair[side] for pair in pairs] for side in (0, 1))
    pose = clip.mean_pose(clip.rotations)
    pose[[*left, *right]] = pose[[*right, *left]]
    yield PoseReading(Kind.SIDES, "left and right are exchanged", pose, row=left[0])


def exchanged(clip: ClipRotations, a: int, b: int) -> PoseReading:
    """Two rows that stand in each other's place."""
    pose = clip.mean_pose(clip.rotations)
    pose[[a, b]] = pose[[b, a]]
    return PoseReading(Kind.ROWS, f"the rows of {_bone(clip, a)} and {_bone(clip, b)} are exchanged", pose, row=a)


def _bone(clip: ClipRotations, row: int) -> str:
    return clip.names[row] if row < len(clip.names) else f"bone {row}"


READINGS: tuple[Callable[[ClipRotations], Iterator[PoseReading]], ...] = (
    _numbers, _transposed, _parent_space, _other_axes, _turned_roots, _sides, _shifted,
)  # fmt: skip
"""In this order the first of two that fit alike is named."""
