"""Whether C++ computes the free runs of a declared contract: four frames of drawn numbers, held against numpy."""

import math
from functools import lru_cache, partial

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.layout import QUATERNION_KINDS, Field
from rigpact.reference_runtime.graph.native.agreement import CHECKED_FRAMES, chosen_engine, first_difference
from rigpact.reference_runtime.graph.native.plan import NativeFrames, refuse_without_twin
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reference_runtime.graph.run import ClipDrive, LiveFrames
from rigpact.reference_runtime.native.library import Engine, EngineUse


def engine_for(contract: Contract, asked: Engine) -> EngineUse:
    """Who computes a free run. UnusableInput where C++ was asked for and cannot."""
    return chosen_engine(asked, partial(refuse_without_twin, contract), partial(disagreement, contract))


@lru_cache(maxsize=32)
def disagreement(contract: Contract) -> str:
    """How the plan differs from numpy, in words; empty where it agrees. Clip and answers are drawn."""
    rng, graph = np.random.default_rng(2), contract.system.graph
    drive = ClipDrive({name: _drawn_rows(contract, name, rng) for name in (*graph.given, *graph.answers)})
    return held_against_numpy(NativeFrames(contract, [drive], None, CHECKED_FRAMES, "free"))


def held_against_numpy(frames: LiveFrames) -> str:
    """How the first frames of a run differ from numpy, in words; empty where they agree."""
    (drive,) = frames.drives
    with np.errstate(all="ignore"):  # the numbers may be beyond what an operation takes
        stages = {name: rows[:, 0] for name, rows in frames.record(range(CHECKED_FRAMES)).items()}
        evidence = Evidence(np.arange(CHECKED_FRAMES), frames.fps, "free", stages, lambda _contract: drive)
        return first_difference(ReplayedFrames(evidence, frames.contract), stages)


def _drawn_rows(contract: Contract, stage: str, rng: np.random.Generator) -> FloatArray:
    fields = contract.fields(stage)
    rows = rng.normal(0.0, 1.0, (CHECKED_FRAMES, fields.width))
    for field in fields:
        rows[:, field.range] = _within(field, rows[:, field.range], rng)
    return rows.astype(np.float32)


def _within(field: Field, rows: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Numbers that the field may hold: quaternions are units."""
    if field.kind in QUATERNION_KINDS:
        each = rows.reshape(len(rows), -1, 4)
        return np.asarray(each / np.linalg.norm(each, axis=-1, keepdims=True)).reshape(rows.shape)
    if field.low is not None and field.high is not None and math.isfinite(field.high - field.low):
        return rng.uniform(field.low, field.high, rows.shape)
    return rows
