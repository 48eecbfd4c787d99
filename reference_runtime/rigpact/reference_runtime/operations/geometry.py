"""The definitions of rotations. Every parity verdict depends on these functions.

Convention: a rotation matrix holds the bone's axes as **columns** and acts on column vectors; leading axes broadcast.
Quaternions are (..., 4) xyzw unless a name says otherwise, Hamilton's product, R(q) v rotates v by q. Angles are radians.
Thresholds are the engine's. A sequence of Euler angles in lower case turns about fixed axes (the first letter turns first), in
capitals about the turned axes; the unit stands behind it. Not here: what becomes of a short axis, the conventions of a bundle
(six_numbers.py). Depends on numpy only, so an engine team can port this file by reading it.
"""

import itertools
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.contract.units import UNITS

BoolArray = NDArray[np.bool_]

KINDA_SMALL_NUMBER = 1e-4
"""The engine's threshold: below it `GetSafeNormal` and `IsNearlyZero` treat a vector as zero."""
TRAINING_EPSILON = 1e-8
"""The training side's lower limit of a divisor. Training still normalises vectors that the engine replaces."""


def dot(a: FloatArray, b: FloatArray) -> FloatArray:
    """Inner product of (..., 3) vectors, with shape (..., 1), so it can multiply them.

    Written out, from left to right as in C++: numpy's sums over three numbers take up to thirty times as long.
    """
    products = a * b
    return np.asarray(products[..., :1] + products[..., 1:2] + products[..., 2:])


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """Cross product of (..., 3) vectors. Written out: `np.cross` is several times slower on small arrays."""
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return np.stack((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx), axis=-1)


def length(v: FloatArray) -> FloatArray:
    """Euclidean length of (..., 3) vectors, with shape (..., 1)."""
    return np.sqrt(dot(v, v))


def is_short(v: FloatArray) -> BoolArray:
    """Whether |v| < 1e-4, (..., 1). Source: engine `Reproject6D`."""
    return length(v) < KINDA_SMALL_NUMBER


def normalised(v: FloatArray) -> FloatArray:
    """v · (1/|v|): a unit vector. Source: engine `GetSafeNormal`, which multiplies by the reciprocal as well."""
    return v * (1.0 / length(v))


def perpendicular(v: FloatArray, axis: FloatArray) -> FloatArray:
    """The part of v that is orthogonal to the unit vector `axis`."""
    return v - dot(axis, v) * axis


def most_perpendicular_axis(v: FloatArray) -> FloatArray:
    """The coordinate axis least aligned with v, (..., 3). It is never parallel to v."""
    axes: FloatArray = np.eye(3, dtype=v.dtype)[np.argmin(np.abs(v), axis=-1)]
    return axes


def compose(delta: FloatArray, previous: FloatArray) -> FloatArray:
    """ΔR · R_prev: the delta turns the bone in its parent's frame.

    The engine's `FMatrix` holds axes as rows, so a literal `DeltaM * PrevM` there is the other order. Why written out: a
    library's product may fuse or reorder the sums, and would give other bits on another machine.
    Source: contract document, section 3; training `compose_rot6d_delta`.
    """
    first, second, third = (delta[..., :, k, None] * previous[..., None, k, :] for k in range(3))
    return np.asarray(first + second + third)


def transposed(matrix: FloatArray) -> FloatArray:
    """The inverse of each rotation, (..., 3, 3)."""
    return matrix.swapaxes(-1, -2)


def rotation_angle_rad(a: FloatArray, b: FloatArray) -> FloatArray:
    """Angle of the rotation that takes `a` to `b`.

    a, b: (..., 3, 3) rotation matrices. Returns (...,) radians in [0, pi].
    Why atan2: acos of a cosine clamped at 1 - 1e-6 cannot report less than 0.081 degrees.
    Source: contract document, section 3; training `geodesic_R` uses the acos.
    """
    relative = np.swapaxes(a, -1, -2) @ b
    sine = 0.5 * length(_skew_part(relative))[..., 0]
    cosine = 0.5 * (np.trace(relative, axis1=-2, axis2=-1) - 1.0)
    return np.asarray(np.arctan2(sine, cosine))


def _skew_part(matrix: FloatArray) -> FloatArray:
    """(..., 3) vector of R - Rᵀ: twice the sine of the angle along the axis."""
    return np.stack(
        (
            matrix[..., 2, 1] - matrix[..., 1, 2],
            matrix[..., 0, 2] - matrix[..., 2, 0],
            matrix[..., 1, 0] - matrix[..., 0, 1],
        ),
        axis=-1,
    )


