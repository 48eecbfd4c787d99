"""Clip: keep every number within its range."""

from __future__ import annotations

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.problems import Misdeclared, Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.stage import Frames
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.vocabulary.rounding_bounds import exact, wide


def build(use: Use) -> Built:
    """A low and a high end for each channel, or one for all; other sides do not clip, or scale to the range."""
    source = use.inputs[0]
    width = source.fields.width
    low, high = use.number("lowest", width), use.number("highest", width)
    if np.any(use.value_of(low) >= use.value_of(high)):
        raise Misdeclared(
            Wrong.NUMBERS, use.at("lowest"), "a low end that is not below the high end", "lowest < highest"
        )
    knob = use.knob("applied", _APPLIED, f"how {use.stage} keeps numbers in range", {
        "none": "nothing is clipped: keep the numbers between lowest and highest",
        "scaled_to_range": "-1 … 1 is stretched to the range: numbers are clamped, not scaled",
        "low_only": "only the low end is kept", "high_only": "only the high end is kept",
    })  # fmt: skip

    def compute(frames: Frames) -> FloatArray:
        ends = (number.of(frames).reshape(-1) for number in (low, high))
        return stored(knob.of(frames)(wide(frames, source.name), *ends))

    return Built(source.fields, compute, exact)


_APPLIED = {
    "clamped": np.clip,
    "none": lambda rows, _low, _high: rows,
    "scaled_to_range": lambda rows, low, high: low + (rows + 1.0) * 0.5 * (high - low),
    "low_only": lambda rows, low, _high: np.maximum(rows, low),
    "high_only": lambda rows, _low, high: np.minimum(rows, high),
}

OPERATION = Operation(
    "clip", "every number within its range", build,
    {"lowest": "one number, or one for each", "highest": "one number, or one for each"},
)  # fmt: skip
