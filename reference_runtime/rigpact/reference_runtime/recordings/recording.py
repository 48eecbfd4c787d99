"""Reads the files of both sides as traces: trace files, tables and arrays with names, teacher files, raw clips.

A kind of file can hold only some stages; `possible` lists them. So a comparison can distinguish a missing stage from a
stage that this kind of file cannot hold. Teacher files hold the *pose* in `prediction.y_norm`, not the network's
output: it becomes `y_out`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.character import character_of, columns_of_fields, contract_of_bones
from rigpact.contract.documents import Document, Kind
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.pages.registry import ENEMY_ANIMATION, find_system
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.recordings.clip import (
    TeacherFile,
    document_to_raw_clip,
    document_to_teacher_file,
    recorded_poses,
)
from rigpact.reference_runtime.recordings.named_columns import opened_recording
from rigpact.reference_runtime.recordings.opened import open_file
from rigpact.reference_runtime.recordings.precision import words_to_precision
from rigpact.reference_runtime.recordings.trace import Trace, TraceHeader


# A recording of some bones: the columns that it holds, and the contract that judges it
@dataclass(frozen=True, eq=False)
class HeldStages:
    """The stages of a recording of some bones. some: of these bones alone, (T, width); whole: those recorded with all."""

    bones: tuple[int, ...]
    some: dict[str, FloatArray]
    whole: Mapping[str, FloatArray]


def held_stages(trace: Trace, contract: Contract, place: object) -> HeldStages | None:
    """What a trace holds; None where its header does not name bones.

    UnusableInput for a bone that the contract does not have, and for a stage that has neither these bones nor all.
    """
    if trace.header.bones is None:
        return None
    bones = _indices(trace.header.bones, contract, f"{place}#/bones")
    some: dict[str, FloatArray] = {}
    whole: dict[str, FloatArray] = {}
    of_no_bone: dict[str, FloatArray] = {}
    for name, rows in trace.stages.items():
        fields = contract.fields(name)
        columns, width = columns_of_fields(fields, bones), rows.shape[1]
        if width == len(columns) or not fields.width:
            some[name] = rows
            of_no_bone |= {name: rows} if width == fields.width else {}
        elif width == fields.width:
            some[name], whole[name] = np.ascontiguousarray(rows[:, columns]), rows
        else:
            expected = f"{len(columns)} for the {len(bones)} bones of the header, or {fields.width} for all"
            hint = "`bones` of the header names the bones in the order in which they are recorded"
            raise UnusableInput(f"{place}#/stages/{name}", f"{width} numbers", expected, hint)
    return HeldStages(bones, some, whole | of_no_bone if whole else {})


def _indices(given: Sequence[Any], contract: Contract, place: str) -> tuple[int, ...]:
    names = list(character_of(contract).bone_names)
    found = []
    for index, bone in enumerate(given):
        if isinstance(bone, str) and bone not in names:
            near = get_close_matches(bone, names)
            hint = f"did you mean {near[0]}?" if near else "is it the right --contract?"
            raise UnusableInput(f"{place}/{index}", f"the bone {bone!r}", f"one of the contract's {len(names)}", hint)
        if not isinstance(bone, str) and not 0 <= bone < len(names):
            raise UnusableInput(f"{place}/{index}", f"the bone {bone}", f"an index from 0 to {len(names) - 1}")
        found.append(names.index(bone) if isinstance(bone, str) else int(bone))
    return tuple(found)


def cut_to(stages: Mapping[str, FloatArray], contract: Contract, bones: Sequence[int]) -> dict[str, FloatArray]:
    """Stages under a contract, with some of its bones only."""
    found = {}
    for name, rows in stages.items():
        fields = contract.fields(name)
        found[name] = np.ascontiguousarray(rows[:, columns_of_fields(fields, bones)]) if fields.width else rows
    return found


TEACHER_STAGES = ("state", "cond", "contacts", "angvel", "pose_hist", "y_out")
CLIP_STAGES = ("x_raw", "y_out")
_CLIP = "raw clip"


@dataclass(frozen=True, eq=False)
class Recording:
    """A trace, the stages that its kind of file can hold, and the clip's own poses if the file has them.

    poses6d: (P, 6·B) poses of the training data, P >= T; row t is the pose of frame t. target_rows: (T,) the row of the
    next frame's pose, -1 if it is unknown. bones: those that the trace holds, by index in the contract; empty for all.
    whole: stages that such a recording has with all bones, (T, width); the trace has its own bones of them.
    """

    path: Path
    title: str
    trace: Trace
    possible: frozenset[str]
    bone_names: tuple[str, ...] | None = None
    poses6d: FloatArray | None = None
    target_rows: NDArray[np.int64] | None = None
    is_of_training: bool = False
    bones: tuple[int, ...] = ()
    whole: Mapping[str, FloatArray] = field(default_factory=dict)

    def with_resolution(self, words: str | None, place: str = "--resolution") -> Recording:
        """The recording with its numbers' precision as the user declares it; None declares nothing."""
        if words is None:
            return self
        words_to_precision(words, place)  # refused here, before anything is compared
        return replace(self, trace=replace(self.trace, resolution=words))

    @property
    def is_the_clip(self) -> bool:
        """Whether this is the clip itself, no answer to it."""
        return self.title == _CLIP

    def targets_at(self, rows: NDArray[np.int64]) -> FloatArray:
        """(len(rows), 6·B): for each of these rows the pose of the next frame, NaN if it is unknown."""
        if self.poses6d is None or self.target_rows is None:
            raise UnusableInput(self.path, "no poses of the clip", "a file that has them")
        following = self.target_rows[rows]
        targets: FloatArray = self.poses6d[following]  # row -1 is read first and replaced later
        targets[following < 0] = np.nan
        return targets

    def copied_at(self, rows: NDArray[np.int64]) -> FloatArray:
        """(len(rows), 6·B): the pose of each of these rows."""
        if self.poses6d is None:
            raise UnusableInput(self.path, "no poses of the clip", "a file that has them")
        copied: FloatArray = self.poses6d[rows]
        return copied


