"""The toy rig in closed form: parameters to angles and scales, angles and scales to vertices.

Right-handed, vertices are columns, angles turn counter-clockwise about fixed axes: V' = Rz Ry Rx S v. Numpy, float64.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.rig_inversion import RigConstants

_PLANES = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}
"""For each axis: a positive turn takes the first of these two axes to the second."""


def turned(points: FloatArray, axis: str, angle_rad: FloatArray) -> FloatArray:
    """Points (..., V, 3) turned about a coordinate axis by angles (...)."""
    first, second = _PLANES[axis]
    cosine, sine = np.cos(angle_rad)[..., None], np.sin(angle_rad)[..., None]
    result = points.copy()
    result[..., first] = cosine * points[..., first] - sine * points[..., second]
    result[..., second] = sine * points[..., first] + cosine * points[..., second]
    return result


def rotated(points: FloatArray, angles_rad: FloatArray, order: Sequence[str] = ("x", "y", "z")) -> FloatArray:
    """Points (..., V, 3) turned about fixed axes, the first of `order` first, by angles (..., 3) about x, y, z."""
    for axis in order:
        points = turned(points, axis, angles_rad[..., "xyz".index(axis)])
    return points


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
    return rotated(rig.vertices * scales[..., None, :], angles)


def vertex_distance(one: FloatArray, other: FloatArray) -> FloatArray:
    """Euclidean distance of each vertex, (..., 8), of meshes (..., 8, 3)."""
    return np.asarray(np.sqrt(np.sum((one - other) ** 2, axis=-1)))
