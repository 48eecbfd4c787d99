"""RP220-RP232: the bones of a bundle: their table, and the table as a body."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROTATIONS
from rigpact.contract.rules.family import Need, family
from rigpact.contract.rules.views.bundle import BundleView, finite_array, json_to_names, need
from rigpact.contract.rules.wording import first_in, first_of, first_unlike, listed
from rigpact.contract.skeleton import Skeleton, left_right_permutation, parent_cycle
from rigpact.contract.statistics import FloatArray

BONE_COUNT_DIFFERS = Rule.of("""RP220 error bone-count-differs
    {what} is for {found} bones, output BoneRotations6D for {expected}
    hint: export skeleton, names and layout from the same character
    why: bones are matched by index: from the first one too many or too few, every rotation drives its neighbour""")
DUPLICATE_BONE_NAME = Rule.of("""RP221 error duplicate-bone-name
    the bone name {name!r} stands at {first} and {second}{more}
    hint: rename one of the bones, or remove the repeated row
    why: the engine finds bones by name: one of the two rotations is applied to the other's bone""")
PARENT_OUT_OF_RANGE = Rule.of("""RP222 error parent-out-of-range
    the parent of {bone} is {parent}, the bones are 0 to {last} (-1 for a root)
    hint: indices count the tracked bones, not those of the whole asset
    why: the bone has no place in the skeleton: positions and everything measured in centimetres are wrong""")
PARENTS_FORM_A_CYCLE = Rule.of("""RP223 error parents-form-a-cycle
    the parents of {bones} lead back to themselves
    hint: re-export the skeleton
    why: forward kinematics never reaches these bones""")
BONE_NAMES_DIFFER = Rule.of("""RP224 error bone-names-differ
    bone {index} is {found!r} in meta.skeleton and {expected!r} in meta.bone_names{more}
    hint: write both lists from one source, in the order of the layout
    why: one side pairs rotations with the first list, the other with the second: limbs swap""")
SEVERAL_ROOTS = Rule.of("""RP225 warning several-root-bones
    {count} bones have no parent: {bones}
    hint: give every bone but the pelvis its parent
    why: a part of the body does not follow the pelvis""")
BONE_NAMES_ABSENT = Rule.of("""RP226 warning bone-names-absent
    meta.bone_names is absent: bones are known by index only
    hint: export the names of the tracked bones in the order of the layout
    why: nothing can tell a reordered skeleton from the right one; limbs swap and no count differs""")
SKELETON_ABSENT = Rule.of("""RP227 warning skeleton-absent
    meta.skeleton lacks {missing}: errors cannot be given in centimetres
    hint: export parents and ref_local_offsets_m with the bundle
    why: three degrees at the pelvis move a foot by centimetres, three at a finger by nothing: degrees alone mislead""")
OFFSETS_NOT_METRES = Rule.of("""RP228 error bone-offsets-not-metres
    the longest offset is {longest:.4g} m ({bone}); a body's lies between {lowest:g} m and {highest:g} m
    hint: ref_local_offsets_m is in metres; the engine's own bones are in centimetres
    why: every error in centimetres is then off by the same factor, and thresholds in centimetres judge nothing""")
LENGTHS_NOT_MIRRORED = Rule.of("""RP229 warning left-right-lengths-differ
    {left} is {left_m:.4f} m from its parent and {right} {right_m:.4f} m{more}
    hint: compare with the skeleton asset: a row was edited, or two rows changed places
    why: one leg is longer than the other: the character limps, and feet on one side never reach the floor""")
PARENTS_NOT_MIRRORED = Rule.of("""RP230 warning left-right-parents-differ
    {left} hangs on {left_parent} and {right} on {right_parent}, which are not twins{more}
    hint: compare with the skeleton asset: left and right were swapped on the way
    why: a limb hangs on the other side's joint: it moves with the wrong leg""")
SIDES_SWAPPED = Rule.of("""RP231 error left-right-sides-swapped
    in the mean pose {left} lies {apart_m:.3f} m from {right} on the side where the other pairs have their right bones{more}
    hint: swap the two rows, or their names
    why: the mirrored limbs play each other's motion: arms swing with the leg of their own side""")
PARENT_AFTER_CHILD = Rule.of("""RP232 warning parent-after-child
    {bone} ({index}) stands before its parent {parent} ({parent_index}){more}
    hint: sort the table so that every parent precedes its children
    why: loops that walk the table once, as training does, use the parent's transform of the frame before""")

