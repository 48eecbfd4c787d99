"""One engine recording beside the reference, with all that a picture of it needs.

Made from a comparison and a diagnosis, kept in the archive, drawn by ../viewer. Nothing here judges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.bundle import Contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reports.comparing.compare import Comparison
from rigpact.reports.comparing.stage_comparison import StageComparison
from rigpact.reports.diagnosing.diagnose import Diagnosis, Divergence


@dataclass(frozen=True, eq=False)
class ComparedRun:
    """T shared frames of B bones, reference and engine.

    parents (B,), offsets_m (B, 3): the skeleton, None where the bundle has none. reference, engine: (T, B, 3, 3) local
    rotations, columns are axes. deg, cm: (T, B); cm is None without a skeleton. stages: name, (T,) largest error divided by
    its tolerance, and a note where a stage was not judged.
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


def compared_run(name: str, comparison: Comparison, contract: Contract, diagnosis: Diagnosis | None) -> ComparedRun:
    """Gather what a picture needs; UnusableInput where the two sides share no published pose."""
    if comparison.pose is None:
        raise UnusableInput(comparison.b.path, "no published pose in both recordings", "the stage y_out")
    codec, place = Rot6d(contract.conventions), contract.output[ROTATIONS].range
    poses = []
    for side in (comparison.a, comparison.b):
        rows = np.isin(side.trace.frame, comparison.frames)
        poses.append(codec.decode(side.trace.stages["y_out"][rows][:, place].astype(np.float64)))
    skeleton = contract.skeleton
    return ComparedRun(
        name=name,
        fps=comparison.a.trace.header.fps,
        frames=comparison.frames,
        bone_names=comparison.bones,
        parents=None if skeleton is None else skeleton.parents,
        offsets_m=None if skeleton is None else skeleton.offsets_m,
        reference=poses[0],
        engine=poses[1],
        deg=comparison.pose.deg,
        cm=comparison.pose.cm,
        stages=_stage_ratios(comparison),
        first_divergence=None if diagnosis is None else diagnosis.first_divergence,
        diagnosis=diagnosis,
    )


def _stage_ratios(comparison: Comparison) -> list[tuple[str, FloatArray, str]]:
    return [(name, result.frame_ratios, _note(result)) for name, result in comparison.stages.items()]


def _note(result: StageComparison) -> str:
    unjudged = int((~result.judged).sum())
    return f"{unjudged} of {len(result.judged)} channels cannot be judged" if unjudged else ""
