"""Runs of a declared system side by side, frame by frame, as recordings."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.graph.run import ClipDrive, LiveFrames, Mode, Rows
from rigpact.reference_runtime.recordings.trace import Trace, run_header


def run_lanes(
    contract: Contract,
    clips: Sequence[Rows],
    network: Any,
    count: int,
    mode: Mode = "free",
    kind: type[LiveFrames] = LiveFrames,
) -> list[Trace]:
    """One run per clip, all in lockstep: one call of the network per frame for all runs. kind: what computes the frames."""
    frames = kind(contract, [ClipDrive(rows) for rows in clips], network, count, mode)
    stages, fps, frame = frames.record(range(count)), contract.fps or 1.0, np.arange(count)
    return [
        Trace(
            run_header(contract, fps, mode), frame, frame / fps, {name: rows[:, run] for name, rows in stages.items()}
        )
        for run in range(len(clips))
    ]


def free_run(contract: Contract, known: Rows, network: Any, count: int) -> Trace:
    """`count` frames of a system that feeds itself, from the clip's first frame; other inputs loop over the clip."""
    return run_lanes(contract, [known], network, count)[0]
