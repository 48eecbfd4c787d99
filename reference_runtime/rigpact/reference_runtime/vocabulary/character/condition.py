"""Intent: action bits, planar direction and speed that a clip's player asks for; and the same z-scored over a window.

Engine: `BuildCondVector`. To add a reading of the direction: a row in `DIRECTION`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

import numpy as np

from rigpact.contract.conventions import CodeHint, Knob
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.plan import Read, Step, chosen, moved
from rigpact.contract.systems.stage import Z_SCORE, Bounds
from rigpact.reference_runtime.operations.definitions.scaling import zscored
from rigpact.reference_runtime.operations.precision import compute_dtype, stored
from rigpact.reference_runtime.operations.rounding import UNIT_ROUNDOFF, gamma
from rigpact.reference_runtime.vocabulary.character.bounds import COPY, known
from rigpact.reference_runtime.vocabulary.character.codec import MATH
from rigpact.reference_runtime.vocabulary.character.fed_state import FROM_THE_CLIP
from rigpact.reference_runtime.vocabulary.character.vectors import Fields

WINDOW = 60
"""Number of samples in the window of the engine's z-score (`CondNormWindow`)."""
STANDING_SPEED_M_S = 1e-3
"""Below this speed there is no direction. Source: the training side's condition rows."""
_VARIANCE_FLOOR, _STD_FLOOR = 1e-6, 1e-3
_IQR_REACH = 1.5
_UNIT_DIRECTION = 12
"""Operations on the longest path of a direction of unit length."""


class Moved(Protocol):
    """What is read of a clip of N frames: velocity (N, 2), K directions of the way ahead (N, K, 2), action bits (N, 4)."""

    @property
    def root_velocity_m_s(self) -> FloatArray: ...
    @property
    def trajectory_direction(self) -> FloatArray: ...
    @property
    def action_bits(self) -> FloatArray: ...


def _velocity(clip: Moved) -> FloatArray:
    return clip.root_velocity_m_s


