"""Normalise by ranges or by mean and std, and back, as one word says: the statistics of a data set lie side by side.

As LeRobot has it: 2 (x - low) / (high - low) - 1, a range of 0 counts as epsilon; (x - mean) / (std + epsilon), and back without
epsilon; nothing is clipped.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.values import Number
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.rounding_bounds import wide

MODES: Mapping[str, tuple[str, ...]] = {
    "mean_std": ("mean", "std"), "min_max": ("min", "max"), "quantiles": ("q01", "q99"), "quantile10": ("q10", "q90"),
    "identity": (),
}  # fmt: skip
"""What a mode computes with. A mode without its statistics is not offered."""
_ENDS = {"as_declared": slice(None), "exchanged": slice(None, None, -1)}


def build(use: Use, *, is_back: bool) -> Built:
    """Statistics of each channel; mode chooses among them."""
    source = use.inputs[0]
    width = source.fields.width
    numbers = {
        name: use.number(name, width, meaning=f"the {name} of each number")
        for names in MODES.values() for name in names if name in use.table
    }  # fmt: skip
    declared = use.table.get("mode")
    if isinstance(declared, str) and declared in MODES:
        for name in MODES[declared]:
            if name not in numbers:
                raise use.missing(name, f"the {name} of each number, as the mode {declared} takes it")
    known = {mode: names for mode, names in MODES.items() if all(name in numbers for name in names)}
    mode = use.choice("mode", known, f"by which statistics {use.stage} is normalised", {
        "identity": "no statistics are applied: the numbers pass as they are",
    })  # fmt: skip
    ends = use.knob("ends", _ENDS, "which end of the range is the low one", {
        "exchanged": "low and high of the statistics stand in each other's place",
    }) if declared not in ("mean_std", "identity") else None  # fmt: skip
    epsilon = use.number("epsilon", 1, default=1e-8, meaning="the replacement of a range of 0, and the summand of std")

    def parts(frames: Frames) -> tuple[Any, float]:
        names = mode.of(frames)
        pair = [_row(numbers[name], frames, width) for name in names]
        if ends is not None and names and names[0] != "mean":
            pair = pair[ends.of(frames)]
        return (names[:1], *pair), float(epsilon.of(frames).reshape(-1)[0])

    def compute(frames: Frames) -> FloatArray:
        said, small = parts(frames)
        return stored(_applied(wide(frames, source.name), said, small, is_back=is_back)[0])

    def bound(frames: Frames, _rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """The range is a rounded difference; then four roundings of the terms' sizes."""
        said, small = parts(frames)
        return gamma(4) * _applied(wide(frames, source.name), said, small, is_back=is_back)[1]

    return Built(source.fields, compute, bound)


def _row(number: Number, frames: Frames, width: int) -> FloatArray:
    return number.row(frames, width)


def _applied(x: FloatArray, said: Any, small: float, *, is_back: bool) -> tuple[FloatArray, FloatArray]:
    """The result, and the sizes of its terms with what the rounded range moves."""
    name, *pair = said
    if not name:
        return x, np.zeros_like(x)
    one, other = pair
    if name == ("mean",):
        spread = other if is_back else other + small
        result = x * spread + one if is_back else (x - one) / spread
        sizes = np.abs(x) * np.abs(spread) + np.abs(one) if is_back else (np.abs(x) + np.abs(one)) / np.abs(spread)
        return result, np.broadcast_to(sizes, x.shape)
    span = np.where(other == one, small, other - one)
    moved = np.where(other == one, 0.0, (np.abs(one) + np.abs(other)) / np.abs(span))
    if is_back:
        half = 0.5 * (np.abs(x) + 1.0) * np.abs(span)
        return 0.5 * (x + 1.0) * span + one, half * (1.0 + moved) + np.abs(one)
    ratio = 2.0 * (np.abs(x) + np.abs(one)) / np.abs(span)
    return 2.0 * (x - one) / span - 1.0, ratio + 2.0 * np.abs(x - one) / np.abs(span) * moved + 1.0


_PARAMETERS = {
    "mode": ", ".join(MODES),
    **{name: f"the {name} of each number, or one for all" for names in MODES.values() for name in names},
    "epsilon": "the replacement of a range of 0, and the summand of std; 1e-8 if left out",
}
_CODE = {
    "mode": {
        "mean_std": CodeHint("(x - mean) / (std + 1e-8)", "(x - mean) / (std + eps)"),
        "min_max": CodeHint("2 * (x - min) / (max - min) - 1", "2 * (x - min) / (max - min) - 1"),
        "quantiles": CodeHint("2 * (x - q01) / (q99 - q01) - 1", "2 * (x - q01) / (q99 - q01) - 1"),
        "quantile10": CodeHint("2 * (x - q10) / (q90 - q10) - 1", "2 * (x - q10) / (q90 - q10) - 1"),
        "identity": CodeHint("x", "x  # no statistics under this name"),
    },
    "ends": {
        "as_declared": CodeHint("low = min; high = max;", "stats['min'], stats['max']"),
        "exchanged": CodeHint("low = max; high = min;", "stats['max'], stats['min']"),
    },
}
NORMALISE = Operation(
    "range_normalise", "numbers normalised by the statistics that a word chooses", partial(build, is_back=False), _PARAMETERS,
    choices=("mode",), code=_CODE,
)  # fmt: skip
DENORMALISE = Operation(
    "range_denormalise", "normalised numbers back to their own units", partial(build, is_back=True), _PARAMETERS,
    choices=("mode",), code=_CODE,
)  # fmt: skip
