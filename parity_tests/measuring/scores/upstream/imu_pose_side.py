"""IMU pose as its upstream computes it, in torch, with the mistakes that ports of it had.

It shares no code with rigpact: the network's formulas are written out here and take the weights of the committed model
by their names. A defect is a word; each stands in one place of the pipeline below.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper
from torch import Tensor
from torch.nn import functional

Rows = dict[str, NDArray[np.float32]]

JOINT_COUNT = 17
GRAVITY, STANDARD_GRAVITY = 9.81, 9.80665
PELVIS = 0
CONSTRAINT_ORDER = (1, 2, 3, 4, 5, 6, 9, 10, 11, 12, 13, 14, 0, 7, 8, 15, 16)
"""The bone list of the physics loss counts torso, head, shoulders, elbows, hips, knees, ankles; the others follow."""
SIDES_SWAPPED = (0, 1, 2, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15)
HEADS_OF_LAYERS, HEADS_OF_VIEWS = 4, 2
PADDED = 20
_WIDEST = 5000.0


def weights_of(model: Path) -> dict[str, Tensor]:
    """The model's weights by their torch names. A transposed weight has lost its name: the bias added to it has not."""
    graph = onnx.load(str(model)).graph
    arrays = {each.name: torch.from_numpy(numpy_helper.to_array(each).copy()) for each in graph.initializer}
    products = {node.output[0]: node.input[1] for node in graph.node if node.op_type == "MatMul"}
    for node in graph.node:
        if node.op_type != "Add":
            continue
        for product, bias in (node.input, reversed(node.input)):
            if product in products and bias.endswith("bias") and products[product] in arrays:
                arrays[bias.removesuffix("bias") + "weight"] = arrays[products[product]].T
    return arrays


