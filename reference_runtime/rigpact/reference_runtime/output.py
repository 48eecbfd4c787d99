"""From the network's output to the published pose: denormalise, reproject, compose, encode, publish.

Engine: `DenormY_Z_To_Raw`, `Reproject6D`, the delta composition and `FPoseMailbox`. `OutputStages` is built once from a
contract; each stage is then a pure function of the stages before it. To add a value of a knob: a row in its table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from rigpact.contract.bundle import Contract
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROOT_VELOCITY, ROOT_YAW, ROTATIONS
from rigpact.contract.statistics import FloatArray, Statistics
from rigpact.reference_runtime.geometry import compose, matrix_to_quat
from rigpact.reference_runtime.normalisation import SQUASH, YAW
from rigpact.reference_runtime.precision import compute_dtype, stored
from rigpact.reference_runtime.rot6d import Rot6d

Affine = tuple[FloatArray, FloatArray]
"""Factor and summand: y_raw = y_norm · factor + summand."""

DENORM: Mapping[str, Callable[[Statistics, Statistics], Affine]] = {
    "std_and_mean": lambda own, _state: (own.std, own.mean),
    "std_only": lambda own, _state: (own.std, np.zeros_like(own.mean)),
    "mean_only": lambda own, _state: (np.ones_like(own.std), own.mean),
    "variance": lambda own, _state: (own.std.astype(np.float64) ** 2, own.mean),
    "state_stats": lambda _own, state: (state.std, state.mean),
}
ADDS_MEAN: Mapping[str, bool] = {"delta": True, "residual": False, "absolute": True}
"""Whether MuY enters the rotations. It is a mean pose, so it has no place in a residual."""
ADDS_IDENTITY: Mapping[str, bool] = {"delta": False, "residual": True, "absolute": False}
REPROJECTS: Mapping[str, tuple[bool, bool]] = {
    "both": (True, True),
    "before": (True, False),
    "after": (False, True),
    "none": (False, False),
}
COMPOSE: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "delta_prev": compose,
    "prev_delta": lambda delta, previous: compose(previous, delta),
}
DIRECTION: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "forward": lambda delta: delta,
    "inverse": lambda delta: np.swapaxes(delta, -1, -2),
}
MIRROR: Mapping[str, tuple[float, float, float] | None] = {
    "none": None,
    "x": (-1.0, 1.0, 1.0),
    "y": (1.0, -1.0, 1.0),
    "z": (1.0, 1.0, -1.0),
}
QUATERNION_ORDER: Mapping[str, list[int]] = {"xyzw": [0, 1, 2, 3], "wxyz": [3, 0, 1, 2]}


class OutputStages:
    """The stages after the network, under one contract. float32 in, float32 out, leading axes broadcast."""

    def __init__(self, contract: Contract) -> None:
        """Look every convention up once."""
        conventions = contract.conventions
        self._dtype = compute_dtype(conventions)
        self.codec = Rot6d(conventions)
        self._proper_codec = Rot6d(conventions.replaced({"derived_axis": "second_cross_first"}))
        self.rotations = contract.output[ROTATIONS].range
        self._bones = contract.bone_count
        self._factor, self._summand = self._denormalisation(contract)
        self._inverse = _inverse_features(contract, self._dtype)
        self._is_pose = conventions.output_mode == "absolute"
        self._offset = self.codec.identity(self._bones, self._dtype) * ADDS_IDENTITY[conventions.output_mode]
        self._before, self._after = REPROJECTS[conventions.reproject]
        self._compose = COMPOSE[conventions.compose_order]
        self._direct = DIRECTION[conventions.delta_direction]
        self._signs = MIRROR[conventions.mirror]
        self._order = contract.bone_permutation
        self._components = QUATERNION_ORDER[conventions.quaternion_order]

    def _denormalisation(self, contract: Contract) -> Affine:
        conventions = contract.conventions
        factor, summand = DENORM[conventions.denorm](contract.output_statistics, _state_statistics_for_output(contract))
        factor, summand = factor.astype(self._dtype), summand.astype(self._dtype)
        if not ADDS_MEAN[conventions.output_mode]:
            summand[self.rotations] = 0.0  # not a product: a MuY that is NaN and never used must not come through
        return factor, summand

    def identity_pose(self) -> FloatArray:
        """The published rotations before the first frame: no rotation, (6·B,)."""
        return stored(self.codec.identity(self._bones))

    def y_raw(self, y_norm: FloatArray) -> FloatArray:
        """`DenormY_Z_To_Raw`: y_norm · StdY + MuY, no floor on StdY; yaw and velocities undo their features."""
        value = y_norm.astype(self._dtype)
        for inverse in self._inverse:
            value[..., inverse.place] = inverse.undo_after(value[..., inverse.place])
        value = value * self._factor + self._summand
        for inverse in self._inverse:
            value[..., inverse.place] = inverse.undo_before(value[..., inverse.place])
        return stored(value)

    def y_norm_of(self, y_raw: FloatArray) -> FloatArray:
        """The network output that a y_raw came from, float64; 0 on channels without spread."""
        value: FloatArray = y_raw.astype(np.float64)
        for inverse in self._inverse:
            value[..., inverse.place] = inverse.before(value[..., inverse.place])
        spread = self._factor != 0.0
        value = np.where(spread, (value - self._summand) / np.where(spread, self._factor, 1.0), 0.0)
        for inverse in self._inverse:
            value[..., inverse.place] = inverse.after(value[..., inverse.place])
        return value

    def delta6d(self, y_raw: FloatArray, published6d: FloatArray) -> FloatArray | None:
        """ΔR of each bone, (..., 6·B), reprojected; None when the output is the pose itself.

        published6d: (..., 6·B), the pose published one frame before, where degenerate axes come from.
        """
        if self._is_pose:
            return None
        delta = y_raw[..., self.rotations].astype(self._dtype) + self._offset
        return stored(self.codec.reproject(delta, published6d.astype(self._dtype)) if self._before else delta)

    def next6d(self, y_raw: FloatArray, delta6d: FloatArray | None, previous6d: FloatArray) -> FloatArray:
        """R_next = ΔR · R_prev, encoded; previous6d (..., 6·B) is the raw state's rotation slice."""
        return y_raw[..., self.rotations] if delta6d is None else self.compose(delta6d, previous6d)

    def compose(self, delta6d: FloatArray, previous6d: FloatArray) -> FloatArray:
        """ΔR · R_prev, encoded, both (..., 6·B); ΔR is taken as it stands where nothing reprojects it before."""
        decode = self.codec.decode if self._before else self.codec.decode_as_is
        delta = self._direct(decode(delta6d.astype(self._dtype)))
        return stored(self.codec.encode(self._compose(delta, self.codec.decode(previous6d.astype(self._dtype)))))

    def y_out(self, y_raw: FloatArray, next6d: FloatArray, published6d: FloatArray) -> FloatArray:
        """What the mailbox publishes as `Y_denorm`: reprojected rotations in the engine's bone order and handedness."""
        pose = next6d.astype(self._dtype)
        if self._after:
            pose = self.codec.reproject(pose, published6d.astype(self._dtype))
        published = y_raw.copy()
        published[..., self.rotations] = stored(self._engine_pose(pose))
        return published

    def quat(self, y_out: FloatArray) -> FloatArray:
        """Local rotations as unit quaternions, (..., 4·B); of a reflection, those of its proper twin."""
        matrices = self._proper_codec.decode(y_out[..., self.rotations].astype(self._dtype))
        quats = matrix_to_quat(matrices)[..., self._components]
        return stored(quats.reshape(*quats.shape[:-2], -1))

    def __call__(self, y_norm: FloatArray, previous6d: FloatArray, published6d: FloatArray) -> dict[str, FloatArray]:
        """Every output stage by name, in loop order; delta6d only where there is a delta."""
        y_raw = self.y_raw(y_norm)
        delta6d = self.delta6d(y_raw, published6d)
        next6d = self.next6d(y_raw, delta6d, previous6d)
        y_out = self.y_out(y_raw, next6d, published6d)
        stages = {"y_norm": y_norm, "y_raw": y_raw, "delta6d": delta6d, "next6d": next6d, "y_out": y_out}
        return {name: value for name, value in stages.items() if value is not None} | {"quat": self.quat(y_out)}

    def _engine_pose(self, pose: FloatArray) -> FloatArray:
        if self._signs is not None:
            signs = np.asarray(self._signs, pose.dtype)
            pose = self.codec.encode(signs[:, None] * self.codec.decode_as_is(pose) * signs)
        if self._order is not None:
            pose = pose.reshape(*pose.shape[:-1], -1, 6)[..., list(self._order), :].reshape(pose.shape)
        return pose


