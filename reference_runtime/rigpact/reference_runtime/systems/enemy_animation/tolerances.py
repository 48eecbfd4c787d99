"""The largest difference of two correct implementations, channel by channel: derived, not chosen.

The rounding model is in operations/rounding.py. Errors are multiplied by the conditioning of the next operation: 1/std
of a z-score, 1/|a| and |b|/|b⊥| of Gram–Schmidt, fps of a finite difference. If a decision is within rounding of its
threshold, both results are correct: the tolerance of a wrapped heading includes both, that of a rotation whose axis may be
lost is infinite, and the value is not judged.

A tolerance is computed from recorded values, so a near-constant channel gets a wide bound and a well-conditioned one a
narrow bound. `stage_tolerances` bounds two runs with the same inputs; upstream bounds are propagated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

import numpy as np

from rigpact.contract.bundle import Contract
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROOT_POSITION, ROOT_VELOCITY, ROOT_YAW, ROTATIONS
from rigpact.contract.statistics import (
    AUXILIARY_SCALE_FLOOR,
    STD_FLOOR,
    FloatArray,
    SquashedStatistics,
    Statistics,
    unit_statistics,
)
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.graph.bounds import KnownFrames, stage_bound
from rigpact.reference_runtime.operations.definitions.scaling import FUNCTIONS, unscored
from rigpact.reference_runtime.operations.geometry import length
from rigpact.reference_runtime.operations.normalisation import YAW, StateNormaliser
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reference_runtime.operations.rotation_bounds import (
    GRAM_SCHMIDT,
    Replacement,
    gram_schmidt_bound,
    rotation_errors,
)
from rigpact.reference_runtime.operations.rounding import UNIT_ROUNDOFF, gamma
from rigpact.reference_runtime.systems.enemy_animation.output import OutputStages, published_before
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_result

_COPY, _AFFINE, _TANH, _DIRECTION, _COMPOSE, _QUATERNION = 2, 4, 8, 12, 32, 24
"""Operations on the longest path of each stage: a copy is stored twice; tanh(v/s) is a division, a tanh and a store; …"""

Values = Mapping[str, FloatArray]


def stage_tolerances(
    contract: Contract, stages: Values, given: Collection[str] = (), entering: Values | None = None
) -> dict[str, FloatArray]:
    """Tolerance of every recorded stage, arrays of the stage's own shape (T, width).

    stages: recorded values by stage name, (T, width). If an upstream stage was not recorded, its bound is that of a
    value stored once. given: stages whose exact values were the inputs of the later stages; no error is inherited from
    them. entering: how far a stage is off already when its frame begins; the later stages inherit it.
    """
    bounds: dict[str, FloatArray] = {}
    upstream: dict[str, FloatArray] = {}
    known = KnownFrames(contract, stages)
    for stage in contract.system.stages:
        if stage.name in stages:
            bounds[stage.name] = stage_bound(stage, known, stages[stage.name], upstream)
            if entering is not None and stage.name in entering:
                bounds[stage.name] = bounds[stage.name] + entering[stage.name]
            upstream[stage.name] = np.zeros_like(bounds[stage.name]) if stage.name in given else bounds[stage.name]
    return bounds


def _known(frames: Any, stage: str, otherwise: FloatArray) -> FloatArray:
    rows: FloatArray | None = frames.get(stage)
    return otherwise if rows is None else rows


copied = of_result(_COPY)
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
    moved = gamma(_AFFINE) * (np.abs(z, dtype=np.float64) + np.abs(own.mean) / own.std_floored)
    return _between(normaliser.denormalise, z, moved) + gamma(_TANH) * np.abs(rows, dtype=np.float64)


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
    error = gamma(_TANH) * feature + gamma(_COPY) * np.abs(mean)
    if feature_error is not None:
        error = error + feature_error
    return np.asarray(error / std + gamma(_AFFINE) * np.abs(z))


def state(frames: Any, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound of a feature's z-score; a heading near the seam of its encoding may be on either side."""
    contract = frames.contract
    # entries of unit axes have an absolute, not a relative, rounding error
    axis_error = np.zeros(contract.state.width)
    axis_error[contract.state[ROTATIONS].range] = gamma(_COPY)
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
    turned = gamma(_AFFINE) * heading * unit / np.pi / std
    if end is None:
        return np.asarray(turned)
    feature = np.abs(unscored(rows[..., yaw], contract.state_statistics.mean[yaw], std))
    at_the_seam = np.abs(feature - end) <= end * gamma(_TANH) + 4.0 * (rounding + turned) * std
    return np.asarray(np.where(at_the_seam, turned + 2.0 * end / std, turned))


