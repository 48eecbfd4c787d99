"""Shared parts of the operations on points: points of a vector, the axes that sides confuse."""

from collections.abc import Mapping

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Input, Use
from rigpact.contract.declared.problems import Misdeclared, Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.reference_runtime.vocabulary.rounding_bounds import wide

AXES: Mapping[str, FloatArray] = {
    "right_handed": np.eye(3),
    "y_mirrored": np.diag([1.0, -1.0, 1.0]),
    "y_up": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
}
"""Rows are the axes of the contract in those of the other side."""
AXES_IN_CODE: Mapping[str, CodeHint] = {
    "right_handed": CodeHint("v", "v"),
    "y_mirrored": CodeHint("Vec3(v.x, -v.y, v.z)", "v * (1, -1, 1)"),
    "y_up": CodeHint("Vec3(v.x, v.z, -v.y)", "v[..., [0, 2, 1]] * (1, 1, -1)"),
}


def count_of_points(use: Use, source: Input) -> int:
    """How many points a vector holds; Misdeclared where it does not hold whole ones."""
    count, rest = divmod(source.fields.width, 3)
    if rest:
        raise Misdeclared(
            Wrong.WIDTH, use.at("of"), f"{source.name}, {source.fields.width} numbers", "points of 3 numbers each"
        )
    return count


def points_of(frames: Frames, name: str) -> FloatArray:
    """A stage as points, (N, V, 3) float64."""
    rows = wide(frames, name)
    return rows.reshape(len(rows), -1, 3)