def _state_statistics_for_output(contract: Contract) -> Statistics:
    """The X statistics of the slices that state and output share; the output's own elsewhere."""
    mean, std = contract.output_statistics.mean.copy(), contract.output_statistics.std.copy()
    for entry in contract.output:
        if entry.name in contract.state and contract.state[entry.name].size == entry.size:
            twin = contract.state[entry.name].range
            mean[entry.range] = contract.state_statistics.mean[twin]
            std[entry.range] = contract.state_statistics.std[twin]
    return Statistics(mean, std)


class _Inverse(NamedTuple):
    """How one slice of the output undoes its feature, before and after it is scaled by StdY and MuY; and the way back."""

    place: slice
    undo_after: Callable[[FloatArray], FloatArray]
    undo_before: Callable[[FloatArray], FloatArray]
    before: Callable[[FloatArray], FloatArray]
    after: Callable[[FloatArray], FloatArray]


def _inverse_features(contract: Contract, dtype: type[np.floating]) -> list[_Inverse]:
    """Inverse transforms of the yaw and velocity slices that an output may hold; scales are not floored here."""
    conventions = contract.conventions
    inverses = []
    if ROOT_YAW in contract.output:
        encode, decode = YAW[conventions.yaw_encoding]
        inverses.append(_Inverse(contract.output[ROOT_YAW].range, _as_it_is, decode, encode, _as_it_is))
    for name, scales, choice in (
        (ROOT_VELOCITY, contract.rootvel_scales, conventions.rootvel_squash),
        (ANGULAR_VELOCITIES, contract.angvel_scales, conventions.angvel_squash),
    ):
        if name in contract.output:
            squash, scale = SQUASH[choice], np.abs(scales).astype(dtype)
            steps = (squash.undo_after, squash.undo_before, squash.before, squash.after)
            inverses.append(_Inverse(contract.output[name].range, *(partial(step, scale=scale) for step in steps)))
    return inverses


def _as_it_is(value: FloatArray) -> FloatArray:
    return value
