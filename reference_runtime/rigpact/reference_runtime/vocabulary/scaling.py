"""One number at a time: kept in a range or measured (clip, squash, wrap, threshold, norm), and normalised by statistics."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from rigpact.contract.declared.operation import Built, Reading, Use
from rigpact.contract.declared.values import Number
from rigpact.contract.errors import Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import Bounds
from rigpact.contract.units import UNITS
from rigpact.reference_runtime.operations.geometry import wrapped
from rigpact.reference_runtime.operations.scalars import (
    CLIPPED,
    FUNCTIONS,
    LENGTHS,
    MEANS,
    STDS,
    UNIT_ROUNDOFF,
    Function,
    gamma,
    stretched,
    unscored,
    zscored,
)
from rigpact.reference_runtime.vocabulary.building import (
    computed,
    named_layout,
    of_result,
    of_same_frame,
    operation,
    samples,
    whole_count,
    wide,
)

_MOST = float(np.finfo(np.float32).max)
_ENDS = {"lowest": -_MOST, "highest": _MOST}
"""What an end is that is left out: no float32 lies beyond it."""


def _clip(use: Use) -> Built:
    """A low and a high end for each channel, one for all, or one end alone; others do not clip, or scale to the range."""
    source = use.inputs[0]
    width = source.fields.width
    given = [key for key in _ENDS if key in use.table]
    if not given:
        raise use.missing("lowest", "lowest, highest, or both")
    low, high = (use.number(key, width, default=end) for key, end in _ENDS.items())
    if np.any(use.value_of(low) >= use.value_of(high)):
        raise use.wrong(Wrong.NUMBERS, "lowest", "a low end that is not below the high end", "lowest < highest")
    ends = [use.value_of(number).reshape(-1) for number in (low, high)]
    probe = 8.0 * samples(width) * np.maximum(1.0, np.maximum(*map(np.abs, ends)))
    ways = CLIPPED if len(given) == len(_ENDS) else {way: CLIPPED[way] for way in ("clamped", "none")}
    meaning = f"how {use.stage} keeps numbers in range"
    knob = use.knob("applied", ways, meaning, shows=lambda apply: apply(probe, *ends))

    def ends_of(frames: Frames) -> list[FloatArray]:
        return [number.of(frames).reshape(-1) for number in (low, high)]

    def bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """Nothing is rounded, but by a side that stretches: a sum, two products, a difference and the ends' own storing."""
        if knob.of(frames) is not stretched:
            return np.zeros(rows.shape)
        return np.asarray(gamma(6) * (1.0 + np.abs(wide(frames, source.name))) * sum(map(np.abs, ends_of(frames))))

    def planned(frames: Frames) -> Step:
        rows = [number.row(frames, width) for number in (low, high)]
        return Step("clip", (Read(source.name),), (knob.word_of(frames),), np.concatenate(rows))

    return computed(
        source.fields, lambda frames: knob.of(frames)(wide(frames, source.name), *ends_of(frames)), bound, planned
    )


CLIP = operation("clip", _clip, readings=CLIPPED)


_LIKELY = ("tanh", "sigmoid", "softmax", "exp")
_LIBRARY_ULP = 4.0
"""A library function of float32 counts as four roundings (see operations/scalars.py)."""


