"""NeuraRig's public loop in plain numpy, with 36 mistakes that such a loop makes. It shares no code with rigpact.

Transcribed from the formulas of the C++ server and of the engine plug-in: offsets are numbers, quaternions are multiplied
term by term, legs are done one by one, frames too. Where the public builds differ from each other, this loop is as the committed
contract says; `AS_PUBLISHED` are the four choices of the public server that the contract does not share.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

Rows = dict[str, np.ndarray[Any, Any]]
Vector = np.ndarray[Any, Any]
HIPS, TARGETS, NORMALS = (7, 28), (57, 60), (49, 53)
QUATERNIONS = (3, 10, 17, 24, 31, 38, 45)
POSITIONS = (0, 7, 14, 21, 28, 35, 42, 57, 60)
AXES = ((1.0, 0.0, 0.0), (-1.0, 0.0, 0.0))
FEMUR, TIBIA = (45.751953, 45.752106), (41.705513, 41.705494)
AS_PUBLISHED = ("raw_centimetres", "raw_answer", "q_or_minus_q", "rounded_lengths")


def multiplied(a: Vector, b: Vector, mistakes: Collection[str] = ()) -> Vector:
    """Hamilton's product, x, y, z, w."""
    (ax, ay, az, aw), (bx, by, bz, bw) = a, b
    sign = -1.0 if "product_y_sign" in mistakes else 1.0
    return np.array(
        (
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - sign * ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        )
    )


def turned(q: Vector, v: Vector) -> Vector:
    """V + w t + u x t with t = 2 u x v."""
    t = 2.0 * np.cross(q[:3], v)
    return np.asarray(v + q[3] * t + np.cross(q[:3], t))


def inverse(q: Vector) -> Vector:
    return np.array((-q[0], -q[1], -q[2], q[3]))


def unit(q: Vector) -> Vector:
    return np.asarray(q / (np.sqrt(np.dot(q, q)) + 1e-8))


def packet_of(pose: Vector, mistakes: Collection[str]) -> Vector:
    """The 63 floats that the engine sends: normals and targets in the pelvis' space."""
    sent, p, q = pose.copy(), pose[0:3], unit(pose[3:7])
    for target in TARGETS:
        moved = pose[target : target + 3] - (0.0 if "target_not_moved" in mistakes else p)
        sent[target : target + 3] = turned(q if "target_turned_forward" in mistakes else inverse(q), moved)
    for normal in NORMALS:
        sent[normal : normal + 3] = turned(
            q if "normal_turned_forward" in mistakes else inverse(q), pose[normal : normal + 3]
        )
    if "packet_quaternions_w_first" in mistakes:
        for start in QUATERNIONS:
            sent[start : start + 4] = np.roll(sent[start : start + 4], 1)
    if "older_tail" in mistakes:
        sent[49:] = np.concatenate([sent[57:60], sent[49:53], sent[60:63], sent[53:57]])
    if "hits_swapped" in mistakes:
        sent[[52, 56]] = sent[[56, 52]]
    if "targets_swapped" in mistakes:
        sent[57:63] = np.concatenate([sent[60:63], sent[57:60]])
    return sent


def input_of(packet: Vector, mistakes: Collection[str]) -> Vector:
    """What the server gives to the network."""
    taken = (
        np.frombuffer(packet.astype("<f4").tobytes()[:63].ljust(252, b"\0"), "<f4")
        if "63_bytes" in mistakes
        else packet
    )
    values = np.asarray(taken, np.float64).copy()
    if "raw_centimetres" in mistakes:
        return values
    for start in POSITIONS:
        values[start : start + 3] *= 100.0 if "scaled_by_100" in mistakes else 0.01
    if "targets_in_centimetres" in mistakes:
        values[57:63] *= 100.0
    return values


def rotations_of(answer: Vector, mistakes: Collection[str]) -> Vector:
    """Six quaternions of length one, w not negative."""
    quats = answer.reshape(6, 4).astype(np.float64)
    if "normalised_together" in mistakes:
        quats = quats / np.sqrt(np.sum(quats**2))
    elif "raw_answer" not in mistakes:
        quats = np.array([unit(q) for q in quats])
    if "q_or_minus_q" not in mistakes:
        quats = np.array([-q if q[3] < 0.0 else q for q in quats])
    return quats.reshape(24)


def reply_of(rotations: Vector, mistakes: Collection[str]) -> Vector:
    """What the engine reads from the reply's bytes."""
    reply = rotations.copy()
    if "legs_swapped" in mistakes:
        reply = np.roll(reply, 12)
    if "read_one_float_late" in mistakes:
        reply = np.append(reply[1:], 0.0)
    if "reply_of_24_bytes" in mistakes:
        reply[6:] = 0.0
    return reply