def raw_condition(_frames: Any, rows: FloatArray, _bounds: Bounds) -> FloatArray:
    """Bound of a direction of unit length."""
    return gamma(_DIRECTION) * np.abs(rows, dtype=np.float64) + gamma(_COPY) * UNIT_ROUNDOFF


def condition(frames: Any, rows: FloatArray, _bounds: Bounds) -> FloatArray:
    """Bound of the raw condition, or of its z-score over a window."""
    contract = frames.contract
    cond = np.abs(rows, dtype=np.float64)
    if contract.conventions.condition_norm == "raw":
        return gamma(_DIRECTION) * cond + gamma(_COPY) * UNIT_ROUNDOFF
    # the window's mean and std, W = 60 samples summed, divided by a std of at least 1e-3
    largest = np.abs(_known(frames, "cond_raw", rows), dtype=np.float64).max(axis=0)
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
    return np.repeat(gamma(GRAM_SCHMIDT) * length(omega), 3, axis=-1).reshape(z.shape)


def _squashed(z: FloatArray, auxiliary: SquashedStatistics, raw_error: FloatArray) -> FloatArray:
    """Bound of a squashed z-score whose raw value has the absolute error `raw_error`: tanh' = 1 - tanh²."""
    own = auxiliary.statistics
    feature = np.clip(np.abs(unscored(z.astype(np.float64), own.mean, own.std_floored)), 0.0, 1.0)
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
    z, raw = rows, gamma(_AFFINE) + bounds.get("pose_hist_raw", np.zeros(()))
    auxiliary = contract.pose_history or unit_statistics(z.shape[-1])
    if contract.conventions.pose_history_norm == "tanh_zscore":
        return _squashed(z, auxiliary, raw)
    scale = np.maximum(np.abs(auxiliary.scale), AUXILIARY_SCALE_FLOOR).astype(np.float64)
    return np.asarray(raw / np.minimum(scale, 1.0) + gamma(_TANH) * np.abs(z))


def answer(frames: Any, rows: FloatArray, _bounds: Bounds) -> FloatArray:
    """Same weights and inputs, another summation order: inner products are as long as all inputs together."""
    contract = frames.contract
    largest = np.abs(rows, dtype=np.float64).max(axis=-1, keepdims=True)
    return np.asarray(np.broadcast_to(gamma(_network_depth(contract)) * largest, rows.shape))


