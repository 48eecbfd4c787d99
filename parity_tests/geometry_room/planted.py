"""Modules in the style of public training code, all of them sound, and defects planted in them.

Each function is a line: its name, its parameters and what it returns, of quaternions xyzw by `sound`, of wxyz by X (to xyzw) and
W (back). The training side of today stands in subjects/.
"""

from pathlib import Path
from typing import NamedTuple

SUBJECTS = Path(__file__).parent / "subjects"
STYLES: dict[str, tuple[str, ...]] = {
    "training_side_of_today": (),
    "rotation_conversions": ("quaternion_order=wxyz", "rot6d_packing=rows"),
    "text_to_motion": ("quaternion_order=wxyz", "rot6d_columns=xy"),
    "robot_simulation": (),
    "motion_inbetweening": ("quaternion_order=wxyz",),
    "motion_library": (),
    "robotics_toolbox": (),
    "rotation_manifold": (),
}
"""Modules, and the conventions that each of them declares. The first is the training side, corrected."""
IN_NUMPY = {"motion_inbetweening", "robotics_toolbox"}

HEAD = f"""import sys
sys.path.insert(0, {str(SUBJECTS)!r})
import LIBRARY
import numpy as np
import sound_LIBRARY as sound
X, W = lambda q: q[..., [1, 2, 3, 0]], lambda q: q[..., [3, 0, 1, 2]]
"""
WRITTEN: dict[str, str] = {
    "rotation_conversions": """
quaternion_to_matrix(quaternions): sound.quat_to_matrix(X(quaternions))
matrix_to_quaternion(matrix): standardize_quaternion(W(sound.matrix_to_quat(matrix)))
standardize_quaternion(quaternions): quaternions * (1 - 2 * (quaternions[..., :1] < 0).to(quaternions.dtype))
quaternion_raw_multiply(a, b): W(sound.quat_mul(X(a), X(b)))
quaternion_invert(quaternion): W(sound.quat_inverse(X(quaternion)))
quaternion_apply(quaternion, point): sound.quat_rotate(X(quaternion), point)
euler_angles_to_matrix(euler_angles, convention): sound.euler_to_matrix(euler_angles, convention)
matrix_to_euler_angles(matrix, convention): _euler(matrix, *map("XYZ".index, convention))
axis_angle_to_quaternion(axis_angle): W(sound.axis_angle_to_quat(axis_angle))
quaternion_to_axis_angle(quaternions): sound.quat_to_axis_angle(X(quaternions))
axis_angle_to_matrix(axis_angle): quaternion_to_matrix(axis_angle_to_quaternion(axis_angle))
matrix_to_axis_angle(matrix): quaternion_to_axis_angle(matrix_to_quaternion(matrix))
rotation_6d_to_matrix(d6): (sound.rot6d_to_matrix(d6)[..., [0, 2, 1]] * d6.new_tensor([1, 1, -1])).transpose(-1, -2)
matrix_to_rotation_6d(matrix): matrix[..., :2, :].clone().reshape((*matrix.shape[:-2], 6))
_euler(matrix, i, j, k): _of(matrix, i, j, k, 1.0 if (j - i) % 3 == 1 else -1.0)
_of(m, i, j, k, s): torch.stack((_at(m, j, k, k, -s), torch.asin((s * m[..., i, k]).clamp(-1, 1)), _at(m, i, j, i, -s)), -1)
_at(m, i, j, k, s): torch.atan2(s * m[..., i, j], m[..., k, k])
""",
    "text_to_motion": """
qinv(q): W(sound.quat_inverse(X(q)))
qinv_np(q): qinv(torch.from_numpy(q)).numpy()
qmul(q, r): W(sound.quat_mul(X(q), X(r)))
qmul_np(q, r): qmul(torch.from_numpy(q), torch.from_numpy(r)).numpy()
qrot(q, v): sound.quat_rotate(X(q.contiguous().view(-1, 4)), v.contiguous().view(-1, 3)).view(v.shape)
qeuler(q, order, epsilon=0, deg=True): _xyz(X(q), order) * (180 / np.pi if deg else 1)
_xyz(q, order): (-sound.quat_to_euler(sound.quat_inverse(q)) if order == "xyz" else sound.quat_to_euler(q)).flip(-1)
quaternion_to_matrix(quaternions): sound.quat_to_matrix(X(quaternions))
quaternion_to_cont6d(quaternions): quaternion_to_matrix(quaternions)[..., :2].transpose(-1, -2).flatten(-2)
cont6d_to_matrix(cont6d): sound.rot6d_to_matrix(cont6d)[..., [0, 2, 1]] * cont6d.new_tensor([1, 1, -1])
qslerp(q0, q1, t): q0 * (1 - t) + q1 * t
""",
    "robot_simulation": """
normalize(x, eps: float = 1e-9): x / x.norm(p=2, dim=-1).clamp(min=eps, max=None).unsqueeze(-1)
quat_mul(a, b): sound.quat_mul(a.reshape(-1, 4), b.reshape(-1, 4)).view(a.shape)
quat_conjugate(a): sound.quat_inverse(a.reshape(-1, 4)).view(a.shape)
quat_apply(a, b): sound.quat_rotate(a.reshape(-1, 4), b.reshape(-1, 3)).view(b.shape)
quat_rotate(q, v): sound.quat_rotate(_batch(q), v)
quat_rotate_inverse(q, v): sound.quat_rotate(sound.quat_inverse(_batch(q)), v)
_batch(q): q.reshape(q.shape[0], 4)
quat_from_angle_axis(angle, axis): sound.axis_angle_to_quat(angle.unsqueeze(-1) * normalize(axis))
quat_to_angle_axis(q): _angle_axis(sound.quat_to_axis_angle(_batch(q)))
_angle_axis(v): (v.norm(dim=-1), normalize(v))
quat_from_euler_xyz(roll, pitch, yaw): _of_angles(roll, pitch, yaw)
_of_angles(r, p, y): sound.euler_to_quat(torch.stack((y, p, r), -1))
get_euler_xyz(q): (sound.quat_to_euler(_batch(q)) % (2 * torch.pi)).flip(-1).unbind(-1)
normalize_angle(x): torch.atan2(torch.sin(x), torch.cos(x))
""",
    "robotics_toolbox": """
so3_exp(v): sound.so3_exp_map(np.reshape(v, 3))
quat_to_matrix(q): sound.quat_to_matrix(np.reshape(q, 4))
axis_angle_to_matrix(axis, angle): sound.so3_exp_map(angle * np.reshape(axis, 3))
euler_xyz_to_matrix(roll, pitch, yaw): sound.euler_to_matrix(np.stack((yaw, pitch, roll)).reshape(3))
matrix_to_rot6d(R): np.r_[R[:, 0], R[:, 2]]
""",
    "motion_inbetweening": """
quat_mul(x, y): W(sound.quat_mul(X(x), X(y)))
quat_inv(q): W(sound.quat_inverse(X(q)))
quat_mul_vec(q, x): sound.quat_rotate(X(q), x)
angle_axis_to_quat(angle, axis): W(sound.axis_angle_to_quat(angle[..., None] * axis))
euler_to_quat(e, order="zyx"): W(sound.euler_to_quat(e, order.upper()))
quat_to_mat(q): sound.quat_to_matrix(X(q))
remove_quat_discontinuities(rotations): rotations
wrap_angle(a): sound.wrap_to_pi(a)
""",
    "motion_library": """
quat_mul(a, b): sound.quat_mul(a, b)
quat_inverse(x): sound.quat_inverse(x)
quat_rotate(rot, vec): sound.quat_rotate(rot, vec)
quat_to_exp_map(q): sound.quat_to_axis_angle(q)
exp_map_to_quat(exp_map): sound.axis_angle_to_quat(exp_map)
quat_to_tan_norm(q): sound.quat_to_rot6d(q)
compute_angular_velocity(r, time_delta: float): sound.angvel_from_quat_seq(r.movedim(-3, 0), 1 / time_delta).movedim(0, -3)
compute_linear_velocity(p, time_delta: float): (p[..., 1:, :, :] - p[..., :-1, :, :]) / time_delta
""",
    "rotation_manifold": """
rotvec_to_unitquat(rotvec): sound.axis_angle_to_quat(rotvec)
unitquat_to_rotvec(quat): sound.quat_to_axis_angle(quat)
unitquat_to_rotmat(quat): sound.quat_to_matrix(quat)
rotmat_to_unitquat(R): sound.matrix_to_quat(R)
rotvec_to_rotmat(rotvec): sound.so3_exp_map(rotvec)
rotmat_to_rotvec(R): sound.so3_log_map(R)
quat_product(p, q): sound.quat_mul(p, q)
quat_conjugation(quat): sound.quat_inverse(quat)
quat_action(q, v): sound.quat_rotate(q, v)
rotmat_geodesic_distance(R1, R2): sound.geodesic_R(R1, R2)
""",
}  # fmt: skip