def leg_of(leg: int, pose: Vector, reply: Vector, mistakes: Collection[str]) -> list[Vector]:
    """Hip, knee and foot of one leg in the world."""
    p, q = pose[0:3], unit(pose[3:7])
    if "right_hip_for_both" in mistakes:
        pose = np.concatenate([pose[:28], pose[7:10], pose[31:]])
    if "pelvis_not_turned" in mistakes:
        q = np.array((0.0, 0.0, 0.0, 1.0))
    thigh, calf, foot = (unit(reply[12 * leg + 4 * bone : 12 * leg + 4 * bone + 4]) for bone in range(3))
    start = HIPS[leg] + (1 if "hip_one_float_late" in mistakes else 7 if "hip_of_next_bone" in mistakes else 0)
    femur, tibia = FEMUR[leg], TIBIA[leg]
    if "rounded_lengths" in mistakes:
        femur, tibia = 45.75, 41.70
    axis = np.array((0.0, 0.0, -1.0) if "axis_minus_z" in mistakes else AXES[leg])
    turn: Callable[[Vector, Vector], Vector] = turned
    if "inverse_rotation" in mistakes:
        turn = lambda r, v: turned(inverse(r), v)  # noqa: E731 - three ways of one formula
    if "w_first_in_formula" in mistakes:
        turn = lambda r, v: turned(np.roll(r, -1), v)  # noqa: E731
    upper = unit(multiplied(thigh, q, mistakes) if "child_times_parent" in mistakes else multiplied(q, thigh, mistakes))
    lower = unit(
        multiplied(calf, upper, mistakes) if "child_times_parent" in mistakes else multiplied(upper, calf, mistakes)
    )
    if "calf_without_parent" in mistakes:
        upper, lower = thigh, calf
    if "knee_by_calf" in mistakes:
        upper, lower = lower, unit(multiplied(lower, foot))
    hip = p + turn(q, pose[start : start + 3])
    knee = hip + turn(upper, femur * axis)
    return [hip, knee, knee + turn(lower, tibia * axis)]


def errors_of(pose: Vector, packet: Vector, places: Vector, mistakes: Collection[str]) -> list[float]:
    """How far each foot is from its target."""
    found, q = [], unit(pose[3:7])
    for leg, target in enumerate(TARGETS):
        wanted = pose[0:3] + turned(q, packet[target : target + 3])
        if "target_without_pelvis" in mistakes:
            wanted = turned(q, packet[target : target + 3])
        if "target_in_pelvis_space" in mistakes:
            wanted = packet[target : target + 3]
        apart = places[9 * leg + 6 : 9 * leg + 9] - wanted
        squared = float(np.dot(apart, apart))
        error = squared if "squared_distance" in mistakes else np.sqrt(squared)
        found.append(float(np.abs(apart).sum()) if "sum_of_differences" in mistakes else error)
    return found


class Network:
    """63-64-64-24 with ReLU, from the weights in a file."""

    def __init__(self, path: Path) -> None:
        """Read the weights in the order of the layers."""
        graph = onnx.load(str(path)).graph
        arrays: Mapping[str, Vector] = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
        layers = [node.input[1:3] for node in graph.node if node.op_type == "Gemm"]
        self.layers = [(arrays[weight], arrays[bias]) for weight, bias in layers]

    def answer(self, values: Vector, mistakes: Collection[str]) -> Vector:
        """The raw answer for one frame."""
        for place, (weight, bias) in enumerate(self.layers):
            values = (weight @ values.astype(np.float32) + bias).astype(np.float32)
            if place < len(self.layers) - 1:
                values = np.where(values > 0.0, values, 0.01 * values if "leaky_relu" in mistakes else 0.0)
        return values


def recorded(poses: Vector, network: Network, mistakes: Sequence[str] = ()) -> Rows:
    """What the loop records of a clip, stage by stage; it goes on with its own values, stored as float32."""
    rows: dict[str, list[Vector]] = {name: [] for name in STAGES}
    shown = np.zeros(24, np.float32)
    for pose in poses.astype(np.float64):
        packet = _stored(packet_of(pose, mistakes))
        values = _stored(input_of(packet, mistakes))
        raw = _stored(network.answer(values, mistakes))
        rotations = _stored(rotations_of(raw, mistakes))
        reply = _stored(reply_of(rotations, mistakes))
        if "reply_smoothed" in mistakes and rows["reply"]:
            reply = _stored(rows["reply"][-1] + 0.25 * (reply.astype(np.float64) - rows["reply"][-1]))
        if "reply_a_frame_late" in mistakes:
            shown, reply = reply, shown if rows["reply"] else reply
        legs = [leg_of(leg, pose, reply.astype(np.float64), mistakes) for leg in range(2)]
        places = _stored(np.concatenate([joint for leg in legs for joint in leg]))
        errors = errors_of(pose, packet.astype(np.float64), places.astype(np.float64), mistakes)
        found = (packet, values, raw, rotations, reply, places, _stored(np.array(errors)))
        for name, row in zip(STAGES, found, strict=True):
            rows[name].append(row)
    return {"engine_pose": poses, **{name: np.stack(each) for name, each in rows.items()}}


STAGES = ("packet", "model_input", "raw_rotations", "rotations", "reply", "joints", "foot_error")


def _stored(values: Vector) -> Vector:
    return np.asarray(values, np.float32)
