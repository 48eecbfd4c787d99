"""The bone table, forward kinematics, and just enough rotation arithmetic to judge files: decode six numbers, measure an angle.

Convention: a bone's rotation is local (parent space), columns are axes; a bone's offset is its origin in the parent's
frame, in metres. The root bone's offset is measured from the character's origin. The runtime's own geometry (every convention,
the engine's fallbacks, float32) is rigpact.reference_runtime; the contract may not import it, and a rule needs an answer for
broken input too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray

_AXES = "xyz"
COLUMN_PAIRS = ("xz", "xy", "zx", "yx", "yz", "zy")
"""The two columns of R that six numbers may hold, in this order; the first is what a bundle means that declares none."""
OUTPUT_MODES = ("delta", "residual", "absolute")
"""What the network's rotations may mean; the first is what a bundle means that declares none."""
_SHORTEST = 1e-12
"""A shorter vector has no direction. It is divided by this number, so that its tiny length stays visible."""


def identity_rot6d(columns: str = "xz") -> FloatArray:
    """The six numbers of the identity: (6,), the two named columns one after the other."""
    return np.concatenate([np.eye(3)[_AXES.index(name)] for name in columns])


def rot6d_to_matrix(values: FloatArray, columns: str = "xz") -> FloatArray:
    """Decode two columns by Gram–Schmidt into a proper rotation.

    values: (..., 6); columns: which two columns of R they are, for example "xz".
    Returns (..., 3, 3), columns are axes, det = +1 (the third axis is derived, and flipped where it would mirror).
    Vectors without a direction give a matrix that is not a rotation; see `rot6d_defect`.
    """
    first = _normalised(values[..., :3])
    second = values[..., 3:] - np.sum(first * values[..., 3:], axis=-1, keepdims=True) * first
    second = _normalised(second)
    i, j = (_AXES.index(name) for name in columns)
    third = np.cross(first, second) if (j - i) % 3 == 1 else np.cross(second, first)
    matrix = np.empty((*values.shape[:-1], 3, 3))
    matrix[..., i], matrix[..., j], matrix[..., 3 - i - j] = first, second, third
    return matrix


def matrix_to_rot6d(matrices: FloatArray, columns: str = "xz") -> FloatArray:
    """The inverse of `rot6d_to_matrix`: (..., 3, 3) to (..., 6)."""
    return np.concatenate([matrices[..., _AXES.index(name)] for name in columns], axis=-1)


def rotation_angle_rad(matrices: FloatArray) -> FloatArray:
    """Angle of each rotation from the identity: (..., 3, 3) to (...,) in [0, pi].

    Why atan2: acos of a clamped cosine cannot report less than 0.08 degrees in float32.
    """
    vector = [matrices[..., (k + 2) % 3, (k + 1) % 3] - matrices[..., (k + 1) % 3, (k + 2) % 3] for k in range(3)]
    sine = np.sqrt(sum(np.square(component) for component in vector)) / 2
    angle: FloatArray = np.arctan2(sine, (np.trace(matrices, axis1=-2, axis2=-1) - 1) / 2)
    return angle


def rotation_vector(matrices: FloatArray) -> FloatArray:
    """Axis times angle of each rotation, the log map: (..., 3, 3) to (..., 3), radians.

    The identity gives zeros. At exactly a half turn the axis has no sign, and the result is zeros too; another rule then
    measures the angle alone.
    """
    pairs = ((2, 1), (0, 2), (1, 0))
    vector = np.stack([matrices[..., i, j] - matrices[..., j, i] for i, j in pairs], axis=-1)
    length = np.linalg.norm(vector, axis=-1, keepdims=True)
    angle = np.arctan2(length / 2, (np.trace(matrices, axis1=-2, axis2=-1)[..., None] - 1) / 2)
    # sin(angle) = length / 2, so angle / length tends to 1 / 2 for small angles
    scaled: FloatArray = vector * np.where(length > _SHORTEST, angle / np.maximum(length, _SHORTEST), 0.5)
    return scaled


def transposed(matrices: FloatArray) -> FloatArray:
    """The inverse of each rotation: (..., 3, 3) to the same."""
    return np.swapaxes(matrices, -1, -2)


