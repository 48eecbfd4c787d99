"""Pose history: H past poses, oldest to newest, six numbers per bone.

Engine: `ResetPoseHistoryFromPose`, `PushPoseHistoryFrame`, `BuildPoseHistoryFeature`. Pose k is the pose of frame k. The
convention `pose_history_start` defines the poses before the first frame.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.character import character_of
from rigpact.contract.conventions import CodeHint, Knob
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.plan import TARGET, Read, Step
from rigpact.contract.systems.stage import Bounds, NotKnown
from rigpact.reference_runtime.operations.definitions.history import ORDERS, ages
from rigpact.reference_runtime.operations.precision import compute_dtype, stored
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reference_runtime.operations.rotation_bounds import GRAM_SCHMIDT
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.character.codec import CODEC, MATH
from rigpact.reference_runtime.vocabulary.character.state_features import StateNormaliser
from rigpact.reference_runtime.vocabulary.character.vectors import history_fields

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


HISTORY_ORDER = Knob(
    "pose_history_order", ORDERS, "order of the frames", {
        "oldest_first": CodeHint("for (i = 0; i < H; ++i) Ring[(Head + i) % H]", "torch.cat(history)"),
        "newest_first": CodeHint("for (i = H; i-- > 0;) Ring[(Head + i) % H]; // reversed", "torch.cat(history[::-1])"),
    },
)  # fmt: skip
HISTORY_PHASE = Knob(
    "pose_history_phase", DELAY, "whether the newest entry is the current pose or the one before it", {
        "includes_current": CodeHint("PushPoseHistoryFrame before inference", "history[t - H + 1 : t + 1]"),
        "excludes_current": CodeHint("PushPoseHistoryFrame after inference: one frame late", "history[t - H : t]"),
    },
)  # fmt: skip
HISTORY_START = Knob(
    "pose_history_start", FIRST_POSE, "the poses before the first frame", {
        "seed_pose": CodeHint("ResetPoseHistoryFromPose(Seed)", "history = [pose[0]] * H"),
        "identity": CodeHint("ResetPoseHistoryFromPose(Identity); // no seed given", "history = [identity] * H"),
        "zeros": CodeHint("Ring.Init(0.f, ...); // never reset", "history = torch.zeros(H, ...)"),
        "first_target": CodeHint("seeded with the frame after the first", "history = [pose[1]] * H  # its own target"),
        "identity_after_seed": CodeHint(
            "the free run resets the ring to identity after the seed: no pose-history statistics in its file",
            "history = [identity] * H  # in free-run; [pose[0]] * H where a clip drives",
        ),
    },
)  # fmt: skip


class Poses(NamedTuple):
    """Where a character's poses stand: the stage of its raw state, and that of its z-scores."""

    raw: str
    normalised: str

    def at(self, frames: Frames, wanted: Frame) -> FloatArray:
        """Rotations at frames (N, …) of the run, (N, …, 6·B): from the raw states, else from the recorded z-scores."""
        place = frames.numbers.state[ROTATIONS].range
        try:
            return frames.rows_at(self.raw, wanted)[..., place]
        except NotKnown:
            if frames.mode != "teacher":
                raise
        known = frames.rows_at(self.normalised, wanted)
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

    @property
    def reach(self) -> int:
        """Number of poses that the history covers, including the current pose."""
        return 1 - int(self.offsets.min())

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

    def raw_rows(self, poses: FloatArray, steps: int) -> FloatArray:
        """Features (steps, H·6·B) of a run that a clip of these poses (N, 6·B) drives.

        UnusableInput for one pose, where the second starts the history.
        """
        if self.start == "first_target":
            refuse_one_pose(poses)
        padding = self.padding(poses[min(self.first, len(poses) - 1)])
        return self.rows(np.arange(steps), poses.__getitem__, np.broadcast_to(padding, (steps, poses.shape[1])))


def refuse_one_pose(poses: FloatArray) -> None:
    """UnusableInput where there is no second pose (N, 6·B) for a history that starts with it."""
    if len(poses) < 2:
        raise UnusableInput("pose_history_start=first_target", "one pose", "a clip with at least two frames")


