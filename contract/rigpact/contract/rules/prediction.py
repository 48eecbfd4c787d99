"""RP620, RP630-RP644: what the numbers of a teacher prediction mean, and the pose history of teacher files.

Angles between poses are means over bones. A history entry is a certain pose if it differs from it by less than a tenth of
the motion from one frame to the next. A clip without motion decides nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.documents import Kind
from rigpact.contract.findings import Finding, Rule
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.rules.bundle_view import BundleView, known, member, need
from rigpact.contract.rules.family import Need, Rules, findings_of
from rigpact.contract.rules.motion_view import Y_NORM, Y_RAW, Rows
from rigpact.contract.rules.teacher_rows import not_poses
from rigpact.contract.rules.wording import at_first, first_of
from rigpact.contract.skeleton import (
    identity_rot6d,
    rot6d_defect,
    rot6d_to_matrix,
    rotation_angle_rad,
    rotation_vector,
    transposed,
)
from rigpact.contract.statistics import FloatArray

rules = Rules("prediction")


NOT_POSES = (rules.PREDICTION_HOLDS_RESIDUAL, rules.PREDICTION_NOT_NORMALISED)
"""Of a prediction with such a finding, `y_norm` read as the contract says is no pose: nobody draws one."""
SAY_NOTHING = (*NOT_POSES, rules.COMPOSED_WITH_TARGET)
"""Of a prediction with such a finding, the distance from the next pose says nothing of its network."""
UNIT_ROUNDOFF = 2.0**-24
SAME_DEG = 1e-3
"""Two poses that agree to this came from the same numbers: float32 rounding is 1e-5 degrees, and no network is so exact."""
_STILL_DEG = 0.01
"""A teacher that moves less in a frame is at rest, and its steps cannot be judged."""
_LARGEST_SLOPE = 1.2
"""A fit of predicted on true steps has slope 0 for copying and 1 for the truth; squared-error training shrinks it below
1. Composed with the target it is 1 more. A fifth is left for networks that overshoot."""
_SPREADS = 4.0
"""The slope must also be beyond 1 by this many of its standard errors, frames taken as independent."""
_ACOS_FLOOR_DEG = float(np.degrees(np.arccos(1 - 1e-6)))
"""The training side clamps the cosine: it reports 0.081 degrees for anything smaller."""
_DIAGNOSTIC = 0.01
"""Diagnostics are means of float32 numbers, averaged in batches: a percent."""


def y_statistics(bundle: BundleView, width: int) -> tuple[FloatArray, FloatArray]:
    """MuY and StdY; `Unread` if they cannot be read, or are of another width."""
    mean, std = (bundle.finite(key, bundle.output).values for key in ("MuY", "StdY"))
    return need(mean, when=len(mean) == width), std


def denorm_rounding(scaled: FloatArray, mean: FloatArray) -> FloatArray:
    """How far y_norm·std + mean may be from its exact value when float32 computed it; scaled is y_norm·std.

    Two roundings, of the product and of the sum: at most 2u(|y·s| + |m|), u = 2^-24. Twice that, because y_norm and std
    may each have been rounded once more on their way into the file.
    """
    return np.asarray(4 * UNIT_ROUNDOFF * (np.abs(scaled) + np.abs(mean)))


def miss_deg(found: FloatArray, expected: FloatArray) -> FloatArray:
    """The angles between two arrays of rotations, (..., 3, 3)."""
    return np.asarray(np.degrees(rotation_angle_rad(found @ transposed(expected))))


@dataclass(frozen=True)
class Readings:
    """How far each reading of `y_norm` misses the next teacher pose on average, in degrees."""

    residual_deg: float
    pose_deg: float
    raw_deg: float

    @property
    def holds_poses_as_they_are(self) -> bool:
        """Whether the rows are poses that were never normalised."""
        return self.raw_deg < min(self.residual_deg, self.pose_deg)

    @property
    def holds_residuals(self) -> bool:
        """Whether the rows are the network's residuals."""
        return not self.holds_poses_as_they_are and self.residual_deg < self.pose_deg


