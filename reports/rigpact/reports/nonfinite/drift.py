"""Separate defects from chaos: how fast a free run damps or grows a difference, and whether a trace stays within that.

Many starts, between a float32 step and 1e-6 apart, run side by side. Their spread is the envelope that rounding alone can
explain. A trace that leaves the envelope has a defect. The result also holds other figures that a system measures on a free run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from rigpact.contract.as_json import AsJson
from rigpact.contract.character import bone_names_of
from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.layout import QUATERNION_KINDS, FieldKind
from rigpact.contract.systems.stage import Stage
from rigpact.reference_runtime.files.declared import RunSetup
from rigpact.reference_runtime.files.run import Stages
from rigpact.reference_runtime.graph.bounds import WRITTEN_MARGIN, distance
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reference_runtime.operations.scalars import gamma
from rigpact.reference_runtime.recordings.recording import Recording, cut_to, judging_contract
from rigpact.reports.comparing.stage_comparison import channel_address
from rigpact.reports.nonfinite.observers import Leaving, Left
from rigpact.reports.terminal import tracked

SIZES: tuple[float, ...] = (2.0**-23, 1e-7, 3e-7, 1e-6)
"""Distances between the starts, for numbers of size 1; 2^-23 is one float32 step there."""
RUNS_PER_SIZE = 4
STEP_ERROR = gamma(32)
"""Rounding that one frame of a correct engine adds to numbers of size 1 (see tolerances)."""
SAMPLES = 200
"""Number of frames at which the spread is measured; in a shorter run, all frames."""
_ROTATIONS = {FieldKind.ROT6D, *QUATERNION_KINDS}
_LARGEST_DEG = 180.0
PARTED_DEG = 1.0
"""Two runs have diverged when a bone is off by this: one degree moves a hand by more than half a centimetre."""
Trend = Literal["contraction", "neutral", "divergence"]


def carried_stage(contract: Contract) -> Stage:
    """The stage that holds the values from the frame before; UnusableInput where the system has none."""
    system = contract.system
    for stage in system.stages:
        if stage.carried is not None:
            return stage
    raise UnusableInput("a free run", f"{system.title}, which does not feed itself", "a system that feeds itself")


def published_stage(contract: Contract) -> Stage:
    """The stage whose differences count: the published pose, else the stage that the next frame takes over."""
    return contract.system.graph[contract.system.posed or str(carried_stage(contract).carried)]


def moved_channels(contract: Contract) -> list[int]:
    """The channels in which the starts differ: the rotations among the carried channels, else all carried channels."""
    stage = carried_stage(contract)
    carried = stage.carried_fields
    fields = [field for field in stage.fields(contract) if not carried or field.name in carried]
    rotations = [field for field in fields if field.kind in _ROTATIONS]
    return [channel for field in rotations or fields for channel in range(field.start, field.stop)]


def perturbed_starts(subject: RunSetup, contract: Contract) -> tuple[FloatArray, FloatArray]:
    """Starts (1 + R, width), the unperturbed one first, and the sizes (R,) of the other starts' differences.

    A float32 step is relative to the largest number that moves, at least 1.
    """
    stage, channels = carried_stage(subject.contract), moved_channels(contract)
    rows = subject.rows().rows(stage.name)
    seed: FloatArray = stage.start(subject.contract) if rows is None and stage.start is not None else rows[0]
    chance = np.random.default_rng(0)
    sizes = np.repeat(SIZES, RUNS_PER_SIZE) * max(1.0, float(np.max(np.abs(seed[channels]), initial=0.0)))
    starts = np.tile(seed, (1 + len(sizes), 1))
    signs = chance.choice((-1.0, 1.0), (len(sizes), len(channels)))
    starts[1:, channels] += (signs * sizes[:, None]).astype(np.float32)
    return starts, sizes


def distances(contract: Contract, stage: Stage, rows: FloatArray, other: FloatArray) -> FloatArray:
    """Distance of each row (R, width) from the other, (R,), in the stage's unit: the largest over its parts."""
    base = np.broadcast_to(other, rows.shape)
    if stage.measure.sizes is not None:
        return np.asarray(np.asarray(stage.measure.sizes(contract, base, rows)).max(axis=-1))
    return np.asarray(distance(stage.measure, base, rows).max(axis=-1))


@dataclass(frozen=True, eq=False)
class Spread:
    """A free run from many starts.

    published (T, width): of the unperturbed start. apart (samples, R): each start's distance from it, at the `sampled`
    frames. benign_apart (samples,): the largest distance of runs under the system's benign knobs; None where the system
    has none.
    """

    published: FloatArray
    stages: dict[int, Stages]
    sampled: FloatArray
    apart: FloatArray
    benign_apart: FloatArray | None
    sizes: FloatArray
    finite: bool
    largest: float = field(default=np.inf)

    @property
    def allowed(self) -> FloatArray:
        """The distance that rounding explains at each sample: STEP_ERROR of each frame, which grows like the starts."""
        amplification = (self.apart / self.sizes).max(axis=1) * (self.sizes[0] / SIZES[0])
        every = np.interp(np.arange(self.sampled[-1] + 1), self.sampled, amplification)
        total = np.cumsum(every)[self.sampled.astype(int)] + every[0]
        return np.asarray(np.minimum(STEP_ERROR * total, self.largest))


