"""The largest difference of two correct implementations, channel by channel: derived, not chosen.

The rounding model is in operations/rounding.py. Errors are multiplied by the conditioning of the next operation: 1/std
of a z-score, 1/|a| and |b|/|b⊥| of Gram–Schmidt, fps of a finite difference. If a decision is within rounding of its
threshold, both results are correct: the tolerance of a wrapped heading includes both, that of a rotation whose axis may be
lost is infinite, and the value is not judged.

A tolerance is computed from recorded values, so a near-constant channel gets a wide bound and a well-conditioned one a
narrow bound. `stage_tolerances` bounds two runs with the same inputs; upstream bounds are propagated. The bounds of what
the network is given stand in input_tolerances.py, all others here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import numpy as np

from rigpact.contract.bundle import Contract
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROOT_POSITION, ROOT_VELOCITY, ROTATIONS
from rigpact.contract.statistics import STD_FLOOR, FloatArray
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.graph.bounds import KnownFrames, stage_bound
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reference_runtime.operations.rotation_bounds import (
    GRAM_SCHMIDT,
    Replacement,
    gram_schmidt_bound,
    rotation_errors,
)
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.systems.enemy_animation.input_tolerances import AFFINE, COPY, TANH, known, raw_state
from rigpact.reference_runtime.systems.enemy_animation.output import OutputStages, published_before

_COMPOSE, _QUATERNION = 32, 24
"""Operations on the longest path of each stage, as those of input_tolerances.py."""

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
    frames = KnownFrames(contract, stages)
    for stage in contract.system.stages:
        if stage.name in stages:
            bounds[stage.name] = stage_bound(stage, frames, stages[stage.name], upstream)
            if entering is not None and stage.name in entering:
                bounds[stage.name] = bounds[stage.name] + entering[stage.name]
            upstream[stage.name] = np.zeros_like(bounds[stage.name]) if stage.name in given else bounds[stage.name]
    return bounds


def answer(frames: Any, rows: FloatArray, _bounds: Bounds) -> FloatArray:
    """Same weights and inputs, another summation order: inner products are as long as all inputs together."""
    contract = frames.contract
    largest = np.abs(rows, dtype=np.float64).max(axis=1, keepdims=True)
    return np.asarray(np.broadcast_to(gamma(_network_depth(contract)) * largest, rows.shape))


def y_raw(frames: Any, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound of y_norm · StdY + MuY, including the error of y_norm."""
    contract = frames.contract
    own = contract.output_statistics
    std, mean = np.abs(own.std, dtype=np.float64), np.abs(own.mean, dtype=np.float64)
    value = rows.astype(np.float64)
    upstream = bounds["y_norm"] * std if "y_norm" in bounds else _network_unseen(contract, value, slice(None))
    bound = gamma(AFFINE) * (np.abs(value) + mean) + upstream
    if len(contract.output.slices) > 1:
        return np.asarray(np.maximum(bound, _undone(frames, rows, gamma(AFFINE) * (1.0 + mean) + upstream)))
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
    return np.maximum(np.abs(high - middle), np.abs(low - middle)) + gamma(TANH) * np.abs(middle)


def _network_unseen(contract: Contract, value: FloatArray, place: slice) -> FloatArray:
    """Bound of y_norm·std if the network's output was not recorded: the resulting pose gives its z.

    value: (T, width) of the output's channels `place`. Channels without spread give no z.
    """
    own = contract.output_statistics
    std, mean = np.abs(own.std[place], dtype=np.float64), own.mean[place].astype(np.float64)
    z = np.abs(value - mean) / np.maximum(std, STD_FLOOR)
    return np.asarray(gamma(_network_depth(contract)) * z.max(axis=1, keepdims=True) * std)


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


def _spread(per_bone: FloatArray, count: int) -> FloatArray:
    """(T, B, 1) to (T, count·B)."""
    return np.repeat(per_bone, count).reshape(len(per_bone), -1)


def _rotations_of(stage: str, contract: Contract, bounds: Bounds) -> FloatArray:
    return bounds[stage][..., contract.output[ROTATIONS].range]


def delta6d(frames: Any, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound after Gram–Schmidt of the denormalised answer."""
    contract = frames.contract
    codec, place = Rot6d(contract.conventions), contract.output[ROTATIONS].range
    if frames.get("y_raw") is None:
        return gram_schmidt_bound(codec, rows, gamma(COPY), _delta_axes(frames, codec))
    # the conditioning depends on the vector before it was made orthonormal
    offset = codec.identity(contract.bone_count) if contract.conventions.output_mode == "residual" else 0.0
    six, upstream = frames["y_raw"][..., place] + offset, _rotations_of("y_raw", contract, bounds)
    return gram_schmidt_bound(codec, six, upstream, _delta_axes(frames, codec))


def next6d(frames: Any, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """The angle error of ΔR·R_prev is that of ΔR, because R_prev is given. An absolute pose is a copy."""
    contract = frames.contract
    if contract.conventions.output_mode == "absolute":
        return _rotations_of("y_raw", contract, bounds) if "y_raw" in bounds else gamma(COPY) * np.abs(rows)
    codec = Rot6d(contract.conventions)
    if "delta6d" in bounds:
        return _spread(rotation_errors(codec, bounds["delta6d"]) + gamma(_COMPOSE), 6)
    unseen = _network_unseen(contract, rows.astype(np.float64), contract.output[ROTATIONS].range)
    return gram_schmidt_bound(codec, rows, unseen + gamma(_COMPOSE), _delta_axes(frames, codec))


def y_out(frames: Any, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound after Gram–Schmidt of the composed pose; other slices are copied."""
    contract = frames.contract
    codec, place = Rot6d(contract.conventions), contract.output[ROTATIONS].range
    bound = gamma(AFFINE) * np.abs(rows, dtype=np.float64)
    if "y_raw" in bounds:  # other slices come from y_raw: inverted features may have larger errors
        bound = np.maximum(bound, bounds["y_raw"])
    if "next6d" in bounds and contract.conventions.output_mode != "absolute":
        bound[..., place] = bounds["next6d"] + gamma(GRAM_SCHMIDT)
        return bound
    pose = known(frames, "next6d", rows[..., place])
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
    return _spread(gamma(_QUATERNION) + 0.5 * turned, 4)


def written_back(frames: Any, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """A copy of the state, and of the published slices that the state also has; a driven run has the clip's next state."""
    contract, is_free = frames.contract, getattr(frames, "mode", "teacher") == "free"
    bound = gamma(AFFINE) * np.abs(rows, dtype=np.float64)
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
    bound[..., contract.state[ANGULAR_VELOCITIES].range] += _spread(error, 3)
    if ROOT_POSITION in contract.state:
        root, velocity = contract.state[ROOT_POSITION].start, bound[..., contract.state[ROOT_VELOCITY].range]
        before = gamma(AFFINE) * np.abs(frames["x_raw"][..., root : root + 2], dtype=np.float64)
        bound[..., root : root + 2] += before + velocity / fps


def pose_tolerance_without_contract(poses: FloatArray) -> FloatArray:
    """Bound of published poses (T, 6·B) without a bundle and its statistics.

    The six numbers of a rotation are in [-1, 1], so their std is at most 1 and the network's rounding is not reduced;
    2048 is the longest inner product assumed.
    """
    return np.full(poses.shape, gamma(2048) + gamma(_COMPOSE) + gamma(GRAM_SCHMIDT))
