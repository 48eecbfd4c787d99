"""Normalise by statistics: those of a contract, those that a word chooses, those of the window itself."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from rigpact.contract.declared.operation import Built, Use
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Frames
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.scalars import MEANS, STDS, gamma, unscored, zscored
from rigpact.reference_runtime.vocabulary.building import computed, of_same_frame, operation, samples, wide


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

    times = use.choice(
        "applied", {"once": 1, "twice": 2, "skipped": 0}, f"how often {use.stage} is applied", default="once",
        shows=lambda count: repeated(samples(width), count, *declared),
    )  # fmt: skip

    def statistics(frames: Frames) -> tuple[FloatArray, FloatArray]:
        spread = np.maximum(std.of(frames).reshape(-1) + epsilon.of(frames), floor.of(frames))
        return mean.of(frames).reshape(-1), spread

    def bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """Four roundings each time; what one time has moved goes through the next, as the sizes of the terms do."""
        count, (centre, spread) = times.of(frames), statistics(frames)
        sizes = sign * np.abs(centre), np.abs(spread)  # no term cancels another
        moved = repeated(np.abs(wide(frames, source.name)), count, *sizes)
        return np.broadcast_to(gamma(4 * count) * moved, rows.shape)

    def planned(frames: Frames) -> Step:
        rows = [np.broadcast_to(row, (width,)) for row in statistics(frames)]
        name = "normalise" if sign < 0.0 else "denormalise"
        return Step(name, (Read(source.name),), (times.of(frames),), np.concatenate(rows))

    return computed(
        source.fields, lambda frames: repeated(wide(frames, source.name), times.of(frames), *statistics(frames)),
        bound, planned,
    )  # fmt: skip


NORMALISE = operation("normalise", partial(_normalise, apply=zscored, sign=-1.0))
DENORMALISE = operation("denormalise", partial(_normalise, apply=unscored, sign=1.0))


MODES: Mapping[str, tuple[str, ...]] = {
    "mean_std": ("mean", "std"), "min_max": ("min", "max"), "quantiles": ("q01", "q99"), "quantile10": ("q10", "q90"),
    "identity": (),
}  # fmt: skip
"""What a mode computes with. A mode without its statistics is not offered."""
_ENDS = {"as_declared": slice(None), "exchanged": slice(None, None, -1)}


def _range_normalise(use: Use, *, is_back: bool) -> Built:
    """Statistics of each channel; mode chooses among them."""
    source = use.inputs[0]
    width, declared = source.fields.width, use.table.get("mode")
    every = [name for names in MODES.values() for name in names if name in use.table]
    numbers = {name: use.number(name, width, meaning=f"the {name} of each number") for name in every}
    for name in MODES.get(declared, ()) if isinstance(declared, str) else ():
        if name not in numbers:
            raise use.missing(name, f"the {name} of each number, as the mode {declared} takes it")
    known = {mode: names for mode, names in MODES.items() if all(name in numbers for name in names)}
    mode = use.choice("mode", known, f"by which statistics {use.stage} is normalised")
    has_ends = declared not in ("mean_std", "identity")
    ends = use.knob("ends", _ENDS, "which end of the range is the low one") if has_ends else None
    epsilon = use.number("epsilon", 1, default=1e-8, meaning="the replacement of a range of 0, and the summand of std")

    def applied(frames: Frames) -> tuple[FloatArray, FloatArray]:
        x, names = wide(frames, source.name), mode.of(frames)
        if not names:
            return x, np.zeros_like(x)
        one, other = (numbers[name].row(frames, width) for name in names)
        small = float(epsilon.of(frames).reshape(-1)[0])
        if names[0] == "mean":
            return _by_mean(x, one, other, small, is_back=is_back)
        low, high = (one, other) if ends is None else (one, other)[ends.of(frames)]
        return _by_ends(x, low, high, small, is_back=is_back)

    # the range is a rounded difference; then four roundings of the terms' sizes
    return computed(
        source.fields, lambda frames: applied(frames)[0],
        lambda frames, _rows, _upstream: gamma(4) * applied(frames)[1],
    )  # fmt: skip


def _by_mean(
    x: FloatArray, mean: FloatArray, std: FloatArray, small: float, *, is_back: bool
) -> tuple[FloatArray, FloatArray]:
    """The result, and the sizes of its terms."""
    size, centre = np.abs(x), np.abs(mean)
    if is_back:
        return x * std + mean, size * np.abs(std) + centre
    return (x - mean) / (std + small), (size + centre) / np.abs(std + small)


def _by_ends(
    x: FloatArray, low: FloatArray, high: FloatArray, small: float, *, is_back: bool
) -> tuple[FloatArray, FloatArray]:
    """The result, and the sizes of its terms with what the rounded range moves."""
    span = np.where(high == low, small, high - low)
    moved = np.where(high == low, 0.0, (np.abs(low) + np.abs(high)) / np.abs(span))
    if is_back:
        half = 0.5 * (np.abs(x) + 1.0) * np.abs(span)
        return 0.5 * (x + 1.0) * span + low, half * (1.0 + moved) + np.abs(low)
    ratio = 2.0 * (np.abs(x) + np.abs(low)) / np.abs(span)
    return 2.0 * (x - low) / span - 1.0, ratio + 2.0 * np.abs(x - low) / np.abs(span) * moved + 1.0


RANGE_NORMALISE = operation("range_normalise", partial(_range_normalise, is_back=False), choices=("mode",))
RANGE_DENORMALISE = operation("range_denormalise", partial(_range_normalise, is_back=True), choices=("mode",))


def _standardise(use: Use) -> Built:
    """(x - mean) / deviation over all frames; a channel that stands still stays at 0."""
    source, divisors = use.inputs[0], {"count": 0, "count_less_one": 1}
    freedom = use.choice("divisor", divisors, "what the sum of squares of a window is divided by")

    def rows_of(frames: Frames) -> FloatArray:
        rows = wide(frames, source.name)
        apart = rows - rows.mean(axis=0)
        spread = np.sqrt((apart**2).sum(axis=0) / max(len(rows) - freedom.of(frames), 1))
        return np.asarray(np.divide(apart, spread, out=np.zeros_like(apart), where=spread > 0.0))

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

    return computed(source.fields, rows_of, bound, is_propagated=True)


STANDARDISE = operation("standardise", _standardise, choices=("divisor",))