def spread_of(subject: RunSetup, frames: Iterator[int] | range, count: int) -> Spread:
    """Run the starts side by side, and run the first start under each other value of every benign knob."""
    contract, files = subject.contract, subject.files
    starts, sizes = perturbed_starts(subject, contract)

    def beginning(under: Contract, rows: FloatArray) -> Any:
        return files.lockstep(under, subject.network, subject.clip, rows, count, subject.engine)

    lockstep = beginning(contract, starts)
    knobs = {knob.name: knob.alternatives(contract.conventions[knob.name]) for knob in contract.system.benign_knobs}
    changes = [{name: value} for name, values in knobs.items() for value in values]
    benign = [beginning(contract.with_conventions(each), starts[:1]) for each in changes]
    stage, stride = published_stage(contract), max(1, count // SAMPLES)
    published, kept, sampled, poses, others_poses = [], {}, [], [], []
    for frame in frames:
        stages, others = lockstep.passing(), [each.passing() for each in benign]
        rows = stages[stage.name]
        published.append(rows[0].copy())
        if not np.isfinite(rows).all():
            break
        if frame % stride == 0 or frame == count - 1:
            sampled.append(frame)
            poses.append(rows.copy())
            others_poses.append([each[stage.name][0].copy() for each in others])
            kept[frame] = {name: values[:1].copy() for name, values in stages.items()}
    if not sampled:
        raise UnusableInput("the free run", "a run that is not finite in its first frame", "a finite run")
    finite = len(published) == count and bool(np.isfinite(published[-1]).all())
    every = np.stack(poses)  # (samples, R, width)

    def apart(rows: FloatArray) -> FloatArray:
        """Distances (samples, R) of rows (samples, R, width) from the unperturbed ones, in one go."""
        samples, runs, width = rows.shape
        base = np.repeat(every[:, 0], runs, axis=0)
        return distances(contract, stage, rows.reshape(-1, width), base).reshape(samples, runs)

    beside = apart(np.array(others_poses)).max(axis=1) if benign else None
    largest = _LARGEST_DEG if stage.measure.unit == "deg" else np.inf
    return Spread(np.stack(published), kept, np.array(sampled), apart(every[:, 1:]), beside, sizes, finite, largest)


def growth_per_frame(frames: FloatArray, sizes: FloatArray) -> float:
    """Factor by which a difference grows each frame: a line through its logarithm until it saturates.

    A difference is saturated from a tenth of its largest value on; before that, the growth is that of small
    differences. If the largest value is less than ten times the first, there is no clear growth, and the whole run
    counts.
    """
    known = sizes > 0.0
    if known.sum() < 3:
        return 0.0
    place, size = frames[known].astype(float), np.log(sizes[known])
    limit = size.max() - np.log(10.0)
    if size[0] < limit:
        end = max(3, int(np.argmax(size >= limit)) + 1)
        place, size = place[:end], size[:end]
    return float(np.exp(np.polyfit(place, size, 1)[0])) if len(place) > 2 else 1.0


@dataclass(frozen=True)
class Outside(AsJson):
    """The first frame in which a trace is off by more than rounding explains, and the part that is off."""

    frame: int
    bone: str
    error: float
    allowed: float


@dataclass(frozen=True, eq=False)
class Drift(AsJson):
    """The growth envelope of a free run, and the other measurements; sizes are those of `stage`, in `unit`.

    benign_apart: the largest distance to a run under the system's benign knobs; None where the system has none. facts:
    other figures of the system; `lines` gives them in words.
    """

    FORMAT = "rigpact-nonfinite"
    KEYS = "verdict origin chain precursor guard command frames drift notes: lines left"
    origin = precursor = guard = command = None
    chain = ()
    frames: int
    stage: str
    unit: str
    sampled: FloatArray
    envelope: FloatArray
    allowed: FloatArray
    growth_per_frame: float
    trend: Trend
    parted_frame: int | None
    benign_apart: float | None
    finite: bool
    facts: Mapping[str, Any] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    left: Left | None = None

    @property
    def verdict(self) -> Literal["finite", "nonfinite", "diverging"]:
        """`diverging` for numbers without meaning: growth alone is chaos."""
        if not self.finite:
            return "nonfinite"
        return "diverging" if self.left else "finite"

    @property
    def exit_code(self) -> int:
        """0 for numbers that mean something to the end, 1 otherwise."""
        return 0 if self.verdict == "finite" else 1

    @property
    def drift(self) -> Mapping[str, Any]:
        """The `drift` object."""
        samples = zip(self.sampled, self.envelope, self.allowed, strict=True)
        return {
            "stage": self.stage, "unit": self.unit, "growth_per_frame": self.growth_per_frame, "trend": self.trend,
            "benign_parted_frame": self.parted_frame, "benign_largest": self.benign_apart,
            "envelope": [{"frame": int(at), "size": float(size), "allowed": float(limit)} for at, size, limit in samples],
            **self.facts,
        }  # fmt: skip


def _spread(subject: RunSetup, frames: int) -> tuple[RunSetup, Spread]:
    """The subject with the contract that is run, and its spread over `frames` frames."""
    carried_stage(subject.contract)  # refuses a system that does not feed itself
    if subject.mode != "free" or subject.faults or subject.on_floor:
        raise UnusableInput("--drift", "a teacher-driven, perturbed or floor-contact run", "a free run as it is")
    if hasattr(subject.network, "outputs"):
        raise UnusableInput("--drift", "recorded outputs", "a model", "a recording answers the same whatever comes in")
    subject = replace(subject, contract=subject.start(frames).contract)
    with np.errstate(all="ignore"):
        return subject, spread_of(subject, tracked(range(frames), "lockstep"), frames)


def judge_drift(subject: RunSetup, frames: int) -> Drift:
    """Measure the envelope over `frames` frames."""
    subject, spread = _spread(subject, frames)
    stage = published_stage(subject.contract)
    with np.errstate(all="ignore"):
        facts, lines = subject.files.drift_notes(subject, spread.published, spread.stages)
    allowed, beside = spread.allowed, spread.benign_apart
    growth = growth_per_frame(spread.sampled, np.median(spread.apart, axis=1))
    rate = np.log(max(growth, 1e-9)) * frames  # neutral: less than a factor e over the whole run
    trend: Trend = "divergence" if rate > 1.0 else "contraction" if rate < -1.0 else "neutral"
    is_parted = np.zeros(0) if beside is None or stage.measure.unit != "deg" else beside > PARTED_DEG
    parted = np.flatnonzero(is_parted)
    return Drift(
        frames=len(spread.published), stage=stage.name, unit=stage.shown_unit, sampled=spread.sampled,
        envelope=np.maximum.accumulate(spread.apart.max(axis=1)), allowed=allowed, growth_per_frame=growth,
        trend=trend, parted_frame=int(spread.sampled[parted[0]]) if len(parted) else None,
        benign_apart=None if beside is None else float(beside.max()), finite=spread.finite, facts=facts, lines=lines,
        left=_left(subject, spread),
    )  # fmt: skip


def _left(subject: RunSetup, spread: Spread) -> Left | None:
    leaving = Leaving(subject.contract, subject.mode, subject.clip)
    for frame, stages in spread.stages.items():
        leaving(frame, {name: rows[0] for name, rows in stages.items()})
    return leaving.found


def outside_envelope(subject: RunSetup, frames: int, recording: Recording) -> Outside | None:
    """The first place where the recording of a free run leaves the envelope: no rounding of `frames` frames explains it."""
    subject, spread = _spread(subject, frames)
    trace, contract = recording.trace, judging_contract(recording, subject.contract)
    stage, inside = published_stage(subject.contract), trace.frame < len(spread.published)
    frame = trace.frame[inside]
    if len(frame) == 0:
        raise UnusableInput("the recording", "no frame of this run", f"frames 0 to {len(spread.published) - 1}")
    theirs, ours = trace.stages[stage.name][inside], spread.published[frame]
    if recording.bones:
        ours = cut_to({stage.name: ours}, subject.contract, recording.bones)[stage.name]
    with np.errstate(all="ignore"):
        apart = distances(contract, stage, theirs, ours)
    limit = np.interp(frame, spread.sampled, np.maximum.accumulate(spread.allowed))
    limit = limit + _lost(contract, stage, recording, theirs)
    beyond = np.flatnonzero(~(apart <= limit))
    if len(beyond) == 0:
        return None
    row = int(beyond[0])
    part = _farthest_part(contract, stage, theirs[row], ours[row])
    return Outside(int(frame[row]), part, float(apart[row]), float(limit[row]))


def _lost(contract: Contract, stage: Stage, recording: Recording, rows: FloatArray) -> FloatArray:
    """How far each row (T, width) may be from the one that was computed, because of how its numbers are written: (T,)."""
    written = Evidence(np.arange(len(rows)), 1.0, "free", {stage.name: rows}, precision=recording.trace.precision)
    moved = [distances(contract, stage, each.recorded[stage.name], rows) for each in written.moved_by_writing]
    return WRITTEN_MARGIN * np.max(moved, axis=0) if moved else np.zeros(len(rows))


def _farthest_part(contract: Contract, stage: Stage, theirs: FloatArray, ours: FloatArray) -> str:
    with np.errstate(all="ignore"):
        difference = np.abs(theirs.astype(np.float64) - ours)
        sizes = None if stage.measure.sizes is None else stage.measure.sizes(contract, ours[None], theirs[None])[0]
    names = bone_names_of(contract)
    if sizes is not None and len(sizes) == len(names):
        return str(names[int(np.argmax(np.nan_to_num(sizes, nan=np.inf)))])
    channel = int(np.argmax(np.nan_to_num(difference, nan=np.inf)))
    return str(channel_address(stage.name, channel, contract))
