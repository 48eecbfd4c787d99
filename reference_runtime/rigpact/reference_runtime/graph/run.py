"""Runs of a system: a clip in one batch, or several runs side by side, frame by frame.

Both evaluate the same stages. In a batch, a row of a stage is a frame of the clip. Side by side, a row is a run, and a stage that
reads other frames gets the frames computed before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract, FramesOfContract
from rigpact.contract.systems.stage import Graph, NotKnown, Stage
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames, source_of
from rigpact.reference_runtime.recordings.trace import Trace, run_header

Rows = Mapping[str, FloatArray]
"""Stages by name, (T, width) float32."""
Mode = Literal["teacher", "free", "playback"]
ROOM = 64
"""Frames for which a run makes room at first."""


class Drive(Protocol):
    """What a clip gives a run. given: rows of stages that are taken as they are, not computed; fps: None if it says none."""

    @property
    def given(self) -> Rows: ...

    @property
    def fps(self) -> float | None: ...

    @property
    def steps(self) -> int:
        """Number of frames."""
        ...

    def rows(self, stage: str) -> FloatArray | None:
        """The clip's rows of a stage, (N, width), N >= steps; None if it has none."""
        ...


@dataclass(frozen=True, eq=False)
class ClipDrive:
    """A clip's rows of the input stages. They drive a run."""

    given: Rows
    fps: float | None = None

    @property
    def steps(self) -> int:
        """Number of frames of the clip."""
        return min(map(len, self.given.values()))

    def rows(self, stage: str) -> FloatArray | None:
        """The clip's rows of a stage, (T, width); None if it has none."""
        return self.given.get(stage)


@dataclass(frozen=True, eq=False)
class Changes:
    """What is different in a run of an engine with a defect, or of a character in a world.

    parts: in place of `built(part)`, an object. stages: a stage's rows after it was computed -> its rows.
    """

    parts: Mapping[Any, Any] = field(default_factory=dict)
    stages: Mapping[str, Callable[[LiveFrames, FloatArray], FloatArray]] = field(default_factory=dict)


def stages_from(contract: Contract, known: Rows, network: Any = None) -> ReplayedFrames:
    """Every stage of these frames, computed from the known stages on access: `stages_from(…)["packet"]`."""
    count = min(map(len, known.values()))
    return ReplayedFrames(Evidence(np.arange(count), contract.fps or 1.0, "teacher", known, network=network), contract)


def run_clip(contract: Contract, known: Rows, network: Any = None, count: int | None = None) -> Trace:
    """Every computable stage of the clip's first `count` frames, in one batch.

    known: the input stages, and stages that must not be computed: recorded answers replace a network.
    """
    graph, lengths = contract.system.graph, {name: len(rows) for name, rows in known.items()}
    missing = [name for name in graph.given if name not in known and graph[name].start is None]
    if missing:
        raise UnusableInput("clip", f"no {', '.join(missing)}", ", ".join(graph.given))
    if len(set(lengths.values())) != 1 or not all(lengths.values()):
        raise UnusableInput("clip", f"{lengths} rows", "as many rows of each vector, at least one")
    steps = min(lengths.values())
    if count is not None and count > steps:
        raise UnusableInput("--frames", str(count), f"at most {steps}, the frames of the clip")
    frames = stages_from(contract, {name: rows[:count] for name, rows in known.items()}, network)
    return Trace(run_header(contract, frames.fps, "teacher"), frames.frame, frames.frame / frames.fps, batch(frames))


def batch(frames: ReplayedFrames) -> dict[str, FloatArray]:
    """Every computable stage of consecutive frames from the first on, in the order of the loop.

    A row that reads what the frame before left is not known until that frame is: such stages are computed again, each time with
    one more frame known, until nothing changes. Only rows that really use it cost a repetition.
    """
    graph: Graph = frames.contract.system.graph
    looped = sorted({name for stage in graph for name in stage.earlier} - frames.recorded.keys())
    before: dict[str, FloatArray] = {}
    while True:
        found = {name: rows for name in looped if (rows := frames.computed(name)) is not None}
        is_settled = all(rows.tobytes() == before.get(name, rows[:0]).tobytes() for name, rows in found.items())
        if is_settled or not any(np.isnan(rows).any() for rows in (*before.values(), *found.values())):
            break
        answers = {name: rows for name in graph.answers if (rows := frames.get(name)) is not None}  # asked for once
        frames, before = frames.with_recorded({**frames.recorded, **answers, **found}), found
    return {name: rows for name in graph.names if (rows := frames.get(name)) is not None}


