"""Numbers as people write them: factors that mistakes have, the roundest number of an interval, what intervals leave open."""

from __future__ import annotations

import math

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.relations.relation import SIMPLE
from rigpact.reports.diagnosing.stage_error import NEARLY

_DIGITS = 9
"""A float32 has no more that tell."""
FACTORS = {
    "-1": -1.0, "2": 2.0, "1/2": 0.5, "100": 100.0, "1/100": 0.01, "180/π": 180.0 / math.pi, "π/180": math.pi / 180.0,
    "π": math.pi, "1/π": 1.0 / math.pi, "2π": 2.0 * math.pi,
}  # fmt: skip
"""Factors that mistakes have: a sign, half an angle, centimetres, degrees, half turns."""


def factors_of(fps: float) -> dict[str, float]:
    """Every factor by name, with the frame rate and its inverse."""
    rate = {} if fps in (0.0, 1.0) else {f"the frame rate, {fps:g},": fps, f"1/{fps:g}, a frame's time,": 1.0 / fps}
    return {**FACTORS, **rate}


def ordinal(count: int) -> str:
    """2nd, 3rd, 4th, … up to 20."""
    return {2: "2nd", 3: "3rd"}.get(count, f"{count}th")


def roundest(low: float, high: float) -> float:
    """The number of fewest decimal digits in [low, high]; the middle where nine do not reach."""
    middle = 0.5 * (low + high)
    for digits in range(1, _DIGITS + 1):
        value = float(f"{middle:.{digits - 1}e}")
        if low <= value <= high:
            return value
    return middle


def is_odd(number: float) -> int:
    """SIMPLE, or 0 for a number that people write: of at most four digits."""
    return 0 if float(f"{number:.3e}") == number else SIMPLE


def almost_all(low: FloatArray, high: FloatArray) -> tuple[float, float]:
    """What almost all intervals leave open: the rest may be of frames in which something else is wrong. Empty if low > high."""
    apart = (1.0 - NEARLY) / 2.0
    return float(np.quantile(low, 1.0 - apart)), float(np.quantile(high, apart))
