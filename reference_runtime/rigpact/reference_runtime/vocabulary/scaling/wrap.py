"""Wrap: an angle into one turn."""

from __future__ import annotations

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.stage import Frames
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.vocabulary.rounding_bounds import sum_of, wide

_TURNS = {"rad": 2.0 * np.pi, "deg": 360.0}
_RANGES = {
    "symmetric": lambda rows, turn: rows - turn * np.ceil(rows / turn - 0.5),
    "positive": lambda rows, turn: rows - turn * np.floor(rows / turn),
    "none": lambda rows, _turn: rows,
}
"""(-half turn, half turn], [0, turn), or as it is."""


def build(use: Use) -> Built:
    """Angles of the declared unit into the declared range."""
    source = use.inputs[0]
    unit = use.choice("unit_of_angle", _TURNS, "the unit of the angle that is wrapped")
    into = use.choice("range", _RANGES, "the range that angles are wrapped into")

    def compute(frames: Frames) -> FloatArray:
        return stored(into.of(frames)(wide(frames, source.name), unit.of(frames)))

    return Built(source.fields, compute, sum_of(3, lambda frames: np.abs(wide(frames, source.name)) + unit.of(frames)))


OPERATION = Operation(
    "wrap", "angles into one turn", build,
    {"unit_of_angle": "rad or deg", "range": "symmetric (-half turn, half turn], positive [0, turn), or none"},
    choices=("unit_of_angle", "range"),
)  # fmt: skip
