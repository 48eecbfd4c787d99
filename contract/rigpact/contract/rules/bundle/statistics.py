"""RP100-RP129: means, standard deviations and tanh scales.

Every array is judged as float32, because both sides hold float32. numpy writes the float32 number 1e-6 as
9.999999974752427e-07, and this is exactly the engine's floor.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.layout import ANGULAR_VELOCITIES, CONTACTS, ROOT_VELOCITY, ROOT_YAW, ROTATIONS
from rigpact.contract.rules.family import Family, Need, on_bundle, rules_in
from rigpact.contract.rules.views.bundle import POSE_HISTORY, BundleView, NamedArray, one_slice
from rigpact.contract.statistics import AUXILIARY_SCALE_FLOOR, STD_FLOOR, TANH_SCALE_FLOOR

NOT_FINITE = Rule.titled(
    "RP101 error statistic-not-finite",
    message="{array}[{index}] = {value:g} is not finite in float32 ({where}){more}",
    hint="find the clip whose values overflow, and re-run the statistics",
    why="the network's input becomes NaN in the first frame; the mesh vanishes",
)
BOUNDED_MEAN_OUT_OF_RANGE = Rule.titled(
    "RP102 error bounded-mean-out-of-range",
    message="{array}[{index}] = {value:g}, but the feature lies within ±{bound:g} ({where}){more}",
    hint="the statistics were taken before tanh, wrapping or the division by pi, or in other units (degrees?)",
    why="these channels are squashed or are components of unit vectors: no average of them can lie outside",
)
BOUNDED_STD_TOO_LARGE = Rule.titled(
    "RP103 error bounded-std-too-large",
    message="{array}[{index}] = {value:g}, but a feature within ±1 deviates by at most {bound:.4g} ({where}){more}",
    hint="the statistics were taken before tanh, wrapping or the division by pi, or in other units (degrees?)",
    why="dividing by it leaves the network hardly any signal on the channel",
)
STD_NOT_POSITIVE = Rule.titled(
    "RP104 error std-not-positive",
    message="{array}[{index}] = {value:g}: a standard deviation must be > 0 ({where}){more}",
    hint="re-run the statistics; a constant channel needs a floor (the engine uses 1e-6)",
    why="normalising divides by it; the engine's floor hides it there and training divides by zero",
)
STD_BELOW_FLOOR = Rule.titled(
    "RP105 warning std-below-floor",
    message="{array}[{index}] = {value:g} is below the floor of {floor:g} ({where}){more}",
    hint="apply the floor where the statistics are computed, so that both sides hold the same number",
    why="both sides divide by the floor, but the engine multiplies outputs by the number itself: a round trip loses the channel",
)
SCALE_NOT_POSITIVE = Rule.titled(
    "RP106 error tanh-scale-not-positive",
    message="{array}[{index}] = {value:g}: a tanh scale must be > 0 ({where}){more}",
    hint="re-run the statistics; a bone that never moves needs a floor (the engine uses 1e-3)",
    why="the engine takes max(|scale|, floor), training max(scale, 1e-6): the same velocity saturates on one side",
)
SCALE_BELOW_FLOOR = Rule.titled(
    "RP107 warning tanh-scale-below-floor",
    message="{array}[{index}] = {value:g} is below the engine's floor of {floor:g} ({where}){more}",
    hint="apply the floor where the scale is computed",
    why="training floors at 1e-6, so between the two floors the sides squash the same velocity differently",
)

_BOUNDED = (ROOT_VELOCITY, ROOT_YAW, ROTATIONS, ANGULAR_VELOCITIES, POSE_HISTORY, CONTACTS)
"""Slices whose features lie within ±1: squashed, wrapped over pi, components of unit vectors, or scores."""
_SUMMATION_SLACK = 1e-3
"""A naive float32 sum over n numbers errs by up to n·2^-24 of it; 2^14 frames of training data make 1e-3."""
_LARGEST_BOUNDED_STD = float(np.sqrt(2.0)) * (1 + _SUMMATION_SLACK)
"""Within ±1 the population deviation is at most 1, the sample deviation of n values sqrt(n/(n-1)), n ≥ 2."""


def check_statistics(view: BundleView) -> Iterator[Finding]:
    """Yield what is wrong with the statistics that the engine requires."""
    for letter, layout in (("X", view.state), ("Y", view.output)):
        if layout is None:
            continue
        residual = letter == "Y" and view.output_mode == "residual"
        # MuY of a residual is never used, but it is an average of differences of components: within ±2
        yield from check_mean(view.statistic(f"Mu{letter}", layout), bound=2.0 if residual else 1.0)
        yield from check_std(view.statistic(f"Std{letter}", layout))
    for key, name in (("tanh_scales_rootvel", ROOT_VELOCITY), ("tanh_scales_angvel", ANGULAR_VELOCITIES)):
        if view.state is not None and name in view.state:
            layout = one_slice(name, view.state[name].size)
            yield from check_scale(view.statistic(key, layout), floor=TANH_SCALE_FLOOR)


FAMILY = Family(__name__, rules_in(globals()), (Need.BUNDLE,), on_bundle(check_statistics))


def check_mean(array: NamedArray | None, bound: float = 1.0) -> Iterator[Finding]:
    """Yield means that no data can have; bound: what the bounded features stay within."""
    if array is None:
        return
    yield from array.at_slices(NOT_FINITE, ~np.isfinite(array.float32))
    outside = _bounded_channels(array) & (np.abs(array.float32) > bound * (1 + _SUMMATION_SLACK))
    yield from array.at_slices(BOUNDED_MEAN_OUT_OF_RANGE, outside & np.isfinite(array.float32), bound=bound)


def check_std(array: NamedArray | None) -> Iterator[Finding]:
    """Yield standard deviations that no data can have, or that normalising cannot divide by."""
    if array is None:
        return
    yield from array.at_slices(NOT_FINITE, ~np.isfinite(array.float32))
    values, floor = array.float32, np.float32(STD_FLOOR)
    finite = np.isfinite(values)
    too_large = finite & _bounded_channels(array) & (values > _LARGEST_BOUNDED_STD)
    yield from array.at_slices(STD_NOT_POSITIVE, finite & (values <= 0))
    yield from array.at_slices(STD_BELOW_FLOOR, (values > 0) & (values < floor), floor=STD_FLOOR)
    yield from array.at_slices(BOUNDED_STD_TOO_LARGE, too_large, bound=_LARGEST_BOUNDED_STD)


def check_scale(array: NamedArray | None, floor: float = AUXILIARY_SCALE_FLOOR) -> Iterator[Finding]:
    """Yield tanh scales that one of the sides floors, or that are not scales at all."""
    if array is None:
        return
    yield from array.at_slices(NOT_FINITE, ~np.isfinite(array.float32))
    values = array.float32
    yield from array.at_slices(SCALE_NOT_POSITIVE, np.isfinite(values) & (values <= 0), floor=floor)
    yield from array.at_slices(SCALE_BELOW_FLOOR, (values > 0) & (values < np.float32(floor)), floor=floor)


def _bounded_channels(array: NamedArray) -> NDArray[np.bool_]:
    bounded = np.zeros(len(array.values), dtype=bool)
    for entry in array.layout:
        if entry.name.partition("[")[0] in _BOUNDED and entry.size > 0:
            bounded[max(entry.start, 0) : max(entry.stop, 0)] = True
    return bounded
