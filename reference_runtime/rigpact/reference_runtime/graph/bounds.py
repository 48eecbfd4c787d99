"""Bounds of recomputed stages: the rounding of the stage, and the effect of rounding in unrecorded stages before it.

A network's answer is bounded by the roundings of the model's own operations: see `answers.py`. Without its model, the
stage's own bound is an assumption.

If `is_propagated`, the stage's bound derives the effect of its inputs' bounds. For every other stage the effect is
measured: the inputs are moved by their bounds in several patterns of signs, and the largest change of the rows is
added.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract, FramesOfContract
from rigpact.contract.systems.stage import Bounds, FramesInside, Graph, Measure, NotKnown, Stage
from rigpact.reference_runtime.graph.answers import answer_bound
from rigpact.reference_runtime.graph.replayed import ReplayedFrames, one_frame_later, path_of, sign_pattern, source_of
from rigpact.reference_runtime.operations.geometry import same_hemisphere
from rigpact.reference_runtime.operations.scalars import gamma

STORED = 2
"""Number of roundings of a value that is computed on one side and stored once on both sides."""
PATTERNS = 6
"""Patterns of signs for a measured bound: all up, all down, and random patterns from a fixed seed. The bound is the
largest change."""
WRITTEN_MARGIN = 4.0
"""How many times the largest of the measured effects of writing numbers coarsely is allowed.

With many inputs, an effect is a sum of many small ones: normal, of width s in each of the fifteen different patterns, and of
width s/√3 in the recording, whose errors are anywhere within their bounds. It is beyond 4 times the largest of fifteen with
probability (0.8 / (4·√3))^15 · E|x|^15 = 5e-9. With one input, the patterns are exact.
"""


def distance(measure: Measure, a: FloatArray, b: FloatArray) -> FloatArray:
    """How far two sides' rows are apart, |a - b|, (T, width) float64; a quaternion and its negative are the same rotation.

    Everything that compares a recording with what is expected asks here.
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(np.abs(np.asarray(a, np.float64) - signed_alike(measure, a, b)))


def signed_alike(measure: Measure, a: FloatArray, b: FloatArray) -> FloatArray:
    """b, (T, width) float64, with the sign of each quaternion nearest to that in a."""
    one: FloatArray = np.asarray(a, np.float64)
    other: FloatArray = np.array(b, np.float64)
    if measure.has_signless_quaternions:
        other = same_hemisphere(one, other)
    for start in measure.quaternions_at:
        part = slice(start, start + 4)
        other[:, part] = same_hemisphere(one[:, part], other[:, part])
    return other


def stage_bound(stage: Stage, frames: Any, rows: FloatArray, upstream: Bounds) -> FloatArray:
    """Bound on the difference of two correct float32 versions of a stage, (N, width); inputs differ by `upstream`."""
    through = answer_bound(stage, frames, upstream)
    if through is not None:
        return through
    if stage.inside:
        *before, last = stage.inside
        inside, within = FramesInside(frames, before), dict(upstream)
        last.computed(inside)
        for each in before:
            if each.name in inside.known:  # the others are not looked at under these conventions
                within[each.name] = stage_bound(each, inside, inside[each.name], within)
        return stage_bound(last, inside, rows, within)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        if stage.bound is None:
            own = gamma(STORED) * np.abs(rows, dtype=np.float64)
        else:
            own = np.asarray(stage.bound(frames, rows, upstream), np.float64)
        if stage.is_propagated or stage.compute is None:
            return own
        moved = {name: bound for name, bound in upstream.items() if name in stage.needs and np.any(bound > 0.0)}
        return own + _measured(stage, frames, rows, moved) if moved else own


def _measured(stage: Stage, frames: Any, rows: FloatArray, moved: Mapping[str, FloatArray]) -> FloatArray:
    """The largest change of the rows when the stage's inputs move by their bounds."""
    rng = np.random.default_rng(0)
    largest = np.zeros(rows.shape)
    by = {name: (frames[name], np.nan_to_num(bound)) for name, bound in moved.items()}
    is_unknown = np.any([np.isinf(bound).any(axis=1, keepdims=True) for bound in moved.values()], axis=0)
    for pattern in range(PATTERNS):
        signs = {name: sign_pattern(pattern, bound.shape, rng) for name, (_, bound) in by.items()}
        values = {name: known + signs[name] * bound for name, (known, bound) in by.items()}
        moved_by = distance(stage.measure, rows, stage.computed(MovedFrames(frames, values)))
        largest = np.fmax(largest, np.where(is_unknown & np.isnan(moved_by), np.inf, moved_by))
    return largest


class MovedFrames:
    """Frames in which some stages have other values."""

    def __init__(self, frames: Any, values: Mapping[str, FloatArray]) -> None:
        """All stages that are not in `values` stay unchanged."""
        self._frames, self._values = frames, values

    def __getitem__(self, stage: str) -> FloatArray:
        """The moved values, as float32; for other stages, the frames' own values."""
        if stage in self._values:
            return self._values[stage].astype(np.float32)
        rows: FloatArray = self._frames[stage]
        return rows

    def get(self, stage: str) -> FloatArray | None:
        """The same; None if it is not known."""
        if stage in self._values:
            return self[stage]
        rows: FloatArray | None = self._frames.get(stage)
        return rows

    def __getattr__(self, name: str) -> Any:
        """Every other attribute is the frames' own."""
        return getattr(self._frames, name)


