"""What keeps a number in a range, and what is measured of it: clip, squash, wrap, threshold, norm."""

from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Use
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
    stored,
    stretched,
)
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.named_fields import whole_count
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_result, samples, wide

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
    knob = use.knob("applied", ways, f"how {use.stage} keeps numbers in range", {
        "none": "nothing is clipped: keep the numbers between lowest and highest",
        "scaled_to_range": "-1 … 1 is stretched to the range: numbers are clamped, not scaled",
        "low_only": "only the low end is kept", "high_only": "only the high end is kept",
    }, shows=lambda apply: apply(probe, *ends))  # fmt: skip

    def compute(frames: Frames) -> FloatArray:
        ends = (number.of(frames).reshape(-1) for number in (low, high))
        return stored(knob.of(frames)(wide(frames, source.name), *ends))

    def bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """Nothing is rounded, but by a side that stretches: a sum, two products, a difference and the ends' own storing."""
        if knob.of(frames) is not stretched:
            return np.zeros(rows.shape)
        sizes = sum(np.abs(number.of(frames).reshape(-1)) for number in (low, high))
        return np.asarray(gamma(6) * (1.0 + np.abs(wide(frames, source.name))) * sizes)

    def planned(frames: Frames) -> Step:
        rows = [number.row(frames, width) for number in (low, high)]
        return Step("clip", (Read(source.name),), (knob.word_of(frames),), np.concatenate(rows))

    return Built(source.fields, compute, bound, planned=planned)


CLIP = Operation(
    "clip", "every number within its range", _clip,
    dict.fromkeys(_ENDS, "one number, or one for each; none if left out"),
    code=CODE_HINTS["clip"], readings=CLIPPED,
)  # fmt: skip


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
    knob = use.knob("function", readings, f"the function of {use.stage}", {
        "none": f"{name} is left out", "twice": f"{name} is applied in the network and behind it: leave one out",
        "doubled": "the sine is of half an angle: the contract keeps the half, and this side the whole angle",
    }, shows=lambda apply: apply(samples(source.fields.width)))  # fmt: skip

    def compute(frames: Frames) -> FloatArray:
        size = scale.of(frames).reshape(-1)
        return stored(knob.of(frames)(wide(frames, source.name) / size) * size)

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
        words: tuple[int | str, ...] = len(chain), *chain
        return Step("squash", (Read(source.name),), words, numbers)

    return Built(source.fields, compute, bound, planned=planned)


SQUASH = Operation(
    "squash", "tanh, sigmoid and their like", _squash,
    {"function": ", ".join(FUNCTIONS), "scale": "the limit: function(x / scale) · scale, 1 if left out"},
    code=CODE_HINTS["squash"], readings=FUNCTIONS,
)  # fmt: skip


_TURNS = {unit: 2.0 * np.pi / UNITS[unit].si for unit in ("rad", "deg")}
_RANGES: Mapping[str, Callable[..., FloatArray]] = {
    "symmetric": wrapped,
    "positive": lambda rows, turn: rows - turn * np.floor(rows / turn),
    "none": lambda rows, _turn: rows,
}
"""(-half turn, half turn], [0, turn), or as it is."""


