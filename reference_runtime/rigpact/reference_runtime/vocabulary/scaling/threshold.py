"""Threshold: 1 where a number is beyond a limit, else 0, as contacts are decided."""

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import UNIT_ROUNDOFF
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.rounding_bounds import wide

_SIDES = {
    "above": lambda rows, limit: np.where(np.isnan(rows), np.nan, rows > limit),
    "below": lambda rows, limit: np.where(np.isnan(rows), np.nan, rows < limit),
    "not_applied": lambda rows, _limit: rows,
}


def build(use: Use) -> Built:
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


OPERATION = Operation(
    "threshold", "1 beyond a limit, else 0", build,
    {"limit": "one number, or one for each", "side": "above or below"}, choices=("side",),
    code=CODE_HINTS["threshold"], readings=_SIDES,
)  # fmt: skip