def y_raw(frames: Any, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound of y_norm · StdY + MuY, including the error of y_norm."""
    contract = frames.contract
    own = contract.output_statistics
    std, mean = np.abs(own.std, dtype=np.float64), np.abs(own.mean, dtype=np.float64)
    value = rows.astype(np.float64)
    upstream = bounds["y_norm"] * std if "y_norm" in bounds else _network_unseen(contract, value, slice(None))
    bound = gamma(_AFFINE) * (np.abs(value) + mean) + upstream
    if len(contract.output.slices) > 1:
        return np.asarray(np.maximum(bound, _undone(frames, rows, gamma(_AFFINE) * (1.0 + mean) + upstream)))
    return np.asarray(bound)


def _undone(frames: Any, rows: FloatArray, bound: FloatArray) -> FloatArray:
    """Bound of slices that invert a feature: atanh is steep near its limit, so both ends of the interval are computed.

    bound: the bound of the feature, which is at most 1.
    """
    contract = frames.contract
    outputs = OutputStages(contract)
    y_norm = frames.get("y_norm")
    if y_norm is None:
        y_norm = outputs.y_norm_of(rows)
    std = np.maximum(np.abs(contract.output_statistics.std, dtype=np.float64), STD_FLOOR)
    middle, low, high = (outputs.y_raw(y_norm + sign * bound / std).astype(np.float64) for sign in (0.0, -1.0, 1.0))
    return np.maximum(np.abs(high - middle), np.abs(low - middle)) + gamma(_TANH) * np.abs(middle)


def _network_unseen(contract: Contract, value: FloatArray, place: slice) -> FloatArray:
    """Bound of y_norm·std if the network's output was not recorded: the resulting pose gives its z.

    value: (T, width) of the output's channels `place`. Channels without spread give no z.
    """
    own = contract.output_statistics
    std, mean = np.abs(own.std[place], dtype=np.float64), own.mean[place].astype(np.float64)
    z = np.abs(value - mean) / np.maximum(std, STD_FLOOR)
    return np.asarray(gamma(_network_depth(contract)) * z.max(axis=-1, keepdims=True) * std)


def _network_depth(contract: Contract) -> int:
    """Longest inner product that the network can have at its inputs: all five vectors together."""
    return sum(width for width in contract.input_widths.values() if width)


def _delta_axes(frames: Any, codec: Rot6d) -> Replacement:
    """What stands for a lost axis of ΔR."""
    return Replacement(codec.delta_guard, partial(_spare_axes, frames, codec, keeps=codec.delta_keeps_axes))


def _pose_axes(frames: Any, codec: Rot6d) -> Replacement:
    """What stands for a lost axis of a published pose."""
    return Replacement(codec.reproject_guard, partial(_spare_axes, frames, codec, keeps=codec.pose_keeps_axes))


def _spare_axes(frames: Any, codec: Rot6d, *, keeps: bool) -> FloatArray:
    return published_before(frames, codec) if keeps else codec.identity(frames.contract.bone_count)


def _spread(per_bone: FloatArray) -> FloatArray:
    """(T, B, 1) to (T, 6·B)."""
    return np.repeat(per_bone, 6, axis=-1).reshape(len(per_bone), -1)


def _rotations_of(stage: str, contract: Contract, bounds: Bounds) -> FloatArray:
    return bounds[stage][..., contract.output[ROTATIONS].range]


def delta6d(frames: Any, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound after Gram–Schmidt of the denormalised answer."""
    contract = frames.contract
    codec, place = Rot6d(contract.conventions), contract.output[ROTATIONS].range
    if frames.get("y_raw") is None:
        return gram_schmidt_bound(codec, rows, gamma(_COPY), _delta_axes(frames, codec))
    # the conditioning depends on the vector before it was made orthonormal
    offset = codec.identity(contract.bone_count) if contract.conventions.output_mode == "residual" else 0.0
    six, upstream = frames["y_raw"][..., place] + offset, _rotations_of("y_raw", contract, bounds)
    return gram_schmidt_bound(codec, six, upstream, _delta_axes(frames, codec))


def next6d(frames: Any, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """The angle error of ΔR·R_prev is that of ΔR, because R_prev is given. An absolute pose is a copy."""
    contract = frames.contract
    if contract.conventions.output_mode == "absolute":
        return _rotations_of("y_raw", contract, bounds) if "y_raw" in bounds else gamma(_COPY) * np.abs(rows)
    codec = Rot6d(contract.conventions)
    if "delta6d" in bounds:
        return _spread(rotation_errors(codec, bounds["delta6d"]) + gamma(_COMPOSE))
    unseen = _network_unseen(contract, rows.astype(np.float64), contract.output[ROTATIONS].range)
    return gram_schmidt_bound(codec, rows, unseen + gamma(_COMPOSE), _delta_axes(frames, codec))


def y_out(frames: Any, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound after Gram–Schmidt of the composed pose; other slices are copied."""
    contract = frames.contract
    codec, place = Rot6d(contract.conventions), contract.output[ROTATIONS].range
    bound = gamma(_AFFINE) * np.abs(rows, dtype=np.float64)
    if "y_raw" in bounds:  # other slices come from y_raw: inverted features may have larger errors
        bound = np.maximum(bound, bounds["y_raw"])
    if "next6d" in bounds and contract.conventions.output_mode != "absolute":
        bound[..., place] = bounds["next6d"] + gamma(GRAM_SCHMIDT)
        return bound
    pose = _known(frames, "next6d", rows[..., place])
    unseen = _network_unseen(contract, pose.astype(np.float64), place)
    before = bounds["next6d"] if "next6d" in bounds else unseen + gamma(_COMPOSE)
    bound[..., place] = gram_schmidt_bound(codec, pose, before, _pose_axes(frames, codec))
    return bound


def quat(frames: Any, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """A quaternion changes by half the angle error of its rotation."""
    contract = frames.contract
    if "y_out" not in bounds:
        return np.full(rows.shape, gamma(_QUATERNION) + gamma(_COMPOSE))
    turned = rotation_errors(Rot6d(contract.conventions), _rotations_of("y_out", contract, bounds))
    return np.repeat(gamma(_QUATERNION) + 0.5 * turned, 4, axis=-1).reshape(rows.shape)


def written_back(frames: Any, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """A copy of the state, and of the published slices that the state also has; a driven run has the clip's next state."""
    contract, is_free = frames.contract, getattr(frames, "mode", "teacher") == "free"
    bound = gamma(_AFFINE) * np.abs(rows, dtype=np.float64)
    if not is_free:
        bound = np.maximum(bound, raw_state(frames, rows, {}))
    for entry in contract.output if "y_out" in bounds else ():
        if entry.name in contract.state and contract.state[entry.name].size == entry.size:
            place = contract.state[entry.name].range
            bound[..., place] = np.maximum(bound[..., place], bounds["y_out"][..., entry.range])
    if is_free and contract.conventions.writeback == "all":
        _add_derived_motion(frames, rows, bound)
    return bound


def _add_derived_motion(frames: Any, rows: FloatArray, bound: FloatArray) -> None:
    """What follows from the new pose: fps times an angle whose error is that of both poses, however small it is; the root."""
    contract, fps = frames.contract, frames.fps
    codec, place = Rot6d(contract.conventions), contract.state[ROTATIONS].range
    spare = Replacement(codec.delta_guard, lambda: codec.identity(contract.bone_count))
    poses = (frames["x_raw"][..., place], 0.0), (rows[..., place], bound[..., place])
    turned = sum(rotation_errors(codec, gram_schmidt_bound(codec, pose, error, spare)) for pose, error in poses)
    error = fps * (turned + gamma(_COMPOSE) + gamma(_QUATERNION))
    bound[..., contract.state[ANGULAR_VELOCITIES].range] += np.repeat(error, 3, axis=-1).reshape(len(rows), -1)
    if ROOT_POSITION in contract.state:
        root, velocity = contract.state[ROOT_POSITION].start, bound[..., contract.state[ROOT_VELOCITY].range]
        before = gamma(_AFFINE) * np.abs(frames["x_raw"][..., root : root + 2], dtype=np.float64)
        bound[..., root : root + 2] += before + velocity / fps


def pose_tolerance_without_contract(poses: FloatArray) -> FloatArray:
    """Bound of published poses (T, 6·B) without a bundle and its statistics.

    The six numbers of a rotation are in [-1, 1], so their std is at most 1 and the network's rounding is not reduced;
    2048 is the longest inner product assumed.
    """
    return np.full(poses.shape, gamma(2048) + gamma(_COMPOSE) + gamma(GRAM_SCHMIDT))
