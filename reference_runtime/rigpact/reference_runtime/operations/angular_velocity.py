"""The AngVel input.

The deployed engine copies the state's normalised slice. Training computes the input from rotations, with its own
statistics. Vectors are rad/s, three numbers per bone, in the parent's frame unless `angvel_frame` is local. To add a
source: a row in `SOURCE`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from rigpact.contract.bundle import Contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROTATIONS
from rigpact.contract.statistics import AUXILIARY_SCALE_FLOOR, FloatArray
from rigpact.reference_runtime.operations.geometry import angular_velocity
from rigpact.reference_runtime.operations.normalisation import squashed_zscored
from rigpact.reference_runtime.operations.precision import compute_dtype, stored
from rigpact.reference_runtime.operations.rot6d import Rot6d

ANGLE_FACTOR: Mapping[str, float] = {"full": 1.0, "half": 0.5}


@dataclass(frozen=True, eq=False)
class Motion:
    """The sources of an angular velocity: N consecutive frames at `fps`.

    x_raw (N, Dx) raw states, state (N, Dx) their z-scores; `steps` is the number of requested rows.
    """

    x_raw: FloatArray
    state: FloatArray
    fps: float
    steps: int


class AngularVelocityInput:
    """AngVel rows (steps, 3·B) under one contract."""

    def __init__(self, contract: Contract) -> None:
        """Look the conventions up once. UnusableInput if the source needs statistics that no file has."""
        conventions = contract.conventions
        self._dtype = compute_dtype(conventions)
        self._codec = Rot6d(conventions)
        self._rotations = contract.state[ROTATIONS].range
        self._slice = contract.state[ANGULAR_VELOCITIES].range
        self._statistics = contract.angular_velocity
        self._source_name = conventions.angvel_source
        self._source = SOURCE[self._source_name]
        self._factor = ANGLE_FACTOR[conventions.angvel_angle]
        self._in_frame = FRAME[conventions.angvel_frame]
        self._is_in_parent = conventions.angvel_frame == "parent"
        self._lag = int(conventions.angvel_lag)
        if self._statistics is None and conventions.angvel_source in NEEDS_STATISTICS:
            raise _no_statistics(conventions.angvel_source)

    @property
    def reads_one_slice(self) -> bool:
        """Whether the input depends only on the state's own angular velocity slice."""
        return bool(self._source_name != "rotations" and self._is_in_parent)

    def rows(self, motion: Motion) -> FloatArray:
        """AngVel input of the first `steps` frames, stored as float32."""
        return stored(self._source(self, motion))

    def from_state(self, motion: Motion) -> FloatArray:
        """The state's raw angular velocity, normalised with the companion's statistics."""
        omega = self._vectors(motion.x_raw[:, self._slice])
        if not self._is_in_parent:  # the rotations are not used otherwise
            omega = self._in_frame(omega, self._matrices(motion.x_raw))
        return self._normalised(self._lagged(omega, motion.steps))

    def from_rotations(self, motion: Motion) -> FloatArray:
        """From consecutive rotations; the last pair is repeated for frames beyond the clip."""
        matrices = self._matrices(motion.x_raw)
        if len(matrices) < 2:
            return self.from_state(motion)  # a single frame has no pair: take its own measured velocity
        omega = angular_velocity(matrices[:-1], matrices[1:], motion.fps)
        return self._normalised(self._lagged(self._in_frame(omega, matrices[:-1]), motion.steps))

    def from_state_slice(self, motion: Motion) -> FloatArray:
        """The normalised state's own slice: the fallback of the engine."""
        return motion.state[: motion.steps, self._slice]

    def frozen(self, motion: Motion) -> FloatArray:
        """The first row in every frame: the deployed engine's free run never recomputes this input."""
        known = self.from_state_slice if self._statistics is None else self.from_state
        return np.repeat(known(motion)[:1], motion.steps, axis=0)

    def zeros(self, motion: Motion) -> FloatArray:
        """Zeros: the input is not bound."""
        return np.zeros((motion.steps, self._slice.stop - self._slice.start), self._dtype)

    def _matrices(self, x_raw: FloatArray) -> FloatArray:
        return self._codec.decode(x_raw[:, self._rotations].astype(self._dtype))

    def _vectors(self, flat: FloatArray) -> FloatArray:
        return flat.astype(self._dtype).reshape(len(flat), -1, 3)

    def _lagged(self, omega: FloatArray, steps: int) -> FloatArray:
        frames = np.clip(np.arange(steps) + self._lag, 0, len(omega) - 1)
        return omega[frames].reshape(steps, -1) * self._factor

    def _normalised(self, omega: FloatArray) -> FloatArray:
        if self._statistics is None:
            raise _no_statistics(self._source_name)
        return squashed_zscored(omega, self._statistics, AUXILIARY_SCALE_FLOOR)


def _no_statistics(source: str) -> UnusableInput:
    return UnusableInput(
        f"angvel_source={source}",
        "no tanh_scales_angvel, MuAngVel and StdAngVel together in one file",
        "the angular-velocity statistics",
        "give the companion file, or --set angvel_source=state_slice",
    )


SOURCE: Mapping[str, Callable[[AngularVelocityInput, Motion], FloatArray]] = {
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
