"""Runs of a declared system from a clip: the whole clip in one batch, or several runs in lockstep, frame by frame.

Both evaluate the same stages. In a batch, a row of a stage is a frame of the clip. In lockstep, a row is a run, and a
stage that reads other frames gets the frames computed before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.conventions import Knob
from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.stage import Graph, NotKnown, Stage
from rigpact.contract.systems.system import SystemContract
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames, source_of
from rigpact.reference_runtime.recordings.trace_model import Trace, run_header

Part = TypeVar("Part")
Rows = Mapping[str, FloatArray]
"""Stages by name, (T, width) float32."""
Mode = Literal["teacher", "free"]


@dataclass(frozen=True, eq=False)
class ClipDrive:
    """A clip's rows of the input stages. They drive a run."""

    given: Rows

    @property
    def steps(self) -> int:
        """Number of frames of the clip."""
        return min(map(len, self.given.values()))

    def rows(self, stage: str) -> FloatArray | None:
        """The clip's rows of a stage, (T, width); None if it has none."""
        return self.given.get(stage)


def stages_from(contract: SystemContract, known: Rows, network: Any = None) -> ReplayedFrames:
    """Every stage of these frames, computed from the known stages on access: `stages_from(…)["packet"]`."""
    count = min(map(len, known.values()))
    return ReplayedFrames(Evidence(np.arange(count), contract.fps or 1.0, "teacher", known, network=network), contract)


def run_clip(contract: SystemContract, known: Rows, network: Any = None, count: int | None = None) -> Trace:
    """Every computable stage of the clip's first `count` frames, in one batch.

    known: the input stages, and stages that must not be computed: recorded answers replace a network.
    """
    drive = _checked(contract.system.graph, known)
    if count is not None and count > drive.steps:
        raise UnusableInput("--frames", str(count), f"at most {drive.steps}, the frames of the clip")
    frames = stages_from(contract, {name: rows[:count] for name, rows in known.items()}, network)
    return _trace(contract, "teacher", {name: frames.get(name) for name in contract.system.graph.names})


def free_run(
    contract: SystemContract, known: Rows, network: Any, count: int, frames: type[LiveFrames] | None = None
) -> Trace:
    """`count` frames of a system that feeds itself, from the clip's first frame; other inputs loop over the clip."""
    return run_lanes(contract, [known], network, count, "free", frames)[0]


def run_lanes(
    contract: SystemContract, clips: Sequence[Rows], network: Any, count: int, mode: Mode = "free",
    kind: type[LiveFrames] | None = None,
) -> list[Trace]:  # fmt: skip
    """One run per clip, all in lockstep: one call of the network per frame for all runs. kind: what computes the frames."""
    graph = contract.system.graph
    drives = [_checked(graph, known) for known in clips]
    _refuse_impossible(contract, drives, count, mode)
    frames = (kind or LiveFrames)(contract, drives, network, count, mode)
    frames.run(count)
    return [
        _trace(contract, mode, {name: frames.history(name, lane) for name in graph.names}) for lane in range(len(clips))
    ]


def _refuse_impossible(contract: SystemContract, drives: Sequence[ClipDrive], count: int, mode: Mode) -> None:
    system = contract.system
    if system.windowed:
        raise UnusableInput(system.name, "a system of windows", "a system of frames", "run the clip in one batch")
    if mode == "free" and not system.graph.feeds_itself:
        raise UnusableInput("--mode", "free", "teacher", f"{system.title} does not feed itself")
    shortest = min(drive.steps for drive in drives)
    if mode == "teacher" and count > shortest:
        raise UnusableInput("--frames", str(count), f"at most {shortest}, the frames of the clip")


def _checked(graph: Graph, known: Rows) -> ClipDrive:
    missing = [name for name in graph.given if name not in known and graph[name].start is None]
    if missing:
        raise UnusableInput("--clip", f"no {', '.join(missing)}", ", ".join(graph.given))
    lengths = {name: len(rows) for name, rows in known.items()}
    if len(set(lengths.values())) != 1 or not all(lengths.values()):
        raise UnusableInput("--clip", f"{lengths} rows", "as many rows of each vector, at least one")
    return ClipDrive(known)


