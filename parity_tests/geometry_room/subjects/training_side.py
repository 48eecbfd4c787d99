"""A training side's geometry as training code has it: flat poses, batches first, an axis and an angle, the half angle.

The clamps and epsilons are those of deployed training code; `so3_log_map` still returns half of the rotation vector.
"""

import torch
from torch.nn import functional

_AXIS_OF = {"X": 0, "Y": 1, "Z": 2}


def _columns_of(pairs, columns):
    i, j = (_AXIS_OF[name] for name in columns)
    a, b = pairs[..., :3], pairs[..., 3:]
    a = a / (a.norm(dim=-1, keepdim=True) + 1e-8)
    b = b - (a * b).sum(dim=-1, keepdim=True) * a
    b = b / (b.norm(dim=-1, keepdim=True) + 1e-8)
    third = torch.cross(b, a, dim=-1)
    stacked = [third, third, third]
    stacked[i], stacked[j] = a, b
    return torch.stack(stacked, dim=-1)


def rot6d_to_matrix(x, columns=("X", "Z")):
    """(…, J·6) -> (…, J, 3, 3)"""
    return _columns_of(x.reshape(*x.shape[:-1], x.shape[-1] // 6, 6), columns)


def matrix_to_rot6d(R, columns=("X", "Z")):
    """(…, 3, 3) -> (…, 6)"""
    return torch.cat([R[..., :, _AXIS_OF[name]] for name in columns], dim=-1)


def reproject_rot6d(flat):
    pairs = flat.reshape(*flat.shape[:-1], flat.shape[-1] // 6, 6)
    a = pairs[..., :3] / pairs[..., :3].norm(dim=-1, keepdim=True).clamp_min(1e-8)
    b = pairs[..., 3:] - (a * pairs[..., 3:]).sum(dim=-1, keepdim=True) * a
    b = b / b.norm(dim=-1, keepdim=True).clamp_min(1e-8)
    return torch.cat([a, b], dim=-1).reshape(flat.shape)


def normalize_rot6d_delta(flat):
    identity = torch.tensor([1.0, 0, 0, 0, 0, 1], dtype=flat.dtype, device=flat.device)
    return reproject_rot6d(flat + identity.repeat(flat.shape[-1] // 6))


def compose_rot6d_delta(prev, delta):
    turn = rot6d_to_matrix(normalize_rot6d_delta(delta))
    return matrix_to_rot6d(turn @ rot6d_to_matrix(reproject_rot6d(prev))).reshape(prev.shape)


def so3_log_map(R):
    """Half of the rotation vector, as the deployed code had it: the quaternion's vector times θ/2 over its sine."""
    w = (R.diagonal(dim1=-2, dim2=-1).sum(-1, keepdim=True) + 1).clamp_min(1e-12).sqrt() / 2
    v = torch.stack([R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]], dim=-1)
    v = v / (4 * w)
    sine = (v * v).sum(-1, keepdim=True).clamp_min(1e-24).sqrt()
    return v / sine * torch.atan2(sine, w)


def angvel_vec_from_R_seq(R_seq, fps):
    """(B, T, J, 3, 3) -> (B, T - 1, J, 3)"""
    assert R_seq.dim() == 5
    return so3_log_map(R_seq[:, 1:] @ R_seq[:, :-1].transpose(-1, -2)) * fps


def axis_angle_to_matrix(axis, angle):
    """axis (…, 3), angle (…) in radians -> (…, 3, 3)"""
    x, y, z = functional.normalize(axis, dim=-1).unbind(-1)
    o = torch.zeros_like(x)
    K = torch.stack([o, -z, y, z, o, -x, -y, x, o], dim=-1).reshape(*axis.shape[:-1], 3, 3)
    s, c = angle.sin()[..., None, None], angle.cos()[..., None, None]
    return torch.eye(3, dtype=axis.dtype) + s * K + (1 - c) * (K @ K)


def geodesic_R(a, b):
    trace = (a.transpose(-1, -2) @ b).diagonal(dim1=-2, dim2=-1).sum(-1)
    return torch.acos(((trace - 1) / 2).clamp(-1 + 1e-6, 1 - 1e-6))
