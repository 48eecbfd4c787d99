"""The runner of every system: a clip in one batch, or frame after frame, one run or several side by side; and its recording."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.graph.run import LiveFrames
from rigpact.reference_runtime.native.library import Engine, EngineUse
from rigpact.reference_runtime.network import InputAlignment
from rigpact.reference_runtime.recordings.trace import Trace, run_header

Stages = dict[str, FloatArray]


@dataclass(frozen=True)
class RunOptions:
    """Options of a run.

    frames: number of frames that will be requested; None: as many as the clip has. on_floor: contacts are measured over
    a floor. faults: injected defects. engine: who computes the stages; by default C++ where it is there.
    """

    mode: str = "teacher"
    frames: int | None = None
    on_floor: bool = False
    faults: tuple[Any, ...] = ()
    engine: Engine = "auto"


def run_frames(runner: Run, frames: Iterable[int], clip_name: str | None, mode: str) -> Trace:
    """Run through `frames` and keep every stage; UnusableInput where there is none."""
    stages = runner.record(frames)
    count = np.arange(len(next(iter(stages.values()))) if stages else 0, dtype=np.int64)
    if not count.size:
        raise UnusableInput("frames", "none", "at least one")
    contract = runner.contract
    header = run_header(contract, runner.fps, mode, clip_name, runner.network)
    return Trace(header, count, count / runner.fps, stages)


@dataclass(frozen=True, eq=False)
class DeclaredClip:
    """A recording that drives a run: its rows by stage, (T, width), and its name."""

    path: Path
    fps: float
    stages: Mapping[str, FloatArray]

    @property
    def steps(self) -> int:
        """Number of frames."""
        return min(map(len, self.stages.values()))


@dataclass(frozen=True, eq=False)
class RecordedAnswers:
    """Recorded answers of the network, by stage, in place of a model."""

    name: str
    outputs: Mapping[str, FloatArray]


class Batch:
    """A single run whose frames are computed together, when they are asked for."""

    def __init__(self, compute: Callable[[int], Stages], count: int, place: str, *, is_one: bool) -> None:
        """compute: the first frames, so many. count: those that there are; place: what ends there. is_one: always all."""
        self._compute, self._count, self._place = compute, count, place
        self._frame, self._known, self._least = 0, 0, count if is_one else 1
        self._stages: Stages = {}

    def step(self) -> Stages:
        """The stages of the next frame, (width,); UnusableInput after the last one."""
        return {name: rows[0] for name, rows in self.record(range(1)).items()}

    def record(self, frames: Iterable[int]) -> Stages:
        """Every stage of the next frames, (T, width)."""
        part = slice(self._frame, self._frame + sum(1 for _ in frames))
        if part.stop > self._count:
            raise UnusableInput(self._place, f"{self._count} frames", f"one for frame {self._count}")
        if part.stop > self._known:
            self._known = min(max(part.stop, 2 * self._known, self._least), self._count)
            self._stages = self._compute(self._known)
        self._frame = part.stop
        return {name: rows[part].copy() for name, rows in self._stages.items()}


class Crowd:
    """Runs side by side: every stage has an axis of runs before its width; a run that is alone has none."""

    def __init__(self, frames: LiveFrames, stages: tuple[str, ...] | None = None, *, is_one: bool = False) -> None:
        """frames: what computes them. stages: those that are given; None for all. is_one: whether it is one run."""
        self._frames, self._names, self._runs = frames, stages, 0 if is_one else slice(None)

    def step(self) -> Stages:
        """The stages of the next frame, (runs, width)."""
        return {name: rows[self._runs].copy() for name, rows in self.passing().items()}

    def passing(self) -> Stages:
        """The same in memory that the frame after it may take: for one who keeps few of them."""
        self._frames.step()
        return self._chosen(self._frames.in_place())

    def record(self, frames: Iterable[int]) -> Stages:
        """Every stage of the next frames, (T, runs, width)."""
        return {name: rows[:, self._runs] for name, rows in self._chosen(self._frames.record(frames)).items()}

    def _chosen(self, stages: Stages) -> Stages:
        return stages if self._names is None else {name: stages[name] for name in self._names}


@dataclass(eq=False)
class Run:
    """One run of any system, frame after frame.

    contract: completed with facts that only the network or the clip has. network: None in a run without one. frame_limit: how
    many frames there are; None for a run without end. engine: who computes the stages. alignments: inputs whose width differs
    from the network's.
    """

    contract: Contract
    mode: str
    fps: float
    rows: Batch | Crowd
    network: Any = None
    frame_limit: int | None = None
    engine: EngineUse = field(default_factory=EngineUse)
    alignments: set[InputAlignment] = field(default_factory=set)

    def step(self) -> Stages:
        """Run one frame and return its stages in loop order, (width,) each. The caller may keep them."""
        with np.errstate(all="ignore"):
            return self.rows.step()

    def record(self, frames: int | Iterable[int]) -> Stages:
        """Run the frames, or so many, and return every stage, (T, width): the same bits as repeated calls of `step`."""
        with np.errstate(all="ignore"):
            return self.rows.record(range(frames) if isinstance(frames, int) else frames)


def refuse_mode(contract: Contract, options: RunOptions) -> None:
    """UnusableInput if a declared system cannot make the run."""
    system = contract.system
    if options.engine == "native" and options.mode != "free":
        raise UnusableInput("--engine native", "another run than a free run", "--mode free, or --engine auto")
    if options.mode == "free" and not system.graph.feeds_itself:
        raise UnusableInput("a free run", f"{system.title}, which does not feed itself", "a run that a clip drives")
    if options.mode == "free" and system.windowed:
        raise UnusableInput("a free run", f"{system.title}, a system of windows", "a system of frames")
    if options.mode == "playback":
        raise UnusableInput("--mode playback", f"{system.title}, which plays nothing back", "teacher or free")
    for option, asked in (("--floor-contacts", options.on_floor), ("--perturb", options.faults)):
        if asked:
            raise UnusableInput(option, f"a run of {system.title}", "a system that has them")


def known_rows(contract: Contract, network: Any, clip: DeclaredClip) -> dict[str, FloatArray]:
    """The stages that a run does not compute: input stages, and recorded answers if they replace a model."""
    graph, place = contract.system.graph, str(clip.path)
    given = {name: clip.stages[name] for name in graph.given if name in clip.stages}
    missing = [name for name in graph.given if name not in given and graph[name].start is None]
    if missing or not given:
        raise UnusableInput(place, f"no {', '.join(missing or graph.given)}", ", ".join(graph.given))
    if network is not None and not isinstance(network, RecordedAnswers):
        return given
    answers = clip.stages if network is None else network.outputs
    missing = [name for name in graph.answers if name not in answers]
    if missing:
        raise UnusableInput(place, f"no {', '.join(missing)}", "the network's answers", "--onnx or --replay gives them")
    known = given | {name: answers[name] for name in graph.answers}
    frames = min(map(len, known.values()))
    return {name: rows[:frames] for name, rows in known.items()}
