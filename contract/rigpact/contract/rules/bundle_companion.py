"""RP300-RP329: statistics of the auxiliary inputs, and the second file that usually holds them."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from rigpact.contract.findings import Finding, Rule
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
from rigpact.contract.rules.family import Artefacts, Need, family, findings_of
from rigpact.contract.rules.wording import at_first, first_of, listed
from rigpact.contract.skeleton import rot6d_to_matrix, rotation_angle_rad, transposed

POSE_HISTORY_STATISTICS_ABSENT = Rule.of("""RP300 error pose-history-statistics-absent
    no pose-history statistics ({missing}): the engine falls back to scale 1, mean 0, std 1
    hint: merge them into the bundle on disk; check again with --companion and the file that training merges
    why: training merges them in memory only: in the game the network's largest input is off by whole standard deviations, and the
    character drifts""")
POSE_HISTORY_STATISTICS_UNMERGED = Rule.of("""RP301 error pose-history-statistics-unmerged
    pose-history statistics are present, but only in a file the engine does not read ({companion}): the engine falls back to scale
    1, mean 0, std 1
    hint: write pose_hist_len, tanh_scales_pose_hist, MuPoseHist and StdPoseHist into the bundle; not the companion's
    tanh_scales_angvel, which means something else there
    why: training merges them in memory only: in the game the network's largest input is off by whole standard deviations, and the
    character drifts
    about: statistics in the companion alone""")
ANGVEL_STATISTICS_ABSENT = Rule.of("""RP302 warning angvel-statistics-absent
    no statistics of the AngVel input ({missing}): it is taken from the state's angular velocities, with their statistics
    hint: check again with --companion and the file that training merges; if training has none either, ignore this
    why: the training code normalises this input with statistics of its own; with the state's the network reads other speeds than
    it was trained on""")
ANGVEL_STATISTICS_UNMERGED = Rule.of("""RP303 warning angvel-statistics-unmerged
    statistics of the AngVel input are present, but only in a file the engine does not read ({companion})
    hint: give the engine these statistics, or train on the state's
    why: training normalises this input with them, the engine with the state's: the network reads other speeds in the game than in
    training
    about: statistics in the companion alone""")
STATISTICS_INCOMPLETE = Rule.of("""RP304 error auxiliary-statistics-incomplete
    {present} without {missing}
    hint: merge all of the keys or none
    why: the engine skips the standardisation where one of mean and deviation is missing, and tanh where the scale is""")
ANGVEL_SCALE_CLOBBERED_BY_MERGE = Rule.of("""RP306 warning angvel-scale-clobbered-by-merge
    tanh_scales_angvel[{index}] is {found:.6g} in the companion and {expected:.6g} in the bundle ({where}): {count} of {total}
    differ
    hint: merge the other keys only, or give the companion's scales a name of their own
    why: one name, two meanings: a merge of the files overwrites the scale of the state's angular velocities, and every one of
    them is squashed wrongly""")
MERGED_STATISTICS_DIFFER = Rule.of("""RP307 error merged-statistics-differ
    {array}[{index}] is {found:.6g} in the companion and {expected:.6g} in the bundle ({where}): {count} of {total} differ
    hint: merge again after every new export of the statistics
    why: the bundle carries statistics of an older run: the game normalises with other numbers than training""")
DECLARED_DIMENSION_DIFFERS = Rule.of("""RP308 error declared-dimension-differs
    {key} is {found}, the character has {expected} ({derivation})
    hint: write the companion and the bundle from one character and one history length
    why: training sizes its inputs with these numbers: the network is built for another character than the engine""")
AUXILIARY_POSE_DIFFERS = Rule.of("""RP310 error auxiliary-mean-pose-differs
    {array}: the mean pose of {bone} is {angle_deg:.0f}° from the state's ({where}){more}
    hint: take both statistics from the same character, in one bone order
    why: history and state are the same motion: with statistics of another one the network reads another pose""")

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
        (POSE_HISTORY_KEYS, POSE_HISTORY_STATISTICS_ABSENT, POSE_HISTORY_STATISTICS_UNMERGED),
        (ANGVEL_KEYS, ANGVEL_STATISTICS_ABSENT, ANGVEL_STATISTICS_UNMERGED),
    ):
        missing = [key for key in keys if key not in view.root]
        if missing and len(missing) < len(keys):
            present = [key for key in keys if key in view.root]
            yield STATISTICS_INCOMPLETE.at(view.path, "", present=listed(present), missing=listed(missing))
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
            yield DECLARED_DIMENSION_DIFFERS.at(file.path, (key,), **values)


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
        yield AUXILIARY_POSE_DIFFERS.at(mean.path, (mean.name, index), angle_deg=angle_deg, more=more, **texts)


def _check_companion(subject: Artefacts) -> Iterator[Finding]:
    *merged, apart = need(subject.auxiliaries, when=subject.companion is not None and len(subject.auxiliaries) > 0)
    yield from check_scale(apart.statistic("tanh_scales_angvel", apart.angvel_layout))
    pairs = [(ANGVEL_SCALE_CLOBBERED_BY_MERGE, "tanh_scales_angvel", apart.angvel_layout)]
    pairs += [(MERGED_STATISTICS_DIFFER, key, apart.angvel_layout) for key in ANGVEL_KEYS]
    if apart.pose_history_layout is not None:
        pairs += [(MERGED_STATISTICS_DIFFER, key, apart.pose_history_layout) for key in POSE_HISTORY_KEYS]
    for file, (rule, key, layout) in product(merged, pairs):
        ours, theirs = file.statistic(key, layout), apart.statistic(key, layout)
        if ours is not None and theirs is not None:
            bad = ours.float32 != theirs.float32
            values = {"array": key, "found": theirs.values, "expected": ours.values, "where": theirs.where}
            yield from at_first(rule, apart.path, (key, ...), bad, "", "index", **values)


FAMILY = family(globals(), (Need.STATISTICS,), _check_merged, _check_arrays, _check_dimensions, _check_companion)
