"""How far two correct implementations differ in what the network is given: state, condition, angular velocity, history.

tolerances.py says what these bounds are, and has those of the network's answer and of all that follows from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rigpact.contract.bundle import Contract
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROOT_YAW, ROTATIONS
from rigpact.contract.statistics import (
    AUXILIARY_SCALE_FLOOR,
    FloatArray,
    SquashedStatistics,
    Statistics,
    unit_statistics,
)
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.definitions.scaling import FUNCTIONS, unscored
from rigpact.reference_runtime.operations.geometry import length
from rigpact.reference_runtime.operations.normalisation import YAW, StateNormaliser
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reference_runtime.operations.rotation_bounds import GRAM_SCHMIDT
from rigpact.reference_runtime.operations.rounding import UNIT_ROUNDOFF, gamma
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_result

COPY, AFFINE, TANH, _DIRECTION = 2, 4, 8, 12
"""Operations on the longest path of each stage: a copy is stored twice; tanh(v/s) is a division, a tanh and a store; …"""


def known(frames: Any, stage: str, otherwise: FloatArray) -> FloatArray:
    """A stage's rows where they are known, else others."""
    rows: FloatArray | None = frames.get(stage)
    return otherwise if rows is None else rows


copied = of_result(COPY)
"""Bound of a value that is stored once on each side."""


def raw_state(frames: Any, rows: FloatArray, _bounds: Bounds) -> FloatArray:
    """Bound of a clip's raw state: copied from a raw clip; from a teacher file each side undoes the z-score by itself.

    Where the clip is not known, it may be a teacher file.
    """
    drive = frames.drive if getattr(frames, "has_drive", False) else None
    bound = copied(frames, rows, _bounds)
    return bound if drive is not None and drive.is_raw else np.maximum(bound, _denormalised(frames.contract, rows))


def _denormalised(contract: Contract, rows: FloatArray) -> FloatArray:
    """Bound of x = undo(z·std + mean), for the z of these rows: both ends of the interval of z are undone.

    The product and the sum have errors relative to |z·std| and |mean|: together they are an error of z of
    gamma·(|z| + |mean| / std). The inverse of a feature (a library atanh, a product) has its own rounding.
    """
    normaliser, own = StateNormaliser(contract.with_conventions({"math": "f64"})), contract.state_statistics
    z = normaliser.normalise(rows)
    moved = gamma(AFFINE) * (np.abs(z, dtype=np.float64) + np.abs(own.mean) / own.std_floored)
    return _between(normaliser.denormalise, z, moved) + gamma(TANH) * np.abs(rows, dtype=np.float64)


def _between(function: Callable[[FloatArray], FloatArray], middle: FloatArray, moved: FloatArray) -> FloatArray:
    """The largest change of a monotone function within `moved` of `middle`."""
    at = function(middle.astype(np.float64)).astype(np.float64)
    ends = [function(middle + sign * moved).astype(np.float64) for sign in (-1.0, 1.0)]
    return np.maximum(*(np.abs(end - at) for end in ends))


def _zscore(z: FloatArray, statistics: Statistics, feature_error: FloatArray | None = None) -> FloatArray:
    """Bound of (p - mean) / std: p and mean have their rounding errors, and the difference is divided by std.

    feature_error: absolute error of p beyond its own rounding.
    """
    z = z.astype(np.float64)
    mean, std = statistics.mean.astype(np.float64), statistics.std_floored.astype(np.float64)
    feature = np.abs(unscored(z, mean, std))
    error = gamma(TANH) * feature + gamma(COPY) * np.abs(mean)
    if feature_error is not None:
        error = error + feature_error
    return np.asarray(error / std + gamma(AFFINE) * np.abs(z))


