"""What the neural IK of shadewho/exp_official computes, in numpy float32: context, network, clamp, kinematics; and mistakes.

Nothing here uses rigpact. Numbers of the rig come from the contract file as JSON, weights from the ONNX file by their shapes.
Matrices are float32 as in Blender, rotations of bones a Rodrigues matrix, angles those of `to_euler('XYZ')`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

Rows = NDArray[Any]
EFFECTORS = ("LeftHand", "RightHand", "LeftFoot", "RightFoot", "Head")
TASK_TYPES = ("idle", "locomotion", "reach", "grab", "crouch", "jump")
ROTATION_SCALE, HEIGHT_SCALE = np.float32(np.pi), np.float32(2.0)


class Upstream:
    """The add-on on one clip. record gives what it computes on the way, with one mistake or none."""

    def __init__(self, contract: Path, model: Path, clip: dict[str, Rows]) -> None:
        """clip: effectors, root, ground and motion by name, (T, width)."""
        rig = json.loads(contract.read_bytes())["constants"]
        self.parents: list[int] = rig["parents"]
        self.heads = np.array(rig["rest_heads_m"], np.float32)
        self.rest = np.array(rig["rest_orientations"], np.float32)
        self.limits = np.array(rig["limits_rad"], np.float32)
        self.lengths = np.array(rig["bone_lengths_m"], np.float32)
        self.effectors = [rig["bones"].index(name) for name in EFFECTORS]
        self.bones: list[str] = rig["bones"]
        self._layers = layers(model)
        self._clip = {name: clip[name] for name in ("effectors", "root", "ground", "motion")}

    def record(self, mistake: str = "") -> dict[str, Rows]:
        """Every stage, as float32 rows."""
        targets, root = self._clip["effectors"].reshape(-1, 5, 7), self._clip["root"]
        context = np.hstack(
            [self._effector_data(targets, root, mistake), self._ground_data(targets, mistake), self._motion(mistake)]
        )
        if mistake == "context_late":
            context = np.concatenate([context[:1], context[:-1]])
        scaled = normalised(context, mistake)
        rotations = predicted(self._layers, scaled, mistake)
        clamped = self._clamped(rotations, mistake)
        positions = self._positions(rotations if mistake == "clamped_late" else clamped, root, mistake)
        stages = {
            **self._clip, "context": context, "model_input": scaled, "rotations": rotations, "limited": clamped,
            "pose": pose(clamped, mistake), "positions": positions,
            "effector_error": self._errors(positions, targets, root, mistake),
        }  # fmt: skip
        return {name: np.ascontiguousarray(rows, np.float32).reshape(len(rows), -1) for name, rows in stages.items()}

    def _effector_data(self, targets: Rows, root: Rows, mistake: str) -> Rows:
        """Positions and angles of the effectors, forward and up, (T, 36)."""
        axes = self._root_axes(root, mistake)
        order = [1, 2, 3, 0] if mistake == "quaternion_w_first" else [0, 1, 2, 3]
        world = matrices(targets[..., 3:][..., order])
        places = targets[..., :3]
        if mistake == "tails":
            places = places + self.lengths[self.effectors, None] * world[..., 1]
        relative = relative_to_root(places - root[:, None, :3], axes, mistake)
        if mistake == "centimetres":
            relative = relative * np.float32(100.0)
        turns = np.einsum("tba,tkbc->tkac", axes, world) if mistake == "rotation_in_root" else world
        told = np.concatenate([relative, eulers(turns, mistake)], axis=2)
        places_of = {"feet_first": [2, 3, 0, 1, 4], "right_first": [1, 0, 3, 2, 4]}.get(mistake, range(5))
        forward, up = (axes[..., 2], axes[..., 1]) if mistake == "up_first" else (axes[..., 1], axes[..., 2])
        return np.hstack([told[:, places_of].reshape(len(root), -1), forward, up])

    def _root_axes(self, root: Rows, mistake: str) -> Rows:
        """right, forward and up as columns, (T, 3, 3): of `matrix_world @ bone.matrix_local`."""
        matrix = matrices(root[:, 7:]) @ self.rest[0]
        if mistake == "posed_root":
            matrix = matrices(root[:, 3:7])
        if mistake == "armature_axes":
            matrix = matrices(root[:, 7:])
        forward, up = unit(matrix[..., 1]), unit(matrix[..., 2])
        right = np.cross(up, forward) if mistake == "left_handed" else np.cross(forward, up)
        return np.stack([unit(right), forward, up], axis=-1)

    def _ground_data(self, targets: Rows, mistake: str) -> Rows:
        ground = self._clip["ground"].reshape(-1, 2, 6)
        feet = []
        for foot in (1, 0) if mistake == "feet_swapped" else (0, 1):
            height = targets[:, 2 + foot, 2] - ground[:, foot, 0]
            if mistake == "ground_height":
                height = ground[:, foot, 0]
            if mistake == "above_zero":
                height = targets[:, 2 + foot, 2]
            flags = ground[:, foot, [5, 4] if mistake == "flags_swapped" else [4, 5]]
            feet.append(np.hstack([height[:, None], ground[:, foot, 1:4], flags]))
        return np.hstack(feet)

    def _motion(self, mistake: str) -> Rows:
        motion = self._clip["motion"].copy()
        names = [TASK_TYPES[int(number)] for number in motion[:, 1]]
        order = sorted(TASK_TYPES) if mistake == "tasks_sorted" else list(TASK_TYPES)
        if mistake == "grab_is_reach":
            names = ["reach" if name == "grab" else name for name in names]
        motion[:, 1] = [order.index(name) for name in names]
        return motion

    def _clamped(self, rotations: Rows, mistake: str) -> Rows:
        low, high = self.limits[..., 0].copy(), self.limits[..., 1].copy()
        if mistake == "limits_in_degrees":
            low, high = np.degrees(low), np.degrees(high)
        if mistake == "limits_y_z":
            low, high = low[:, [0, 2, 1]], high[:, [0, 2, 1]]
        if mistake == "limits_not_mirrored":
            left = [self.bones.index(bone.replace("Right", "Left")) for bone in self.bones]
            low, high = low[left], high[left]
        if mistake == "wide_limits":
            low, high = low - np.float32(0.2), high + np.float32(0.2)
        bones = rotations.reshape(-1, len(self.bones), 3)
        return (bones if mistake == "no_clamp" else np.clip(bones, low, high)).reshape(len(rotations), -1)

    def _positions(self, rotations: Rows, root: Rows, mistake: str) -> Rows:
        """`forward_kinematics` with rest orientations, bone by bone, (T, 23, 3)."""
        local = rodrigues(rotations.reshape(len(rotations), -1, 3), mistake)
        rest = np.broadcast_to(np.eye(3, dtype=np.float32), self.rest.shape) if mistake == "no_rest" else self.rest
        armature = matrices(root[:, 7:])
        if mistake == "no_armature":
            armature = np.broadcast_to(np.eye(3, dtype=np.float32), armature.shape)
        start = (
            np.broadcast_to(np.array([0, 0, 1], np.float32), (len(root), 3))
            if mistake == "default_root"
            else root[:, :3]
        )
        first = local[:, 0] @ rest[0] if mistake == "local_first" else rest[0] @ local[:, 0]
        world, places = [armature @ first], [start]
        for bone, parent in list(enumerate(self.parents))[1:]:
            between = rest[parent].T @ rest[bone]
            is_swapped = mistake in ("local_first", "local_first_below")
            turned = local[:, bone] @ between if is_swapped else between @ local[:, bone]
            world.append(world[parent] @ turned)
            offset = self.heads[bone] - self.heads[parent]
            if mistake != "flat_offsets":
                offset = rest[parent].T @ offset
            places.append(places[parent] + world[bone if mistake == "own_offset" else parent] @ offset)
        return np.stack(places, axis=1)

    def _errors(self, positions: Rows, targets: Rows, root: Rows, mistake: str) -> Rows:
        goals = targets[..., :3]
        if mistake == "targets_in_root":
            goals = relative_to_root(goals - root[:, None, :3], self._root_axes(root, ""), "")
        ways = positions[:, self.effectors] - goals
        if mistake == "squared_error":
            return np.asarray((ways**2).sum(axis=-1))
        return np.asarray(np.linalg.norm(ways, axis=-1))


def layers(path: Path) -> list[tuple[Rows, Rows]]:
    """(weight, bias) of each linear layer by their shapes: weights (out, in), 50 to 128 to 96 to 69."""
    arrays = [numpy_helper.to_array(tensor) for tensor in onnx.load(str(path)).graph.initializer]
    weights = {array.shape: array for array in arrays if array.ndim == 2}
    biases = {array.shape[0]: array for array in arrays if array.ndim == 1}
    return [(weights[shape], biases[shape[0]]) for shape in ((128, 50), (96, 128), (69, 96))]


def unit(vectors: Rows) -> Rows:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def matrices(quaternions: Rows) -> Rows:
    """`quat_to_mat3` of Blender for x, y, z, w, (..., 3, 3)."""
    x, y, z, w = np.moveaxis(np.sqrt(np.float32(2.0)) * unit(quaternions), -1, 0)
    rows = [
        [1 - y * y - z * z, x * y - w * z, x * z + w * y],
        [x * y + w * z, 1 - x * x - z * z, y * z - w * x],
        [x * z - w * y, y * z + w * x, 1 - x * x - y * y],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2).astype(np.float32)


def eulers(matrix: Rows, mistake: str) -> Rows:
    """`mat3_to_eulO2` of Blender, order XYZ: both triples; the one of the smaller sum."""
    m = matrix.transpose(0, 1, 3, 2) if mistake == "euler_transposed" else matrix
    if mistake == "euler_zyx":  # the helper of the add-on: Rx Ry Rz
        first, last = np.arctan2(-m[..., 1, 2], m[..., 2, 2]), np.arctan2(-m[..., 0, 1], m[..., 0, 0])
        one = np.stack([first, np.arctan2(m[..., 0, 2], np.hypot(m[..., 0, 0], m[..., 0, 1])), last], axis=-1)
        half = np.copysign(np.float32(np.pi), one)
        other = np.stack([first - half[..., 0], half[..., 1] - one[..., 1], last - half[..., 2]], axis=-1)
    else:
        cosine = np.hypot(m[..., 0, 0], m[..., 1, 0])
        one, other = (
            np.stack(
                [
                    np.arctan2(sign * m[..., 2, 1], sign * m[..., 2, 2]),
                    np.arctan2(-m[..., 2, 0], sign * cosine),
                    np.arctan2(sign * m[..., 1, 0], sign * m[..., 0, 0]),
                ],
                axis=-1,
            )
            for sign in (np.float32(1.0), np.float32(-1.0))
        )
    is_more = np.abs(one).sum(axis=-1, keepdims=True) > np.abs(other).sum(axis=-1, keepdims=True)
    angles = one if mistake == "euler_one_triple" else np.where(is_more, other, one)
    return np.degrees(angles) if mistake == "euler_degrees" else angles


def relative_to_root(ways: Rows, axes: Rows, mistake: str) -> Rows:
    """`np.dot(offset, right)`, with forward, with up, (T, 5, 3)."""
    if mistake == "not_turned":
        return ways
    return np.asarray(np.einsum("tab,tkb->tka" if mistake == "root_transposed" else "tba,tkb->tka", axes, ways))


def normalised(context: Rows, mistake: str) -> Rows:
    """`normalize_input`."""
    scaled = context.copy()
    if mistake == "not_normalised":
        return scaled
    for effector in range(5):
        if mistake != "angles_not_divided":
            scaled[:, 6 * effector + 3 : 6 * effector + 6] /= ROTATION_SCALE
    for foot in range(2):
        if mistake != "heights_not_divided":
            scaled[:, 36 + 6 * foot] /= HEIGHT_SCALE
    if mistake == "phase_in_radians":
        scaled[:, 48] *= np.float32(2.0 * np.pi)
    if mistake == "task_to_one":
        scaled[:, 49] /= np.float32(5.0)
    return scaled


def predicted(network: list[tuple[Rows, Rows]], rows: Rows, mistake: str) -> Rows:
    """`forward`: tanh behind each layer but the last."""
    slope = {"relu": 0.0, "leaky_relu": 0.1}.get(mistake)
    for weight, bias in network[:-1]:
        sums = rows @ weight.T + bias
        rows = np.tanh(sums) if slope is None else np.maximum(sums, np.float32(slope) * sums)
    weight, bias = network[-1]
    return np.asarray(rows @ weight.T + (0.0 if mistake == "no_last_bias" else bias))


def pose(rotations: Rows, mistake: str) -> Rows:
    """`Quaternion(axis, angle)` of every bone, stored with w last, (T, 23, 4)."""
    vectors = rotations.reshape(len(rotations), -1, 3)
    angle = np.linalg.norm(vectors, axis=-1, keepdims=True)
    half = angle if mistake == "whole_angle" else np.float32(0.5) * angle
    axis = vectors / np.maximum(angle, np.float32(1e-8))
    if mistake == "pose_inverse":
        axis = -axis
    parts = (np.cos(half), axis * np.sin(half)) if mistake == "pose_w_first" else (axis * np.sin(half), np.cos(half))
    found = np.concatenate(parts, axis=-1)
    return np.concatenate([found[:1], found[:-1]]) if mistake == "pose_late" else found


def rodrigues(vectors: Rows, mistake: str) -> Rows:
    """`axis_angle_to_matrix`, (T, 23, 3, 3)."""
    angle = np.linalg.norm(vectors, axis=-1)
    x, y, z = np.moveaxis(vectors / np.maximum(angle, np.float32(1e-8))[..., None], -1, 0)
    turned = np.float32(2.0) * angle if mistake == "whole_angle" else angle
    c, s = np.cos(turned), np.sin(turned)
    if mistake == "rodrigues_sign":
        s = -s
    t = 1 - c
    rows = [
        [t * x * x + c, t * x * y - s * z, t * x * z + s * y],
        [t * x * y + s * z, t * y * y + c, t * y * z - s * x],
        [t * x * z - s * y, t * y * z + s * x, t * z * z + c],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2).astype(np.float32)
