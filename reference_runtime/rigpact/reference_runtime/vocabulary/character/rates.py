"""Bone rates: how fast each bone turns, as a motion network is given it.

The deployed engine copies the state's normalised slice. Training computes the input from rotations, with its own
statistics. Vectors are rad/s, three numbers per bone, in the parent's frame unless `angvel_frame` is local. To add a
source: a row in `SOURCE`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.conventions import Knob
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROTATIONS
from rigpact.contract.statistics import FloatArray, SquashedStatistics, Statistics
from rigpact.contract.systems.contract import Contract, Frames
from rigpact.contract.systems.layout import FieldKind
from rigpact.contract.systems.plan import TARGET, Read, Step, chosen
from rigpact.contract.systems.stage import Z_SCORE, Bounds
from rigpact.reference_runtime.operations.geometry import angular_velocity, length
from rigpact.reference_runtime.operations.scalars import (
    FUNCTIONS,
    UNIT_ROUNDOFF,
    compute_dtype,
    gamma,
    squashed_zscored,
    stored,
    unscored,
)
from rigpact.reference_runtime.operations.six_numbers import GRAM_SCHMIDT, Rot6d
from rigpact.reference_runtime.vocabulary.character.shared import (
    AXES,
    CODEC,
    MATH,
    bone_fields,
    floored_scale,
    of_character,
    squashed_bound,
    squashed_numbers,
    zscore_bound,
)
from rigpact.reference_runtime.vocabulary.character.state import ANGVEL_SQUASH

ANGLE_FACTOR: Mapping[str, float] = {"full": 1.0, "half": 0.5}
LAG: Mapping[str, int] = {"0": 0, "-1": -1, "+1": 1}
Frame = NDArray[np.int64]
RowsAt = Callable[[Frame], FloatArray]


@dataclass(frozen=True, eq=False)
class RateSources:
    """The sources of an angular velocity at frames (N,) of a run.

    x_raw, state: frames (N,) to raw states and to their z-scores, (N, Dx). last: the last frame that there is; None in a free
    run, which has no frame after this one: every lag reads the newest one or two.
    """

    x_raw: RowsAt
    state: RowsAt
    fps: float
    frame: Frame
    last: int | None

    @classmethod
    def of_clip(cls, x_raw: FloatArray, state: FloatArray, fps: float, steps: int) -> RateSources:
        """The first `steps` of consecutive frames, both (N, Dx)."""
        return cls(x_raw.__getitem__, state.__getitem__, fps, np.arange(steps), len(x_raw) - 1)


class AngularVelocityInput:
    """AngVel rows (N, 3·B) under one contract."""

    def __init__(self, contract: Contract) -> None:
        """Look the conventions up once. UnusableInput if the source needs statistics that no file has."""
        conventions, numbers = contract.conventions, contract.numbers
        self._conventions, self._dtype, self._codec = conventions, compute_dtype(conventions), Rot6d(conventions)
        self._rotations, self._slice = numbers.state[ROTATIONS].range, numbers.state[ANGULAR_VELOCITIES].range
        self._statistics, self._lag = numbers.angular_velocity, int(conventions.angvel_lag)
        self.squash: Callable[[FloatArray, SquashedStatistics], FloatArray] = squashed_zscored
        if self._statistics is None and conventions.angvel_source in NEEDS_STATISTICS:
            raise _no_statistics(conventions.angvel_source)

    def rows(self, motion: RateSources) -> FloatArray:
        """AngVel input at the frames, (N, 3·B), stored as float32."""
        return stored(SOURCE[self._conventions.angvel_source](self, motion))

    def from_state(self, motion: RateSources) -> FloatArray:
        """The state's raw angular velocity, normalised with the companion's statistics."""
        x_raw = motion.x_raw(self._lagged(motion.frame, motion.last))
        omega = x_raw[:, self._slice].astype(self._dtype).reshape(len(x_raw), -1, 3)
        if self._conventions.angvel_frame != "parent":  # the rotations are not used otherwise
            omega = self._in_frame(omega, self._matrices(x_raw))
        return self._normalised(omega)

    def from_rotations(self, motion: RateSources) -> FloatArray:
        """From consecutive rotations; the last pair is repeated for frames beyond the clip."""
        if motion.last is not None and motion.last < 1:
            return self.from_state(motion)  # a single frame has no pair: take its own measured velocity
        if motion.last is None:
            earlier, later = np.maximum(motion.frame - 1, 0), motion.frame
        else:
            earlier = self._lagged(motion.frame, motion.last - 1)
            later = earlier + 1
        before, after = (self._matrices(motion.x_raw(frame)) for frame in (earlier, later))
        return self._normalised(self._in_frame(angular_velocity(before, after, motion.fps), before))

    def from_state_slice(self, motion: RateSources) -> FloatArray:
        """The normalised state's own slice: the fallback of the engine."""
        return motion.state(motion.frame)[:, self._slice]

    def frozen(self, motion: RateSources) -> FloatArray:
        """The first row in every frame: the deployed engine's free run never recomputes this input."""
        known = self.from_state_slice if self._statistics is None else self.from_state
        return known(replace(motion, frame=np.zeros_like(motion.frame)))

    def zeros(self, motion: RateSources) -> FloatArray:
        """Zeros: the input is not bound."""
        return np.zeros((len(motion.frame), self._slice.stop - self._slice.start), self._dtype)

    def _in_frame(self, omega: FloatArray, matrices: FloatArray) -> FloatArray:
        return FRAME[self._conventions.angvel_frame](omega, matrices)

    def _matrices(self, x_raw: FloatArray) -> FloatArray:
        return self._codec.decode(x_raw[:, self._rotations].astype(self._dtype))

    def _lagged(self, frame: Frame, last: int | None) -> Frame:
        return frame if last is None else np.clip(frame + self._lag, 0, last)

    def _normalised(self, omega: FloatArray) -> FloatArray:
        """z of rotation vectors (N, B, 3), as (N, 3·B)."""
        if self._statistics is None:
            raise _no_statistics(self._conventions.angvel_source)
        factor = ANGLE_FACTOR[self._conventions.angvel_angle]
        return self.squash(omega.reshape(len(omega), -1) * factor, self._statistics)


