"""Readings of angular velocities from a sequence of rotations: frame, rows, rate and scale, all at once."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from rigpact.contract.conventions import Conventions
from rigpact.contract.rules.answers import geometry as rules
from rigpact.contract.statistics import FloatArray
from rigpact.reports.geometry_parity import oracle
from rigpact.reports.geometry_parity.precision import MATCH
from rigpact.reports.geometry_parity.readings.forms import Compute, Named, Reading, forms, own_first
from rigpact.reports.geometry_parity.readings.scaled import fitted_ratio, ratio_findings, words_of
from rigpact.reports.geometry_parity.roles import Role

RATES_HZ = (50.0, 24.0)
"""Two rates, so that a fixed rate inside the function shows."""
FORWARD = "the step that follows, the last one repeated"
ALONE = "the steps alone, one row fewer"
"""Says nothing of a row that the contract repeats, so it contradicts nothing."""


def steps(sequence: FloatArray, frame: str, frames: int = 1) -> FloatArray:
    """Rotation vectors (T - frames, …, 3) of the steps of (T, …, 3, 3), in the parent's frame or the bone's own."""
    before, after = sequence[:-frames], sequence[frames:]
    relative = after @ oracle.transpose(before) if frame == "parent" else oracle.transpose(before) @ after
    return oracle.rotation_vector(relative)


def _central(_step: FloatArray, sequence: FloatArray, frame: str) -> FloatArray:
    middle = 0.5 * steps(sequence, frame, 2)
    return np.concatenate((middle[:1], middle, middle[-1:]))


_ROWS: Mapping[str, Callable[[FloatArray, FloatArray, str], FloatArray]] = {
    FORWARD: lambda step, _sequence, _frame: np.concatenate((step, step[-1:])),
    "the step before, the first one repeated": lambda step, _sequence, _frame: np.concatenate((step[:1], step)),
    "the step that follows, zero at the end": lambda step, _s, _f: np.concatenate((step, np.zeros_like(step[-1:]))),
    "the step before, zero at the start": lambda step, _s, _f: np.concatenate((np.zeros_like(step[:1]), step)),
    "the mean of both steps, ends repeated": _central,
    ALONE: lambda step, _sequence, _frame: step,
}


def velocities(sequence: FloatArray, fps: float, frame: str, rows: str) -> FloatArray:
    """Angular velocities, rad/s, (T, …, 3) of rotations (T, …, 3, 3)."""
    return fps * _ROWS[rows](steps(sequence, frame), sequence, frame)


def declared_velocity(role: Role, conventions: Conventions) -> Callable[[FloatArray], FloatArray]:
    """The contract's angular velocity at the first of the two rates."""
    factor = 0.5 if conventions.angvel_angle == "half" else 1.0
    frame = str(conventions.angvel_frame)
    own = next(forms(role.takes[0], conventions))
    return lambda sequence: factor * velocities(own.decode(sequence), RATES_HZ[0], frame, FORWARD)


def read_any_velocity(
    role: Role, values: list[FloatArray], sequence: FloatArray, conventions: Conventions
) -> Reading | None:
    """The reading of velocities of rotations, of quaternions or of six numbers."""
    for form in forms(role.takes[0], conventions):
        found = read_velocity(values, form.decode(sequence), conventions)
        if found is not None:
            words = ", ".join(filter(None, (found.words, form.words)))
            return Reading(words, partial(_decoded, found.compute, form.decode), [*form.findings, *found.findings])
    return None


def _decoded(compute: Compute, decode: Compute, sequence: FloatArray) -> FloatArray:
    return compute(decode(sequence))


def read_velocity(values: list[FloatArray], sequence: FloatArray, conventions: Conventions) -> Reading | None:
    """The reading of the results at both rates; only the first rate if the function takes none."""
    own = str(conventions.angvel_frame)
    for frame, rows in product(own_first(own, ("parent", "local")), _ROWS):
        pairs = zip(values, RATES_HZ, strict=False)
        ratios = [fitted_ratio(value, velocities(sequence, fps, frame, rows)) for value, fps in pairs]
        found = [ratio for ratio in ratios if ratio is not None]
        if len(found) == len(ratios):
            findings: list[Named] = []
            if frame != own:
                findings.append((rules.VELOCITY_FRAME, {"found": frame, "declared": own}))
            if rows not in (FORWARD, ALONE):
                findings.append((rules.VELOCITY_ROWS, {"found": rows, "declared": FORWARD}))
            findings += _how_much(found, len(sequence), conventions)
            words = words_of(found[0], "fps · log of a step")
            compute = partial(_scaled, ratio=found[0], frame=frame, rows=rows)
            return Reading(f"{words}, {frame} frame; {rows}", compute, findings)
    return None


def _scaled(sequence: FloatArray, *, ratio: float, frame: str, rows: str) -> FloatArray:
    return ratio * velocities(sequence, RATES_HZ[0], frame, rows)


def _how_much(ratios: list[float], rows: int, conventions: Conventions) -> list[Named]:
    """The scale after division by the rate; a function that ignores the rate has its own scale."""
    unit = 0.5 if conventions.angvel_angle == "half" else 1.0
    absolute = [ratio * fps / unit for ratio, fps in zip(ratios, RATES_HZ, strict=False)]
    if len(ratios) > 1 and abs(ratios[0] / ratios[1] - 1.0) <= 2 * MATCH:
        return ratio_findings(ratios[0] / unit, rows, "returns")
    if len(ratios) > 1 and abs(absolute[0] / absolute[1] - 1.0) > 2 * MATCH:
        values = {"measured": ratios[0], "fps": RATES_HZ[0], "found": "divided by the rate, or worse"}
        return [(rules.VELOCITY_RATE, values)]
    return _without_rate(absolute[0], rows)


def _without_rate(measured: float, rows: int) -> list[Named]:
    """The reading for `measured` times the rotation vector of one frame, independent of the rate."""
    size = abs(measured)
    per_frame = min((1.0, 0.5, 2.0), key=lambda known: abs(size - known))
    values: dict[str, Any] = {"measured": size, "fps": RATES_HZ[0]}
    if abs(size - per_frame) <= MATCH * per_frame:
        found: Named = (rules.VELOCITY_RATE, {**values, "found": "per frame, not per second"})
        return [found, *ratio_findings(measured, rows, "returns")]
    rate = (rules.VELOCITY_RATE, {**values, "found": f"at a rate of its own, {size:.4g} frames a second"})
    return [rate, *ratio_findings(np.sign(measured), rows, "returns")]
