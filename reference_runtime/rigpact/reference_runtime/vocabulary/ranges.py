"""What keeps a number in a range, and what is measured of it: clip, squash, wrap, threshold, norm."""

from collections.abc import Callable, Mapping

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
    UNIT_ROUNDOFF,
    Function,
    gamma,
    stretched,
)
from rigpact.reference_runtime.vocabulary.building import (
    computed,
    named_layout,
    of_result,
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
