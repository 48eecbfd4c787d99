"""Pose errors of every frame: between two sides, and of each side and of copy-last against the clip's own next pose."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.skeleton import Skeleton
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.geometry import rotation_angle_rad
from rigpact.reference_runtime.operations.six_numbers import Rot6d
from rigpact.reference_runtime.recordings.recording import Recording

SHELL_M = 0.03
_FRAMES_AT_ONCE = 512
"""Frames per chunk: bounds the memory of a long comparison to a few tens of megabytes."""


@dataclass(frozen=True, eq=False)
class PoseError:
    """deg (T, B) and cm (T, B); cm is None without a skeleton."""

    deg: FloatArray
    cm: FloatArray | None


def pose_error(a: FloatArray, b: FloatArray, codec: Rot6d, skeleton: Skeleton | None) -> PoseError:
    """Error between published rotations a and b, both (T, 6·B)."""
    parts = [
        _chunk_error(a[start : start + _FRAMES_AT_ONCE], b[start : start + _FRAMES_AT_ONCE], codec, skeleton)
        for start in range(0, len(a), _FRAMES_AT_ONCE)
    ]
    deg = np.concatenate([part.deg for part in parts])
    return PoseError(deg, np.concatenate([part.cm for part in parts if part.cm is not None]) if skeleton else None)


def _chunk_error(a: FloatArray, b: FloatArray, codec: Rot6d, skeleton: Skeleton | None) -> PoseError:
    rotations_a, rotations_b = (codec.decode(pose.astype(np.float64)) for pose in (a, b))
    deg = np.degrees(rotation_angle_rad(rotations_a, rotations_b))
    if skeleton is None:
        return PoseError(deg, None)
    moved = np.abs(_shell(skeleton, rotations_a) - _shell(skeleton, rotations_b))
    return PoseError(deg, 100.0 * np.linalg.norm(moved, axis=-1).max(axis=-1))


def _shell(skeleton: Skeleton, local_rotations: FloatArray) -> FloatArray:
    """Three points 3 cm from every bone, (T, B, 3 points, 3)."""
    positions, rotations = skeleton.forward_kinematics(local_rotations)
    return np.asarray(positions[..., None, :] + SHELL_M * np.swapaxes(rotations, -1, -2))


_WRITTEN = 1e-3
"""Three decimals: the same pose written twice is no farther apart."""


@dataclass(frozen=True, eq=False)
class Baseline:
    """Errors against the clip's own next pose, of each side and of copying the last pose: a row for each of `frames`.

    holder: the recording that holds the clip's poses, one of the sides or the teacher.
    """

    holder: Recording
    frames: NDArray[np.int64]
    a: PoseError
    b: PoseError
    copy_last: PoseError


@dataclass(frozen=True, eq=False)
class Targets:
    """The clip's own poses. rows: of `holder`, for each shared frame; -1 where it has none."""

    holder: Recording
    rows: NDArray[np.int64]

    @property
    def width(self) -> int:
        """Numbers of a pose; 0 where the holder has none."""
        return 0 if self.holder.poses6d is None else self.holder.poses6d.shape[1]

    def around(self, part: slice) -> tuple[FloatArray, FloatArray]:
        """The pose of each frame of a part, and the next one; NaN where it is not known."""
        rows = self.rows[part]
        last, following = self.holder.copied_at(rows), self.holder.targets_at(rows)
        last[rows < 0], following[rows < 0] = np.nan, np.nan
        return last, following


def targets_of(teacher: Recording, frames: NDArray[np.int64], own: Iterable[Targets] = ()) -> Targets:
    """The poses of a teacher at frames, by their number.

    own: the clip's poses as the sides hold them. UnusableInput where the teacher has none of the frames, or another motion.
    """
    if teacher.poses6d is None:
        found, expected = (
            f"a {teacher.title} without the clip's poses",
            "a raw clip, or a teacher batch with --contract",
        )
        raise UnusableInput(teacher.path, found, expected)
    place = np.minimum(np.searchsorted(teacher.trace.frame, frames), len(teacher.trace.frame) - 1)
    rows = np.where(teacher.trace.frame[place] == frames, place, -1)
    if not (rows >= 0).any():
        expected = "the clip that both were made with"
        raise UnusableInput(teacher.path, "none of the frames that both sides have", expected)
    targets = Targets(teacher, rows)
    for side in own:
        _refuse_another_clip(targets, side)
    return targets


def _refuse_another_clip(teacher: Targets, side: Targets) -> None:
    """UnusableInput where the two clips are farther apart than half of a step: then a frame's pose is not the same one."""
    if teacher.width != side.width:
        return
    (theirs, _), (own, following) = teacher.around(slice(None)), side.around(slice(None))
    known = np.isfinite(theirs + own + following)
    if not known.any():
        return
    apart, step = (float(np.abs(values[known]).mean()) for values in (theirs - own, following - own))
    if apart > max(step / 2, _WRITTEN):
        found = f"poses that are {apart:.3g} a number from those in {side.holder.path.name}, where a step is {step:.3g}"
        raise UnusableInput(teacher.holder.path, found, "the clip that both sides were made with, frame by frame")


class PoseMeter:
    """Collects the errors piece by piece: of a long comparison only they are kept, in float32."""

    def __init__(self, targets: Targets, codec: Rot6d, place: slice, skeleton: Skeleton | None, six: int) -> None:
        """Allocate the arrays for all frames. place: of the six numbers of the bones in `y_out`; six: how many."""
        self._targets, self._codec, self._place, self._skeleton = targets, codec, place, skeleton
        room = len(targets.rows), six // 6
        self._between = self._room(room)
        self._has_targets = targets.width == six
        self._against = tuple(self._room(room) for _ in range(3)) if self._has_targets else ()
        self._known = np.zeros(len(targets.rows), bool)

    def _room(self, shape: tuple[int, int]) -> PoseError:
        cm = None if self._skeleton is None else np.empty(shape, np.float32)
        return PoseError(np.empty(shape, np.float32), cm)

    def add(self, part: slice, a: FloatArray, b: FloatArray) -> None:
        """Add the `y_out` of both sides, (T, Dy)."""
        poses = a[:, self._place], b[:, self._place]
        with np.errstate(invalid="ignore", over="ignore"):
            self._measure(self._between, part, *poses)
            if self._has_targets:
                last, following = self._targets.around(part)
                self._known[part] = np.isfinite(following).all(axis=1)
                for room, guess in zip(self._against, (*poses, last), strict=True):
                    self._measure(room, part, guess, following)

    def _measure(self, room: PoseError, part: slice, a: FloatArray, b: FloatArray) -> None:
        error = pose_error(a, b, self._codec, self._skeleton)
        room.deg[part] = error.deg
        if room.cm is not None:
            room.cm[part] = error.cm

    def result(self, frames: NDArray[np.int64]) -> tuple[PoseError, Baseline | None]:
        """The error of every frame, and the errors against the clip in the frames with a known next pose."""
        if not self._known.any():
            return self._between, None
        a, b, last = map(self._where_known, self._against)
        return self._between, Baseline(self._targets.holder, frames[self._known], a, b, last)

    def _where_known(self, room: PoseError) -> PoseError:
        if self._known.all():
            return room
        return PoseError(room.deg[self._known], None if room.cm is None else room.cm[self._known])
