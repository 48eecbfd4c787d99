"""Torch functions that are wrong in one way each; apart from the others because torch may not be installed."""

import torch

from .defects import Defect
from .subjects import sound_torch as sound


def gradient_of_sqrt(a, b):
    """The usual mistake: the value is right at 0, the derivative of the root there is infinite times zero."""
    v = sound.so3_log_map(a.transpose(-1, -2) @ b)
    return (v * v).sum(-1).sqrt()


def gradient_of_acos(a, b):
    cosine = ((a.transpose(-1, -2) @ b).diagonal(dim1=-2, dim2=-1).sum(-1) - 1) / 2
    return torch.acos(cosine.clamp(-1, 1))


def guarded_result_only(R):
    """torch.where over a result that is NaN: the gradient of the other branch is NaN times zero."""
    q = sound.matrix_to_quat(R)
    v = q[..., :3]
    sine = (v * v).sum(-1, keepdim=True).sqrt()
    return torch.where(sine > 0, v * 2 * torch.atan2(sine, q[..., 3:]) / sine, 2 * v)


def view_needs_contiguous_memory(R):
    return sound.matrix_to_rot6d(R.view(-1, 9).view(R.shape))


def single_precision_constants(flat):
    return sound.reproject_rot6d(flat.float() + torch.tensor([1.0, 0, 0, 0, 0, 1]).repeat(flat.shape[-1] // 6))


def half_angle_log(R):
    return 0.5 * sound.so3_log_map(R)


def works_in_place(flat):
    flat.copy_(sound.reproject_rot6d(flat))
    return flat + 0


TORCH_DEFECTS = [
    Defect(code, role, says, function, alone, "torch")
    for code, role, says, function, alone in (
        ("RP881", "geodesic_R", "identical rotations", gradient_of_sqrt, True),
        ("RP881", "geodesic_R", "identical rotations", gradient_of_acos, False),
        ("RP881", "so3_log_map", "is NaN at no turn", guarded_result_only, False),
        ("RP874", "matrix_to_rot6d", "memory with its axes swapped", view_needs_contiguous_memory, True),
        ("RP876", "normalize_rot6d_delta", "returns float32 for float64", single_precision_constants, False),
        ("RP853", "so3_log_map", "returns half the angle: measured ratio 0.5000", half_angle_log, True),
        ("RP879", "reproject_rot6d", "in place", works_in_place, False),
    )
]
