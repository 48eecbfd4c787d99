"""The widest tolerance that judged a recording, in the unit that people read: degrees for rotations.

A rotation has tolerances of its numbers and none of its angle. So the angle is measured: all numbers are moved by their
tolerances, each up or down, and the largest angle that comes of it is a difference that does not show.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.stage import Measure
from rigpact.reference_runtime.graph.bounds import PATTERNS
from rigpact.reference_runtime.graph.replayed import sign_pattern
from rigpact.reference_runtime.operations.geometry import quaternion_angle_rad
from rigpact.reports.comparing.address import channel_address
from rigpact.reports.diagnosing.hypotheses import Hypotheses
from rigpact.reports.diagnosing.seen.seen import Widest, one_of_each_unit
from rigpact.reports.diagnosing.stage_error import StageError


def widest_tolerances(hypotheses: Hypotheses, stages: Sequence[str]) -> tuple[Widest, ...]:
    """The widest tolerance of each unit over all judged values of these stages; degrees first."""
    errors = [hypotheses.error(stage, {}) for stage in stages]
    found = [_of_stage(hypotheses, error) for error in errors if error is not None]
    return one_of_each_unit([each for each in found if each.tolerance > 0.0])


def _of_stage(hypotheses: Hypotheses, error: StageError) -> Widest:
    contract, measure = hypotheses.contract, hypotheses.graph[error.stage].measure
    tolerance = np.where(np.isfinite(error.excess) & np.isfinite(error.tolerance), error.tolerance, 0.0)
    if measure.sizes is None and not measure.has_signless_quaternions:
        row, channel = _largest(tolerance)
        size, unit = float(tolerance[row, channel]), _unit(hypotheses, error.stage, channel)
    else:
        size, row, channel = _largest_turn(error, tolerance, measure, contract)
        unit = "deg" if measure.sizes is None else measure.unit
    address = channel_address(error.stage, channel, contract)
    return Widest(size, unit, error.stage, address, int(hypotheses.evidence.frame[row]))


def _unit(hypotheses: Hypotheses, stage: str, channel: int) -> str:
    """The unit of the stage's measure; of raw numbers, that of their field where it says one."""
    unit: str = hypotheses.graph[stage].measure.unit
    field = hypotheses.contract.fields(stage).field_at(channel)
    return unit if unit != "raw" or field is None or not field.unit else str(field.unit)


def _largest(values: FloatArray) -> tuple[int, int]:
    row, column = np.unravel_index(int(np.argmax(values)), values.shape)
    return int(row), int(column)


def _largest_turn(
    error: StageError, tolerance: FloatArray, measure: Measure, contract: Contract
) -> tuple[float, int, int]:
    """The largest size that tolerances let pass, its row, and the channel that does most of it."""
    rng, rows = np.random.default_rng(0), error.recorded.astype(np.float64)
    sizes = _sizes(measure, contract, rows, rows)
    for pattern in range(PATTERNS):
        moved = rows + sign_pattern(pattern, rows.shape, rng) * tolerance
        sizes = np.fmax(sizes, _sizes(measure, contract, rows, moved))
    row, part = _largest(sizes)
    alone = np.repeat(rows[row : row + 1], rows.shape[1], axis=0)
    of_channels = _sizes(measure, contract, alone, alone + np.diag(tolerance[row]))
    return float(sizes[row, part]), row, int(np.argmax(of_channels[:, part]))


def _sizes(measure: Measure, contract: Contract, one: FloatArray, other: FloatArray) -> FloatArray:
    """Differences of rows in the measure's unit, (N, k): quaternions without a unit of their own in degrees."""
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        if measure.sizes is not None:
            return np.nan_to_num(measure.sizes(contract, one, other), posinf=0.0)
        return np.nan_to_num(np.degrees(quaternion_angle_rad(one, other)), posinf=0.0)
