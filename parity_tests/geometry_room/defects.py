"""Functions that are wrong in one way each, as training sides have them, and the finding that must name it.

Each is a sound function with one change. `alone` marks those that must bring about that finding and no other.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .subjects import sound_numpy as sound


@dataclass(frozen=True)
class Defect:
    """A wrong function: the code that must be found, the role it plays, a word of the message."""

    code: str
    role: str
    says: str
    function: Callable[..., Any]
    alone: bool = True
    library: str = "numpy"

    @property
    def name(self):
        return f"{self.code}-{self.function.__name__}"


DEFECTS: list[Defect] = []


def defect(code, role, says, *, alone=True):
    def keep(function):
        DEFECTS.append(Defect(code, role, says, function, alone))
        return function

    return keep


def inverse(R):
    return np.swapaxes(R, -1, -2)


ROWS: tuple[tuple[Any, ...], ...] = (
    ("RP883", "so3_log_map", "KeyError: 'skeleton'", "log_that_needs_a_skeleton", lambda R: {}["skeleton"]),
    ("RP883", "so3_log_map", "a list where an array is expected", "log_as_a_list", lambda R: sound.so3_log_map(R).tolist()),
    ("RP851", "geodesic_R", "returns the shape [] for float32 input", "mean_distance_of_singles",
     lambda a, b: sound.geodesic_R(a, b) if a.dtype != np.float32 else np.mean(sound.geodesic_R(a, b))),
    ("RP883", "geodesic_R", "returns the shape []", "mean_distance",
     lambda a, b: np.mean(sound.geodesic_R(a, b)) if np.ndim(a) > 2 else np.ones(3)),
    ("RP852", "matrix_to_rot6d", "no known convention explains it", "columns_with_a_sign_lost",
     lambda R: np.abs(sound.matrix_to_rot6d(R))),
    ("RP853", "so3_log_map", "returns half the angle: measured ratio 0.5000", "half_angle_log",
     lambda R: sound.so3_log_map(R) / 2),
    ("RP853", "angvel_vec_from_R_seq", "returns half the angle: measured ratio 0.5000", "half_angle_velocity",
     lambda R_seq, fps: sound.angvel_vec_from_R_seq(R_seq, fps) / 2),
    ("RP853", "so3_exp_map", "takes half the angle", "exp_of_half", lambda v: sound.so3_exp_map(v / 2)),
    ("RP854", "so3_log_map", "returns degrees: measured ratio 57.2958", "log_in_degrees",
     lambda R: np.degrees(sound.so3_log_map(R))),
    ("RP854", "geodesic_R", "returns degrees", "distance_in_degrees", lambda a, b: np.degrees(sound.geodesic_R(a, b))),
    ("RP854", "so3_exp_map", "takes twice the angle", "exp_of_double", lambda v: sound.so3_exp_map(v * 2)),
    ("RP855", "so3_log_map", "measured ratio -1.0000", "transposed_log", lambda R: sound.so3_log_map(inverse(R))),
    ("RP855", "so3_exp_map", "takes the inverse rotation", "transposed_exp", lambda v: inverse(sound.so3_exp_map(v))),
    ("RP855", "angvel_vec_from_R_seq", "inverse rotation", "inverse_velocity",
     lambda R_seq, fps: -sound.angvel_vec_from_R_seq(R_seq, fps)),
    ("RP855", "geodesic_R", "the angle of A·B, not of Aᵀ·B", "distance_of_the_product",
     lambda a, b: sound.geodesic_R(inverse(a), b), False),
    ("RP857", "matrix_to_rot6d", "rows X and Y", "row_packing",
     lambda R: np.concatenate([R[..., 0, :], R[..., 1, :]], axis=-1)),
    ("RP857", "rot6d_to_matrix", "rows X and Y", "rows_as_other_libraries_have_them", lambda x: inverse(xy_columns(x))),
    ("RP861", "reproject_rot6d", "come back as they were", "no_renormalisation", lambda flat: flat + 0),
    ("RP862", "quat_to_matrix", "orders quaternions wxyz, the contract xyzw", "scalar_first",
     lambda q: sound.quat_to_matrix(q[..., [1, 2, 3, 0]])),
    ("RP862", "matrix_to_quat", "orders quaternions wxyz", "scalar_first_out",
     lambda R: sound.matrix_to_quat(R)[..., [3, 0, 1, 2]]),
    ("RP864", "angvel_vec_from_R_seq", "per frame, not per second", "velocity_per_frame",
     lambda R_seq, fps: sound.angvel_vec_from_R_seq(R_seq, 1)),
    ("RP864", "angvel_vec_from_R_seq", "per frame, not per second", "velocity_without_a_rate",
     lambda R_seq: sound.angvel_vec_from_R_seq(R_seq, 1)),
    ("RP864", "angvel_vec_from_R_seq", "at a rate of its own, 30 frames a second", "velocity_at_thirty",
     lambda R_seq, fps: sound.angvel_vec_from_R_seq(R_seq, 30)),
    ("RP864", "angvel_vec_from_R_seq", "divided by the rate", "velocity_divided",
     lambda R_seq, fps: sound.angvel_vec_from_R_seq(R_seq, 1 / fps)),
    ("RP882", "wrap_to_pi", "angles come back as they were", "unwrapped_yaw", lambda angle: angle + 0.0),
    ("RP862", "quat_mul", "orders quaternions wxyz, the contract xyzw", "product_scalar_first",
     lambda a, b: sound.quat_mul(a[..., [1, 2, 3, 0]], b[..., [1, 2, 3, 0]])[..., [3, 0, 1, 2]]),
    ("RP862", "quat_inverse", "orders quaternions wxyz", "inverse_scalar_first",
     lambda q: q * np.array([1, -1, -1, -1], q.dtype)),
    ("RP855", "quat_rotate", "it turns vectors by the inverse: Rᵀ·v", "rotated_backwards",
     lambda q, v: sound.quat_rotate_inverse(q, v)),  # noqa: PLW0108
    ("RP855", "quat_rotate_inverse", "it turns vectors forwards: R·v", "rotated_forwards", lambda q, v: sound.quat_rotate(q, v)),  # noqa: PLW0108
    ("RP855", "quat_inverse", "its own input", "no_inverse", lambda q: q + 0),
    ("RP854", "axis_angle_to_quat", "takes twice the angle", "quat_of_the_whole_angle",
     lambda v: sound.axis_angle_to_quat(2 * v)),
    ("RP853", "quat_to_axis_angle", "returns half the angle", "half_angle_of_quat",
     lambda q: sound.quat_to_axis_angle(q) / 2),
    ("RP854", "so3_exp_map", "takes degrees", "exp_of_degrees",
     lambda axis, angle: sound.so3_exp_map(axis * np.radians(angle)[..., None])),
    ("RP854", "euler_to_matrix", "takes degrees", "euler_of_another_unit_xyz",
     lambda angles: sound.euler_to_matrix(np.radians(angles), "XYZ")),
    ("RP857", "rot6d_to_quat", "uses rows X and Y", "quat_of_rows", lambda x: sound.matrix_to_quat(inverse(xy_columns(x)))),
    ("RP864", "angvel_from_quat_seq", "per frame, not per second", "quat_velocity_per_frame",
     lambda q_seq, fps: sound.angvel_from_quat_seq(q_seq, 1)),
    ("RP855", "euler_to_quat", "it computes R = (", "transposed_euler_xyz",
     lambda angles: sound.quat_inverse(sound.euler_to_quat(angles, "XYZ"))),
    ("RP885", "quat_mul", "computes b · a (a turns first)", "product_swapped", lambda a, b: sound.quat_mul(b, a)),
    ("RP886", "euler_to_matrix", "no order is declared", "euler_of_no_order",
     lambda angles: sound.euler_to_matrix(angles, "ZXY")),
    ("RP872", "rot6d_to_matrix", "turns a NaN in its input into", "nan_is_identity",
     lambda x: sound.rot6d_to_matrix(np.where(np.isnan(x), np.array([1, 0, 0, 0, 0, 1], x.dtype), x))),
    ("RP873", "reproject_rot6d", "another result", "scaled_by_the_batch",
     lambda x: sound.reproject_rot6d(x) * (np.abs(x).max() / max(1e-30, np.abs(x).reshape(-1, 6)[0].max())) ** 0.1, False),
    ("RP873", "reproject_rot6d", "several bones stand in one flat vector", "one_bone_only",
     lambda flat: np.concatenate([sound.reproject_rot6d(flat[..., :6]), flat[..., 6:]], axis=-1), False),
    ("RP876", "matrix_to_rot6d", "returns float64 for float32 input", "always_float64",
     lambda R: sound.matrix_to_rot6d(R).astype(np.float64)),
    ("RP876", "so3_exp_map", "returns float32 for float64 input", "always_float32",
     lambda v: sound.so3_exp_map(v.astype(np.float32)), False),
    ("RP878", "so3_exp_map", "in float64", "float32_inside",
     lambda v: sound.so3_exp_map(v.astype(np.float32)).astype(sound._floating(v).dtype)),
    ("RP880", "matrix_to_rot6d", "another result when called again", "jittered",
     lambda R: sound.matrix_to_rot6d(R) + np.asarray(1e-9 * next(_CALLS), R.dtype), False),
)  # fmt: skip
"""Defects of one expression: code, role, words, name, function, and False where it is not alone."""


def _add(rows):
    for code, role, says, name, function, *alone in rows:
        function.__name__ = name
        DEFECTS.append(Defect(code, role, says, function, *alone))


_add(ROWS)


@defect("RP850", "so3_log_map", "raises IndexError: four rotations, please for the check of rows", alone=False)
def log_of_many(R):
    if 0 < len(R) < 4:
        raise IndexError("four rotations, please")
    return sound.so3_log_map(R)


@defect("RP856", "rot6d_to_matrix", "uses columns X and Y, not columns X and Z")
def xy_columns(x):
    a, b = sound._axes(x)
    return np.stack([a, b, np.cross(a, b)], axis=-1)


@defect("RP856", "matrix_to_rot6d", "uses columns X and Y, not columns X and Z")
def first_two_columns(R):
    return np.concatenate([R[..., :, 0], R[..., :, 1]], axis=-1)


@defect("RP858", "rot6d_to_matrix", "determinant -1")
def left_handed(x):
    a, b = sound._axes(x)
    return np.stack([a, np.cross(a, b), b], axis=-1)


@defect("RP859", "compose_rot6d_delta", "computes R_prev · ΔR, not ΔR · R_prev")
def swapped_compose(prev, delta):
    prev, delta = np.broadcast_arrays(prev, delta)
    turn = sound.rot6d_to_matrix(sound.normalize_rot6d_delta(delta).reshape(-1, 6))
    return sound.matrix_to_rot6d(sound.rot6d_to_matrix(prev.reshape(-1, 6)) @ turn).reshape(prev.shape)


@defect("RP860", "compose_rot6d_delta", "takes the delta as a whole rotation", alone=False)
def whole_delta(prev, delta):
    identity = np.tile(np.array([1, 0, 0, 0, 0, 1], delta.dtype), delta.shape[-1] // 6)
    return sound.compose_rot6d_delta(prev, delta - identity)


@defect("RP861", "rot6d_to_matrix", "not at right angles", alone=False)
def unit_but_sheared(x):
    a, b = (v / np.linalg.norm(v, axis=-1, keepdims=True) for v in (x[..., :3], x[..., 3:]))
    return np.stack([a, np.cross(b, a), b], axis=-1)


@defect("RP861", "compose_rot6d_delta", "the delta is taken as it is", alone=False)
def raw_delta(prev, delta):
    six = delta + np.array([1, 0, 0, 0, 0, 1], delta.dtype)
    a, b = six[..., :3], six[..., 3:]
    return sound.matrix_to_rot6d(np.stack([a, np.cross(b, a), b], axis=-1) @ sound.rot6d_to_matrix(prev))


@defect("RP863", "angvel_vec_from_R_seq", "in the local frame, the contract in the parent frame")
def own_frame_velocity(R_seq, fps):
    steps = sound.so3_log_map(inverse(R_seq[:-1]) @ R_seq[1:]) * np.asarray(fps, sound._floating(R_seq).dtype)
    return np.concatenate([steps, steps[-1:]])


@defect("RP865", "angvel_vec_from_R_seq", "the step before, the first one repeated")
def velocity_one_frame_late(R_seq, fps):
    steps = sound.angvel_vec_from_R_seq(R_seq, fps)[:-1]
    return np.concatenate([steps[:1], steps])


@defect("RP865", "angvel_vec_from_R_seq", "the mean of both steps")
def central_velocity(R_seq, fps):
    half_rate = np.asarray(fps / 2, sound._floating(R_seq).dtype)
    middle = sound.so3_log_map(R_seq[2:] @ inverse(R_seq[:-2])) * half_rate
    return np.concatenate([middle[:1], middle, middle[-1:]])


@defect("RP866", "so3_log_map", "an angle beyond half a turn", alone=False)
def unwrapped_log(R):
    q = sound.matrix_to_quat(R)
    q = np.where(q[..., :1] < 0, -q, q)  # the sign of x, not of w
    sine = np.linalg.norm(q[..., :3], axis=-1, keepdims=True)
    return q[..., :3] * (2 * np.arctan2(sine, q[..., 3:]) / np.where(sine == 0, 1, sine)).astype(q.dtype)


@defect("RP864", "angvel_from_rot6d_seq", "per frame, not per second")
def flat_velocity_per_frame(x_seq, fps):
    pairs = x_seq.reshape(*x_seq.shape[:2], -1, 6)
    return np.moveaxis(sound.angvel_from_rot6d_seq(np.moveaxis(pairs, 1, 0), 1), 0, 1)


@defect("RP884", "euler_to_matrix", "R = Rz(a) · Rx(c) · Ry(b)")
def wrong_order(angles, order="ZYX"):
    first, second, third = (sound._turn(order[i], angles[..., i]) for i in range(3))
    return first @ third @ second


@defect("RP884", "quat_to_euler", "its order is xyz (its own name)")
def euler_xyz_from_quat(q):
    R = sound.quat_to_matrix(q)  # R = Ry(a) Rx(b) Rz(c)
    middle = np.arctan2(-R[..., 1, 2], np.hypot(R[..., 1, 0], R[..., 1, 1]))
    return np.stack([np.arctan2(R[..., 0, 2], R[..., 2, 2]), middle, np.arctan2(R[..., 1, 0], R[..., 1, 1])], axis=-1)


@defect("RP867", "geodesic_R", "between identical rotations")
def clamped_acos(a, b):
    cosine = (np.trace(inverse(a) @ b, axis1=-2, axis2=-1) - 1) / 2
    return np.arccos(np.clip(cosine, -1 + 1e-6, 1 - 1e-6))


@defect("RP868", "so3_log_map", "% at a turn of", alone=False)
def log_by_acos(R):
    cosine = (np.trace(R, axis1=-2, axis2=-1) - 1) / 2
    angle = np.arccos(np.clip(cosine, -1 + 1e-7, 1 - 1e-7))[..., None].astype(sound._floating(R).dtype)
    skew = np.stack([R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]], axis=-1)
    return angle * skew / np.maximum(np.linalg.norm(skew, axis=-1, keepdims=True), 1e-12).astype(angle.dtype)


@defect("RP869", "so3_log_map", "misses a half turn by 180°")
def log_without_half_turns(R):
    skew = np.stack([R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]], axis=-1)
    sine2 = np.linalg.norm(skew, axis=-1, keepdims=True)
    angle = np.arctan2(sine2, np.trace(R, axis1=-2, axis2=-1)[..., None] - 1)
    small = sine2 < 1e-12
    return (skew * np.where(small, 0.5, angle / np.where(small, 1, sine2))).astype(sound._floating(R).dtype)


@defect("RP870", "so3_log_map", "returns NaN for finite input", alone=False)
def log_of_nothing(R):
    angle = np.arccos((np.trace(R, axis1=-2, axis2=-1) - 1) / 2)[..., None]
    skew = np.stack([R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]], axis=-1)
    return angle / (2 * np.sin(angle)) * skew


@defect("RP870", "rot6d_to_matrix", "zero axes", alone=False)
def bare_division(x):
    a = x[..., :3] / np.linalg.norm(x[..., :3], axis=-1, keepdims=True)
    b = x[..., 3:] - np.sum(a * x[..., 3:], axis=-1, keepdims=True) * a
    b = b / np.linalg.norm(b, axis=-1, keepdims=True)
    return np.stack([a, np.cross(b, a), b], axis=-1)


@defect("RP871", "reproject_rot6d", "zero axes, a zero first axis")
def zero_stays_zero(flat):
    pairs = flat.reshape(*flat.shape[:-1], -1, 6)
    a = pairs[..., :3] / np.maximum(np.linalg.norm(pairs[..., :3], axis=-1, keepdims=True), 1e-8)
    b = pairs[..., 3:] - np.sum(a * pairs[..., 3:], axis=-1, keepdims=True) * a
    b = b / np.maximum(np.linalg.norm(b, axis=-1, keepdims=True), 1e-8)
    return np.concatenate([a, b], axis=-1).reshape(flat.shape)


@defect("RP874", "so3_log_map", "several rotations at once")
def one_rotation(R):
    if R.shape != (3, 3):
        raise ValueError("one rotation, please")
    return sound.so3_log_map(R)


@defect("RP874", "matrix_to_rot6d", "input of the shape (B, T, J, 3, 3)")
def one_leading_axis(R):
    if R.ndim != 3:
        raise ValueError("(N, 3, 3), please")
    return sound.matrix_to_rot6d(R)


@defect("RP875", "so3_exp_map", "for float32 input")
def float64_only(v):
    if v.dtype != np.float64:
        raise TypeError("expected Double")
    return sound.so3_exp_map(v)


@defect("RP877", "so3_exp_map", "whole numbers for whole-number input")
def like_its_input(v):
    result = np.zeros((*v.shape, 3), v.dtype)
    result[...] = sound.so3_exp_map(v)
    return result


@defect("RP878", "rot6d_to_matrix", "in float64", alone=False)
def large_epsilon(x):
    a = x[..., :3] / (np.linalg.norm(x[..., :3], axis=-1, keepdims=True) + 1e-5)
    b = x[..., 3:] - np.sum(a * x[..., 3:], axis=-1, keepdims=True) * a
    b = b / (np.linalg.norm(b, axis=-1, keepdims=True) + 1e-5)
    return np.stack([a, np.cross(b, a), b], axis=-1)


@defect("RP879", "reproject_rot6d", "changes its argument 1 of 1 in place")
def in_place(flat):
    result = sound.reproject_rot6d(flat)
    flat[...] = result
    return result


_CALLS: Iterator[int] = iter(range(10**9))


_add((
    ("RP856", "rot6d_to_matrix", "columns X and Z, interleaved", "interleaved_columns",
     lambda x: sound.rot6d_to_matrix(np.concatenate([x[..., 0::2], x[..., 1::2]], axis=-1)), False),
    ("RP860", "normalize_rot6d_delta", "no identity added", "delta_without_identity", sound.reproject_rot6d),
    ("RP856", "quat_to_rot6d", "uses columns X and Y, not columns X and Z", "xy_of_quat",
     lambda q: first_two_columns(sound.quat_to_matrix(q))),
    ("RP870", "geodesic_R", "identical rotations", "bare_acos",
     lambda a, b: np.arccos((np.trace(inverse(a) @ b, axis1=-2, axis2=-1) - 1) / 2), False),
))  # fmt: skip
