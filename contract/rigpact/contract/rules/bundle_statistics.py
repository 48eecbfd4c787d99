"""RP101-RP114, RP300-RP310: means, standard deviations and tanh scales, each alone and together.

Every array is judged as float32, because both sides hold float32. numpy writes the float32 number 1e-6 as
9.999999974752427e-07, and this is exactly the engine's floor. bundle_body.py judges the means of rotations.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.documents import Kind
from rigpact.contract.findings import Finding, Rule
from rigpact.contract.layout import ANGULAR_VELOCITIES, CONTACTS, ROOT_POSITION, ROOT_VELOCITY, ROOT_YAW, ROTATIONS
from rigpact.contract.rules.bundle_view import (
    ANGVEL_KEYS,
    POSE_HISTORY,
    POSE_HISTORY_KEYS,
    Auxiliary,
    BundleView,
    NamedArray,
    is_finite_float32,
    need,
    one_slice,
)
from rigpact.contract.rules.family import Artefacts, Need, Rules, findings_of
from rigpact.contract.rules.wording import at_first, first_of, listed
from rigpact.contract.skeleton import rot6d_to_matrix, rotation_angle_rad, transposed
from rigpact.contract.statistics import AUXILIARY_SCALE_FLOOR, STD_FLOOR, TANH_SCALE_FLOOR

rules = Rules("bundle_statistics")


_BOUNDED = (ROOT_VELOCITY, ROOT_YAW, ROTATIONS, ANGULAR_VELOCITIES, POSE_HISTORY, CONTACTS)
"""Slices whose features lie within ±1: squashed, wrapped over pi, components of unit vectors, or scores."""
_SUMMATION_SLACK = 1e-3
"""A naive float32 sum over n numbers errs by up to n·2^-24 of it; 2^14 frames of training data make 1e-3."""
_LARGEST_BOUNDED_STD = float(np.sqrt(2.0)) * (1 + _SUMMATION_SLACK)
"""Within ±1 the population deviation is at most 1, the sample deviation of n values sqrt(n/(n-1)), n ≥ 2."""
FASTEST_M_S = 50.0
"""No land animal is faster than 33 m/s, and a walk in cm/s (150) is above it. So a higher speed is not in m/s."""
_FURTHEST_M = 8192.0
"""2^13: at this distance one float32 step is a millimetre (2^-10)."""
_FEWEST_CHANNELS = 6
"""Three exact zeros may be a root that never moves; six in a row are not a coincidence."""


def check_mean(array: NamedArray | None, bound: float = 1.0) -> Iterator[Finding]:
    """Yield means that no data can have; bound: what the bounded features stay within."""
    if array is not None:
        finite, outside = np.isfinite(array.float32), np.abs(array.float32) > bound * (1 + _SUMMATION_SLACK)
        yield from array.at_slices(rules.NOT_FINITE, ~finite)
        yield from array.at_slices(rules.BOUNDED_MEAN_OUT_OF_RANGE, finite & outside & _bounded(array), bound=bound)


def check_std(array: NamedArray | None) -> Iterator[Finding]:
    """Yield standard deviations that no data can have, or that normalising cannot divide by."""
    if array is not None:
        yield from _check_positive(array, STD_FLOOR, rules.STD_NOT_POSITIVE, rules.STD_BELOW_FLOOR)
        too_large = np.isfinite(array.float32) & _bounded(array) & (array.float32 > _LARGEST_BOUNDED_STD)
        yield from array.at_slices(rules.BOUNDED_STD_TOO_LARGE, too_large, bound=_LARGEST_BOUNDED_STD)


def check_scale(array: NamedArray | None, floor: float = AUXILIARY_SCALE_FLOOR) -> Iterator[Finding]:
    """Yield tanh scales that one of the sides floors, or that are not scales at all."""
    if array is not None:
        yield from _check_positive(array, floor, rules.SCALE_NOT_POSITIVE, rules.SCALE_BELOW_FLOOR)


def _check_positive(array: NamedArray, floor: float, not_positive: Rule, below: Rule) -> Iterator[Finding]:
    values, finite = array.float32, np.isfinite(array.float32)
    yield from array.at_slices(rules.NOT_FINITE, ~finite)
    yield from array.at_slices(not_positive, finite & (values <= 0), floor=floor)
    yield from array.at_slices(below, (values > 0) & (values < np.float32(floor)), floor=floor)


def _bounded(array: NamedArray) -> NDArray[np.bool_]:
    bounded = np.zeros(len(array.values), dtype=bool)
    for entry in array.layout:
        if entry.name.partition("[")[0] in _BOUNDED and entry.size > 0:
            bounded[max(entry.start, 0) : max(entry.stop, 0)] = True
    return bounded


def _check_each(view: BundleView) -> Iterator[Finding]:
    for letter, layout in (("X", view.state), ("Y", view.output)):
        # MuY of a residual is never used, but it is an average of differences of components: within ±2
        bound = 2.0 if letter == "Y" and view.output_mode == "residual" else 1.0
        yield from check_mean(view.statistic(f"Mu{letter}", layout), bound)
        yield from check_std(view.statistic(f"Std{letter}", layout))
    for scale, _, _ in _squashed(view):
        yield from check_scale(scale, TANH_SCALE_FLOOR)


def _squashed(view: BundleView) -> Iterator[tuple[NamedArray | None, str, float]]:
    """Yield the tanh scale of each squashed slice of the state, the slice's name, and the most that its feature can be."""
    for name, key, bound in (
        (ROOT_VELOCITY, "tanh_scales_rootvel", FASTEST_M_S),
        (ANGULAR_VELOCITIES, "tanh_scales_angvel", fastest_rad_s(view.fps)),
    ):
        if view.state is not None and name in view.state:
            yield view.statistic(key, one_slice(name, view.state[name].size)), name, bound