def _squash(use: Use) -> Built:
    """function(x / scale) · scale: a smooth limit at ±scale; scale is 1 if left out."""
    source, name = use.inputs[0], str(use.table.get("function"))
    if name not in FUNCTIONS:
        raise use.not_one_of("function", FUNCTIONS)
    scale: Number = use.number("scale", source.fields.width, default=1.0)
    function = FUNCTIONS[name]
    readings: dict[str, Function] = {
        name: function,
        "none": lambda rows: rows,
        "twice": lambda rows: function(function(rows)),
    }
    if name == "arcsin":
        readings["doubled"] = lambda rows: 2.0 * function(rows)
    readings |= {other: FUNCTIONS[other] for other in _LIKELY if other != name}
    meaning = f"the function of {use.stage}"
    knob = use.knob("function", readings, meaning, shows=lambda apply: apply(samples(source.fields.width)))

    def rows_of(frames: Frames) -> FloatArray:
        size = scale.of(frames).reshape(-1)
        return np.asarray(knob.of(frames)(wide(frames, source.name) / size) * size)

    def bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """The error of the argument's rounding through the slope, measured at both of its ends; then the library's own.

        A function that is written with exp may round at 1: log(1 + exp(x)) and exp(x) - 1 do, where x is far below 0.
        """
        size, apply = scale.of(frames).reshape(-1), knob.of(frames)
        argument = wide(frames, source.name) / size
        step = 2.0 * UNIT_ROUNDOFF * np.abs(argument)
        slope = np.abs(apply(argument + step) - apply(argument - step)) * np.abs(size)
        own = (_LIBRARY_ULP + 1.0) * UNIT_ROUNDOFF * np.abs(rows.astype(np.float64))
        return np.asarray(slope + own + 2.0 * UNIT_ROUNDOFF * np.abs(size))

    def planned(frames: Frames) -> Step:
        word, width = knob.word_of(frames), source.fields.width
        chain = {"none": (), "twice": (name, name), "doubled": (name,)}.get(word, (word,))
        numbers = *scale.row(frames, width), 2.0 if word == "doubled" else 1.0
        return Step("squash", (Read(source.name),), (len(chain), *chain), numbers)

    return computed(source.fields, rows_of, bound, planned)


SQUASH = operation("squash", _squash, readings=FUNCTIONS)


_TURNS = {unit: 2.0 * np.pi / UNITS[unit].si for unit in ("rad", "deg")}
_RANGES: Mapping[str, Callable[..., FloatArray]] = {
    "symmetric": wrapped,
    "positive": lambda rows, turn: rows - turn * np.floor(rows / turn),
    "none": lambda rows, _turn: rows,
}
"""(-half turn, half turn], [0, turn), or as it is."""


