"""A motion library for humanoid control: torch, xyzw, exponential maps, tangent and normal, velocities in the world's frame."""

import torch


def quat_mul(a, b):
    va, vb, wa, wb = a[..., :3], b[..., :3], a[..., 3:], b[..., 3:]
    vector = wa * vb + wb * va + torch.cross(va, vb, dim=-1)
    return torch.cat([vector, wa * wb - (va * vb).sum(-1, keepdim=True)], dim=-1)


def quat_inverse(x):
    return torch.cat([-x[..., :3], x[..., 3:]], dim=-1)


def quat_rotate(rot, vec):
    other = torch.cat([vec, torch.zeros_like(vec[..., :1])], dim=-1)
    return quat_mul(quat_mul(rot, other), quat_inverse(rot))[..., :3]


def quat_to_exp_map(q):
    """The rotation vector; w < 0 is flipped first."""
    q = torch.where(q[..., 3:] < 0, -q, q)
    squared = (q[..., :3] ** 2).sum(-1, keepdim=True)
    tiny = squared < 1e-24
    sine = torch.where(tiny, torch.ones_like(squared), squared).sqrt()
    return q[..., :3] * torch.where(tiny, torch.full_like(sine, 2.0), 2 * torch.atan2(sine, q[..., 3:]) / sine)


def exp_map_to_quat(exp_map):
    angle = exp_map.norm(dim=-1, keepdim=True)
    return torch.cat([exp_map * 0.5 * torch.sinc(angle / 2 / torch.pi), torch.cos(angle / 2)], dim=-1)


def quat_to_tan_norm(q):
    """What the axes X and Z become: (…, 6)"""
    tangent, normal = torch.zeros_like(q[..., :3]), torch.zeros_like(q[..., :3])
    tangent[..., 0], normal[..., 2] = 1, 1
    return torch.cat([quat_rotate(q, tangent), quat_rotate(q, normal)], dim=-1)


def compute_angular_velocity(r, time_delta: float):
    """r (…, T, J, 4) -> (…, T, J, 3) in rad/s: the step that follows, the last one again"""
    step = quat_mul(r[..., 1:, :, :], quat_inverse(r[..., :-1, :, :]))
    steps = quat_to_exp_map(step) / time_delta
    return torch.cat([steps, steps[..., -1:, :, :]], dim=-3)


def compute_linear_velocity(p, time_delta: float):
    return (p[..., 1:, :, :] - p[..., :-1, :, :]) / time_delta
