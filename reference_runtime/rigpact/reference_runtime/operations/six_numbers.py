"""The readings of six numbers: how two axes of a rotation are packed, which axis is derived, what replaces a lost one.

To add a packing or a degenerate-axis policy: a row in the table below. Not here: the arithmetic on rotations (rot6d.py,
gram_schmidt.py).
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.gram_schmidt import FLOORED, NEARLY_ZERO, SHORT, Guard


class Packing(NamedTuple):
    """How (..., 6) numbers are viewed as (..., 2, 3), two axes, and whether these are rows of R."""

    pair: Callable[[FloatArray], FloatArray]
    are_rows: bool


def _halves(six: FloatArray) -> FloatArray:
    return six.reshape(*six.shape[:-1], 2, 3)


def _every_other(six: FloatArray) -> FloatArray:
    return six.reshape(*six.shape[:-1], 3, 2).swapaxes(-1, -2)


PACKING: Mapping[str, Packing] = {
    "columns": Packing(_halves, are_rows=False),
    "rows": Packing(_halves, are_rows=True),
    "interleaved": Packing(_every_other, are_rows=False),
}
DERIVED_SIGN: Mapping[str, Callable[[float], float]] = {
    # second × first, flipped when det < 0, which is exactly the case when the two axes are in cyclic order (xy, yz, zx)
    "second_cross_first": lambda parity: parity,
    # first × second, for any sign of the determinant
    "first_cross_second": lambda parity: 1.0,  # noqa: ARG005 - one signature for the table
}


class LostAxes(NamedTuple):
    """What happens to a lost axis: of a pose that is published, and where poses, deltas and seeds are decoded.

    pose_keeps, delta_keeps: whether a published pose, and ΔR, take the axis of the pose published one frame before.
    """

    published: Guard
    decoded: Guard
    pose_keeps: bool = False
    delta_keeps: bool = False


LOST_AXES: Mapping[str, LostAxes] = {
    "previous_frame": LostAxes(SHORT, NEARLY_ZERO, pose_keeps=True),
    "canonical": LostAxes(SHORT, NEARLY_ZERO),
    # `Reproject6D` with the previous pose, called on ΔR too: a turn takes an axis of a pose
    "previous_frame_for_delta": LostAxes(SHORT, NEARLY_ZERO, pose_keeps=True, delta_keeps=True),
    "zero": LostAxes(FLOORED, FLOORED),
}