def readings(rows: Rows) -> Readings:
    """The readings of `y_norm`; `Unread` where they cannot be told, or where the rows are exactly those of recorded poses."""
    poses, y_norm, output = rows.poses, rows.file.rows_at(Y_NORM), need(rows.bundle.output)
    need(poses, when=2 <= len(poses) == len(y_norm))
    mean, std = y_statistics(rows.bundle, y_norm.shape[1])
    channels, bones, columns = (
        need(output, when=ROTATIONS in output)[ROTATIONS].range,
        poses.shape[1],
        rows.bundle.columns,
    )
    # all rows but the last, which has no next teacher pose in the file
    recorded, steps = (values[:-1, channels] for values in (y_norm, y_norm * std))
    need(steps, when=steps.shape[1] == 6 * bones)
    recorded, steps, means = (each.reshape(-1, bones, 6) for each in (recorded, steps, mean[channels]))
    # Recorded poses are columns of rotations up to the rounding of their recording: each number is within that of the
    # denormalisation of a component of a unit vector, so a length or a product of two columns is within 6 times the
    # largest of them (three components, each twice); encoding rounds once more.
    rounding = float(denorm_rounding(steps, means).max()) + UNIT_ROUNDOFF
    need(steps, when=float(rot6d_defect(steps + means).max()) > 6 * rounding)
    delta = rot6d_to_matrix(steps + identity_rot6d(columns), columns)
    pose, raw = (rot6d_to_matrix(six, columns) for six in (steps + means, recorded))
    return Readings(*(float(miss_deg(found, poses[1:]).mean()) for found in (delta @ poses[:-1], pose, raw)))


def is_worse_than_copying(error_deg: float, copied_deg: float) -> bool:
    """Whether a network that does nothing would score better: mean errors against the next pose, of it and of the last pose."""
    return error_deg > copied_deg > _STILL_DEG


def _check_prediction(rows: Rows) -> Iterator[Finding]:
    if rows.file.document.kind is Kind.TEACHER_PREDICTION:
        yield from findings_of((_check_y_raw,), rows)
        misread = list(findings_of((_check_meaning,), rows))
        yield from misread or findings_of((_check_columns, _check_poses), rows)


FAMILY = rules.family("FAMILY", (Need.PREDICTION, Need.BUNDLE), _check_prediction)


def _check_y_raw(rows: Rows) -> Iterator[Finding]:
    y_norm, y_raw = rows.file.rows_at(Y_NORM), rows.file.rows_at(Y_RAW)
    mean, std = y_statistics(rows.bundle, need(y_norm, when=y_norm.shape == y_raw.shape).shape[1])
    expected, bound = y_norm * std + mean, denorm_rounding(y_norm * std, mean)
    names = rows.bundle.finite("MuY", rows.bundle.output)
    values = {"where": lambda _, column: names.where(column), "found": y_raw, "expected": expected, "bound": bound}
    bad, place = np.abs(expected - y_raw) > bound, (*Y_RAW, ..., ...)
    yield from at_first(rules.Y_RAW_DIFFERS, rows.path, place, bad, "in this array", "row column", **values)


def _check_meaning(rows: Rows) -> Iterator[Finding]:
    found = readings(rows)
    if found.holds_poses_as_they_are:
        yield rules.PREDICTION_NOT_NORMALISED.at(rows.path, (*Y_NORM,), raw_deg=found.raw_deg, pose_deg=found.pose_deg)
    elif found.holds_residuals:
        values = {"residual_deg": found.residual_deg, "pose_deg": found.pose_deg}
        yield rules.PREDICTION_HOLDS_RESIDUAL.at(rows.path, (*Y_NORM,), **values)


def _check_columns(rows: Rows) -> Iterator[Finding]:
    yield from not_poses(rules.NOT_A_POSE, rows, rows.predicted_columns, Y_NORM)


def _check_poses(rows: Rows) -> Iterator[Finding]:
    poses, following, predicted = rows.poses, rows.next_poses, rows.predicted
    need(poses, when=3 <= len(poses) == len(predicted) and following.shape[1:] == predicted.shape[1:])
    count = need(len(following), when=len(following) <= len(poses))
    current, predicted = poses[:count], predicted[:count]
    errors, step_deg = miss_deg(predicted, following), float(miss_deg(current, following).mean())
    if step_deg > _STILL_DEG:
        yield from _check_steps(rows, (current, following, predicted), errors, step_deg)
    yield from _check_diagnostics(rows, errors)


