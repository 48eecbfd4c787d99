"""RP130-RP139: numbers of a bundle that are derived from its statistics: effective scales, group priors, floors.

The engine reads none of them, but training does. A loss with a wrong scale, or a floor that was not applied, gives
another network than intended.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROOT_VELOCITY, ROOT_YAW, ROTATIONS, Layout
from rigpact.contract.rules.family import Family, Need, on_bundle, rules_in
from rigpact.contract.rules.views.bundle import (
    BundleView,
    NamedArray,
    is_finite_float32,
    json_to_numbers,
    json_to_rate,
    member,
)
from rigpact.contract.rules.wording import and_more, first_of, number_text
from rigpact.contract.statistics import FloatArray

EFFECTIVE_SCALE_LENGTH_DIFFERS = Rule.titled(
    "RP130 warning effective-scale-length-differs",
    message="{array} has {found} numbers, {owner} has {expected} channels",
    hint="write it from the same run as the statistics",
    why="losses are weighted channel by channel with it: from the first number too many on, with a neighbour's scale",
)
EFFECTIVE_SCALE_DIFFERS = Rule.titled(
    "RP131 warning effective-scale-differs",
    message="{array}[{index}] = {found:.6g}, but {std}[{index}] times what the squash divides by is {expected:.6g}"
    " ({where}){more}",
    hint="write it from the same run as the statistics",
    why="a loss in metres or radians is computed with it: the wrong joint is then the one that must be exact",
)
GROUP_PRIORS_DO_NOT_FIT = Rule.titled(
    "RP132 warning group-priors-do-not-fit",
    message="group_priors_rot6d: {what}; the character has {bones} bones",
    hint="compute the priors over the rotation slice only, one group index for each bone",
    why="the prior is the floor of the deviation: shifted by a bone, still joints get a lively neighbour's floor",
    about="group_priors_rot6d",
)
GROUP_PRIOR_IMPLAUSIBLE = Rule.titled(
    "RP133 warning group-prior-implausible",
    message="group_priors_rot6d.prior_per_dim[{index}] = {value:g}: the deviation of a unit vector's component lies in (0,"
    " {limit:.4g}]{more}",
    hint="recompute the priors from rotations",
    why="as a floor it hides the channel's motion, or lets a division by zero through",
)
STD_BELOW_DECLARED_FLOOR = Rule.titled(
    "RP134 warning std-below-declared-floor",
    message="{array}[{index}] = {value:.6g}, but the bundle declares a floor of {floor:.6g} there ({source}, {where}){more}",
    hint="apply the floor before writing the statistics, or correct the declaration",
    why="a program that reads the declaration divides by another number than one that reads the statistics",
)

_RELATIVE = 1e-5
"""Products of two float32 numbers agree to this if they are written with at least six digits."""
_LARGEST_DEVIATION = float(np.sqrt(2.0))
"""Of a feature within ±1 (see statistics.py)."""


def check_derived(view: BundleView) -> Iterator[Finding]:
    """Yield where derived numbers of a bundle contradict what they are derived from."""
    for letter, layout, owner in (("X", view.state, "the state"), ("Y", view.output, "the output")):
        if layout is not None:
            yield from _check_effective_scale(view, letter, layout, owner)
            yield from _check_declared_floor(view, view.statistic(f"Std{letter}", layout))
    priors = member(view.root, "group_priors_rot6d")
    if isinstance(priors, Mapping) and view.bone_count:
        yield from _check_groups(view, priors.get("groups"))
        yield from _check_priors(view, json_to_numbers(priors.get("prior_per_dim")))


FAMILY = Family(__name__, rules_in(globals()), (Need.BUNDLE,), on_bundle(check_derived))


def _check_effective_scale(view: BundleView, letter: str, layout: Layout, owner: str) -> Iterator[Finding]:
    key, values = f"s_eff_{letter}", view.numbers(f"s_eff_{letter}")
    if values is None:
        return
    if len(values) != layout.width:
        numbers = {"found": len(values), "expected": layout.width, "owner": owner}
        yield EFFECTIVE_SCALE_LENGTH_DIFFERS.at(view.path, (key,), array=key, **numbers)
        return
    std = view.statistic(f"Std{letter}", layout)
    expected = _effective_scale(view, std) if std is not None else None
    if std is None or expected is None:
        return
    array = NamedArray(view.path, key, values, layout, view.bone_names)
    wrong = ~(np.abs(values - expected) <= _RELATIVE * np.abs(expected))
    shown: dict[str, Any] = {"found": values, "expected": expected, "std": std.name}
    yield from array.at_slices(EFFECTIVE_SCALE_DIFFERS, wrong & np.isfinite(values), "slice", **shown)


def _effective_scale(view: BundleView, std: NamedArray) -> FloatArray | None:
    """Raw units per standard deviation near the middle of each channel, computed as `s_eff_meta` says."""
    flags = member(view.root, "s_eff_meta") or {}
    factors: dict[str, Any] = {}
    if member(flags, "yaw_pi") is True:
        factors[ROOT_YAW] = np.pi
    for flag, name, key in (
        ("rv_scales", ROOT_VELOCITY, "tanh_scales_rootvel"),
        ("ang_scales", ANGULAR_VELOCITIES, "tanh_scales_angvel"),
    ):
        if member(flags, flag) is True:
            factors[name] = view.numbers(key)
    expected = std.values.copy()
    for entry in std.layout:
        factor = factors.get(entry.name, 1.0)
        if factor is None or np.size(factor) not in (1, entry.size) or entry.start < 0 or entry.stop > len(expected):
            return None
        expected[entry.range] *= factor
    return expected if is_finite_float32(expected) else None


def _check_groups(view: BundleView, groups: Any) -> Iterator[Finding]:
    if not isinstance(groups, Mapping):
        return
    members = [index for indices in groups.values() if isinstance(indices, list) for index in indices]
    if not all(type(index) in (int, float) for index in members):
        return
    bones = view.bone_count or 0
    pointer = json_pointer("group_priors_rot6d", "groups")
    outside = [index for index in members if not 0 <= index < bones]
    # with fewer entries than bones, one of these first bones is missing; a broken file may claim 1e30 bones
    missing = sorted(set(range(min(bones, len(members) + 1))) - set(members))
    twice = [int(index) for index in sorted({index for index in members if members.count(index) > 1} - set(outside))]
    what, culprit = "", None
    if outside:
        what, culprit = (
            f"a group names bone {number_text(outside[0])}, counted from 0{and_more(len(outside) - 1, 'outside')}",
            outside[0],
        )
    elif twice:
        what, culprit = f"bone {view.bone(twice[0])} is in two groups{and_more(len(twice) - 1, 'so')}", twice[0]
    elif missing:
        what = f"bone {view.bone(missing[0])} is in no group{and_more(len(missing) - 1, 'missing')}"
    if what:
        yield GROUP_PRIORS_DO_NOT_FIT.at(view.path, pointer + _group_of(groups, culprit), what=what, bones=bones)


def _group_of(groups: Mapping[str, Any], index: float | None) -> str:
    """The last group that holds the bone; the last empty group if no group holds it."""
    holds = [name for name, bones in groups.items() if bones == [] or (isinstance(bones, list) and index in bones)]
    named = [name for name in holds if (groups[name] == []) is (index is None)]
    return json_pointer(named[-1]) if named else ""


def _check_priors(view: BundleView, priors: FloatArray | None) -> Iterator[Finding]:
    if priors is None:
        return
    pointer, width = json_pointer("group_priors_rot6d", "prior_per_dim"), 6 * (view.bone_count or 0)
    if len(priors) != width:
        what = f"prior_per_dim has {len(priors)} numbers, 6 for each bone are {width}"
        yield GROUP_PRIORS_DO_NOT_FIT.at(view.path, pointer, what=what, bones=view.bone_count)
    for (index,), more in first_of(
        np.isfinite(priors) & ~((priors > 0) & (priors <= _LARGEST_DEVIATION)), "in this array"
    ):
        values = {"index": index, "value": priors[index], "limit": _LARGEST_DEVIATION}
        yield GROUP_PRIOR_IMPLAUSIBLE.at(view.path, f"{pointer}/{index}", more=more, **values)


def _check_declared_floor(view: BundleView, std: NamedArray | None) -> Iterator[Finding]:
    if std is None:
        return
    declared = json_to_rate(view.meta.get("std_floor"))  # a positive finite number, as a rate is
    floors: FloatArray = np.full(len(std.values), declared or 0.0)
    source = "meta.std_floor"
    prior = _declared_prior_floor(view, std) if std.name == "StdX" else None
    if prior is not None:
        floors, source = prior, "cond_norm_config.floor_rot6d"
    below = std.values < floors * (1 - _RELATIVE)
    for index, others in std.first_of_each_slice(below & (std.values > 0)):
        values = {"array": std.name, "index": index, "value": std.values[index], "floor": floors[index]}
        values |= {"source": source, "where": std.where(index), "more": and_more(others, "in this slice")}
        nonsense = below.all() and source == "meta.std_floor"  # then the floor itself is wrong
        place = json_pointer("meta", "std_floor") if nonsense else json_pointer(std.name, index)
        yield STD_BELOW_DECLARED_FLOOR.at(view.path, place, **values)


def _declared_prior_floor(view: BundleView, std: NamedArray) -> FloatArray | None:
    """alpha times the prior for each rotation channel, 0 elsewhere; None if the bundle declares no such floor."""
    spec = member(view.root, "cond_norm_config", "floor_rot6d")
    alpha = member(spec, "alpha")
    priors = json_to_numbers(member(view.root, "group_priors_rot6d", "prior_per_dim"))
    if member(spec, "strategy") != "alpha*group_prior" or type(alpha) not in (int, float) or priors is None:
        return None
    if ROTATIONS not in std.layout or len(priors) < std.layout[ROTATIONS].size or not is_finite_float32(priors):
        return None
    floors = np.zeros(len(std.values))
    entry = std.layout[ROTATIONS]
    floors[entry.range] = float(alpha) * priors[: entry.size]
    return floors
