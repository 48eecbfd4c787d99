"""The conditions that a log prints, against the clip that drove the logged engine.

A log does not say at which frame of the clip a line was printed, and it may skip steps. So each line is held against the frame
that it fits best by action bits and speed, which no reading of the direction changes; among equals the direction decides.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.layout import CONDITION_WIDTH
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.files.declared import files_of
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reference_runtime.recordings.precision import Precision
from rigpact.reports.diagnosing.logs.engine_log import Condition, EngineLog

_DIRECTION = slice(4, 6)


class Misfit(NamedTuple):
    """How many bits and speeds, and numbers of the direction, are beyond rounding; and the largest difference."""

    of_others: int
    of_direction: int
    furthest: float


def whole_conditions(log: EngineLog) -> list[Condition]:
    """The lines that print every number of a condition."""
    return [line for line in log.conditions if len(line.raw.numbers) == CONDITION_WIDTH]


def conditions_of_clip(log: EngineLog, contract: Contract, clip: Path) -> Evidence | None:
    """The printed raw conditions as a recording of the frames of the clip that they fit best; None for a log without any.

    Of several lines at one frame, the one that fits worst: where it is within rounding, the others are.
    """
    lines = whole_conditions(log)
    if not lines:
        return None
    drive = files_of(contract).drive(clip, contract)
    decimals = min(line.raw.decimals for line in lines)
    printed = np.unique(np.stack([line.raw.numbers for line in lines]), axis=0)
    readings = (contract.with_conventions({"condition_direction": word}) for word in _readings(contract))
    placings = [_placed(printed, drive(reading), 0.5 * 10.0**-decimals) for reading in readings]
    _, found = min(placings, key=lambda placing: placing[0])
    frames = np.array(sorted(found))
    recorded = {"cond_raw": np.stack([found[frame][1] for frame in frames.tolist()])}
    return Evidence(
        frames, log.fps or contract.known_fps, "teacher", recorded, drive, precision=Precision(decimals=decimals)
    )


def _readings(contract: Contract) -> list[str]:
    """The readings of the direction, the contract's own first: a log that fits as well under two of them is placed by it."""
    own = str(contract.conventions.condition_direction)
    return [own, *(word for word in contract.system.knobs["condition_direction"].values if word != own)]


def _placed(printed: FloatArray, rows: Any, half_digit: float) -> tuple[int, dict[int, tuple[Misfit, FloatArray]]]:
    """How many printed numbers fit no frame; by frame of the clip, the condition that fits worst of those placed there."""
    found: dict[int, tuple[Misfit, FloatArray]] = {}
    count = 0
    for row in printed:
        frame, misfit = _best(row, rows.cond_raw[: rows.steps], half_digit)
        count += misfit.of_others + misfit.of_direction
        if frame not in found or misfit > found[frame][0]:
            found[frame] = misfit, row
    return count, found


def _best(row: FloatArray, conditions: FloatArray, half_digit: float) -> tuple[int, Misfit]:
    """The frame of the clip that a condition fits best, and by how much it does not fit."""
    apart: NDArray[np.float64] = np.abs(conditions.astype(np.float64) - row)
    apart[~np.isfinite(apart)] = np.inf
    rounding = float(np.finfo(np.float32).eps) * np.maximum(np.abs(conditions), 1.0)
    is_off = ~(apart <= half_digit + rounding)
    of_direction = is_off[:, _DIRECTION].sum(axis=1)
    of_others = is_off.sum(axis=1) - of_direction
    furthest = apart.max(axis=1)
    frame = int(np.lexsort((furthest, of_direction, of_others))[0])
    return frame, Misfit(int(of_others[frame]), int(of_direction[frame]), float(furthest[frame]))
