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

_MOST = float(np.finfo(np.float32).max)
_ENDS = {"lowest": -_MOST, "highest": _MOST}
"""What an end is that is left out: no float32 lies beyond it."""


def build(use: Use) -> Built:
    """A low and a high end for each channel, one for all, or one end alone; others do not clip, or scale to the range."""
    source = use.inputs[0]
    width = source.fields.width
    given = [key for key in _ENDS if key in use.table]
    if not given:
        raise use.missing("lowest", "lowest, highest, or both")
    low, high = (use.number(key, width, default=end) for key, end in _ENDS.items())
    if np.any(use.value_of(low) >= use.value_of(high)):
        raise Misdeclared(
            Wrong.NUMBERS, use.at("lowest"), "a low end that is not below the high end", "lowest < highest"
        )
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


OPERATION = Operation(
    "clip", "every number within its range", build,
    dict.fromkeys(_ENDS, "one number, or one for each; none if left out"),
    code=CODE_HINTS["clip"], readings=CLIPPED,
)  # fmt: skip