def _trajectory(clip: Moved) -> FloatArray:
    return clip.trajectory_direction[:, clip.trajectory_direction.shape[1] // 2]


DIRECTION: Mapping[str, Callable[[Moved], FloatArray]] = {
    # the engine's own value first; the training side's rows take the velocity
    "trajectory": _trajectory,
    "velocity": _velocity,
    "negated": lambda clip: -_velocity(clip),
    "swapped_xy": lambda clip: _velocity(clip)[:, ::-1],
    "mirrored_y": lambda clip: _velocity(clip) * (1.0, -1.0),
}
SPEED_FACTOR: Mapping[str, float] = {"m_s": 1.0, "cm_s": 100.0}

CONDITION_DIRECTION = Knob(
    "condition_direction", DIRECTION,
    "the planar direction of the condition, taken from a raw clip; the last three are of the velocity", {
        "trajectory": CodeHint("TrajectoryDir[Num / 2]", "trajectory_dir[len // 2]"),
        "velocity": CodeHint("RootVelocityXY.GetSafeNormal()", "velocity / speed"),
        "negated": CodeHint("-RootVelocityXY.GetSafeNormal()", "-velocity / speed"),
        "swapped_xy": CodeHint("FVector2D(V.Y, V.X)", "velocity[[1, 0]] / speed"),
        "mirrored_y": CodeHint("FVector2D(V.X, -V.Y)", "velocity * [1, -1] / speed"),
    },
)  # fmt: skip
CONDITION_SPEED_UNIT = Knob(
    "condition_speed_unit", SPEED_FACTOR, "unit of the condition's speed", {
        "m_s": CodeHint("Speed * 0.01f; // cm/s to m/s", "speed"),
        "cm_s": CodeHint("Speed; // still in cm/s", "speed * 100"),
    },
)  # fmt: skip


def condition_rows(clip: Moved, contract: Contract) -> FloatArray:
    """Raw condition of every frame of a clip, (N, 7): action bits, unit direction, speed.

    Bits are clamped to [0, 1]. Speed is in m/s unless the conventions declare another unit.
    """
    conventions = contract.conventions
    dtype = compute_dtype(conventions)
    direction = DIRECTION[conventions.condition_direction](clip).astype(dtype)
    size = np.linalg.norm(direction, axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        direction = np.where(size < STANDING_SPEED_M_S, 0.0, direction / size)
    speed = np.linalg.norm(clip.root_velocity_m_s.astype(dtype), axis=1, keepdims=True)
    bits = np.clip(clip.action_bits.astype(dtype), 0.0, 1.0)
    parts = (bits, direction, speed * SPEED_FACTOR[conventions.condition_speed_unit])
    return stored(np.concatenate(parts, axis=1))


def _raw(sample: FloatArray, _window: FloatArray) -> FloatArray:
    return sample


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


NORMALISE: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "raw": _raw,
    "zscore": window_zscore,
}


CONDITION_NORM = Knob(
    "condition_norm", NORMALISE, "pass through, or z-score over a window", {
        "raw": CodeHint("CondNormMode = Raw", "cond"),
        "zscore": CodeHint("CondNormMode = ZScore", "(cond - mean) / std"),
    },
)  # fmt: skip


class ConditionInput:
    """The Cond input, computed from the recent raw conditions. reach: how many it looks at, the newest included."""

    def __init__(self, contract: Contract) -> None:
        """Look the conventions up once."""
        self._dtype = compute_dtype(contract.conventions)
        self._normalise = NORMALISE[contract.conventions.condition_norm]
        self.reach = 1 if contract.conventions.condition_norm == "raw" else WINDOW

    def of_window(self, cond_raw: FloatArray) -> FloatArray:
        """The Cond input (C,) after raw conditions (W, C), oldest first: `reach` of them, or all since the start of the run."""
        window = cond_raw.astype(self._dtype)
        return stored(self._normalise(window[-1], window))


def build_intent(use: Use) -> Built:
    """The clip's rows; a free run loops over the clip."""
    return Built(
        _fields(use),
        lambda frames: frames.driven(use.stage),
        intent_bound,
        is_propagated=True,
        source=FROM_THE_CLIP,
        from_clip=True,
    )


def _fields(use: Use) -> Fields:
    """The declared fields, under every contract: like a character's other vectors they are held against files with one."""
    declared = use.declared
    if declared is None:
        raise use.missing("names", "the fields of the condition")
    return lambda _contract: declared


def intent_bound(_frames: Frames, rows: FloatArray, _bounds: Bounds) -> FloatArray:
    """Bound of a direction of unit length."""
    return gamma(_UNIT_DIRECTION) * np.abs(rows, dtype=np.float64) + gamma(COPY) * UNIT_ROUNDOFF


def build(use: Use) -> Built:
    """The window starts with the run: where a recording starts later, it is not known for a while."""
    raw = use.inputs[0].name

    def compute(frames: Frames) -> FloatArray:
        """The window starts with the run; where a recording starts later, it is not known for a while."""
        operation, cond_raw = frames.built(ConditionInput), frames[raw]
        start = np.minimum(frames.frame, 0)[:, None]  # a frame is in its own window, whatever its number
        wanted = frames.frame[:, None] + np.arange(1 - operation.reach, 1)
        samples = frames.rows_at(raw, np.maximum(wanted, start)) if operation.reach > 1 else cond_raw[:, None]
        windows = zip(samples, wanted >= start, strict=True)
        return np.stack([operation.of_window(rows[is_there]) for rows, is_there in windows])

    def planned(frames: Frames) -> Step:
        if frames.contract.conventions.condition_norm == "raw":
            width = _fields(use)(frames.contract).width
            return moved([Read(raw)], [width], range(width))
        return Step("over_a_window", tuple(Read(raw, -age) for age in range(WINDOW)), chosen(frames, MATH))

    return Built(_fields(use), compute, partial(bound, raw), _reach, Z_SCORE, is_propagated=True, planned=planned)


def bound(raw: str, frames: Frames, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound of the raw condition, or of its z-score over a window."""
    if frames.contract.conventions.condition_norm == "raw":
        return intent_bound(frames, rows, bounds)
    cond = np.abs(rows, dtype=np.float64)
    # the window's mean and std, W samples summed, divided by a std of at least 1e-3
    largest = np.abs(known(frames, raw, rows), dtype=np.float64).max(axis=0)
    return np.asarray(gamma(WINDOW + _UNIT_DIRECTION) * (largest / _STD_FLOOR + cond))


def _reach(contract: Contract) -> tuple[int, int]:
    return (0 if contract.conventions.condition_norm == "raw" else WINDOW, 0)


INTENT = Operation(
    "intent", "the request of a clip's player: action bits, planar direction, speed", build_intent, {}, (0, 0),
    shared=(CONDITION_DIRECTION, CONDITION_SPEED_UNIT), only_on_pages=True,
)  # fmt: skip
OPERATION = Operation(
    "over_a_window", "a condition as it is, or z-scored over its recent samples without outliers", build,
    shared=(CONDITION_NORM, MATH), only_on_pages=True,
)  # fmt: skip
