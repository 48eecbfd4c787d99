"""A run of any system: what a command steps, and the recording of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.network import InputAlignment
from rigpact.reference_runtime.recordings.trace import Trace, TraceHeader

Stages = dict[str, FloatArray]
MODES = ("teacher", "free", "playback")
"""Every frame's input from the clip; the system feeds itself; recorded answers are published without a network."""


class Runner(Protocol):
    """One run, frame after frame. alignments: inputs that the network was bound to at another width."""

    fps: float
    mode: Any
    alignments: set[InputAlignment]

    @property
    def contract(self) -> Any:
        """The contract, completed by what only the network or the clip says."""
        ...

    @property
    def frame_limit(self) -> int | None:
        """How many frames there are; None where the run has no end."""
        ...

    def step(self) -> Stages:
        """Run one frame and return its stages, (width,) each."""
        ...

    def record(self, frames: Iterable[int]) -> Stages:
        """Run the frames and return every stage, (T, width): bit for bit what as many calls of `step` give."""
        ...


@dataclass(frozen=True)
class RunOptions:
    """How a run goes.

    frames: how many will be asked for; None for the clip's own. on_floor: contacts are measured over a floor. faults: defects
    that are put in on purpose.
    """

    mode: str = "teacher"
    frames: int | None = None
    on_floor: bool = False
    faults: tuple[Any, ...] = ()


def run_frames(runner: Runner, frames: Iterable[int], clip_name: str | None, mode: str) -> Trace:
    """Run through `frames` and keep every stage; UnusableInput where there is none."""
    stages = runner.record(frames)
    count = np.arange(len(next(iter(stages.values()))) if stages else 0, dtype=np.int64)
    if not count.size:
        raise UnusableInput("frames", "none", "at least one")
    contract = runner.contract
    header = TraceHeader(
        fps=runner.fps, mode=mode, clip=clip_name, bundle_sha256=contract.sha256, system=contract.system.name
    )
    return Trace(header, count, count / runner.fps, stages)


def stacked(rows: list[Stages], order: Iterable[str]) -> Stages:
    """The stages that every frame has, (T, width), in the given order."""
    names = [name for name in order if rows and all(name in row for row in rows)]
    return {name: np.stack([row[name] for row in rows]) for name in names}