def matrix_to_quat(matrix: FloatArray) -> FloatArray:
    """Rotation matrix (..., 3, 3) to a unit quaternion (..., 4), xyzw.

    The largest of the four components is computed first and made positive; the others are divided by it. So half turns
    keep full precision.
    """
    r = np.moveaxis(matrix, (-2, -1), (0, 1))
    trace = r[0, 0] + r[1, 1] + r[2, 2]
    x, y, z = (1.0 + 2.0 * r[axis, axis] - trace for axis in range(3))
    w = 1.0 + trace
    xy, xz, yz = r[0, 1] + r[1, 0], r[0, 2] + r[2, 0], r[1, 2] + r[2, 1]
    xw, yw, zw = r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]
    # row c holds 4·q_c·q: the row of the largest component, normalised
    outer = ((x, xy, xz, xw), (xy, y, yz, yw), (xz, yz, z, zw), (xw, yw, zw, w))
    largest = np.argmax(np.stack((x, y, z, w)), axis=0)
    quat = [np.choose(largest, column) for column in outer]
    size = np.sqrt(quat[0] * quat[0] + quat[1] * quat[1] + quat[2] * quat[2] + quat[3] * quat[3])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.stack([component / size for component in quat], axis=-1)


def rotation_vector(matrix: FloatArray) -> FloatArray:
    """Log map: (..., 3, 3) rotation to (..., 3) axis times angle, angle in [0, pi].

    Computed through the quaternion: 2·atan2(|v|, w) is exact to rounding at both ends; acos is not. Source: training
    `so3_log_map` (its legacy form returned half of this).
    """
    return quat_to_vector(matrix_to_quat(matrix))


def quat_to_vector(quat: FloatArray) -> FloatArray:
    """Unit quaternion (..., 4), xyzw, to its shortest rotation vector (..., 3), angle in [0, pi]."""
    quat = np.where(quat[..., 3:] < 0.0, -quat, quat)
    vector, scalar = quat[..., :3], quat[..., 3:]
    size = length(vector)
    # if sin(θ/2) is below the smallest normal float, θ/sin(θ/2) equals its limit 2 to the last bit
    tiny = size < np.finfo(quat.dtype).tiny
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(tiny, 2.0, 2.0 * np.arctan2(size, scalar) / size)
    return np.asarray(factor * vector, quat.dtype)


def angular_velocity(before: FloatArray, after: FloatArray, fps: float) -> FloatArray:
    """fps · log(R_after · R_beforeᵀ), (..., 3) rad/s in the parent's frame. Source: training `angvel_vec_from_R_seq`."""
    return np.asarray(rotation_vector(after @ np.swapaxes(before, -1, -2)) * fps)


def wrapped(angle: FloatArray, turn: float) -> FloatArray:
    """Angle in (-half turn, half turn]."""
    return np.asarray(angle - turn * np.ceil(angle / turn - 0.5))


def wrap_to_pi(angle_rad: FloatArray) -> FloatArray:
    """Angle in [-π, π], both ends included. Source: engine `UnwindRadians`, which adds or subtracts turns."""
    turned = np.sign(angle_rad) * wrapped(np.abs(angle_rad), 2 * np.pi)
    return turned.astype(angle_rad.dtype) if angle_rad.dtype.kind == "f" else turned


def same_hemisphere(a: FloatArray, b: FloatArray) -> FloatArray:
    """b with each quaternion's sign chosen nearest to a: q and -q are the same rotation. Both (T, 4·B)."""
    quats_a, quats_b = (side.reshape(len(side), -1, 4) for side in (a, b))
    with np.errstate(invalid="ignore"):
        flips = np.sum(quats_a * quats_b, axis=-1, keepdims=True) < 0.0
    return np.where(flips, -quats_b, quats_b).reshape(b.shape)


def quaternion_angle_rad(a: FloatArray, b: FloatArray) -> FloatArray:
    """Angle between the quaternions of each bone, both (T, 4·B): (T, B). The chord keeps small angles exact."""
    one, other = (side.reshape(len(side), -1, 4) for side in (a, same_hemisphere(a, b)))
    chord, total = (np.linalg.norm(one + sign * other, axis=-1) for sign in (-1.0, 1.0))
    return np.asarray(4.0 * np.arctan2(chord, total))


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


def exp_map(vector_rad: FloatArray) -> FloatArray:
    """Rotation (..., 3, 3) of a rotation vector (..., 3), axis times angle in radians."""
    return to_matrix(exponential(0.5 * vector_rad))


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


def _turns_to_matrix(axes: tuple[int, int, int], factor: float, angles: FloatArray) -> FloatArray:
    """Turns about fixed axes, `axes[0]` first; angles (..., 3) stand in the order of the turns."""
    first, second, third = (turn_about(axis, angles[..., place] / factor) for place, axis in enumerate(axes))
    return np.asarray(third @ second @ first)


def _matrix_to_turns(axes: tuple[int, int, int], factor: float, matrix: FloatArray) -> FloatArray:
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
    for letters, (unit, factor) in itertools.product(itertools.permutations("xyz"), _FACTORS.items()):
        axes = ("xyz".index(letters[0]), "xyz".index(letters[1]), "xyz".index(letters[2]))
        fixed = partial(_turns_to_matrix, axes, factor), partial(_matrix_to_turns, axes, factor)
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
