"""Quaternions as text-to-motion code has them: torch with numpy twins, wxyz, six numbers are the columns X and Y."""

import numpy as np
import torch


def qinv(q):
    assert q.shape[-1] == 4, "q must be a tensor of shape (*, 4)"
    mask = torch.ones_like(q)
    mask[..., 1:] = -mask[..., 1:]
    return q * mask


def qinv_np(q):
    return qinv(torch.from_numpy(q)).numpy()


def qmul(q, r):
    assert q.shape[-1] == r.shape[-1] == 4
    shape = q.shape
    terms = torch.bmm(r.reshape(-1, 4, 1), q.reshape(-1, 1, 4))
    w = terms[:, 0, 0] - terms[:, 1, 1] - terms[:, 2, 2] - terms[:, 3, 3]
    x = terms[:, 0, 1] + terms[:, 1, 0] - terms[:, 2, 3] + terms[:, 3, 2]
    y = terms[:, 0, 2] + terms[:, 1, 3] + terms[:, 2, 0] - terms[:, 3, 1]
    z = terms[:, 0, 3] - terms[:, 1, 2] + terms[:, 2, 1] + terms[:, 3, 0]
    return torch.stack((w, x, y, z), dim=1).view(shape)


def qmul_np(q, r):
    return qmul(torch.from_numpy(q).contiguous(), torch.from_numpy(r).contiguous()).numpy()


def qrot(q, v):
    assert (q.shape[-1], v.shape[-1]) == (4, 3)
    shape = list(v.shape)
    q, v = q.contiguous().view(-1, 4), v.contiguous().view(-1, 3)
    uv = torch.cross(q[:, 1:], v, dim=1)
    uuv = torch.cross(q[:, 1:], uv, dim=1)
    return (v + 2 * (q[:, :1] * uv + uuv)).view(shape)


def qeuler(q, order, epsilon=0, deg=True):
    assert q.shape[-1] == 4
    shape = list(q.shape)
    shape[-1] = 3
    q0, q1, q2, q3 = q.contiguous().view(-1, 4).unbind(1)
    limit = 1 - epsilon
    if order == "xyz":
        x = torch.atan2(2 * (q0 * q1 - q2 * q3), 1 - 2 * (q1 * q1 + q2 * q2))
        y = torch.asin(torch.clamp(2 * (q1 * q3 + q0 * q2), -limit, limit))
        z = torch.atan2(2 * (q0 * q3 - q1 * q2), 1 - 2 * (q2 * q2 + q3 * q3))
    elif order == "zyx":
        x = torch.atan2(2 * (q0 * q1 + q2 * q3), 1 - 2 * (q1 * q1 + q2 * q2))
        y = torch.asin(torch.clamp(2 * (q0 * q2 - q1 * q3), -limit, limit))
        z = torch.atan2(2 * (q0 * q3 + q1 * q2), 1 - 2 * (q2 * q2 + q3 * q3))
    else:
        raise ValueError(order)
    angles = torch.stack((x, y, z), dim=1).view(shape)
    return angles * 180 / np.pi if deg else angles


def quaternion_to_matrix(quaternions):
    w, x, y, z = torch.unbind(quaternions, -1)
    two = 2.0 / (quaternions * quaternions).sum(-1)
    o = torch.stack(
        (
            1 - two * (y * y + z * z), two * (x * y - z * w), two * (x * z + y * w),
            two * (x * y + z * w), 1 - two * (x * x + z * z), two * (y * z - x * w),
            two * (x * z - y * w), two * (y * z + x * w), 1 - two * (x * x + y * y),
        ),
        -1,
    )  # fmt: skip
    return o.reshape((*quaternions.shape[:-1], 3, 3))


def quaternion_to_cont6d(quaternions):
    rotation_mat = quaternion_to_matrix(quaternions)
    return torch.cat([rotation_mat[..., 0], rotation_mat[..., 1]], dim=-1)


def cont6d_to_matrix(cont6d):
    assert cont6d.shape[-1] == 6, "The last dimension must be 6"
    x_raw, y_raw = cont6d[..., 0:3], cont6d[..., 3:6]
    x = x_raw / torch.norm(x_raw, dim=-1, keepdim=True).clamp_min(1e-8)
    z = torch.cross(x, y_raw, dim=-1)
    z = z / torch.norm(z, dim=-1, keepdim=True).clamp_min(1e-8)
    y = torch.cross(z, x, dim=-1)
    return torch.cat([x[..., None], y[..., None], z[..., None]], dim=-1)


def qslerp(q0, q1, t):
    return q0 * (1 - t) + q1 * t
