"""Rotation conversions as a library of differentiable rendering has them: torch, wxyz, six numbers are the first two rows."""

import torch
from torch.nn import functional


def quaternion_to_matrix(quaternions):
    r, i, j, k = torch.unbind(quaternions, -1)
    s = 2.0 / (quaternions * quaternions).sum(-1)
    rows = (
        1 - s * (j * j + k * k), s * (i * j - k * r), s * (i * k + j * r),
        s * (i * j + k * r), 1 - s * (i * i + k * k), s * (j * k - i * r),
        s * (i * k - j * r), s * (j * k + i * r), 1 - s * (i * i + j * j),
    )  # fmt: skip
    return torch.stack(rows, -1).reshape((*quaternions.shape[:-1], 3, 3))


def matrix_to_quaternion(matrix):
    m = matrix.flatten(-2)
    xx, xy, xz, yx, yy, yz, zx, zy, zz = m.unbind(-1)
    candidates = torch.stack(
        [
            torch.stack([1 + xx + yy + zz, zy - yz, xz - zx, yx - xy], -1),
            torch.stack([zy - yz, 1 + xx - yy - zz, yx + xy, xz + zx], -1),
            torch.stack([xz - zx, yx + xy, 1 - xx + yy - zz, zy + yz], -1),
            torch.stack([yx - xy, zx + xz, zy + yz, 1 - xx - yy + zz], -1),
        ],
        -2,
    )
    best = candidates.diagonal(dim1=-2, dim2=-1).detach().argmax(-1)
    pick = best[..., None, None].expand(*best.shape, 1, 4)
    chosen = candidates.gather(-2, pick).squeeze(-2)
    return standardize_quaternion(functional.normalize(chosen, dim=-1))


def standardize_quaternion(quaternions):
    return torch.where(quaternions[..., 0:1] < 0, -quaternions, quaternions)


def quaternion_raw_multiply(a, b):
    aw, ax, ay, az = torch.unbind(a, -1)
    bw, bx, by, bz = torch.unbind(b, -1)
    ow = aw * bw - ax * bx - ay * by - az * bz
    ox = aw * bx + ax * bw + ay * bz - az * by
    oy = aw * by - ax * bz + ay * bw + az * bx
    oz = aw * bz + ax * by - ay * bx + az * bw
    return torch.stack((ow, ox, oy, oz), -1)


def quaternion_invert(quaternion):
    return quaternion * quaternion.new_tensor([1, -1, -1, -1])


def quaternion_apply(quaternion, point):
    real = point.new_zeros((*point.shape[:-1], 1))
    padded = torch.cat((real, point), -1)
    turned = quaternion_raw_multiply(quaternion_raw_multiply(quaternion, padded), quaternion_invert(quaternion))
    return turned[..., 1:]


def _axis_rotation(axis, angle):
    c, s = torch.cos(angle), torch.sin(angle)
    one, zero = torch.ones_like(angle), torch.zeros_like(angle)
    flat = {
        "X": (one, zero, zero, zero, c, -s, zero, s, c),
        "Y": (c, zero, s, zero, one, zero, -s, zero, c),
        "Z": (c, -s, zero, s, c, zero, zero, zero, one),
    }[axis]
    return torch.stack(flat, -1).reshape((*angle.shape, 3, 3))


def euler_angles_to_matrix(euler_angles, convention):
    if len(convention) != 3 or any(letter not in "XYZ" for letter in convention):
        raise ValueError(f"Invalid convention {convention}.")
    first, second, third = (
        _axis_rotation(c, e) for c, e in zip(convention, torch.unbind(euler_angles, -1), strict=True)
    )
    return torch.matmul(torch.matmul(first, second), third)


def matrix_to_euler_angles(matrix, convention):
    if len(convention) != 3 or any(letter not in "XYZ" for letter in convention):
        raise ValueError(f"Invalid convention {convention}.")
    i, j, k = ("XYZ".index(letter) for letter in convention)
    sign = 1.0 if (j - i) % 3 == 1 else -1.0
    middle = torch.asin((sign * matrix[..., i, k]).clamp(-1, 1))
    first = torch.atan2(-sign * matrix[..., j, k], matrix[..., k, k])
    last = torch.atan2(-sign * matrix[..., i, j], matrix[..., i, i])
    return torch.stack((first, middle, last), -1)


def axis_angle_to_quaternion(axis_angle):
    angles = torch.norm(axis_angle, p=2, dim=-1, keepdim=True)
    sin_half_over_angle = 0.5 * torch.sinc(angles * 0.5 / torch.pi)
    return torch.cat([torch.cos(angles * 0.5), axis_angle * sin_half_over_angle], dim=-1)


def quaternion_to_axis_angle(quaternions):
    norms = torch.norm(quaternions[..., 1:], p=2, dim=-1, keepdim=True)
    half = torch.atan2(norms, quaternions[..., :1])
    return quaternions[..., 1:] / (0.5 * torch.sinc(half / torch.pi))


def axis_angle_to_matrix(axis_angle):
    return quaternion_to_matrix(axis_angle_to_quaternion(axis_angle))


def matrix_to_axis_angle(matrix):
    return quaternion_to_axis_angle(matrix_to_quaternion(matrix))


def rotation_6d_to_matrix(d6):
    a1, a2 = d6[..., :3], d6[..., 3:]
    b1 = functional.normalize(a1, dim=-1)
    b2 = functional.normalize(a2 - (b1 * a2).sum(-1, keepdim=True) * b1, dim=-1)
    b3 = torch.cross(b1, b2, dim=-1)
    return torch.stack((b1, b2, b3), dim=-2)


def matrix_to_rotation_6d(matrix):
    return matrix[..., :2, :].clone().reshape((*matrix.shape[:-2], 6))