def _wrap(use: Use) -> Built:
    """Angles of the declared unit into the declared range."""
    source, probe = use.inputs[0], 100.0 * samples(1)
    own: Callable[..., FloatArray] = _RANGES.get(str(use.table.get("range")), _RANGES["symmetric"])
    meaning = "the unit of the angle that is wrapped"
    unit = use.choice("unit_of_angle", _TURNS, meaning, shows=lambda turn: own(probe, turn))
    into = use.choice("range", _RANGES, "the range that angles are wrapped into")

    def bound(frames: Frames, _rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """A sum's; a whole turn where the angle is so near the end of the range that rounding decides on which side it is."""
        angles, turn = wide(frames, source.name), unit.of(frames)
        rounding = gamma(3) * (np.abs(angles) + turn)
        end = 0.5 * turn if into.of(frames) is _RANGES["symmetric"] else 0.0
        to_the_end = np.abs((angles - end) - turn * np.round((angles - end) / turn))
        is_near = (to_the_end <= rounding) & (into.of(frames) is not _RANGES["none"])
        return np.asarray(np.where(is_near, turn + rounding, rounding))

    return computed(
        source.fields, lambda frames: into.of(frames)(wide(frames, source.name), unit.of(frames)), bound,
        lambda frames: Step("wrap", (Read(source.name),), (into.word_of(frames),), [unit.of(frames)]),
    )  # fmt: skip


WRAP = operation("wrap", _wrap, choices=("unit_of_angle", "range"), readings=_RANGES)


_SIDES = {
    "above": lambda rows, limit: np.where(np.isnan(rows), np.nan, rows > limit),
    "below": lambda rows, limit: np.where(np.isnan(rows), np.nan, rows < limit),
    "not_applied": lambda rows, _limit: rows,
}
_LIMITS: Mapping[str, Reading] = {
    "zero": np.zeros_like,
    "half": lambda value: np.full_like(value, 0.5),
    "squared": np.square,
    "root": np.sqrt,
}


def _threshold(use: Use) -> Built:
    """limit: one number, or one for each. On which side of it 1 stands. Of a number that is not known nothing is known."""
    source = use.inputs[0]
    width = source.fields.width
    limit = use.number("limit", width, meaning="the limit", misread=_LIMITS)
    side = use.choice("side", _SIDES, f"on which side of the limit {use.stage} is 1")

    def bound(frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        """0, or 1 where the number is so near the limit that rounding decides; without a limit, the number's own bound."""
        numbers, at = wide(frames, source.name), limit.of(frames).reshape(-1)
        reach = upstream.get(source.name, 0.0) + 2.0 * UNIT_ROUNDOFF * (np.abs(numbers) + np.abs(at))
        is_step = bool(np.isin(rows[~np.isnan(rows)], (0.0, 1.0)).all())
        return np.broadcast_to(np.where(np.abs(numbers - at) <= reach, 1.0, 0.0) if is_step else reach, rows.shape)

    fields = FieldLayout(tuple(Field(each.name, each.start, each.size, FieldKind.FLAG) for each in source.fields))
    return computed(
        fields, lambda frames: side.of(frames)(wide(frames, source.name), limit.of(frames).reshape(-1)), bound,
        lambda frames: Step("threshold", (Read(source.name),), (side.word_of(frames),), limit.row(frames, width)),
        is_propagated=True,
    )  # fmt: skip


THRESHOLD = operation("threshold", _threshold, choices=("side",), readings=_SIDES)


def _norm(use: Use) -> Built:
    """One number for every `of_each` numbers, 3 if it is left out."""
    source, size = use.inputs[0], use.whole("of_each", low=1, default=3)
    count = whole_count(use, source, size, f"vectors of {size}")
    meaning = f"how {use.stage} measures a vector"
    measure = use.choice("measure", LENGTHS, meaning, shows=lambda apply: apply(samples(size)))
    names = [each.name for each in source.fields]
    return computed(
        named_layout(names if len(names) == count else [f"{use.stage}_{place}" for place in range(count)]),
        lambda frames: measure.of(frames)(wide(frames, source.name, size)),
        of_result(size + 4),  # only sums of numbers of one sign; the square root halves it and adds its own
        lambda frames: Step("norm", (Read(source.name),), (measure.word_of(frames), size)),
    )


NORM = operation("norm", _norm, choices=("measure",), readings=LENGTHS)


_SUMMED: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "std": lambda std, epsilon: std + epsilon,
    "variance": lambda std, epsilon: np.sqrt(std * std + epsilon),
}


def _normalise(use: Use, *, apply: Callable[..., FloatArray], sign: float) -> Built:
    """Statistics for each channel. epsilon is added to std, or to its square; floor is its least value; both default to 0.

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
    both = use.value_of(std).reshape(-1), use.value_of(epsilon)
    summed = use.choice(  # without epsilon both words say the same
        "summand_of", _SUMMED, f"to what {use.stage} adds epsilon", default="std",
        shows=lambda add: both[0] if added is None else add(*both),
    )  # fmt: skip
    add = _SUMMED[use.table.get("summand_of", "std")]
    declared = use.value_of(mean).reshape(-1), np.maximum(add(*both), use.value_of(floor))

    def repeated(rows: FloatArray, count: int, *statistics: FloatArray) -> FloatArray:
        for _ in range(count):
            rows = apply(rows, *statistics)
        return rows

    times = use.choice(
        "applied", {"once": 1, "twice": 2, "skipped": 0}, f"how often {use.stage} is applied", default="once",
        shows=lambda count: repeated(samples(width), count, *declared),
    )  # fmt: skip

    def statistics(frames: Frames) -> tuple[FloatArray, FloatArray]:
        spread = np.maximum(summed.of(frames)(std.of(frames).reshape(-1), epsilon.of(frames)), floor.of(frames))
        return mean.of(frames).reshape(-1), spread

    def bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """Five roundings each time; what one time has moved goes through the next, as the sizes of the terms do."""
        count, (centre, spread) = times.of(frames), statistics(frames)
        sizes = sign * np.abs(centre), np.abs(spread)  # no term cancels another
        moved = repeated(np.abs(wide(frames, source.name)), count, *sizes)
        return np.broadcast_to(gamma(5 * count) * moved, rows.shape)

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
_RANGE_ENDS = {"as_declared": slice(None), "exchanged": slice(None, None, -1)}


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
    ends = use.knob("ends", _RANGE_ENDS, "which end of the range is the low one") if has_ends else None
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
