"""Watches every stage of every frame and never changes a number; how large numbers may be, each limit with its reason.

It notices the first stage that is not finite and keeps the frames around it. rigpact.reports.nonfinite finds which stage
*produced* the value, and why.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import ModelFailed, UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.layout import FieldLayout
from rigpact.contract.systems.stage import Graph, Stage
from rigpact.contract.units import Kind, sized
from rigpact.reference_runtime.files.run import Run, Stages
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reference_runtime.operations.scalars import gamma

ORDINARY_Z = 16.0
"""Inputs beyond this are not ordinary: the exporter's graph clamps state and condition there."""
ABSURD_Z = 2.0**24
"""float32 numbers of this size are two apart: a z-score that cannot tell 0 from 1 deviation has no meaning. The largest
that a rotation can reach is far below: 2 / 1e-6, two columns at opposite ends over the floor of a deviation."""
ABSURD_RAW = float(np.sqrt(np.finfo(np.float32).max))
"""The square of a larger number is infinite in float32, and so is the length of any vector that holds it."""
VISIBLE_RAD = float(np.radians(1.0))
"""One degree moves a hand by more than half a centimetre; so far moves the end of a rotation's column of length 1."""


def largest_meaning(stage: Stage) -> float:
    """The size from which on a stage's numbers have no meaning."""
    return ABSURD_Z if stage.measure.unit == "z" else ABSURD_RAW


def largest_departure(frame: int) -> float:
    """How many deviations from its seed a channel of a free run may be after so many frames.

    The network's answers are within the ordinary range: each frame moves a channel by no more.
    """
    return ORDINARY_Z * frame


@dataclass(frozen=True, eq=False)
class Ordinary:
    """What is ordinary for the stage that a free run feeds back: the deviation of each channel, (width,).

    least: a smaller change is not a departure, however small the deviation is; infinite for what is not fed back.
    """

    stage: str
    deviation: FloatArray
    least: FloatArray

    def sizes(self, seed: Mapping[str, FloatArray], stages: Mapping[str, FloatArray]) -> FloatArray:
        """Distance from the seed in deviations, (width,); 0 for a distance that does not count."""
        away = np.abs(stages[self.stage].astype(np.float64) - seed[self.stage])
        return np.asarray(np.where(away >= self.least, away / self.deviation, 0.0))


def ordinary_of_rows(stage: Stage, fields: FieldLayout, rows: FloatArray) -> Ordinary | None:
    """What is ordinary by a clip's rows of a stage, (T, width); None where nothing that is fed back moves.

    Every channel is measured by the one of its kind that moves most: in a clip many stand still, and theirs is rounding. Where
    none of its kind moves by more than rounding, the clip does not say how far such a channel may go.
    """
    wide = rows.astype(np.float64)
    deviation, kinds = wide.std(axis=0), np.full(wide.shape[1], "", dtype=object)
    least = np.zeros(wide.shape[1])
    for part in fields:
        kinds[part.range] = part.kind.value
        is_fed_back = not stage.carried_fields or part.name in stage.carried_fields
        least[part.range] = 0.0 if is_fed_back else np.inf
    for kind in set(kinds):
        deviation[kinds == kind] = deviation[kinds == kind].max()
    rounding = gamma(1) * np.abs(wide).max(axis=0)
    is_still = deviation <= rounding
    least[is_still] = np.inf
    if np.isinf(least).all():
        return None
    return Ordinary(stage.name, np.where(is_still, 1.0, deviation), least)


FRAMES_OLD = 4
"""An answer that is worse than a pose so many frames old is worse by far: networks are given fewer frames of the past."""
_VISIBLE: Mapping[Kind, float] = {"angle": VISIBLE_RAD, "length": 0.01}
"""Smaller errors (radians, metres) are not findings: a character that stands is copied without error, a network has one."""


@dataclass(frozen=True)
class RunBaseline:
    """A clip-driven run against the clip's next frame: mean errors of the run, and of copying the last frame."""

    what: str
    unit: str
    error: float
    copied: float

    @property
    def limit(self) -> float:
        """The largest error that is not worse by far.

        A pose n frames old is off by at most n times the mean error of copying, by the triangle inequality.
        """
        return max(FRAMES_OLD * self.copied, sized(self.unit, _VISIBLE, np.inf))

    @property
    def is_lost(self) -> bool:
        """Whether copying is better by far; False where the unit says nothing to people."""
        return self.error > self.limit


# Values from outside that are not finite and that nothing reads: a field of a clip that the contract passes over
_INSTEAD = (0.0, 1.0, -1.0, 1000.0)
"""A function that reads a number differs for one of these: none of them is on the same side of every threshold."""


def unread_rows(evidence: Evidence, contract: Contract) -> dict[str, NDArray[np.bool_]]:
    """For each stage that nothing reads there: where (T,) a row is not finite, and no stage reads what is not."""
    found: dict[str, NDArray[np.bool_]] = {}
    for name, rows in evidence.recorded.items():
        bad: NDArray[np.bool_] = np.asarray(~np.isfinite(rows).all(axis=1))
        if bad.any() and _is_given(contract, name):
            chosen = np.flatnonzero(bad)
            bad[chosen] = ~_is_read(evidence.at_rows(chosen.tolist()), contract, name)
            found[name] = bad
    return found


