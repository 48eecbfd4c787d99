"""RP115-RP118: the means of rotations: whether they are those of unit columns, and of one motion in state and output."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.layout import ROTATIONS, Layout
from rigpact.contract.rotation6d import identity_rot6d, rotation_angle_rad, transposed
from rigpact.contract.rules.bundle.rotation_spec import largest_mean_step_rad, mean_output_angles_rad
from rigpact.contract.rules.family import Family, Need, on_bundle, rules_in
from rigpact.contract.rules.views.bundle import BundleView, is_finite_float32
from rigpact.contract.rules.wording import and_more
from rigpact.contract.statistics import STD_FLOOR, FloatArray

COLUMNS_NOT_UNIT = Rule.titled(
    "RP115 error rotation-statistics-not-unit",
    message="{bone}, column {column}: Mu² + Std² of {mean} and {std} add up to {total:.3f}, but for columns of rotations they"
    " add up to 1{more}",
    hint="the statistics were taken from other data than rotation columns, or a mean was edited or scaled",
    why="the mean pose is not a pose: normalised rotations come out shifted, and every limb with them",
)
DEVIATION_INFLATED = Rule.titled(
    "RP116 info rotation-deviation-inflated",
    message="{bone}, column {column}: Mu² + Std² of {mean} and {std} add up to {total:.3f}, but for columns of rotations they"
    " add up to 1{more}",
    hint="a floor or a group's prior replaced the measured deviation; check that it is meant",
    why="the network sees these channels smaller than the others, and learns them later or not at all",
)
MEAN_POSES_DISAGREE = Rule.titled(
    "RP117 error mean-poses-disagree",
    message="{bone}: the mean pose of MuY is {angle_deg:.1f}° from that of MuX{more}; output and state are the same motion, one"
    " frame apart",
    hint="export MuX and MuY from one run, with one bone order",
    why="the state says where a bone is with one set of statistics and the output where it goes with another",
)
OUTPUT_MEAN_NOT_OF_STATE = Rule.titled(
    "RP118 error output-mean-not-of-state",
    message="{bone}: MuY[{index}] = {found:.4g}, but MuX[{place}] = {expected:.4g}: {sigma:.3g} standard deviations apart{more};"
    " output and state are the same motion, one frame apart",
    hint="export MuX and MuY from one run; look for values that changed places or sign",
    why="recorded poses are measured from this mean, and in delta and absolute mode it is part of every pose",
)

_UNIT_SLACK = 0.1
"""How far mean² + deviation² may be from 1. Exact for one data set; trimmed or smoothed statistics lose a percent."""
_SAME_MOTION_RAD = np.radians(30.0)
"""Means of F_t and of F_{t+1} over the same clips differ by a step over the number of frames: far less than this."""
_SAME_MEAN_SIGMA = 0.5
"""The means of F_t and F_{t+1} differ by (last − first)/N a clip; no number is further from the mean than σ·sqrt(N), so over
clips of n frames on average they differ by 2σ/sqrt(n) at most: half a deviation from 16 frames on."""
_SAME_MEAN = 1e-3
"""Two means that were written with three decimals."""


def check_rotation_means(view: BundleView) -> Iterator[Finding]:
    """Yield where the means of rotations are not means of rotations, or differ between state and output."""
    # Unit columns: E[v²] = 1, and E[v²] is mean² + deviation², summed over the three components
    for letter, layout in (("X", view.state), ("Y", view.output)):
        sums = _column_sums(view, letter, layout)
        if sums is None or layout is None:
            continue
        start = layout[ROTATIONS].start
        for rule, bad in ((COLUMNS_NOT_UNIT, sums < 1 - _UNIT_SLACK), (DEVIATION_INFLATED, sums > 1 + _UNIT_SLACK)):
            yield from _columns_to_findings(view, rule, letter, bad, sums, start)
    state, output = view.mean_pose, view.mean_output_pose
    if state is None or output is None or view.output is None or state.shape != output.shape or _holds_steps(view):
        return
    angles = rotation_angle_rad(output @ transposed(state))
    far = np.flatnonzero(angles > _SAME_MOTION_RAD)
    if len(far):
        bone = int(angles.argmax())
        pointer = json_pointer("MuY", view.output[ROTATIONS].start + 6 * bone)
        more = and_more(len(far) - 1, "bones")
        yield MEAN_POSES_DISAGREE.at(
            view.path, pointer, bone=view.bone(bone), angle_deg=float(np.degrees(angles[bone])), more=more
        )
    else:
        yield from _check_means(view)


FAMILY = Family(__name__, rules_in(globals()), (Need.BUNDLE,), on_bundle(check_rotation_means))


def _column_sums(view: BundleView, letter: str, layout: Layout | None) -> FloatArray | None:
    mean, std = view.statistic(f"Mu{letter}", layout), view.statistic(f"Std{letter}", layout)
    if mean is None or std is None or not is_finite_float32(mean.values) or not is_finite_float32(std.values):
        return None
    means, stds = view.rotations_of(mean.values, mean.layout), view.rotations_of(std.values, std.layout)
    if means is None or stds is None:
        return None
    if letter == "Y" and _is_residual(view, means):
        means = means + identity_rot6d(view.columns)  # the columns of a step are those of the identity and a residual
    sums: FloatArray = (means**2 + stds**2).reshape(-1, 2, 3).sum(axis=-1)
    return sums


def _is_residual(view: BundleView, means: FloatArray) -> bool:
    """The mean of residuals is near zero; the mean of a pose's columns is not. The nearer of the two shows what MuY holds."""
    return view.output_mode == "residual" and float(np.abs(means).mean()) < float(np.abs(means - 1 / 3).mean()) / 3


