"""Pose errors of every frame: between two sides, and of each side and of copy-last against the clip's own next pose."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.rules.prediction import is_worse_than_copying
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


# Two predictions of one clip: which one is nearer to it, by how much, in which part of the body, and where they part.
OTHER = "other"
_WORDS: Mapping[str, frozenset[str]] = {
    "fingers": frozenset({"thumb", "index", "middle", "ring", "pinky", "finger", "metacarpal"}),
    "legs": frozenset({"thigh", "calf", "leg", "shin", "knee", "foot", "ball", "toe", "toes", "ankle", "hip"}),
    "arms": frozenset({"clavicle", "shoulder", "arm", "elbow", "fore", "wrist", "hand"}),
    "head": frozenset({"neck", "head", "jaw", "eye"}),
    "torso": frozenset({"pelvis", "hips", "spine", "chest", "torso", "waist", "abdomen"}),
}
"""Looked up in this order: a finger is named after its hand too."""
_ENDS = ("arm", "leg")
"""Ends of joined words: upperarm, forearm, lowerleg."""
_ORDER = ("torso", "head", "arms", "fingers", "legs", OTHER)


def bone_groups(names: Sequence[str]) -> dict[str, list[int]]:
    """The indices of each group's bones, in the order of the body; groups without a bone are left out."""
    found: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        found.setdefault(group_of(name), []).append(index)
    return {group: found[group] for group in _ORDER if group in found}


def group_of(name: str) -> str:
    """The group of one bone.

    >>> [group_of(name) for name in ("upperarm_l", "LCalfTwist_01", "mixamorig:LeftHandIndex1", "Bip001")]
    ['arms', 'legs', 'fingers', 'other']
    """
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}
    words |= {end for end in _ENDS for word in words if word.endswith(end)}
    return next((group for group, own in _WORDS.items() if words & own), OTHER)


SIDES = ("a", "b", "copy_last")
_STRETCHES = 3
"""Stretches of frames that are named: what fits a glance."""
_HALF = 0.5
"""A stretch lasts as long as the gap is at least half of its peak: the width at half maximum."""


def summary_of(
    baseline: Baseline, pose: PoseError, names: Sequence[str], *, are_rivals: bool, is_earned: bool = True
) -> dict[str, Any]:
    """The measurements as plain values. pose: the error between the two sides in every frame.

    are_rivals: both sides are predictions that differ, so that one of them may be better; is_earned: their errors say something
    of their networks. Mean errors are over bones and frames. A side is better where its mean error is smaller and it is nearer
    in more frames than the other side.
    """
    sides = dict(zip(SIDES, (baseline.a, baseline.b, baseline.copy_last), strict=True))
    a, b = _of_frames(baseline.a), _of_frames(baseline.b)
    nearer = {"a": int((a < b).sum()), "b": int((b < a).sum())}
    known = {f"{side}_{unit}": value for side, error in sides.items() for unit, value in _means(error).items()}
    better, count = _better(known, nearer) if are_rivals and is_earned else None, baseline.a.deg.shape[1]
    groups = bone_groups(names) if len(names) == count else {OTHER: list(range(count))}
    return {
        **known,
        "frames": len(baseline.frames),
        "better": better,
        "frames_nearer": nearer,
        "beaten_by_copy_last": _beaten(known) if are_rivals else [],
        "groups": [_group(sides, group, rows, names) for group, rows in groups.items()],
        "parting": list(_parting(baseline, names)) if are_rivals and is_earned else [],
        "apart_deg": _mean(pose.deg),
    }


def _means(error: PoseError) -> dict[str, float | None]:
    return {"deg": _mean(error.deg), "cm": None if error.cm is None else _mean(error.cm)}


def _mean(values: FloatArray) -> float | None:
    mean = float(values.mean(dtype=np.float64)) if values.size else np.nan
    return mean if np.isfinite(mean) else None


def _of_frames(error: PoseError) -> FloatArray:
    return np.asarray(error.deg.mean(axis=1, dtype=np.float64))


def _better(known: dict[str, float | None], nearer: dict[str, int]) -> str | None:
    a, b = known["a_deg"], known["b_deg"]
    if a is None or b is None or a == b:
        return None
    best, other = ("a", "b") if a < b else ("b", "a")
    return best if nearer[best] > nearer[other] else None


def _beaten(known: dict[str, float | None]) -> list[str]:
    """The sides whose error is larger than that of a character that does not move."""
    still = known["copy_last_deg"]
    own = {side: known[f"{side}_deg"] for side in ("a", "b")}
    return [
        side
        for side, error in own.items()
        if still is not None and error is not None and is_worse_than_copying(error, still)
    ]


def _group(sides: dict[str, PoseError], group: str, rows: list[int], names: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {"group": group, "bones": [bone_name(names, row) for row in rows]}
    for side, error in sides.items():
        own = PoseError(error.deg[:, rows], None if error.cm is None else error.cm[:, rows])
        found |= {f"{side}_{unit}": value for unit, value in _means(own).items()}
    return found


def bone_name(names: Sequence[str], row: int) -> str:
    """The name of a bone, its number where the recordings hold no names."""
    return names[row] if row < len(names) else f"bone {row}"


def _parting(baseline: Baseline, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The stretches in which one side is nearer to the clip than the other by most, the widest gap first."""
    gap = _of_frames(baseline.a) - _of_frames(baseline.b)
    left = np.where(np.isfinite(gap), np.abs(gap), 0.0)
    for _ in range(_STRETCHES):
        peak = int(left.argmax())
        if left[peak] == 0:
            return
        first, last = _stretch(left, peak, gap)
        by_bone = (baseline.a.deg[peak] - baseline.b.deg[peak]) * np.sign(gap[peak])
        yield {
            "first": int(baseline.frames[first]), "last": int(baseline.frames[last]), "frame": int(baseline.frames[peak]),
            "nearer": "b" if gap[peak] > 0 else "a", "by_deg": float(abs(gap[peak])),
            "bone": bone_name(names, int(by_bone.argmax())), "bone_by_deg": float(by_bone.max()),
        }  # fmt: skip
        left[first : last + 1] = 0.0


def _stretch(left: NDArray[np.float64], peak: int, gap: FloatArray) -> tuple[int, int]:
    """The frames about a peak in which the same side is nearer, by at least half as much."""
    wide = (left >= _HALF * left[peak]) & (np.sign(gap) == np.sign(gap[peak]))
    before, after = np.flatnonzero(~wide[:peak]), np.flatnonzero(~wide[peak:])
    first = int(before[-1]) + 1 if len(before) else 0
    return first, peak + int(after[0]) - 1 if len(after) else len(left) - 1
