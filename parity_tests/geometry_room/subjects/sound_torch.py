"""A training side's geometry in torch, as it should be: finite gradients, no constants of one dtype."""

import torch


def _unit(v, instead):
    """v / |v|; `instead` where v has no direction, which also keeps the gradient finite; NaN goes on."""
    squared = (v * v).sum(-1, keepdim=True)
    short = squared < 1e-12
    return torch.where(short, instead, v / torch.where(short, torch.ones_like(squared), squared).sqrt())


def _aside(v):
    e = torch.eye(3, dtype=v.dtype)[v.detach().abs().argmin(-1)]
    w = e - (e * v).sum(-1, keepdim=True) * v
    return w / (w * w).sum(-1, keepdim=True).sqrt()


def _axes(six):
    six = six if six.is_floating_point() else six.double()
    a = _unit(six[..., :3], torch.tensor([1, 0, 0], dtype=six.dtype))
    b = six[..., 3:] - (six[..., 3:] * a).sum(-1, keepdim=True) * a
    return a, _unit(b, _aside(a))


def rot6d_to_matrix(x):
    a, b = _axes(x)
    return torch.stack([a, torch.linalg.cross(b, a, dim=-1), b], dim=-1)


def matrix_to_rot6d(R):
    return torch.cat([R[..., :, 0], R[..., :, 2]], dim=-1)


