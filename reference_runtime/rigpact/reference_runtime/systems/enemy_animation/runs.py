"""The runs of the enemy animation: what drives each mode, and who computes it.

Mirrors `UEnemyAnimInstance`. Modes: `teacher` (every frame's input from the clip), `free` (the run feeds itself), `playback` (no
network: the recorded pose is published, again and again).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from rigpact.contract.character import character_of, with_pose_history_length
from rigpact.contract.layout import CONTACTS_WIDTH, INPUTS, ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.files.run import Batch, Crowd, OfCrowd, Run, Stages
from rigpact.reference_runtime.graph.native.agreement import CHECKED_FRAMES, chosen_engine
from rigpact.reference_runtime.graph.native.drawn import held_against_numpy
from rigpact.reference_runtime.graph.native.plan import NativeFrames
from rigpact.reference_runtime.graph.replayed import check_widths
from rigpact.reference_runtime.graph.run import ROOM, Changes, ClipDrive, LiveFrames, batch
from rigpact.reference_runtime.native.library import Engine, EngineUse
from rigpact.reference_runtime.network import CheckedNetwork, InputAlignment, Network, ReplayNetwork, alignments_of
from rigpact.reference_runtime.recordings.clip import Clip, TeacherFile, recorded_poses
from rigpact.reference_runtime.systems.enemy_animation.drive import (
    ClipRows,
    clip_rows,
    driven_frames,
    refuse_unrunnable,
)

PLAYED = ("y_out", "quat")
"""The stages of a playback."""


def playback(contract: Contract, clip: Clip) -> Run:
    """Recorded poses, published without a network. They loop at the end, like the engine's playback."""
    poses = recorded_poses(clip, contract)
    given = {"y_raw": poses, "next6d": poses[:, character_of(contract).output[ROTATIONS].range]}
    frames = LiveFrames(contract, [ClipDrive(given, clip.fps)], None, mode="playback", keeps=2, only=(*given, *PLAYED))
    return Run(contract, "playback", clip.fps, OfCrowd(Crowd(frames, PLAYED)))


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
    crowd = Crowd(free_frames(contract, network, [rows], rows.x_raw[:1], changes, _kind_of(use)))
    alignments = _alignments(contract, rows, network)
    return Run(contract, "free", rows.fps, OfCrowd(crowd), network, None, use, alignments)


def free_crowd(contract: Contract, network: Network, clip: Clip, starts: FloatArray, engine: Engine = "auto") -> Crowd:
    """Free runs from raw states (R, Dx) side by side: one call of the network per frame; every stage has an axis of runs."""
    kind, rows = _kind_of(engine_for(contract, engine)), clip_rows(clip, contract)
    return Crowd(free_frames(contract, network, [rows], starts.astype(np.float32), kind=kind))


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


def _kind_of(engine: EngineUse) -> type[LiveFrames]:
    return NativeFrames if engine.name == "native" else LiveFrames


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
    statistics = character.state_statistics
    noise = rng.normal(0.0, 0.5, (CHECKED_FRAMES + 1, character.state.width))
    x_raw = (statistics.mean + noise * statistics.std).astype(np.float32)
    cond_raw, contacts = (
        rng.uniform(0.0, 1.0, (len(x_raw), width)).astype(np.float32) for width in (7, CONTACTS_WIDTH)
    )
    return ClipRows.laid_out(contract, 60.0, CHECKED_FRAMES, x_raw, cond_raw, contacts)


def _alignments(contract: Contract, rows: ClipRows, network: Network) -> set[InputAlignment]:
    own = {"cond": rows.cond_raw, "contacts": rows.contacts} | rows.of_training
    widths = {
        name: (own[name].shape[1] if name in own else width or 0)
        for name, width in character_of(contract).input_widths.items()
    }
    return alignments_of({name: widths[name] for name in contract.conventions.input_order}, network.bound_widths)


def with_history_length(contract: Contract, network: Network, clip: Clip) -> Contract:
    """The contract; without pose-history statistics, the network gives the history's length, as in the engine."""
    character = character_of(contract)
    if character.pose_history_length is not None:
        return contract
    widths = (network.bound_widths[contract.conventions.input_order.index(INPUTS[4])],)
    recorded = clip.pose_hist_norm if isinstance(clip, TeacherFile) else None
    known = [width for width in (*widths, None if recorded is None else recorded.shape[1]) if width]
    if not known:
        return contract
    return with_pose_history_length(contract, known[0] // (6 * character.bone_count))
