"""RP228-RP232: the bone table as a body: lengths, sides, order.

skeleton.py judges the table itself."""

from collections.abc import Iterator

import numpy as np

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rules.family import Family, Need, on_bundle, rules_in
from rigpact.contract.rules.views.bundle import BundleView, finite_array, json_to_names, member
from rigpact.contract.rules.wording import and_more
from rigpact.contract.skeleton import Skeleton, left_right_permutation
from rigpact.contract.statistics import FloatArray

OFFSETS_NOT_METRES = Rule.titled(
    "RP228 error bone-offsets-not-metres",
    message="the longest offset is {longest:.4g} m ({bone}); a body's lies between {lowest:g} m and {highest:g} m",
    hint="ref_local_offsets_m is in metres; the engine's own bones are in centimetres",
    why="every error in centimetres is then off by the same factor, and thresholds in centimetres judge nothing",
)
LENGTHS_NOT_MIRRORED = Rule.titled(
    "RP229 warning left-right-lengths-differ",
    message="{left} is {left_m:.4f} m from its parent and {right} {right_m:.4f} m{more}",
    hint="compare with the skeleton asset: a row was edited, or two rows changed places",
    why="one leg is longer than the other: the character limps, and feet on one side never reach the floor",
)
PARENTS_NOT_MIRRORED = Rule.titled(
    "RP230 warning left-right-parents-differ",
    message="{left} hangs on {left_parent} and {right} on {right_parent}, which are not twins{more}",
    hint="compare with the skeleton asset: left and right were swapped on the way",
    why="a limb hangs on the other side's joint: it moves with the wrong leg",
)
SIDES_SWAPPED = Rule.titled(
    "RP231 error left-right-sides-swapped",
    message="in the mean pose {left} lies {apart_m:.3f} m from {right} on the side where the other pairs have their right"
    " bones{more}",
    hint="swap the two rows, or their names",
    why="the mirrored limbs play each other's motion: arms swing with the leg of their own side",
)
PARENT_AFTER_CHILD = Rule.titled(
    "RP232 warning parent-after-child",
    message="{bone} ({index}) stands before its parent {parent} ({parent_index}){more}",
    hint="sort the table so that every parent precedes its children",
    why="loops that walk the table once, as training does, use the parent's transform of the frame before",
)

_LOWEST_M, _HIGHEST_M = 0.1, 10.0
"""The longest offset of a human (floor to pelvis) is about 1 m. A factor of 10 is half of the way to centimetres."""
_SAME_LENGTH = 0.02
"""The two sides of a scanned body differ by one percent; a swapped row differs by tens of percent."""
_APART_M = 0.01
"""Twins closer than this lie on the body's middle: they have no side."""


def check_symmetry(view: BundleView) -> Iterator[Finding]:
    """Yield where the bone table cannot be a body."""
    yield from _check_lengths(view)
    yield from _check_order(view)
    skeleton = view.skeleton
    if skeleton is not None:
        yield from _check_twins(view, skeleton)
        apart = across_body(view, skeleton)
        if apart is None or json_to_names(member(view.meta, "skeleton", "bone_names")) is None:
            return
        distance = np.linalg.norm(apart, axis=-1)
        sided = distance > _APART_M
        directions = apart / np.maximum(distance, _APART_M)[:, None]
        to_left = np.median(directions[sided], axis=0) if sided.any() else np.zeros(3)
        swapped = np.flatnonzero(sided & (directions @ to_left < -0.5 * np.linalg.norm(to_left)))
        if len(swapped) and np.linalg.norm(to_left) > 0:
            pair = int(swapped[0])
            left, right = twins(skeleton.names)[pair]
            values = {"left": skeleton.names[left], "right": skeleton.names[right], "apart_m": float(distance[pair])}
            more = and_more(len(swapped) - 1, "pairs")
            yield SIDES_SWAPPED.at(view.path, ("meta", "skeleton", "bone_names", left), more=more, **values)