def _check_steps(
    rows: Rows, judged: tuple[FloatArray, FloatArray, FloatArray], errors: FloatArray, step: float
) -> Iterator[Finding]:
    place, error, worst = (*Y_NORM,), float(errors.mean()), float(errors.max())
    if worst < SAME_DEG:
        yield rules.EQUALS_TARGET.at(rows.path, place, worst_deg=worst, step_deg=step)
        return
    current, following, predicted = judged
    if float(np.ptp(predicted, axis=0).max()) < UNIT_ROUNDOFF:
        yield rules.PREDICTION_FROZEN.at(rows.path, place, count=len(predicted), step_deg=step)
        return
    # least squares of predicted on true steps, as rotation vectors, and the slope's standard error by frames
    true, said = (rotation_vector(each @ transposed(current)) for each in (following, predicted))
    products, powers = (said * true).sum(axis=(1, 2)), (true**2).sum(axis=(1, 2))
    power = float(powers.sum())
    slope = float(products.sum()) / power
    spread = float(np.sqrt(np.sum((products - slope * powers) ** 2))) / power
    if slope > max(_LARGEST_SLOPE, 1 + _SPREADS * spread):
        yield rules.COMPOSED_WITH_TARGET.at(rows.path, place, slope=slope, spread=spread, error_deg=error)
    if is_worse_than_copying(error, step):
        yield rules.WORSE_THAN_COPYING.at(rows.path, place, model_deg=error, copy_deg=step)


def _check_diagnostics(rows: Rows, errors: FloatArray) -> Iterator[Finding]:
    """Compare the file's own diagnostics with its rows; the target of the last row may be absent."""
    unknown = 1 - len(errors) / len(rows.poses)
    clamped = float(np.maximum(errors, _ACOS_FLOOR_DEG).mean())
    slack = clamped - float(errors.mean()) + _DIAGNOSTIC * clamped + 2 * unknown * float(errors.mean(axis=1).max())
    told = {"GeoDeg": (float(errors.mean()), slack)}
    squares = known(lambda: _squared_errors(rows, len(errors)))
    if squares is not None:
        expected = float(squares.mean())
        told["MSEnormY"] = expected, _DIAGNOSTIC * expected + 2 * unknown * float(squares.max())
    for key, (expected, slack) in told.items():
        found = member(rows.file.root, "diagnostics", key)
        if type(found) in (int, float) and np.isfinite(found) and abs(found - expected) > slack:
            values = {"key": key, "found": float(found), "expected": expected, "slack": slack}
            yield rules.DIAGNOSTICS_DIFFER.at(rows.path, ("diagnostics", key), **values)


def _squared_errors(rows: Rows, count: int) -> FloatArray:
    """Mean squared error of each row in units of StdY, (T,), rotations only; `Unread` if the output holds more."""
    output, std = need(rows.bundle.output), need(rows.bundle.statistic("StdY", rows.bundle.output))
    scale = rows.bundle.rotations_of(need(std, when=len(std.values) == output[ROTATIONS].size).values, output)
    following = rows.columns[1:] if rows.target_columns is None else rows.target_columns
    need(scale, when=bool((np.abs(scale) > 0).all()))
    return np.asarray((((rows.predicted_columns[:count] - following) / scale) ** 2).mean(axis=(1, 2)))


_PART_OF_A_STEP = 0.1
"""An entry is a pose when it is nearer than a tenth of the step from frame to frame; float32 rounding is 1e-5 of it."""
_STILL_RAD = np.radians(0.01)
"""A mean step below this is a character at rest: all frames are one pose."""
_MOST = 0.9
"""Rows at the start are padded. A reading is right if nine in ten of the other rows agree with it."""


