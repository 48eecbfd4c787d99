"""Whether C++ computes a run: it has to be there, to be asked for, and to agree with numpy on frames that are drawn.

Four frames of drawn numbers: each stage is computed by numpy from the native run's own stages before it. One that differs by
more than rounding is not used.
"""

import math
import warnings
from collections.abc import Callable, Mapping
from functools import cache, lru_cache, partial

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.layout import QUATERNION_KINDS, Field
from rigpact.reference_runtime.graph.bounds import distance, replay_bound
from rigpact.reference_runtime.graph.native_plan import NativeFrames, refuse_without_twin
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reference_runtime.graph.run import ClipDrive, LiveFrames
from rigpact.reference_runtime.native.library import BUILD_IT, Engine, EngineUse, library

CHECKED_FRAMES = 4
"""Frames that are compared before a contract's first run: the history of the second frame on is the run's own."""


def chosen_engine(asked: Engine, possible: Callable[[], None], disagreement: Callable[[], str]) -> EngineUse:
    """Who computes a run. UnusableInput where C++ was asked for and cannot.

    possible: raises UnusableInput where C++ has no form of the run. disagreement: how it differs from numpy, in words.
    """
    if asked == "numpy":
        return EngineUse()
    try:
        library()
    except UnusableInput as refusal:
        if asked == "native":
            raise
        say_slow(refusal.found)
        return EngineUse()
    try:
        possible()
    except UnusableInput:
        if asked == "native":
            raise
        return EngineUse()  # not all of it exists in C++
    words = disagreement()
    if words and asked == "native":
        raise UnusableInput("--engine native", f"a loop that differs: {words}", "agreement with numpy", BUILD_IT)
    return EngineUse("numpy", words) if words else EngineUse("native")


@cache
def say_slow(found: str) -> None:
    """Warn, once in a process, that runs are slower than they need be; the numbers are the same. found: why, in words."""
    warnings.warn(f"{found}: numpy computes free runs, many times slower; {BUILD_IT}", stacklevel=2)


def first_difference(frames: ReplayedFrames, stages: Mapping[str, FloatArray]) -> str:
    """The first number beyond its bound, in words; empty where there is none."""
    for name, found in stages.items():
        expected = frames.computed(name)
        words = "" if expected is None else _differs(frames, name, found, expected)
        if words:
            return words
    return ""


def _differs(frames: ReplayedFrames, name: str, found: FloatArray, expected: FloatArray) -> str:
    bound, measure = replay_bound(frames, name, expected), frames.contract.system.graph[name].measure
    with np.errstate(invalid="ignore"):
        within = (distance(measure, expected, found) <= bound) | (found == expected)  # infinity is
    beyond = np.argwhere(~within & ~np.isnan(expected))  # NaN: not known, it needs a frame before the first
    if not len(beyond):
        return ""
    frame, channel = map(int, beyond[0])
    return f"{name} at frame {frame}, channel {channel}: {found[frame, channel]:.9g}, by numpy {expected[frame, channel]:.9g}"


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
