"""A library of rotations on their manifold: torch, xyzw, names with rotvec, unitquat and rotmat."""

import torch


def rotvec_to_unitquat(rotvec):
    angle = rotvec.norm(dim=-1, keepdim=True)
    return torch.cat([0.5 * torch.sinc(angle / 2 / torch.pi) * rotvec, torch.cos(angle / 2)], dim=-1)


def unitquat_to_rotvec(quat):
    flipped = torch.where(quat[..., 3:] < 0, -quat, quat)
    half = torch.atan2(flipped[..., :3].norm(dim=-1, keepdim=True), flipped[..., 3:])
    return flipped[..., :3] / (0.5 * torch.sinc(half / torch.pi))


def unitquat_to_rotmat(quat):
    x, y, z, w = quat.unbind(-1)
    columns = (
        torch.stack([x * x - y * y - z * z + w * w, 2 * (x * y + z * w), 2 * (x * z - y * w)], -1),
        torch.stack([2 * (x * y - z * w), -x * x + y * y - z * z + w * w, 2 * (y * z + x * w)], -1),
        torch.stack([2 * (x * z + y * w), 2 * (y * z - x * w), -x * x - y * y + z * z + w * w], -1),
    )
    return torch.stack(columns, dim=-1)


def rotmat_to_unitquat(R):
    lead = R.shape[:-2]
    R = R.reshape(-1, 3, 3)
    trace = R.diagonal(dim1=-2, dim2=-1)
    decision = torch.cat([trace, trace.sum(-1, keepdim=True)], -1)
    choice = decision.detach().argmax(-1)
    q = torch.empty(len(R), 4, dtype=R.dtype)
    rows = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        parts = [None] * 4
        parts[i] = 1 - decision[:, 3] + 2 * R[:, i, i]
        parts[j] = R[:, j, i] + R[:, i, j]
        parts[k] = R[:, k, i] + R[:, i, k]
        parts[3] = R[:, k, j] - R[:, j, k]
        rows.append(torch.stack(parts, -1))
    real = [R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1], 1 + decision[:, 3]]
    rows.append(torch.stack(real, -1))
    q = torch.stack(rows, 1)[torch.arange(len(R)), choice]
    return (q / q.norm(dim=-1, keepdim=True)).reshape(*lead, 4)


def rotvec_to_rotmat(rotvec):
    return unitquat_to_rotmat(rotvec_to_unitquat(rotvec))


def rotmat_to_rotvec(R):
    return unitquat_to_rotvec(rotmat_to_unitquat(R))


def quat_product(p, q):
    pv, pw, qv, qw = p[..., :3], p[..., 3:], q[..., :3], q[..., 3:]
    vector = pw * qv + qw * pv + torch.cross(pv, qv, dim=-1)
    return torch.cat([vector, pw * qw - (pv * qv).sum(-1, keepdim=True)], dim=-1)


def quat_conjugation(quat):
    return torch.cat([-quat[..., :3], quat[..., 3:]], dim=-1)


def quat_action(q, v):
    t = 2 * torch.cross(q[..., :3], v, dim=-1)
    return v + q[..., 3:] * t + torch.cross(q[..., :3], t, dim=-1)


def rotmat_geodesic_distance(R1, R2):
    """The chordal distance, whose arc sine is exact at small angles."""
    chord = ((R1 - R2) ** 2).sum((-2, -1)).clamp_min(1e-30).sqrt()
    return 2 * torch.asin((chord / 8**0.5).clamp(max=1 - 1e-7))
