"""A training side's geometry in numpy, as it should be: written for these tests, without a look at rigpact's own."""

import numpy as np


def _unit(v, instead):
    """v / |v|; `instead` where v has no direction; NaN goes on."""
    size = np.sqrt(np.sum(v * v, axis=-1, keepdims=True))
    short = size < 1e-6
    return np.where(short, instead, v / np.where(short, np.ones_like(size), size))


def _aside(v):
    """Some unit vector at a right angle to the unit vectors v: the coordinate axis that v leans to least, straightened."""
    e = np.eye(3, dtype=v.dtype)[np.argmin(np.abs(v), axis=-1)]
    w = e - np.sum(e * v, axis=-1, keepdims=True) * v
    return w / np.sqrt(np.sum(w * w, axis=-1, keepdims=True))


def _floating(x):
    return x if np.issubdtype(x.dtype, np.floating) else x.astype(np.float64)


def _axes(six):
    six = _floating(six)
    x = _unit(six[..., :3], np.array([1, 0, 0], six.dtype))
    z = six[..., 3:] - np.sum(six[..., 3:] * x, axis=-1, keepdims=True) * x
    return x, _unit(z, _aside(x))


def rot6d_to_matrix(x):
    a, b = _axes(x)
    return np.stack([a, np.cross(b, a), b], axis=-1)


def matrix_to_rot6d(R):
    return np.concatenate([R[..., :, 0], R[..., :, 2]], axis=-1)


def reproject_rot6d(flat):
    pairs = flat.reshape(*flat.shape[:-1], -1, 6) if flat.size else flat
    return np.concatenate(_axes(pairs), axis=-1).reshape(flat.shape)


def normalize_rot6d_delta(flat):
    identity = np.tile(np.array([1, 0, 0, 0, 0, 1], flat.dtype), flat.shape[-1] // 6)
    return reproject_rot6d(flat + identity)


def compose_rot6d_delta(prev, delta):
    prev, delta = np.broadcast_arrays(prev, delta)
    split = (*prev.shape[:-1], prev.shape[-1] // 6, 6)
    turn = rot6d_to_matrix(normalize_rot6d_delta(delta).reshape(split))
    return matrix_to_rot6d(turn @ rot6d_to_matrix(prev.reshape(split))).reshape(prev.shape)


def matrix_to_quat(R):
    """xyzw, w >= 0; from the eigenvector that belongs to the largest of the four candidates (Shepperd)."""
    R = _floating(R)
    t = R[..., 0, 0] + R[..., 1, 1] + R[..., 2, 2]
    squares = np.stack([1 + 2 * R[..., 0, 0] - t, 1 + 2 * R[..., 1, 1] - t, 1 + 2 * R[..., 2, 2] - t, 1 + t], axis=-1)
    k = np.argmax(squares, axis=-1)
    xy, xz, yz = (R[..., i, j] + R[..., j, i] for i, j in ((0, 1), (0, 2), (1, 2)))
    wx, wy, wz = (R[..., i, j] - R[..., j, i] for i, j in ((2, 1), (0, 2), (1, 0)))
    s = squares
    table = np.stack(
        [
            np.stack([s[..., 0], xy, xz, wx], axis=-1), np.stack([xy, s[..., 1], yz, wy], axis=-1),
            np.stack([xz, yz, s[..., 2], wz], axis=-1), np.stack([wx, wy, wz, s[..., 3]], axis=-1),
        ],
        axis=-2,
    )  # fmt: skip
    q = np.take_along_axis(table, k[..., None, None], axis=-2)[..., 0, :]
    q = q / np.sqrt(np.sum(q * q, axis=-1, keepdims=True))
    return np.where(q[..., 3:] < 0, -q, q)


def quat_to_matrix(q):
    q = _floating(q)
    x, y, z, w = (q[..., i] for i in range(4))
    rows = [
        1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
        2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
        2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y),
    ]  # fmt: skip
    return np.stack(rows, axis=-1).reshape(*q.shape[:-1], 3, 3)


def so3_log_map(R):
    return quat_to_axis_angle(matrix_to_quat(R))


def so3_exp_map(v):
    return quat_to_matrix(axis_angle_to_quat(v))


def geodesic_R(a, b):
    return np.linalg.norm(so3_log_map(np.swapaxes(a, -1, -2) @ b), axis=-1)


def angvel_vec_from_R_seq(R_seq, fps):
    steps = so3_log_map(R_seq[1:] @ np.swapaxes(R_seq[:-1], -1, -2)) * np.asarray(fps, _floating(R_seq).dtype)
    return np.concatenate([steps, steps[-1:]])


def wrap_to_pi(angle):
    angle = _floating(np.asarray(angle))
    two_pi = np.asarray(2 * np.pi, angle.dtype)
    return angle - two_pi * np.round(angle / two_pi)


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
    sine = np.sqrt(np.sum(v * v, axis=-1, keepdims=True))
    small = sine < 1e-15
    return v * np.where(small, 2, 2 * np.arctan2(sine, w) / np.where(small, 1, sine)).astype(q.dtype)


def axis_angle_to_quat(v):
    v = _floating(v)
    half = np.sqrt(np.sum(v * v, axis=-1, keepdims=True)) / 2
    return np.concatenate([v * (np.sinc(half / np.asarray(np.pi, v.dtype)) / 2), np.cos(half)], axis=-1)


def quat_mul(a, b):
    u, v, s, t = a[..., :3], b[..., :3], a[..., 3:], b[..., 3:]
    return np.concatenate([s * v + t * u + np.cross(u, v), s * t - np.sum(u * v, axis=-1, keepdims=True)], axis=-1)


def quat_inverse(q):
    return q * np.array([-1, -1, -1, 1], q.dtype)


def quat_rotate(q, v):
    u, w = q[..., :3], q[..., 3:]
    t = 2 * np.cross(u, v)
    return v + w * t + np.cross(u, t)


def quat_rotate_inverse(q, v):
    return quat_rotate(quat_inverse(q), v)


def _turn(axis, angle):
    c, s, o, e = np.cos(angle), np.sin(angle), np.zeros_like(angle), np.ones_like(angle)
    rows = {"X": (e, o, o, o, c, -s, o, s, c), "Y": (c, o, s, o, e, o, -s, o, c), "Z": (c, -s, o, s, c, o, o, o, e)}
    return np.stack(rows[axis], axis=-1).reshape(*angle.shape, 3, 3)


def euler_to_matrix(angles, order="ZYX"):
    angles = _floating(angles)
    a, b, c = (_turn(order[i], angles[..., i]) for i in range(3))
    return a @ b @ c


def matrix_to_euler(R, order="ZYX"):
    """R = Rz(a) Ry(b) Rx(c)"""
    assert order == "ZYX"
    R = _floating(R)
    middle = np.arctan2(-R[..., 2, 0], np.hypot(R[..., 0, 0], R[..., 1, 0]))
    return np.stack([np.arctan2(R[..., 1, 0], R[..., 0, 0]), middle, np.arctan2(R[..., 2, 1], R[..., 2, 2])], axis=-1)


def euler_to_quat(angles, order="ZYX"):
    return matrix_to_quat(euler_to_matrix(angles, order))


def quat_to_euler(q, order="ZYX"):
    return matrix_to_euler(quat_to_matrix(q), order)
