"""One engine recording and its reference run, with all data for a picture.

It is made from a comparison and a diagnosis, stored in the archive, and drawn by ../viewer. Nothing here judges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.layout import ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reports.comparing.compare import Comparison
from rigpact.reports.comparing.stage_comparison import StageComparison
from rigpact.reports.diagnosing.diagnosis import Diagnosis, Divergence


@dataclass(frozen=True, eq=False)
class ComparedRun:
    """T shared frames of B bones, of reference and engine. A run without a pose has no bones.

    parents (B,), offsets_m (B, 3): the skeleton, None where the contract has none. reference, engine: (T, B, 3, 3)
    local rotations, columns are axes. deg, cm: (T, B); cm is None without a skeleton. stages: name, (T,) largest error
    divided by its tolerance, and a note if the stage was not judged. meanings: the meaning of each convention in the
    diagnosis.
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
    meanings: Mapping[str, str] = field(default_factory=dict)


def compared_run(name: str, comparison: Comparison, diagnosis: Diagnosis | None) -> ComparedRun:
    """Gather the data for a picture: the stages, and the skeletons where both sides hold a pose."""
    pose, contract = comparison.pose, comparison.contract_of(comparison.posed)
    skeleton = None if pose is None else contract.skeleton
    reference, engine = _poses(comparison, contract)
    return ComparedRun(
        name=name,
        fps=comparison.a.trace.header.fps,
        frames=comparison.frames,
        bone_names=() if pose is None else comparison.bones,
        parents=None if skeleton is None else skeleton.parents,
        offsets_m=None if skeleton is None else skeleton.offsets_m,
        reference=reference,
        engine=engine,
        deg=np.zeros((len(comparison.frames), 0)) if pose is None else pose.deg,
        cm=None if pose is None else pose.cm,
        stages=_stage_ratios(comparison),
        first_divergence=None if diagnosis is None else diagnosis.first_divergence,
        diagnosis=diagnosis,
        meanings=_meanings(diagnosis, contract),
    )


def _meanings(diagnosis: Diagnosis | None, contract: Any) -> dict[str, str]:
    causes = () if diagnosis is None else diagnosis.causes
    return {knob: contract.system.knobs[knob].meaning for cause in causes for knob in cause.changes}


def _poses(comparison: Comparison, contract: Any) -> tuple[FloatArray, FloatArray]:
    """Rotation matrices of both sides, (T, B, 3, 3); B is 0 without a pose."""
    if comparison.pose is None:
        nothing = np.zeros((len(comparison.frames), 0, 3, 3))
        return nothing, nothing
    codec, place = Rot6d(contract.conventions), contract.output[ROTATIONS].range
    rows = (
        side.trace.stages[contract.system.posed][np.isin(side.trace.frame, comparison.frames)][:, place]
        for side in (comparison.a, comparison.b)
    )
    reference, engine = (codec.decode(each.astype(np.float64)) for each in rows)
    return reference, engine


def _stage_ratios(comparison: Comparison) -> list[tuple[str, FloatArray, str]]:
    return [(name, result.frame_ratios, _note(result)) for name, result in comparison.stages.items()]


def _note(result: StageComparison) -> str:
    unjudged = int((~result.judged).sum())
    return f"{unjudged} of {len(result.judged)} channels cannot be judged" if unjudged else ""