def read_recording(path: str | Path, contract: Contract | None = None) -> Recording:
    """Read a trace, named columns, a teacher batch or prediction, or a raw clip as a partial trace.

    Without a contract a teacher file needs its `prediction.y_raw`, only poses are read from clips, and columns are refused: only
    the contract says what they are.
    """
    file = open_file(path)
    if file.is_recording:
        trace = opened_recording(Path(path), contract)
        if trace.header.system not in (None, ENEMY_ANIMATION):
            expected = f"the contract of {trace.header.system} beside it"
            raise UnusableInput(
                path, f"a trace of the system {trace.header.system}", expected, "give it with --contract"
            )
        return _trace_recording(Path(path), trace, contract)
    document = file.document
    if document.kind is Kind.RAW_CLIP:
        return _clip_recording(document, contract)
    if document.kind in (Kind.TEACHER_BATCH, Kind.TEACHER_PREDICTION):
        return _teacher_recording(document, contract)
    raise UnusableInput(f"{path}#", f"a {document.kind.words}", "a trace, a teacher file or a raw clip")


def _trace_recording(path: Path, trace: Trace, contract: Contract | None) -> Recording:
    held = None
    if trace.header.bones is not None:
        if contract is None:
            raise UnusableInput(
                f"{path}#/bones", "a recording of some bones", "--contract: it says which bones these are"
            )
        held = held_stages(trace, contract, path)
    stages = frozenset(find_system(ENEMY_ANIMATION).graph.names)
    if held is None or contract is None:
        return Recording(path, "trace", trace, stages, **_trace_targets(trace, contract))
    trace = replace(trace, stages=held.some, mapping=None)
    targets = _trace_targets(trace, contract_of_bones(contract, held.bones))
    return Recording(path, "trace", trace, stages, bones=held.bones, whole=held.whole, **targets)


def contract_of_side(recording: Recording, contract: Contract) -> Contract:
    """The contract as the side that recorded has it: the training side's files have other values of undeclared conventions.

    The one place that decides it; `Knob.in_training` says which conventions and values these are.
    """
    if not recording.is_of_training:
        return contract
    return contract.with_conventions(contract.conventions.of_training)


def judging_contract(recording: Recording, contract: Contract) -> Contract:
    """The contract that judges a recording: that of its side, and of its bones where it holds some of them."""
    own = contract_of_side(recording, contract)
    return contract_of_bones(own, recording.bones) if recording.bones else own


def with_stages(recording: Recording, names: Collection[str]) -> Recording:
    """A recording with some of its stages only."""
    stages, whole = (
        {name: rows for name, rows in held.items() if name in names}
        for held in (recording.trace.stages, recording.whole)
    )
    return replace(recording, trace=replace(recording.trace, stages=stages), whole=whole)


def with_all_bones(recording: Recording) -> Recording | None:
    """What a recording of some bones holds of all; None if that is nothing."""
    if not recording.whole:
        return None
    return replace(recording, trace=replace(recording.trace, stages=dict(recording.whole)), bones=(), whole={})


