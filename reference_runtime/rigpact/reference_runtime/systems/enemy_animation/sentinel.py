"""A watch on every stage of every frame that never touches a number.

Here belongs noticing that a stage is not finite any more, and keeping the frames around it. Which stage *produced* the
value, and why, is for rigpact.reports.nonfinite.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.systems.enemy_animation.drive import Stages
from rigpact.reference_runtime.systems.enemy_animation.loop import Loop
from rigpact.reference_runtime.systems.enemy_animation.stages import STAGE_NAMES

WINDOW = 4
"""Frames kept before the failing one: the pose history and every lag look back at most three."""
Observer = Callable[[int, Stages], None]


@dataclass
class Sentinel:
    """Stages that are not finite, and the last frames. `exempt` are stages that hold another frame's values."""

    exempt: frozenset[str] = frozenset()
    frames: deque[tuple[int, Stages]] = field(default_factory=lambda: deque(maxlen=WINDOW))

    def watch(self, frame: int, stages: Stages) -> tuple[str, ...]:
        """Keep a frame and return its stages that are not finite, in loop order."""
        self.frames.append((frame, stages))
        return not_finite(stages, self.exempt)


def not_finite(stages: Mapping[str, FloatArray], exempt: Iterable[str] = ()) -> tuple[str, ...]:
    """The stages that hold a NaN or an infinity, in loop order."""
    watched = (name for name in STAGE_NAMES if name in stages and name not in exempt)
    return tuple(name for name in watched if not np.isfinite(stages[name]).all())


@dataclass(frozen=True, eq=False)
class Watched:
    """A watched run: how many frames were finite, the frames kept, and the alarm that ended it, if any.

    refusal: why the loop could not go on, where it stopped without a number being wrong.
    """

    finite_frames: int
    alarm: tuple[str, ...]
    frames: tuple[tuple[int, Stages], ...]
    refusal: UnusableInput | None = None

    @property
    def is_finite(self) -> bool:
        """Whether every frame asked for was run and stayed finite."""
        return not self.alarm and self.refusal is None

    @property
    def failing_frame(self) -> int:
        """The frame of the alarm, or the one that could not be run."""
        return self.finite_frames


EXEMPT: Mapping[str, frozenset[str]] = {"teacher": frozenset({"x_raw_next"}), "free": frozenset()}
"""In a teacher-driven run x_raw_next is the clip's next row: it is judged there, one frame later."""


def watch_run(loop: Loop, frames: Iterable[int], observers: Iterable[Observer] = ()) -> Watched:
    """Step the loop until a stage is not finite, it cannot go on, or the frames are done."""
    sentinel, count = Sentinel(EXEMPT[loop.mode]), 0
    seen = tuple(observers)
    with np.errstate(all="ignore"):
        for frame in frames:
            try:
                stages = loop.step()
            except UnusableInput as refusal:
                return Watched(count, (), tuple(sentinel.frames), refusal)
            alarm = sentinel.watch(frame, stages)
            if alarm:
                return Watched(count, alarm, tuple(sentinel.frames))
            for observe in seen:
                observe(frame, stages)
            count += 1
    return Watched(count, (), tuple(sentinel.frames))
