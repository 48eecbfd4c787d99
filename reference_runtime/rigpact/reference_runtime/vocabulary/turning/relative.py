"""Relative: points as seen from a frame, R(q)^-1 (p - origin), or placed by it, R(q) p + origin."""

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.problems import Misdeclared, Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.plan import Read, Step
from rigpact.reference_runtime.operations.definitions.quaternions import FRAMES
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.rounding_bounds import sum_of, wide
from rigpact.reference_runtime.vocabulary.turning.quaternions import (
    order_knob,
    refuse_other_counts,
    split,
)

_OPERATIONS = 16


def build(use: Use) -> Built:
    """of = [points, origin, quaternion]."""
    points, origin, quaternion = use.inputs
    for source in (points, origin):
        if source.fields.width % 3:
            raise Misdeclared(
                Wrong.WIDTH, use.at("of"), f"{source.name}, {source.fields.width} numbers", "points, 3 each"
            )
    order, count = order_knob(use, quaternion), points.fields.width // 3
    refuse_other_counts(use, origin.fields.width // 3, count, "one origin, or as many as points")
    refuse_other_counts(use, quaternion.fields.width // 4, count, "one quaternion, or as many as points")
    direction = use.choice("direction", FRAMES, "how points and the frame are combined")

    def parts(frames: Frames) -> tuple[FloatArray, FloatArray, FloatArray]:
        rows, place = (wide(frames, each.name).reshape(len(frames[each.name]), -1, 3) for each in (points, origin))
        return rows, place, split(wide(frames, quaternion.name), order.of(frames))

    def compute(frames: Frames) -> FloatArray:
        result = direction.of(frames)(*parts(frames))
        return stored(result.reshape(len(result), -1))

    def terms(frames: Frames) -> FloatArray:
        rows, place, q = parts(frames)
        scale = 1.0 + 4.0 * np.sum(q * q, axis=-1, keepdims=True)
        sizes = np.sum(np.abs(rows) + np.abs(place), axis=-1, keepdims=True) * scale
        return np.broadcast_to(sizes, rows.shape).reshape(len(rows), -1)

    def planned(frames: Frames) -> Step:
        counts = origin.fields.width // 3, quaternion.fields.width // 4
        words = direction.word_of(frames), *counts, *order.of(frames)
        return Step("relative", tuple(Read(each.name) for each in use.inputs), words)

    return Built(points.fields, compute, sum_of(_OPERATIONS, terms), planned=planned)


OPERATION = Operation(
    "relative", "points from a frame's point of view", build,
    {
        "direction": ", ".join(FRAMES),
        "quaternion_order": "xyzw or wxyz, where the quaternion's field does not say it",
    },
    (3, 3), ("direction", "quaternion_order"),
    code=CODE_HINTS["relative"], readings=FRAMES,
)  # fmt: skip
