"""Past poses: the last H of a character, oldest to newest, six numbers per bone; then squashed and z-scored.

Engine: `ResetPoseHistoryFromPose`, `PushPoseHistoryFrame`, `BuildPoseHistoryFeature`, `NormalizePoseHistoryRaw`. Pose k is
the pose of frame k. The convention `pose_history_start` defines the poses before the first frame. To add a reading: a row in
a table.
"""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.character import character_of
from rigpact.contract.conventions import Knob
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.statistics import FloatArray, SquashedStatistics, unit_statistics
from rigpact.contract.systems.contract import Contract, Frames
from rigpact.contract.systems.plan import TARGET, Read, Step, chosen
from rigpact.contract.systems.stage import Z_SCORE, Bounds, NotKnown
from rigpact.reference_runtime.operations.scalars import (
    FUNCTIONS,
    ORDERS,
    QUIETLY,
    ages,
    compute_dtype,
    gamma,
    stored,
    zscored_by,
)
from rigpact.reference_runtime.operations.six_numbers import GRAM_SCHMIDT, Rot6d
from rigpact.reference_runtime.systems.enemy_animation.shared import (
    AFFINE,
    CODEC,
    ENGINE,
    MATH,
    TANH,
    Squashing,
    history_fields,
    of_character,
    squashed_bound,
    squashed_numbers,
    zscore_bound,
)
from rigpact.reference_runtime.systems.enemy_animation.state import StateNormaliser

Frame = NDArray[np.int64]
DELAY: Mapping[str, int] = {"includes_current": 0, "excludes_current": 1}
FIRST_POSE: Mapping[str, int] = {
    "seed_pose": 0,
    "identity": 0,
    "zeros": 0,
    "first_target": 1,
    # a free run pushes what the network gives: the pose of frame 0 stood in the ring that is reset
    "identity_after_seed": 1,
}
"""The first frame whose own pose enters the history; earlier frames are padding."""
AS_DRIVEN: Mapping[str, str] = {"identity_after_seed": "seed_pose"}
"""Values that mean another one where a clip drives: only the free run of an engine resets its history."""
HISTORY_ORDER = Knob("pose_history_order", ORDERS)
HISTORY_PHASE = Knob("pose_history_phase", DELAY)
HISTORY_START = Knob("pose_history_start", FIRST_POSE)


def poses_at(frames: Frames, wanted: Frame) -> FloatArray:
    """Rotations at frames (N, …) of the run, (N, …, 6·B): from the raw states, else from the recorded z-scores."""
    place = frames.numbers.state[ROTATIONS].range
    try:
        return frames.rows_at("x_raw", wanted)[..., place]
    except NotKnown:
        if frames.mode != "teacher":
            raise
    known = frames.rows_at("state", wanted)
    return np.asarray(frames.built(StateNormaliser).denormalise(known)[..., place])


def history_length(contract: Contract) -> int:
    """The number of frames; UnusableInput if no file gives it."""
    length = character_of(contract).pose_history_length
    if length is None:
        raise UnusableInput(
            contract.path, "no pose_hist_len", "the length of the pose history", "give the companion file"
        )
    return length