def _no_statistics(source: str) -> UnusableInput:
    return UnusableInput(
        f"angvel_source={source}",
        "no tanh_scales_angvel, MuAngVel and StdAngVel together in one file",
        "the angular-velocity statistics",
        "give the companion file, or --set angvel_source=state_slice",
    )


SOURCE: Mapping[str, Callable[[AngularVelocityInput, RateSources], FloatArray]] = {
    "aux_stats": AngularVelocityInput.from_state,
    "rotations": AngularVelocityInput.from_rotations,
    "state_slice": AngularVelocityInput.from_state_slice,
    "frozen": AngularVelocityInput.frozen,
    "zeros": AngularVelocityInput.zeros,
}
NEEDS_STATISTICS = {"aux_stats", "rotations"}
FRAME: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "parent": lambda omega, _matrices: omega,
    "local": lambda omega, matrices: np.einsum("nbji,nbj->nbi", matrices, omega),
}
ANGVEL_SOURCE = Knob("angvel_source", SOURCE)
ANGVEL_ANGLE = Knob("angvel_angle", ANGLE_FACTOR)
ANGVEL_FRAME = Knob("angvel_frame", FRAME)
ANGVEL_LAG = Knob("angvel_lag", LAG)


def _angvel(frames: Frames) -> FloatArray:
    """The AngVel input, from the raw states of neighbouring frames."""
    operation: AngularVelocityInput = frames.built(AngularVelocityInput)
    frames["x_raw"]  # every source needs it
    last = frames.last("x_raw") if frames.mode == "teacher" else None
    x_raw, state = (partial(frames.rows_at, name) for name in ("x_raw", "state"))
    rows = operation.rows(RateSources(x_raw, state, frames.fps, frames.frame, last))
    if last is not None and not frames.has_drive:  # the end of the run, and the values after it, are not known
        conventions = frames.contract.conventions
        ahead = int(conventions.angvel_lag) + (conventions.angvel_source == "rotations")
        rows = np.where((frames.frame + ahead > last)[:, None], np.float32(np.nan), rows)
    return rows


