"""A run of any system, frame by frame, and its recording."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.native.library import Engine, EngineUse
from rigpact.reference_runtime.network import InputAlignment
from rigpact.reference_runtime.recordings.trace import Trace, run_header

Stages = dict[str, FloatArray]


class Runner(Protocol):
    """One run, frame after frame. network: None in a run without one.

    alignments: inputs whose width differs from the network's. engine: who computes the stages.
    """

    fps: float
    mode: Any
    network: Any
    alignments: set[InputAlignment]
    engine: EngineUse

    @property
    def contract(self) -> Contract:
        """The contract, completed with facts that only the network or the clip has."""
        ...

    @property
    def frame_limit(self) -> int | None:
        """Number of frames; None if the run has no end."""
        ...

    def step(self) -> Stages:
        """Run one frame and return its stages, (width,) each."""
        ...

    def record(self, frames: int | Iterable[int]) -> Stages:
        """Run the frames, or so many, and return every stage, (T, width): the same bits as repeated calls of `step`."""
        ...


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


def run_frames(runner: Runner, frames: Iterable[int], clip_name: str | None, mode: str) -> Trace:
    """Run through `frames` and keep every stage; UnusableInput where there is none."""
    stages = runner.record(frames)
    count = np.arange(len(next(iter(stages.values()))) if stages else 0, dtype=np.int64)
    if not count.size:
        raise UnusableInput("frames", "none", "at least one")
    contract = runner.contract
    header = run_header(contract, runner.fps, mode, clip_name, runner.network)
    return Trace(header, count, count / runner.fps, stages)


def stacked(rows: list[Stages], order: Iterable[str]) -> Stages:
    """The stages that every frame has, (T, width), in the given order."""
    names = [name for name in order if rows and all(name in row for row in rows)]
    return {name: np.stack([row[name] for row in rows]) for name in names}
