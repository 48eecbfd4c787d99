"""RP620, RP630-RP639: what the numbers of a teacher prediction mean."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rigpact.contract.documents import Kind
from rigpact.contract.findings import Finding, Rule
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.rotation6d import (
    rotation_angle_rad,
    rotation_vector,
    transposed,
)
from rigpact.contract.rules.family import Family, Need, on_rows, rules_in
from rigpact.contract.rules.teacher.teacher_rows import not_poses
from rigpact.contract.rules.teacher.y_norm import (
    SAME_DEG,
    UNIT_ROUNDOFF,
    denorm_rounding,
    mean_miss_deg,
    readings,
    y_statistics,
)
from rigpact.contract.rules.views.bundle import member
from rigpact.contract.rules.views.rows import Y_NORM, Y_RAW, Rows
from rigpact.contract.rules.wording import first_of
from rigpact.contract.statistics import FloatArray

Y_RAW_DIFFERS = Rule.titled(
    "RP630 error y-raw-differs",
    message="y_raw[{row}][{column}] = {found:.8g}, but y_norm·StdY + MuY = {expected:.8g} ({where}; rounding explains"
    " {bound:.1e}){more}",
    hint="export the prediction again with this bundle",
    why="y_raw was made with other statistics: comparing the engine with it blames the engine",
)
PREDICTION_HOLDS_RESIDUAL = Rule.titled(
    "RP631 error prediction-holds-residual",
    message="prediction.y_norm is the network's residual, not a pose: composed onto the state it misses the next teacher pose by"
    " {residual_deg:.2f}° on average, read as a pose by {pose_deg:.2f}°",
    hint="record (encode(R_next) − MuY) / StdY; or keep the file as a recording of the network's output",
    why="the engine plays y_norm as a pose: the character twitches about its mean pose",
)
PREDICTION_NOT_NORMALISED = Rule.titled(
    "RP620 error prediction-not-normalised",
    message="prediction.y_norm is a pose that was never normalised: as it stands it misses the next teacher pose by"
    " {raw_deg:.2f}° on average, un-normalised with MuY and StdY by {pose_deg:.2f}°",
    hint="record (encode(R_next) − MuY) / StdY in y_norm; the pose itself belongs in y_raw",
    why="the engine un-normalises y_norm once more: every bone lies near its mean pose, whatever the network said",
)
NOT_A_POSE = Rule.titled(
    "RP632 warning prediction-not-a-pose",
    message="prediction.y_norm, row {row}, {bone}: un-normalised with MuY and StdY, its columns are {defect:.3g} from those of a"
    " rotation{more}",
    hint="record the pose after reprojection, (encode(R_next) − MuY) / StdY",
    why="the pose that is compared with the engine's is not the one that the engine can reach",
)
COMPOSED_WITH_TARGET = Rule.titled(
    "RP633 error prediction-composed-with-target",
    message="the predicted steps are {slope:.2f} times the true ones (± {spread:.2f}): the network's rotation was composed with"
    " the target pose, not with the current one; the reported error of {error_deg:.3f}° is the size of that rotation, not an"
    " error",
    hint="compose with the pose of row t; the target of row t is the pose of row t+1",
    why="the answer leaks into the prediction: the number says nothing about the network, and the engine's pose, composed"
    " rightly, seems to differ",
)
DIAGNOSTICS_DIFFER = Rule.titled(
    "RP634 warning diagnostics-not-reproducible",
    message="diagnostics.{key} is {found:.6g}, the rows of the file give {expected:.6g} (or within {slack:.2g} of it)",
    hint="recompute the diagnostics after the last change of the rows",
    why="a model is chosen by this number; it belongs to another prediction",
    follows=("RP633",),
)
WORSE_THAN_COPYING = Rule.titled(
    "RP635 warning prediction-worse-than-copying",
    message="the prediction misses the next pose by {model_deg:.4f}° on average, the unchanged current pose by {copy_deg:.4f}°",
    hint="a network that does nothing would score better; look at RP631 and RP633 first, then at the training",
    why="in the game such a network adds shaking to the character",
    follows=("RP633", "RP636", "RP637"),
)
PREDICTION_FROZEN = Rule.titled(
    "RP636 error prediction-frozen",
    message="all {count} rows of prediction.y_norm are one pose, while the teacher moves by {step_deg:.3f}° a frame",
    hint="the rollout recorded its first answer again and again, or fed the same inputs",
    why="the character stands still in playback, and every comparison is with one frame",
)
EQUALS_TARGET = Rule.titled(
    "RP637 error prediction-equals-target",
    message="prediction.y_norm is its own target: {worst_deg:.2g}° away at most, while the teacher moves by {step_deg:.3f}° a"
    " frame",
    hint="the rollout wrote the target instead of the network's pose",
    why="the error of zero says nothing about the network, and no engine can agree with it",
)

NOT_POSES = (PREDICTION_HOLDS_RESIDUAL, PREDICTION_NOT_NORMALISED)
"""Of a prediction with such a finding, `y_norm` read as the contract says is no pose: nobody draws one."""
SAY_NOTHING = (*NOT_POSES, COMPOSED_WITH_TARGET)
"""Of a prediction with such a finding, the distance from the next pose says nothing of its network."""
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


def is_worse_than_copying(error_deg: float, copied_deg: float) -> bool:
    """Whether a network that does nothing would score better: mean errors against the next pose, of it and of the last pose."""
    return error_deg > copied_deg > _STILL_DEG


def check_prediction(rows: Rows) -> Iterator[Finding]:
    """Yield where a prediction's numbers contradict each other, the bundle's statistics or the teacher's rows."""
    if rows.file.document.kind is not Kind.TEACHER_PREDICTION:
        return
    yield from _check_y_raw(rows)
    misread = list(_check_meaning(rows))
    yield from misread
    if not misread:
        yield from _check_columns(rows)
        poses, following, predicted = rows.poses, rows.next_poses, rows.predicted
        if poses is None or following is None or predicted is None or not 3 <= len(poses) == len(predicted):
            return
        count = len(following)
        if following.shape[1:] != predicted.shape[1:] or count > len(poses):
            return
        judged = _Judged(poses[:count], following, predicted[:count])
        if judged.step_deg > _STILL_DEG:
            yield from _check_steps(rows, judged)
        yield from _check_diagnostics(rows, judged)


