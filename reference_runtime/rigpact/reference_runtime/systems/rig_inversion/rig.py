"""The toy rig in closed form: parameters to angles and scales, angles and scales to vertices.

Right-handed, vertices are columns, angles turn counter-clockwise about fixed axes: V' = Rz Ry Rx S v. Numpy, float64.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.rig_inversion import RigConstants
from rigpact.reference_runtime.operations.definitions.euler import EULER


def rotation(angles_rad: FloatArray, order: Sequence[str] = ("x", "y", "z")) -> FloatArray:
    """The matrix (..., 3, 3) of turns about fixed axes, the first of `order` first, by angles (..., 3) about x, y, z."""
    to_matrix, _ = EULER[f"{''.join(order)}_rad"]
    return to_matrix(angles_rad[..., ["xyz".index(axis) for axis in order]])


def rotated(points: FloatArray, matrix: FloatArray) -> FloatArray:
    """Points (..., V, 3) turned by matrices (..., 3, 3)."""
    return points @ np.swapaxes(matrix, -1, -2)


def rig_mesh(parameters: FloatArray, rig: RigConstants) -> FloatArray:
    """Vertices (..., 8, 3) of parameters (..., 6); UnusableInput where one is outside [0, 1] or no number."""
    values = np.asarray(parameters, np.float64)
    outside = ~((values >= 0.0) & (values <= 1.0))
    if outside.any():
        place = tuple(int(index) for index in np.argwhere(outside)[0])
        raise UnusableInput(f"rig parameters{list(place)}", f"{values[place]:g}", "a number from 0 to 1")
    low, high = rig.scale_range
    angles = (values[..., :3] - 0.5) * np.deg2rad(rig.angle_range_deg)
    scales = low + values[..., 3:] * (high - low)
    return rotated(rig.vertices * scales[..., None, :], rotation(angles))