def free_history(contract: Contract) -> PoseHistory:
    """The history of a free run."""
    return PoseHistory(contract, "free")


def build(use: Use) -> Built:
    """The poses of the raw states, encoded; of their z-scores where only these were recorded."""
    poses = Poses(use.inputs[0].name, use.word("else_from"))
    again = partial(of_rotations, poses)
    planned = partial(_planned, use.stage, poses)
    return Built(
        history_fields, partial(raw_history, poses), bound, _reach, is_propagated=True, other_way=again, planned=planned
    )


def _planned(stage: str, poses: Poses, frames: Frames) -> Step:
    """Each frame moves the history of the frame before on by one pose."""
    contract, conventions = frames.contract, frames.contract.conventions
    if frames.numbers.pose_history_length is None:
        raise NotKnown("pose_hist_len")
    driven, free = PoseHistory(contract), free_history(contract)
    delay = DELAY[conventions.pose_history_phase]
    width = 6 * frames.numbers.bone_count
    words = (
        conventions.pose_history_order == "newest_first", delay, driven.first, free.first,
        driven.starts_with_a_pose, free.starts_with_a_pose, frames.numbers.state[ROTATIONS].start, width,
    )  # fmt: skip
    reads = [Read(poses.raw, -delay, "first"), Read(poses.raw), Read(stage, -1)]
    if conventions.pose_history_start == "first_target":
        reads.append(Read(poses.raw, 1, TARGET))
    return Step("pose_history", tuple(reads), words, free.padding(np.zeros(6)) if not free.starts_with_a_pose else ())


def raw_history(poses: Poses, frames: Frames) -> FloatArray:
    """H past poses, encoded."""
    if frames.numbers.pose_history_length is None:
        raise NotKnown("pose_hist_len")
    history = frames.built(free_history if frames.mode == "free" else PoseHistory)
    padding = history.padding(_first_pose(poses, frames, history))
    return np.asarray(history.rows(frames.frame, partial(poses.at, frames), padding))


def of_rotations(poses: Poses, frames: Frames) -> FloatArray:
    """The same from kept rotations, encoded again: six numbers of a clip with few decimals are not quite those of a rotation."""
    rows = raw_history(poses, frames).astype(compute_dtype(frames.contract.conventions))
    return stored(Rot6d(frames.contract.conventions).reproject(rows, rows))


def _first_pose(poses: Poses, frames: Frames, history: PoseHistory) -> FloatArray:
    """The pose that a history may start with, (N, 6·B): the run's own first one, or the clip's second."""
    if frames.mode != "free":
        return poses.at(frames, np.full_like(frames.frame, history.first))
    if history.start != "first_target":
        return poses.at(frames, np.zeros_like(frames.frame))
    targets = frames.of_clip(poses.raw, lambda rows, frame: rows[np.ones_like(frame)])
    return targets[:, frames.numbers.state[ROTATIONS].range]


def bound(frames: Frames, rows: FloatArray, _bounds: Bounds) -> FloatArray:
    """The engine keeps rotations and encodes them again: unit axes with an absolute rounding error.

    Six numbers of a clip with few decimals are not quite the columns of a rotation. Encoded again they move: by what
    Gram–Schmidt changes. A side that keeps the clip's numbers is right too.
    """
    codec = Rot6d(frames.contract.conventions)
    wide: FloatArray = rows.astype(np.float64)
    again = codec.reproject(wide, wide)
    return np.asarray(gamma(GRAM_SCHMIDT) + np.nan_to_num(np.abs(again - wide)))


def _reach(contract: Contract) -> tuple[int, int]:
    return (contract.numbers.pose_history_length or 0) + 1, 1


OPERATION = Operation(
    "pose_history", "the last poses of a character, six numbers a bone", build,
    {"else_from": "the stage of the state's z-scores, from which poses are taken where raw states are not known"},
    shared=(*CODEC, HISTORY_ORDER, HISTORY_PHASE, HISTORY_START, MATH), only_on_pages=True,
)  # fmt: skip
