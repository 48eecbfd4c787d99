"""The free-run loop as the training side runs it: eager torch, the training side's own rotations and network.

A rival for speed and nothing else: it knows only the demo's conventions.
"""

from pathlib import Path

import onnx
import torch
from onnx import numpy_helper
from torch import Tensor

from rigpact.contract.statistics import SquashedStatistics
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.systems.enemy_animation.drive import ClipRows
from rigpact.training.enemy_animation.geometry import (
    identity_rot6d,
    matrix_to_rot6d,
    reproject_rot6d,
    rot6d_to_matrix,
)
from rigpact.training.enemy_animation.model import INPUT_NAMES, MotionModel


def demo_model(path: Path, contract: Contract) -> MotionModel:
    """The demo network in torch, with the weights of the exported file."""
    tensors = {
        entry.name: torch.tensor(numpy_helper.to_array(entry)) for entry in onnx.load(str(path)).graph.initializer
    }
    widths = {name: int(contract.numbers.input_widths[name] or 0) for name in INPUT_NAMES}
    model = MotionModel(widths, contract.numbers.output.width)
    model.load_state_dict({name: tensors[name] for name in model.state_dict()})
    return model.eval()


class TorchLoop:
    """A free run of the demo character; tensors have a leading axis of one run."""

    def __init__(self, contract: Contract, model: MotionModel, rows: ClipRows) -> None:
        """Turn the contract's statistics and the clip's rows into tensors."""
        self.model, self.contract, self.steps = model, contract, rows.steps
        self.cond, self.contacts = torch.tensor(rows.cond_raw), torch.tensor(rows.contacts)
        self.x_raw = torch.tensor(rows.x_raw[:1]).double()
        self.pose = contract.numbers.state["BoneRotations6D"].range
        self.history = [self.x_raw[:, self.pose]] * int(contract.numbers.pose_history_length or 0)
        state, output = contract.numbers.state_statistics, contract.numbers.output_statistics
        self.mean, self.std = torch.tensor(state.mean), torch.tensor(state.std).abs().clamp_min(1e-6)
        self.out_std = torch.tensor(output.std).double()
        self.rootvel = torch.tensor(contract.numbers.rootvel_scales).abs().clamp_min(1e-3)
        self.angvel = torch.tensor(contract.numbers.angvel_scales).abs().clamp_min(1e-3)
        self.auxiliary = [
            self.tensors(entry) for entry in (contract.numbers.angular_velocity, contract.numbers.pose_history) if entry
        ]
        self.identity = identity_rot6d(dtype=torch.float64).repeat(contract.numbers.bone_count)
        self.frame = 0

    def tensors(self, entry: SquashedStatistics) -> tuple[Tensor, Tensor, Tensor]:
        """Scale, mean and deviation of an auxiliary input, floored."""
        mean, std = torch.tensor(entry.statistics.mean), torch.tensor(entry.statistics.std).abs().clamp_min(1e-6)
        return torch.tensor(entry.scale).abs().clamp_min(1e-6), mean, std

    def state(self) -> Tensor:
        """The normalised state."""
        value, layout = self.x_raw.clone(), self.contract.numbers.state
        yaw, velocity, turning = (layout[name].range for name in ("RootYaw", "RootVelocity", "BoneAngularVelocities"))
        value[:, yaw] = ((value[:, yaw] + torch.pi) % (2 * torch.pi) - torch.pi) / torch.pi
        value[:, velocity] = torch.tanh(value[:, velocity] / self.rootvel)
        value[:, turning] = torch.tanh(value[:, turning] / self.angvel)
        return (value - self.mean) / self.std

    def squashed(self, value: Tensor, which: int) -> Tensor:
        """An auxiliary input's z-score."""
        scale, mean, std = self.auxiliary[which]
        return (torch.tanh(value / scale) - mean) / std

    @torch.inference_mode()
    def step(self) -> Tensor:
        """One frame; the published pose (1, 6·B)."""
        row = self.frame % self.steps
        omega = self.x_raw[:, self.contract.numbers.state["BoneAngularVelocities"].range]
        inputs = (
            self.state().float(),
            self.cond[row : row + 1],
            self.contacts[row : row + 1],
            self.squashed(omega, 0).float(),
            self.squashed(torch.cat(self.history, dim=1), 1).float(),
        )
        delta = reproject_rot6d(self.model(*inputs).double() * self.out_std + self.identity)
        before = rot6d_to_matrix(self.x_raw[:, self.pose].reshape(1, -1, 6))
        composed = rot6d_to_matrix(delta.reshape(1, -1, 6)) @ before
        published = reproject_rot6d(matrix_to_rot6d(composed).reshape(1, -1)).float().double()
        self.x_raw = self.x_raw.clone()
        self.x_raw[:, self.pose] = published
        self.history = [*self.history[1:], published]
        self.frame += 1
        return published
