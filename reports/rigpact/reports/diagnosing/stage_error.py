"""How far a recorded stage is from its replay: in units that people know, and in tolerances.

A stage fits when every finite value lies within its derived tolerance. Values whose replay is not known (NaN) are not
judged; recorded values that are not finite never fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rigpact.contract.bundle import Contract
from rigpact.contract.conventions import STAGES
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.geometry import rotation_angle_rad
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reference_runtime.systems.enemy_animation.tolerances import stage_tolerances
from rigpact.reports.diagnosing.replay import PARENTS, Replay, path_of

UNIT: Mapping[str, str] = {
    "state": "z",
    "cond": "z",
    "angvel": "z",
    "pose_hist": "z",
    "y_norm": "z",
    "delta6d": "deg",
    "next6d": "deg",
    "y_out": "deg",
    "quat": "deg",
}
"""Unit of a stage's error; `raw` elsewhere."""


PRINTED = 8.0
"""Half last digits r that a composed rotation can be off by when its factors were printed: an axis of three printed numbers
is off by √3·r, ΔR turns by at most √2 of that, R_prev by twice that through Gram–Schmidt, and the result is printed too:
(√2 + 2 + 1)·√3 = 7.7."""


_AFTER_INPUTS = frozenset(STAGES[STAGES.index("y_norm") :])


@dataclass(frozen=True, eq=False)
class StageError:
    """Recorded against replayed values of one stage: excess (T, width) is the error in tolerances.

    excess is NaN where nothing is judged and infinite where the recorded value is not finite.
    """

    stage: str
    recorded: FloatArray
    replayed: FloatArray
    tolerance: FloatArray
    excess: FloatArray

    @property
    def judged(self) -> int:
        """Number of values that could be judged."""
        return int(np.count_nonzero(~np.isnan(self.excess)))

    @property
    def worst_excess(self) -> float:
        """The largest error in tolerances over frames and channels: a median would hide a swap of two bones."""
        return float(np.nanmax(self.excess, initial=0.0))

    @property
    def worst_finite_excess(self) -> float:
        """The largest error in tolerances, recorded values that are not finite left out."""
        return float(np.nanmax(np.where(np.isinf(self.excess), np.nan, self.excess), initial=0.0))

    @property
    def ok(self) -> bool:
        """Whether every judged value is within its tolerance."""
        return self.worst_excess <= 1.0

    @property
    def frames_judged(self) -> int:
        """Number of frames in which something could be judged."""
        return int(np.count_nonzero(~np.isnan(self.excess).all(axis=1)))

    @property
    def frames_within(self) -> int:
        """Number of frames in which something could be judged and all of it is within its tolerance."""
        with np.errstate(invalid="ignore"):
            within = ~(self.excess > 1.0).any(axis=1)
        return int(np.count_nonzero(within & ~np.isnan(self.excess).all(axis=1)))

    @property
    def first_over(self) -> tuple[int, int] | None:
        """Row and channel where the error first leaves the tolerance: of the first such row, the worst channel."""
        with np.errstate(invalid="ignore"):
            over = self.excess > 1.0
        rows = np.flatnonzero(over.any(axis=1))
        if not len(rows):
            return None
        row = int(rows[0])
        return row, int(np.nanargmax(self.excess[row]))


def stage_error(replay: Replay, stage: str) -> StageError | None:
    """Judge one recorded stage against its replay; None when it cannot be replayed."""
    recorded, replayed = replay.evidence.recorded[stage], replay.computed(stage)
    if replayed is None or replayed.shape != recorded.shape:
        return None
    tolerance = local_tolerance(replay, stage, replayed)
    return error_between(stage, recorded, replayed, tolerance)


def error_between(stage: str, recorded: FloatArray, replayed: FloatArray, tolerance: FloatArray) -> StageError:
    """Measure recorded against replayed values, all (T, width)."""
    a: FloatArray = recorded.astype(np.float64)
    b: FloatArray = replayed.astype(np.float64)
    if stage == "quat":
        b = same_hemisphere(a, b)
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = np.abs(a - b)
        excess = np.where(difference == 0.0, 0.0, np.minimum(difference / tolerance, np.finfo(np.float64).max))
    excess[np.isnan(b) | np.isnan(tolerance) & np.isfinite(a)] = np.nan
    excess[~np.isfinite(a)] = np.inf
    return StageError(stage, recorded, replayed, tolerance, excess)


def same_hemisphere(a: FloatArray, b: FloatArray) -> FloatArray:
    """b with the sign of each quaternion that lies nearer to a: q and -q are one rotation. Both (T, 4·B)."""
    quats_a, quats_b = (side.reshape(len(side), -1, 4) for side in (a, b))
    with np.errstate(invalid="ignore"):
        flips = np.sum(quats_a * quats_b, axis=-1, keepdims=True) < 0.0
    return np.where(flips, -quats_b, quats_b).reshape(b.shape)


def local_tolerance(replay: Replay, stage: str, replayed: FloatArray) -> FloatArray:
    """Tolerance of a replay: rounding of this stage and of those computed on the way, nothing from recorded ones."""
    recorded = replay.evidence.recorded
    on_the_way = path_of(stage, recorded)
    before = on_the_way.union(*(PARENTS[name] for name in on_the_way)) - {stage}
    if stage in _AFTER_INPUTS:  # what the inputs may be off by does not enter the bounds of what follows the network
        before &= _AFTER_INPUTS
    values = {name: replay.given(name) for name in STAGES if name in before}
    stages = {name: rows for name, rows in values.items() if rows is not None} | {stage: replayed}
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        rounding = stage_tolerances(replay.contract, stages, given=recorded)[stage]
    return rounding + PRINTED * replay.evidence.resolution


def error_in_unit(error: StageError, contract: Contract) -> FloatArray:
    """The stage's error in its unit: (T, B) degrees for rotations, else (T, width) absolute differences."""
    a, b = error.recorded.astype(np.float64), error.replayed.astype(np.float64)
    if UNIT.get(error.stage) != "deg":
        return np.abs(a - b)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        return np.degrees(_angles(error.stage, a, b, contract))


def _angles(stage: str, a: FloatArray, b: FloatArray, contract: Contract) -> FloatArray:
    if stage == "quat":
        quats_a, quats_b = (side.reshape(len(side), -1, 4) for side in (a, same_hemisphere(a, b)))
        chord, sum_ = (np.linalg.norm(quats_a + sign * quats_b, axis=-1) for sign in (-1.0, 1.0))
        return np.asarray(4.0 * np.arctan2(chord, sum_))
    if stage == "y_out":
        place = contract.output[ROTATIONS].range
        a, b = a[:, place], b[:, place]
    codec = Rot6d(contract.conventions)
    return rotation_angle_rad(codec.decode(a), codec.decode(b))


def largest_in_unit(error: StageError, contract: Contract) -> float:
    """The largest finite error in the stage's unit."""
    values = error_in_unit(error, contract)
    finite = values[np.isfinite(values)]
    return float(finite.max(initial=0.0))
