"""RP900-RP905: a clip against the bundle that it is used with."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.rules.family import Artefacts, Need, family
from rigpact.contract.rules.teacher import teacher_rows
from rigpact.contract.rules.views.bundle import BundleView, json_to_names, member, need
from rigpact.contract.rules.views.motion import ClipView, clip_features, scaled_speeds
from rigpact.contract.rules.wording import at_first, first_unlike, json_value
from rigpact.contract.statistics import STD_FLOOR

CLIP_BONES_DIFFER = Rule.of("""RP900 error clip-bones-differ
    bone {index} is {found!r} in the clip and {expected!r} in the bundle{more}
    hint: export the clip in the bundle's bone order
    why: bones are matched by index: an arm plays a leg, and no number is out of range""")
CLIP_PARENTS_DIFFER = Rule.of("""RP901 error clip-parents-differ
    {bone}: the parent is {found} in the clip and {expected} in the bundle{more}
    hint: export clip and bundle from the same skeleton asset
    why: rotations are relative to the parent: under another one they turn the limb about another joint""")
CLIP_OFFSETS_DIFFER = Rule.of("""RP902 warning clip-offsets-differ
    {bone}: the rest offset differs by {apart_mm:.1f} mm between the clip and the bundle{more}
    hint: retarget the clip to the bundle's skeleton before training
    why: the same rotations put the foot elsewhere: contacts learned on one body are wrong on the other""")
CLIP_DECLARES_OTHERWISE = Rule.of("""RP903 error clip-declares-otherwise
    meta.{key} is {found} in the clip and {expected} in the bundle
    hint: export both with the same settings, and check which of the two the data follow
    why: the same numbers mean another rotation or another unit in the two files
    about: {key} is {found}""")
CLIP_FAR_FROM_STATISTICS = Rule.of("""RP904 warning clip-far-from-statistics
    {count} channels of the clip lie on average more than {limit:g} standard deviations from the bundle's mean; furthest {where}:
    {found:.4g} on average, {mean:.4g} ± {std:.3g} in the bundle ({sigma:.3g} standard deviations)
    hint: re-run the statistics with this clip, or leave it out
    why: the network has never seen such inputs, and the graph clamps them: its answer is chance
    follows: RP560 RP561 RP562 RP912""")
SPEED_SATURATES = Rule.of("""RP905 info speed-saturates-scale
    {where}: the clip moves at {scales:.2f} times the tanh scale of {scale:.4g} (median of its frames), where tanh leaves
    {left:.2%} of a change of speed; {count} channels are beyond {limit:g} scales
    hint: use a larger scale: the 99 % quantile of the speeds keeps tanh near linear
    why: walking faster hardly changes the network's input, and the way back through atanh multiplies rounding""")

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
_SKELETON = ("meta", "skeleton")


def _check_bones(clip: ClipView, bundle: BundleView) -> Iterator[Finding]:
    names, expected = clip.bone_names, json_to_names(bundle.meta.get("bone_names")) or ()
    for index, more in first_unlike(names, expected, "bones differ"):
        values = {"index": index, "found": names[index], "expected": expected[index]}
        yield CLIP_BONES_DIFFER.at(clip.path, (*_SKELETON, "bone_names", index), more=more, **values)
        return
    ours, theirs = need(clip.skeleton), need(bundle.skeleton)
    need(ours, when=len(ours.names) == len(theirs.names))
    for bone, more in first_unlike(ours.parents, theirs.parents, "bones"):
        values = {"bone": clip.bone(bone), "found": ours.parents[bone], "expected": theirs.parents[bone]}
        yield CLIP_PARENTS_DIFFER.at(clip.path, (*_SKELETON, "parents", bone), more=more, **values)
    apart = np.linalg.norm(ours.offsets_m.astype(np.float64) - theirs.offsets_m, axis=-1)
    values, place = {"bone": clip.bone, "apart_mm": 1000 * apart}, (*_SKELETON, "ref_local_offsets_m", ...)
    yield from at_first(CLIP_OFFSETS_DIFFER, clip.path, place, apart > _OFFSET_M, "bones", "bone", **values)


def _check_declarations(clip: ClipView, bundle: BundleView) -> Iterator[Finding]:
    for path in _SHARED_DECLARATIONS:
        found, expected = member(clip.root, "meta", *path), member(bundle.meta, *path)
        if found is not None and expected is not None and found != expected:
            values = {"key": ".".join(path), "found": _shown(found), "expected": _shown(expected)}
            yield CLIP_DECLARES_OTHERWISE.at(clip.path, ("meta", *path), **values)


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str | list) else json_value(value)


def _check_range(clip: ClipView, bundle: BundleView, subject: Artefacts) -> Iterator[Finding]:
    mean, std = bundle.finite("MuX", bundle.state), bundle.finite("StdX", bundle.state).values
    features, clamp = clip_features(clip, bundle), teacher_rows.clamp_of(subject, "state")
    off = np.abs(features.mean(axis=0) - mean.values)  # NaN where the clip has no such channel
    sigma = off / np.maximum(np.abs(std), STD_FLOOR)
    far = np.isfinite(sigma) & (sigma > _SIGMAS) & (off > _MOVED)
    if far.any():
        index = int(np.argmax(np.where(far, sigma, 0)))
        values = {"where": mean.where(index), "found": float(features[:, index].mean()), "sigma": float(sigma[index])}
        values |= {"mean": mean.values[index], "std": std[index], "count": int(far.sum()), "limit": _SIGMAS}
        yield CLIP_FAR_FROM_STATISTICS.at(clip.path, "/Frames", **values)
    z = (features - mean.values) / np.maximum(np.abs(std), STD_FLOOR)
    # near-constant channels cross the clamp by rounding; the value itself must move too
    clipped = clamp.cuts(z) & (np.abs(features - mean.values) > _MOVED)
    shown = {"array": "the state of the clip", "value": z, "where": lambda _, column: f" ({mean.where(column)})"}
    rule, place = teacher_rows.VALUE_CLIPPED, ("Frames", ...)
    yield from at_first(rule, clip.path, place, clipped, "in this clip", "row column", **shown, **asdict(clamp))


def _check_saturation(clip: ClipView, bundle: BundleView) -> Iterator[Finding]:
    for array, key, scaled in scaled_speeds(clip, bundle):
        medians = np.median(np.abs(scaled), axis=0)
        beyond = int((medians > _SCALES).sum())
        if beyond:
            index = int(medians.argmax())
            values = {"where": array.where(index), "scales": float(medians[index]), "scale": array.values[index]}
            left = float(1 / np.cosh(min(medians[index], 300.0)) ** 2)
            yield SPEED_SATURATES.at(clip.path, ("Frames", 0, key), left=left, count=beyond, limit=_SCALES, **values)


_CHECKS = (_check_bones, _check_declarations, _check_range, _check_saturation)
FAMILY = family(globals(), (Need.CLIP, Need.BUNDLE), *_CHECKS)
