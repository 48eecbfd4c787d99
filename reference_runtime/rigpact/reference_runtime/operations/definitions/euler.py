"""Euler angles: three turns about coordinate axes, as matrices and back.

A sequence in lower case turns about fixed axes (the first letter turns first), in capitals about the turned axes; the unit
stands behind it. Of the two triples that mean one rotation, the middle angle in [-90, 90] degrees is written; `TRIPLES` has both.
"""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import permutations, product

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.units import UNITS

Pair = tuple[Callable[[FloatArray], FloatArray], Callable[[FloatArray], FloatArray]]
_FACTORS = {unit: 1.0 / UNITS[unit].si for unit in ("rad", "deg")}


def turn_about(axis: int, angle: FloatArray) -> FloatArray:
    """The matrix (..., 3, 3) of a turn about a coordinate axis."""
    matrix = np.zeros((*angle.shape, 3, 3))
    one, other = (axis + 1) % 3, (axis + 2) % 3
    matrix[..., axis, axis] = 1.0
    matrix[..., one, one] = matrix[..., other, other] = np.cos(angle)
    matrix[..., other, one] = np.sin(angle)
    matrix[..., one, other] = -matrix[..., other, one]
    return matrix


def _to_matrix(axes: tuple[int, int, int], factor: float, angles: FloatArray) -> FloatArray:
    """Turns about fixed axes, `axes[0]` first; angles (..., 3) stand in the order of the turns."""
    first, second, third = (turn_about(axis, angles[..., place] / factor) for place, axis in enumerate(axes))
    return np.asarray(third @ second @ first)


def _from_matrix(axes: tuple[int, int, int], factor: float, matrix: FloatArray) -> FloatArray:
    """The inverse; at a middle angle of ±90 degrees, where the others are not determined, the first is 0."""
    i, j, k = axes
    sign = 1.0 if (j - i) % 3 == 1 else -1.0
    cosine = np.hypot(matrix[..., i, i], matrix[..., j, i])
    middle, is_locked = np.arctan2(-sign * matrix[..., k, i], cosine), cosine < 1e-7
    first = np.where(is_locked, 0.0, np.arctan2(sign * matrix[..., k, j], matrix[..., k, k]))
    free = np.arctan2(sign * matrix[..., j, i], matrix[..., i, i])
    locked = np.arctan2(-sign * matrix[..., i, j], matrix[..., j, j])
    return factor * np.stack([first, middle, np.where(is_locked, locked, free)], axis=-1)


def _turned_axes(pair: Pair) -> Pair:
    """The same three turns about the turned axes: the fixed ones in reverse order."""
    to_matrix, from_matrix = pair
    return lambda angles: to_matrix(angles[..., ::-1]), lambda matrix: from_matrix(matrix)[..., ::-1]


def _every_sequence() -> dict[str, Pair]:
    found: dict[str, Pair] = {}
    for letters, (unit, factor) in product(permutations("xyz"), _FACTORS.items()):
        axes = ("xyz".index(letters[0]), "xyz".index(letters[1]), "xyz".index(letters[2]))
        fixed = partial(_to_matrix, axes, factor), partial(_from_matrix, axes, factor)
        found[f"{''.join(letters)}_{unit}"] = fixed
        found[f"{''.join(reversed(letters)).upper()}_{unit}"] = _turned_axes(fixed)
    return found


EULER: Mapping[str, Pair] = _every_sequence()
"""`xyz_deg`, `ZYX_rad`, …: angles (..., 3) in the order of the letters to matrices, and back."""


def _smaller_sum(angles: FloatArray) -> FloatArray:
    """Of (x, y, z) and (x ± 180, 180 - y, z ± 180) degrees, all within half a turn, the one of smaller angles altogether."""
    half_turned = angles - np.pi * np.where(angles < 0.0, -1.0, 1.0)
    other = np.stack([half_turned[..., 0], -half_turned[..., 1], half_turned[..., 2]], axis=-1)
    is_smaller = np.abs(other).sum(axis=-1, keepdims=True) < np.abs(angles).sum(axis=-1, keepdims=True)
    return np.where(is_smaller, other, angles)


TRIPLES: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "smaller_sum": _smaller_sum,
    "middle_within_90_deg": lambda angles: angles,
}
"""Angles (..., 3) in radians with the middle one in [-90, 90] degrees -> the triple that a side takes; Blender: the first."""
