"""One engine recording and its reference run, with all data for a picture.

It is made from a comparison and a diagnosis, stored in the archive, and drawn by ../viewer. Nothing here judges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.character import bone_names_of, character_of, skeleton_of
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.skeleton import Skeleton
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.units import NO_UNIT
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reports.comparing.address import channel_address
from rigpact.reports.comparing.compare import Comparison
from rigpact.reports.comparing.pose_error import PoseError
from rigpact.reports.comparing.stage_comparison import StageComparison
from rigpact.reports.diagnosing.diagnosis import Diagnosis, Divergence

REFERENCE, CLIP = "reference", "clip"


@dataclass(frozen=True, eq=False)
class ComparedRun:
    """T shared frames of B bones, of reference and engine. A run without a pose has no bones.

    parents (B,), offsets_m (B, 3): the skeleton, None where the contract has none. reference, engine: (T, B, 3, 3)
    local rotations, columns are axes. deg, cm: (T, B); cm is None without a skeleton. stages: name, (T,) largest error
    divided by its tolerance, and a note if the stage was not judged. against: whose poses `reference` holds, the
    `reference` run's or the `clip`'s own. path: (T, 4) position in metres and heading in radians of the root, None where the
    clip has none. values: the numbers of the stage where they part.
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
    stages: Sequence[tuple[str, FloatArray, str]]
    first_divergence: Divergence | None
    diagnosis: Diagnosis | None
    against: str = REFERENCE
    path: FloatArray | None = None
    values: Values | None = None


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
    frames = len(comparison.frames)
    poses = _compared_poses(comparison) or predicted
    skeleton, nothing = None if poses is None else poses.skeleton, np.zeros((frames, 0, 3, 3))
    return ComparedRun(
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
        stages=_stage_ratios(comparison),
        first_divergence=None if diagnosis is None else diagnosis.first_divergence,
        diagnosis=diagnosis,
        against=REFERENCE if poses is None else poses.against,
        path=None if skeleton is None else path,
        values=_values(comparison, diagnosis),
    )


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
    return Values(stage, unit, names, channels.tolist(), network, expected[:, channels], recorded[:, channels])


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


def _stage_ratios(comparison: Comparison) -> list[tuple[str, FloatArray, str]]:
    return [(name, result.frame_ratios, _note(result)) for name, result in comparison.stages.items()]


def _note(result: StageComparison) -> str:
    unjudged = int((~result.judged).sum())
    return f"{unjudged} of {len(result.judged)} channels cannot be judged" if unjudged else ""
