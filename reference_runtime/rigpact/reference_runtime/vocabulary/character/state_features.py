"""State features and their z-scores, both ways.

Engine: `NormalizeXRaw_To_Z` and `DenormX_Z_To_Raw`. Yaw and velocities are first turned into features, then every
channel is z-scored. To add a way of squashing or of encoding yaw: a row in the table.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from rigpact.contract.conventions import CodeHint, Knob
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROOT_VELOCITY, ROOT_YAW, ROTATIONS
from rigpact.contract.statistics import TANH_SCALE_FLOOR, FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.plan import Read, Step, chosen
from rigpact.contract.systems.stage import Z_SCORE, Bounds
from rigpact.reference_runtime.operations.definitions.scaling import FUNCTIONS, unscored, zscored
from rigpact.reference_runtime.operations.geometry import wrap_to_pi
from rigpact.reference_runtime.operations.precision import compute_dtype, stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.character.bounds import AFFINE, COPY, TANH, between, zscore_bound
from rigpact.reference_runtime.vocabulary.character.codec import MATH
from rigpact.reference_runtime.vocabulary.character.vectors import vector_fields

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


_SQUASH_HINTS = {
    "tanh": CodeHint("FMath::Tanh(V / Scale)", "torch.tanh(v / scale)"),
    "linear": CodeHint("V / Scale; // the tanh is missing", "v / scale"),
    "none": CodeHint("V; // neither scale nor tanh", "v"),
    "tanh_after_zscore": CodeHint("Tanh(((V - Mu) / Std) / Scale); // order", "torch.tanh(((v - mu) / std) / scale)"),
}
ROOTVEL_SQUASH = Knob("rootvel_squash", SQUASH, "how root velocity is squashed by its scale", _SQUASH_HINTS)
ANGVEL_SQUASH = Knob("angvel_squash", SQUASH, "how bone angular velocity is squashed by its scale", _SQUASH_HINTS)
YAW_ENCODING = Knob(
    "yaw_encoding", YAW, "how the root yaw becomes a feature", {
        "wrapped_over_pi": CodeHint("FMath::UnwindRadians(Yaw) / PI", "wrap_to_pi(yaw) / pi"),
        "unwrapped_over_pi": CodeHint("Yaw / PI; // not unwound", "yaw / pi"),
        "radians": CodeHint("FMath::UnwindRadians(Yaw); // not divided by PI", "wrap_to_pi(yaw)"),
        "degrees_over_180": CodeHint("Yaw / 180.f; // radians taken for degrees", "yaw / 180"),
        "absolute": CodeHint("FMath::Abs(FMath::UnwindRadians(Yaw)) / PI; // sign lost", "wrap_to_pi(yaw).abs() / pi"),
    },
)  # fmt: skip


class StateNormaliser:
    """Raw state (..., Dx) to the network's State input and back, under one contract.

    Units of the raw state: metres, metres per second, radians, radians per second. float32 in, float32 out.
    """

    def __init__(self, contract: Contract) -> None:
        """Look the conventions up once and keep the statistics in the precision of the maths."""
        conventions = contract.conventions
        self._dtype = compute_dtype(conventions)
        self._mean = contract.numbers.state_statistics.mean.astype(self._dtype)
        self._std = contract.numbers.state_statistics.std_floored.astype(self._dtype)
        self._yaw = YAW[conventions.yaw_encoding]
        self._yaw_range = contract.numbers.state[ROOT_YAW].range
        self._squashed = [
            (contract.numbers.state[name].range, _scale(scales, self._dtype), SQUASH[choice])
            for name, scales, choice in (
                (ROOT_VELOCITY, contract.numbers.rootvel_scales, conventions.rootvel_squash),
                (ANGULAR_VELOCITIES, contract.numbers.angvel_scales, conventions.angvel_squash),
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


def build(use: Use) -> Built:
    """Yaw in half turns, velocities through tanh, then every channel z-scored."""
    raw = use.inputs[0].name

    def compute(frames: Frames) -> FloatArray:
        """Features of the raw state, z-scored."""
        return np.asarray(frames.built(StateNormaliser).normalise(frames[raw]))

    return Built(
        vector_fields(use, "state", is_raw=False), compute, partial(bound, raw), measure=Z_SCORE, is_propagated=True,
        planned=partial(_planned, use.stage, raw),
    )  # fmt: skip


def _planned(stage: str, raw: str, frames: Frames) -> Step:
    """The features of the frame before are read too: what of the state did not change is not computed again."""
    numbers = frames.numbers
    velocity, rates = numbers.state[ROOT_VELOCITY], numbers.state[ANGULAR_VELOCITIES]
    words = (
        *chosen(frames, MATH, YAW_ENCODING, ROOTVEL_SQUASH, ANGVEL_SQUASH),
        numbers.state[ROOT_YAW].start, velocity.start, velocity.size, rates.start, rates.size,
    )  # fmt: skip
    scales = (_scale(each, np.float64) for each in (numbers.rootvel_scales, numbers.angvel_scales))
    statistics = numbers.state_statistics
    row = np.concatenate((statistics.mean, statistics.std_floored, *scales))
    return Step("state_features", (Read(raw), Read(raw, -1), Read(stage, -1)), words, row)


def bound(raw: str, frames: Frames, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound of a feature's z-score; a heading near the seam of its encoding may be on either side."""
    numbers = frames.numbers
    # entries of unit axes have an absolute, not a relative, rounding error
    axis_error = np.zeros(numbers.state.width)
    axis_error[numbers.state[ROTATIONS].range] = gamma(COPY)
    found = zscore_bound(rows, numbers.state_statistics, axis_error)
    yaw = numbers.state[ROOT_YAW].range
    found[..., yaw] += _yaw_bound(raw, frames, rows, found[..., yaw])
    if np.any(bounds.get(raw, 0.0)):
        normalise = StateNormaliser(frames.contract.with_conventions({"math": "f64"})).normalise
        found += between(normalise, frames[raw], bounds[raw])
    return found


def _yaw_bound(raw: str, frames: Frames, rows: FloatArray, rounding: FloatArray) -> FloatArray:
    """The part of the heading's bound that comes from wrapping.

    A heading of many turns has its own rounding error, which is larger than the feature's. A heading within rounding of
    ±π may be wrapped to either side: the feature jumps from one end of its range to the other.
    """
    numbers = frames.numbers
    yaw = numbers.state[ROOT_YAW].range
    std = numbers.state_statistics.std_floored[yaw].astype(np.float64)
    x_raw = frames.get(raw)
    heading = 2.0 * np.pi if x_raw is None else np.abs(x_raw[..., yaw], dtype=np.float64)
    end = YAW[frames.contract.conventions.yaw_encoding].seam
    unit = end or 1.0
    turned = gamma(AFFINE) * heading * unit / np.pi / std
    if end is None:
        return np.asarray(turned)
    feature = np.abs(unscored(rows[..., yaw], numbers.state_statistics.mean[yaw], std))
    at_the_seam = np.abs(feature - end) <= end * gamma(TANH) + 4.0 * (rounding + turned) * std
    return np.asarray(np.where(at_the_seam, turned + 2.0 * end / std, turned))


OPERATION = Operation(
    "state_features", "a character's state as features, z-scored", build,
    shared=(ROOTVEL_SQUASH, ANGVEL_SQUASH, YAW_ENCODING, MATH), only_on_pages=True,
)  # fmt: skip
