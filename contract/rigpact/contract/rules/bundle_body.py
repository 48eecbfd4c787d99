"""RP115-RP118, RP200-RP204, RP220-RP232: the bones of a bundle, and what the six numbers of each bone's rotation are.

Means of rotations are those of unit columns, and of one motion in state and output.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rigpact.contract.findings import Finding
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROTATIONS, Layout
from rigpact.contract.rules.bundle_view import (
    BundleView,
    columns_word,
    finite_array,
    is_finite_float32,
    json_to_names,
    known,
    member,
    need,
)
from rigpact.contract.rules.family import Need, Rules, findings_of
from rigpact.contract.rules.wording import and_more, first_in, first_of, first_unlike, listed
from rigpact.contract.skeleton import (
    COLUMN_PAIRS,
    OUTPUT_MODES,
    Skeleton,
    identity_rot6d,
    left_right_permutation,
    parent_cycle,
    rot6d_to_matrix,
    rotation_angle_rad,
    transposed,
)
from rigpact.contract.statistics import STD_FLOOR, FloatArray

rules = Rules("bundle_body")


_SKELETON = ("meta", "skeleton")
_COLUMNS = ("bone_names", "parents", "ref_local_offsets_m")
_LOWEST_M, _HIGHEST_M = 0.1, 10.0
"""The longest offset of a human (floor to pelvis) is about 1 m. A factor of 10 is half of the way to centimetres."""
_SAME_LENGTH = 0.02
"""The two sides of a scanned body differ by one percent; a swapped row differs by tens of percent."""
_APART_M = 0.01
"""Twins closer than this lie on the body's middle: they have no side."""


def _of_skeleton(view: BundleView, key: str) -> Any:
    return member(view.meta, "skeleton", key)


def _check_counts(view: BundleView) -> Iterator[Finding]:
    expected = need(view.bone_count)
    for place in ((*path, key) for path in (("meta",), _SKELETON) for key in _COLUMNS):
        value = member(view.root, *place)
        if isinstance(value, list) and len(value) != expected:
            values = {"what": ".".join(place), "found": len(value), "expected": expected}
            yield rules.BONE_COUNT_DIFFERS.at(view.path, place, **values)
    for name, channels in ((ROTATIONS, 6), (ANGULAR_VELOCITIES, 3)):
        if view.state is not None and name in view.state and view.state[name].size != channels * expected:
            (whole, rest), place = divmod(view.state[name].size, channels), ("meta", "state_layout", name)
            found = f"{whole} and {rest}/{channels}" if rest else whole
            yield rules.BONE_COUNT_DIFFERS.at(view.path, place, what=f"state {name}", found=found, expected=expected)


def _check_names(view: BundleView) -> Iterator[Finding]:
    if "bone_names" not in view.meta:
        yield rules.BONE_NAMES_ABSENT.at(view.path, "/meta")
    own = json_to_names(_of_skeleton(view, "bone_names")) or ()
    for path, names in ((("meta",), view.bone_names), (_SKELETON, own)):
        places: dict[str, list[int]] = {}
        for index, name in enumerate(names):
            places.setdefault(name, []).append(index)
        for name, (first, *others) in places.items():
            for second, more in first_in(others, "times"):
                values = {"name": name, "first": first, "second": second, "more": more}
                yield rules.DUPLICATE_BONE_NAME.at(view.path, (*path, "bone_names", second), **values)
    for index, more in first_unlike(own, view.bone_names, "bones differ"):
        values = {"index": index, "found": own[index], "expected": view.bone_names[index], "more": more}
        yield rules.BONE_NAMES_DIFFER.at(view.path, (*_SKELETON, "bone_names", index), **values)
    declared = view.meta.get("skeleton")
    skeleton = declared if isinstance(declared, Mapping) else {}
    missing = [key for key in _COLUMNS if key not in skeleton]
    if missing:
        yield rules.SKELETON_ABSENT.at(view.path, _SKELETON if skeleton else "/meta", missing=listed(missing))