def unread_stages(stages: Mapping[str, FloatArray], contract: Contract, mode: str) -> frozenset[str]:
    """The same for one frame, (width,) each: the stages that hold a value that is not finite, and that nothing reads."""
    rows = {name: values[None] for name, values in stages.items()}
    evidence = Evidence(np.zeros(1, np.int64), contract.fps or 1.0, mode, rows)
    return frozenset(name for name, is_unread in unread_rows(evidence, contract).items() if is_unread.all())


def _is_given(contract: Contract, name: str) -> bool:
    """Whether a stage comes from outside in every frame, and neither a network nor an engine sees it as it is."""
    system, graph = contract.system, contract.system.graph
    if name not in graph or system.windowed:
        return False
    is_seen = name in (*system.network_inputs, *system.outputs, *graph.answers, *graph.handed_on)
    return not (is_seen or graph[name].needs or graph[name].carried)


def _is_read(evidence: Evidence, contract: Contract, name: str) -> NDArray[np.bool_]:
    """In which rows (T,) a stage differs with other numbers in place of those of `name` that are not finite."""
    graph: Graph = contract.system.graph
    readers = [stage for stage in graph if name in (*stage.needs, *stage.may_use)]
    is_read = np.zeros(len(evidence.frame), bool)
    for stage in readers:
        if stage.is_answer or stage.compute is None or stage.reach_of(contract) != (0, 0):
            return np.ones_like(is_read)
        is_read |= _differs(evidence, contract, name, stage.name)
    return is_read


def _differs(evidence: Evidence, contract: Contract, name: str, reader: str) -> NDArray[np.bool_]:
    rows, first = evidence.recorded[name], None
    differs = np.zeros(len(rows), bool)
    for number in _INSTEAD:
        changed = {**evidence.recorded, name: np.where(np.isfinite(rows), rows, np.float32(number))}
        try:
            with np.errstate(all="ignore"):
                found = ReplayedFrames(replace(evidence, recorded=changed), contract).computed(reader)
        except (UnusableInput, ValueError, ArithmeticError):
            found = None
        if found is None:
            return np.ones_like(differs)
        first = found if first is None else first
        differs |= ~((found == first) & np.isfinite(found)).all(axis=1)
    return differs


WINDOW = 4
"""Frames kept before the failing one: every lag looks back at most three."""
Observer = Callable[[int, Stages], None]


@dataclass(frozen=True, eq=False)
class Watch:
    """An early sign of trouble: the sizes of some channels of a stage, and their limit.

    sizes: a frame's stages -> a size for each channel from `start` on. is_floor: the limit is a minimum.
    """

    kind: str
    stage: str
    limit: float
    sizes: Callable[[Mapping[str, FloatArray]], FloatArray]
    start: int = 0
    is_floor: bool = False


@dataclass(frozen=True, eq=False)
class Watched:
    """A watched run: number of finite frames, the frames kept, and the alarm that ended it, if any.

    refusal: why the run could not continue, if it stopped while all numbers were finite. unread: by stage, the first frame
    in which it held a value that is not finite and that nothing reads.
    """

    finite_frames: int
    alarm: tuple[str, ...]
    frames: tuple[tuple[int, Stages], ...]
    refusal: UnusableInput | None = None
    unread: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_finite(self) -> bool:
        """Whether every requested frame was run and is finite."""
        return not self.alarm and self.refusal is None

    @property
    def failing_frame(self) -> int:
        """The frame of the alarm, or the frame that could not be run."""
        return self.finite_frames


def of_later_frames(graph: Graph, contract: object, mode: str) -> frozenset[str]:
    """In a clip-driven run: the stages that hold the clip's next row. They are judged one frame later."""
    if mode != "teacher":
        return frozenset()
    return frozenset(name for name in graph.handed_on if graph[name].reach_of(contract)[1] > 0)


def not_finite(stages: Mapping[str, FloatArray], graph: Graph, exempt: Iterable[str] = ()) -> tuple[str, ...]:
    """The stages that hold a NaN or an infinity, in loop order."""
    watched = (name for name in graph.names if name in stages and name not in exempt)
    return tuple(name for name in watched if not np.isfinite(stages[name]).all())


def watch_run(runner: Run, frames: Iterable[int], observers: Iterable[Observer] = ()) -> Watched:
    """Step the run until a stage is not finite, the run cannot continue, or all frames are done.

    Raises ModelFailed where the model loads and does not run.
    """
    graph: Graph = runner.contract.system.graph
    exempt = of_later_frames(graph, runner.contract, runner.mode)
    kept: deque[tuple[int, Stages]] = deque(maxlen=WINDOW)
    seen, count = tuple(observers), 0
    unread: dict[str, int] = {}
    with np.errstate(all="ignore"):
        for frame in frames:
            try:
                stages = runner.step()
            except ModelFailed:
                raise  # no run at all: nothing is known of its numbers
            except UnusableInput as refusal:
                return Watched(count, (), tuple(kept), refusal, unread)
            kept.append((frame, stages))
            alarm = not_finite(stages, graph, exempt)
            if alarm:
                passed_over = unread_stages(stages, runner.contract, runner.mode)
                unread |= {name: frame for name in passed_over if name not in unread}
                alarm = tuple(name for name in alarm if name not in passed_over)
            if alarm:
                return Watched(count, alarm, tuple(kept), unread=unread)
            for observe in seen:
                observe(frame, stages)
            count += 1
    return Watched(count, (), tuple(kept), unread=unread)