_SKELETON = ("meta", "skeleton")
_LOWEST_M, _HIGHEST_M = 0.1, 10.0
"""The longest offset of a human (floor to pelvis) is about 1 m. A factor of 10 is half of the way to centimetres."""
_SAME_LENGTH = 0.02
"""The two sides of a scanned body differ by one percent; a swapped row differs by tens of percent."""
_APART_M = 0.01
"""Twins closer than this lie on the body's middle: they have no side."""


def _table(view: BundleView) -> Mapping[str, Any]:
    skeleton = view.meta.get("skeleton")
    return skeleton if isinstance(skeleton, Mapping) else {}


def _check_counts(view: BundleView) -> Iterator[Finding]:
    expected = need(view.bone_count)
    for path, holder in ((("meta",), view.meta), (_SKELETON, _table(view))):
        for key in ("bone_names", "parents", "ref_local_offsets_m"):
            value = holder.get(key)
            if isinstance(value, list) and len(value) != expected:
                what = ".".join((*path, key))
                yield BONE_COUNT_DIFFERS.at(view.path, (*path, key), what=what, found=len(value), expected=expected)
    for name, channels in ((ROTATIONS, 6), (ANGULAR_VELOCITIES, 3)):
        if view.state is not None and name in view.state and view.state[name].size != channels * expected:
            (whole, rest), place = divmod(view.state[name].size, channels), ("meta", "state_layout", name)
            found = f"{whole} and {rest}/{channels}" if rest else whole
            yield BONE_COUNT_DIFFERS.at(view.path, place, what=f"state {name}", found=found, expected=expected)


def _check_names(view: BundleView) -> Iterator[Finding]:
    skeleton = _table(view)
    if "bone_names" not in view.meta:
        yield BONE_NAMES_ABSENT.at(view.path, "/meta")
    own = json_to_names(skeleton.get("bone_names")) or ()
    for path, names in ((("meta",), view.bone_names), (_SKELETON, own)):
        places: dict[str, list[int]] = {}
        for index, name in enumerate(names):
            places.setdefault(name, []).append(index)
        for name, (first, *others) in places.items():
            for second, more in first_in(others, "times"):
                values = {"name": name, "first": first, "second": second, "more": more}
                yield DUPLICATE_BONE_NAME.at(view.path, (*path, "bone_names", second), **values)
    for index, more in first_unlike(own, view.bone_names, "bones differ"):
        values = {"index": index, "found": own[index], "expected": view.bone_names[index], "more": more}
        yield BONE_NAMES_DIFFER.at(view.path, (*_SKELETON, "bone_names", index), **values)
    missing = [key for key in ("bone_names", "parents", "ref_local_offsets_m") if key not in skeleton]
    if missing:
        yield SKELETON_ABSENT.at(view.path, _SKELETON if skeleton else "/meta", missing=listed(missing))


def _check_parents(view: BundleView) -> Iterator[Finding]:
    parents, path = _table(view).get("parents"), (*_SKELETON, "parents")
    if not isinstance(parents, list) or not parents or not all(type(parent) in (int, float) for parent in parents):
        return
    outside = [bone for bone, parent in enumerate(parents) if not -1 <= parent < len(parents)]
    for bone in outside:
        values = {"bone": view.bone(bone), "parent": parents[bone], "last": len(parents) - 1}
        yield PARENT_OUT_OF_RANGE.at(view.path, (*path, bone), **values)
    if outside:
        return
    cycle = parent_cycle([int(parent) for parent in parents])
    if cycle:
        bones = listed([view.bone(bone) for bone in cycle])
        yield PARENTS_FORM_A_CYCLE.at(view.path, (*path, cycle[0]), bones=bones)
    roots = [bone for bone, parent in enumerate(parents) if parent == -1]
    if len(roots) > 1:
        bones = listed([view.bone(bone) for bone in roots])
        yield SEVERAL_ROOTS.at(view.path, (*path, roots[1]), count=len(roots), bones=bones)


