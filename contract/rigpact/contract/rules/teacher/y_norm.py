"""The meanings of the rows of `prediction.y_norm`: poses, the network's residuals, poses that were never normalised.

This module holds no rules; prediction.py and recorded_output.py have them.
"""

from dataclasses import dataclass

import numpy as np

from rigpact.contract.layout import ROTATIONS
from rigpact.contract.rotation6d import (
    identity_rot6d,
    rot6d_defect,
    rot6d_to_matrix,
    rotation_angle_rad,
    transposed,
)
from rigpact.contract.rules.views.bundle import BundleView, is_finite_float32
from rigpact.contract.rules.views.rows import Y_NORM, Rows
from rigpact.contract.statistics import FloatArray

UNIT_ROUNDOFF = 2.0**-24
SAME_DEG = 1e-3
"""Two poses that agree to this came from the same numbers: float32 rounding is 1e-5 degrees, and no network is so exact."""


def y_statistics(bundle: BundleView, width: int) -> tuple[FloatArray, FloatArray] | None:
    """MuY and StdY; None if they cannot be read, or are of another width."""
    mean, std = bundle.statistic("MuY", bundle.output), bundle.statistic("StdY", bundle.output)
    if mean is None or std is None or len(mean.values) != width:
        return None
    return (mean.values, std.values) if is_finite_float32(mean.values) and is_finite_float32(std.values) else None


def denorm_rounding(scaled: FloatArray, mean: FloatArray) -> FloatArray:
    """How far y_norm·std + mean may be from its exact value when float32 computed it; scaled is y_norm·std.

    Two roundings, of the product and of the sum: at most 2u(|y·s| + |m|), u = 2^-24. Twice that, because y_norm and std
    may each have been rounded once more on their way into the file.
    """
    bound: FloatArray = 4 * UNIT_ROUNDOFF * (np.abs(scaled) + np.abs(mean))
    return bound


@dataclass(frozen=True, eq=False)
class Motion:
    """What every reading of y_norm needs, for all rows but the last, which has no next teacher pose in the file.

    poses, next_poses: (T, B, 3, 3) teacher rotations; recorded: (T, B, 6) y_norm; steps: y_norm·StdY; means: (B, 6) MuY.
    """

    poses: FloatArray
    next_poses: FloatArray
    recorded: FloatArray
    steps: FloatArray
    means: FloatArray

    @property
    def is_encoded(self) -> bool:
        """Whether `steps + means` are columns of rotations, as a recorded pose is, up to the rounding of its recording.

        Each number is within the denormalisation's rounding of a component of a unit vector, so a length or a product
        of two columns is within 6 times the largest of them (three components, each twice); encoding rounds once more.
        """
        rounding = float(denorm_rounding(self.steps, self.means).max()) + UNIT_ROUNDOFF
        return float(rot6d_defect(self.steps + self.means).max()) <= 6 * rounding


def motion_of(rows: Rows) -> Motion | None:
    """The teacher's motion beside `y_norm`; None where one of them cannot be read."""
    y_norm, output, poses = rows.file.finite(Y_NORM), rows.bundle.output, rows.poses
    if poses is None or y_norm is None or not 2 <= len(poses) == len(y_norm):
        return None
    statistics = y_statistics(rows.bundle, y_norm.shape[1])
    if statistics is None or output is None or ROTATIONS not in output:
        return None
    channels, (mean, std), bones = output[ROTATIONS].range, statistics, poses.shape[1]
    recorded, steps = (values[:-1, channels] for values in (y_norm, y_norm * std))
    if steps.shape[1] != 6 * bones:
        return None
    recorded, steps = (each.reshape(-1, bones, 6) for each in (recorded, steps))
    return Motion(poses[:-1], poses[1:], recorded, steps, mean[channels].reshape(bones, 6))


def mean_miss_deg(found: FloatArray, expected: FloatArray) -> float:
    """The mean angle between two arrays of rotations."""
    return float(np.degrees(rotation_angle_rad(found @ transposed(expected)).mean()))


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


def readings(rows: Rows) -> Readings | None:
    """The readings of `y_norm`; None where they cannot be told, or where the rows are exactly those of recorded poses."""
    motion, columns = motion_of(rows), rows.bundle.columns
    if motion is None or motion.is_encoded:
        return None
    delta = rot6d_to_matrix(motion.steps + identity_rot6d(columns), columns)
    pose, raw = (rot6d_to_matrix(six, columns) for six in (motion.steps + motion.means, motion.recorded))
    return Readings(*(mean_miss_deg(found, motion.next_poses) for found in (delta @ motion.poses, pose, raw)))
