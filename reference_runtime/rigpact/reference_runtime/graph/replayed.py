"""Replay of a recording: each stage is recomputed from the recording's *own* values of the stages before it.

If a stage differs from its replay, the defect is in this stage. A stage that only inherits an error agrees with its
replay. A stage that was not recorded is computed too: it is folded into the next recorded stage. A stage that cannot
be computed is reported as such. A clip in one batch is a special case: a recording of the input stages, with all other
stages folded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract, FramesOfContract
from rigpact.contract.systems.stage import Graph, NotKnown, Stage
from rigpact.reference_runtime.graph.work import ANSWER, Work
from rigpact.reference_runtime.recordings.precision import Precision

Keep = Callable[[str, Any, Callable[[], FloatArray | None], str], FloatArray | None]
"""Stage, conventions, function, what it gives -> the stage's rows, their bound or draws of them, from the cache or computed."""
FedBack = dict[str, tuple[FloatArray, FloatArray]]
"""Of fed-back stages that nothing records: their rows of every frame, (T, width), and how far rounding moves them."""

WRITTEN_PATTERNS = 16
"""Patterns of signs in which recorded numbers are moved by what writing them may have lost."""
BLOCK = 4096
"""Frames that are judged at once: what is derived on the way takes kilobytes for each of them."""
MAX_FRAMES = 1 << 24
"""Frames of a run: three days at 60 a second. A larger number is that of a counter that did not start with the run."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """The data of a replay: recorded stages (T, width) at `frame` (T,), and the sources of their inputs.

    `frame` counts from the start of the run; `mode` is `teacher` or `free`. `drive` is a function from a contract to
    the clip's rows. `precision` is how finely the numbers of a recording are written, where they lost
    digits or bits. `says_mode` is False where the file does not say who drove the run. `work` counts what its replays compute.
    `off` (T, width) is how far numbers may be off that were worked back, inf where a limit hid them. `fed_back` gives what a
    free run feeds back under a contract, where nothing records it, up to a frame; it counts what that computes.
    """

    frame: NDArray[np.int64]
    fps: float
    mode: str
    recorded: Mapping[str, FloatArray]
    drive: Callable[[Any], Any] | None = None
    network: Any = None
    precision: Precision | None = None
    says_mode: bool = True
    work: Work = field(default_factory=Work)
    off: Mapping[str, FloatArray] = field(default_factory=dict)
    fed_back: Callable[[Contract, Work, int], FedBack] | None = None

    @property
    def end(self) -> int:
        """Number of frames from the start of the run to the last recorded one."""
        return int(self.frame[-1]) + 1

    @cached_property
    def moved_by_writing(self) -> tuple[Evidence, ...]:
        """The evidence with every recorded number moved by what writing it may have lost: one for each pattern of signs."""
        if self.precision is None:
            return ()
        rng = np.random.default_rng(0)
        error = {name: self.precision.error(rows) for name, rows in self.recorded.items()}
        return tuple(
            replace(
                self,
                precision=None,
                recorded={
                    name: (rows + sign_pattern(pattern, rows.shape, rng) * error[name]).astype(np.float32)
                    for name, rows in self.recorded.items()
                },
            )
            for pattern in range(WRITTEN_PATTERNS)
        )

    def at_rows(self, rows: Sequence[int] | slice) -> Evidence:
        """The evidence of some recorded frames only."""
        chosen = rows if isinstance(rows, slice) else list(rows)
        recorded = {name: values[chosen] for name, values in self.recorded.items()}
        off = {name: values[chosen] for name, values in self.off.items()}
        return replace(self, frame=self.frame[chosen], recorded=recorded, off=off)


def source_of(stage: Stage, frames: Any) -> str:
    """The stage of the frame before that a fed-back stage takes over, under the conventions."""
    return str(stage.carried if stage.source_knob is None else frames.pick(stage.source_knob))


class ReplayedFrames(FramesOfContract):
    """Every stage recomputed under one contract.

    Values are (T, width) arrays; unknown rows are NaN. Functions of stages receive this object as their frames: see
    `rigpact.contract.systems.stage.Frames`.
    """

    def __init__(
        self, evidence: Evidence, contract: Contract, *, chained: bool = False, keep: Keep | None = None
    ) -> None:
        """`chained`: compute from computed stages instead of recorded stages. The result is the correct run."""
        super().__init__(contract, evidence.network)
        self.evidence, self._chained, self._keep = evidence, chained, keep
        self.frame, self.fps, self.mode = evidence.frame, evidence.fps, evidence.mode
        self.recorded, self.end = evidence.recorded, evidence.end
        self._graph: Graph = contract.system.graph
        self._computed: dict[str, FloatArray | None] = {}
        self._moved: list[ReplayedFrames] = []

    def moved_by_writing(self) -> Sequence[ReplayedFrames]:
        """The same frames with every recorded number moved by what writing it may have lost, in several patterns of signs."""
        if not self._moved:
            self._moved = [self.with_recorded(moved.recorded) for moved in self.evidence.moved_by_writing]
        return self._moved

    def with_recorded(self, recorded: Mapping[str, FloatArray]) -> ReplayedFrames:
        """The same frames with other recorded numbers, of which every bit is kept."""
        frames = ReplayedFrames(replace(self.evidence, recorded=recorded, precision=None), self.contract)
        frames._parts = self._parts  # they depend on the contract alone, like the clip's rows
        if self.has_drive:
            frames.drive = self.drive
        return frames

    def blocks(self) -> Iterator[tuple[ReplayedFrames, slice]]:
        """The frames in parts, each among the frames that its stages look at, and which of those rows are the part.

        Stages that were not recorded are computed anew in each part, so what they look back and ahead adds up.
        """
        reaches = [stage.reach_of(self.contract) for stage in self._graph.stages]
        count, around = len(self.frame), 1 + sum(back + ahead for back, ahead in reaches)
        if count <= BLOCK or around > BLOCK or self.contract.system.windowed:
            yield self, slice(None)
            return
        for start in range(0, count, BLOCK):
            first = max(0, start - around)
            evidence = self.evidence.at_rows(slice(first, start + BLOCK + around))
            part = ReplayedFrames(evidence, self.contract, chained=self._chained)
            part._parts = self._parts
            if self.has_drive:
                part.drive = self.drive
            yield part, slice(start - first, start - first + BLOCK)

    def computed(self, stage: str) -> FloatArray | None:
        """The stage recomputed from the stages before it; None if one of its inputs is missing."""
        if stage not in self._computed:
            self._computed[stage] = None  # what a stage needs of itself in the frame before must be recorded
            self._computed[stage] = (
                self._compute(stage)
                if self._keep is None
                else self._keep(stage, self.contract.conventions, lambda: self._compute(stage), "rows")
            )
        return self._computed[stage]

    def kept(self, stage: str, derive: Callable[[], FloatArray], what: str) -> FloatArray:
        """A bound or draws of a folded stage, from the cache or derived: they depend on the knobs of its path, like its rows."""
        kept = derive() if self._keep is None else self._keep(stage, self.contract.conventions, derive, what)
        return derive() if kept is None else kept

    def _compute(self, stage: str) -> FloatArray | None:
        compute = self._graph[stage].compute
        try:
            with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
                rows = self._given(stage) if compute is None else compute(self)
        except NotKnown:
            return None
        width = self.contract.stage_widths[stage] or rows.shape[1]
        if rows.shape[1] != width:  # a reading that does not fit in its place
            raise UnusableInput(f"stage {stage}", f"{rows.shape[1]} numbers under these conventions", str(width))
        self.evidence.work.add(rows, ANSWER if self._graph[stage].is_answer else 1)
        return rows

    def _given(self, name: str) -> FloatArray:
        """An input stage: the clip's rows; in a free run, with the values that the previous frame feeds back."""
        stage = self._graph[name]
        if self.mode != "free" or stage.carried is None:
            return self.driven(name)
        source = source_of(stage, self)
        if source not in self.recorded and name in self.fed_back:
            return self.fed_back[name][0][self.frame]
        before = self.shifted(self[source], -1)
        seed = self._seed(stage, before)
        return np.where(self.frame[:, None] > 0, stage.take_over(self.contract, seed, before), seed)

    @cached_property
    def fed_back(self) -> FedBack:
        """What a run from the start feeds back, and how far rounding moves it, where nothing records it."""
        given = self.evidence.fed_back
        return {} if given is None else given(self.contract, self.evidence.work, self.end)

    def _seed(self, stage: Stage, like: FloatArray) -> FloatArray:
        """Rows of a fed-back stage that do not come from the frame before: the clip's, else its first row, else NaN."""
        if self.has_drive and self.drive.rows(stage.name) is not None:
            return self.driven(stage.name)
        return (
            np.full_like(like, np.nan)
            if stage.start is None
            else np.broadcast_to(stage.start(self.contract), like.shape)
        )

    def get(self, stage: str) -> FloatArray | None:
        """The values that a later stage reads: recorded, else computed, else None."""
        recorded = self.recorded.get(stage)
        if recorded is not None and not (self._chained and self.computed(stage) is not None):
            return recorded
        return self.computed(stage)

    def __getitem__(self, stage: str) -> FloatArray:
        """The same; `NotKnown` instead of None."""
        rows = self.get(stage)
        if rows is None:
            raise NotKnown(stage)
        return rows

    @property
    def network(self) -> Any:
        """The network, as the conventions have it; `NotKnown` if there is none."""
        under = getattr(super().network, "under", None)
        return super().network if under is None else under(self.contract.conventions)

    @property
    def has_drive(self) -> bool:
        """Whether the clip that drove the run is available."""
        return self.evidence.drive is not None

    @cached_property
    def drive(self) -> Any:
        """The clip's rows under the contract, one attribute per stage; `NotKnown` without a clip."""
        if self.evidence.drive is None:
            raise NotKnown("clip")
        return self.evidence.drive(self.contract)

    def driven(self, stage: str) -> FloatArray:
        """Rows of the clip at these frames, NaN beyond its end; a free run loops over the clip."""
        rows: FloatArray | None = self.drive.rows(stage)
        if rows is None:
            raise NotKnown(stage)
        frames = self.frame % self.drive.steps if self.mode == "free" else self.frame
        found = np.full((len(frames), rows.shape[1]), np.nan, np.float32)
        inside = frames < len(rows)
        found[inside] = rows[frames[inside]]
        return found

    @cached_property
    def follows(self) -> NDArray[np.bool_]:
        """For each recorded frame: whether the previous recorded frame is the frame directly before it."""
        return np.concatenate(([False], np.diff(self.frame) == 1))

    @property
    def is_whole(self) -> bool:
        """Whether every frame from the start of the run was recorded."""
        return bool(self.frame[0] == 0 and self.follows[1:].all())

    def shifted(self, values: FloatArray, lag: int) -> FloatArray:
        """Rows of recorded frames, (T, width), `lag` frames later; NaN where that frame was not recorded."""
        found = np.full(values.shape, np.nan, np.float32)
        known, rows = self.looked_up(values, self.frame + lag)
        found[known] = rows
        return found

    def looked_up(self, values: FloatArray, wanted: NDArray[np.int64]) -> tuple[NDArray[np.bool_], FloatArray]:
        """Which of the frames were recorded, and the rows of recorded frames, (T, width), at those."""
        rows = np.minimum(np.searchsorted(self.frame, wanted), len(self.frame) - 1)
        return (known := self.frame[rows] == wanted), values[rows[known]]

    def left_before(self, stage: str) -> FloatArray:
        """What was recorded of a stage one frame before, (T, width); NaN where that is not known. Nothing is computed."""
        return one_frame_later(self, stage)

    def of_clip(self, stage: str, choose: Callable[[FloatArray, NDArray[np.int64]], FloatArray]) -> FloatArray:
        """`choose(rows, frame)` of the clip's rows of a stage, (N, width), and of the frames, (T,)."""
        rows: FloatArray | None = self.drive.rows(stage)
        if rows is None:
            raise NotKnown(stage)
        return choose(rows, self.frame)

    def rows_at(self, stage: str, wanted: NDArray[np.int64]) -> FloatArray:
        """A stage at frames of the run, (N, …) to (N, …, width); NaN where nothing is known of it.

        Each row is the recorded one, else the row that the previous frame feeds back, else the teacher clip's row. Frames
        are looked up: a frame's number is not a size.
        """
        if wanted.ndim == 1:
            return self._rows_of(stage, wanted)
        frames, place = np.unique(wanted, return_inverse=True)
        rows: FloatArray = self._rows_of(stage, frames)[place.reshape(wanted.shape)]
        return rows

    def _moved_rows(self, stage: str, lag: int) -> FloatArray:
        """A stage at the frames `lag` later; only its own rows tell of frames up to the last, where none is missing."""
        if self._clip_reaches or lag > 0 or not self.follows[1:].all():
            return self.rows_at(stage, self.frame + lag)
        self._refuse_endless()
        own, found = self[stage], np.full((len(self.frame), self[stage].shape[1]), np.nan, np.float32)
        found[-lag:] = own[: max(0, len(own) + lag)]
        return found

    def _rows_of(self, stage: str, wanted: NDArray[np.int64]) -> FloatArray:
        self._refuse_endless()
        own = self[stage]
        carried = self._graph[stage].carried
        following = None if carried is None else self.recorded.get(carried)
        found = np.full((len(wanted), own.shape[1]), np.nan, np.float32)
        clip = self.drive.rows(stage) if self._clip_reaches else None
        if clip is not None:
            inside = (wanted >= 0) & (wanted < len(clip))
            found[inside] = clip[wanted[inside]]
        if following is not None:
            known, before = self.looked_up(following, wanted - 1)
            found[known] = self._graph[stage].take_over(self.contract, found[known], before)
        known, recorded = self.looked_up(own, wanted)
        found[known] = recorded
        return found

    def _refuse_endless(self) -> None:
        """UnusableInput for frame numbers that do not count from the start of the run."""
        for number in (self.frame[0], self.frame[-1]):
            if not 0 <= number < MAX_FRAMES:
                hint = "number the frames from the start of the run"
                raise UnusableInput("the recording", f"the frame number {number}", f"0 to {MAX_FRAMES - 1}", hint)

    def last(self, stage: str) -> int:
        """The last frame of which anything may be known: the one after the last recorded frame, or the teacher clip's last."""
        clip = self.drive.rows(stage) if self._clip_reaches else None
        last = max(self.end, 0 if clip is None else len(clip) - 1)
        return last if np.isfinite(self.rows_at(stage, np.array([last]))).all() else last - 1

    @property
    def _clip_reaches(self) -> bool:
        return self.mode == "teacher" and self.has_drive

    def at(self, stage: str, lag: int, start: str = "unknown") -> FloatArray:
        """A stage `lag` frames later, (T, width); NaN if it is not known.

        start: the values before frame 0: `unknown` (NaN), `first` (frame 0 again) or `zeros`.
        """
        found = self._moved_rows(stage, lag)
        if start != "unknown" and self.frame[0] + lag < 0:
            found[self.frame + lag < 0] = 0.0
            if start == "first":
                rows = self[stage] if self.frame[0] == 0 else self.rows_at(stage, np.zeros(1, np.int64))
                found[self.frame + lag < 0] = rows[0]
        return found


