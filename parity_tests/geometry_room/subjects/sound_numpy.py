"""A training side's geometry, as it should be: written for these tests, without a look at rigpact's own.

sound_torch.py runs the same text with torch as `xp`: both libraries know these names. Gradients are finite, no constant has a
type of its own.
"""

import numpy as xp


def _floating(x):
    return x if "float" in str(x.dtype) else x * xp.asarray(1.0, dtype=xp.float64)


def _squared(v):
    return xp.sum(v * v, axis=-1, keepdims=True)


def _cross(a, b):
    return xp.stack([a[..., i] * b[..., j] - a[..., j] * b[..., i] for i, j in ((1, 2), (2, 0), (0, 1))], -1)


def _unit(v, instead):
    """v / |v|; `instead` where v has no direction, which also keeps the gradient finite; NaN goes on."""
    squared = _squared(v)
    short = squared < 1e-12
    return xp.where(short, instead, v / xp.sqrt(xp.where(short, xp.ones_like(squared), squared)))


def _aside(v):
    """Some unit vector at a right angle to the unit vectors v: the coordinate axis that v leans to least, straightened."""
    e = xp.eye(3, dtype=v.dtype)[xp.argmin(abs(v), axis=-1)]
    w = e - xp.sum(e * v, axis=-1, keepdims=True) * v
    return w / xp.sqrt(_squared(w))


def _axes(six):
    six = _floating(six)
    x = _unit(six[..., :3], xp.asarray([1, 0, 0], dtype=six.dtype))
    z = six[..., 3:] - xp.sum(six[..., 3:] * x, axis=-1, keepdims=True) * x
    return x, _unit(z, _aside(x))


def rot6d_to_matrix(x):
    a, b = _axes(x)
    return xp.stack([a, _cross(b, a), b], -1)


def matrix_to_rot6d(R):
    return xp.concatenate([R[..., :, 0], R[..., :, 2]], -1)


