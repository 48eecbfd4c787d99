"""The write-back of a free run: the slices of the raw state that the output updates.

Engine: for each output slice whose name and size match a state slice, copy; everything else keeps its old value. To add a
way: a row in `WRITEBACK`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.bundle import Contract
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROOT_POSITION, ROOT_VELOCITY, ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.geometry import angular_velocity
from rigpact.reference_runtime.operations.precision import compute_dtype, stored
from rigpact.reference_runtime.operations.rot6d import Rot6d


class WriteBack:
    """Raw state (..., Dx) and published output (..., Dy) to the next raw state, under one contract.

    renewed: the slices of the state that are written; all others keep their bits. None if they are not known.
    """

    def __init__(self, contract: Contract, fps: float) -> None:
        """Look the convention up once."""
        self._state, self._fps = contract.state, fps
        self._codec, self._dtype = Rot6d(contract.conventions), compute_dtype(contract.conventions)
        self._write = WRITEBACK[contract.conventions.writeback]
        self._shared = [
            (contract.state[entry.name].range, entry.range)
            for entry in contract.output
            if entry.name in contract.state and contract.state[entry.name].size == entry.size
        ]
        renews = RENEWS[contract.conventions.writeback]
        self.renewed: tuple[slice, ...] | None = None if renews is None else tuple(renews(self))

    def __call__(self, x_raw: FloatArray, y_out: FloatArray) -> FloatArray:
        """The next raw state; the arguments stay as they are."""
        return self._write(self, x_raw, y_out)

    def output_slices(self, x_raw: FloatArray, y_out: FloatArray) -> FloatArray:
        """Copy every output slice whose name and size match a state slice."""
        following: FloatArray = x_raw.copy()
        for place, source in self._shared:
            following[..., place] = y_out[..., source]
        return following

    def everything(self, x_raw: FloatArray, y_out: FloatArray) -> FloatArray:
        """Output slices, and values derived from them: angular velocity of the last step, the new root position."""
        following = self.output_slices(x_raw, y_out)
        place = self._state[ROTATIONS].range
        before, after = (self._codec.decode(x[..., place].astype(self._dtype)) for x in (x_raw, following))
        omega = angular_velocity(before, after, self._fps)
        following[..., self._state[ANGULAR_VELOCITIES].range] = stored(omega.reshape(*omega.shape[:-2], -1))
        if ROOT_POSITION in self._state:
            start = self._state[ROOT_POSITION].start
            following[..., start : start + 2] += following[..., self._state[ROOT_VELOCITY].range] / np.float32(
                self._fps
            )
        return following


WRITEBACK: Mapping[str, Callable[[WriteBack, FloatArray, FloatArray], FloatArray]] = {
    "output_slices": WriteBack.output_slices,
    "none": lambda _self, x_raw, _y_out: x_raw,
    "all": WriteBack.everything,
}
RENEWS: Mapping[str, Callable[[WriteBack], list[slice]] | None] = {
    "output_slices": lambda own: [place for place, _ in own._shared],
    "none": lambda _own: [],
    "all": None,
}
