"""What electronicarts/rig-inversion computes, in plain numpy: its toy rig, its encoder and its error; and mistakes in them.

Nothing here uses rigpact. The weights come from the ONNX file by their shapes; the other numbers stand in the published scripts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

Rows = NDArray[Any]
UNIT_CUBE = np.array([
    [-1, -1, -1], [-1, -1, 1], [-1, 1, -1], [-1, 1, 1], [1, -1, -1], [1, -1, 1], [1, 1, -1], [1, -1, -1],
], np.float64)  # fmt: skip
"""The last row repeats the fifth, as published."""
_X_FASTEST = [0, 4, 2, 6, 1, 5, 3, 7]


def encoder_weights(path: Path) -> list[tuple[Rows, Rows]]:
    """(weight, bias) of each linear layer: weights (out, in), 24 to the hidden width to 6."""
    arrays = [numpy_helper.to_array(tensor) for tensor in onnx.load(str(path)).graph.initializer]
    weights = {array.shape: array for array in arrays if array.ndim == 2}
    biases = {array.shape[0]: array for array in arrays if array.ndim == 1}
    shapes = sorted(weights, key=lambda shape: -shape[0])
    return [(weights[shape], biases[shape[0]]) for shape in shapes]


class Upstream:
    """The scripts on one animation. record gives what they compute on the way, with one mistake or none."""

    def __init__(self, weights: list[tuple[Rows, Rows]], anim_4d: Rows) -> None:
        self._weights, self._anim = weights, anim_4d.astype(np.float64)

    def record(self, mistake: str = "") -> dict[str, Rows]:
        """Every stage, as float32 rows."""
        flat = flattened(self._anim, mistake)
        found_anim = encoded(self._weights, flat, mistake)
        transform = transform_of(found_anim.astype(np.float64), mistake)
        found_4d = meshes_of(transform, mistake)
        error = vertex_error(found_4d, self._anim, mistake)
        stages = {
            "mesh": self._anim.reshape(len(flat), -1), "model_input": flat, "rig_parameters": found_anim,
            "transform": transform, "reconstruction": found_4d.reshape(len(flat), -1), "vertex_error": error,
        }  # fmt: skip
        return {name: rows.astype(np.float32) for name, rows in stages.items()}


def flattened(anim: Rows, mistake: str) -> Rows:
    """`mesh.flatten()` of every frame, as float32."""
    if mistake == "column_major":
        return anim.swapaxes(1, 2).reshape(len(anim), -1).astype(np.float32)
    if mistake == "x_fastest":
        anim = anim[:, _X_FASTEST]
    if mistake in ("centred", "layer_norm"):
        anim = anim - anim.mean(axis=1, keepdims=True)
    if mistake == "layer_norm":
        anim = anim / np.sqrt(anim.var(axis=(1, 2), keepdims=True) + 1e-5)
    if mistake == "from_neutral":
        anim = anim - UNIT_CUBE
    if mistake == "centimetres":
        anim = anim * 100.0
    if mistake == "half_precision":
        anim = anim.astype(np.float16)
    if mistake == "mesh_late":
        anim = np.concatenate([anim[:1], anim[:-1]])
    return anim.reshape(len(anim), -1).astype(np.float32)


def encoded(weights: list[tuple[Rows, Rows]], flat: Rows, mistake: str) -> Rows:
    """`make_mesh_2_rig_model`: linear, LeakyReLU, linear, sigmoid."""
    (first, first_bias), (last, last_bias) = weights
    hidden = flat @ first.T + first_bias
    slope = {"relu": 0.0, "slope_of_tensorflow": 0.2}.get(mistake, 0.01)
    hidden = np.where(hidden >= 0.0, hidden, np.float32(slope) * hidden)
    logits = hidden @ last.T + last_bias
    if mistake == "no_sigmoid":
        return np.asarray(logits)
    if mistake == "tanh":
        return np.asarray(np.tanh(logits))
    return np.asarray(np.exp(-np.logaddexp(0.0, -logits)))


def transform_of(parameters: Rows, mistake: str) -> Rows:
    """The angles in radians and the scales that `rig_model` makes of the parameters, (T, 6)."""
    if mistake == "second_sigmoid":
        parameters = 1.0 / (1.0 + np.exp(-parameters))
    order = {"scales_swapped": [0, 1, 2, 4, 3, 5], "angles_swapped": [0, 2, 1, 3, 4, 5]}.get(mistake, range(6))
    parameters = parameters[:, order]
    origin = np.array([0.0 if mistake == "one_origin" else 0.5, 0.5, 0.5])
    degrees = (parameters[:, :3] - origin) * (180.0 if mistake == "whole_range" else 90.0)
    angles = degrees if mistake == "degrees" else np.deg2rad(degrees)
    if mistake == "limited_turns":
        angles = np.clip(angles, -np.deg2rad(20.0), np.deg2rad(20.0))
    scales = parameters[:, 3:] * 2.5 - (0.0 if mistake == "scale_without_offset" else 0.5)
    if mistake == "no_negative_scale":
        scales = np.maximum(scales, 0.0)
    return np.hstack([angles, scales])


def meshes_of(transform: Rows, mistake: str) -> Rows:
    """`rig_model`: the cube times its scales, then turned about x, about y, about z, (T, 8, 3)."""
    cube = UNIT_CUBE.copy()
    if mistake == "mended_cube":
        cube[7] = 1.0
    found = []
    for row in transform:
        turns = [_about(axis, _angle(axis, row, mistake)) for axis in range(3)]
        scale = np.diag(row[3:])
        mesh = cube if mistake == "scaled_last" else cube @ scale
        for turn in turns[::-1] if mistake == "capital_letters" else turns:
            mesh = mesh @ turn.T
        if mistake == "row_vectors":
            mesh = cube @ scale @ (turns[2] @ turns[1] @ turns[0])
        found.append(mesh @ scale if mistake == "scaled_last" else mesh)
    meshes = np.array(found)
    return np.stack([meshes[..., 0], meshes[..., 2], -meshes[..., 1]], axis=-1) if mistake == "y_up" else meshes


def _angle(axis: int, row: Rows, mistake: str) -> float:
    is_inverse = mistake == "left_handed" or (mistake == "one_inverse" and axis == 1)
    return float(-row[axis] if is_inverse else row[axis])


def _about(axis: int, angle: float) -> Rows:
    """The matrix of a turn about one axis, counter-clockwise."""
    turn, (one, other) = np.eye(3), [(1, 2), (2, 0), (0, 1)][axis]
    turn[one, one] = turn[other, other] = np.cos(angle)
    turn[other, one] = np.sin(angle)
    turn[one, other] = -np.sin(angle)
    return turn


def vertex_error(found: Rows, anim: Rows, mistake: str) -> Rows:
    """`np.linalg.norm(found_4d - anim_4D, axis=-1)`, (T, 8)."""
    if mistake == "error_late":
        anim = np.concatenate([anim[:1], anim[:-1]])
    if mistake == "squared_error":
        return np.asarray(((found - anim) ** 2).sum(axis=-1))
    return np.asarray(np.linalg.norm(found - anim, axis=-1))
