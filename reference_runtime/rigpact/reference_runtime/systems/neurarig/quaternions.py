"""Quaternions xyzw in float64, with this system's formulas. Leading axes are free; no knob changes them."""

from __future__ import annotations

import numpy as np

from rigpact.contract.statistics import FloatArray

SHORTEST = 1e-8
"""A quaternion shorter than this has no direction and is replaced by the identity."""


def rotated(quaternion: FloatArray, vector: FloatArray) -> FloatArray:
    """v + w·t + u × t with t = 2 u × v: `vector` (..., 3) turned by unit quaternions (..., 4)."""
    axis, w = quaternion[..., :3], quaternion[..., 3:]
    twice = 2.0 * np.cross(axis, vector)
    return np.asarray(vector + w * twice + np.cross(axis, twice))


def conjugate(quaternion: FloatArray) -> FloatArray:
    """The inverse of a unit quaternion."""
    return np.asarray(quaternion * (-1.0, -1.0, -1.0, 1.0))


def product(left: FloatArray, right: FloatArray) -> FloatArray:
    """Hamilton's product: it rotates by `right` first."""
    u, v = left[..., :3], right[..., :3]
    a, b = left[..., 3:], right[..., 3:]
    vector = a * v + b * u + np.cross(u, v)
    return np.concatenate([vector, a * b - np.sum(u * v, axis=-1, keepdims=True)], axis=-1)


def normalised(quaternion: FloatArray) -> FloatArray:
    """Unit quaternions; a quaternion that is too short becomes the identity."""
    length = np.sqrt(np.sum(quaternion**2, axis=-1, keepdims=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = quaternion / length
    return np.where(length < SHORTEST, np.array([0.0, 0.0, 0.0, 1.0]), unit)


def rotator_deg_to_quaternion(rotator_deg: FloatArray) -> FloatArray:
    """Unreal's pitch, yaw, roll in degrees (..., 3) as xyzw: roll about x, then pitch, then yaw, in a left-handed space.

    The right-handed formula has the opposite sign of x and y: the results differ by up to 180 degrees for the same
    angles.
    """
    half = np.deg2rad(np.asarray(rotator_deg, np.float64)) / 2.0
    (sp, sy, sr), (cp, cy, cr) = (np.moveaxis(part, -1, 0) for part in (np.sin(half), np.cos(half)))
    return np.stack(
        [cr * sp * sy - sr * cp * cy, -cr * sp * cy - sr * cp * sy, cr * cp * sy - sr * sp * cy, cr * cp * cy + sr * sp * sy],
        axis=-1,
    )  # fmt: skip
