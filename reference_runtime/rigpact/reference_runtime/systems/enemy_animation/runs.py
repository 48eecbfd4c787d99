"""The runs of the enemy animation: a clip's rows under a contract, what drives each mode, and who computes it.

Mirrors `UEnemyAnimInstance`. Modes: `teacher` (every frame's input from the clip), `free` (the run feeds itself: the pose comes
from the loop's own output, the player's intent and the contacts from the clip, which loops), `playback` (no network: the
recorded pose is published, again and again).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from rigpact.contract.character import character_of, columns_of_bones, with_pose_history_length
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import CONDITION_WIDTH, CONTACTS_WIDTH, INPUTS, ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.files.declared import KINDS
from rigpact.reference_runtime.files.run import Batch, Crowd, Run, Stages
from rigpact.reference_runtime.graph.native_agreement import CHECKED_FRAMES, chosen_engine, held_against_numpy
from rigpact.reference_runtime.graph.native_plan import NativeFrames
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames, check_widths
from rigpact.reference_runtime.graph.run import ROOM, Changes, ClipDrive, LiveFrames, batch
from rigpact.reference_runtime.native.library import Engine, EngineUse
from rigpact.reference_runtime.network import CheckedNetwork, InputAlignment, Network, ReplayNetwork, alignments_of
from rigpact.reference_runtime.recordings.clip import (
    RECORDED_INPUTS,
    Clip,
    RawClip,
    RecordedInputs,
    TeacherFile,
    recorded_poses,
)
from rigpact.reference_runtime.systems.enemy_animation.inputs import AngularVelocityInput, condition_rows, contact_rows
from rigpact.reference_runtime.systems.enemy_animation.past_poses import PoseHistory, refuse_one_pose
from rigpact.reference_runtime.systems.enemy_animation.state import StateNormaliser


@dataclass(frozen=True, eq=False)
class ClipRows:
    """A clip under a contract: x_raw and state (N, Dx), cond_raw (N, Dc), contacts (N, 2), N >= steps.

    angvel (N, A) and pose_hist (N, P) are None unless the file recorded them; poses (N, 6·B) are x_raw's rotations.
    given: no stage is taken as it is in a free run.
    """

    fps: float
    steps: int
    x_raw: FloatArray
    state: FloatArray
    cond_raw: FloatArray
    contacts: FloatArray
    poses: FloatArray
    angvel: FloatArray | None = None
    pose_hist: FloatArray | None = None
    is_raw: bool = True
    given: Mapping[str, FloatArray] = field(default_factory=dict)

    @classmethod
    def laid_out(cls, contract: Contract, fps: float, steps: int, x_raw: FloatArray, **rows: Any) -> ClipRows:
        """The rows of a clip; its z-scores where it brings none."""
        if "state" not in rows:
            rows["state"] = StateNormaliser(contract).normalise(x_raw)
        return cls(fps, steps, x_raw, poses=x_raw[:, character_of(contract).state[ROTATIONS].range], **rows)

    @property
    def of_training(self) -> dict[str, FloatArray]:
        """The inputs that the training side wrote down, by stage: they are taken as they are where a clip drives."""
        known = {} if self.is_raw else {"state": self.state, "angvel": self.angvel, "pose_hist": self.pose_hist}
        return {name: rows for name, rows in known.items() if rows is not None}

    def rows(self, stage: str) -> FloatArray | None:
        found: FloatArray | None = getattr(self, stage, None)
        return found


def clip_rows(clip: Clip, contract: Contract) -> ClipRows:
    """Compute a clip's rows under a contract; under that of some bones, the rows of these."""
    character = character_of(contract)
    if contract.whole is not None:
        return _rows_of_bones(clip_rows(clip, contract.whole), contract)
    if isinstance(clip, RawClip):
        if clip.frame_count < 2:
            raise UnusableInput(f"{clip.path}#/Frames", "one frame", "at least two: a step leads from one to the next")
        contacts = contact_rows(clip.contact_scores, clip.frame_count, contract)
        rows = {"cond_raw": condition_rows(clip, contract), "contacts": contacts}
        return ClipRows.laid_out(contract, clip.fps, clip.frame_count - 1, clip.state_rows(character.state), **rows)
    if isinstance(clip, RecordedInputs):  # a player's run, which no clip holds: what an engine recorded drives it again
        check_widths(contract, {name: getattr(clip, name) for name in RECORDED_INPUTS}, clip.path)
        x_raw = clip.x_raw if clip.after is None else np.concatenate((clip.x_raw, clip.after[None]))
        rows = {"cond_raw": clip.cond_raw, "contacts": clip.contacts}
        return ClipRows.laid_out(contract, clip.fps, clip.step_count, x_raw, **rows)
    if clip.state_norm.shape[1] != character.state.width:
        place, found = f"{clip.path}#/teacher/state_norm/0", f"{clip.state_norm.shape[1]} numbers"
        raise UnusableInput(place, found, f"{character.state.width}")
    recorded = {"state": clip.state_norm, "angvel": clip.angvel_norm, "pose_hist": clip.pose_hist_norm}
    return ClipRows.laid_out(
        contract, clip.fps, clip.step_count, StateNormaliser(contract).denormalise(clip.state_norm), cond_raw=clip.cond,
        contacts=contact_rows(clip.contacts, clip.step_count, contract), is_raw=False, **recorded,
    )  # fmt: skip