def _check_parents(view: BundleView) -> Iterator[Finding]:
    parents, path = _of_skeleton(view, "parents"), (*_SKELETON, "parents")
    if not isinstance(parents, list) or not parents or not all(type(parent) in (int, float) for parent in parents):
        return
    outside = [bone for bone, parent in enumerate(parents) if not -1 <= parent < len(parents)]
    for bone in outside:
        values = {"bone": view.bone(bone), "parent": parents[bone], "last": len(parents) - 1}
        yield rules.PARENT_OUT_OF_RANGE.at(view.path, (*path, bone), **values)
    if outside:
        return
    cycle = parent_cycle([int(parent) for parent in parents])
    if cycle:
        yield rules.PARENTS_FORM_A_CYCLE.at(
            view.path, (*path, cycle[0]), bones=listed([view.bone(bone) for bone in cycle])
        )
    roots = [bone for bone, parent in enumerate(parents) if parent == -1]
    if len(roots) > 1:
        bones = listed([view.bone(bone) for bone in roots])
        yield rules.SEVERAL_ROOTS.at(view.path, (*path, roots[1]), count=len(roots), bones=bones)


def _check_lengths(view: BundleView) -> Iterator[Finding]:
    offsets = need(finite_array(_of_skeleton(view, "ref_local_offsets_m")))
    lengths = np.linalg.norm(need(offsets, when=offsets.ndim == 2 and len(offsets) > 0), axis=-1)
    if not _LOWEST_M <= lengths.max() <= _HIGHEST_M:
        bone = int(lengths.argmax())
        values = {"longest": float(lengths[bone]), "bone": view.bone(bone), "lowest": _LOWEST_M, "highest": _HIGHEST_M}
        yield rules.OFFSETS_NOT_METRES.at(view.path, (*_SKELETON, "ref_local_offsets_m", bone), **values)


def _check_order(view: BundleView) -> Iterator[Finding]:
    parents = _of_skeleton(view, "parents")
    if not isinstance(parents, list) or not all(type(parent) is int for parent in parents):
        return
    for bone, more in first_in([bone for bone, parent in enumerate(parents) if bone < parent < len(parents)], "bones"):
        values = {"bone": view.bone(bone), "index": bone, "parent": view.bone(parents[bone]), "more": more}
        yield rules.PARENT_AFTER_CHILD.at(
            view.path, (*_SKELETON, "parents", bone), parent_index=parents[bone], **values
        )


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
        values = {"left": names[left], "right": names[right], "left_m": lengths[left], "right_m": lengths[right]}
        yield rules.LENGTHS_NOT_MIRRORED.at(view.path, (*_SKELETON, "ref_local_offsets_m", left), more=more, **values)
    mirrored, parents = dict(pairs) | {right: left for left, right in pairs}, skeleton.parents
    strange = [(a, b) for a, b in pairs if mirrored.get(parents[a], parents[a]) != parents[b]]
    for (left, right), more in first_in(strange, "pairs"):
        over = [names[parents[bone]] if parents[bone] >= 0 else "nothing" for bone in (left, right)]
        values = {"left": names[left], "right": names[right], "left_parent": over[0], "right_parent": over[1]}
        yield rules.PARENTS_NOT_MIRRORED.at(view.path, (*_SKELETON, "parents", left), more=more, **values)


def _check_sides(view: BundleView) -> Iterator[Finding]:
    skeleton = need(view.skeleton, when=json_to_names(_of_skeleton(view, "bone_names")) is not None)
    apart = across_body(view, skeleton)
    distance = np.linalg.norm(apart, axis=-1)
    sided, directions = distance > _APART_M, apart / np.maximum(distance, _APART_M)[:, None]
    to_left = np.median(directions[sided], axis=0) if sided.any() else np.zeros(3)
    swapped = sided & (directions @ to_left < -0.5 * np.linalg.norm(to_left)) & bool(np.linalg.norm(to_left) > 0)
    for (pair,), more in first_of(swapped, "pairs"):
        left, right = (skeleton.names[bone] for bone in twins(skeleton.names)[pair])
        values = {"left": left, "right": right, "apart_m": float(distance[pair]), "more": more}
        yield rules.SIDES_SWAPPED.at(view.path, (*_SKELETON, "bone_names", twins(skeleton.names)[pair][0]), **values)


def across_body(view: BundleView, skeleton: Skeleton) -> FloatArray:
    """From each pair's right bone to its left one in the mean pose, (pairs, 3) metres; `Unread` without a pair or a mean pose."""
    pairs = np.array(twins(skeleton.names))
    positions, _ = skeleton.forward_kinematics(need(view.mean_pose, when=len(pairs) > 0))
    return np.asarray(positions[pairs[:, 0]] - positions[pairs[:, 1]])


