"""The PoseHist input: H past poses, oldest to newest, six numbers per bone.

Engine: `ResetPoseHistoryFromPose`, `PushPoseHistoryFrame`, `BuildPoseHistoryFeature`, `NormalizePoseHistoryRaw`.
Pose k is the pose of frame k. The convention `pose_history_start` defines the poses before the first frame.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.bundle import Contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import AUXILIARY_SCALE_FLOOR, FloatArray, SquashedStatistics, unit_statistics
from rigpact.reference_runtime.operations.definitions.history import ORDERS, ages
from rigpact.reference_runtime.operations.normalisation import SquashedZscore
from rigpact.reference_runtime.operations.precision import QUIETLY, compute_dtype, stored
from rigpact.reference_runtime.operations.rot6d import Rot6d

Normalise = Callable[[FloatArray], FloatArray]
"""Overwrites a value (..., H·6·B) and returns it."""


def _tanh_scaled(auxiliary: SquashedStatistics, dtype: type[np.floating]) -> Normalise:
    scale = np.maximum(np.abs(auxiliary.scale), np.float32(AUXILIARY_SCALE_FLOOR)).astype(dtype)
    return lambda value: np.tanh(np.divide(value, scale, value), value)


NORMALISE: Mapping[str, Callable[[SquashedStatistics, type[np.floating]], Normalise]] = {
    "tanh_zscore": lambda auxiliary, dtype: SquashedZscore(auxiliary, AUXILIARY_SCALE_FLOOR, dtype),
    "tanh": _tanh_scaled,
    "tanh_unit_scale": lambda _auxiliary, _dtype: lambda value: np.tanh(value, value),
    "raw": lambda _auxiliary, _dtype: lambda value: value,
}
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


class PoseHistory:
    """The history under one contract: the frames in it, and their normalisation."""

    def __init__(self, contract: Contract, mode: str = "teacher") -> None:
        """Look the conventions up once. mode: `free` for a free run. UnusableInput if no file gives the number of frames."""
        conventions = contract.conventions
        length = contract.pose_history_length
        if length is None:
            raise UnusableInput(
                contract.path, "no pose_hist_len", "the length of the pose history", "give the companion file"
            )
        self._dtype = compute_dtype(conventions)
        self._codec = Rot6d(conventions)
        start = conventions.pose_history_start
        self._start = start if mode == "free" else AS_DRIVEN.get(start, start)
        self._first = FIRST_POSE[self._start]
        order, delay = ORDERS[conventions.pose_history_order], DELAY[conventions.pose_history_phase]
        self._offsets = -np.array(ages(length, order, delay))  # relative to the current frame
        self._statistics = contract.pose_history or unit_statistics(length * contract.bone_count * 6)
        self._normalise = NORMALISE[conventions.pose_history_norm](self._statistics, self._dtype)
        self._entries = [int(offset) for offset in self._offsets]

    @property
    def reach(self) -> int:
        """Number of poses that the history covers, including the current pose."""
        return 1 - int(self._offsets.min())

    def padding(self, poses: FloatArray) -> FloatArray:
        """The padding for frames before the first; `poses` (N, 6·B) are the clip's, N >= 2 for first_target."""
        identity = self._codec.identity(poses.shape[1] // 6, np.float32)
        if self._start == "first_target" and len(poses) < 2:
            raise UnusableInput("pose_history_start=first_target", "one pose", "a clip with at least two frames")
        chosen = {"identity": identity, "identity_after_seed": identity, "zeros": np.zeros_like(identity)}
        own: FloatArray = poses[min(self._first, len(poses) - 1)]
        return chosen.get(self._start, own)

    def raw_rows(self, poses: FloatArray, steps: int, padding: FloatArray | None = None) -> FloatArray:
        """Features (steps, H·6·B) of a run with known poses (N, 6·B); the default padding is `padding(poses)`."""
        before = self.padding(poses) if padding is None else padding
        known = np.concatenate((before[None], poses[self._first :]))
        frames = np.arange(steps)[:, None] + self._offsets
        entries = known[np.maximum(frames - self._first + 1, 0)]
        return stored(entries.reshape(steps, len(self._entries) * poses.shape[1]))

    def raw_row(self, recent: deque[FloatArray], frame: int, padding: FloatArray) -> FloatArray:
        """Feature (..., H·6·B) at `frame` from the `reach` poses (..., 6·B) up to it, or all since frame 0."""
        first = self._first
        entries = [recent[offset - 1] if frame + offset >= first else padding for offset in self._entries]
        return np.concatenate(entries, axis=-1, dtype=np.float32, casting="same_kind")

    @QUIETLY
    def normalise(self, raw: FloatArray) -> FloatArray:
        """z of a raw feature (..., H·6·B)."""
        return self.z(raw)

    def z(self, raw: FloatArray) -> FloatArray:
        """The same, for callers that already silence numpy's warnings, such as a loop."""
        return self._normalise(raw.astype(self._dtype)).astype(np.float32)


def free_history(contract: Contract) -> PoseHistory:
    """The history of a free run."""
    return PoseHistory(contract, "free")
