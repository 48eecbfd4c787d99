"""The Cond input: action bits, planar direction, speed.

Engine: `BuildCondVector`. To add a reading of the direction: a row in `DIRECTION`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from rigpact.contract.bundle import Contract
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.definitions.scaling import zscored
from rigpact.reference_runtime.operations.precision import compute_dtype, stored
from rigpact.reference_runtime.recordings.clip import RawClip

WINDOW = 60
"""Number of samples in the window of the engine's z-score (`CondNormWindow`)."""
STANDING_SPEED_M_S = 1e-3
"""Below this speed there is no direction. Source: the training side's condition rows."""
_VARIANCE_FLOOR, _STD_FLOOR = 1e-6, 1e-3
_IQR_REACH = 1.5


def _velocity(clip: RawClip) -> FloatArray:
    return clip.root_velocity_m_s


def _trajectory(clip: RawClip) -> FloatArray:
    return clip.trajectory_direction[:, clip.trajectory_direction.shape[1] // 2]


DIRECTION: Mapping[str, Callable[[RawClip], FloatArray]] = {
    # the engine's own value first; the training side's rows take the velocity
    "trajectory": _trajectory,
    "velocity": _velocity,
    "negated": lambda clip: -_velocity(clip),
    "swapped_xy": lambda clip: _velocity(clip)[:, ::-1],
    "mirrored_y": lambda clip: _velocity(clip) * (1.0, -1.0),
}
SPEED_FACTOR: Mapping[str, float] = {"m_s": 1.0, "cm_s": 100.0}


def condition_rows(clip: RawClip, contract: Contract) -> FloatArray:
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


def _raw(sample: FloatArray, _samples: Sequence[FloatArray]) -> FloatArray:
    return sample


def window_zscore(sample: FloatArray, samples: Sequence[FloatArray]) -> FloatArray:
    """Z-score of `sample` (C,) over a window of samples (W, C), without outliers.

    Per channel: quartiles by linear interpolation, samples within 1.5 interquartile ranges, population statistics,
    variance floored at 1e-6, std at 1e-3. Source: engine `BuildCondVector`, mode ZScore.
    """
    window = np.asarray(samples)
    first, third = np.quantile(window, (0.25, 0.75), axis=0)
    reach = _IQR_REACH * (third - first)
    kept = (window >= first - reach) & (window <= third + reach)
    kept |= ~kept.any(axis=0)
    mean = window.mean(axis=0, where=kept)
    std = np.sqrt(np.maximum(window.var(axis=0, where=kept), _VARIANCE_FLOOR))
    return zscored(sample, mean, np.maximum(std, _STD_FLOOR))


NORMALISE: Mapping[str, Callable[[FloatArray, Sequence[FloatArray]], FloatArray]] = {
    "raw": _raw,
    "zscore": window_zscore,
}


class ConditionWindow:
    """The ring of recent raw conditions, and the Cond input computed from it. The window includes the newest sample."""

    def __init__(self, contract: Contract) -> None:
        """Start empty, as `ResetARState` leaves it."""
        self._dtype = compute_dtype(contract.conventions)
        self._normalise = NORMALISE[contract.conventions.condition_norm]
        self._looks_back = contract.conventions.condition_norm != "raw"
        self._samples: deque[FloatArray] = deque(maxlen=WINDOW)

    def push(self, cond_raw: FloatArray) -> FloatArray:
        """Add a raw condition (C,) and return the Cond input (C,)."""
        if not self._looks_back:
            return cond_raw.astype(np.float32)
        self._samples.append(cond_raw.astype(self._dtype))
        return stored(self._normalise(self._samples[-1], self._samples))
