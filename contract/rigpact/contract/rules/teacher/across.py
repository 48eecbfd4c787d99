"""RP900-RP905: a clip against the bundle that it is used with."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rules.clips.clip_features import clip_features, scaled_speeds
from rigpact.contract.rules.family import Family, Need, rules_in
from rigpact.contract.rules.subject import Subject
from rigpact.contract.rules.teacher import teacher_rows
from rigpact.contract.rules.teacher.teacher_rows import InputClamp, clamp_of
from rigpact.contract.rules.views.bundle import BundleView, NamedArray, is_finite_float32, json_to_names, member
from rigpact.contract.rules.views.clip import ClipView
from rigpact.contract.rules.wording import and_more, first_of, json_value
from rigpact.contract.statistics import STD_FLOOR, FloatArray

CLIP_BONES_DIFFER = Rule.titled(
    "RP900 error clip-bones-differ",
    message="bone {index} is {found!r} in the clip and {expected!r} in the bundle{more}",
    hint="export the clip in the bundle's bone order",
    why="bones are matched by index: an arm plays a leg, and no number is out of range",
)
CLIP_PARENTS_DIFFER = Rule.titled(
    "RP901 error clip-parents-differ",
    message="{bone}: the parent is {found} in the clip and {expected} in the bundle{more}",
    hint="export clip and bundle from the same skeleton asset",
    why="rotations are relative to the parent: under another one they turn the limb about another joint",
)
CLIP_OFFSETS_DIFFER = Rule.titled(
    "RP902 warning clip-offsets-differ",
    message="{bone}: the rest offset differs by {apart_mm:.1f} mm between the clip and the bundle{more}",
    hint="retarget the clip to the bundle's skeleton before training",
    why="the same rotations put the foot elsewhere: contacts learned on one body are wrong on the other",
)
CLIP_DECLARES_OTHERWISE = Rule.titled(
    "RP903 error clip-declares-otherwise",
    message="meta.{key} is {found} in the clip and {expected} in the bundle",
    hint="export both with the same settings, and check which of the two the data follow",
    why="the same numbers mean another rotation or another unit in the two files",
    about="{key} is {found}",
)
CLIP_FAR_FROM_STATISTICS = Rule.titled(
    "RP904 warning clip-far-from-statistics",
    message="{count} channels of the clip lie on average more than {limit:g} standard deviations from the bundle's mean;"
    " furthest {where}: {found:.4g} on average, {mean:.4g} ± {std:.3g} in the bundle ({sigma:.3g} standard deviations)",
    hint="re-run the statistics with this clip, or leave it out",
    why="the network has never seen such inputs, and the graph clamps them: its answer is chance",
    follows=("RP560", "RP561", "RP562", "RP912"),
)
SPEED_SATURATES = Rule.titled(
    "RP905 info speed-saturates-scale",
    message="{where}: the clip moves at {scales:.2f} times the tanh scale of {scale:.4g} (median of its frames), where tanh"
    " leaves {left:.2%} of a change of speed; {count} channels are beyond {limit:g} scales",
    hint="use a larger scale: the 99 % quantile of the speeds keeps tanh near linear",
    why="walking faster hardly changes the network's input, and the way back through atanh multiplies rounding",
)

_SHARED_DECLARATIONS = (
    ("units",), ("handedness",), ("axes",), ("rot6d_spec", "columns"), ("rot6d_spec", "order"),
    ("rot6d_spec", "matrix_layout"), ("rot6d_spec", "handedness"), ("spaces", "bone_rotations"),
    ("spaces", "bone_angular_velocities"), ("root_motion", "root_yaw_units"), ("trajectory", "frame"),
)  # fmt: skip
_OFFSET_M = 1e-3
"""A millimetre: the finest that contacts are judged at is 5 mm."""
_SIGMAS = 10.0
"""A clip that makes up a hundredth of the training data lies at most sqrt(100) deviations from the mean (Chebyshev)."""
_MOVED = 1e-2
"""On a channel that hardly varies, deviations count only if the value itself differs by 0.6 degrees, or 1 cm."""
_SCALES = 3.0
"""Beyond three scales tanh leaves a hundredth of a change."""


def check_across(subject: Subject) -> Iterator[Finding]:
    """Yield where a clip and the bundle disagree about the character, the space, or the range of the data."""
    if subject.view is not None:
        for clip in subject.clips:
            yield from _check_clip(clip, subject.view, clamp_of(subject, "state"))


FAMILY = Family(__name__, rules_in(globals()), (Need.CLIP, Need.BUNDLE), check_across)


def _check_clip(clip: ClipView, bundle: BundleView, clamp: InputClamp) -> Iterator[Finding]:
    yield from _check_bones(clip, bundle)
    for path in _SHARED_DECLARATIONS:
        found, expected = member(clip.document.data, "meta", *path), member(bundle.meta, *path)
        if found is not None and expected is not None and found != expected:
            values = {"key": ".".join(path), "found": _shown(found), "expected": _shown(expected)}
            yield CLIP_DECLARES_OTHERWISE.at(clip.path, ("meta", *path), **values)
    yield from _check_range(clip, bundle, clamp)
    yield from _check_saturation(clip, bundle)


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str | list) else json_value(value)


def _check_bones(clip: ClipView, bundle: BundleView) -> Iterator[Finding]:
    names, expected = clip.bone_names, json_to_names(bundle.meta.get("bone_names")) or ()
    different = [index for index, pair in enumerate(zip(names, expected, strict=False)) if pair[0] != pair[1]]
    path = ("meta", "skeleton")
    if different:
        index, more = different[0], and_more(len(different) - 1, "bones differ")
        values = {"index": index, "found": names[index], "expected": expected[index]}
        yield CLIP_BONES_DIFFER.at(clip.path, (*path, "bone_names", index), more=more, **values)
        return
    ours, theirs = clip.skeleton, bundle.skeleton
    if ours is None or theirs is None or len(ours.names) != len(theirs.names):
        return
    moved = [bone for bone, pair in enumerate(zip(ours.parents, theirs.parents, strict=True)) if pair[0] != pair[1]]
    if moved:
        bone, more = moved[0], and_more(len(moved) - 1, "bones")
        values = {"bone": clip.bone(bone), "found": ours.parents[bone], "expected": theirs.parents[bone]}
        yield CLIP_PARENTS_DIFFER.at(clip.path, (*path, "parents", bone), more=more, **values)
    apart = np.linalg.norm(ours.offsets_m.astype(np.float64) - theirs.offsets_m, axis=-1)
    for (bone,), more in first_of(apart > _OFFSET_M, "bones"):
        values = {"bone": clip.bone(bone), "apart_mm": 1000 * float(apart[bone])}
        yield CLIP_OFFSETS_DIFFER.at(clip.path, (*path, "ref_local_offsets_m", bone), more=more, **values)


def _check_range(clip: ClipView, bundle: BundleView, clamp: InputClamp) -> Iterator[Finding]:
    mean, std = bundle.statistic("MuX", bundle.state), bundle.statistic("StdX", bundle.state)
    features = clip_features(clip, bundle)
    if features is None or mean is None or std is None:
        return
    if not is_finite_float32(mean.values) or not is_finite_float32(std.values):
        return
    off = np.abs(features.mean(axis=0) - mean.values)  # NaN where the clip has no such channel
    sigma = off / np.maximum(np.abs(std.values), STD_FLOOR)
    far = np.isfinite(sigma) & (sigma > _SIGMAS) & (off > _MOVED)
    if far.any():
        index = int(np.argmax(np.where(far, sigma, 0)))
        values = {"where": mean.where(index), "found": float(features[:, index].mean()), "sigma": float(sigma[index])}
        values |= {"mean": mean.values[index], "std": std.values[index], "count": int(far.sum()), "limit": _SIGMAS}
        yield CLIP_FAR_FROM_STATISTICS.at(clip.path, "/Frames", **values)
    yield from _check_clipped(clip, features, mean, std, clamp)


def _check_clipped(
    clip: ClipView, features: FloatArray, mean: NamedArray, std: NamedArray, clamp: InputClamp
) -> Iterator[Finding]:
    z = (features - mean.values) / np.maximum(np.abs(std.values), STD_FLOOR)
    # near-constant channels cross the clamp by rounding; the value itself must move too
    for (row, column), more in first_of(clamp.cuts(z) & (np.abs(features - mean.values) > _MOVED), "in this clip"):
        values = {"array": "the state of the clip", "row": row, "column": column, "value": float(z[row, column])}
        values |= {"where": f" ({mean.where(column)})", **asdict(clamp)}
        yield teacher_rows.VALUE_CLIPPED.at(clip.path, ("Frames", row), more=more, **values)


def _check_saturation(clip: ClipView, bundle: BundleView) -> Iterator[Finding]:
    for array, key, scaled in scaled_speeds(clip, bundle):
        medians = np.median(np.abs(scaled), axis=0)
        beyond = np.flatnonzero(medians > _SCALES)
        if len(beyond):
            index = int(medians.argmax())
            values = {"where": array.where(index), "scales": float(medians[index]), "scale": array.values[index]}
            left = float(1 / np.cosh(min(medians[index], 300.0)) ** 2)
            pointer = json_pointer("Frames", 0, key)
            yield SPEED_SATURATES.at(clip.path, pointer, left=left, count=len(beyond), limit=_SCALES, **values)
