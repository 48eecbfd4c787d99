"""Helpers of a robot simulator: torch, xyzw, a batch (N, …) only, roll pitch yaw, an angle and an axis, results in a tuple."""

import torch


def normalize(x, eps: float = 1e-9):
    return x / x.norm(p=2, dim=-1).clamp(min=eps, max=None).unsqueeze(-1)


def quat_mul(a, b):
    assert a.shape == b.shape
    shape = a.shape
    a, b = a.reshape(-1, 4), b.reshape(-1, 4)
    x1, y1, z1, w1 = a.unbind(-1)
    x2, y2, z2, w2 = b.unbind(-1)
    ww = (z1 + x1) * (x2 + y2)
    yy = (w1 - y1) * (w2 + z2)
    zz = (w1 + y1) * (w2 - z2)
    xx = ww + yy + zz
    qq = 0.5 * (xx + (z1 - x1) * (x2 - y2))
    w = qq - ww + (z1 - y1) * (y2 - z2)
    x = qq - xx + (x1 + w1) * (x2 + w2)
    y = qq - yy + (w1 - x1) * (y2 + z2)
    z = qq - zz + (z1 + y1) * (w2 - x2)
    return torch.stack([x, y, z, w], dim=-1).view(shape)


def quat_conjugate(a):
    shape = a.shape
    a = a.reshape(-1, 4)
    return torch.cat((-a[:, :3], a[:, -1:]), dim=-1).view(shape)


def quat_apply(a, b):
    shape = b.shape
    a, b = a.reshape(-1, 4), b.reshape(-1, 3)
    xyz = a[:, :3]
    t = xyz.cross(b, dim=-1) * 2
    return (b + a[:, 3:] * t + xyz.cross(t, dim=-1)).view(shape)


def quat_rotate(q, v):
    n = q.shape[0]
    q_w, q_vec = q[:, -1], q[:, :3]
    a = v * (2.0 * q_w**2 - 1.0).unsqueeze(-1)
    b = torch.cross(q_vec, v, dim=-1) * q_w.unsqueeze(-1) * 2.0
    c = q_vec * torch.bmm(q_vec.reshape(n, 1, 3), v.reshape(n, 3, 1)).squeeze(-1) * 2.0
    return a + b + c


def quat_rotate_inverse(q, v):
    n = q.shape[0]
    q_w, q_vec = q[:, -1], q[:, :3]
    a = v * (2.0 * q_w**2 - 1.0).unsqueeze(-1)
    b = torch.cross(q_vec, v, dim=-1) * q_w.unsqueeze(-1) * 2.0
    c = q_vec * torch.bmm(q_vec.reshape(n, 1, 3), v.reshape(n, 3, 1)).squeeze(-1) * 2.0
    return a - b + c


def quat_from_angle_axis(angle, axis):
    theta = (angle / 2).unsqueeze(-1)
    return normalize(torch.cat([normalize(axis) * theta.sin(), theta.cos()], dim=-1))


def quat_to_angle_axis(q):
    """Angle in [-pi, pi] and axis; the axis is Z where nothing turns."""
    sine = torch.sqrt((q[..., :3] ** 2).sum(-1).clamp_min(1e-30))
    angle = 2 * torch.atan2(sine, q[..., 3])
    angle = torch.atan2(torch.sin(angle), torch.cos(angle))
    turns = sine > 1e-10
    up = torch.zeros_like(q[..., :3])
    up[..., 2] = 1
    return torch.where(turns, angle, torch.zeros_like(angle)), torch.where(
        turns[..., None], q[..., :3] / sine[..., None], up
    )


def quat_from_euler_xyz(roll, pitch, yaw):
    cy, sy = torch.cos(yaw * 0.5), torch.sin(yaw * 0.5)
    cr, sr = torch.cos(roll * 0.5), torch.sin(roll * 0.5)
    cp, sp = torch.cos(pitch * 0.5), torch.sin(pitch * 0.5)
    qw = cy * cr * cp + sy * sr * sp
    qx = cy * sr * cp - sy * cr * sp
    qy = cy * cr * sp + sy * sr * cp
    qz = sy * cr * cp - cy * sr * sp
    return torch.stack([qx, qy, qz, qw], dim=-1)


def get_euler_xyz(q):
    qx, qy, qz, qw = 0, 1, 2, 3
    sinr_cosp = 2.0 * (q[:, qw] * q[:, qx] + q[:, qy] * q[:, qz])
    cosr_cosp = q[:, qw] ** 2 - q[:, qx] ** 2 - q[:, qy] ** 2 + q[:, qz] ** 2
    roll = torch.atan2(sinr_cosp, cosr_cosp)
    sinp = 2.0 * (q[:, qw] * q[:, qy] - q[:, qz] * q[:, qx])
    pitch = torch.asin(sinp.clamp(-1, 1))
    siny_cosp = 2.0 * (q[:, qw] * q[:, qz] + q[:, qx] * q[:, qy])
    cosy_cosp = q[:, qw] ** 2 + q[:, qx] ** 2 - q[:, qy] ** 2 - q[:, qz] ** 2
    yaw = torch.atan2(siny_cosp, cosy_cosp)
    return roll % (2 * torch.pi), pitch % (2 * torch.pi), yaw % (2 * torch.pi)


def normalize_angle(x):
    return torch.atan2(torch.sin(x), torch.cos(x))
