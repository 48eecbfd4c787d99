"""The definitions of rotations. Every parity verdict depends on these functions.

Convention: a rotation matrix holds the bone's axes as **columns** and acts on column vectors; leading axes broadcast.
Quaternions are xyzw unless a name says otherwise. Angles are radians. Thresholds are the engine's.
Not here: what becomes of a short axis (gram_schmidt.py), the conventions of a bundle (six_numbers.py). Depends on numpy only,
so an engine team can port this file by reading it.
"""

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray

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


def gram_schmidt(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two orthonormal axes from two (..., 3) axes that are neither short nor parallel: `a` keeps its direction.

    Why no guard: the replacement of a short axis is a convention, see gram_schmidt.py.
    """
    first = normalised(a)
    return first, normalised(perpendicular(b, first))


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