def _columns_to_findings(
    view: BundleView, rule: Rule, letter: str, bad: NDArray[np.bool_], sums: FloatArray, start: int
) -> Iterator[Finding]:
    places = np.argwhere(bad)
    if len(places) == 0:
        return
    worst = places[int(np.argmax(np.abs(sums[bad] - 1)))]
    bone, column = (int(index) for index in worst)
    index = start + 6 * bone + 3 * column
    key = f"Mu{letter}" if rule is COLUMNS_NOT_UNIT else f"Std{letter}"
    names = {"mean": f"Mu{letter}[{index}:{index + 3}]", "std": f"Std{letter}[{index}:{index + 3}]"}
    values = {"bone": view.bone(bone), "column": view.columns[column].upper(), "total": float(sums[bone, column])}
    more = and_more(len(places) - 1, "columns")
    yield rule.at(view.path, (key, index), more=more, **values, **names)


def _holds_steps(view: BundleView) -> bool:
    """Whether MuY is the mean of residuals or of steps of a frame, not of poses."""
    array, angles = view.statistic("MuY", view.output), mean_output_angles_rad(view)
    channels = None if array is None else view.rotations_of(array.values, array.layout)
    if channels is None or angles is None or _is_residual(view, channels):
        return True
    return view.output_mode == "delta" and float(np.median(angles)) <= largest_mean_step_rad(view.fps)


def _check_means(view: BundleView) -> Iterator[Finding]:
    """Number by number: two that changed places within a bone turn it by less than the angle that another pose has."""
    sides = [
        (view.statistic(f"{part}X", view.state), view.statistic(f"{part}Y", view.output)) for part in ("Mu", "Std")
    ]
    (state, output), deviations = sides[0], sides[1]
    if state is None or output is None or None in deviations:
        return
    places = state.layout[ROTATIONS].range, output.layout[ROTATIONS].range
    expected, found = state.values[places[0]], output.values[places[1]]
    spread = [np.abs(each.values[place]) for each, place in zip(deviations, places, strict=True) if each is not None]
    apart, widest = np.abs(found - expected), np.maximum(*spread)
    bad = np.flatnonzero(apart > _SAME_MEAN_SIGMA * widest + _SAME_MEAN)
    if len(bad):
        sigma = apart / np.maximum(widest, STD_FLOOR)
        worst = int(bad[np.argmax(sigma[bad])])
        values = {"index": places[1].start + worst, "place": places[0].start + worst, "sigma": float(sigma[worst])}
        values |= {"found": found[worst], "expected": expected[worst], "more": and_more(len(bad) - 1, "numbers")}
        pointer = json_pointer("MuY", places[1].start + worst)
        yield OUTPUT_MEAN_NOT_OF_STATE.at(view.path, pointer, bone=view.bone(worst // 6), **values)