class PoseHistory:
    """The history under one contract: the frames in it.

    start: the convention of the poses before the first; first: the frame whose own pose enters first. offsets: frames of the
    entries (H,), relative to the current one.
    """

    def __init__(self, contract: Contract, mode: str = "teacher") -> None:
        """Look the conventions up once. mode: `free` for a free run. UnusableInput if no file gives the number of frames."""
        conventions = contract.conventions
        self._codec = Rot6d(conventions)
        start = conventions.pose_history_start
        self.start = start if mode == "free" else AS_DRIVEN.get(start, start)
        self.first = FIRST_POSE[self.start]
        order, delay = ORDERS[conventions.pose_history_order], DELAY[conventions.pose_history_phase]
        self.offsets = -np.array(ages(history_length(contract), order, delay))

    @property
    def starts_with_a_pose(self) -> bool:
        """Whether a pose of the run, or of the clip, stands for those before the first; else a constant."""
        return self.start in ("seed_pose", "first_target")

    def padding(self, first_pose: FloatArray) -> FloatArray:
        """What stands in the history before the run's own poses; first_pose (..., 6·B) is that of frame `first`."""
        identity = self._codec.identity(first_pose.shape[-1] // 6, np.float32)
        chosen = {"identity": identity, "identity_after_seed": identity, "zeros": np.zeros_like(identity)}
        return np.broadcast_to(chosen.get(self.start, first_pose), first_pose.shape)

    def rows(self, frame: Frame, poses_at: Callable[[Frame], FloatArray], padding: FloatArray) -> FloatArray:
        """Features (N, H·6·B) at frames (N,). poses_at: frames (N, H), none below 0, to poses (N, H, 6·B). padding: (N, 6·B)."""
        wanted = frame[:, None] + self.offsets
        entries = np.where((wanted < self.first)[..., None], padding[:, None], poses_at(np.maximum(wanted, 0)))
        return stored(entries.reshape(len(frame), len(self.offsets) * padding.shape[-1]))


def refuse_one_pose(poses: FloatArray) -> None:
    """UnusableInput where there is no second pose (N, 6·B) for a history that starts with it."""
    if len(poses) < 2:
        raise UnusableInput("pose_history_start=first_target", "one pose", "a clip with at least two frames")


def free_history(contract: Contract) -> PoseHistory:
    """The history of a free run."""
    return PoseHistory(contract, "free")


def _history_planned(frames: Frames) -> Step:
    """Each frame moves the history of the frame before on by one pose."""
    contract, conventions = frames.contract, frames.contract.conventions
    if frames.numbers.pose_history_length is None:
        raise NotKnown("pose_hist_len")
    driven, free = PoseHistory(contract), free_history(contract)
    delay = DELAY[conventions.pose_history_phase]
    words = (
        conventions.pose_history_order == "newest_first", delay, driven.first, free.first,
        driven.starts_with_a_pose, free.starts_with_a_pose, frames.numbers.state[ROTATIONS].start,
        6 * frames.numbers.bone_count,
    )  # fmt: skip
    reads = [Read("x_raw", -delay, "first"), Read("x_raw"), Read("pose_hist_raw", -1)]
    if conventions.pose_history_start == "first_target":
        reads.append(Read("x_raw", 1, TARGET))
    return Step("pose_history", tuple(reads), words, free.padding(np.zeros(6)) if not free.starts_with_a_pose else ())


def _raw_history(frames: Frames) -> FloatArray:
    """H past poses, encoded."""
    if frames.numbers.pose_history_length is None:
        raise NotKnown("pose_hist_len")
    history = frames.built(free_history if frames.mode == "free" else PoseHistory)
    padding = history.padding(_first_pose(frames, history))
    return np.asarray(history.rows(frames.frame, partial(poses_at, frames), padding))


def _of_rotations(frames: Frames) -> FloatArray:
    """The same from kept rotations, encoded again: six numbers of a clip with few decimals are not quite those of a rotation."""
    rows = _raw_history(frames).astype(compute_dtype(frames.contract.conventions))
    return stored(Rot6d(frames.contract.conventions).reproject(rows, rows))


def _first_pose(frames: Frames, history: PoseHistory) -> FloatArray:
    """The pose that a history may start with, (N, 6·B): the run's own first one, or the clip's second."""
    if frames.mode == "free" and history.start == "first_target":
        targets = frames.of_clip("x_raw", lambda rows, frame: rows[np.ones_like(frame)])
        return targets[:, frames.numbers.state[ROTATIONS].range]
    return poses_at(frames, np.full_like(frames.frame, 0 if frames.mode == "free" else history.first))


def _history_bound(frames: Frames, rows: FloatArray, _bounds: Bounds) -> FloatArray:
    """The engine keeps rotations and encodes them again: unit axes with an absolute rounding error.

    Six numbers of a clip with few decimals are not quite the columns of a rotation. Encoded again they move: by what
    Gram–Schmidt changes. A side that keeps the clip's numbers is right too.
    """
    wide: FloatArray = rows.astype(np.float64)
    again = Rot6d(frames.contract.conventions).reproject(wide, wide)
    return np.asarray(gamma(GRAM_SCHMIDT) + np.nan_to_num(np.abs(again - wide)))


POSE_HISTORY = of_character(
    "pose_history", "the last poses of a character, six numbers a bone",
    (*CODEC, HISTORY_ORDER, HISTORY_PHASE, HISTORY_START, MATH), history_fields, _raw_history, _history_bound,
    reach=lambda contract: ((contract.numbers.pose_history_length or 0) + 1, 1), is_propagated=True,
    other_way=_of_rotations, planned=_history_planned,
)  # fmt: skip


def _scaled(value: FloatArray, auxiliary: SquashedStatistics) -> FloatArray:
    return value / ENGINE.auxiliary_scale(auxiliary).astype(value.dtype)


NORMALISE: Mapping[str, Callable[[FloatArray, SquashedStatistics], FloatArray]] = {
    "tanh_zscore": ENGINE.zscored,
    "linear": lambda value, auxiliary: zscored_by(_scaled(value, auxiliary), auxiliary.statistics),
    "tanh": lambda value, auxiliary: FUNCTIONS["tanh"](_scaled(value, auxiliary)),
    "tanh_unit_scale": lambda value, _auxiliary: FUNCTIONS["tanh"](value),
    "raw": lambda value, _auxiliary: value,
}
HISTORY_NORM = Knob("pose_history_norm", NORMALISE)


def _statistics(contract: Contract) -> SquashedStatistics:
    """Those of the bundle; without them the scale is 1, the mean 0, the deviation 1."""
    width = history_length(contract) * contract.numbers.bone_count * 6
    own: SquashedStatistics = contract.numbers.pose_history or unit_statistics(width)
    return own


class HistoryNormaliser:
    """The normalisation of past poses under one contract."""

    def __init__(self, contract: Contract, squashing: Squashing = ENGINE) -> None:
        """Look the conventions up once. UnusableInput if no file gives the number of frames."""
        self._dtype, self._statistics = compute_dtype(contract.conventions), _statistics(contract)
        self._normalise = {**NORMALISE, "tanh_zscore": squashing.zscored}[contract.conventions.pose_history_norm]

    @QUIETLY
    def __call__(self, raw: FloatArray) -> FloatArray:
        """z of a raw feature (..., H·6·B)."""
        return stored(self._normalise(raw.astype(self._dtype), self._statistics))


def _squashed_planned(frames: Frames) -> Step:
    numbers = squashed_numbers(_statistics(frames.contract))
    return Step("squashed_zscore", (Read("pose_hist_raw"),), chosen(frames, MATH, HISTORY_NORM), numbers)


def _squashed_bound(frames: Frames, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound of the squashed z-score of the raw history, including the error of the raw history where it is not recorded."""
    contract = frames.contract
    error = gamma(AFFINE) + bounds.get("pose_hist_raw", np.zeros(()))
    auxiliary = contract.numbers.pose_history or unit_statistics(rows.shape[1])
    if contract.conventions.pose_history_norm == "tanh_zscore":
        return squashed_bound(rows, auxiliary, error)
    if contract.conventions.pose_history_norm == "linear":
        return zscore_bound(rows, auxiliary.statistics, error / ENGINE.auxiliary_scale(auxiliary))
    return np.asarray(error / np.minimum(ENGINE.auxiliary_scale(auxiliary), 1.0) + gamma(TANH) * np.abs(rows))


SQUASHED_ZSCORE = of_character(
    "squashed_zscore", "past poses, squashed by tanh and z-scored", (HISTORY_NORM, MATH), history_fields,
    lambda frames: np.asarray(frames.built(HistoryNormaliser)(frames["pose_hist_raw"])), _squashed_bound,
    measure=Z_SCORE, is_propagated=True, planned=_squashed_planned,
)  # fmt: skip
