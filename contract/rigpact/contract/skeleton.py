"""The bone table and forward kinematics.

Convention: a bone's rotation is local (parent space), columns are axes; a bone's offset is its origin in the parent's
frame, in metres. The root bone's offset is measured from the character's origin.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray


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