def _check_lengths(view: BundleView) -> Iterator[Finding]:
    offsets = need(finite_array(_table(view).get("ref_local_offsets_m")))
    lengths = np.linalg.norm(need(offsets, when=offsets.ndim == 2 and len(offsets) > 0), axis=-1)
    if not _LOWEST_M <= lengths.max() <= _HIGHEST_M:
        bone = int(lengths.argmax())
        values = {"longest": float(lengths[bone]), "bone": view.bone(bone), "lowest": _LOWEST_M, "highest": _HIGHEST_M}
        yield OFFSETS_NOT_METRES.at(view.path, (*_SKELETON, "ref_local_offsets_m", bone), **values)


def _check_order(view: BundleView) -> Iterator[Finding]:
    parents = _table(view).get("parents")
    if not isinstance(parents, list) or not all(type(parent) is int for parent in parents):
        return
    late = [bone for bone, parent in enumerate(parents) if bone < parent < len(parents)]
    for bone, more in first_in(late, "bones"):
        values = {"bone": view.bone(bone), "index": bone, "parent": view.bone(parents[bone]), "more": more}
        yield PARENT_AFTER_CHILD.at(view.path, (*_SKELETON, "parents", bone), parent_index=parents[bone], **values)


def twins(names: tuple[str, ...]) -> list[tuple[int, int]]:
    """Indices of the left and the right bone of every `*_l`, `*_r` pair."""
    order = left_right_permutation(names) or ()
    return [(bone, twin) for bone, twin in enumerate(order) if bone != twin and names[bone].endswith("_l")]


def _check_twins(view: BundleView) -> Iterator[Finding]:
    skeleton = need(view.skeleton)
    names, pairs = skeleton.names, twins(skeleton.names)
    lengths = np.linalg.norm(skeleton.offsets_m.astype(np.float64), axis=-1)
    unlike = [(a, b) for a, b in pairs if abs(lengths[a] - lengths[b]) > _SAME_LENGTH * max(lengths[a], lengths[b])]
    for (left, right), more in first_in(unlike, "pairs"):
        values = {"left": names[left], "left_m": float(lengths[left]), "right": names[right], "more": more}
        place = (*_SKELETON, "ref_local_offsets_m", left)
        yield LENGTHS_NOT_MIRRORED.at(view.path, place, right_m=float(lengths[right]), **values)
    mirrored, parents = dict(pairs) | {right: left for left, right in pairs}, skeleton.parents
    strange = [(a, b) for a, b in pairs if mirrored.get(parents[a], parents[a]) != parents[b]]
    for (left, right), more in first_in(strange, "pairs"):
        over = [names[parents[bone]] if parents[bone] >= 0 else "nothing" for bone in (left, right)]
        values = {"left": names[left], "right": names[right], "left_parent": over[0], "right_parent": over[1]}
        yield PARENTS_NOT_MIRRORED.at(view.path, (*_SKELETON, "parents", left), more=more, **values)


def _check_sides(view: BundleView) -> Iterator[Finding]:
    skeleton = need(view.skeleton, when=json_to_names(_table(view).get("bone_names")) is not None)
    apart = across_body(view, skeleton)
    distance = np.linalg.norm(apart, axis=-1)
    sided, directions = distance > _APART_M, apart / np.maximum(distance, _APART_M)[:, None]
    to_left = np.median(directions[sided], axis=0) if sided.any() else np.zeros(3)
    swapped = sided & (directions @ to_left < -0.5 * np.linalg.norm(to_left)) & bool(np.linalg.norm(to_left) > 0)
    for (pair,), more in first_of(swapped, "pairs"):
        left, right = (skeleton.names[bone] for bone in twins(skeleton.names)[pair])
        values = {"left": left, "right": right, "apart_m": float(distance[pair]), "more": more}
        yield SIDES_SWAPPED.at(view.path, (*_SKELETON, "bone_names", twins(skeleton.names)[pair][0]), **values)


def across_body(view: BundleView, skeleton: Skeleton) -> FloatArray:
    """From each pair's right bone to its left one in the mean pose, (pairs, 3) metres; `Unread` without a pair or a mean pose."""
    pairs = np.array(twins(skeleton.names))
    positions, _ = skeleton.forward_kinematics(need(view.mean_pose, when=len(pairs) > 0))
    return np.asarray(positions[pairs[:, 0]] - positions[pairs[:, 1]])


_TABLE, _BODY = (
    (_check_counts, _check_names, _check_parents),
    (_check_lengths, _check_order, _check_twins, _check_sides),
)
FAMILY = family(globals(), (Need.BUNDLE,), *_TABLE, *_BODY)