_SPEC = ("meta", "rot6d_spec")
_UNIT_SLACK = 0.1
"""How far mean² + deviation² may be from 1. Exact for one data set; trimmed or smoothed statistics lose a percent."""
_SAME_MOTION_RAD = np.radians(30.0)
"""Means of F_t and of F_{t+1} over the same clips differ by a step over the number of frames: far less than this."""
_SAME_MEAN_SIGMA = 0.5
"""The means of F_t and F_{t+1} differ by (last − first)/N a clip; no number is further from the mean than σ·sqrt(N), so over
clips of n frames on average they differ by 2σ/sqrt(n) at most: half a deviation from 16 frames on."""
_SAME_MEAN = 1e-3
"""Two means that were written with three decimals."""


def largest_mean_step_rad(fps: float) -> float:
    """The largest rotation that the mean of a bone's rotations from frame to frame can be.

    A full turn a second, 2·pi / fps. The steps of a bone add up to its last pose, which lies within one turn of its first
    pose. So one second of data keeps the mean of the steps below this, and training data is longer than a second.
    """
    return 2 * np.pi / fps


def mean_output_angles_rad(view: BundleView) -> FloatArray:
    """The rotation from the identity that MuY decodes to, for each bone; `Unread` if MuY cannot be read."""
    array = need(view.statistic("MuY", view.output))
    channels = array.values[need(array.layout, when=ROTATIONS in array.layout)[ROTATIONS].range]
    need(channels, when=len(channels) > 0 and len(channels) % 6 == 0 and is_finite_float32(channels))
    return rotation_angle_rad(rot6d_to_matrix(channels.reshape(-1, 6), view.columns))


def _check_spec(view: BundleView) -> Iterator[Finding]:
    declared, mode = member(view.meta, "rot6d_spec", "columns"), member(view.meta, "rot6d_spec", "output_mode")
    nearest = json_pointer(*_SPEC) if "rot6d_spec" in view.meta else "/meta"
    word = columns_word(declared)
    if word is None:
        yield rules.COLUMNS_UNDECLARED.at(view.path, nearest)
    elif word not in COLUMN_PAIRS:
        yield rules.COLUMNS_UNKNOWN.at(view.path, (*_SPEC, "columns"), found=declared)
    if mode is None:
        evidence = _evidence(view, known(lambda: mean_output_angles_rad(view)))
        yield rules.OUTPUT_MODE_UNDECLARED.at(view.path, nearest, evidence=evidence)
    elif mode not in OUTPUT_MODES:
        yield rules.OUTPUT_MODE_UNKNOWN.at(
            view.path, (*_SPEC, "output_mode"), found=mode, known=", ".join(OUTPUT_MODES)
        )


def _evidence(view: BundleView, angles: FloatArray | None) -> str:
    if angles is None:
        return "MuY cannot be read, so nothing speaks for it or against it"
    worst, limit = np.degrees(angles.max()), np.degrees(largest_mean_step_rad(view.fps))
    if worst <= limit:
        return f"MuY agrees: no bone's mean is more than {worst:.2g}° from the identity"
    return f"MuY speaks against it: a mean of {worst:.0f}° from the identity is a pose, not a step of a frame"


def _check_mean_is_a_delta(view: BundleView) -> Iterator[Finding]:
    angles, limit = mean_output_angles_rad(view), largest_mean_step_rad(view.fps)
    worst = int(angles.argmax())
    if view.output_mode == "delta" and angles[worst] > limit:
        values = {"bone": view.bone(worst), "angle_deg": float(np.degrees(angles[worst])), "fps": view.fps}
        values |= {"turns": float(angles[worst] * view.fps / (2 * np.pi)), "limit_deg": float(np.degrees(limit))}
        place = ("MuY", need(view.output)[ROTATIONS].start + 6 * worst)
        yield rules.MEAN_POSE_READ_AS_DELTA.at(
            view.path, place, count=int((angles > limit).sum()), bones=len(angles), **values
        )


def _check_columns(view: BundleView) -> Iterator[Finding]:
    """Unit columns: E[v²] = 1, and E[v²] is mean² + deviation², summed over the three components."""
    for letter, layout in (("X", view.state), ("Y", view.output)):
        yield from findings_of((_check_sums,), view, letter, layout)


