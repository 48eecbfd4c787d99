"""The state: a clip's, or what the frame before wrote back; and its features as z-scores, both ways.

Engine: `NormalizeXRaw_To_Z` and `DenormX_Z_To_Raw`. Yaw and velocities are first turned into features, then every
channel is z-scored. To add a way of squashing or of encoding yaw: a row in the table.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import numpy as np

from rigpact.contract.conventions import Knob
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROOT_VELOCITY, ROOT_YAW, ROTATIONS, Layout
from rigpact.contract.statistics import TANH_SCALE_FLOOR, FloatArray
from rigpact.contract.systems.contract import Contract, Frames
from rigpact.contract.systems.plan import Read, Step, chosen
from rigpact.contract.systems.stage import Z_SCORE, Bounds, NotKnown
from rigpact.reference_runtime.operations.geometry import wrap_to_pi
from rigpact.reference_runtime.operations.scalars import FUNCTIONS, compute_dtype, gamma, stored, unscored, zscored
from rigpact.reference_runtime.systems.enemy_animation.shared import (
    AFFINE,
    COPY,
    ENGINE,
    MATH,
    OF_CLIP,
    TANH,
    Squashing,
    between,
    copied,
    of_character,
    state_fields,
    state_z_fields,
    zscore_bound,
)

ATANH_LIMIT = 1.0 - 1e-6
"""The engine clamps atanh's argument to this value. The slope there is 5e5; the raw value at 1 would be infinite."""
ScaledMap = Callable[[FloatArray, FloatArray], FloatArray]
"""A channel-wise map of a value (..., k) and the channels' scales (k,)."""


def _tanh(value: FloatArray, scale: FloatArray) -> FloatArray:
    return ENGINE.tanh(value / scale)


def _atanh(value: FloatArray, scale: FloatArray) -> FloatArray:
    return scale * FUNCTIONS["arctanh"](np.clip(value, -ATANH_LIMIT, ATANH_LIMIT))


def _keep(value: FloatArray, _scale: FloatArray) -> FloatArray:
    return value


class Squash(NamedTuple):
    """The functions on a slice before its z-score and its inverse, and those after it."""

    before: ScaledMap
    undo_before: ScaledMap
    after: ScaledMap = _keep
    undo_after: ScaledMap = _keep