class KnownFrames(FramesOfContract):
    """Known stages without any computation: the input of the bounds of a comparison."""

    has_drive = False

    def __init__(
        self,
        contract: Contract,
        stages: Mapping[str, FloatArray],
        frame: NDArray[np.int64] | None = None,
        network: Any = None,
        mode: str = "teacher",
    ) -> None:
        """stages: (T, width) by name; frame: their numbers, 0 … T - 1 if not given; mode: of the run that they are of."""
        super().__init__(contract, network)
        self.recorded, self.mode, self.fps = stages, mode, contract.fps or 1.0
        self.frame = np.arange(max(map(len, stages.values()), default=0)) if frame is None else frame

    def __getitem__(self, stage: str) -> FloatArray:
        """A known stage; else `NotKnown`."""
        if stage not in self.recorded:
            raise NotKnown(stage)
        return self.recorded[stage]

    def get(self, stage: str) -> FloatArray | None:
        """A known stage, or None."""
        return self.recorded.get(stage)

    def left_before(self, stage: str) -> FloatArray:
        """A stage one frame before, (T, width); NaN where that is not known."""
        return one_frame_later(self, stage)


def stage_tolerances(
    contract: Contract,
    stages: Bounds,
    given: Collection[str] = (),
    entering: Bounds | None = None,
    mode: str = "teacher",
) -> dict[str, FloatArray]:
    """Tolerance of every recorded stage, arrays of the stage's own shape (T, width).

    stages: recorded values by stage name, (T, width). If an upstream stage was not recorded, its bound is that of a
    value stored once. given: stages whose exact values were the inputs of the later stages; no error is inherited from
    them. entering: how far a stage is off already when its frame begins; the later stages inherit it. mode: of the run.
    """
    bounds: dict[str, FloatArray] = {}
    upstream: dict[str, FloatArray] = {}
    frames = KnownFrames(contract, stages, mode=mode)
    for stage in contract.system.stages:
        if stage.name in stages:
            bounds[stage.name] = stage_bound(stage, frames, stages[stage.name], upstream)
            if entering is not None and stage.name in entering:
                bounds[stage.name] = bounds[stage.name] + entering[stage.name]
            upstream[stage.name] = np.zeros_like(bounds[stage.name]) if stage.name in given else bounds[stage.name]
    return bounds


def replay_bound(frames: ReplayedFrames, stage: str, rows: FloatArray) -> FloatArray:
    """Bound of a replayed stage: its rounding and that of folded stages before it; recorded stages add nothing.

    Recorded numbers that were written with few digits or bits add what the lost ones lead to.
    """
    return rounding_bound(frames, stage, rows) + written_bound(frames, stage, rows)


def written_bound(
    frames: ReplayedFrames, stage: str, rows: FloatArray, written: Iterable[ReplayedFrames] | None = None
) -> FloatArray | float:
    """What the digits or bits lead to that were lost in writing the recorded numbers; 0 where every bit was kept.

    written: the frames with every number moved by that, where the frames hold numbers that somebody changed after reading them.
    """
    if frames.evidence.precision is None:
        return 0.0
    moved = frames.moved_by_writing() if written is None else written
    return WRITTEN_MARGIN * largest_change(frames, stage, rows, moved)


def largest_change(
    frames: ReplayedFrames, stage: str, rows: FloatArray, others: Iterable[ReplayedFrames]
) -> FloatArray:
    """The largest change of the rows in other frames: those in which recorded or folded values are moved."""
    measure, largest = frames.contract.system.graph[stage].measure, np.zeros(rows.shape)
    for moved in others:
        found = moved.computed(stage)
        if found is not None:
            largest = np.fmax(largest, distance(measure, rows, found))
    return largest


def rounding_bound(frames: ReplayedFrames, stage: str, rows: FloatArray, *, is_through: bool = True) -> FloatArray:
    """Bound of a replayed stage by the rounding of it and of the folded stages before it.

    is_through: with what the rounding of a network's inputs leads to in its answer; else they count as exact.
    """
    graph: Graph = frames.contract.system.graph
    on_the_way = path_of(graph, stage, frames.recorded)
    upstream: dict[str, FloatArray] = _nothing(graph[stage], frames)
    for each in graph:
        if each.name == stage:
            break
        if each.name in on_the_way:
            upstream |= _nothing(each, frames)
            known = frames.computed(each.name)
            if known is not None:
                bound = partial(_own_bound, each, frames, known, _entering(each, upstream, is_through=is_through))
                upstream[each.name] = frames.kept(each.name, bound, "bound" if is_through else "own bound")
    return _own_bound(graph[stage], frames, rows, _entering(graph[stage], upstream, is_through=is_through))


def _entering(stage: Stage, upstream: Bounds, *, is_through: bool) -> Bounds:
    return upstream if is_through or not stage.is_answer else {}


def _own_bound(stage: Stage, frames: ReplayedFrames, rows: FloatArray, upstream: Bounds) -> FloatArray:
    """The bound of a stage; a fed-back one has that of the unrecorded stage that it takes over, too."""
    own = stage_bound(stage, frames, rows, upstream)
    if stage.carried is None or frames.mode != "free":
        return own
    source = source_of(stage, frames)
    if source in frames.recorded:
        off = frames.evidence.off.get(source)
        return own if off is None else np.asarray(own + np.nan_to_num(frames.shifted(off, -1), posinf=np.inf))
    if stage.name in frames.fed_back:
        return np.asarray(own + frames.fed_back[stage.name][1][frames.frame])
    handed_on = frames.computed(source)
    if handed_on is None:
        return own
    before = frames.shifted(replay_bound(frames, source, handed_on), -1)
    return np.asarray(own + np.nan_to_num(before, posinf=np.inf))


def _nothing(stage: Stage, frames: ReplayedFrames) -> dict[str, FloatArray]:
    """Bound 0 for the recorded inputs of a stage: the replay uses exactly these values; what was worked back may be off."""
    off, recorded = frames.evidence.off, frames.recorded
    return {name: off.get(name, np.zeros(recorded[name].shape)) for name in stage.needs if name in recorded}
