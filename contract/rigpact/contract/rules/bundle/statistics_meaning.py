"""RP108-RP114: what means, deviations and scales say together, and whether any data can have them.

statistics.py judges each array alone, rotation_means.py the means of rotations. The rules here find contradictions between
two arrays, or between an array and the meaning of its feature.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from rigpact.contract.documents import Kind
from rigpact.contract.findings import Finding, Rule
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROOT_POSITION, ROOT_VELOCITY
from rigpact.contract.rules.family import Family, Need, rules_in
from rigpact.contract.rules.subject import Subject
from rigpact.contract.rules.views.auxiliary import Auxiliary
from rigpact.contract.rules.views.bundle import POSE_HISTORY, BundleView, NamedArray, is_finite_float32, one_slice
from rigpact.contract.statistics import STD_FLOOR

STEP_BEYOND_SIGMA = Rule.titled(
    "RP108 error float-step-beyond-sigma",
    message="{array}[{index}] = {std:g} about a mean of {mean:g}: one float32 step of the value is {sigma:.3g} standard"
    " deviations ({where}){more}",
    hint="raise the floor of the deviation, or measure the feature from a nearer origin",
    why="rounding alone moves the network's input by more than the motion does: the channel is noise, and two correct"
    " implementations disagree on it",
)
CHANNELS_ON_FLOOR = Rule.titled(
    "RP109 info channels-on-the-floor",
    message="{count} of {total} numbers of {array} stand on the floor of 1e-6 ({where}); there one float32 step of the value is"
    " up to {sigma:.2g} standard deviations",
    hint="leave constant channels out, or floor the deviation at 1e-3 of the feature's range",
    why="the channel never moved in the training data: the network learned nothing on it, and an error that is invisible in"
    " degrees is large in its input",
)
POSITION_BEYOND_FLOAT32 = Rule.titled(
    "RP110 error position-beyond-float32",
    message="RootPosition reaches {reach:.4g} m ({array}[{index}] = {value:g}): beyond {limit:g} m a float32 cannot hold a"
    " millimetre",
    hint="export positions in metres from the clip's own origin, not in centimetres of the world",
    why="the root then moves in visible steps, and the network's input jumps with them",
)
ROOT_SCALE_NOT_METRES = Rule.titled(
    "RP111 warning root-velocity-scale-not-metres",
    message="tanh_scales_rootvel[{index}] = {value:g} m/s is faster than {limit:g} m/s; in cm/s it would be a speed of"
    " {metres:.3g} m/s",
    hint="state velocities are m/s; the engine's own are cm/s",
    why="every honest speed then lies in the first hundredth of tanh: the network reads standing still",
)
ANGULAR_SCALE_BEYOND_SAMPLING = Rule.titled(
    "RP112 error angular-scale-beyond-sampling",
    message="{array}[{index}] = {value:g} rad/s ({where}), but at {fps:g} frames a second no rotation is faster than {limit:.4g}"
    " rad/s{more}",
    hint="scales are rad/s: these look like degrees a second, or like another frame rate",
    why="the velocities are then squashed to almost nothing, and the network reads a character that never turns a joint",
)
MEAN_BEYOND_SQUASH = Rule.titled(
    "RP113 error statistic-beyond-its-squash",
    message="{scale}[{index}] = {value:g} keeps the feature within ±{reach:.4g}, but {array}[{index}] = {found:g}"
    " ({where}){more}",
    hint="take scale, mean and deviation from one export",
    why="mean and deviation belong to another scale: the normalised input is off by whole standard deviations",
)
NEVER_FITTED = Rule.titled(
    "RP114 info statistic-never-fitted",
    message="all {count} numbers of {array} for {where} are exactly {value:g}",
    hint="if this channel is meant to stay as it is, ignore this; if not, the statistics were never computed",
    why="0 and 1 are what an exporter starts from: no data has such a mean or deviation, so the channels reach the network"
    " unstandardised",
)

FASTEST_M_S = 50.0
"""No land animal is faster than 33 m/s, and a walk in cm/s (150) is above it. So a higher speed is not in m/s."""
_FURTHEST_M = 8192.0
"""2^13: at this distance one float32 step is a millimetre (2^-10)."""
_SLACK = 1.001
"""A naive float32 sum over 2^14 frames errs by a thousandth (see statistics.py)."""
_FEWEST_CHANNELS = 6
"""Three exact zeros may be a root that never moves; six in a row are not a coincidence."""


def check_statistics_meaning(subject: Subject) -> Iterator[Finding]:
    """Yield what means, deviations and scales say together: those of the bundle, then those of the auxiliary inputs."""
    if subject.view is not None:
        for letter, layout in (("X", subject.view.state), ("Y", subject.view.output)):
            mean, std = subject.view.statistic(f"Mu{letter}", layout), subject.view.statistic(f"Std{letter}", layout)
            yield from check_pair(mean, std)
        yield from _check_root(subject.view)
        yield from _check_squashed_state(subject.view)
        for file in subject.auxiliaries:
            yield from _check_auxiliary(file, subject.view.fps)


FAMILY = Family(__name__, rules_in(globals()), (Need.BUNDLE,), check_statistics_meaning)


def _check_auxiliary(file: Auxiliary, fps: float) -> Iterator[Finding]:
    layouts = (
        ("PoseHist", "tanh_scales_pose_hist", file.pose_history_layout, 1.0),
        ("AngVel", "tanh_scales_angvel", file.angvel_layout, fastest_rad_s(fps)),
        ("PoseTarget", "tanh_scales_pose_target", one_slice(POSE_HISTORY, 6 * file.bone_count), 1.0),
    )
    for name, scale_key, layout, bound in layouts:
        mean, std = file.statistic(f"Mu{name}", layout), file.statistic(f"Std{name}", layout)
        yield from check_pair(mean, std)
        scale = file.statistic(scale_key, layout)
        yield from _check_squash(scale, mean, bound)
        yield from _check_squash(scale, std, bound)
    if file.document.kind is Kind.COMPANION:  # the bundle's scale is judged with the state
        yield from check_angular_scale(file.statistic("tanh_scales_angvel", file.angvel_layout), fps)


def fastest_rad_s(fps: float) -> float:
    """The fastest rotation that frames can hold: a half turn from one to the next."""
    return float(np.pi * fps)


def check_pair(mean: NamedArray | None, std: NamedArray | None) -> Iterator[Finding]:
    """Yield what a mean and its deviation say together."""
    for array, placeholder in ((mean, 0.0), (std, 1.0)):
        yield from _check_fitted(array, placeholder)
    if mean is None or std is None or not is_finite_float32(mean.values) or not is_finite_float32(std.values):
        return
    step = np.spacing(np.abs(mean.float32)).astype(np.float64)
    sigma = step / np.maximum(np.abs(std.values), STD_FLOOR)
    yield from std.at_slices(STEP_BEYOND_SIGMA, sigma > 1, std=std.values, mean=mean.values, sigma=sigma)
    floored = (std.float32 > 0) & (std.float32 <= np.float32(STD_FLOOR)) & (sigma <= 1)
    if floored.any():
        index = int(np.flatnonzero(floored)[np.argmax(sigma[floored])])
        values = {"array": std.name, "count": int(floored.sum()), "total": len(floored), "sigma": sigma[index]}
        yield CHANNELS_ON_FLOOR.at(std.path, (std.name, index), where=std.where(index), **values)


def _check_fitted(array: NamedArray | None, placeholder: float) -> Iterator[Finding]:
    for entry in array.layout if array is not None else ():
        if array is not None and entry.size >= _FEWEST_CHANNELS and entry.start >= 0:
            values = array.values[entry.range]
            if len(values) == entry.size and (values == placeholder).all():
                texts: dict[str, Any] = {"array": array.name, "where": entry.name, "count": entry.size}
                yield NEVER_FITTED.at(array.path, (array.name, entry.start), value=placeholder, **texts)


def _check_root(view: BundleView) -> Iterator[Finding]:
    mean, std = view.statistic("MuX", view.state), view.statistic("StdX", view.state)
    if mean is not None and std is not None and ROOT_POSITION in mean.layout:
        channels = mean.layout[ROOT_POSITION].range
        reach = np.abs(mean.values[channels]) + np.abs(std.values[channels])
        for axis in np.flatnonzero(np.isfinite(reach) & (reach > _FURTHEST_M))[:1].tolist():
            index = channels.start + axis
            worst = max((mean, std), key=lambda array: abs(array.values[index]))
            texts = {"array": worst.name, "index": index, "value": worst.values[index], "limit": _FURTHEST_M}
            yield POSITION_BEYOND_FLOAT32.at(view.path, (worst.name, index), reach=float(reach[axis]), **texts)
    scales = view.numbers("tanh_scales_rootvel")
    fast = np.flatnonzero(scales > FASTEST_M_S).tolist() if scales is not None else []
    for index in fast[:1]:
        values = {"index": index, "value": scales[index], "metres": scales[index] / 100, "limit": FASTEST_M_S}  # type: ignore[index]
        yield ROOT_SCALE_NOT_METRES.at(view.path, ("tanh_scales_rootvel", index), **values)


def _check_squashed_state(view: BundleView) -> Iterator[Finding]:
    for name, key, bound in (
        (ROOT_VELOCITY, "tanh_scales_rootvel", FASTEST_M_S),
        (ANGULAR_VELOCITIES, "tanh_scales_angvel", fastest_rad_s(view.fps)),
    ):
        if view.state is None or name not in view.state:
            continue
        scale = view.statistic(key, one_slice(name, view.state[name].size))
        if name == ANGULAR_VELOCITIES:
            yield from check_angular_scale(scale, view.fps)
        for letter in ("Mu", "Std"):
            array = view.statistic(f"{letter}X", view.state)
            yield from _check_squash(scale, _part(array, name) if array is not None else None, bound)


def _part(array: NamedArray, name: str) -> NamedArray | None:
    entry = array.layout[name]
    values = array.values[entry.range]
    if len(values) != entry.size:
        return None
    return NamedArray(array.path, f"{array.name} of {name}", values, one_slice(name, entry.size), array.bone_names)


def check_angular_scale(scale: NamedArray | None, fps: float) -> Iterator[Finding]:
    """Yield tanh scales of angular velocities that no sampled rotation reaches."""
    if scale is None:
        return
    limit = fastest_rad_s(fps)
    beyond = np.isfinite(scale.values) & (scale.values > limit)
    yield from scale.at_slices(ANGULAR_SCALE_BEYOND_SAMPLING, beyond, "array", fps=fps, limit=limit)


def _check_squash(scale: NamedArray | None, statistic: NamedArray | None, bound: float) -> Iterator[Finding]:
    if scale is None or statistic is None or len(scale.values) != len(statistic.values):
        return
    positive = np.isfinite(scale.values) & (scale.values > 0) & np.isfinite(statistic.values)
    reach = np.tanh(bound / np.where(positive, scale.values, 1.0))
    # a floored deviation may be larger than the feature itself
    beyond = positive & (np.abs(statistic.values) > np.maximum(reach * _SLACK * _largest(statistic), 2 * STD_FLOOR))
    values: dict[str, Any] = {"scale": scale.name, "array": statistic.name, "reach": reach, "found": statistic.values}
    yield from scale.at_slices(MEAN_BEYOND_SQUASH, beyond, "slice", **values)


def _largest(statistic: NamedArray) -> float:
    """The largest deviation of a feature within ±1 is the square root of 2 (two samples), its mean 1."""
    return float(np.sqrt(2)) if statistic.name.startswith("Std") else 1.0