def state(frames: Any, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound of a feature's z-score; a heading near the seam of its encoding may be on either side."""
    contract = frames.contract
    # entries of unit axes have an absolute, not a relative, rounding error
    axis_error = np.zeros(contract.state.width)
    axis_error[contract.state[ROTATIONS].range] = gamma(COPY)
    bound = _zscore(rows, contract.state_statistics, axis_error)
    yaw = contract.state[ROOT_YAW].range
    bound[..., yaw] += _yaw_bound(frames, rows, bound[..., yaw])
    if np.any(bounds.get("x_raw", 0.0)):
        normalise = StateNormaliser(contract.with_conventions({"math": "f64"})).normalise
        bound += _between(normalise, frames["x_raw"], bounds["x_raw"])
    return bound


def _yaw_bound(frames: Any, rows: FloatArray, rounding: FloatArray) -> FloatArray:
    """The part of the heading's bound that comes from wrapping.

    A heading of many turns has its own rounding error, which is larger than the feature's. A heading within rounding of
    ±π may be wrapped to either side: the feature jumps from one end of its range to the other.
    """
    contract = frames.contract
    yaw = contract.state[ROOT_YAW].range
    std = contract.state_statistics.std_floored[yaw].astype(np.float64)
    x_raw = frames.get("x_raw")
    heading = 2.0 * np.pi if x_raw is None else np.abs(x_raw[..., yaw], dtype=np.float64)
    end = YAW[contract.conventions.yaw_encoding].seam
    unit = end or 1.0
    turned = gamma(AFFINE) * heading * unit / np.pi / std
    if end is None:
        return np.asarray(turned)
    feature = np.abs(unscored(rows[..., yaw], contract.state_statistics.mean[yaw], std))
    at_the_seam = np.abs(feature - end) <= end * gamma(TANH) + 4.0 * (rounding + turned) * std
    return np.asarray(np.where(at_the_seam, turned + 2.0 * end / std, turned))


def raw_condition(_frames: Any, rows: FloatArray, _bounds: Bounds) -> FloatArray:
    """Bound of a direction of unit length."""
    return gamma(_DIRECTION) * np.abs(rows, dtype=np.float64) + gamma(COPY) * UNIT_ROUNDOFF


def condition(frames: Any, rows: FloatArray, _bounds: Bounds) -> FloatArray:
    """Bound of the raw condition, or of its z-score over a window."""
    contract = frames.contract
    cond = np.abs(rows, dtype=np.float64)
    if contract.conventions.condition_norm == "raw":
        return gamma(_DIRECTION) * cond + gamma(COPY) * UNIT_ROUNDOFF
    # the window's mean and std, W = 60 samples summed, divided by a std of at least 1e-3
    largest = np.abs(known(frames, "cond_raw", rows), dtype=np.float64).max(axis=0)
    return np.asarray(gamma(60 + _DIRECTION) * (largest / 1e-3 + cond))


def angvel(frames: Any, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound of the state's own slice, or of a squashed rotation vector."""
    contract = frames.contract
    z, source = rows, contract.conventions.angvel_source
    own = contract.state_statistics
    place = contract.state[ANGULAR_VELOCITIES].range
    if source == "zeros":
        return np.zeros(z.shape)
    if contract.angular_velocity is None or source == "state_slice":
        inherited = bounds["state"][..., place] if "state" in bounds else 0.0
        return _zscore(z, Statistics(own.mean[place], own.std[place])) + inherited
    if source == "rotations":  # a difference of two rotations, each with the absolute error gamma(GS), times fps
        return _squashed(z, contract.angular_velocity, np.asarray(gamma(GRAM_SCHMIDT) * contract.fps))
    if contract.conventions.angvel_frame == "local":
        return _squashed(z, contract.angular_velocity, _turned_error(z, contract.angular_velocity))
    return _zscore(z, contract.angular_velocity.statistics)


def _turned_error(z: FloatArray, auxiliary: SquashedStatistics) -> FloatArray:
    """Absolute error of a vector rotated into another frame: each component is a sum over the vector's components."""
    own = auxiliary.statistics
    value, nearest = unscored(z.astype(np.float64), own.mean, own.std_floored), 1.0 - UNIT_ROUNDOFF
    feature = np.clip(value, -nearest, nearest)
    scale = np.maximum(np.abs(auxiliary.scale), AUXILIARY_SCALE_FLOOR).astype(np.float64)
    omega = (scale * FUNCTIONS["arctanh"](feature)).reshape(len(z), -1, 3)
    return np.repeat(gamma(GRAM_SCHMIDT) * length(omega), 3).reshape(z.shape)


def _squashed(z: FloatArray, auxiliary: SquashedStatistics, raw_error: FloatArray) -> FloatArray:
    """Bound of a squashed z-score whose raw value has the absolute error `raw_error`: tanh' = 1 - tanh²."""
    own = auxiliary.statistics
    feature = np.minimum(np.abs(unscored(z.astype(np.float64), own.mean, own.std_floored)), 1.0)
    scale = np.maximum(np.abs(auxiliary.scale), AUXILIARY_SCALE_FLOOR).astype(np.float64)
    shifted = np.minimum(raw_error / scale, 1.0)
    # the slope is taken at the end of the interval nearest to 0, where it is largest
    slope = 1.0 - np.maximum(feature - shifted, 0.0) ** 2
    return _zscore(z, own, slope * shifted)


def raw_history(frames: Any, rows: FloatArray, _bounds: Bounds) -> FloatArray:
    """The engine keeps rotations and encodes them again: unit axes with an absolute rounding error.

    Six numbers of a clip with few decimals are not quite the columns of a rotation. Encoded again they move: by what
    Gram–Schmidt changes. A side that keeps the clip's numbers is right too.
    """
    codec = Rot6d(frames.contract.conventions)
    wide: FloatArray = rows.astype(np.float64)
    again = codec.reproject(wide, wide)
    return np.asarray(gamma(GRAM_SCHMIDT) + np.nan_to_num(np.abs(again - wide)))


def history(frames: Any, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound of the squashed z-score of the raw history, including the error of the raw history where it is not recorded."""
    contract = frames.contract
    z, raw = rows, gamma(AFFINE) + bounds.get("pose_hist_raw", np.zeros(()))
    auxiliary = contract.pose_history or unit_statistics(z.shape[1])
    if contract.conventions.pose_history_norm == "tanh_zscore":
        return _squashed(z, auxiliary, raw)
    scale = np.maximum(np.abs(auxiliary.scale), AUXILIARY_SCALE_FLOOR).astype(np.float64)
    return np.asarray(raw / np.minimum(scale, 1.0) + gamma(TANH) * np.abs(z))
