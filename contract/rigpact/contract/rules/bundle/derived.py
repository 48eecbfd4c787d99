"""RP130-RP139: numbers of a bundle that are derived from its statistics: effective scales, group priors, floors.

The engine reads none of them, but training does. A loss with a wrong scale, or a floor that was not applied, gives
another network than intended.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROOT_VELOCITY, ROOT_YAW, ROTATIONS, Layout
from rigpact.contract.rules.family import Need, family, findings_of
from rigpact.contract.rules.views.bundle import (
    BundleView,
    NamedArray,
    is_finite_float32,
    json_to_numbers,
    json_to_rate,
    known,
    member,
    need,
)
from rigpact.contract.rules.wording import and_more, at_first, first_in, number_text
from rigpact.contract.statistics import FloatArray

EFFECTIVE_SCALE_LENGTH_DIFFERS = Rule.of("""RP130 warning effective-scale-length-differs
    {array} has {found} numbers, {owner} has {expected} channels
    hint: write it from the same run as the statistics
    why: losses are weighted channel by channel with it: from the first number too many on, with a neighbour's scale""")
EFFECTIVE_SCALE_DIFFERS = Rule.of("""RP131 warning effective-scale-differs
    {array}[{index}] = {found:.6g}, but {std}[{index}] times what the squash divides by is {expected:.6g} ({where}){more}
    hint: write it from the same run as the statistics
    why: a loss in metres or radians is computed with it: the wrong joint is then the one that must be exact""")
GROUP_PRIORS_DO_NOT_FIT = Rule.of("""RP132 warning group-priors-do-not-fit
    group_priors_rot6d: {what}; the character has {bones} bones
    hint: compute the priors over the rotation slice only, one group index for each bone
    why: the prior is the floor of the deviation: shifted by a bone, still joints get a lively neighbour's floor
    about: group_priors_rot6d""")
GROUP_PRIOR_IMPLAUSIBLE = Rule.of("""RP133 warning group-prior-implausible
    group_priors_rot6d.prior_per_dim[{index}] = {value:g}: the deviation of a unit vector's component lies in (0,
    {limit:.4g}]{more}
    hint: recompute the priors from rotations
    why: as a floor it hides the channel's motion, or lets a division by zero through""")
STD_BELOW_DECLARED_FLOOR = Rule.of("""RP134 warning std-below-declared-floor
    {array}[{index}] = {value:.6g}, but the bundle declares a floor of {floor:.6g} there ({source}, {where}){more}
    hint: apply the floor before writing the statistics, or correct the declaration
    why: a program that reads the declaration divides by another number than one that reads the statistics""")

_RELATIVE = 1e-5
"""Products of two float32 numbers agree to this if they are written with at least six digits."""
_LARGEST_DEVIATION = float(np.sqrt(2.0))
"""Of a feature within ±1 (see statistics.py)."""
_FACTORS = (
    ("rv_scales", ROOT_VELOCITY, "tanh_scales_rootvel"), ("ang_scales", ANGULAR_VELOCITIES, "tanh_scales_angvel"),
)  # fmt: skip
_PRIORS = ("group_priors_rot6d", "prior_per_dim")


def _check_statistics(view: BundleView) -> Iterator[Finding]:
    for letter, layout, owner in (("X", view.state, "the state"), ("Y", view.output, "the output")):
        if layout is not None:
            yield from findings_of((_check_effective_scale, _check_declared_floor), view, letter, layout, owner)


def _check_effective_scale(view: BundleView, letter: str, layout: Layout, owner: str) -> Iterator[Finding]:
    key, values = f"s_eff_{letter}", need(view.numbers(f"s_eff_{letter}"))
    if len(values) != layout.width:
        numbers = {"found": len(values), "expected": layout.width, "owner": owner}
        yield EFFECTIVE_SCALE_LENGTH_DIFFERS.at(view.path, (key,), array=key, **numbers)
        return
    std = need(view.statistic(f"Std{letter}", layout))
    expected = _effective_scale(view, std)
    array = NamedArray(view.path, key, values, layout, view.bone_names)
    wrong = ~(np.abs(values - expected) <= _RELATIVE * np.abs(expected))
    shown: dict[str, Any] = {"found": values, "expected": expected, "std": std.name}
    yield from array.at_slices(EFFECTIVE_SCALE_DIFFERS, wrong & np.isfinite(values), "slice", **shown)


def _effective_scale(view: BundleView, std: NamedArray) -> FloatArray:
    """Raw units per standard deviation near the middle of each channel, computed as `s_eff_meta` says."""
    flags = member(view.root, "s_eff_meta")
    factors: dict[str, Any] = {ROOT_YAW: np.pi} if member(flags, "yaw_pi") is True else {}
    factors |= {name: view.numbers(key) for flag, name, key in _FACTORS if member(flags, flag) is True}
    expected = std.values.copy()
    for entry in std.layout:
        factor = need(factors.get(entry.name, 1.0), when=entry.start >= 0 and entry.stop <= len(expected))
        need(factor, when=np.size(factor) in (1, entry.size))
        expected[entry.range] *= factor
    return need(expected, when=is_finite_float32(expected))