def _check_sums(view: BundleView, letter: str, layout: Layout | None) -> Iterator[Finding]:
    mean, std = view.finite(f"Mu{letter}", layout), view.finite(f"Std{letter}", layout)
    means, stds = (view.rotations_of(each.values, each.layout) for each in (mean, std))
    if letter == "Y" and _is_residual(view, means):
        means = means + identity_rot6d(view.columns)  # the columns of a step are those of the identity and a residual
    sums = (means**2 + stds**2).reshape(-1, 2, 3).sum(axis=-1)
    for rule, array, bad in (
        (rules.COLUMNS_NOT_UNIT, mean, sums < 1 - _UNIT_SLACK),
        (rules.DEVIATION_INFLATED, std, sums > 1 + _UNIT_SLACK),
    ):
        if bad.any():
            bone, column = np.unravel_index(int(np.argmax(np.where(bad, np.abs(sums - 1), 0.0))), sums.shape)
            index = mean.layout[ROTATIONS].start + 6 * int(bone) + 3 * int(column)
            values = {"bone": view.bone(int(bone)), "column": view.columns[column].upper()}
            values |= {name: f"{each.name}[{index}:{index + 3}]" for name, each in (("mean", mean), ("std", std))}
            more = and_more(int(bad.sum()) - 1, "columns")
            yield rule.at(view.path, (array.name, index), more=more, total=float(sums[bone, column]), **values)


def _is_residual(view: BundleView, means: FloatArray) -> bool:
    """The mean of residuals is near zero; the mean of a pose's columns is not. The nearer of the two shows what MuY holds."""
    return view.output_mode == "residual" and float(np.abs(means).mean()) < float(np.abs(means - 1 / 3).mean()) / 3


def _check_motion(view: BundleView) -> Iterator[Finding]:
    state, output, array = view.mean_pose, view.mean_output_pose, need(view.statistic("MuY", view.output))
    need(state, when=state.shape == output.shape)
    # whether MuY is the mean of residuals or of steps of a frame, not of poses
    is_step = view.output_mode == "delta" and np.median(mean_output_angles_rad(view)) <= largest_mean_step_rad(view.fps)
    if is_step or _is_residual(view, view.rotations_of(array.values, array.layout)):
        return
    angles, start = rotation_angle_rad(output @ transposed(state)), array.layout[ROTATIONS].start
    count = int((angles > _SAME_MOTION_RAD).sum())
    if count:
        bone = int(angles.argmax())
        values = {"bone": view.bone(bone), "angle_deg": float(np.degrees(angles[bone]))}
        yield rules.MEAN_POSES_DISAGREE.at(
            view.path, ("MuY", start + 6 * bone), more=and_more(count - 1, "bones"), **values
        )
    else:
        yield from _check_means(view)


def _check_means(view: BundleView) -> Iterator[Finding]:
    """Number by number: two that changed places within a bone turn it by less than the angle that another pose has."""
    sides = [
        [need(view.statistic(f"{part}{letter}", layout)) for part in ("Mu", "Std")]
        for letter, layout in (("X", view.state), ("Y", view.output))
    ]
    (expected, first), (found, second) = (
        [array.values[array.layout[ROTATIONS].range] for array in arrays] for arrays in sides
    )
    apart, widest = np.abs(found - expected), np.maximum(np.abs(first), np.abs(second))
    bad = np.flatnonzero(apart > _SAME_MEAN_SIGMA * widest + _SAME_MEAN)
    if len(bad):
        sigma = apart / np.maximum(widest, STD_FLOOR)
        worst = int(bad[np.argmax(sigma[bad])])
        place, index = (arrays[0].layout[ROTATIONS].start + worst for arrays in sides)
        values = {"index": index, "place": place, "sigma": float(sigma[worst]), "bone": view.bone(worst // 6)}
        values |= {"found": found[worst], "expected": expected[worst], "more": and_more(len(bad) - 1, "numbers")}
        yield rules.OUTPUT_MEAN_NOT_OF_STATE.at(view.path, ("MuY", index), **values)


_TABLE = (_check_counts, _check_names, _check_parents, _check_lengths, _check_order, _check_twins, _check_sides)
_ROTATIONS = (_check_columns, _check_motion, _check_spec, _check_mean_is_a_delta)
FAMILY = rules.family("FAMILY", (Need.BUNDLE,), *_TABLE, *_ROTATIONS)
