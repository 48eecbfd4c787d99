"""Watches every stage of every frame and never changes a number.

This module notices the first stage that is not finite and keeps the frames around it. rigpact.reports.nonfinite finds
which stage *produced* the value, and why.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from rigpact.contract.errors import ModelFailed, UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.stage import Graph
from rigpact.reference_runtime.files.runner import Runner, Stages
from rigpact.reference_runtime.files.unread import unread_stages

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


def watch_run(runner: Runner, frames: Iterable[int], observers: Iterable[Observer] = ()) -> Watched:
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