def _rows_of_bones(whole: ClipRows, contract: Contract) -> ClipRows:
    known = {name: whole.rows(name) for name in ("x_raw", "state", "angvel", "pose_hist")}
    cut: dict[str, Any] = {
        name: found[:, columns_of_bones(contract, name)] for name, found in known.items() if found is not None
    }
    return replace(whole, **cut, poses=cut["x_raw"][:, character_of(contract).state[ROTATIONS].range])


_OF_ROWS = ("x_raw", "state", "cond_raw", "contacts")
"""The stages that a clip's rows hold; the knobs of no other stage change them."""


def drive_of(clip: Clip) -> Callable[[Contract], ClipRows]:
    """A function from a contract to the clip's rows; a search asks for them under thousands of conventions of other stages."""
    kept: dict[tuple[Any, ...], tuple[Contract, ClipRows]] = {}

    def rows(contract: Contract) -> ClipRows:
        character = character_of(contract)
        knobs = {knob.name for name in _OF_ROWS for knob in contract.system.graph[name].knobs} | {"math"}
        chosen = tuple(str(contract.conventions[name]) for name in sorted(knobs))
        names = ("state", "state_statistics", "rootvel_scales", "angvel_scales")
        key = (*(id(getattr(character, name)) for name in names), id(contract.whole), *chosen)
        if key not in kept:
            if len(kept) == 4:  # those of a long clip are large
                kept.clear()
            kept[key] = contract, clip_rows(clip, contract)  # with the contract, so that no other number gets these ids
        return kept[key][1]

    return rows


def refuse_unrunnable(contract: Contract, rows: ClipRows, mode: str) -> None:
    """UnusableInput where the clip is too short for the mode under the conventions, or no file has statistics they need."""
    AngularVelocityInput(contract)
    history = PoseHistory(contract, mode)
    if history.start == "first_target":
        refuse_one_pose(rows.poses)
    if mode == "free" and int(contract.conventions.previous_pose_lag) > 0 and len(rows.poses) < 2:
        raise UnusableInput("previous_pose_lag=+1", "a clip of one pose", "a clip with the pose after it")


def driven_frames(contract: Contract, rows: ClipRows, network: Any = None, count: int | None = None) -> ReplayedFrames:
    """The clip's frames, or the first `count`, as the frames of a run that it drives: `batch` computes their stages.

    UnusableInput for a clip without a step.
    """
    limit = min(rows.steps, len(rows.poses) - max(int(contract.conventions.previous_pose_lag), 0))
    if limit < 1:
        raise UnusableInput("the clip", f"{len(rows.poses)} frame(s)", "at least two")
    refuse_unrunnable(contract, rows, "teacher")
    frame = np.arange(limit if count is None else min(count, limit))
    known = {name: values[: len(frame)] for name, values in rows.of_training.items()}
    if len(rows.x_raw) > len(frame):  # no engine knows what follows the last frame; the clip does
        known["x_raw_next"] = rows.x_raw[1 : len(frame) + 1]
    return ReplayedFrames(Evidence(frame, rows.fps, "teacher", known, lambda _contract: rows, network), contract)


PLAYED = ("y_out", "quat")
"""The stages of a playback."""


def playback(contract: Contract, clip: Clip) -> Run:
    """Recorded poses, published without a network. They loop at the end, like the engine's playback."""
    poses = recorded_poses(clip, contract)
    given = {"y_raw": poses, "next6d": poses[:, character_of(contract).output[ROTATIONS].range]}
    frames = LiveFrames(contract, [ClipDrive(given, clip.fps)], None, mode="playback", keeps=2, only=(*given, *PLAYED))
    return Run(contract, "playback", clip.fps, Crowd(frames, PLAYED, is_one=True))


def teacher_run(contract: Contract, network: Network, clip: Clip) -> Run:
    """A run of which the clip gives every frame's input."""
    contract = with_history_length(contract, network, clip)
    rows = clip_rows(clip, contract)
    limit, place = len(driven_frames(contract, rows).frame), str(clip.path)
    count, checked = limit, CheckedNetwork(network, character_of(contract).output.width, one_by_one=True)
    if isinstance(network, ReplayNetwork) and len(network.outputs) < limit:
        count, place = len(network.outputs), network.name

    def first(frames: int) -> Stages:
        found = batch(driven_frames(contract, rows, checked, frames))
        unknown = {"x_raw_next"} if len(rows.x_raw) <= frames else set()  # what follows the clip's last frame
        if rows.pose_hist is not None:
            unknown.add("pose_hist_raw")  # the training side wrote down what it made of it
        return {name: values for name, values in found.items() if name not in unknown}

    alignments = _alignments(contract, rows, network)
    return Run(
        contract, "teacher", rows.fps, Batch(first, count, place, is_one=False), network, limit, alignments=alignments
    )