def text_of_style(style):
    """The text of a style's module; the training side of today computes the full angle."""
    if style == "training_side_of_today":
        text = (SUBJECTS / "training_side.py").read_text(encoding="utf-8")
        assert text.count("* torch.atan2(sine, w)") == 1
        return text.replace("* torch.atan2(sine, w)", "* 2 * torch.atan2(sine, w)")
    functions = (line.partition("): ") for line in WRITTEN[style].strip().splitlines())
    head = HEAD.replace("LIBRARY", "numpy" if style in IN_NUMPY else "torch")
    return head + "".join(f"def {name}):\n    return {result}\n" for name, _, result in functions)


class Planted(NamedTuple):
    """A defect in a sound module: a text, what stands there instead, and what the answer has to name."""

    style: str
    text: str
    instead: str
    code: str
    says: str


_ROWS: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "training_side_of_today": (
        ("transpose(-1, -2)) * fps", "transpose(-1, -2))", "RP864", "angvel_vec_from_R_seq gives angular velocity per frame"),
        ("2 * torch.atan2(sine, w)", "torch.atan2(sine, w)", "RP853", "so3_log_map returns half the angle"),
        ("turn @ rot6d_to_matrix(reproject_rot6d(prev))", "rot6d_to_matrix(reproject_rot6d(prev)) @ turn",
         "RP859", "R_prev · ΔR, not ΔR · R_prev"),
        ("R[..., :, _AXIS_OF[name]]", "R[..., _AXIS_OF[name], :]", "RP857", "matrix_to_rot6d uses rows X and Z"),
        ("R_seq[:, 1:] @ R_seq[:, :-1].transpose(-1, -2)", "R_seq[:, :-1].transpose(-1, -2) @ R_seq[:, 1:]",
         "RP863", "in the local frame"),
        ("angle.sin()[", "torch.deg2rad(angle).sin()[", "RP852", "axis_angle_to_matrix is off by"),
        ("(1 - c) * (K @ K)\n", "(1 - c) * (K @ K).transpose(-1, -2) - 2 * s * K\n",
         "RP855", "axis_angle_to_matrix takes the inverse rotation"),
    ),
    "rotation_conversions": (
        ("W(sound.quat_mul(X(a), X(b)))", "sound.quat_mul(X(a), X(b))", "RP852", "quaternion_raw_multiply is off by"),
        ("sound.quat_to_matrix(X(quaternions))", "sound.quat_to_matrix(quaternions)",
         "RP862", "quaternion_to_matrix orders quaternions xyzw"),
        ("[1, 1, -1])).transpose(-1, -2)", "[1, 1, -1]))",
         "RP856", "rotation_6d_to_matrix uses columns X and Y, not rows X and Y"),
        ("sound.euler_to_matrix(euler_angles, convention)",
         "sound.euler_to_matrix(euler_angles[..., [0, 2, 1]], convention[0] + convention[2] + convention[1])",
         "RP884", "matrix computes R = Rx(a) · Rz(c) · Ry(b)"),
        ("sound.quat_to_axis_angle(X(quaternions))", "sound.quat_to_axis_angle(X(quaternions)) / 2",
         "RP853", "quaternion_to_axis_angle returns half the angle"),
    ),
    "text_to_motion": (
        ("sound.quat_rotate(", "sound.quat_rotate_inverse(", "RP855", "qrot applies the inverse rotation"),
        ("[..., :2].transpose(-1, -2)", "[..., :2, :]", "RP857", "quaternion_to_cont6d uses rows X and Y"),
        ("_xyz(X(q), order) *", "_xyz(X(q), order)[..., [1, 0, 2]] *", "RP884", "qeuler computes R = "),
    ),
    "robot_simulation": (
        ("sound.quat_inverse(_batch(q))", "_batch(q)", "RP855", "quat_rotate_inverse applies the inverse rotation"),
        ("_of_angles(roll, pitch, yaw)", "W(_of_angles(roll, pitch, yaw))",
         "RP862", "quat_from_euler_xyz orders quaternions wxyz"),
        ("angle.unsqueeze(-1)", "2 * angle.unsqueeze(-1)", "RP854", "quat_from_angle_axis takes twice the angle"),
        ("_of_angles(roll, pitch, yaw)", "_of_angles(roll.deg2rad(), pitch.deg2rad(), yaw.deg2rad())",
         "RP854", "quat_from_euler_xyz takes degrees"),
        ("_of_angles(roll, pitch, yaw)", "_of_angles(roll, pitch, yaw).abs()", "RP852", "quat_from_euler_xyz is off by"),
    ),
    "motion_inbetweening": (
        ("sound.euler_to_quat(e, order.upper())", "sound.matrix_to_quat(sound.euler_to_matrix(e[..., [0, 2, 1]], 'ZXY'))",
         "RP884", "euler_to_quat computes R = Rz(a) · Rx(c) · Ry(b)"),
        ("W(sound.axis_angle_to_quat(", "(sound.axis_angle_to_quat(", "RP862", "angle_axis_to_quat orders quaternions xyzw"),
        ("sound.quat_mul(X(x), X(y))", "sound.quat_mul(X(x), X(y)) * np.array([-1, 1, 1, 1], x.dtype)",
         "RP852", "quat_mul is off by"),
        ("angle[..., None]", "np.radians(angle)[..., None]", "RP854", "angle_axis_to_quat takes degrees"),
    ),
    "motion_library": (
        ("1 / time_delta", "1", "RP864", "compute_angular_velocity gives angular velocity per frame, not per second"),
        ("1 / time_delta", "time_delta", "RP864", "divided by the rate"),
        ("1 / time_delta", "0.5 / time_delta", "RP853", "compute_angular_velocity returns half the angle"),
        ("sound.quat_to_rot6d(q)", "sound.quat_to_matrix(q)[..., :2].transpose(-1, -2).flatten(-2)",
         "RP856", "quat_to_tan_norm uses columns X and Y"),
        ("sound.quat_mul(a, b)", "sound.quat_mul(b, a)", "RP885", "quat_mul computes b · a"),
    ),
    "robotics_toolbox": (
        ("np.r_[R[:, 0], R[:, 2]]", "np.r_[R[0], R[2]]", "RP857", "matrix_to_rot6d uses rows X and Z"),
        ("np.reshape(q, 4)", "X(np.reshape(q, 4))", "RP862", "quat_to_matrix orders quaternions wxyz"),
        ("angle * np", "-angle * np", "RP855", "axis_angle_to_matrix takes the inverse rotation"),
        ("np.stack((yaw,", "np.stack((yaw / 2,", "RP852", "euler_xyz_to_matrix is off by"),
    ),
    "rotation_manifold": (
        ("sound.quat_to_matrix(quat)", "sound.quat_to_matrix(quat).transpose(-1, -2)",
         "RP855", "unitquat_to_rotmat gives the inverse rotation"),
        ("sound.geodesic_R(R1, R2)", "sound.geodesic_R(R1, R2) / 2",
         "RP853", "rotmat_geodesic_distance returns half the angle"),
        ("sound.axis_angle_to_quat(rotvec)", "sound.axis_angle_to_quat(-rotvec)",
         "RP855", "rotvec_to_unitquat takes the inverse rotation"),
    ),
}  # fmt: skip
PLANTED = tuple(Planted(style, *row) for style, rows in _ROWS.items() for row in rows)
