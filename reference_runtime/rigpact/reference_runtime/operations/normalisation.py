"""State features and their z-scores, both ways.

Engine: `NormalizeXRaw_To_Z` and `DenormX_Z_To_Raw`. Yaw and velocities are first turned into features, then every
channel is z-scored. To add a way of squashing or of encoding yaw: a row in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

import numpy as np

from rigpact.contract.bundle import Contract
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROOT_VELOCITY, ROOT_YAW
from rigpact.contract.statistics import TANH_SCALE_FLOOR, FloatArray, SquashedStatistics, Statistics
from rigpact.reference_runtime.operations.definitions.scaling import FUNCTIONS, unscored, zscored
from rigpact.reference_runtime.operations.geometry import wrap_to_pi
from rigpact.reference_runtime.operations.precision import compute_dtype, stored

ATANH_LIMIT = 1.0 - 1e-6
"""The engine clamps atanh's argument to this value. The slope there is 5e5; the raw value at 1 would be infinite."""


def _tanh(value: FloatArray, scale: FloatArray) -> FloatArray:
    return FUNCTIONS["tanh"](value / scale)


def _atanh(value: FloatArray, scale: FloatArray) -> FloatArray:
    return scale * FUNCTIONS["arctanh"](np.clip(value, -ATANH_LIMIT, ATANH_LIMIT))


def _divide(value: FloatArray, scale: FloatArray) -> FloatArray:
    return value / scale


def _multiply(value: FloatArray, scale: FloatArray) -> FloatArray:
    return value * scale


def _keep(value: FloatArray, scale: FloatArray) -> FloatArray:  # noqa: ARG001 - one signature for the table
    return value


class ScaledMap(Protocol):
    """A channel-wise map of a value (..., k) and the channels' scales (k,)."""

    def __call__(self, value: FloatArray, scale: FloatArray) -> FloatArray:
        """Apply the map."""
        ...


class Squash(NamedTuple):
    """The functions on a velocity before and after its z-score, and their inverses."""

    before: ScaledMap
    after: ScaledMap
    undo_after: ScaledMap
    undo_before: ScaledMap


SQUASH: Mapping[str, Squash] = {
    "tanh": Squash(_tanh, _keep, _keep, _atanh),
    "linear": Squash(_divide, _keep, _keep, _multiply),
    "none": Squash(_keep, _keep, _keep, _keep),
    "tanh_after_zscore": Squash(_keep, _tanh, _atanh, _keep),
}


class YawEncoding(NamedTuple):
    """Yaw in radians to a feature, and back.

    seam: the largest value of the feature, at which the encoding wraps and jumps; None if it does not wrap.
    """

    encode: Callable[[FloatArray], FloatArray]
    decode: Callable[[FloatArray], FloatArray]
    seam: float | None = None


def _half_turns_to_rad(feature: FloatArray) -> FloatArray:
    return np.clip(feature, -1.0, 1.0) * np.pi


YAW: Mapping[str, YawEncoding] = {
    "wrapped_over_pi": YawEncoding(lambda yaw: wrap_to_pi(yaw) / np.pi, _half_turns_to_rad, 1.0),
    "unwrapped_over_pi": YawEncoding(lambda yaw: yaw / np.pi, lambda feature: feature * np.pi),
    "radians": YawEncoding(wrap_to_pi, lambda feature: feature, np.pi),
    # defect: the raw number is read as degrees; an engine's rotator holds degrees, the state holds radians
    "degrees_over_180": YawEncoding(lambda yaw: yaw / 180.0, lambda feature: feature * 180.0),
    # defect: the sign is lost, so left and right turns are the same
    "absolute": YawEncoding(lambda yaw: np.abs(wrap_to_pi(yaw)) / np.pi, _half_turns_to_rad),
}