def free_run(
    contract: Contract, network: Network, clip: Clip, engine: Engine = "auto", changes: Changes | None = None
) -> Run:
    """A run that feeds itself: condition and contacts come from the clip, which loops; with `changes`, numpy computes it."""
    use = EngineUse() if changes is not None else engine_for(contract, engine)
    contract = with_history_length(contract, network, clip)
    rows = clip_rows(clip, contract)
    crowd = Crowd(free_frames(contract, network, [rows], rows.x_raw[:1], changes, KINDS[use.name]), is_one=True)
    alignments = _alignments(contract, rows, network)
    return Run(contract, "free", rows.fps, crowd, network, None, use, alignments)


def free_crowd(
    contract: Contract,
    network: Network,
    clip: Clip,
    starts: FloatArray,
    frames: int = 0,  # noqa: ARG001 - as of every system
    engine: Engine = "auto",
) -> Crowd:
    """Free runs from raw states (R, Dx) side by side: one call of the network per frame; every stage has an axis of runs."""
    kind = KINDS[engine_for(contract, engine).name]
    return Crowd(free_frames(contract, network, [clip_rows(clip, contract)], starts.astype(np.float32), kind=kind))


def free_frames(
    contract: Contract,
    network: Network,
    sources: Sequence[ClipRows],
    seeds: FloatArray,
    changes: Changes | None = None,
    kind: type[LiveFrames] = LiveFrames,
) -> LiveFrames:
    """The frames of free runs from raw states (R, Dx), by numpy, or as `kind` does; one clip for all, or one for each."""
    for rows in sources:
        refuse_unrunnable(contract, rows, "free")
        if kind is NativeFrames:  # C++ takes a row's width from the contract
            check_widths(contract, {"x_raw": rows.x_raw, "cond_raw": rows.cond_raw}, "the clip")
    changes = changes or Changes()
    own = changes.stages.get("x_raw")

    def x_raw(frames: LiveFrames, rows: FloatArray) -> FloatArray:
        rows = seeds if frames.frame[0] == 0 else rows
        return rows if own is None else own(frames, rows)

    drives = list(sources) if len(sources) == len(seeds) else [sources[0]] * len(seeds)
    checked = CheckedNetwork(network, character_of(contract).output.width, one_by_one=False)
    seeded = replace(changes, stages={**changes.stages, "x_raw": x_raw})
    looks_back = max(stage.reach_of(contract)[0] for stage in contract.system.graph)
    return kind(contract, drives, checked, ROOM, "free", seeded, keeps=1 + looks_back)


def engine_for(contract: Contract, asked: Engine) -> EngineUse:
    """Who computes a plain free run. UnusableInput where C++ was asked for and cannot."""
    is_whole = character_of(contract).pose_history_length is not None
    return chosen_engine(asked, lambda: None, lambda: disagreement(contract) if is_whole else "")


@lru_cache(maxsize=32)
def disagreement(contract: Contract) -> str:
    """How C++ differs from numpy under a contract, in words; empty where it agrees. Clip and answers are drawn."""
    rng = np.random.default_rng(2)
    rows = _drawn_rows(contract, rng)
    answers = rng.normal(0.0, 1.0, (CHECKED_FRAMES, character_of(contract).output.width)).astype(np.float32)
    return held_against_numpy(free_frames(contract, ReplayNetwork(answers), [rows], rows.x_raw[:1], kind=NativeFrames))


def _drawn_rows(contract: Contract, rng: np.random.Generator) -> ClipRows:
    """A clip of no motion that anyone made: states about their mean, intent and contacts between 0 and 1."""
    character = character_of(contract)
    statistics, count = character.state_statistics, CHECKED_FRAMES + 1
    x_raw = statistics.mean + rng.normal(0.0, 0.5, (count, character.state.width)) * statistics.std
    cond_raw, contacts = (
        rng.uniform(0.0, 1.0, (count, width)).astype(np.float32) for width in (CONDITION_WIDTH, CONTACTS_WIDTH)
    )
    rows = {"cond_raw": cond_raw, "contacts": contacts}
    return ClipRows.laid_out(contract, 60.0, CHECKED_FRAMES, x_raw.astype(np.float32), **rows)


def _alignments(contract: Contract, rows: ClipRows, network: Network) -> set[InputAlignment]:
    widths = {name: width or 0 for name, width in character_of(contract).input_widths.items()}
    own = {"cond": rows.cond_raw, "contacts": rows.contacts} | rows.of_training
    widths |= {name: each.shape[1] for name, each in own.items()}
    return alignments_of({name: widths[name] for name in contract.conventions.input_order}, network.bound_widths)


def with_history_length(contract: Contract, network: Network, clip: Clip) -> Contract:
    """The contract; without pose-history statistics, the network gives the history's length, as in the engine."""
    character = character_of(contract)
    if character.pose_history_length is not None:
        return contract
    recorded = clip.pose_hist_norm if isinstance(clip, TeacherFile) else None
    bound = network.bound_widths[contract.conventions.input_order.index(INPUTS[4])]
    width = bound or (None if recorded is None else recorded.shape[1])
    return with_pose_history_length(contract, width // (6 * character.bone_count)) if width else contract