FAMILY = Family(__name__, rules_in(globals()), (Need.BUNDLE,), on_bundle(check_symmetry))


def _check_lengths(view: BundleView) -> Iterator[Finding]:
    offsets = finite_array(member(view.meta, "skeleton", "ref_local_offsets_m"))
    if offsets is None or offsets.ndim != 2 or not len(offsets):
        return
    lengths = np.linalg.norm(offsets, axis=-1)
    if not _LOWEST_M <= lengths.max() <= _HIGHEST_M:
        bone = int(lengths.argmax())
        values = {"longest": float(lengths[bone]), "bone": view.bone(bone), "lowest": _LOWEST_M, "highest": _HIGHEST_M}
        yield OFFSETS_NOT_METRES.at(view.path, ("meta", "skeleton", "ref_local_offsets_m", bone), **values)


def _check_order(view: BundleView) -> Iterator[Finding]:
    parents = member(view.meta, "skeleton", "parents")
    if not isinstance(parents, list) or not all(type(parent) is int for parent in parents):
        return
    late = [bone for bone, parent in enumerate(parents) if bone < parent < len(parents)]
    if late:
        bone = late[0]
        values = {"bone": view.bone(bone), "index": bone, "parent": view.bone(parents[bone])}
        more = and_more(len(late) - 1, "bones")
        pointer = json_pointer("meta", "skeleton", "parents", bone)
        yield PARENT_AFTER_CHILD.at(view.path, pointer, parent_index=parents[bone], more=more, **values)


def twins(names: tuple[str, ...]) -> list[tuple[int, int]]:
    """Indices of the left and the right bone of every `*_l`, `*_r` pair."""
    order = left_right_permutation(names) or ()
    return [(bone, twin) for bone, twin in enumerate(order) if bone != twin and names[bone].endswith("_l")]


def _check_twins(view: BundleView, skeleton: Skeleton) -> Iterator[Finding]:
    pairs = twins(skeleton.names)
    lengths = np.linalg.norm(skeleton.offsets_m.astype(np.float64), axis=-1)
    unlike = [(a, b) for a, b in pairs if abs(lengths[a] - lengths[b]) > _SAME_LENGTH * max(lengths[a], lengths[b])]
    if unlike:
        left, right = unlike[0]
        values = {"left": skeleton.names[left], "left_m": float(lengths[left]), "right": skeleton.names[right]}
        more, place = and_more(len(unlike) - 1, "pairs"), json_pointer("meta", "skeleton", "ref_local_offsets_m", left)
        yield LENGTHS_NOT_MIRRORED.at(view.path, place, right_m=float(lengths[right]), more=more, **values)
    mirrored = dict(pairs) | {right: left for left, right in pairs}
    parents = skeleton.parents
    strange = [(a, b) for a, b in pairs if mirrored.get(parents[a], parents[a]) != parents[b]]
    if strange:
        left, right = strange[0]
        values = {"left": skeleton.names[left], "right": skeleton.names[right]}
        values |= {f"{side}_parent": _parent_name(skeleton, bone) for side, bone in (("left", left), ("right", right))}
        more = and_more(len(strange) - 1, "pairs")
        yield PARENTS_NOT_MIRRORED.at(view.path, ("meta", "skeleton", "parents", left), more=more, **values)


def _parent_name(skeleton: Skeleton, bone: int) -> str:
    return skeleton.names[skeleton.parents[bone]] if skeleton.parents[bone] >= 0 else "nothing"


def across_body(view: BundleView, skeleton: Skeleton) -> FloatArray | None:
    """From each pair's right bone to its left one in the mean pose, (pairs, 3) metres; None without a mean pose."""
    pairs = twins(skeleton.names)
    if view.mean_pose is None or not pairs:
        return None
    positions, _ = skeleton.forward_kinematics(view.mean_pose)
    apart: FloatArray = positions[[left for left, _ in pairs]] - positions[[right for _, right in pairs]]
    return apart