def of_bones(recording: Recording, contract: Contract, bones: Sequence[int]) -> Recording:
    """A recording with some of the bones that it holds, by their indices in the whole contract."""
    if recording.bones == tuple(bones):
        return recording
    own = judging_contract(recording, contract)
    places = [recording.bones.index(bone) for bone in bones] if recording.bones else list(bones)
    trace = replace(recording.trace, stages=cut_to(recording.trace.stages, own, places), mapping=None)
    poses = recording.poses6d
    if poses is not None:
        poses = poses.reshape(len(poses), -1, 6)[:, places].reshape(len(poses), -1)
    return replace(recording, trace=trace, poses6d=poses, bones=tuple(bones), bone_names=None)


def _trace_targets(trace: Trace, contract: Contract | None) -> dict[str, Any]:
    """In a teacher-driven trace the raw states are the training data."""
    stages = trace.stages
    if contract is None or trace.header.mode != "teacher" or "x_raw" not in stages:
        return {}
    poses = stages["x_raw"][:, character_of(contract).state[ROTATIONS].range]
    return {"poses6d": poses, "target_rows": _following(trace.frame)}


def _following(frame: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each row the row of the next frame, -1 if the next frame was not recorded."""
    rows = np.full(len(frame), -1, np.int64)
    consecutive = np.flatnonzero(np.diff(frame) == 1)
    rows[consecutive] = consecutive + 1
    return rows


def _clip_recording(document: Document, contract: Contract | None) -> Recording:
    clip = document_to_raw_clip(document)
    steps = clip.frame_count - 1
    if steps < 1:
        raise UnusableInput(f"{document.path}#/Frames", "one frame", "at least two")
    stages = {"y_out": clip.rotations6d[1:]}
    if contract is not None:
        _check_bones(document.path, clip.rotations6d.shape[1], contract)
        stages = {"x_raw": clip.state_rows(character_of(contract).state)[:-1], "y_out": recorded_poses(clip, contract)}
    return Recording(
        path=document.path,
        title=_CLIP,
        trace=_trace(stages, clip.fps, document.path),
        possible=frozenset(CLIP_STAGES if contract else ("y_out",)),
        bone_names=_declared_bones(document.data.get("meta")),
        poses6d=clip.rotations6d,
        target_rows=np.arange(1, steps + 1),
    )


def _teacher_recording(document: Document, contract: Contract | None) -> Recording:
    teacher = document_to_teacher_file(document)
    stages = {
        "state": teacher.state_norm,
        "cond": teacher.cond,
        "contacts": teacher.contacts,
        "angvel": teacher.angvel_norm,
        "pose_hist": teacher.pose_hist_norm,
        "y_out": _teacher_pose(teacher, contract),
    }
    present = {name: rows for name, rows in stages.items() if rows is not None}
    poses = None if contract is None else _decoded_poses(teacher, contract)
    return Recording(
        path=document.path,
        title=document.kind.words,
        trace=_trace(present, teacher.fps, document.path),
        possible=frozenset(TEACHER_STAGES),
        poses6d=poses,
        target_rows=None if poses is None else _following(np.arange(len(poses), dtype=np.int64)),
        is_of_training=True,
    )


def _teacher_pose(teacher: TeacherFile, contract: Contract | None) -> FloatArray | None:
    if contract is None:
        return teacher.y_raw
    if teacher.y_norm is None and teacher.y_raw is None:
        return None
    return recorded_poses(teacher, contract)


def _decoded_poses(teacher: TeacherFile, contract: Contract) -> FloatArray:
    """Poses of the state rows, (T, 6·B). Rotations are only z-scored, so they can be restored."""
    character = character_of(contract)
    if teacher.state_norm.shape[1] != character.state.width:
        raise UnusableInput(
            f"{teacher.path}#/teacher/state_norm/0",
            f"{teacher.state_norm.shape[1]} numbers",
            f"{character.state.width}",
        )
    place = character.state[ROTATIONS].range
    statistics = character.state_statistics
    value = teacher.state_norm[:, place].astype(np.float64) * statistics.std_floored[place] + statistics.mean[place]
    return value.astype(np.float32)


def _trace(stages: dict[str, FloatArray], fps: float, path: Path) -> Trace:
    count = len(next(iter(stages.values())))
    frame = np.arange(count, dtype=np.int64)
    return Trace(TraceHeader(fps=fps, mode="teacher", clip=path.stem, producer=path.name), frame, frame / fps, stages)


def _declared_bones(meta: Any) -> tuple[str, ...] | None:
    declared = meta.get("skeleton") if isinstance(meta, Mapping) else None
    names = declared.get("bone_names") if isinstance(declared, Mapping) else None
    return tuple(map(str, names)) if isinstance(names, list) else None


def _check_bones(path: Path, width: int, contract: Contract) -> None:
    if width != character_of(contract).bone_count * 6:
        raise UnusableInput(
            f"{path}#/Frames/0/BoneRotations", f"{width // 6} bones", f"{character_of(contract).bone_count}"
        )
