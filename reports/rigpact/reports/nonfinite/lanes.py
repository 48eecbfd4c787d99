"""Free runs side by side from starts that differ by rounding, and their distances; for systems that feed themselves."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.layout import QUATERNION_KINDS, FieldKind
from rigpact.contract.systems.stage import Stage
from rigpact.reference_runtime.files.declared import Subject
from rigpact.reference_runtime.files.run import Stages
from rigpact.reference_runtime.graph.bounds import distance
from rigpact.reference_runtime.operations.rounding import gamma

SIZES: tuple[float, ...] = (2.0**-23, 1e-7, 3e-7, 1e-6)
"""Distances between the starts, for numbers of size 1; 2^-23 is one float32 step there."""
RUNS_PER_SIZE = 4
STEP_ERROR = gamma(32)
"""Rounding that one frame of a correct engine adds to numbers of size 1 (see tolerances)."""
SAMPLES = 200
"""Number of frames at which the spread is measured; in a shorter run, all frames."""
_ROTATIONS = {FieldKind.ROT6D, *QUATERNION_KINDS}
_LARGEST_DEG = 180.0


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


def perturbed_starts(subject: Subject, contract: Contract) -> tuple[FloatArray, FloatArray]:
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


def spread_of(subject: Subject, frames: Iterator[int] | range, count: int) -> Spread:
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
