"""Clip: keep every number within its range."""

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.problems import Misdeclared, Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.definitions.scaling import CLIPPED, stretched
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.rounding_bounds import samples, wide


def build(use: Use) -> Built:
    """A low and a high end for each channel, or one for all; other sides do not clip, or scale to the range."""
    source = use.inputs[0]
    width = source.fields.width
    low, high = use.number("lowest", width), use.number("highest", width)
    if np.any(use.value_of(low) >= use.value_of(high)):
        raise Misdeclared(
            Wrong.NUMBERS, use.at("lowest"), "a low end that is not below the high end", "lowest < highest"
        )
    ends = [use.value_of(number).reshape(-1) for number in (low, high)]
    probe = 8.0 * samples(width) * np.maximum(1.0, np.maximum(*map(np.abs, ends)))
    knob = use.knob("applied", CLIPPED, f"how {use.stage} keeps numbers in range", {
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


OPERATION = Operation(
    "clip", "every number within its range", build,
    {"lowest": "one number, or one for each", "highest": "one number, or one for each"},
    code=CODE_HINTS["clip"], readings=CLIPPED,
)  # fmt: skip
