"""Normalise by statistics: those of a contract, those that a word chooses, those of the window itself."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Frames
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.scalars import MEANS, STDS, gamma, stored, unscored, zscored
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_same_frame, samples, wide


def _normalise(use: Use, *, apply: Callable[..., FloatArray], sign: float) -> Built:
    """Statistics for each channel. epsilon is added to std, floor is its least value; both default to 0.

    sign: whether `apply` takes the mean off (-1) or adds it.
    """
    source = use.inputs[0]
    width = source.fields.width
    is_left_out = use.table.get("applied") == "skipped"  # then no reading of its numbers can be seen
    mean = use.number("mean", width, meaning="the mean that is taken off", misread=None if is_left_out else MEANS)
    std = use.number("std", width, meaning="the standard deviation that divides", misread=None if is_left_out else STDS)
    added = {"none": lambda value: 0.0 * value} if "epsilon" in use.table and not is_left_out else None
    epsilon = use.number("epsilon", 1, default=0.0, meaning="the summand of std", misread=added)
    floor = use.number("floor", 1, default=0.0)
    declared = (
        use.value_of(mean).reshape(-1),
        np.maximum(use.value_of(std).reshape(-1) + use.value_of(epsilon), use.value_of(floor)),
    )

    def repeated(rows: FloatArray, count: int, *statistics: FloatArray) -> FloatArray:
        for _ in range(count):
            rows = apply(rows, *statistics)
        return rows

    times = use.choice("applied", {"once": 1, "twice": 2, "skipped": 0}, f"how often {use.stage} is applied", {
        "once": "the network does it inside: hand it the numbers as they are",
        "twice": "the statistics are applied outside the network and inside it: leave one out",
        "skipped": "the numbers reach the next step as they are: apply mean and std",
    }, default="once", shows=lambda count: repeated(samples(width), count, *declared))  # fmt: skip

    def statistics(frames: Frames) -> tuple[FloatArray, FloatArray]:
        spread = np.maximum(std.of(frames).reshape(-1) + epsilon.of(frames), floor.of(frames))
        return mean.of(frames).reshape(-1), spread

    def compute(frames: Frames) -> FloatArray:
        return stored(repeated(wide(frames, source.name), times.of(frames), *statistics(frames)))

    def bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """Four roundings each time; what one time has moved goes through the next, as the sizes of the terms do."""
        count, (centre, spread) = times.of(frames), statistics(frames)
        sizes = sign * np.abs(centre), np.abs(spread)  # no term cancels another
        moved = np.abs(wide(frames, source.name))
        for _ in range(count):
            moved = apply(moved, *sizes)
        return np.broadcast_to(gamma(4 * count) * moved, rows.shape)

    def planned(frames: Frames) -> Step:
        rows = [np.broadcast_to(row, (width,)) for row in statistics(frames)]
        name = "normalise" if sign < 0.0 else "denormalise"
        return Step(name, (Read(source.name),), (times.of(frames),), np.concatenate(rows))

    return Built(source.fields, compute, bound, planned=planned)


_PARAMETERS = {
    "mean": "the mean of each number, or one for all",
    "std": "the standard deviation of each number, or one for all",
    "epsilon": "the summand of std, 0 if left out",
    "floor": "the least std, 0 if left out",
    "applied": "once, if left out; skipped where the network does it inside",
}
NORMALISE = Operation(
    "normalise",
    "(x - mean) / (std + epsilon)",
    partial(_normalise, apply=zscored, sign=-1.0),
    _PARAMETERS,
    code=CODE_HINTS["normalise"],
)
DENORMALISE = Operation(
    "denormalise", "z · std + mean", partial(_normalise, apply=unscored, sign=1.0), _PARAMETERS, code=CODE_HINTS["denormalise"]
)  # fmt: skip


MODES: Mapping[str, tuple[str, ...]] = {
    "mean_std": ("mean", "std"), "min_max": ("min", "max"), "quantiles": ("q01", "q99"), "quantile10": ("q10", "q90"),
    "identity": (),
}  # fmt: skip
"""What a mode computes with. A mode without its statistics is not offered."""
_ENDS = {"as_declared": slice(None), "exchanged": slice(None, None, -1)}


def _range_normalise(use: Use, *, is_back: bool) -> Built:
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
        pair = [numbers[name].row(frames, width) for name in names]
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


_RANGE_PARAMETERS = {
    "mode": ", ".join(MODES),
    **{name: f"the {name} of each number, or one for all" for names in MODES.values() for name in names},
    "epsilon": "the replacement of a range of 0, and the summand of std; 1e-8 if left out",
}
_RANGE_CODE = {
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
RANGE_NORMALISE = Operation(
    "range_normalise", "numbers normalised by the statistics that a word chooses",
    partial(_range_normalise, is_back=False), _RANGE_PARAMETERS, choices=("mode",), code=_RANGE_CODE,
)  # fmt: skip
RANGE_DENORMALISE = Operation(
    "range_denormalise", "normalised numbers back to their own units",
    partial(_range_normalise, is_back=True), _RANGE_PARAMETERS, choices=("mode",), code=_RANGE_CODE,
)  # fmt: skip


_DIVISORS = {"count": 0, "count_less_one": 1}


def _standardise(use: Use) -> Built:
    """(x - mean) / deviation over all frames; a channel that stands still stays at 0."""
    source = use.inputs[0]
    freedom = use.choice("divisor", _DIVISORS, "what the sum of squares of a window is divided by")

    def compute(frames: Frames) -> FloatArray:
        rows = wide(frames, source.name)
        apart = rows - rows.mean(axis=0)
        spread = np.sqrt((apart**2).sum(axis=0) / max(len(rows) - freedom.of(frames), 1))
        return stored(np.divide(apart, spread, out=np.zeros_like(apart), where=spread > 0.0))

    def bound(frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        """A mean of N numbers is off by at most gamma(N) times the largest, and so is their root mean square (Higham, ch. 3).

        Each number is off by both and by its own error, divided by the deviation. Of a channel that stands still nothing can be
        said.
        """
        values = wide(frames, source.name)
        entering = np.nan_to_num(of_same_frame(upstream, source.name, values.shape)).max(axis=0)
        lost = gamma(len(values) + 4.0) * np.abs(values).max(axis=0) + entering
        deviation = values.std(axis=0)
        relative = np.divide(lost, deviation, out=np.full(deviation.shape, np.nan), where=deviation > lost)
        return np.asarray((1.0 + np.abs(rows)) * relative)

    return Built(source.fields, compute, bound, is_propagated=True)


STANDARDISE = Operation(
    "standardise",
    "each channel by the mean and the deviation of its own window",
    _standardise,
    {"divisor": "of the sum of squares: count, or count_less_one"},
    choices=("divisor",),
    code={
        "divisor": {
            "count": CodeHint("sqrtf(sum / n)", "x.std(0, unbiased=False)"),
            "count_less_one": CodeHint("sqrtf(sum / (n - 1))", "x.std(0)"),
        }
    },
)