def reproject_rot6d(flat):
    pairs = flat.unflatten(-1, (flat.shape[-1] // 6, 6))
    return torch.cat(_axes(pairs), dim=-1).reshape(flat.shape)


def normalize_rot6d_delta(flat):
    return reproject_rot6d(flat + torch.tensor([1, 0, 0, 0, 0, 1], dtype=flat.dtype).repeat(flat.shape[-1] // 6))


def compose_rot6d_delta(prev, delta):
    prev, delta = torch.broadcast_tensors(prev, delta)
    split = (prev.shape[-1] // 6, 6)
    turn = rot6d_to_matrix(normalize_rot6d_delta(delta).unflatten(-1, split))
    return matrix_to_rot6d(turn @ rot6d_to_matrix(prev.unflatten(-1, split))).reshape(prev.shape)


def matrix_to_quat(R):
    """xyzw, w >= 0."""
    R = R if R.is_floating_point() else R.double()
    x, y, z = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    xy, xz, yz = (R[..., i, j] + R[..., j, i] for i, j in ((0, 1), (0, 2), (1, 2)))
    wx, wy, wz = (R[..., i, j] - R[..., j, i] for i, j in ((2, 1), (0, 2), (1, 0)))
    rows = (
        (1 + x - y - z, xy, xz, wx),
        (xy, 1 - x + y - z, yz, wy),
        (xz, yz, 1 - x - y + z, wz),
        (wx, wy, wz, 1 + x + y + z),
    )
    table = torch.stack([torch.stack(row, -1) for row in rows], -2)
    best = table.detach().diagonal(dim1=-2, dim2=-1).argmax(-1)
    q = table.gather(-2, best[..., None, None].expand(*best.shape, 1, 4))[..., 0, :]
    q = q / (q * q).sum(-1, keepdim=True).sqrt()
    return torch.where(q[..., 3:] < 0, -q, q)


def quat_to_matrix(q):
    q = q if q.is_floating_point() else q.double()
    x, y, z, w = q.unbind(-1)
    rows = [
        1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
        2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
        2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y),
    ]  # fmt: skip
    return torch.stack(rows, -1).unflatten(-1, (3, 3))


def so3_log_map(R):
    return quat_to_axis_angle(matrix_to_quat(R))


def so3_exp_map(v):
    return quat_to_matrix(axis_angle_to_quat(v))


def geodesic_R(a, b):
    v = so3_log_map(a.transpose(-1, -2) @ b)
    squared = (v * v).sum(-1)
    zero = squared == 0
    return torch.where(zero, 0 * squared, torch.where(zero, torch.ones_like(squared), squared).sqrt())


def angvel_vec_from_R_seq(R_seq, fps):
    steps = fps * so3_log_map(R_seq[1:] @ R_seq[:-1].transpose(-1, -2))
    return torch.cat([steps, steps[-1:]])


def wrap_to_pi(angle):
    return angle - 2 * torch.pi * torch.round(angle / (2 * torch.pi))


def angvel_from_quat_seq(q_seq, fps):
    return angvel_vec_from_R_seq(quat_to_matrix(q_seq), fps)


def angvel_from_rot6d_seq(x_seq, fps):
    return angvel_vec_from_R_seq(rot6d_to_matrix(x_seq), fps)


def rot6d_to_quat(x):
    return matrix_to_quat(rot6d_to_matrix(x))


def quat_to_rot6d(q):
    return matrix_to_rot6d(quat_to_matrix(q))


def quat_to_axis_angle(q):
    q = q if q.is_floating_point() else q.double()
    v, w = q[..., :3], q[..., 3:]
    squared = (v * v).sum(-1, keepdim=True)
    small = squared < torch.finfo(q.dtype).tiny
    sine = torch.where(small, torch.ones_like(squared), squared).sqrt()
    return v * torch.where(small, 2 * torch.ones_like(sine), 2 * torch.atan2(sine, w) / sine)


def axis_angle_to_quat(v):
    v = v if v.is_floating_point() else v.double()
    squared = (v * v).sum(-1, keepdim=True)
    small = squared < 1e-12
    half = torch.where(small, torch.ones_like(squared), squared).sqrt() / 2
    factor = torch.where(small, 0.5 - squared / 48, torch.sin(half) / (2 * half))
    return torch.cat([v * factor, torch.where(small, 1 - squared / 8, torch.cos(half))], -1)


def quat_mul(a, b):
    u, v, s, t = a[..., :3], b[..., :3], a[..., 3:], b[..., 3:]
    return torch.cat([s * v + t * u + torch.linalg.cross(u, v), s * t - (u * v).sum(-1, keepdim=True)], -1)


def quat_inverse(q):
    return q * torch.tensor([-1, -1, -1, 1], dtype=q.dtype)


def quat_rotate(q, v):
    u, w = q[..., :3], q[..., 3:]
    t = 2 * torch.linalg.cross(u, v)
    return v + w * t + torch.linalg.cross(u, t)


def quat_rotate_inverse(q, v):
    return quat_rotate(quat_inverse(q), v)


def _turn(axis, angle):
    c, s, o, e = angle.cos(), angle.sin(), torch.zeros_like(angle), torch.ones_like(angle)
    rows = {"X": (e, o, o, o, c, -s, o, s, c), "Y": (c, o, s, o, e, o, -s, o, c), "Z": (c, -s, o, s, c, o, o, o, e)}
    return torch.stack(rows[axis], -1).unflatten(-1, (3, 3))


def euler_to_matrix(angles, order="ZYX"):
    angles = angles if angles.is_floating_point() else angles.double()
    a, b, c = (_turn(order[i], angles[..., i]) for i in range(3))
    return a @ b @ c


def matrix_to_euler(R, order="ZYX"):
    """R = Rz(a) Ry(b) Rx(c); the middle angle by its sine, whose gradient is finite away from the gimbal lock."""
    assert order == "ZYX"
    R = R if R.is_floating_point() else R.double()
    middle = torch.asin((-R[..., 2, 0]).clamp(-1, 1))
    return torch.stack([torch.atan2(R[..., 1, 0], R[..., 0, 0]), middle, torch.atan2(R[..., 2, 1], R[..., 2, 2])], -1)


def euler_to_quat(angles, order="ZYX"):
    return matrix_to_quat(euler_to_matrix(angles, order))


def quat_to_euler(q, order="ZYX"):
    return matrix_to_euler(quat_to_matrix(q), order)