def fastest_rad_s(fps: float) -> float:
    """The fastest rotation that frames can hold: a half turn from one to the next."""
    return float(np.pi * fps)


def _check_together(view: BundleView) -> Iterator[Finding]:
    for letter, layout in (("X", view.state), ("Y", view.output)):
        yield from _check_pair(view.statistic(f"Mu{letter}", layout), view.statistic(f"Std{letter}", layout))
    yield from findings_of((_check_root,), view)
    scales = view.numbers("tanh_scales_rootvel")
    for (index,), _ in first_of(scales > FASTEST_M_S, "") if scales is not None else ():
        values = {"index": index, "value": scales[index], "metres": scales[index] / 100, "limit": FASTEST_M_S}  # type: ignore[index]
        yield rules.ROOT_SCALE_NOT_METRES.at(view.path, ("tanh_scales_rootvel", index), **values)
    for scale, name, bound in _squashed(view):
        if name == ANGULAR_VELOCITIES:
            yield from _check_angular_scale(scale, view.fps)
        for key in ("MuX", "StdX"):
            yield from _check_squash(scale, _part(view.statistic(key, view.state), name), bound)


def _check_auxiliary(file: Auxiliary, view: BundleView) -> Iterator[Finding]:
    for name, (mean, std, scale) in file.features.items():
        bound = fastest_rad_s(view.fps) if name == "AngVel" else 1.0
        yield from _check_pair(mean, std)
        yield from _check_squash(scale, mean, bound)
        yield from _check_squash(scale, std, bound)
    if file.document.kind is Kind.COMPANION:  # the bundle's scale is judged with the state
        yield from _check_angular_scale(file.statistic("tanh_scales_angvel", file.angvel_layout), view.fps)


