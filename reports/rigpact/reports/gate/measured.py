"""What a part of the gate has measured, and of a recording all that a picture of it beside its reference run needs.

The picture is made from a comparison and a diagnosis, and drawn by ../viewer. Nothing here judges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.character import bone_names_of, character_of, skeleton_of
from rigpact.contract.errors import ContractRefused, UnusableInput
from rigpact.contract.findings import FindingsReport, Ledger
from rigpact.contract.layout import ROOT_POSITION, ROOT_YAW, ROTATIONS
from rigpact.contract.rules.family import answers as rules
from rigpact.contract.settings.gate import RecordedRun
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


CHANNELS_KEPT = 24
"""The channels that differ most: a robot's joints, a hand's fingers."""


def compared_run(
    project: Project, run: RecordedRun, recording: Recording, comparison: Comparison, diagnosis: Diagnosis | None
) -> ComparedRun:
    """Gather the data for a picture: the stages, and the skeletons of both sides, or of the recording and its clip."""
    frames, results = comparison.frames, comparison.stages.values()
    poses = _compared_poses(comparison) or _predicted_poses(project, run, recording, frames)
    if poses is None:
        none = np.zeros((len(frames), 0, 3, 3), np.float32)
        poses = {"bone_names": (), "parents": None, "offsets_m": None, "deg": none[..., 0, 0], "cm": None}
        poses |= {"reference": none, "engine": none}
    return ComparedRun(
        name=run.name,
        fps=comparison.a.trace.header.fps,
        frames=frames,
        stages=[(stage, _note(result)) for stage, result in comparison.stages.items()],
        ratios=np.array([each.frame_ratios for each in results], np.float32).reshape(len(results), len(frames)),
        diagnosis=diagnosis,
        path=None if poses["parents"] is None else _root_path(project, run, recording, frames),
        values=_values(comparison, diagnosis),
        **poses,
    )


def _poses(
    rows: Iterable[FloatArray], contract: Contract, error: PoseError, bones: Sequence[str], against: str
) -> dict[str, Any]:
    """What two skeletons show, of published rotations, (T, 6·B) each, that are so far apart."""
    codec, skeleton = Rot6d(contract.conventions), skeleton_of(contract)
    reference, engine = (codec.decode(each.astype(np.float64)).astype(np.float32) for each in rows)
    deg, cm = error.deg.astype(np.float32), None if error.cm is None else error.cm.astype(np.float32)
    known = (None, None) if skeleton is None else (skeleton.parents, skeleton.offsets_m)
    own = {"bone_names": bones, "reference": reference, "engine": engine, "deg": deg, "cm": cm, "against": against}
    return own | dict(zip(("parents", "offsets_m"), known, strict=True))


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


def _compared_poses(comparison: Comparison) -> dict[str, Any] | None:
    """The poses of both sides; None where one of them holds none."""
    contract = comparison.contract_of(comparison.posed)
    if comparison.pose is None or contract is None:
        return None
    place = character_of(contract).output[ROTATIONS].range
    sides = (comparison.a.trace, comparison.b.trace)
    rows = (each.stages[comparison.posed][np.isin(each.frame, comparison.frames)][:, place] for each in sides)
    return _poses(rows, contract, comparison.pose, comparison.bones, REFERENCE)


def _note(result: StageComparison) -> str:
    unjudged = int((~result.judged).sum())
    return f"{unjudged} of {len(result.judged)} channels cannot be judged" if unjudged else ""


def _predicted_poses(
    project: Project, run: RecordedRun, recording: Recording, frames: NDArray[np.int64]
) -> dict[str, Any] | None:
    """The poses that a recording holds beside those that the clip has next, for a project whose reference has none.

    None where the recording has no pose of every bone, ran free, or has a frame whose next pose the clip does not have.
    """
    contract, stage = project.contract, project.system.posed
    is_free = recording.trace.header.mode == "free"
    if run.clip is None or recording.bones or stage not in recording.trace.stages or is_free:
        return None
    clip = project.recording_of(run.clip)
    if clip.poses6d is None or not np.isin(frames, clip.trace.frame).all():
        return None
    _, following = targets_of(clip, frames).around(slice(None))
    place = character_of(contract).output[ROTATIONS].range
    predicted = recording.trace.stages[stage][np.isin(recording.trace.frame, frames)][:, place]
    if following.shape != predicted.shape or not np.isfinite(following).all():
        return None
    error = pose_error(following, predicted, Rot6d(contract.conventions), character_of(contract).skeleton)
    return _poses((following, predicted), contract, error, bone_names_of(contract), CLIP)


def _root_path(
    project: Project, run: RecordedRun, recording: Recording, frames: NDArray[np.int64]
) -> FloatArray | None:
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
        return found.astype(np.float32) if found.shape[1] == 4 and np.isfinite(found).all() else None
    return None


@dataclass(frozen=True, eq=False)
class Measured:
    """One part, measured and held against the project's thresholds; name and title are its question's.

    accounts: of each stage of a recording what is declared, compared and waived. run: the errors of every frame, for a picture.
    remarks: lines that are printed beside the answer, because they differ between runs.
    """

    report: FindingsReport
    accounts: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    run: ComparedRun | None = None
    remarks: tuple[str, ...] = ()
    name: str = ""
    title: str = ""


@dataclass(frozen=True, eq=False)
class GateMeasurement:
    """All parts, the questions that were not asked, and the SHA-256 of every file that was read."""

    parts: tuple[Measured, ...]
    not_asked: Mapping[str, str] = field(default_factory=dict)
    provenance: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class NotAsked:
    """A question that the project did not ask or its system cannot have, with the reason."""

    name: str
    reason: str


@dataclass(frozen=True)
class Question:
    """A part that the project asks.

    name, title: as in report.Part; place: the file that stands for it. opens: opens all that the measurement reads, and
    raises UnusableInput for what is missing.
    """

    name: str
    title: str
    place: object
    measure: Callable[[], Measured]
    opens: Callable[[], object]

    @property
    def lacks(self) -> str:
        """Why it cannot be judged here, found without measuring; empty if it can."""
        try:
            self.opens()
        except UnusableInput as error:
            return error.one_line()
        return ""

    def answered(self) -> Measured:
        """The measurement; for unusable input, a part that could not be judged, with the reason."""
        try:
            with np.errstate(all="ignore"):
                found = self.measure()
        except UnusableInput as error:
            reason = "the engine would not load the bundle" if isinstance(error, ContractRefused) else error.one_line()
            finding = rules.PART_NOT_JUDGED.at(self.place, "", part=self.title, reason=reason)
            found = Measured(FindingsReport((finding,), Ledger(1, 0), {"not_judged": reason}))
        return replace(found, name=self.name, title=self.title)
