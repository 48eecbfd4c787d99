"""Integrate a rotation: exp(ω · step) times a quaternion."""

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.problems import Misdeclared, Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import QUATERNIONS
from rigpact.reference_runtime.operations.definitions.quaternions import PRODUCTS, exponential
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.rounding_bounds import sum_of, wide
from rigpact.reference_runtime.vocabulary.timing.integrate import time_step
from rigpact.reference_runtime.vocabulary.turning.quaternions import (
    order_knob,
    order_written,
    split,
)

_SIDES = {"left": PRODUCTS["first_second"], "right": PRODUCTS["second_first"]}
_ANGLES = {"half": 0.5, "full": 1.0, "quarter": 0.25, "negated": -0.5}
"""The factor of ω · step in the quaternion's exponential: half the angle of the turn."""
_OPERATIONS = 16
"""Roundings of the exponential (length, a library's sine, a division) and of the product (four terms, storing)."""


def build(use: Use) -> Built:
    """of = [quaternion, angular velocity]; left: ω is of the frame that the quaternion leads into (the world)."""
    quaternion, rate = use.inputs
    if rate.fields.width * 4 != quaternion.fields.width * 3:
        found = f"{quaternion.fields.width} and {rate.fields.width} numbers"
        raise Misdeclared(Wrong.WIDTH, use.at("of"), found, "quaternions and as many angular velocities")
    order = order_knob(use, quaternion)
    step = time_step(use)
    side = use.choice("side", _SIDES, "the side on which the turn of one frame is multiplied", {
        "right": "the turn is about the body's own axes there: q ⊗ exp", "left": "the turn is about the world's axes: exp ⊗ q",
    })  # fmt: skip
    angle = use.choice("angle", _ANGLES, "the part of the angle that goes into the exponential", default="half")
    written = order_written(use, quaternion)

    def compute(frames: Frames) -> FloatArray:
        q = split(wide(frames, quaternion.name), order.of(frames))
        omega = wide(frames, rate.name).reshape(len(q), -1, 3)
        turn = exponential(omega * step.of(frames) * angle.of(frames))
        return stored(side.of(frames)(turn, q)[..., written].reshape(len(q), -1))

    def terms(frames: Frames) -> FloatArray:
        """Four products with the sizes of two quaternions; the argument of sine and cosine rounds with the turn's size."""
        q = split(wide(frames, quaternion.name), order.of(frames))
        turn = wide(frames, rate.name).reshape(len(q), -1, 3) * step.of(frames) * angle.of(frames)
        sizes = np.linalg.norm(q, axis=-1, keepdims=True) * (1.0 + np.linalg.norm(turn, axis=-1, keepdims=True))
        return np.broadcast_to(sizes, q.shape).reshape(len(q), -1)

    def planned(frames: Frames) -> Step:
        words = side.word_of(frames), *order.of(frames), *written
        numbers = step.row(frames, 1)[0], angle.of(frames)
        return Step("integrate_rotation", (Read(quaternion.name), Read(rate.name)), words, numbers)

    return Built(quaternion.fields, compute, sum_of(_OPERATIONS, terms), measure=QUATERNIONS, planned=planned)


OPERATION = Operation(
    "integrate_rotation", "a quaternion turned by an angular velocity", build,
    {
        "step": "seconds of a frame, 1/fps if left out", "side": "left: exp ⊗ q; right: q ⊗ exp",
        "angle": ", ".join(_ANGLES), "quaternion_order": "xyzw or wxyz, where the quaternion's field does not say it",
    },
    (2, 2), ("side", "quaternion_order"),
    code=CODE_HINTS["integrate_rotation"], readings=_SIDES,
)  # fmt: skip