FAMILY = Family(__name__, rules_in(globals()), (Need.PREDICTION, Need.BUNDLE), on_rows(check_prediction))


def _check_y_raw(rows: Rows) -> Iterator[Finding]:
    file, bundle = rows.file, rows.bundle
    y_norm, y_raw = file.finite(Y_NORM), file.finite(Y_RAW)
    if y_norm is None or y_raw is None or y_norm.shape != y_raw.shape:
        return
    statistics = y_statistics(bundle, y_norm.shape[1])
    if statistics is None:
        return
    mean, std = statistics
    expected, bound = y_norm * std + mean, denorm_rounding(y_norm * std, mean)
    for (row, column), more in first_of(np.abs(expected - y_raw) > bound, "in this array"):
        array = bundle.statistic("MuY", bundle.output)
        values = {"row": row, "column": column, "where": array.where(column) if array else ""}
        values |= {"found": y_raw[row, column], "expected": expected[row, column], "bound": bound[row, column]}
        yield Y_RAW_DIFFERS.at(file.path, (*Y_RAW, row, column), more=more, **values)


def _check_meaning(rows: Rows) -> Iterator[Finding]:
    found = readings(rows)
    if found is None:
        return
    pointer = json_pointer(*Y_NORM)
    if found.holds_poses_as_they_are:
        yield PREDICTION_NOT_NORMALISED.at(rows.path, pointer, raw_deg=found.raw_deg, pose_deg=found.pose_deg)
    elif found.holds_residuals:
        values = {"residual_deg": found.residual_deg, "pose_deg": found.pose_deg}
        yield PREDICTION_HOLDS_RESIDUAL.at(rows.path, pointer, **values)


def _check_columns(rows: Rows) -> Iterator[Finding]:
    if rows.predicted_columns is None:
        return
    yield from not_poses(NOT_A_POSE, rows, rows.predicted_columns, Y_NORM)


