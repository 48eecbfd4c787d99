"""RP300-RP329: statistics of the auxiliary inputs, and the second file that usually holds them."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from rigpact.contract.findings import Finding
from rigpact.contract.rules.bundle_statistics import check_mean, check_scale, check_std
from rigpact.contract.rules.bundle_view import (
    ANGVEL_KEYS,
    POSE_HISTORY_KEYS,
    Auxiliary,
    BundleView,
    NamedArray,
    is_finite_float32,
    need,
)
from rigpact.contract.rules.family import Artefacts, Need, Rules, findings_of
from rigpact.contract.rules.wording import at_first, first_of, listed
from rigpact.contract.skeleton import rot6d_to_matrix, rotation_angle_rad, transposed

rules = Rules("bundle_companion")


_ANOTHER_POSE_RAD = np.radians(90.0)
"""Means of other clips of the same character may differ by tens of degrees. A quarter turn shows another bone."""
_INSIDE_TANH = 1 - 1e-6
"""Where the engine clamps before atanh."""


def _check_arrays(file: Auxiliary, bundle: BundleView | None) -> Iterator[Finding]:
    for name, (mean, std, scale) in file.features.items():
        yield from check_mean(mean)
        yield from check_std(std)
        if name != "AngVel":
            yield from check_scale(scale)
            yield from findings_of((_check_mean_pose,), bundle, mean, scale)


def _check_merged(view: BundleView, subject: Artefacts) -> Iterator[Finding]:
    companion = subject.companion
    for keys, absent, unmerged in (
        (POSE_HISTORY_KEYS, rules.POSE_HISTORY_STATISTICS_ABSENT, rules.POSE_HISTORY_STATISTICS_UNMERGED),
        (ANGVEL_KEYS, rules.ANGVEL_STATISTICS_ABSENT, rules.ANGVEL_STATISTICS_UNMERGED),
    ):
        missing = [key for key in keys if key not in view.root]
        if missing and len(missing) < len(keys):
            present = [key for key in keys if key in view.root]
            yield rules.STATISTICS_INCOMPLETE.at(view.path, "", present=listed(present), missing=listed(missing))
        elif missing and companion is not None and all(key in companion.data for key in keys):
            yield unmerged.at(view.path, "", companion=companion.path.name)
        elif missing:
            yield absent.at(view.path, "", missing=listed(missing))


def _check_dimensions(file: Auxiliary) -> Iterator[Finding]:
    bones, length = file.bone_count, file.history_length
    expected: dict[str, tuple[Any, str]] = {
        "J": (bones, "bones"),
        "angvel_dim": (3 * bones, "3 numbers a bone"),
        "angvel_span": ([0, 3 * bones], "the whole vector"),
        "pose_target_dim": (6 * bones, "6 numbers a bone"),
    }
    if length:
        expected["pose_hist_dim"] = (length * 6 * bones, f"{length} frames of 6 numbers a bone")
    for key, (wanted, derivation) in expected.items():
        found = file.root.get(key)
        if type(found) in (int, float, list) and found != wanted:
            values = {"key": key, "found": found, "expected": wanted, "derivation": derivation}
            yield rules.DECLARED_DIMENSION_DIFFERS.at(file.path, (key,), **values)


def _check_mean_pose(bundle: BundleView | None, *arrays: NamedArray | None) -> Iterator[Finding]:
    """Compare each frame of history, or the pose target, with the state's mean pose; tanh is undone first."""
    view, (mean, scale) = need(bundle), (need(each) for each in arrays)
    need(mean, when=is_finite_float32(mean.values) and is_finite_float32(scale.values))
    values, pose = scale.values * np.arctanh(np.clip(mean.values, -_INSIDE_TANH, _INSIDE_TANH)), view.mean_pose
    need(values, when=values.size % (6 * len(pose)) == 0 and is_finite_float32(values))
    angles = rotation_angle_rad(rot6d_to_matrix(values.reshape(-1, len(pose), 6), view.columns) @ transposed(pose))
    for (frame, bone), more in first_of(angles > _ANOTHER_POSE_RAD, "bones"):
        index = 6 * (frame * len(pose) + bone)
        texts = {"array": mean.name, "bone": view.bone(bone), "where": mean.where(index).partition(",")[0]}
        angle_deg = float(np.degrees(angles[frame, bone]))
        yield rules.AUXILIARY_POSE_DIFFERS.at(mean.path, (mean.name, index), angle_deg=angle_deg, more=more, **texts)


def _check_companion(subject: Artefacts) -> Iterator[Finding]:
    *merged, apart = need(subject.auxiliaries, when=subject.companion is not None and len(subject.auxiliaries) > 0)
    yield from check_scale(apart.statistic("tanh_scales_angvel", apart.angvel_layout))
    pairs = [(rules.ANGVEL_SCALE_CLOBBERED_BY_MERGE, "tanh_scales_angvel", apart.angvel_layout)]
    pairs += [(rules.MERGED_STATISTICS_DIFFER, key, apart.angvel_layout) for key in ANGVEL_KEYS]
    if apart.pose_history_layout is not None:
        pairs += [(rules.MERGED_STATISTICS_DIFFER, key, apart.pose_history_layout) for key in POSE_HISTORY_KEYS]
    for file, (rule, key, layout) in product(merged, pairs):
        ours, theirs = file.statistic(key, layout), apart.statistic(key, layout)
        if ours is not None and theirs is not None:
            bad = ours.float32 != theirs.float32
            values = {"array": key, "found": theirs.values, "expected": ours.values, "where": theirs.where}
            yield from at_first(rule, apart.path, (key, ...), bad, "", "index", **values)


FAMILY = rules.family("FAMILY", (Need.STATISTICS,), _check_merged, _check_arrays, _check_dimensions, _check_companion)
