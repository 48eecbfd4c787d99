"""Utilities of motion in-betweening: numpy, wxyz, an angle and an axis, Euler angles of a BVH file."""

import numpy as np


def length(x, axis=-1, keepdims=True):
    return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))


def quat_mul(x, y):
    x0, x1, x2, x3 = (x[..., i : i + 1] for i in range(4))
    y0, y1, y2, y3 = (y[..., i : i + 1] for i in range(4))
    return np.concatenate(
        [
            y0 * x0 - y1 * x1 - y2 * x2 - y3 * x3,
            y0 * x1 + y1 * x0 - y2 * x3 + y3 * x2,
            y0 * x2 + y1 * x3 + y2 * x0 - y3 * x1,
            y0 * x3 - y1 * x2 + y2 * x1 + y3 * x0,
        ],
        axis=-1,
    )


def quat_inv(q):
    return np.asarray([1, -1, -1, -1], dtype=q.dtype) * q


def quat_mul_vec(q, x):
    t = 2.0 * np.cross(q[..., 1:], x)
    return x + q[..., 0][..., np.newaxis] * t + np.cross(q[..., 1:], t)


def angle_axis_to_quat(angle, axis):
    c = np.cos(angle / 2.0)[..., np.newaxis]
    s = np.sin(angle / 2.0)[..., np.newaxis]
    return np.concatenate([c, s * axis], axis=-1)


def euler_to_quat(e, order="zyx"):
    axis = {
        "x": np.asarray([1, 0, 0], dtype=e.dtype),
        "y": np.asarray([0, 1, 0], dtype=e.dtype),
        "z": np.asarray([0, 0, 1], dtype=e.dtype),
    }
    q0 = angle_axis_to_quat(e[..., 0], np.broadcast_to(axis[order[0]], e.shape))
    q1 = angle_axis_to_quat(e[..., 1], np.broadcast_to(axis[order[1]], e.shape))
    q2 = angle_axis_to_quat(e[..., 2], np.broadcast_to(axis[order[2]], e.shape))
    return quat_mul(q0, quat_mul(q1, q2))


def quat_to_mat(q):
    w, x, y, z = np.moveaxis(q, -1, 0)
    return np.stack(
        [
            np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], axis=-1),
            np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], axis=-1),
            np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=-1),
        ],
        axis=-2,
    )


def remove_quat_discontinuities(rotations):
    return rotations


def wrap_angle(a):
    return np.arctan2(np.sin(a), np.cos(a))
