"""Affine: x · scale + offset, or (x - subtract) · scale, as actions become targets and sensors become terms."""

from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Reading, Use
from rigpact.contract.declared.values import Number
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.plan import Read, Step
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.rounding_bounds import samples, sum_of, wide

_SCALES: Mapping[str, Reading] = {
    "none": np.ones_like,
    "inverse": lambda scale: 1.0 / np.where(scale == 0.0, np.inf, scale),
    "twice": np.square,
    "negated": np.negative,
}
_CONSTANTS: Mapping[str, Reading] = {
    "none": np.zeros_like,
    "negated": np.negative,
    "twice": lambda constant: 2.0 * constant,
}
ORDERS = {
    "scale_first": lambda rows, scale, constant: rows * scale + constant,
    "constant_first": lambda rows, scale, constant: (rows + constant) * scale,
}


def build(use: Use) -> Built:
    """A factor and a constant for each number, or one for all; what is left out is 1 and 0."""
    source = use.inputs[0]
    width = source.fields.width
    found = {key: use.number(key, width, misread=readings) for key, readings in _READINGS.items() if key in use.table}
    if not found or len(found) == 3:
        raise use.missing("scale", "scale, and offset or subtract")
    constant, sign = found.get("offset", found.get("subtract")), -1.0 if "subtract" in found else 1.0
    own_order = "constant_first" if "subtract" in found else "scale_first"
    order = None
    if "scale" in found and constant is not None:
        factor, added = use.value_of(found["scale"]).reshape(-1), use.value_of(constant).reshape(-1)
        order = use.choice(
            "order", ORDERS, f"the first step in {use.stage}", default=own_order,
            shows=lambda combine: combine(samples(width), factor, added),
        )  # fmt: skip

    def parts(frames: Frames) -> tuple[FloatArray, FloatArray]:
        return _of(found.get("scale"), frames, 1.0), sign * _of(constant, frames, 0.0)

    def combined(frames: Frames) -> Callable[..., FloatArray]:
        return ORDERS[own_order] if order is None else order.of(frames)

    def compute(frames: Frames) -> FloatArray:
        return stored(combined(frames)(wide(frames, source.name), *parts(frames)))

    def terms(frames: Frames) -> FloatArray:
        """The same with the sizes of the numbers: nothing cancels."""
        return np.asarray(combined(frames)(np.abs(wide(frames, source.name)), *map(np.abs, parts(frames))))

    def planned(frames: Frames) -> Step:
        word = own_order if order is None else order.word_of(frames)
        rows = [np.broadcast_to(part, (width,)) for part in parts(frames)]
        return Step("affine", (Read(source.name),), (word,), np.concatenate(rows))

    return Built(source.fields, compute, sum_of(_OPERATIONS, terms), planned=planned)


def _of(number: Number | None, frames: Frames, neutral: float) -> FloatArray:
    return np.array([neutral]) if number is None else number.of(frames).reshape(-1)


_OPERATIONS = 5
"""Both numbers are stored, a product, a sum, and the result is stored on the other side."""
_READINGS = {"scale": _SCALES, "offset": _CONSTANTS, "subtract": _CONSTANTS}
OPERATION = Operation(
    "affine",
    "x · scale + offset, or (x - subtract) · scale",
    build,
    {
        "scale": "one factor, or one for each number",
        "offset": "the summand after the factor: one constant, or one for each number",
        "subtract": "the number subtracted before the factor: one constant, or one for each number",
        "order": "scale_first or constant_first, where it is not the usual one",
    },
    code=CODE_HINTS["affine"],
    readings=ORDERS,
)
