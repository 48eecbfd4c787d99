"""Forward kinematics with rest orientations: local rotations of a rig's bones to the world positions of their heads.

W_root = R B_0 A_0; child: P = P_parent + W_parent B_parentᵀ (h - h_parent), W = W_parent (B_parentᵀ B) A; R the armature's own
rotation, B rest orientation, h rest head, A local rotation. Bones of one depth are computed together. Numpy, float64.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rigpact.contract.statistics import FloatArray


@dataclass(frozen=True, eq=False)
class Chain:
    """A rig prepared for kinematics: each bone's position and rotation in its parent at rest; bones by depth.

    offsets: (J, 3) m in the parent's axes; turns: (J, 3, 3) parent to bone at rest; levels: (bones, parents) after the root.
    """

    offsets: FloatArray
    turns: FloatArray
    levels: tuple[tuple[list[int], list[int]], ...]


def chain_of(parents: Sequence[int], heads: FloatArray, rest: FloatArray) -> Chain:
    """The chain of a rig: parents (J,), -1 for the root; heads (J, 3) and orientations (J, 3, 3) at rest."""
    above = rest[np.maximum(parents, 0)]
    offsets = np.einsum("jba,jb->ja", above, ways_from_parents(parents, heads))
    turns = np.swapaxes(above, 1, 2) @ rest
    is_root = np.array(parents) < 0
    turns[is_root] = rest[is_root]
    return Chain(offsets, turns, _levels(parents))


def ways_from_parents(parents: Sequence[int], heads: FloatArray) -> FloatArray:
    """From the head of each bone's parent to its own, at rest, in the rig's axes, (J, 3); the root's is 0."""
    return np.asarray(heads - heads[np.maximum(parents, 0)])


def is_a_tree(parents: FloatArray) -> bool:
    """Whether these are -1 and then, of each bone, the place of one before it."""
    after, place = parents[1:], np.arange(1, len(parents))
    before = (after >= 0) & (after < place) & (after == np.floor(after))
    return bool(parents[0] == -1 and before.all())


def _levels(parents: Sequence[int]) -> tuple[tuple[list[int], list[int]], ...]:
    depth = [0] * len(parents)
    for bone, parent in enumerate(parents):
        depth[bone] = 0 if parent < 0 else depth[parent] + 1
    rows = ([bone for bone, its in enumerate(depth) if its == level] for level in range(1, max(depth) + 1))
    return tuple((bones, [parents[bone] for bone in bones]) for bones in rows)


def forward_kinematics(
    chain: Chain,
    local: FloatArray,
    root_m: FloatArray,
    turn: Callable[[FloatArray, FloatArray], FloatArray] = np.matmul,
    armature: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Heads (..., J, 3) in metres and world orientations (..., J, 3, 3).

    local: (..., J, 3, 3) rotations from rest; root_m: (..., 3) position of the root's head. turn: the bones' rest rotations
    and their local rotations -> their rotations in their parents; a rotation is local to the rest pose: B A. armature: its
    rotation in the world (..., 3, 3), if it is turned.
    """
    turned = turn(chain.turns, local)
    orientations = turned.copy()
    if armature is not None:
        orientations[..., 0, :, :] = armature @ turned[..., 0, :, :]
    heads = np.empty(local.shape[:-1])
    heads[..., 0, :] = root_m
    for bones, parents in chain.levels:
        above = orientations[..., parents, :, :]
        orientations[..., bones, :, :] = above @ turned[..., bones, :, :]
        heads[..., bones, :] = heads[..., parents, :] + (above @ chain.offsets[bones][..., None])[..., 0]
    return heads, orientations