def _wrap(use: Use) -> Built:
    """Angles of the declared unit into the declared range."""
    source = use.inputs[0]
    own: Callable[..., FloatArray] = _RANGES.get(str(use.table.get("range")), _RANGES["symmetric"])
    probe = 100.0 * samples(1)
    unit = use.choice(
        "unit_of_angle", _TURNS, "the unit of the angle that is wrapped", shows=lambda turn: own(probe, turn)
    )
    into = use.choice("range", _RANGES, "the range that angles are wrapped into")

    def compute(frames: Frames) -> FloatArray:
        return stored(into.of(frames)(wide(frames, source.name), unit.of(frames)))

    def bound(frames: Frames, _rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """A sum's; a whole turn where the angle is so near the end of the range that rounding decides on which side it is."""
        angles, turn = wide(frames, source.name), unit.of(frames)
        rounding = gamma(3) * (np.abs(angles) + turn)
        end = 0.5 * turn if into.of(frames) is _RANGES["symmetric"] else 0.0
        to_the_end = np.abs((angles - end) - turn * np.round((angles - end) / turn))
        is_near = (to_the_end <= rounding) & (into.of(frames) is not _RANGES["none"])
        return np.asarray(np.where(is_near, turn + rounding, rounding))

    def planned(frames: Frames) -> Step:
        return Step("wrap", (Read(source.name),), (into.word_of(frames),), [unit.of(frames)])

    return Built(source.fields, compute, bound, planned=planned)


WRAP = Operation(
    "wrap", "angles into one turn", _wrap,
    {"unit_of_angle": "rad or deg", "range": "symmetric (-half turn, half turn], positive [0, turn), or none"},
    choices=("unit_of_angle", "range"),
    code=CODE_HINTS["wrap"], readings=_RANGES,
)  # fmt: skip


_SIDES = {
    "above": lambda rows, limit: np.where(np.isnan(rows), np.nan, rows > limit),
    "below": lambda rows, limit: np.where(np.isnan(rows), np.nan, rows < limit),
    "not_applied": lambda rows, _limit: rows,
}


def _threshold(use: Use) -> Built:
    """limit: one number, or one for each. On which side of it 1 stands. Of a number that is not known nothing is known."""
    source = use.inputs[0]
    limit = use.number("limit", source.fields.width, meaning="the limit", misread={
        "zero": np.zeros_like, "half": lambda value: np.full_like(value, 0.5), "squared": np.square, "root": np.sqrt,
    })  # fmt: skip
    side = use.choice("side", _SIDES, f"on which side of the limit {use.stage} is 1", {
        "above": "1 stands above the limit there", "below": "1 stands below the limit there",
        "not_applied": "the number itself is handed on, not 0 or 1",
    })  # fmt: skip

    def compute(frames: Frames) -> FloatArray:
        return stored(np.asarray(side.of(frames)(wide(frames, source.name), limit.of(frames).reshape(-1)), np.float64))

    def bound(frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        """0, or 1 where the number is so near the limit that rounding decides; without a limit, the number's own bound."""
        numbers, at = wide(frames, source.name), limit.of(frames).reshape(-1)
        reach = upstream.get(source.name, 0.0) + 2.0 * UNIT_ROUNDOFF * (np.abs(numbers) + np.abs(at))
        is_step = bool(np.isin(rows[~np.isnan(rows)], (0.0, 1.0)).all())
        return np.broadcast_to(np.where(np.abs(numbers - at) <= reach, 1.0, 0.0) if is_step else reach, rows.shape)

    def planned(frames: Frames) -> Step:
        words = (side.word_of(frames),)
        return Step("threshold", (Read(source.name),), words, limit.row(frames, source.fields.width))

    fields = (Field(each.name, each.start, each.size, FieldKind.FLAG) for each in source.fields)
    return Built(FieldLayout(tuple(fields)), compute, bound, is_propagated=True, planned=planned)


THRESHOLD = Operation(
    "threshold", "1 beyond a limit, else 0", _threshold,
    {"limit": "one number, or one for each", "side": "above or below"}, choices=("side",),
    code=CODE_HINTS["threshold"], readings=_SIDES,
)  # fmt: skip


def _norm(use: Use) -> Built:
    """One number for every `of_each` numbers, 3 if it is left out."""
    source, size = use.inputs[0], use.whole("of_each", low=1, default=3)
    count = whole_count(use, source, size, f"vectors of {size}")
    measure = use.choice("measure", LENGTHS, f"how {use.stage} measures a vector", {
        "squared": "the square root is left out", "euclidean": "the square root is taken; the contract compares squares",
    }, shows=lambda apply: apply(samples(size)))  # fmt: skip

    def compute(frames: Frames) -> FloatArray:
        rows = wide(frames, source.name)
        return stored(measure.of(frames)(rows.reshape(len(rows), -1, size)))

    bound = of_result(size + 4)  # only sums of numbers of one sign; the square root halves it and adds its own
    names = [each.name for each in source.fields]
    names = names if len(names) == count else [f"{use.stage}_{place}" for place in range(count)]
    layout = FieldLayout(tuple(Field(name, place, 1, FieldKind.SCALAR) for place, name in enumerate(names)))

    def planned(frames: Frames) -> Step:
        return Step("norm", (Read(source.name),), (measure.word_of(frames), size))

    return Built(layout, compute, bound, planned=planned)


NORM = Operation(
    "norm", "how long vectors are", _norm,
    {"of_each": "numbers of one vector, 3 if left out", "measure": ", ".join(LENGTHS)}, choices=("measure",),
    code=CODE_HINTS["norm"], readings=LENGTHS,
)  # fmt: skip