def _check_pair(mean: NamedArray | None, std: NamedArray | None) -> Iterator[Finding]:
    yield from _check_fitted(mean, 0.0)
    yield from _check_fitted(std, 1.0)
    if mean is None or std is None or not is_finite_float32(mean.values) or not is_finite_float32(std.values):
        return
    step = np.spacing(np.abs(mean.float32)).astype(np.float64)
    sigma = step / np.maximum(np.abs(std.values), STD_FLOOR)
    yield from std.at_slices(rules.STEP_BEYOND_SIGMA, sigma > 1, std=std.values, mean=mean.values, sigma=sigma)
    floored = (std.float32 > 0) & (std.float32 <= np.float32(STD_FLOOR)) & (sigma <= 1)
    if floored.any():
        index = int(np.flatnonzero(floored)[np.argmax(sigma[floored])])
        values = {"array": std.name, "count": int(floored.sum()), "total": len(floored), "sigma": sigma[index]}
        yield rules.CHANNELS_ON_FLOOR.at(std.path, (std.name, index), where=std.where(index), **values)


def _check_fitted(array: NamedArray | None, placeholder: float) -> Iterator[Finding]:
    for entry in array.layout if array is not None else ():
        if array is not None and entry.size >= _FEWEST_CHANNELS and entry.start >= 0:
            values = array.values[entry.range]
            if len(values) == entry.size and (values == placeholder).all():
                texts: dict[str, Any] = {"array": array.name, "where": entry.name, "count": entry.size}
                yield rules.NEVER_FITTED.at(array.path, (array.name, entry.start), value=placeholder, **texts)


def _check_root(view: BundleView) -> Iterator[Finding]:
    mean, std = need(view.statistic("MuX", view.state)), need(view.statistic("StdX", view.state))
    channels = need(mean.layout, when=ROOT_POSITION in mean.layout)[ROOT_POSITION].range
    reach = np.abs(mean.values[channels]) + np.abs(std.values[channels])
    for (axis,), _ in first_of(np.isfinite(reach) & (reach > _FURTHEST_M), ""):
        index = channels.start + axis
        worst = max((mean, std), key=lambda array: abs(array.values[index]))
        texts = {"array": worst.name, "index": index, "value": worst.values[index], "limit": _FURTHEST_M}
        yield rules.POSITION_BEYOND_FLOAT32.at(view.path, (worst.name, index), reach=float(reach[axis]), **texts)


def _part(array: NamedArray | None, name: str) -> NamedArray | None:
    if array is None or len(array.values[array.layout[name].range]) != array.layout[name].size:
        return None
    layout, values = one_slice(name, array.layout[name].size), array.values[array.layout[name].range]
    return NamedArray(array.path, f"{array.name} of {name}", values, layout, array.bone_names)


def _check_angular_scale(scale: NamedArray | None, fps: float) -> Iterator[Finding]:
    if scale is not None:
        beyond, limit = np.isfinite(scale.values) & (scale.values > fastest_rad_s(fps)), fastest_rad_s(fps)
        yield from scale.at_slices(rules.ANGULAR_SCALE_BEYOND_SAMPLING, beyond, "array", fps=fps, limit=limit)


def _check_squash(scale: NamedArray | None, statistic: NamedArray | None, bound: float) -> Iterator[Finding]:
    if scale is None or statistic is None or len(scale.values) != len(statistic.values):
        return
    positive = np.isfinite(scale.values) & (scale.values > 0) & np.isfinite(statistic.values)
    reach = np.tanh(bound / np.where(positive, scale.values, 1.0))
    # of a feature within ±1 the largest deviation is the square root of 2 (two samples), the largest mean 1
    largest = (1 + _SUMMATION_SLACK) * (np.sqrt(2) if statistic.name.startswith("Std") else 1.0)
    # a floored deviation may be larger than the feature itself
    beyond = positive & (np.abs(statistic.values) > np.maximum(reach * largest, 2 * STD_FLOOR))
    values: dict[str, Any] = {"scale": scale.name, "array": statistic.name, "reach": reach, "found": statistic.values}
    yield from scale.at_slices(rules.MEAN_BEYOND_SQUASH, beyond, "slice", **values)


FAMILY = rules.family("FAMILY", (Need.BUNDLE,), _check_each, _check_together, _check_auxiliary)


# RP300-RP329: statistics of the auxiliary inputs, and the second file that usually holds them.
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


COMPANION = rules.family(
    "COMPANION", (Need.STATISTICS,), _check_merged, _check_arrays, _check_dimensions, _check_companion
)
