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
        positions = np.empty(local_rotations.shape[:-1], local_rotations.dtype)
        rotations = np.empty_like(local_rotations)
        for bone in self.depth_first:
            parent = self.parents[bone]
            if parent < 0:
                rotations[..., bone, :, :] = local_rotations[..., bone, :, :]
                positions[..., bone, :] = self.offsets_m[bone]
                continue
            frame = rotations[..., parent, :, :]
            rotations[..., bone, :, :] = frame @ local_rotations[..., bone, :, :]
            positions[..., bone, :] = positions[..., parent, :] + frame @ self.offsets_m[bone].astype(frame.dtype)
        return positions, rotations


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