def one_frame_later(frames: Any, stage: str) -> FloatArray:
    """What frames recorded of a stage in the frame directly before each, (T, width); NaN where that is not known."""
    rows, frame = frames.recorded.get(stage), frames.frame
    width = frames.contract.fields(stage).width if rows is None else rows.shape[1]
    found = np.full((len(frame), width), np.nan, np.float32)
    if rows is not None:
        follows = np.flatnonzero(frame[1:] - frame[:-1] == 1) + 1
        found[follows] = rows[follows - 1]
    return found


def sign_pattern(pattern: int, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray | float:
    """The signs of one pattern: all up, all down, or drawn."""
    return (1.0, -1.0)[pattern] if pattern < 2 else rng.choice((-1.0, 1.0), shape)


def path_of(graph: Graph, stage: str, recorded: Mapping[str, Any]) -> frozenset[str]:
    """The stage, and the unrecorded stages that are folded into it."""
    unrecorded = [parent for parent in graph[stage].needs if parent not in recorded]
    return frozenset((stage,)).union(*(path_of(graph, parent, recorded) for parent in unrecorded))


def path_over_frames(graph: Graph, stage: str, recorded: Mapping[str, Any]) -> frozenset[str]:
    """The path of a stage, with the unrecorded stages of the frame before that a fed-back stage of it may take over."""
    found: set[str] = set()
    waiting = [stage]
    while waiting:
        for name in path_of(graph, waiting.pop(), recorded) - found:
            found.add(name)
            knob = graph[name].source_knob
            sources = (graph[name].carried,) if knob is None else knob.values
            waiting += [str(source) for source in sources if source is not None and source not in recorded]
    return frozenset(found)


def check_widths(contract: Contract, stages: Mapping[str, FloatArray], place: object) -> None:
    """UnusableInput for a stage of another width: it was recorded under another contract and cannot be judged."""
    for name, rows in stages.items():
        expected = contract.fields(name).width or None
        if expected not in (None, rows.shape[1]):
            raise UnusableInput(
                f"{place}#/stages/{name}", f"{rows.shape[1]} numbers", f"{expected}", "is it the right --contract?"
            )
