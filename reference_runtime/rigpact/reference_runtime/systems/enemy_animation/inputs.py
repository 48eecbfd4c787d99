"""What a motion network is given beside state and past poses: the player's intent, contacts of the feet, rates of the bones.

Engine: `BuildCondVector`. The deployed engine copies the state's normalised slice for the rates; training computes the input from
rotations, with its own statistics. Rates are rad/s, three numbers per bone, in the parent's frame unless `angvel_frame` is local.
To add a reading: a row in a table. Not here: the engine's own contacts with hysteresis, `floor.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.conventions import Knob
from rigpact.contract.declared.operation import Use
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import ANGULAR_VELOCITIES, CONTACTS, CONTACTS_WIDTH, ROTATIONS
from rigpact.contract.statistics import FloatArray, SquashedStatistics, Statistics
from rigpact.contract.systems.contract import Contract, Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.plan import TARGET, Read, Step, chosen, moved
from rigpact.contract.systems.stage import Z_SCORE, Bounds
from rigpact.reference_runtime.operations.geometry import angular_velocity, length
from rigpact.reference_runtime.operations.scalars import (
    FUNCTIONS,
    UNIT_ROUNDOFF,
    compute_dtype,
    gamma,
    stored,
    unscored,
    zscored,
    zscored_by,
)
from rigpact.reference_runtime.operations.six_numbers import GRAM_SCHMIDT, Rot6d
from rigpact.reference_runtime.recordings.clip import RawClip
from rigpact.reference_runtime.systems.enemy_animation.shared import (
    AXES,
    CODEC,
    COPY,
    ENGINE,
    MATH,
    OF_CLIP,
    Squashing,
    bone_fields,
    copied,
    known,
    of_character,
    squashed_bound,
    squashed_numbers,
    zscore_bound,
)
from rigpact.reference_runtime.systems.enemy_animation.state import ANGVEL_SQUASH

WINDOW = 60
"""Number of samples in the window of the engine's z-score (`CondNormWindow`)."""
STANDING_SPEED_M_S = 1e-3
"""Below this speed there is no direction. Source: the training side's condition rows."""
_VARIANCE_FLOOR, _STD_FLOOR, _IQR_REACH = 1e-6, 1e-3, 1.5
_UNIT_DIRECTION = 12
"""Operations on the longest path of a direction of unit length."""
CONTACT_SCORE = 0.5
"""Soft scores from this value on count as contact if the input is binary."""
DIRECTIONS: Mapping[str, Callable[[RawClip], FloatArray]] = {
    # the engine's own value first; the training side's rows take the velocity
    "trajectory": lambda clip: clip.trajectory_direction[:, clip.trajectory_direction.shape[1] // 2],
    "velocity": lambda clip: clip.root_velocity_m_s,
    "negated": lambda clip: -clip.root_velocity_m_s,
    "swapped_xy": lambda clip: clip.root_velocity_m_s[:, ::-1],
    "mirrored_y": lambda clip: clip.root_velocity_m_s * (1.0, -1.0),
}
SPEED_FACTOR: Mapping[str, float] = {"m_s": 1.0, "cm_s": 100.0}
CONDITION_DIRECTION = Knob("condition_direction", DIRECTIONS)
CONDITION_SPEED_UNIT = Knob("condition_speed_unit", SPEED_FACTOR)


def condition_rows(clip: RawClip, contract: Contract) -> FloatArray:
    """Raw condition of every frame of a clip, (N, 7): action bits, unit direction, speed.

    Bits are clamped to [0, 1]. Speed is in m/s unless the conventions declare another unit.
    """
    conventions = contract.conventions
    dtype = compute_dtype(conventions)
    direction = DIRECTIONS[conventions.condition_direction](clip).astype(dtype)
    size = np.linalg.norm(direction, axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        direction = np.where(size < STANDING_SPEED_M_S, 0.0, direction / size)
    speed = np.linalg.norm(clip.root_velocity_m_s.astype(dtype), axis=1, keepdims=True)
    bits = np.clip(clip.action_bits.astype(dtype), 0.0, 1.0)
    parts = (bits, direction, speed * SPEED_FACTOR[conventions.condition_speed_unit])
    return stored(np.concatenate(parts, axis=1))


def window_zscore(sample: FloatArray, window: FloatArray) -> FloatArray:
    """Z-score of `sample` (C,) over a window (W, C), without outliers.

    Per channel: quartiles by linear interpolation, samples within 1.5 interquartile ranges, population statistics,
    variance floored at 1e-6, std at 1e-3. Source: engine `BuildCondVector`, mode ZScore.
    """
    first, third = np.quantile(window, (0.25, 0.75), axis=0)
    reach = _IQR_REACH * (third - first)
    kept = (window >= first - reach) & (window <= third + reach)
    kept |= ~kept.any(axis=0)
    mean = window.mean(axis=0, where=kept)
    std = np.sqrt(np.maximum(window.var(axis=0, where=kept), _VARIANCE_FLOOR))
    return zscored(sample, mean, np.maximum(std, _STD_FLOOR))


CONDITION_NORM = Knob("condition_norm", dict.fromkeys(("raw", "zscore")))


def _is_raw(contract: Contract) -> bool:
    return str(contract.conventions.condition_norm) == "raw"


def _declared_fields(use: Use, _contract: Contract) -> FieldLayout:
    """The declared fields, under every contract: like a character's other vectors they are held against files with one."""
    if use.declared is None:
        raise use.missing("names", "the fields of what a clip brings")
    return use.declared


def _intent_bound(_frames: Frames, rows: FloatArray, _bounds: Bounds) -> FloatArray:
    """Bound of a direction of unit length."""
    return gamma(_UNIT_DIRECTION) * np.abs(rows, dtype=np.float64) + gamma(COPY) * UNIT_ROUNDOFF


def _cond(frames: Frames) -> FloatArray:
    """The window starts with the run; where a recording starts later, it is not known for a while."""
    cond_raw, dtype = frames["cond_raw"], compute_dtype(frames.contract.conventions)
    if _is_raw(frames.contract):
        return stored(cond_raw.astype(dtype))
    start = np.minimum(frames.frame, 0)[:, None]  # a frame is in its own window, whatever its number
    wanted = frames.frame[:, None] + np.arange(1 - WINDOW, 1)
    samples = frames.rows_at("cond_raw", np.maximum(wanted, start)).astype(dtype)
    windows = (rows[is_there] for rows, is_there in zip(samples, wanted >= start, strict=True))
    return stored(np.stack([window_zscore(window[-1], window) for window in windows]))


def _cond_planned(frames: Frames) -> Step:
    if _is_raw(frames.contract):
        width = frames.contract.fields("cond").width
        return moved([Read("cond_raw")], [width], range(width))
    return Step("over_a_window", tuple(Read("cond_raw", -age) for age in range(WINDOW)), chosen(frames, MATH))


def _cond_bound(frames: Frames, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound of the raw condition, or of its z-score over a window."""
    if _is_raw(frames.contract):
        return _intent_bound(frames, rows, bounds)
    cond = np.abs(rows, dtype=np.float64)
    # the window's mean and std, W samples summed, divided by a std of at least 1e-3
    largest = np.abs(known(frames, "cond_raw", rows), dtype=np.float64).max(axis=0)
    return np.asarray(gamma(WINDOW + _UNIT_DIRECTION) * (largest / _STD_FLOOR + cond))


COND = of_character(
    "over_a_window", "a condition as it is, or z-scored over its recent samples without outliers", (CONDITION_NORM, MATH),
    _declared_fields, _cond, _cond_bound, reach=lambda contract: (0 if _is_raw(contract) else WINDOW, 0),
    measure=Z_SCORE, is_propagated=True, planned=_cond_planned,
)  # fmt: skip


def _whitened(scores: FloatArray, contract: Contract) -> FloatArray:
    if CONTACTS not in contract.numbers.state:
        raise UnusableInput(
            "contacts_source", "'whitened' for a bundle whose state has no Contacts slice", "MuX and StdX of that slice"
        )
    place, statistics = contract.numbers.state[CONTACTS].range, contract.numbers.state_statistics
    return zscored_by(scores, Statistics(statistics.mean[place], statistics.std[place]))


CONTACT_READINGS: Mapping[str, Callable[[FloatArray, Contract], FloatArray]] = {
    "soft_scores": lambda scores, _contract: scores,
    "binary": lambda scores, _contract: (scores >= CONTACT_SCORE).astype(scores.dtype),
    "whitened": _whitened,
    "zeros": lambda scores, _contract: np.zeros_like(scores),
    "swapped_feet": lambda scores, _contract: scores[..., ::-1],
}
CONTACTS_SOURCE = Knob("contacts_source", CONTACT_READINGS)


def contact_rows(scores: FloatArray | None, frames: int, contract: Contract) -> FloatArray:
    """Contacts input of each frame, (N, 2), from soft contact scores (N, 2); zeros for a clip without any.

    The engine also uses zeros if the feet were not measured.
    """
    dtype = compute_dtype(contract.conventions)
    known_scores = np.zeros((frames, CONTACTS_WIDTH), dtype) if scores is None else scores.astype(dtype)
    return stored(CONTACT_READINGS[contract.conventions.contacts_source](known_scores, contract))


def _contact_fields(use: Use, contract: Contract) -> FieldLayout:
    state, feet = contract.numbers.state, [field.name for field in _declared_fields(use, contract)]
    width = state[CONTACTS].size if CONTACTS in state else len(feet)
    names = [feet[place] if place < len(feet) else f"contact {place}" for place in range(width)]
    return FieldLayout(tuple(Field(name, place, 1, FieldKind.SCALAR) for place, name in enumerate(names)))


INTENT = of_character(
    "intent", "the request of a clip's player: action bits, planar direction, speed", (CONDITION_DIRECTION, CONDITION_SPEED_UNIT),
    _declared_fields, lambda frames: frames.driven("cond_raw"), _intent_bound, 0, **OF_CLIP,
)  # fmt: skip
FOOT_CONTACTS = of_character(
    "foot_contacts", "whether each foot of a clip stands on the floor", (CONTACTS_SOURCE,),
    _contact_fields, lambda frames: frames.driven("contacts"), copied, 0, **OF_CLIP,
)  # fmt: skip


ANGLE_FACTOR: Mapping[str, float] = {"full": 1.0, "half": 0.5}
LAG: Mapping[str, int] = {"0": 0, "-1": -1, "+1": 1}
Frame = NDArray[np.int64]


class AngularVelocityInput:
    """AngVel rows (N, 3·B) under one contract.

    Sources read the run at frames (N,). last: the last frame that there is; None in a free run, which has no frame after this
    one: every lag reads the newest one or two.
    """

    def __init__(self, contract: Contract, squashing: Squashing = ENGINE) -> None:
        """Look the conventions up once. UnusableInput if the source needs statistics that no file has."""
        conventions, numbers = contract.conventions, contract.numbers
        self._conventions, self._dtype, self._codec = conventions, compute_dtype(conventions), Rot6d(conventions)
        self._rotations, self._slice = numbers.state[ROTATIONS].range, numbers.state[ANGULAR_VELOCITIES].range
        self._statistics, self._lag = numbers.angular_velocity, int(conventions.angvel_lag)
        self._squashing = squashing
        if self._statistics is None and conventions.angvel_source in NEEDS_STATISTICS:
            raise _no_statistics(conventions.angvel_source)

    def rows(self, frames: Frames) -> FloatArray:
        """AngVel input at these frames, (N, 3·B), stored as float32; NaN where it needs what nobody knows."""
        frames["x_raw"]  # every source needs it
        source, last = self._conventions.angvel_source, frames.last("x_raw") if frames.mode == "teacher" else None
        rows = stored(RATE_SOURCES[source](self, frames, frames.frame, last))
        if last is not None and not frames.has_drive:  # the end of the run, and the values after it, are not known
            ahead = self._lag + (source == "rotations")
            rows = np.where((frames.frame + ahead > last)[:, None], np.float32(np.nan), rows)
        return rows

    def from_state(self, frames: Frames, frame: Frame, last: int | None) -> FloatArray:
        """The state's raw angular velocity, normalised with the companion's statistics."""
        x_raw = frames.rows_at("x_raw", self._lagged(frame, last))
        omega = x_raw[:, self._slice].astype(self._dtype).reshape(len(x_raw), -1, 3)
        if self._conventions.angvel_frame != "parent":  # the rotations are not used otherwise
            omega = self._in_frame(omega, self._matrices(x_raw))
        return self._normalised(omega)

    def from_rotations(self, frames: Frames, frame: Frame, last: int | None) -> FloatArray:
        """From consecutive rotations; the last pair is repeated for frames beyond the clip."""
        if last is not None and last < 1:
            return self.from_state(frames, frame, last)  # one frame has no pair: take its own measured velocity
        earlier = np.maximum(frame - 1, 0) if last is None else self._lagged(frame, last - 1)
        pair = earlier, frame if last is None else earlier + 1
        before, after = (self._matrices(frames.rows_at("x_raw", each)) for each in pair)
        return self._normalised(self._in_frame(angular_velocity(before, after, frames.fps), before))

    def from_state_slice(self, frames: Frames, frame: Frame, _last: int | None) -> FloatArray:
        """The normalised state's own slice: the fallback of the engine."""
        return frames.rows_at("state", frame)[:, self._slice]

    def frozen(self, frames: Frames, frame: Frame, last: int | None) -> FloatArray:
        """The first row in every frame: the deployed engine's free run never recomputes this input."""
        known = self.from_state_slice if self._statistics is None else self.from_state
        return known(frames, np.zeros_like(frame), last)

    def zeros(self, _frames: Frames, frame: Frame, _last: int | None) -> FloatArray:
        """Zeros: the input is not bound."""
        return np.zeros((len(frame), self._slice.stop - self._slice.start), self._dtype)

    def _in_frame(self, omega: FloatArray, matrices: FloatArray) -> FloatArray:
        return RATE_FRAMES[self._conventions.angvel_frame](omega, matrices)

    def _matrices(self, x_raw: FloatArray) -> FloatArray:
        return self._codec.decode(x_raw[:, self._rotations].astype(self._dtype))

    def _lagged(self, frame: Frame, last: int | None) -> Frame:
        return frame if last is None else np.clip(frame + self._lag, 0, last)

    def _normalised(self, omega: FloatArray) -> FloatArray:
        """z of rotation vectors (N, B, 3), as (N, 3·B)."""
        if self._statistics is None:
            raise _no_statistics(self._conventions.angvel_source)
        factor = ANGLE_FACTOR[self._conventions.angvel_angle]
        return self._squashing.zscored(omega.reshape(len(omega), -1) * factor, self._statistics)


def _no_statistics(source: str) -> UnusableInput:
    return UnusableInput(
        f"angvel_source={source}",
        "no tanh_scales_angvel, MuAngVel and StdAngVel together in one file",
        "the angular-velocity statistics",
        "give the companion file, or --set angvel_source=state_slice",
    )


RATE_SOURCES: Mapping[str, Callable[[AngularVelocityInput, Frames, Frame, int | None], FloatArray]] = {
    "aux_stats": AngularVelocityInput.from_state,
    "rotations": AngularVelocityInput.from_rotations,
    "state_slice": AngularVelocityInput.from_state_slice,
    "frozen": AngularVelocityInput.frozen,
    "zeros": AngularVelocityInput.zeros,
}
NEEDS_STATISTICS = {"aux_stats", "rotations"}
RATE_FRAMES: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "parent": lambda omega, _matrices: omega,
    "local": lambda omega, matrices: np.einsum("nbji,nbj->nbi", matrices, omega),
}
ANGVEL_SOURCE = Knob("angvel_source", RATE_SOURCES)
ANGVEL_ANGLE = Knob("angvel_angle", ANGLE_FACTOR)
ANGVEL_FRAME = Knob("angvel_frame", RATE_FRAMES)
ANGVEL_LAG = Knob("angvel_lag", LAG)


def _angvel_planned(frames: Frames) -> Step:
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


def _angvel_bound(frames: Frames, rows: FloatArray, bounds: Bounds) -> FloatArray:
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
    omega = (ENGINE.auxiliary_scale(auxiliary) * FUNCTIONS["arctanh"](feature)).reshape(len(z), -1, 3)
    return np.repeat(gamma(GRAM_SCHMIDT) * length(omega), 3).reshape(z.shape)


ANGVEL = of_character(
    "bone_rates", "how fast each bone turns, z-scored; reads the raw state and its z-scores",
    (*CODEC, ANGVEL_SQUASH, ANGVEL_SOURCE, ANGVEL_ANGLE, ANGVEL_FRAME, ANGVEL_LAG, MATH),
    bone_fields(ANGULAR_VELOCITIES, FieldKind.ANGULAR_RATE, 3, ANGULAR_VELOCITIES),
    lambda frames: np.asarray(frames.built(AngularVelocityInput).rows(frames)), _angvel_bound, 2,
    reach=(1, 2), measure=Z_SCORE, is_propagated=True, planned=_angvel_planned,
)  # fmt: skip