class UpstreamNetwork:
    """The transformer with its heads. defect: a mistake inside it, or none."""

    def __init__(self, weights: Mapping[str, Tensor], defect: str = "") -> None:
        """Keep the weights."""
        self._weights, self._defect = weights, defect
        self._chance = torch.Generator().manual_seed(11)

    def __call__(self, samples: NDArray[np.float32]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """A window (T, 6) -> head (T, 102), exercise and form logits, uncertainty."""
        shared = self._shared(torch.from_numpy(np.ascontiguousarray(samples, np.float32)))
        content, style = self._linear("to_content", shared), self._linear("to_style", shared)
        seen_style = self._attended("content_attention", content, style, HEADS_OF_VIEWS)
        seen_content = self._attended("style_attention", style, content, HEADS_OF_VIEWS)
        content = self._normed("content_norm", content + seen_style)
        style = self._normed("style_norm", style + seen_content)
        return (
            self._perceptron("pose_head", shared, 3),
            self._perceptron("exercise_head", content.mean(dim=0), 2),
            self._perceptron("form_head", style.mean(dim=0), 3),
            torch.sigmoid(self._perceptron("uncertainty_head", shared, 2)).mean(dim=0),
        )

    def _shared(self, samples: Tensor) -> Tensor:
        features = samples.T[None]
        for layer in (0, 4, 8, 12):  # each with its batch norm folded in
            weight, bias = self._weights[f"convolutions.{layer}.weight"], self._weights[f"convolutions.{layer}.bias"]
            features = self._dropped(
                torch.relu(functional.conv1d(features, weight, bias, padding=weight.shape[2] // 2))
            )
        features = self._linear("projection", features[0].T)
        if self._defect != "no_positions":
            features = features + _positions(*features.shape)
        for layer in (0, 1):
            name = f"transformer.layers.{layer}"
            attended = self._attended(f"{name}.self_attn", features, features, HEADS_OF_LAYERS)
            features = self._normed(f"{name}.norm1", features + self._dropped(attended))
            approximation = "tanh" if self._defect == "gelu_by_tanh" else "none"
            hidden = functional.gelu(self._linear(f"{name}.linear1", features), approximate=approximation)
            wide = self._linear(f"{name}.linear2", self._dropped(hidden))
            features = self._normed(f"{name}.norm2", features + self._dropped(wide))
        return features

    def _linear(self, name: str, rows: Tensor) -> Tensor:
        return rows @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _normed(self, name: str, rows: Tensor) -> Tensor:
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        return functional.layer_norm(rows, weight.shape, weight, bias)

    def _attended(self, name: str, asking: Tensor, asked: Tensor, heads: int) -> Tensor:
        weights, biases = (self._weights[f"{name}.in_proj_{what}"].chunk(3) for what in ("weight", "bias"))
        query, key, value = (
            (rows @ weight.T + bias).reshape(len(rows), heads, -1).transpose(0, 1)
            for rows, weight, bias in zip((asking, asked, asked), weights, biases, strict=True)
        )
        scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
        if self._defect == "causal_mask":
            scores = scores + torch.full(scores.shape[1:], -torch.inf).triu(1)
        mixed = (torch.softmax(scores, dim=-1) @ value).transpose(0, 1).reshape(asking.shape)
        return self._linear(f"{name}.out_proj", mixed)

    def _perceptron(self, name: str, rows: Tensor, layers: int) -> Tensor:
        for layer in range(layers):
            rows = self._linear(f"{name}.{3 * layer}", rows)
            if layer < layers - 1:
                rows = self._dropped(torch.relu(rows))
        return rows

    def _dropped(self, rows: Tensor) -> Tensor:
        if self._defect != "training_mode":
            return rows
        kept = torch.rand(rows.shape, generator=self._chance) >= 0.1
        return rows * kept / 0.9


def _positions(count: int, width: int) -> Tensor:
    places = torch.arange(count, dtype=torch.float32)[:, None]
    angles = places * torch.exp(torch.arange(0, width, 2, dtype=torch.float32) * (-math.log(10_000.0) / width))
    return torch.stack((torch.sin(angles), torch.cos(angles)), dim=-1).reshape(count, width)


def recorded(weights: Mapping[str, Tensor], imu: NDArray[np.float32], temperature: float, defect: str = "") -> Rows:
    """Every stage of one window, (T, width), as an engine with this defect records it."""
    model_input = model_input_of(imu, defect).astype(np.float32)
    window = np.concatenate([model_input[:1], model_input[:-1]]) if defect == "window_late" else model_input
    with torch.no_grad():
        answers = [answer.numpy() for answer in UpstreamNetwork(weights, defect)(window)]
    head, *of_window = answers
    pose, log_variance = split(head, defect)
    sigma = spread(log_variance, defect) * (1.0 if defect == "no_temperature" else np.float32(temperature))
    rows = {"imu": imu, "model_input": model_input, "head": head}
    rows |= {
        name: np.broadcast_to(each, (len(imu), each.shape[-1]))
        for name, each in zip(("exercise_logits", "form_logits", "uncertainty"), of_window, strict=True)
    }
    rows |= {"pose": pose, "log_variance": log_variance, "sigma": sigma}
    return {name: np.ascontiguousarray(each, np.float32) for name, each in rows.items()}


def model_input_of(imu: NDArray[np.float32], defect: str) -> NDArray[np.float64]:
    """Specific force without gravity and angular rate, both by five."""
    acceleration, rate = imu[:, :3].astype(np.float64), imu[:, 3:].astype(np.float64)
    if defect == "spatial_vectors":  # MuJoCo: rotation first
        acceleration, rate = rate, acceleration
    if defect == "ios_sign":
        acceleration = -acceleration
    if defect == "in_g":
        acceleration = acceleration / GRAVITY
    if defect == "in_degrees":
        rate = np.degrees(rate)
    if defect == "sensor_y_up":
        acceleration, rate = _y_up(acceleration), _y_up(rate)
    return _scaled(acceleration, rate, defect)


def _scaled(acceleration: NDArray[np.float64], rate: NDArray[np.float64], defect: str) -> NDArray[np.float64]:
    if defect == "noise_in_place":  # every sample's noise stays in the buffer of the next
        acceleration = acceleration + np.cumsum(np.random.default_rng(3).normal(0.0, 0.05, acceleration.shape), axis=0)
    if defect == "window_standardised":
        both = np.hstack([acceleration, rate])
        return np.asarray((both - both.mean(axis=0)) / both.std(axis=0))
    if defect not in ("gravity_kept", "as_it_comes"):
        removed = STANDARD_GRAVITY if defect == "standard_gravity" else GRAVITY
        acceleration = acceleration - (0.0, 0.0, -removed if defect == "gravity_added" else removed)
    if defect == "y_up_late":
        acceleration, rate = _y_up(acceleration), _y_up(rate)
    both = np.hstack([acceleration, rate]) / (1.0 if defect == "as_it_comes" else 5.0)
    if defect == "zero_padded":
        both[:PADDED] = 0.0
    return both


def _y_up(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return rows[:, [0, 2, 1]] * (1.0, 1.0, -1.0)


def split(head: NDArray[np.float32], defect: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Means and log-variances: the last layer is viewed as (17, 3, 2)."""
    count = len(head)
    mean, log_variance = np.moveaxis(head.reshape(count, JOINT_COUNT, 3, 2), -1, 0)
    if defect == "swapped":
        mean, log_variance = log_variance, mean
    if defect == "halves":
        mean, log_variance = np.moveaxis(head.reshape(count, 2, JOINT_COUNT, 3), 1, 0)
    if defect == "axes_first":
        mean, log_variance = head.reshape(count, 3, JOINT_COUNT, 2).transpose(3, 0, 2, 1)
    for name, order in (("constraint_order", CONSTRAINT_ORDER), ("sides_swapped", SIDES_SWAPPED)):
        if defect == name:
            mean, log_variance = mean[:, order], log_variance[:, order]
    if defect == "pelvis_relative":
        mean = mean - mean[:, [PELVIS]]
    if defect == "pose_y_up":
        mean, log_variance = mean[..., [0, 2, 1]] * np.array([1, 1, -1], np.float32), log_variance[..., [0, 2, 1]]
    low, high = {"clamp_ten": (-10.0, 10.0), "no_clamp": (-_WIDEST, _WIDEST)}.get(defect, (-8.0, 4.0))
    return mean.reshape(count, -1), np.clip(log_variance.reshape(count, -1), low, high)


def spread(log_variance: NDArray[np.float32], defect: str) -> NDArray[np.float32]:
    """The standard deviation before the calibration."""
    if defect == "variance_as_sigma":
        return np.exp(log_variance)
    if defect == "softplus":
        return np.sqrt(np.log1p(np.exp(log_variance)))
    if defect == "epsilon":  # as in the likelihood of the training
        return np.sqrt(np.exp(log_variance) + np.float32(1e-6))
    return np.asarray(np.exp(np.float32(0.5) * log_variance))