def _trace(contract: SystemContract, mode: Mode, stages: Mapping[str, FloatArray | None]) -> Trace:
    known = {name: rows for name, rows in stages.items() if rows is not None}
    fps, frame = contract.fps or 1.0, np.arange(len(next(iter(known.values()))))
    return Trace(run_header(contract, fps, mode), frame, frame / fps, known)


class LiveFrames:
    """The stages of active runs: one row per run, all at the same frame.

    All frames so far are kept: (count, runs, width) by stage. Functions of stages receive this object as their frames: see
    `rigpact.contract.systems.stage.Frames`.
    """

    def __init__(
        self, contract: SystemContract, drives: Sequence[ClipDrive], network: Any, count: int, mode: Mode
    ) -> None:
        """Make room for `count` frames; nothing is computed yet."""
        self.contract, self.mode, self.fps = contract, mode, contract.fps or 1.0
        self.frame: NDArray[np.int64] = np.full(len(drives), -1)
        self.drives, self.count, self._network = drives, count, network
        self._graph: Graph = contract.system.graph
        self.kept: dict[str, FloatArray] = {}
        self._computed: set[str] = set()
        self._parts: dict[Any, Any] = {}

    def run(self, count: int) -> None:
        """Compute the next frames."""
        for _ in range(count):
            self.step()

    def step(self) -> None:
        """Compute every stage of the next frame, except stages with unknown inputs."""
        self.frame = self.frame + 1
        self._computed = set()
        for stage in self._graph:
            try:
                with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
                    rows = self._rows(stage)
            except NotKnown:
                continue
            if stage.name not in self.kept:
                self.kept[stage.name] = np.full((self.count, *rows.shape), np.nan, np.float32)
            self.kept[stage.name][self.frame[0]] = rows
            self._computed.add(stage.name)

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
        """The clips' rows of a stage at a frame, one per run. A free run loops its clip; a teacher run ends with it."""
        if any(drive.rows(stage) is None for drive in self.drives):
            return None
        ends = frame >= min(drive.steps for drive in self.drives) and self.mode != "free"
        return None if ends else np.stack([drive.given[stage][frame % drive.steps] for drive in self.drives])

    def history(self, stage: str, lane: int) -> FloatArray | None:
        """A stage of one run at every frame, (count, width); None if it was never known."""
        rows = self.kept.get(stage)
        return None if rows is None else rows[:, lane]

    def __getitem__(self, stage: str) -> FloatArray:
        """The stage at this frame, (runs, width)."""
        if stage not in self._computed:
            raise NotKnown(stage)
        rows: FloatArray = self.kept[stage][self.frame[0]]
        return rows

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
            return np.asarray(self.kept[stage][wanted]) if lag else self[stage]
        ahead = self._clip(stage, wanted) if lag > 0 else None
        if ahead is not None:
            return ahead
        width = self.contract.fields(stage).width
        unknown = np.full((len(self.frame), width), np.nan, np.float32)
        if wanted >= 0 or start == "unknown":
            return unknown
        return np.zeros_like(unknown) if start == "zeros" else self.at(stage, -int(self.frame[0]))

    @property
    def numbers(self) -> Any:
        """The contract's constants as the system reads them."""
        return self.contract.numbers

    @property
    def network(self) -> Any:
        """The network; `NotKnown` if there is none."""
        if self._network is None:
            raise NotKnown("network")
        return self._network

    @property
    def drive(self) -> ClipDrive:
        """The clip of a single run; `NotKnown` if there are several runs, because each has its own clip."""
        if len(self.drives) > 1:
            raise NotKnown("clip")
        return self.drives[0]

    def pick(self, knob: Knob) -> Any:
        """The effect of the value that the conventions choose for a knob."""
        return knob.effects[self.contract.conventions[knob.name]]

    def built(self, part: Callable[[Any], Part]) -> Part:
        """`part(contract)`, built once."""
        if part not in self._parts:
            self._parts[part] = part(self.contract)
        found: Part = self._parts[part]
        return found
