"""One engine recording and its reference run, with all data for a picture.

It is made from a comparison and a diagnosis, stored in the archive, and drawn by ../viewer. Nothing here judges.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.character import bone_names_of, character_of, skeleton_of
from rigpact.contract.layout import ROOT_POSITION, ROOT_YAW, ROTATIONS
from rigpact.contract.settings.gate import RecordedRun
from rigpact.contract.skeleton import Skeleton
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.units import NO_UNIT, is_si
from rigpact.reference_runtime.operations.six_numbers import Rot6d
from rigpact.reference_runtime.recordings.recording import Recording
from rigpact.reports.comparing.compare import Comparison
from rigpact.reports.comparing.pose_meter import PoseError, pose_error, targets_of
from rigpact.reports.comparing.stage_comparison import StageComparison, channel_address
from rigpact.reports.diagnosing.diagnosis import Diagnosis
from rigpact.reports.gate.project import Project

REFERENCE, CLIP = "reference", "clip"


@dataclass(frozen=True, eq=False)
class ComparedRun:
    """T shared frames of B bones, of reference and engine. A run without a pose has no bones.

    parents (B,), offsets_m (B, 3): the skeleton, None where the contract has none. reference, engine: (T, B, 3, 3)
    local rotations, columns are axes. deg, cm: (T, B); cm is None without a skeleton. stages: S names, each with a note if the
    stage was not judged; ratios: (S, T) largest error of each divided by its tolerance. against: whose poses `reference` holds,
    the `reference` run's or the `clip`'s own. path: (T, 4) position in metres and heading in radians of the root, None where the
    clip has none. values: the numbers of the stage where they part. All real numbers are float32.
    """

    name: str
    fps: float
    frames: NDArray[np.int64]
    bone_names: Sequence[str]
    parents: Sequence[int] | None
    offsets_m: FloatArray | None
    reference: FloatArray
    engine: FloatArray
    deg: FloatArray
    cm: FloatArray | None
    stages: Sequence[tuple[str, str]]
    ratios: FloatArray
    diagnosis: Diagnosis | None
    against: str = REFERENCE
    path: FloatArray | None = None
    values: Values | None = None

    def by_stage(self) -> Iterator[tuple[str, FloatArray, str]]:
        """Name, ratios, (T,), and note of every stage."""
        return ((name, row, note) for (name, note), row in zip(self.stages, self.ratios, strict=True))

    @property
    def is_sound(self) -> bool:
        """Whether its parts fit together: one that comes from a file is believed only then."""
        if self.deg.ndim != 2:
            return False
        frames, bones = self.deg.shape
        fits = [
            self.reference.shape == self.engine.shape == (frames, bones, 3, 3), frames > 0, self.frames.shape == (frames,),
            self.cm is None or self.cm.shape == (frames, bones), len(self.bone_names) in (0, bones),
            self.parents is None or (len(self.parents) == bones and all(-1 <= each < bones for each in self.parents)),
            self.offsets_m is None or self.offsets_m.shape == (bones, 3), self.path is None or self.path.shape == (frames, 4),
            self.ratios.shape == (len(self.stages), frames), bones + len(self.stages) > 0, 0 < self.fps < np.inf,
            self.against in (REFERENCE, CLIP), self.frames.dtype.kind == "i", self.values is None or self.values.is_of(frames),
        ]  # fmt: skip
        return all(fits)


@dataclass(frozen=True, eq=False)
class Values:
    """Numbers of one stage over T frames: C channels by name, as they should be and as they were recorded, (T, C) each.

    channels: their indices in the stage. network: the index that a name has in the network's answer, -1 where it has none.
    """

    stage: str
    unit: str
    names: Sequence[str]
    channels: Sequence[int]
    network: Sequence[int]
    expected: FloatArray
    recorded: FloatArray

    def is_of(self, frames: int) -> bool:
        """Whether every channel has a name, and a number in every frame."""
        shape = frames, len(self.names)
        counts = {len(self.names), len(self.channels), len(self.network)}
        return self.expected.shape == self.recorded.shape == shape and len(counts) == 1


CHANNELS_KEPT = 24
"""The channels that differ most: a robot's joints, a hand's fingers."""


@dataclass(frozen=True, eq=False)
class Poses:
    """What two skeletons show: local rotations (T, B, 3, 3) of both, how far they are apart, and whose the first are."""

    bones: Sequence[str]
    skeleton: Skeleton | None
    reference: FloatArray
    engine: FloatArray
    error: PoseError
    against: str = REFERENCE

    @classmethod
    def of(
        cls, rows: tuple[FloatArray, FloatArray], contract: Contract, error: PoseError, against: str = REFERENCE
    ) -> Poses:
        """Of published rotations, (T, 6·B) each."""
        codec = Rot6d(contract.conventions)
        reference, engine = (codec.decode(each.astype(np.float64)) for each in rows)
        return cls(bone_names_of(contract), skeleton_of(contract), reference, engine, error, against)


def compared_run(
    name: str,
    comparison: Comparison,
    diagnosis: Diagnosis | None,
    predicted: Poses | None = None,
    path: FloatArray | None = None,
) -> ComparedRun:
    """Gather the data for a picture: the stages, and the skeletons where both sides hold a pose.

    predicted: the poses to draw where the reference has none; path: the root's.
    """
    frames, results = len(comparison.frames), comparison.stages.values()
    poses = _compared_poses(comparison) or predicted
    skeleton, nothing = None if poses is None else poses.skeleton, np.zeros((frames, 0, 3, 3))
    run = ComparedRun(
        name=name,
        fps=comparison.a.trace.header.fps,
        frames=comparison.frames,
        bone_names=() if poses is None else poses.bones,
        parents=None if skeleton is None else skeleton.parents,
        offsets_m=None if skeleton is None else skeleton.offsets_m,
        reference=nothing if poses is None else poses.reference,
        engine=nothing if poses is None else poses.engine,
        deg=np.zeros((frames, 0)) if poses is None else poses.error.deg,
        cm=None if poses is None else poses.error.cm,
        stages=[(stage, _note(result)) for stage, result in comparison.stages.items()],
        ratios=np.array([result.frame_ratios for result in results]).reshape(len(results), frames),
        diagnosis=diagnosis,
        against=REFERENCE if poses is None else poses.against,
        path=None if skeleton is None else path,
        values=_values(comparison, diagnosis),
    )
    real: dict[str, Any] = {
        name: each.astype(np.float32)
        for name, each in vars(run).items()
        if isinstance(each, np.ndarray) and each.dtype.kind == "f"
    }
    return replace(run, **real)


def _values(comparison: Comparison, diagnosis: Diagnosis | None) -> Values | None:
    """The stage where they part first, or the last of the loop: what drives the character or the motors."""
    first = None if diagnosis is None else diagnosis.first_divergence
    stage = first.stage if first is not None else (comparison.first_divergence or ("", list(comparison.stages)[-1]))[1]
    contract, sides = comparison.contract_of(stage), (comparison.a.trace, comparison.b.trace)
    if contract is None or any(stage not in side.stages for side in sides):
        return None
    expected, recorded = (side.stages[stage][np.isin(side.frame, comparison.frames)] for side in sides)
    if expected.shape != recorded.shape or not expected.size:
        return None
    apart = np.nan_to_num(np.abs(expected - recorded), nan=np.inf).max(axis=0)
    channels = np.sort(np.argsort(-apart, kind="stable")[:CHANNELS_KEPT])
    answer = next((name for name in contract.system.graph.answers), None)
    known = [] if answer is None else [_name(answer, each, contract) for each in range(contract.fields(answer).width)]
    names = [_name(stage, int(each), contract) for each in channels]
    network = [known.index(each) if each in known else -1 for each in names]
    unit = contract.system.graph[stage].shown_unit.removesuffix(NO_UNIT)
    a, b = (rows[:, channels].astype(np.float32) for rows in (expected, recorded))
    return Values(stage, unit, names, channels.tolist(), network, a, b)


def _name(stage: str, channel: int, contract: Contract) -> str:
    at = channel_address(stage, channel, contract)
    return ", ".join(filter(None, (at.bone, at.slice, at.component))) or f"channel {channel}"


def _compared_poses(comparison: Comparison) -> Poses | None:
    """The poses of both sides; None where one of them holds none."""
    contract = comparison.contract_of(comparison.posed)
    if comparison.pose is None or contract is None:
        return None
    place = character_of(contract).output[ROTATIONS].range
    a, b = (
        side.trace.stages[comparison.posed][np.isin(side.trace.frame, comparison.frames)][:, place]
        for side in (comparison.a, comparison.b)
    )
    return replace(Poses.of((a, b), contract, comparison.pose), bones=comparison.bones)


def _note(result: StageComparison) -> str:
    unjudged = int((~result.judged).sum())
    return f"{unjudged} of {len(result.judged)} channels cannot be judged" if unjudged else ""


# Beside what was compared: predicted poses beside the clip's, and the root's path.
def predicted_poses(
    project: Project, run: RecordedRun, recording: Recording, frames: NDArray[np.int64]
) -> Poses | None:
    """The poses that a recording holds beside those that the clip has next, for a project whose reference has none.

    None where the recording has no pose of every bone, ran free, or has a frame whose next pose the clip does not have.
    """
    contract: Contract = project.contract
    stage = project.system.posed
    is_free = recording.trace.header.mode == "free"
    if run.clip is None or recording.bones or stage not in recording.trace.stages or is_free:
        return None
    clip = project.recording_of(Path(run.clip))
    if clip.poses6d is None or not np.isin(frames, clip.trace.frame).all():
        return None
    _, following = targets_of(clip, frames).around(slice(None))
    place = character_of(contract).output[ROTATIONS].range
    predicted = recording.trace.stages[stage][np.isin(recording.trace.frame, frames)][:, place]
    if following.shape != predicted.shape or not np.isfinite(following).all():
        return None
    error = pose_error(following, predicted, Rot6d(contract.conventions), character_of(contract).skeleton)
    return Poses.of((following, predicted), contract, error, CLIP)


def root_path(project: Project, run: RecordedRun, recording: Recording, frames: NDArray[np.int64]) -> FloatArray | None:
    """(T, 4): where the clip has the root, in metres, and its heading in radians; None where no clip says it."""
    if not project.system.posed or run.clip is None:
        return None
    drive = project.drive(run.clip)(project.contract)
    for stage in project.system.graph.names:
        layout, rows = project.contract.fields(stage), drive.rows(stage)
        place = {field.name: slice(field.start, field.stop) for field in layout if is_si(field.unit)}
        if rows is None or not {ROOT_POSITION, ROOT_YAW} <= set(place):
            continue
        at = frames % len(rows) if recording.trace.header.mode == "free" else np.minimum(frames, len(rows) - 1)
        found = np.concatenate([rows[at][:, place[name]] for name in (ROOT_POSITION, ROOT_YAW)], axis=1)
        return found if found.shape[1] == 4 and np.isfinite(found).all() else None
    return None