def _pairs(flat):
    return flat.reshape((*flat.shape[:-1], flat.shape[-1] // 6, 6))


def _flat(pairs):
    return pairs.reshape((*pairs.shape[:-2], pairs.shape[-2] * 6))


def reproject_rot6d(flat):
    return _flat(xp.concatenate(_axes(_pairs(flat)), -1))


def normalize_rot6d_delta(flat):
    return reproject_rot6d(_flat(_pairs(flat) + xp.asarray([1, 0, 0, 0, 0, 1], dtype=flat.dtype)))


def compose_rot6d_delta(prev, delta):
    turn = rot6d_to_matrix(_pairs(normalize_rot6d_delta(delta)))
    return _flat(matrix_to_rot6d(turn @ rot6d_to_matrix(_pairs(prev))))


def matrix_to_quat(R):
    """xyzw, w >= 0; from the eigenvector that belongs to the largest of the four candidates (Shepperd)."""
    R = _floating(R)
    x, y, z = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    xy, xz, yz = (R[..., i, j] + R[..., j, i] for i, j in ((0, 1), (0, 2), (1, 2)))
    wx, wy, wz = (R[..., i, j] - R[..., j, i] for i, j in ((2, 1), (0, 2), (1, 0)))
    squares = 1 + x - y - z, 1 - x + y - z, 1 - x - y + z, 1 + x + y + z
    rows = (
        (squares[0], xy, xz, wx), (xy, squares[1], yz, wy), (xz, yz, squares[2], wz), (wx, wy, wz, squares[3]),
    )  # fmt: skip
    table = xp.stack([xp.stack(row, -1) for row in rows], -2).reshape((-1, 4, 4))
    best = xp.argmax(xp.stack(squares, -1), axis=-1).reshape(-1)
    q = table[xp.arange(len(table)), best].reshape((*x.shape, 4))
    q = q / xp.sqrt(_squared(q))
    return xp.where(q[..., 3:] < 0, -q, q)


def _matrix(rows):
    return xp.stack(rows, -1).reshape((*rows[0].shape, 3, 3))


def quat_to_matrix(q):
    q = _floating(q)
    x, y, z, w = (q[..., i] for i in range(4))
    return _matrix([
        1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
        2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
        2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y),
    ])  # fmt: skip


def so3_log_map(R):
    return quat_to_axis_angle(matrix_to_quat(R))


def so3_exp_map(v):
    return quat_to_matrix(axis_angle_to_quat(v))


def geodesic_R(a, b):
    squared = _squared(so3_log_map(a.swapaxes(-1, -2) @ b))[..., 0]
    zero = squared == 0
    return xp.where(zero, 0 * squared, xp.sqrt(xp.where(zero, xp.ones_like(squared), squared)))


def angvel_vec_from_R_seq(R_seq, fps):
    steps = fps * so3_log_map(R_seq[1:] @ R_seq[:-1].swapaxes(-1, -2))
    return xp.concatenate([steps, steps[-1:]])


def wrap_to_pi(angle):
    angle = _floating(angle)
    return angle - 2 * xp.pi * xp.round(angle / (2 * xp.pi))


def angvel_from_quat_seq(q_seq, fps):
    return angvel_vec_from_R_seq(quat_to_matrix(q_seq), fps)


def angvel_from_rot6d_seq(x_seq, fps):
    return angvel_vec_from_R_seq(rot6d_to_matrix(x_seq), fps)


def rot6d_to_quat(x):
    return matrix_to_quat(rot6d_to_matrix(x))


def quat_to_rot6d(q):
    return matrix_to_rot6d(quat_to_matrix(q))


def quat_to_axis_angle(q):
    q = _floating(q)
    v, w = q[..., :3], q[..., 3:]
    small = _squared(v) < 1e-30
    sine = xp.sqrt(xp.where(small, xp.ones_like(w), _squared(v)))
    return v * xp.where(small, 2 * xp.ones_like(w), 2 * xp.arctan2(sine, w) / sine)


def axis_angle_to_quat(v):
    squared = _squared(_floating(v))
    small = squared < 1e-12
    half = xp.sqrt(xp.where(small, xp.ones_like(squared), squared)) / 2
    factor = xp.where(small, 0.5 - squared / 48, xp.sin(half) / (2 * half))
    return xp.concatenate([v * factor, xp.where(small, 1 - squared / 8, xp.cos(half))], -1)


def quat_mul(a, b):
    u, v, s, t = a[..., :3], b[..., :3], a[..., 3:], b[..., 3:]
    return xp.concatenate([s * v + t * u + _cross(u, v), s * t - xp.sum(u * v, axis=-1, keepdims=True)], -1)


def quat_inverse(q):
    return q * xp.asarray([-1, -1, -1, 1], dtype=q.dtype)


def quat_rotate(q, v):
    u, w = q[..., :3], q[..., 3:]
    t = 2 * _cross(u, v)
    return v + w * t + _cross(u, t)


def quat_rotate_inverse(q, v):
    return quat_rotate(quat_inverse(q), v)


def _turn(axis, angle):
    c, s, o, e = xp.cos(angle), xp.sin(angle), xp.zeros_like(angle), xp.ones_like(angle)
    rows = {"X": (e, o, o, o, c, -s, o, s, c), "Y": (c, o, s, o, e, o, -s, o, c), "Z": (c, -s, o, s, c, o, o, o, e)}
    return _matrix(rows[axis])


def euler_to_matrix(angles, order="ZYX"):
    angles = _floating(angles)
    a, b, c = (_turn(order[i], angles[..., i]) for i in range(3))
    return a @ b @ c


def matrix_to_euler(R, order="ZYX"):
    """R = Rz(a) Ry(b) Rx(c); the middle angle by its sine, whose gradient is finite away from the gimbal lock."""
    assert order == "ZYX"
    R = _floating(R)
    middle = xp.arcsin(xp.clip(-R[..., 2, 0], -1, 1))
    return xp.stack([xp.arctan2(R[..., 1, 0], R[..., 0, 0]), middle, xp.arctan2(R[..., 2, 1], R[..., 2, 2])], -1)


def euler_to_quat(angles, order="ZYX"):
    return matrix_to_quat(euler_to_matrix(angles, order))


def quat_to_euler(q, order="ZYX"):
    return matrix_to_euler(quat_to_matrix(q), order)