class LiveFrames(FramesOfContract):
    """The stages of active runs: one row per run, all at the same frame.

    All frames so far are kept: (count, runs, width) by stage. Functions of stages receive this object as their frames: see
    `rigpact.contract.systems.stage.Frames`.
    """

    def __init__(
        self,
        contract: Contract,
        drives: Sequence[Drive],
        network: Any,
        count: int = ROOM,
        mode: Mode = "free",
        changes: Changes | None = None,
        keeps: int | None = None,
        only: Collection[str] | None = None,
    ) -> None:
        """Make room for `count` frames, and for more when they come; nothing is computed yet.

        keeps: the number of frames that are kept beside the first one, for a system that says how far its stages look back.
        only: the stages that are computed; None for all.
        """
        super().__init__(contract, network)
        self.mode = mode
        self.fps: float = drives[0].fps or contract.fps or 1.0
        self.frame: NDArray[np.int64] = np.full(len(drives), -1)
        self.drives, self.count, self._keeps = drives, keeps or max(count, 1), keeps
        self._graph: Graph = contract.system.graph
        self._stages = [stage for stage in self._graph if only is None or stage.name in only]
        self.kept: dict[str, FloatArray] = {}
        self._first: dict[str, FloatArray] = {}
        self._computed: set[str] = set()
        changes = changes or Changes()
        self._parts.update(changes.parts)
        self._changed = changes.stages

    def run(self, count: int) -> None:
        """Compute the next frames."""
        for _ in range(count):
            self.step()

    def record(self, frames: Iterable[int]) -> dict[str, FloatArray]:
        """Compute the next frames and return every stage that they have, (T, runs, width)."""
        rows: list[dict[str, FloatArray]] = []
        for _ in frames:
            self.step()
            rows.append(self.stages())
        known = [name for name in self._graph.names if rows and all(name in row for row in rows)]
        return {name: np.stack([row[name] for row in rows]) for name in known}

    def stages(self) -> dict[str, FloatArray]:
        """Every known stage of this frame, (runs, width), in the order of the loop; the caller may keep them."""
        return {name: rows.copy() for name, rows in self.in_place().items()}

    def in_place(self) -> dict[str, FloatArray]:
        """The same in memory that a later frame may take."""
        return {name: self._of_frame(name) for name in self._graph.names if name in self._computed}

    @property
    def is_ring(self) -> bool:
        """Whether the memory stays where it is: the next frame takes the place of the oldest."""
        return self._keeps is not None

    def step(self) -> None:
        """Compute every stage of the next frame, except stages with unknown inputs."""
        self.frame = self.frame + 1
        self.make_room(int(self.frame[0]) + 1)
        self._computed = set()
        for stage in self._stages:
            try:
                with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
                    rows = self._changed.get(stage.name, as_it_is)(self, self._rows(stage))
            except NotKnown:
                if stage.name in self.kept:
                    self._of_frame(stage.name)[...] = np.nan
                continue
            if stage.name not in self.kept:
                self.kept[stage.name] = np.full((self.count, *rows.shape), np.nan, np.float32)
            self._of_frame(stage.name)[...] = rows
            self._computed.add(stage.name)
        if self.frame[0] == 0:
            self._first = self.stages()

    def make_room(self, frames: int) -> None:
        """Memory for so many frames, all that are kept included."""
        if self._keeps is None and frames > self.count:
            self.count = max(frames, 2 * self.count)
            for name, rows in self.kept.items():
                self.kept[name] = np.full((self.count, *rows.shape[1:]), np.nan, np.float32)
                self.kept[name][: len(rows)] = rows

    def _of_frame(self, stage: str, frame: int | None = None) -> FloatArray:
        number = int(self.frame[0]) if frame is None else frame
        rows: FloatArray = self.kept[stage][number % self.count]
        if number == 0 < self.frame[0]:
            rows = self._first[stage] if stage in self._first else np.full_like(rows, np.nan)
        return rows

    def _rows(self, stage: Stage) -> FloatArray:
        clip = self._clip(stage.name, self.frame[0])
        if stage.compute is not None:
            return stage.compute(self) if clip is None else clip
        if clip is None and stage.start is not None:
            clip = np.broadcast_to(stage.start(self.contract), (len(self.frame), stage.fields(self.contract).width))
        if clip is None:
            raise NotKnown(stage.name)
        if self.mode != "free" or stage.carried is None or self.frame[0] == 0:
            return clip
        return stage.take_over(self.contract, clip, self.at(source_of(stage, self), -1))

    def _clip(self, stage: str, frame: int) -> FloatArray | None:
        """The clips' rows of a given stage at a frame, one per run. A teacher run ends with its clip, every other loops it."""
        if any(stage not in drive.given for drive in self.drives):
            return None
        ends = frame >= min(drive.steps for drive in self.drives) and self.mode == "teacher"
        return None if ends else np.stack([drive.given[stage][frame % drive.steps] for drive in self.drives])

    has_drive = True

    def last(self, stage: str) -> int:
        """The last row that every clip has of a stage; `NotKnown` if one has none."""
        return min(map(len, self._clip_rows(stage))) - 1

    def _clip_rows(self, stage: str) -> list[FloatArray]:
        rows = [each for drive in self.drives if (each := drive.rows(stage)) is not None]
        if len(rows) < len(self.drives):
            raise NotKnown(stage)
        return rows

    def driven(self, stage: str) -> FloatArray:
        """The clips' rows of a stage at this frame, (runs, width)."""
        steps = min(drive.steps for drive in self.drives)
        if self.mode == "teacher" and self.frame[0] >= steps:
            raise NotKnown(stage)
        clips = zip(self._clip_rows(stage), self.drives, strict=True)
        return np.stack([rows[self.frame[0] % drive.steps] for rows, drive in clips])

    def of_clip(self, stage: str, choose: Callable[[FloatArray, NDArray[np.int64]], FloatArray]) -> FloatArray:
        """`choose(rows, frame)` of each clip's rows of a stage, (runs, width)."""
        return np.concatenate([choose(rows, self.frame[:1]) for rows in self._clip_rows(stage)])

    def history(self, stage: str, lane: int) -> FloatArray | None:
        """A stage of one run at every frame, (count, width); None if it was never known."""
        rows = self.kept.get(stage)
        return None if rows is None else rows[:, lane]

    def __getitem__(self, stage: str) -> FloatArray:
        """The stage at this frame, (runs, width)."""
        if stage not in self._computed:
            raise NotKnown(stage)
        return self._of_frame(stage)

    def get(self, stage: str) -> FloatArray | None:
        """The same; None if it is not known."""
        return self[stage] if stage in self._computed else None

    def at(self, stage: str, lag: int, start: str = "unknown") -> FloatArray:
        """The stage `lag` frames later, (runs, width); NaN if it is not known.

        start: the values before frame 0: `unknown` (NaN), `first` (frame 0 again) or `zeros`. Later frames come from
        the clip.
        """
        wanted = int(self.frame[0]) + lag
        if wanted >= 0 and lag <= 0 and stage in self.kept:
            return self._of_frame(stage, wanted) if lag else self[stage]
        ahead = self._clip(stage, wanted) if lag > 0 else None
        if ahead is not None:
            return ahead
        width = self.contract.fields(stage).width
        unknown = np.full((len(self.frame), width), np.nan, np.float32)
        if wanted >= 0 or start == "unknown":
            return unknown
        return np.zeros_like(unknown) if start == "zeros" else self.at(stage, -int(self.frame[0]))

    def rows_at(self, stage: str, wanted: NDArray[np.int64]) -> FloatArray:
        """A stage at frames up to this one, (runs, …) to (runs, …, width): those that are kept, and the first."""
        if stage not in self._computed or (wanted > self.frame[0]).any():
            raise NotKnown(stage)
        if self._keeps is not None and ((wanted > 0) & (wanted <= self.frame[0] - self.count)).any():
            raise IndexError(f"a frame of {stage} that is kept no longer: its reader looks back further than it says")
        runs = np.arange(len(self.frame)).reshape(-1, *(1,) * (wanted.ndim - 1))
        rows = np.asarray(self.kept[stage][wanted % self.count, runs])
        if self.frame[0] and not wanted.all():
            rows = np.where((wanted == 0)[..., None], self._first[stage][runs], rows)
        return rows

    def left_before(self, stage: str) -> FloatArray:
        """A stage one frame before, (runs, width); NaN before the first frame."""
        return self.at(stage, -1)

    @property
    def drive(self) -> Drive:
        """The clip of a single run; `NotKnown` if there are several runs, because each has its own clip."""
        if len(self.drives) > 1:
            raise NotKnown("clip")
        return self.drives[0]


def as_it_is(_frames: LiveFrames, rows: FloatArray) -> FloatArray:
    """The rows of a stage that no change is known for."""
    return rows