def rot6d_defect(values: FloatArray) -> FloatArray:
    """How far six numbers are from two columns of a rotation: (..., 6) to (...,).

    The largest of ||a| − 1|, ||b| − 1| and |a·b|; 0 for an encoded rotation, up to rounding.
    """
    first, second = values[..., :3], values[..., 3:]
    lengths = np.abs(np.linalg.norm(np.stack([first, second], axis=-2), axis=-1) - 1)
    worst: FloatArray = np.maximum(lengths.max(axis=-1), np.abs(np.sum(first * second, axis=-1)))
    return worst


def _normalised(vectors: FloatArray) -> FloatArray:
    unit: FloatArray = vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), _SHORTEST)
    return unit


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Bone names (B), parent indices (B; -1 is a root) and rest offsets (B, 3) in metres."""

    names: tuple[str, ...]
    parents: tuple[int, ...]
    offsets_m: NDArray[np.float32]

    @cached_property
    def depth_first(self) -> tuple[int, ...]:
        """Bone indices with every parent before its children, whatever the order of the table."""
        order: list[int] = []
        placed = {-1}
        waiting = list(range(len(self.parents)))
        while waiting:
            ready = [bone for bone in waiting if self.parents[bone] in placed]
            if not ready:
                raise ValueError(f"parents of {[self.names[bone] for bone in waiting]} form a cycle")
            order += ready
            placed.update(ready)
            waiting = [bone for bone in waiting if bone not in placed]
        return tuple(order)

    def forward_kinematics(self, local_rotations: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Turn local rotations into component-space positions and rotations.

        local_rotations: (..., B, 3, 3), columns are axes.
        Returns positions (..., B, 3) in metres and rotations (..., B, 3, 3), relative to the character's origin.
        """
        return forward_kinematics(self.parents, local_rotations, self.offsets_m, order=self.depth_first)


def forward_kinematics(
    parents: Sequence[int],
    own: FloatArray,
    ways: FloatArray,
    start: FloatArray | None = None,
    *,
    order: Sequence[int] | None = None,
    is_local: bool = True,
    parent_first: bool = True,
    by_parent: bool = True,
) -> tuple[FloatArray, FloatArray]:
    """Places (..., J, 3) and rotations (..., J, 3, 3) along declared parents: P = P_parent + W_parent · way, W = W_parent · R.

    parents: -1 is a root; own: (..., J, 3, 3) of each joint; ways: (J, 3) from its parent, of a root from the origin; start:
    (..., 3) where roots are, if they are elsewhere. order: every parent before its children, where the table is not so.
    is_local: own rotations are those in the parent; parent_first: W_parent R, not R W_parent; by_parent: the parent's rotation
    turns a way.
    """
    world, places = own.copy(), np.empty(own.shape[:-1], own.dtype)
    for joint in range(len(parents)) if order is None else order:
        parent, way = parents[joint], ways[joint].astype(own.dtype)
        if parent < 0:
            places[..., joint, :] = way if start is None else start
            continue
        if is_local:
            pair = world[..., parent, :, :], own[..., joint, :, :]
            world[..., joint, :, :] = np.matmul(*(pair if parent_first else pair[::-1]))
        places[..., joint, :] = places[..., parent, :] + world[..., parent if by_parent else joint, :, :] @ way
    return places, world


def parent_cycle(parents: Sequence[int]) -> tuple[int, ...]:
    """Bones whose chain of parents never reaches a root; empty for a sound table. Every parent must be in range."""
    sound: set[int] = {-1}
    for bone in range(len(parents)):
        chain: list[int] = []
        seen: set[int] = set()
        while bone not in sound and bone not in seen:
            chain.append(bone)
            seen.add(bone)
            bone = parents[bone]  # noqa: PLW2901 - walking up from the bone
        sound |= seen if bone in sound else set()
    return tuple(bone for bone in range(len(parents)) if bone not in sound)


def left_right_permutation(names: tuple[str, ...]) -> tuple[int, ...] | None:
    """Indices that swap every `*_l` bone with its `*_r` twin; None when no such pair exists."""
    place = {name: index for index, name in enumerate(names)}
    swapped = {"_l": "_r", "_r": "_l"}
    twins = [place.get(name[:-2] + swapped.get(name[-2:], ""), index) for index, name in enumerate(names)]
    return tuple(twins) if twins != list(range(len(names))) else None
