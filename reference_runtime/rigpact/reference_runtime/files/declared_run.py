"""Runs of a system that is declared by its stages: a clip in one batch, or a free run frame by frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.system import SystemContract
from rigpact.reference_runtime.files.runner import RunOptions, Stages
from rigpact.reference_runtime.graph.run import ClipDrive, LiveFrames, free_run, run_clip
from rigpact.reference_runtime.native.drawn import engine_for
from rigpact.reference_runtime.native.library import Engine, EngineUse
from rigpact.reference_runtime.native.plan import NativeFrames
from rigpact.reference_runtime.network import InputAlignment


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


class DeclaredRun:
    """A run of a declared system; a `Runner`. All stages are computed at the first request."""

    def __init__(self, contract: SystemContract, network: Any, clip: DeclaredClip, options: RunOptions) -> None:
        """UnusableInput if the system does not have the mode, or if nothing gives the network's answers."""
        refuse_mode(contract, options)
        is_free = options.mode == "free"
        self.contract, self.mode = contract, options.mode
        self.engine = engine_for(contract, options.engine) if is_free else EngineUse()
        self.fps = contract.fps or clip.fps
        self.alignments: set[InputAlignment] = set()
        self.network = None if isinstance(network, RecordedAnswers) else network
        self._known = known_rows(contract, network, clip)
        steps = min(map(len, self._known.values()))
        is_endless = self.mode == "free" and self.network is not None  # recorded answers end, and do not start again
        self.frame_limit = None if is_endless else steps
        self._count, self._frame = min(options.frames or steps, self.frame_limit or options.frames or steps), 0

    @cached_property
    def _stages(self) -> Stages:
        with np.errstate(all="ignore"):  # values that are not finite are reported later, without numpy's warnings
            if self.mode == "teacher":
                return run_clip(self.contract, self._known, self.network, self._count).stages
            frames = frames_of(self.engine)
            return free_run(self.contract, self._known, self.network, self._count, frames).stages

    def step(self) -> Stages:
        """The stages of the next frame."""
        row, self._frame = self._frame, self._frame + 1
        return {name: rows[row] for name, rows in self._stages.items()}

    def record(self, frames: Iterable[int]) -> Stages:
        """Every stage of the next frames."""
        part = slice(self._frame, self._frame + sum(1 for _ in frames))
        self._frame = part.stop
        return {name: rows[part] for name, rows in self._stages.items()}


class DeclaredLockstep:
    """Free runs from several starts at once; `step` returns every stage with a leading axis of runs."""

    def __init__(
        self, contract: SystemContract, network: Any, clip: DeclaredClip, starts: FloatArray, frames: int,
        engine: Engine = "auto",
    ) -> None:  # fmt: skip
        """starts: (R, width) first rows of the fed-back stage."""
        known = known_rows(contract, network, clip)
        carried = next(stage.name for stage in contract.system.stages if stage.carried is not None)
        drives, steps = [], min(map(len, known.values()))
        for start in starts:
            own = np.array(known.get(carried, np.zeros((steps, len(start)))), np.float32)
            own[0] = start
            drives.append(ClipDrive({**known, carried: own}))
        evaluate = None if isinstance(network, RecordedAnswers) else network
        kind = frames_of(engine_for(contract, engine))
        self._frames = kind(contract, drives, evaluate, frames, "free")
        self._names = contract.system.graph.names

    def step(self) -> Stages:
        """Run one frame of every run."""
        self._frames.step()
        known = {name: self._frames.get(name) for name in self._names}
        return {name: rows for name, rows in known.items() if rows is not None}


def frames_of(engine: EngineUse) -> type[LiveFrames]:
    """What computes the frames of a free run."""
    return NativeFrames if engine.name == "native" else LiveFrames


def refuse_mode(contract: SystemContract, options: RunOptions) -> None:
    """UnusableInput if a declared system cannot make the run."""
    system = contract.system
    if options.engine == "native" and options.mode != "free":
        raise UnusableInput("--engine native", "another run than a free run", "--mode free, or --engine auto")
    if options.mode == "free" and not system.graph.feeds_itself:
        raise UnusableInput("a free run", f"{system.title}, which does not feed itself", "a run that a clip drives")
    if options.mode == "playback":
        raise UnusableInput("--mode playback", f"{system.title}, which plays nothing back", "teacher or free")
    for option, asked in (("--floor-contacts", options.on_floor), ("--perturb", options.faults)):
        if asked:
            raise UnusableInput(option, f"a run of {system.title}", "a system that has them")


def known_rows(contract: SystemContract, network: Any, clip: DeclaredClip) -> dict[str, FloatArray]:
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
