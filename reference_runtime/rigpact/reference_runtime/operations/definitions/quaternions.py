"""Quaternions, (..., 4) xyzw: Hamilton product, R(q) v rotates v by q; and the readings that sides confuse.

geometry.py has the way back, from a matrix to a quaternion and to a rotation vector.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.geometry import cross

SHORTEST = 1e-8
"""A quaternion shorter than this has no direction; half a rotation vector shorter than this is its own sine."""
TO_XYZW: Mapping[str, list[int]] = {"xyzw": [0, 1, 2, 3], "wxyz": [1, 2, 3, 0]}
FROM_XYZW: Mapping[str, list[int]] = {"xyzw": [0, 1, 2, 3], "wxyz": [3, 0, 1, 2]}
"""Which entries of a quaternion in this order are x, y, z and w; and which of x, y, z and w its entries are."""


def product(a: FloatArray, b: FloatArray) -> FloatArray:
    """a ⊗ b: R(a ⊗ b) = R(a) R(b), so b turns first."""
    u, v = a[..., :3], b[..., :3]
    vector = a[..., 3:] * v + b[..., 3:] * u + cross(u, v)
    scalar = a[..., 3:] * b[..., 3:] - np.sum(u * v, axis=-1, keepdims=True)
    return np.concatenate([vector, scalar], axis=-1)


def conjugate(q: FloatArray) -> FloatArray:
    """The inverse of a unit quaternion."""
    return np.asarray(q * (-1.0, -1.0, -1.0, 1.0))


def rotated(q: FloatArray, v: FloatArray) -> FloatArray:
    """R(q) v: v + 2 w (u × v) + 2 u × (u × v), (..., 3); u is the vector part. A q that is not a unit also scales."""
    u, w = q[..., :3], q[..., 3:]
    t = 2.0 * cross(*np.broadcast_arrays(u, v))
    return np.asarray(v + w * t + cross(*np.broadcast_arrays(u, t)))


def unit(q: FloatArray) -> FloatArray:
    """q / |q|; zeros become NaN."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(q / np.sqrt(np.sum(q**2, axis=-1, keepdims=True)))


def unit_or_identity(q: FloatArray) -> FloatArray:
    """q / |q|; a quaternion without a direction becomes the identity."""
    return np.where(_is_short(q), np.array([0.0, 0.0, 0.0, 1.0]), unit(q))


def unit_or_zeros(q: FloatArray) -> FloatArray:
    """q / |q|, as q / (|q| + ε) is in code; a quaternion without a direction becomes zeros, which turn nothing."""
    return np.where(_is_short(q), 0.0, unit(q))


def _is_short(q: FloatArray) -> NDArray[np.bool_]:
    return np.asarray(np.sqrt(np.sum(q**2, axis=-1, keepdims=True)) < SHORTEST)


def to_matrix(q: FloatArray) -> FloatArray:
    """The matrix (..., 3, 3) of a unit quaternion."""
    x, y, z, w = np.moveaxis(q, -1, 0)
    rows = (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)),
        (2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)),
        (2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def exponential(half: FloatArray) -> FloatArray:
    """exp of half a rotation vector, (..., 3): (sin|h|/|h| h, cos|h|); (h, 1), made a unit, below 1e-8."""
    size = np.linalg.norm(half, axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):  # 0 / 0, which is not taken
        q = np.concatenate([half * (np.sin(size) / size), np.cos(size)], axis=-1)
    return np.where(size < SHORTEST, unit(np.concatenate([half, np.ones_like(size)], axis=-1)), q)


PRODUCTS: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "first_second": product,
    "second_first": lambda a, b: product(b, a),
    "inverse_of_first": lambda a, b: product(conjugate(a), b),
    "inverse_of_second": lambda a, b: product(a, conjugate(b)),
    "first_only": lambda a, _b: a,
    "second_only": lambda _a, b: b,
}


def _one_sign_wrong(component: int, of_first: int, of_second: int) -> Callable[[FloatArray, FloatArray], FloatArray]:
    """The product with the wrong sign of one term of its cross product: a_i b_j is subtracted twice, or added."""
    sign = 1.0 if (of_first - component) % 3 == 1 else -1.0

    def multiply(a: FloatArray, b: FloatArray) -> FloatArray:
        result = product(a, b)
        result[..., component] -= 2.0 * sign * a[..., of_first] * b[..., of_second]
        return result

    return multiply


ONE_SIGN_WRONG: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    f"{'xyz'[at]}_sign_of_a{'xyz'[i]}_b{'xyz'[j]}": _one_sign_wrong(at, i, j)
    for at in range(3)
    for i, j in (((at + 1) % 3, (at + 2) % 3), ((at + 2) % 3, (at + 1) % 3))
}
"""Products with the sign of one of the six terms of the cross product wrong, by the name of the term."""
TURNS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    # which rotation turns a vector
    "forward": lambda q: q,
    "inverse": conjugate,
    "none": lambda q: q * 0.0 + (0.0, 0.0, 0.0, 1.0),
}
FRAMES: Mapping[str, Callable[[FloatArray, FloatArray, FloatArray], FloatArray]] = {
    # points, the frame's origin, its quaternion
    "into_frame": lambda points, origin, q: rotated(conjugate(q), points - origin),
    "out_of_frame": lambda points, origin, q: rotated(q, points) + origin,
    "into_frame_origin_kept": lambda points, _origin, q: rotated(conjugate(q), points),
    "into_frame_turned_forward": lambda points, origin, q: rotated(q, points - origin),
    "into_frame_not_turned": lambda points, origin, _q: points - origin,
    "out_of_frame_not_turned": lambda points, origin, _q: points + origin,
}
