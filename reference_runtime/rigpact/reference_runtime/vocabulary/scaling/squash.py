"""Squash: tanh, sigmoid, softplus, exp, softmax, arcsin; what a side applies twice, leaves out, or takes for another."""

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.values import Number
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.definitions.scaling import FUNCTIONS, Function
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import UNIT_ROUNDOFF
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.rounding_bounds import samples, wide

_LIKELY = ("tanh", "sigmoid", "softmax", "exp")
_LIBRARY_ULP = 4.0
"""A library function of float32 counts as four roundings (see operations/rounding.py)."""


def build(use: Use) -> Built:
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


OPERATION = Operation(
    "squash", "tanh, sigmoid and their like", build,
    {"function": ", ".join(FUNCTIONS), "scale": "the limit: function(x / scale) · scale, 1 if left out"},
    code=CODE_HINTS["squash"], readings=FUNCTIONS,
)  # fmt: skip