SQUASH: Mapping[str, Squash] = {
    "tanh": Squash(_tanh, _atanh),
    "linear": Squash(np.divide, np.multiply),
    "none": Squash(_keep, _keep),
    "tanh_after_zscore": Squash(_keep, _keep, _tanh, _atanh),
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
ROOTVEL_SQUASH = Knob("rootvel_squash", SQUASH)
ANGVEL_SQUASH = Knob("angvel_squash", SQUASH)
YAW_ENCODING = Knob("yaw_encoding", YAW)
FEATURES = (MATH, YAW_ENCODING, ROOTVEL_SQUASH, ANGVEL_SQUASH)


class Features:
    """A vector (..., width) as z-scores, some of its slices made features first, and back; float32 in, float32 out.

    scales: of the velocities, by slice. mean, std: of all channels.
    """

    def __init__(
        self,
        contract: Contract,
        layout: Layout,
        scales: Mapping[str, FloatArray],
        mean: FloatArray,
        std: FloatArray,
        squashing: Squashing = ENGINE,
    ) -> None:
        conventions, self._dtype = contract.conventions, compute_dtype(contract.conventions)
        self._mean, self._std = mean.astype(self._dtype), std.astype(self._dtype)
        yaw = YAW[conventions.yaw_encoding]
        own = {**SQUASH, "tanh": Squash(lambda value, scale: squashing.tanh(value / scale), _atanh)}
        maps = {
            ROOT_YAW: Squash(lambda value, _one: yaw.encode(value), lambda value, _one: yaw.decode(value)),
            ROOT_VELOCITY: own[conventions.rootvel_squash],
            ANGULAR_VELOCITIES: own[conventions.angvel_squash],
        }
        scales = {ROOT_YAW: np.ones(1), **scales}
        self._maps = [
            (layout[name].range, scales[name].astype(self._dtype), squash)
            for name, squash in maps.items()
            if name in layout
        ]

    def normalise(self, raw: FloatArray) -> FloatArray:
        """`NormalizeXRaw_To_Z`: features, then (feature - MuX) / max(|StdX|, 1e-6)."""
        return stored(self.scored(raw.astype(self._dtype)))

    def scored(self, value: FloatArray) -> FloatArray:
        """The same of a value that is changed, not rounded to float32."""
        for place, scale, squash in self._maps:
            value[..., place] = squash.before(value[..., place], scale)
        z = zscored(value, self._mean, self._std)
        for place, scale, squash in self._maps:
            z[..., place] = squash.after(z[..., place], scale)
        return z

    def denormalise(self, z: FloatArray) -> FloatArray:
        """`DenormX_Z_To_Raw`: the inverse; velocities and yaw are clamped to the range of tanh and of wrapping."""
        value = z.astype(self._dtype)
        for place, scale, squash in self._maps:
            value[..., place] = squash.undo_after(value[..., place], scale)
        value = unscored(value, self._mean, self._std)
        for place, scale, squash in self._maps:
            value[..., place] = squash.undo_before(value[..., place], scale)
        return stored(value)


class StateNormaliser(Features):
    """Raw state (..., Dx) to the network's State input and back: metres, metres per second, radians, radians per second."""

    def __init__(self, contract: Contract, squashing: Squashing = ENGINE) -> None:
        own, scales = contract.numbers.state_statistics, floored_scales(contract, squashing)
        super().__init__(contract, contract.numbers.state, scales, own.mean, own.std_floored, squashing)


def floored_scales(contract: Contract, squashing: Squashing = ENGINE) -> dict[str, FloatArray]:
    """The floored scales of the velocities, by slice."""
    both = {ROOT_VELOCITY: contract.numbers.rootvel_scales, ANGULAR_VELOCITIES: contract.numbers.angvel_scales}
    return {name: squashing.scale(scales, TANH_SCALE_FLOOR) for name, scales in both.items()}


def _planned(frames: Frames) -> Step:
    """The features of the frame before are read too: what of the state did not change is not computed again."""
    state, statistics = frames.numbers.state, frames.numbers.state_statistics
    spans = (number for name in (ROOT_VELOCITY, ANGULAR_VELOCITIES) for number in (state[name].start, state[name].size))
    words = (*chosen(frames, *FEATURES), state[ROOT_YAW].start, *spans)
    row = np.concatenate(
        (statistics.mean, statistics.std_floored, *floored_scales(frames.contract).values()), dtype=np.float64
    )
    return Step("state_features", (Read("x_raw"), Read("x_raw", -1), Read("state", -1)), words, row)


def _state_bound(frames: Frames, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound of a feature's z-score; a heading near the seam of its encoding may be on either side."""
    numbers = frames.numbers
    # entries of unit axes have an absolute, not a relative, rounding error
    axis_error = np.zeros(numbers.state.width)
    axis_error[numbers.state[ROTATIONS].range] = gamma(COPY)
    found = zscore_bound(rows, numbers.state_statistics, axis_error)
    yaw = numbers.state[ROOT_YAW].range
    found[..., yaw] += _yaw_bound(frames, rows, found[..., yaw])
    if np.any(bounds.get("x_raw", 0.0)):
        normalise = StateNormaliser(frames.contract.with_conventions({"math": "f64"})).normalise
        found += between(normalise, frames["x_raw"], bounds["x_raw"])
    return found


def _yaw_bound(frames: Frames, rows: FloatArray, rounding: FloatArray) -> FloatArray:
    """The part of the heading's bound that comes from wrapping.

    A heading of many turns has its own rounding error, which is larger than the feature's. A heading within rounding of
    ±π may be wrapped to either side: the feature jumps from one end of its range to the other.
    """
    numbers = frames.numbers
    yaw = numbers.state[ROOT_YAW].range
    std = numbers.state_statistics.std_floored[yaw].astype(np.float64)
    x_raw = frames.get("x_raw")
    heading = 2.0 * np.pi if x_raw is None else np.abs(x_raw[..., yaw], dtype=np.float64)
    end = YAW[frames.contract.conventions.yaw_encoding].seam
    turned = gamma(AFFINE) * heading * (end or 1.0) / np.pi / std
    if end is None:
        return np.asarray(turned)
    feature = np.abs(unscored(rows[..., yaw], numbers.state_statistics.mean[yaw], std))
    at_the_seam = np.abs(feature - end) <= end * gamma(TANH) + 4.0 * (rounding + turned) * std
    return np.asarray(np.where(at_the_seam, turned + 2.0 * end / std, turned))


STATE = of_character(
    "state_features", "a character's state as features, z-scored", (ROOTVEL_SQUASH, ANGVEL_SQUASH, YAW_ENCODING, MATH),
    state_z_fields, lambda frames: np.asarray(frames.built(StateNormaliser).normalise(frames["x_raw"])), _state_bound,
    measure=Z_SCORE, is_propagated=True, planned=_planned,
)  # fmt: skip


def build_fed_state(use: Use) -> Built:
    """The state in metres, radians and seconds."""
    carried = use.word("carried")

    def rows(frames: Frames) -> FloatArray:
        if frames.mode == "teacher":
            return frames.driven(use.stage)
        found, first = frames.at(carried, -1).copy(), frames.frame == 0
        if first.any():
            with suppress(NotKnown):
                found[first] = frames.driven(use.stage)[first]
        return found

    return Built(partial(state_fields, use), rows, raw_state_bound, (1, 0), carried=carried, **OF_CLIP)


def raw_state_bound(frames: Frames, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound of a clip's raw state: copied from a raw clip; from a teacher file each side undoes the z-score by itself.

    Where the clip is not known, it may be a teacher file. Then x = undo(z·std + mean), for the z of these rows: both ends of
    the interval of z are undone. The product and the sum have errors relative to |z·std| and |mean|: together they are an
    error of z of gamma·(|z| + |mean| / std). The inverse of a feature (a library atanh, a product) has its own rounding.
    """
    drive, once = frames.drive if frames.has_drive else None, copied(frames, rows, bounds)
    if drive is not None and drive.is_raw:
        return once
    contract = frames.contract
    normaliser, own = StateNormaliser(contract.with_conventions({"math": "f64"})), contract.numbers.state_statistics
    z = normaliser.normalise(rows)
    moved = gamma(AFFINE) * (np.abs(z, dtype=np.float64) + np.abs(own.mean) / own.std_floored)
    undone = between(normaliser.denormalise, z, moved) + gamma(TANH) * np.abs(rows, dtype=np.float64)
    return np.maximum(once, undone)


FED_STATE = Operation(
    "fed_state", "a clip's raw state; in a free run, the state that the frame before wrote back", build_fed_state,
    {"carried": "the stage that writes the next state"}, (0, 0), only_on_pages=True,
)  # fmt: skip