@dataclass(frozen=True, eq=False)
class _Judged:
    """Predicted poses beside the current and the next ones of the same rows, each (T, B, 3, 3)."""

    current: FloatArray
    following: FloatArray
    predicted: FloatArray

    @cached_property
    def step_deg(self) -> float:
        """How far the unchanged pose misses the next one."""
        return mean_miss_deg(self.current, self.following)

    @cached_property
    def errors_deg(self) -> FloatArray:
        """The angle between predicted and next pose, (T, B)."""
        angles: FloatArray = np.degrees(rotation_angle_rad(self.predicted @ transposed(self.following)))
        return angles

    def slope(self) -> tuple[float, float]:
        """Least squares of predicted on true steps, as rotation vectors, and the slope's standard error by frames."""
        true = rotation_vector(self.following @ transposed(self.current))
        said = rotation_vector(self.predicted @ transposed(self.current))
        products, powers = (said * true).sum(axis=(1, 2)), (true**2).sum(axis=(1, 2))
        power = float(powers.sum())
        slope = float(products.sum()) / power
        return slope, float(np.sqrt(np.sum((products - slope * powers) ** 2))) / power


def _check_steps(rows: Rows, judged: _Judged) -> Iterator[Finding]:
    pointer, step, error = json_pointer(*Y_NORM), judged.step_deg, float(judged.errors_deg.mean())
    worst = float(judged.errors_deg.max())
    if worst < SAME_DEG:
        yield EQUALS_TARGET.at(rows.path, pointer, worst_deg=worst, step_deg=step)
        return
    if float(np.ptp(judged.predicted, axis=0).max()) < UNIT_ROUNDOFF:
        yield PREDICTION_FROZEN.at(rows.path, pointer, count=len(judged.predicted), step_deg=step)
        return
    slope, spread = judged.slope()
    if slope > max(_LARGEST_SLOPE, 1 + _SPREADS * spread):
        yield COMPOSED_WITH_TARGET.at(rows.path, pointer, slope=slope, spread=spread, error_deg=error)
    if is_worse_than_copying(error, step):
        yield WORSE_THAN_COPYING.at(rows.path, pointer, model_deg=error, copy_deg=step)


def _check_diagnostics(rows: Rows, judged: _Judged) -> Iterator[Finding]:
    """Compare the file's own diagnostics with its rows; the target of the last row may be absent."""
    unknown = 1 - len(judged.following) / len(rows.poses if rows.poses is not None else judged.following)
    errors = judged.errors_deg
    found = member(rows.file.document.data, "diagnostics", "GeoDeg")
    expected = float(errors.mean())
    clamped = float(np.maximum(errors, _ACOS_FLOOR_DEG).mean())
    slack = clamped - expected + _DIAGNOSTIC * clamped + 2 * unknown * float(errors.mean(axis=1).max())
    if _is_number(found) and abs(found - expected) > slack:
        values = {"key": "GeoDeg", "found": float(found), "expected": expected, "slack": slack}
        yield DIAGNOSTICS_DIFFER.at(rows.path, "/diagnostics/GeoDeg", **values)
    squares = _squared_errors(rows, judged)
    found = member(rows.file.document.data, "diagnostics", "MSEnormY")
    if squares is not None and _is_number(found):
        expected = float(squares.mean())
        slack = _DIAGNOSTIC * expected + 2 * unknown * float(squares.max())
        if abs(found - expected) > slack:
            values = {"key": "MSEnormY", "found": float(found), "expected": expected, "slack": slack}
            yield DIAGNOSTICS_DIFFER.at(rows.path, "/diagnostics/MSEnormY", **values)


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and bool(np.isfinite(value))  # type: ignore[call-overload]


def _squared_errors(rows: Rows, judged: _Judged) -> FloatArray | None:
    """Mean squared error of each row in units of StdY, (T,), rotations only; None if the output holds more."""
    std = rows.bundle.statistic("StdY", rows.bundle.output)
    targets = rows.target_columns if rows.target_columns is not None else rows.columns
    said, output = rows.predicted_columns, rows.bundle.output
    if std is None or targets is None or said is None or output is None or len(std.values) != output[ROTATIONS].size:
        return None
    scale = rows.bundle.rotations_of(std.values, output)
    if scale is None or not (np.abs(scale) > 0).all():
        return None
    count = len(judged.following)
    following = targets if rows.target_columns is not None else targets[1:]
    squares: FloatArray = (((said[:count] - following) / scale) ** 2).mean(axis=(1, 2))
    return squares