def _planned(frames: Frames) -> Step:
    """A free run has no frame after this one; a clip that drives has."""
    numbers, conventions = frames.numbers, frames.contract.conventions
    rates, auxiliary, lag = numbers.state[ANGULAR_VELOCITIES], numbers.angular_velocity, int(conventions.angvel_lag)
    is_pair, needs = conventions.angvel_source == "rotations", conventions.angvel_source in NEEDS_STATISTICS
    if auxiliary is None and needs:
        raise _no_statistics(conventions.angvel_source)
    before, now = Read("x_raw", -1, "first"), Read("x_raw")
    after, far = (Read("x_raw", lead, TARGET) for lead in (1, 2))
    driven = {-1: before, 0: now, 1: after}[lag], {-1: now, 0: after, 1: far}[lag]
    if not is_pair:
        driven = driven[0], driven[0]
    free, first = (before, now) if is_pair else (now, now), after if is_pair and lag < 0 else driven[1]
    words = (
        *chosen(frames, MATH, ANGVEL_SOURCE, ANGVEL_FRAME, ANGVEL_ANGLE, *AXES),
        numbers.state[ROTATIONS].start, rates.start, rates.size, auxiliary is not None,
    )  # fmt: skip
    row = [frames.fps] if auxiliary is None else [frames.fps, *squashed_numbers(auxiliary)]
    reads = (*free, *driven, Read("state"), Read("x_raw", -1), Read("angvel", -1), first)
    return Step("bone_rates", reads, words, row)


def _bound(frames: Frames, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound of the state's own slice, or of a squashed rotation vector."""
    numbers, conventions = frames.numbers, frames.contract.conventions
    own, auxiliary, place = numbers.state_statistics, numbers.angular_velocity, numbers.state[ANGULAR_VELOCITIES].range
    if conventions.angvel_source == "zeros":
        return np.zeros(rows.shape)
    if auxiliary is None or conventions.angvel_source == "state_slice":
        inherited = bounds["state"][..., place] if "state" in bounds else 0.0
        return zscore_bound(rows, Statistics(own.mean[place], own.std[place])) + inherited
    if conventions.angvel_source == "rotations":
        # a difference of two rotations, each with the absolute error gamma(GRAM_SCHMIDT), times fps
        return squashed_bound(rows, auxiliary, np.asarray(gamma(GRAM_SCHMIDT) * frames.contract.known_fps))
    if conventions.angvel_frame == "local":
        return squashed_bound(rows, auxiliary, _turned_error(rows, auxiliary))
    return zscore_bound(rows, auxiliary.statistics)


def _turned_error(z: FloatArray, auxiliary: SquashedStatistics) -> FloatArray:
    """Absolute error of a vector rotated into another frame: each component is a sum over the vector's components."""
    own = auxiliary.statistics
    value, nearest = unscored(z.astype(np.float64), own.mean, own.std_floored), 1.0 - UNIT_ROUNDOFF
    feature = np.clip(value, -nearest, nearest)
    omega = (floored_scale(auxiliary) * FUNCTIONS["arctanh"](feature)).reshape(len(z), -1, 3)
    return np.repeat(gamma(GRAM_SCHMIDT) * length(omega), 3).reshape(z.shape)


ANGVEL = of_character(
    "bone_rates", "how fast each bone turns, z-scored; reads the raw state and its z-scores",
    (*CODEC, ANGVEL_SQUASH, ANGVEL_SOURCE, ANGVEL_ANGLE, ANGVEL_FRAME, ANGVEL_LAG, MATH),
    bone_fields(ANGULAR_VELOCITIES, FieldKind.ANGULAR_RATE, 3, ANGULAR_VELOCITIES), _angvel, _bound, 2,
    reach=(1, 2), measure=Z_SCORE, is_propagated=True, planned=_planned,
)  # fmt: skip