def _check_declared_floor(view: BundleView, letter: str, layout: Layout, _: str) -> Iterator[Finding]:
    std = need(view.statistic(f"Std{letter}", layout))
    declared = json_to_rate(view.meta.get("std_floor"))  # a positive finite number, as a rate is
    prior = known(lambda: _declared_prior_floor(view, std)) if letter == "X" else None
    floors = np.full(len(std.values), declared or 0.0) if prior is None else prior
    below = std.values < floors * (1 - _RELATIVE)
    source = "meta.std_floor" if prior is None else "cond_norm_config.floor_rot6d"
    for index, others in std.first_of_each_slice(below & (std.values > 0)):
        values = {"array": std.name, "index": index, "value": std.values[index], "floor": floors[index]}
        values |= {"source": source, "where": std.where(index), "more": and_more(others, "in this slice")}
        nonsense = below.all() and prior is None  # then the floor itself is wrong
        yield STD_BELOW_DECLARED_FLOOR.at(view.path, ("meta", "std_floor") if nonsense else (std.name, index), **values)


def _declared_prior_floor(view: BundleView, std: NamedArray) -> FloatArray:
    """alpha times the prior for each rotation channel, 0 elsewhere; `Unread` if the bundle declares no such floor."""
    spec = member(view.root, "cond_norm_config", "floor_rot6d")
    alpha, priors = member(spec, "alpha"), need(json_to_numbers(member(view.root, *_PRIORS)))
    need(priors, when=member(spec, "strategy") == "alpha*group_prior" and type(alpha) in (int, float))
    entry = need(std.layout, when=ROTATIONS in std.layout)[ROTATIONS]
    need(priors, when=len(priors) >= entry.size and is_finite_float32(priors))
    floors = np.zeros(len(std.values))
    floors[entry.range] = float(alpha) * priors[: entry.size]
    return floors


def _check_groups(view: BundleView) -> Iterator[Finding]:
    groups, bones = member(view.root, "group_priors_rot6d", "groups"), view.bone_count or 0
    if not isinstance(groups, Mapping) or not bones:
        return
    members = [index for indices in groups.values() if isinstance(indices, list) for index in indices]
    if not all(type(index) in (int, float) for index in members):
        return
    outside = [index for index in members if not 0 <= index < bones]
    # with fewer entries than bones, one of these first bones is missing; a broken file may claim 1e30 bones
    missing = sorted(set(range(min(bones, len(members) + 1))) - set(members))
    twice = [int(index) for index in sorted({index for index in members if members.count(index) > 1} - set(outside))]
    words: tuple[tuple[list[Any], str, Callable[[Any], str]], ...] = (
        (outside, "outside", lambda bone: f"a group names bone {number_text(bone)}, counted from 0"),
        (twice, "so", lambda bone: f"bone {view.bone(bone)} is in two groups"),
        (missing, "missing", lambda bone: f"bone {view.bone(bone)} is in no group"),
    )
    for wrong, where, what in words:
        for bone, more in first_in(wrong, where):
            # the last group that holds the bone; the last empty group if no group holds it
            culprit = None if wrong is missing else bone
            holds = [name for name, own in groups.items() if own == [] or (isinstance(own, list) and culprit in own)]
            named = [name for name in holds if (groups[name] == []) is (culprit is None)]
            place = ("group_priors_rot6d", "groups", *named[-1:])
            yield GROUP_PRIORS_DO_NOT_FIT.at(view.path, place, what=what(bone) + more, bones=bones)
            return


def _check_priors(view: BundleView) -> Iterator[Finding]:
    priors = need(json_to_numbers(member(view.root, *_PRIORS)), when=bool(view.bone_count))
    width = 6 * (view.bone_count or 0)
    if len(priors) != width:
        what = f"prior_per_dim has {len(priors)} numbers, 6 for each bone are {width}"
        yield GROUP_PRIORS_DO_NOT_FIT.at(view.path, _PRIORS, what=what, bones=view.bone_count)
    bad, values = np.isfinite(priors) & ~((priors > 0) & (priors <= _LARGEST_DEVIATION)), {"value": priors}
    place, limit = (*_PRIORS, ...), _LARGEST_DEVIATION
    yield from at_first(GROUP_PRIOR_IMPLAUSIBLE, view.path, place, bad, "in this array", "index", limit=limit, **values)


FAMILY = family(globals(), (Need.BUNDLE,), _check_statistics, _check_groups, _check_priors)