class StateNormaliser:
    """Raw state (..., Dx) to the network's State input and back, under one contract.

    Units of the raw state: metres, metres per second, radians, radians per second. float32 in, float32 out.
    """

    def __init__(self, contract: Contract) -> None:
        """Look the conventions up once and keep the statistics in the precision of the maths."""
        conventions = contract.conventions
        self._dtype = compute_dtype(conventions)
        self._mean = contract.state_statistics.mean.astype(self._dtype)
        self._std = contract.state_statistics.std_floored.astype(self._dtype)
        self._yaw = YAW[conventions.yaw_encoding]
        self._yaw_range = contract.state[ROOT_YAW].range
        self._squashed = [
            (contract.state[name].range, _scale(scales, self._dtype), SQUASH[choice])
            for name, scales, choice in (
                (ROOT_VELOCITY, contract.rootvel_scales, conventions.rootvel_squash),
                (ANGULAR_VELOCITIES, contract.angvel_scales, conventions.angvel_squash),
            )
        ]

    def normalise(self, x_raw: FloatArray) -> FloatArray:
        """`NormalizeXRaw_To_Z`: features, then (feature - MuX) / max(|StdX|, 1e-6)."""
        value = x_raw.astype(self._dtype)
        value[..., self._yaw_range] = self._yaw.encode(value[..., self._yaw_range])
        for place, scale, squash in self._squashed:
            value[..., place] = squash.before(value[..., place], scale)
        z = zscored(value, self._mean, self._std)
        for place, scale, squash in self._squashed:
            z[..., place] = squash.after(z[..., place], scale)
        return stored(z)

    def is_plain(self, place: slice) -> bool:
        """Whether a slice of channels is z-scored directly: no yaw, no velocity."""
        features = [self._yaw_range, *(entry[0] for entry in self._squashed)]
        return all(place.stop <= feature.start or feature.stop <= place.start for feature in features)

    def renew(self, z: FloatArray, x_raw: FloatArray, place: slice) -> None:
        """Write the z-scores of a plain slice of `x_raw` (..., Dx) into z: the same bits as in `normalise`."""
        value = x_raw[..., place].astype(self._dtype)
        np.subtract(value, self._mean[place], value)
        np.divide(value, self._std[place], value)
        z[..., place] = value

    def denormalise(self, z: FloatArray) -> FloatArray:
        """`DenormX_Z_To_Raw`: the inverse; velocities and yaw are clamped to the range of tanh and of wrapping."""
        value = z.astype(self._dtype)
        for place, scale, squash in self._squashed:
            value[..., place] = squash.undo_after(value[..., place], scale)
        value = unscored(value, self._mean, self._std)
        for place, scale, squash in self._squashed:
            value[..., place] = squash.undo_before(value[..., place], scale)
        value[..., self._yaw_range] = self._yaw.decode(value[..., self._yaw_range])
        return stored(value)


def _scale(scales: FloatArray, dtype: type[np.floating]) -> FloatArray:
    return np.maximum(np.abs(scales), np.float32(TANH_SCALE_FLOOR)).astype(dtype)


def zscored_by(value: FloatArray, statistics: Statistics) -> FloatArray:
    """(value - mean) / max(|std|, 1e-6), in the precision of `value`."""
    return zscored(value, statistics.mean.astype(value.dtype), statistics.std_floored.astype(value.dtype))


class SquashedZscore:
    """(tanh(value / max(|scale|, floor)) - mean) / max(|std|, 1e-6): an auxiliary input's normalisation."""

    def __init__(self, auxiliary: SquashedStatistics, floor: float, dtype: type[np.floating]) -> None:
        """Keep the statistics in the precision of the maths."""
        scale = np.maximum(np.abs(auxiliary.scale), np.float32(floor)).astype(dtype)
        self._mean = auxiliary.statistics.mean.astype(dtype)
        std = auxiliary.statistics.std_floored.astype(dtype)
        with np.errstate(divide="ignore", over="ignore"):  # without the floor a divisor may be zero
            self._per_scale, self._per_std = 1 / scale, 1 / std

    def __call__(self, value: FloatArray) -> FloatArray:
        """Overwrite a value (..., width) with its z-score."""
        np.multiply(value, self._per_scale, value)
        np.tanh(value, value)
        np.subtract(value, self._mean, value)
        np.multiply(value, self._per_std, value)
        return value


def squashed_zscored(value: FloatArray, auxiliary: SquashedStatistics, floor: float) -> FloatArray:
    """The z-score of an auxiliary input's value (..., width), in the precision of `value`."""
    return SquashedZscore(auxiliary, floor, value.dtype.type)(value.copy())