@dataclass(frozen=True, eq=False)
class _History:
    """history: (T, H, B, 3, 3); poses: (T, B, 3, 3) of the rows. nearest: closer than this an entry is a pose, radians."""

    path: Path
    place: tuple[str, ...]
    history: FloatArray
    poses: FloatArray
    nearest: float

    def share(self, entry: int, lag: int) -> float:
        """In what part of the rows (those past the start) an entry is the pose `lag` rows later."""
        rows = np.arange(self.history.shape[1], len(self.poses))
        rows = rows[(rows + lag >= 0) & (rows + lag < len(self.poses))]
        apart = _apart(self.history[rows, entry], self.poses[rows + lag])
        return float((apart < self.nearest).mean()) if len(rows) else 0.0

    def finding(self, rule: Rule, *row: int, **values: Any) -> Finding:
        """Make a finding about the history, or about a row of it."""
        return rule.at(self.path, (*self.place, *row), array=".".join(self.place), **values)

    def start_said(self) -> dict[str, str]:
        """The convention that fills what stands before the clip with its second pose, if this one does."""
        is_second = _apart(self.history[0], self.poses[1][None]) < self.nearest
        return {"pose_history_start": "first_target"} if is_second.all() else {}


def _apart(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(rotation_angle_rad(a @ transposed(b)).mean(axis=-1))


def _check_history(rows: Rows) -> Iterator[Finding]:
    frames, poses = rows.history, rows.poses
    need(frames, when=len(frames) == len(poses) >= frames.shape[1] + 2 and frames.shape[2:] == poses.shape[1:])
    step_rad = float(_apart(poses[1:], poses[:-1]).mean())
    nearest = _PART_OF_A_STEP * need(step_rad, when=step_rad >= _STILL_RAD)
    history = _History(rows.path, rows.aux_path("pose_hist_norm"), frames, poses, nearest)
    newest = frames.shape[1] - 1
    yield from _check_start(history) if history.share(newest, 0) >= _MOST else _check_order(history, newest)


HISTORY = rules.family("HISTORY", (Need.ROWS, Need.BUNDLE), _check_history)


def _check_order(history: _History, newest: int) -> Iterator[Finding]:
    turned = min(history.share(0, 0), history.share(newest, -newest))
    if newest and turned >= _MOST:
        yield history.finding(
            rules.HISTORY_REVERSED, last=newest, share=turned, says={"pose_history_order": "newest_first"}
        )
        return
    lags = {lag: history.share(newest, lag) for lag in (-1, 1, -2, 2)}
    lag = max(lags, key=lambda candidate: lags[candidate])
    if lags[lag] < _MOST:
        nearest = [_apart(entry[None], history.poses).min() for entry in history.history[:, newest]]
        yield history.finding(rules.HISTORY_UNRELATED, angle_deg=float(np.degrees(np.mean(nearest))))
        return
    says = {"pose_history_phase": "excludes_current"} if lag == -1 else {}
    yield history.finding(rules.HISTORY_PHASE, lag=lag, share=lags[lag], says=says)
    if lag == 1:
        yield from _check_target(history)


def _check_start(history: _History) -> Iterator[Finding]:
    yield from _check_target(history)
    length = history.history.shape[1]
    for row in range(min(length, len(history.poses))):
        apart = _apart(history.history[row], history.poses[:1])[: length - 1 - row]
        for (entry,), _ in first_of(apart > history.nearest, ""):
            values = {"row": row, "entry": entry, "angle_deg": np.degrees(apart[entry]), "says": history.start_said()}
            yield history.finding(rules.HISTORY_START, row, **values)
            return


def _check_target(history: _History) -> Iterator[Finding]:
    """The newest entry is the next pose, and the next pose is not the current one."""
    newest, poses, nearest = history.history[:-1, -1], history.poses, history.nearest
    target, current, step = _apart(newest, poses[1:]), _apart(newest, poses[:-1]), _apart(poses[1:], poses[:-1])
    bad = (target < nearest) & (current > nearest) & (step > nearest)
    for (row,), more in first_of(bad, "rows"):
        says = history.start_said() if np.flatnonzero(bad)[-1] < history.history.shape[1] else {}
        values = {"angle_deg": np.degrees(target[row]), "step_deg": float(np.degrees(step[row])), "says": says}
        yield history.finding(rules.HISTORY_HOLDS_TARGET, row, row=row, more=more, **values)
