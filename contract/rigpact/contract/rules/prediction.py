"""RP630-RP649: what the numbers of a teacher prediction mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rigpact.contract.findings import Finding, Rule, Severity
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.rotation6d import identity_rot6d, rot6d_defect, rot6d_to_matrix, rotation_angle_rad
from rigpact.contract.rules.teacher import TeacherView
from rigpact.contract.rules.view import BundleView, is_finite_float32
from rigpact.contract.rules.wording import and_more
from rigpact.contract.statistics import STD_FLOOR, FloatArray

Y_RAW_DIFFERS = Rule(
    code="RP630",
    name="y-raw-differs",
    severity=Severity.ERROR,
    message="y_raw[{row}][{column}] = {found:.8g}, but y_norm·StdY + MuY = {expected:.8g} ({where};"
    " rounding explains {bound:.1e}){more}",
    hint="export the prediction again with this bundle",
    why="y_raw was made with other statistics: comparing the engine with it blames the engine",
)
PREDICTION_HOLDS_RESIDUAL = Rule(
    code="RP631",
    name="prediction-holds-residual",
    severity=Severity.ERROR,
    message="prediction.y_norm is the network's residual, not a pose: composed onto the state it misses the next"
    " teacher pose by {residual_deg:.2f}° on average, read as a pose by {pose_deg:.2f}°",
    hint="record (encode(R_next) − MuY) / StdY; or keep the file as a recording of the network's output",
    why="the engine plays y_norm as a pose: the character twitches about its mean pose",
)
RULES = (Y_RAW_DIFFERS, PREDICTION_HOLDS_RESIDUAL)

_STATE, _Y_NORM, _Y_RAW = ("teacher", "state_norm"), ("prediction", "y_norm"), ("prediction", "y_raw")
_UNIT_ROUNDOFF = 2.0**-24


def check_prediction(file: TeacherView, bundle: BundleView) -> Iterator[Finding]:
    """Yield where a prediction's numbers contradict each other or the bundle's statistics."""
    yield from _check_y_raw(file, bundle)
    yield from _check_meaning(file, bundle)


def _y_statistics(bundle: BundleView, width: int) -> tuple[FloatArray, FloatArray] | None:
    mean, std = bundle.statistic("MuY", bundle.output), bundle.statistic("StdY", bundle.output)
    if mean is None or std is None or len(mean.values) != width:
        return None
    return (mean.values, std.values) if is_finite_float32(mean.values) and is_finite_float32(std.values) else None


def _check_y_raw(file: TeacherView, bundle: BundleView) -> Iterator[Finding]:
    y_norm, y_raw = file.finite(_Y_NORM), file.finite(_Y_RAW)
    if y_norm is None or y_raw is None or y_norm.shape != y_raw.shape:
        return
    statistics = _y_statistics(bundle, y_norm.shape[1])
    if statistics is None:
        return
    mean, std = statistics
    expected, bound = y_norm * std + mean, _rounding(y_norm * std, mean)
    wrong = np.argwhere(np.abs(expected - y_raw) > bound)
    if len(wrong):
        row, column = (int(index) for index in wrong[0])
        array = bundle.statistic("MuY", bundle.output)
        values = {"row": row, "column": column, "where": array.where(column) if array else ""}
        values |= {"found": y_raw[row, column], "expected": expected[row, column], "bound": bound[row, column]}
        more = and_more(len(wrong) - 1, "in this array")
        yield Y_RAW_DIFFERS.at(file.path, json_pointer(*_Y_RAW, row, column), more=more, **values)


def _rounding(scaled: FloatArray, mean: FloatArray) -> FloatArray:
    """How far y_norm·std + mean may be from its exact value when float32 computed it; scaled is y_norm·std.

    Two roundings, of the product and of the sum: at most 2u(|y·s| + |m|), u = 2^-24. Twice that, because y_norm and std
    may each have been rounded once more on their way into the file.
    """
    bound: FloatArray = 4 * _UNIT_ROUNDOFF * (np.abs(scaled) + np.abs(mean))
    return bound


@dataclass(frozen=True, eq=False)
class _Motion:
    """What both readings of y_norm need, for all rows but the last, which has no next teacher pose in the file.

    poses, next_poses: (T, B, 3, 3) teacher rotations; steps: (T, B, 6) y_norm·StdY; means: (B, 6) MuY.
    """

    poses: FloatArray
    next_poses: FloatArray
    steps: FloatArray
    means: FloatArray

    @property
    def is_encoded(self) -> bool:
        """Whether `steps + means` are columns of rotations, as a recorded pose is, up to the rounding of its recording.

        Each number is within the denormalisation's rounding of a component of a unit vector, so a length or a product
        of two columns is within 6 times the largest of them (three components, each twice); encoding rounds once more.
        """
        rounding = float(_rounding(self.steps, self.means).max()) + _UNIT_ROUNDOFF
        return float(rot6d_defect(self.steps + self.means).max()) <= 6 * rounding


def _check_meaning(file: TeacherView, bundle: BundleView) -> Iterator[Finding]:
    motion, columns = _motion(file, bundle), bundle.columns
    if motion is None or motion.is_encoded:
        return
    delta = rot6d_to_matrix(motion.steps + identity_rot6d(columns), columns)
    residual_deg = _mean_miss_deg(delta @ motion.poses, motion.next_poses)
    pose_deg = _mean_miss_deg(rot6d_to_matrix(motion.steps + motion.means, columns), motion.next_poses)
    if residual_deg < pose_deg:
        values = {"residual_deg": residual_deg, "pose_deg": pose_deg}
        yield PREDICTION_HOLDS_RESIDUAL.at(file.path, json_pointer(*_Y_NORM), **values)


def _motion(file: TeacherView, bundle: BundleView) -> _Motion | None:
    states, y_norm, output = file.finite(_STATE), file.finite(_Y_NORM), bundle.output
    poses = None if states is None else _state_rotations(states, bundle)
    if poses is None or y_norm is None or not 2 <= len(poses) == len(y_norm):
        return None
    statistics = _y_statistics(bundle, y_norm.shape[1])
    if statistics is None or output is None or ROTATIONS not in output:
        return None
    channels, (mean, std), bones = output[ROTATIONS].range, statistics, poses.shape[1]
    steps, means = (y_norm * std)[:-1, channels], mean[channels]
    if steps.shape[1] != 6 * bones:
        return None
    return _Motion(poses[:-1], poses[1:], steps.reshape(-1, bones, 6), means.reshape(bones, 6))


def _state_rotations(states: FloatArray, bundle: BundleView) -> FloatArray | None:
    """The pose of each state row, (T, B, 3, 3); rotations are not squashed, so their z-score alone is undone."""
    mean, std = bundle.statistic("MuX", bundle.state), bundle.statistic("StdX", bundle.state)
    if mean is None or std is None or ROTATIONS not in mean.layout or states.shape[1] != mean.layout.width:
        return None
    if not is_finite_float32(mean.values) or not is_finite_float32(std.values):
        return None
    channels = mean.layout[ROTATIONS].range
    raw = states * np.maximum(np.abs(std.values), STD_FLOOR) + mean.values
    rotations = raw[:, channels]
    if rotations.shape[1] % 6:
        return None
    return rot6d_to_matrix(rotations.reshape(len(states), -1, 6), bundle.columns)


def _mean_miss_deg(found: FloatArray, expected: FloatArray) -> float:
    return float(np.degrees(rotation_angle_rad(found @ np.swapaxes(expected, -1, -2)).mean()))
