"""Functions that are wrong in one way each, as training sides have them, and the finding that must name it.

Each is a function of an expression, or a sound one whose text is changed at one place. `alone` marks those that must bring about
that finding and no other.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from .subjects import sound_numpy as sound

TEXT = Path(sound.__file__).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Defect:
    """A wrong function: the code that must be found, the role it plays, a word of the message.

    how: the function, or a text of the sound one and what stands there instead. more: another such change.
    """

    code: str
    role: str
    says: str
    name: str
    how: Any
    alone: bool = True
    more: tuple[str, str] | None = None
    library: str = "numpy"

    @cached_property
    def function(self) -> Callable[..., Any]:
        made = self.how
        if isinstance(made, tuple):
            text = TEXT.replace("import numpy as xp", f"import {self.library} as xp")
            for old, new in filter(None, (self.how, self.more)):
                assert text.count(old) == 1, (self.name, text.count(old))
                text = text.replace(old, new)
            names: dict[str, Any] = {}
            exec(compile(text, self.name, "exec"), names)  # noqa: S102 - our own text
            made = names[self.role]
        made.__name__ = self.name
        return made  # type: ignore[no-any-return]


def raised(error):
    raise error


def inverse(R):
    return np.swapaxes(R, -1, -2)


def cosine(R):
    return (np.trace(R, axis1=-2, axis2=-1) - 1) / 2


def skew(R):
    return np.stack([R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]], axis=-1)


def half_over_sine(sine2, cosine):
    small = sine2 < 1e-12
    return np.where(small, 0.5, np.arctan2(sine2, 2 * cosine) / np.where(small, 1, sine2)).astype(sine2.dtype)


def xy_columns(x):
    a, b = sound._axes(x)
    return np.stack([a, b, np.cross(a, b)], axis=-1)


def y_x_z(R):
    """The angles of R = Ry(a) Rx(b) Rz(c)."""
    middle = np.arctan2(-R[..., 1, 2], np.hypot(R[..., 1, 0], R[..., 1, 1]))
    return np.stack([np.arctan2(R[..., 0, 2], R[..., 2, 2]), middle, np.arctan2(R[..., 1, 0], R[..., 1, 1])], axis=-1)


GUARDED = "xp.where(short, instead, v / xp.sqrt(xp.where(short, xp.ones_like(squared), squared)))"
AT_ZERO = "xp.where(zero, 0 * squared, xp.sqrt(xp.where(zero, xp.ones_like(squared), squared)))"
ANGLE = "xp.where(small, 2 * xp.ones_like(w), 2 * xp.arctan2(sine, w) / sine)"
CALLS = count()
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
     lambda R: sound.matrix_to_rot6d(R) + np.asarray(1e-9 * next(CALLS), R.dtype), False),
    ("RP850", "so3_log_map", "raises IndexError: four rotations, please for the check of rows", "log_of_many",
     lambda R: raised(IndexError("four rotations, please")) if 0 < len(R) < 4 else sound.so3_log_map(R), False),
    ("RP856", "rot6d_to_matrix", "uses columns X and Y, not columns X and Z", "xy_columns",
     ("[a, _cross(b, a), b]", "[a, b, _cross(a, b)]")),
    ("RP856", "matrix_to_rot6d", "uses columns X and Y, not columns X and Z", "first_two_columns",
     ("R[..., :, 2]", "R[..., :, 1]")),
    ("RP858", "rot6d_to_matrix", "determinant -1", "left_handed", ("_cross(b, a)", "_cross(a, b)")),
    ("RP859", "compose_rot6d_delta", "computes R_prev · ΔR, not ΔR · R_prev", "swapped_compose",
     ("turn @ rot6d_to_matrix(_pairs(prev))", "rot6d_to_matrix(_pairs(prev)) @ turn")),
    ("RP860", "compose_rot6d_delta", "takes the delta as a whole rotation", "whole_delta",
     ("_pairs(normalize_rot6d_delta(delta))", "_pairs(delta)"), False),
    ("RP861", "rot6d_to_matrix", "not at right angles", "unit_but_sheared",
     (" - xp.sum(six[..., 3:] * x, axis=-1, keepdims=True) * x", ""), False),
    ("RP861", "compose_rot6d_delta", "the delta is taken as it is", "raw_delta",
     ("turn = rot6d_to_matrix(_pairs(normalize_rot6d_delta(delta)))",
      "six = _pairs(delta) + xp.asarray([1, 0, 0, 0, 0, 1], dtype=delta.dtype); a, b = six[..., :3], six[..., 3:]; "
      "turn = xp.stack([a, _cross(b, a), b], -1)"), False),
    ("RP863", "angvel_vec_from_R_seq", "in the local frame, the contract in the parent frame", "own_frame_velocity",
     ("R_seq[1:] @ R_seq[:-1].swapaxes(-1, -2)", "R_seq[:-1].swapaxes(-1, -2) @ R_seq[1:]")),
    ("RP865", "angvel_vec_from_R_seq", "the step before, the first one repeated", "velocity_one_frame_late",
     ("[steps, steps[-1:]]", "[steps[:1], steps]")),
    ("RP865", "angvel_vec_from_R_seq", "the mean of both steps", "central_velocity",
     ("R_seq[1:] @ R_seq[:-1].swapaxes(-1, -2))", "R_seq[2:] @ R_seq[:-2].swapaxes(-1, -2)) / 2"),
     True, ("[steps, steps[-1:]]", "[steps[:1], steps, steps[-1:]]")),
    ("RP866", "so3_log_map", "an angle beyond half a turn", "unwrapped_log",  # the sign of x, not of w
     ("xp.where(q[..., 3:] < 0, -q, q)", "xp.where(q[..., :1] < 0, -q, q)"), False),
    ("RP864", "angvel_from_rot6d_seq", "per frame, not per second", "flat_velocity_per_frame",
     lambda x_seq, fps: np.moveaxis(
         sound.angvel_from_rot6d_seq(np.moveaxis(x_seq.reshape(*x_seq.shape[:2], -1, 6), 1, 0), 1), 0, 1)),
    ("RP884", "euler_to_matrix", "R = Rz(a) · Rx(c) · Ry(b)", "wrong_order", ("a @ b @ c", "a @ c @ b")),
    ("RP884", "quat_to_euler", "its order is xyz (its own name)", "euler_xyz_from_quat",
     lambda q: y_x_z(sound.quat_to_matrix(q))),
    ("RP867", "geodesic_R", "between identical rotations", "clamped_acos",
     lambda a, b: np.arccos(np.clip(cosine(inverse(a) @ b), -1 + 1e-6, 1 - 1e-6))),
    ("RP868", "so3_log_map", "% at a turn of", "log_by_acos",
     lambda R: (np.arccos(np.clip(cosine(R), -1 + 1e-7, 1 - 1e-7))[..., None] * skew(R)
                / np.maximum(np.linalg.norm(skew(R), axis=-1, keepdims=True), 1e-12)).astype(sound._floating(R).dtype), False),
    ("RP869", "so3_log_map", "misses a half turn by 180°", "log_without_half_turns",
     lambda R: skew(R) * half_over_sine(np.linalg.norm(skew(R), axis=-1, keepdims=True), cosine(R)[..., None])),
    ("RP870", "so3_log_map", "returns NaN for finite input", "log_of_nothing",
     lambda R: np.arccos(cosine(R))[..., None] / (2 * np.sin(np.arccos(cosine(R))[..., None])) * skew(R), False),
    ("RP870", "rot6d_to_matrix", "zero axes", "bare_division", (f"return {GUARDED}", "return v / xp.sqrt(squared)"), False),
    ("RP871", "reproject_rot6d", "zero axes, a zero first axis", "zero_stays_zero",
     (f"return {GUARDED}", "return v / xp.maximum(xp.sqrt(squared), 1e-8)")),
    ("RP874", "so3_log_map", "several rotations at once", "one_rotation",
     lambda R: sound.so3_log_map(R) if R.shape == (3, 3) else raised(ValueError("one rotation, please"))),
    ("RP874", "matrix_to_rot6d", "input of the shape (B, T, J, 3, 3)", "one_leading_axis",
     lambda R: sound.matrix_to_rot6d(R) if R.ndim == 3 else raised(ValueError("(N, 3, 3), please"))),
    ("RP875", "so3_exp_map", "for float32 input", "float64_only",
     lambda v: sound.so3_exp_map(v) if v.dtype == np.float64 else raised(TypeError("expected Double"))),
    ("RP877", "so3_exp_map", "whole numbers for whole-number input", "like_its_input",
     lambda v: sound.so3_exp_map(v).astype(v.dtype)),
    ("RP878", "rot6d_to_matrix", "in float64", "large_epsilon",
     (GUARDED[:-1].partition("v /")[2], "(xp.sqrt(xp.where(short, xp.ones_like(squared), squared)) + 1e-5)"), False),
    ("RP879", "reproject_rot6d", "changes its argument 1 of 1 in place", "in_place",
     ("return _flat(xp.concatenate(_axes(_pairs(flat)), -1))",
      "result = _flat(xp.concatenate(_axes(_pairs(flat)), -1)); flat[...] = result; return result")),
    ("RP856", "rot6d_to_matrix", "columns X and Z, interleaved", "interleaved_columns",
     lambda x: sound.rot6d_to_matrix(np.concatenate([x[..., 0::2], x[..., 1::2]], axis=-1)), False),
    ("RP860", "normalize_rot6d_delta", "no identity added", "delta_without_identity",
     (" + xp.asarray([1, 0, 0, 0, 0, 1], dtype=flat.dtype)", "")),
    ("RP856", "quat_to_rot6d", "uses columns X and Y, not columns X and Z", "xy_of_quat", ("R[..., :, 2]", "R[..., :, 1]")),
    ("RP870", "geodesic_R", "identical rotations", "bare_acos", lambda a, b: np.arccos(cosine(inverse(a) @ b)), False),
)  # fmt: skip
"""Code, role, words, name, function or change, False where it is not alone."""
DEFECTS = [Defect(*row) for row in ROWS]
TORCH_DEFECTS = [
    Defect(code, role, says, name, how, alone, library="torch")
    for code, role, says, name, how, alone in (
        # the usual mistake: the value is right at 0, the derivative of the root there is infinite times zero
        ("RP881", "geodesic_R", "identical rotations", "gradient_of_sqrt", (AT_ZERO, "xp.sqrt(squared)"), True),
        ("RP881", "geodesic_R", "identical rotations", "gradient_of_acos",
         (AT_ZERO, "xp.acos((((a.mT @ b).diagonal(dim1=-2, dim2=-1).sum(-1) - 1) / 2).clamp(-1, 1))"), False),
        # torch.where over a result that is NaN: the gradient of the other branch is NaN times zero
        ("RP881", "so3_log_map", "is NaN at no turn", "guarded_result_only",
         ("v * " + ANGLE, "xp.where(small, 2 * v, v * 2 * xp.arctan2(_squared(v).sqrt(), w) / _squared(v).sqrt())"), False),
        ("RP874", "matrix_to_rot6d", "memory with its axes swapped", "view_needs_contiguous_memory",
         ("return xp.concatenate([R[..., :, 0]", "R = R.view(-1, 9).view(R.shape); return xp.concatenate([R[..., :, 0]"), True),
        ("RP876", "normalize_rot6d_delta", "returns float32 for float64", "single_precision_constants",
         ("_pairs(flat) + xp.asarray([1, 0, 0, 0, 0, 1], dtype=flat.dtype)",
          "_pairs(flat.float()) + xp.tensor([1.0, 0, 0, 0, 0, 1])"), False),
        ("RP853", "so3_log_map", "returns half the angle: measured ratio 0.5000", "half_angle_log",
         ("return quat_to_axis_angle(matrix_to_quat(R))", "return 0.5 * quat_to_axis_angle(matrix_to_quat(R))"), True),
        ("RP879", "reproject_rot6d", "in place", "works_in_place",
         ("return _flat(xp.concatenate(_axes(_pairs(flat)), -1))",
          "flat.copy_(_flat(xp.concatenate(_axes(_pairs(flat)), -1))); return flat + 0"), False),
    )
]  # fmt: skip
"""The same of torch; their text is run only where torch is installed."""
