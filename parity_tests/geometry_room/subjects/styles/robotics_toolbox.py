"""One rotation at a time, as a robotics toolbox has it: numpy and math, columns are axes, roll pitch yaw."""

import math

import numpy as np


def so3_exp(v):
    theta = math.sqrt(float(np.dot(v, v)))
    a, b = (1.0, 0.5) if theta < 1e-8 else (math.sin(theta) / theta, (1 - math.cos(theta)) / theta**2)
    K = _skew(v)
    return (np.eye(3) + a * K + b * (K @ K)).astype(np.result_type(np.asarray(v), np.float32))


def _skew(v):
    x, y, z = float(v[0]), float(v[1]), float(v[2])
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def quat_to_matrix(q):
    x, y, z, w = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def axis_angle_to_matrix(axis, angle):
    axis = np.asarray(axis)
    K = _skew(axis / max(float(np.linalg.norm(axis)), 1e-12))
    return (np.eye(3) + math.sin(angle) * K + (1 - math.cos(angle)) * (K @ K)).astype(np.result_type(axis, np.float32))


def euler_xyz_to_matrix(roll, pitch, yaw):
    """Rz(yaw) Ry(pitch) Rx(roll)"""
    cr, sr, cp, sp = math.cos(roll), math.sin(roll), math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ],
        dtype=np.result_type(np.asarray(roll), np.float32),
    )


def matrix_to_rot6d(R):
    return np.r_[R[:, 0], R[:, 2]]
