"""Defects of an engine in a free run: each error becomes part of the next frame's input.

A slip is what is different in the run: a part in place of the engine's, or a stage whose rows are changed. To add one: a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.character import character_of, is_character
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.fixtures.mutants.engine import Stages
from rigpact.fixtures.mutants.scene import Scene
from rigpact.reference_runtime.files.run import Crowd, OfCrowd
from rigpact.reference_runtime.graph.run import Changes, LiveFrames
from rigpact.reference_runtime.systems.enemy_animation.drive import clip_rows
from rigpact.reference_runtime.systems.enemy_animation.runs import free_frames
from rigpact.reference_runtime.vocabulary.character.pose_history import Frame, PoseHistory, free_history
from rigpact.reference_runtime.vocabulary.character.state_features import StateNormaliser
from rigpact.reference_runtime.vocabulary.posing.write_back import WriteBack

PosesAt = Callable[[Frame], FloatArray]
Changed = Callable[[LiveFrames, FloatArray], FloatArray]


class PushedTwice(PoseHistory):
    """Every predicted pose enters the history twice."""

    def rows(self, frame: Frame, poses_at: PosesAt, padding: FloatArray) -> FloatArray:
        now = frame[:, None]
        return super().rows(frame, lambda wanted: poses_at(now - (now - wanted) // 2), padding)


class NeverPushed(PoseHistory):
    """The history stays as it was in the first frame: the seed pose, and before it what stands there before a run."""

    def rows(self, frame: Frame, poses_at: PosesAt, padding: FloatArray) -> FloatArray:
        newest = frame[:, None]

        def never(wanted: Frame) -> FloatArray:
            return np.where((wanted == newest)[..., None], poses_at(np.zeros_like(wanted)), padding[:, None])

        return super().rows(frame, never, padding)


class HistoryNotReset(PoseHistory):
    """The history still holds the poses of the character before: the seed mirrored about its first axis."""

    def padding(self, first_pose: FloatArray) -> FloatArray:
        return -super().padding(first_pose)


def _written(frames: LiveFrames, y_out: FloatArray) -> FloatArray:
    """The next raw state where this output is written back."""
    following: FloatArray = frames.built(WriteBack)(frames["x_raw"], y_out, frames.fps)
    return following


def _late(frames: LiveFrames, _right: FloatArray) -> FloatArray:
    return _written(frames, frames.at("y_out", -1) if frames.frame[0] else frames["y_out"])


def _last_bone_not_written(frames: LiveFrames, _right: FloatArray) -> FloatArray:
    contract, short = frames.contract, frames["y_out"].copy()
    if is_character(contract):
        short[:, -6:] = frames["x_raw"][:, character_of(contract).state[ROTATIONS].range][:, -6:]
    return _written(frames, short)


def _stale_state(frames: LiveFrames, _right: FloatArray) -> FloatArray:
    before = frames.at("x_raw", -1) if frames.frame[0] else frames["x_raw"]
    return frames.built(StateNormaliser).normalise(before)


def _intent_ahead(frames: LiveFrames, _right: FloatArray) -> FloatArray:
    steps = frames.drive.steps
    return frames.of_clip("cond_raw", lambda rows, frame: rows[(frame + 1) % steps])


def _second_frame(frames: LiveFrames, right: FloatArray) -> FloatArray:
    return right if frames.frame[0] else frames.of_clip("x_raw", lambda rows, frame: rows[frame + 1])


def _restarted(frames: LiveFrames, right: FloatArray) -> FloatArray:
    return frames.at("x_raw", -16) if frames.frame[0] == 16 else right


def _history(kind: type[PoseHistory]) -> Callable[[Contract], Changes]:
    return lambda contract: Changes(parts={free_history: kind(contract, "free")})


def _stage(name: str, changed: Changed) -> Callable[[Contract], Changes]:
    return lambda _contract: Changes(stages={name: changed})


FREE_RUN_SLIPS: Mapping[str, Callable[[Contract], Changes]] = {
    "write-back one frame late": _stage("x_raw_next", _late),
    "last bone not written back": _stage("x_raw_next", _last_bone_not_written),
    "written back one bone off": _stage(
        "x_raw_next", lambda frames, _: _written(frames, np.roll(frames["y_out"], 6, axis=-1))
    ),
    "state normalised before the write-back": _stage("state", _stale_state),
    "predicted pose pushed twice": _history(PushedTwice),
    "predicted pose never pushed": _history(NeverPushed),
    "history not reset": _history(HistoryNotReset),
    "intent one frame ahead": _stage("cond_raw", _intent_ahead),
    "seeded with the second frame": _stage("x_raw", _second_frame),
    "state reset in frame 15": _stage("x_raw", _restarted),
}


def record_free_run(scene: Scene, slip: Callable[[Contract], Changes] | None = None) -> Stages:
    """Every stage, (T, width), of a free run with a slip."""
    rows = clip_rows(scene.clip, scene.contract)
    changes = None if slip is None else slip(scene.contract)
    frames = free_frames(scene.contract, scene.network, [rows], rows.x_raw[:1], changes)
    return OfCrowd(Crowd(frames)).record(range(scene.frames))
