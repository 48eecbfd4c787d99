"""Affine: x · scale + offset, or (x - subtract) · scale, as actions become targets and sensors become terms."""

from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Reading, Use
from rigpact.contract.declared.values import Number
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_same_frame, samples, sum_of, wide

_SCALES: Mapping[str, Reading] = {
    "none": np.ones_like,
    "inverse": lambda scale: 1.0 / np.where(scale == 0.0, np.inf, scale),
    "twice": np.square,
    "negated": np.negative,
}
_NAMED: Mapping[str, Reading] = {"two_decimals": lambda scale: np.floor(scale * 100.0) / 100.0}
"""What a factor is misread for only where a convention names it."""
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
    found = {key: _number(use, key, width) for key in _READINGS if key in use.table}
    sizes = [each.size for each in source.fields]
    if not found or len(found) == 3:
        raise use.missing("scale", "scale, and offset or subtract")
    constant, sign = found.get("offset", found.get("subtract")), -1.0 if "subtract" in found else 1.0
    own_order = "constant_first" if "subtract" in found else "scale_first"
    order = None

    def spread(numbers: FloatArray) -> FloatArray:
        """One for all, or one for each number; those of each field for each of its numbers."""
        flat = numbers.reshape(-1)
        return np.repeat(flat, sizes) if flat.size == len(sizes) < width and flat.size > 1 else flat

    if "scale" in found and constant is not None:
        factor, added = (spread(use.value_of(each)) for each in (found["scale"], constant))
        order = use.choice(
            "order", ORDERS, f"the first step in {use.stage}", default=own_order,
            shows=lambda combine: combine(samples(width), factor, added),
        )  # fmt: skip

    def parts(frames: Frames) -> tuple[FloatArray, FloatArray]:
        factor, added = (
            np.array([neutral]) if each is None else spread(each.of(frames))
            for each, neutral in ((found.get("scale"), 1.0), (constant, 0.0))
        )
        return factor, sign * added

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

    def moved(frames: Frames, upstream: Bounds) -> FloatArray:
        before = of_same_frame(upstream, source.name, (len(frames[source.name]), width))
        return np.asarray(before * np.abs(parts(frames)[0]))

    bound = sum_of(_OPERATIONS, terms, moved)
    return Built(source.fields, compute, bound, is_propagated=True, planned=planned)


def _number(use: Use, key: str, width: int) -> Number:
    """A parameter of numbers; those with a name may be one for each field."""
    named, count = use.numbers.get(str(use.table[key])), len(tuple(use.inputs[0].fields))
    is_each = named is not None and named.value.size == count > 1
    misread = {**_READINGS[key], **(_NAMED if "readings" in use.said(key) else {})}
    return use.number(key, count if is_each else width, misread=misread)


_OPERATIONS = 5
"""Both numbers are stored, a product, a sum, and the result is stored on the other side."""
_READINGS = {"scale": _SCALES, "offset": _CONSTANTS, "subtract": _CONSTANTS}
OPERATION = Operation(
    "affine",
    "x · scale + offset, or (x - subtract) · scale",
    build,
    {
        "scale": "one factor, or one for each number; of [numbers] also one for each field",
        "offset": "the summand after the factor: one constant, or one for each number",
        "subtract": "the number subtracted before the factor: one constant, or one for each number",
        "order": "scale_first or constant_first, where it is not the usual one",
    },
    code=CODE_HINTS["affine"],
    readings=ORDERS,
)
