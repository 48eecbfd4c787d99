"""Defects planted in modules of the style of public training code; subjects/styles has the modules, all of them sound."""

from typing import NamedTuple

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
"""Modules of subjects/styles, and the conventions that each of them declares. The first is the training side, corrected."""
IN_NUMPY = {"motion_inbetweening", "robotics_toolbox"}


class Planted(NamedTuple):
    """A defect in a sound module: a text, what stands there instead, and what the answer has to name."""

    style: str
    text: str
    instead: str
    code: str
    says: str


PLANTED = (
    Planted("training_side_of_today", "transpose(-1, -2)) * fps",
            "transpose(-1, -2))", "RP864", "angvel_vec_from_R_seq gives angular velocity per frame"),
    Planted("training_side_of_today", "2 * torch.atan2(sine, w)",
            "torch.atan2(sine, w)", "RP853", "so3_log_map returns half the angle"),
    Planted("training_side_of_today", "turn @ rot6d_to_matrix(reproject_rot6d(prev))",
            "rot6d_to_matrix(reproject_rot6d(prev)) @ turn", "RP859", "R_prev · ΔR, not ΔR · R_prev"),
    Planted("training_side_of_today", "R[..., :, _AXIS_OF[name]]",
            "R[..., _AXIS_OF[name], :]", "RP857", "matrix_to_rot6d uses rows X and Z"),
    Planted("training_side_of_today", "R_seq[:, 1:] @ R_seq[:, :-1].transpose(-1, -2)",
            "R_seq[:, :-1].transpose(-1, -2) @ R_seq[:, 1:]", "RP863", "in the local frame"),
    Planted("training_side_of_today", "angle.sin()[", "torch.deg2rad(angle).sin()[", "RP852", "axis_angle_to_matrix is off by"),
    Planted("training_side_of_today", "(1 - c) * (K @ K)\n",
            "(1 - c) * (K @ K).transpose(-1, -2) - 2 * s * K\n", "RP855", "axis_angle_to_matrix takes the inverse rotation"),
    Planted("rotation_conversions", "torch.stack((ow, ox, oy, oz), -1)",
            "torch.stack((ox, oy, oz, ow), -1)", "RP852", "quaternion_raw_multiply is off by"),
    Planted("rotation_conversions", "torch.unbind(quaternions, -1)",
            "torch.roll(quaternions, 1, -1).unbind(-1)", "RP862", "quaternion_to_matrix orders quaternions xyzw"),
    Planted("rotation_conversions", "torch.stack((b1, b2, b3), dim=-2)",
            "torch.stack((b1, b2, b3), dim=-1)", "RP856", "rotation_6d_to_matrix uses columns X and Y, not rows X and Y"),
    Planted("rotation_conversions", "torch.matmul(torch.matmul(first, second), third)",
            "torch.matmul(torch.matmul(first, third), second)", "RP884", "matrix computes R = Rx(a) · Rz(c) · Ry(b)"),
    Planted("rotation_conversions", "0.5 * torch.sinc(half / torch.pi)",
            "torch.sinc(half / torch.pi)", "RP853", "quaternion_to_axis_angle returns half the angle"),
    Planted("text_to_motion", "(v + 2 * (q[:, :1] * uv + uuv))",
            "(v + 2 * (uuv - q[:, :1] * uv))", "RP855", "qrot applies the inverse rotation"),
    Planted("text_to_motion", "rotation_mat[..., 0], rotation_mat[..., 1]",
            "rotation_mat[..., 0, :], rotation_mat[..., 1, :]", "RP857", "quaternion_to_cont6d uses rows X and Y"),
    Planted("text_to_motion", "torch.stack((x, y, z), dim=1)",
            "torch.stack((y, x, z), dim=1)", "RP884", "qeuler computes R = "),
    Planted("robot_simulation", "return a - b + c",
            "return a + b + c", "RP855", "quat_rotate_inverse applies the inverse rotation"),
    Planted("robot_simulation", "torch.stack([qx, qy, qz, qw], dim=-1)",
            "torch.stack([qw, qx, qy, qz], dim=-1)", "RP862", "quat_from_euler_xyz orders quaternions wxyz"),
    Planted("robot_simulation", "theta = (angle / 2)", "theta = angle", "RP854", "quat_from_angle_axis takes twice the angle"),
    Planted("robot_simulation", "cy, sy = torch.cos(yaw * 0.5), torch.sin(yaw * 0.5)",
            "roll, pitch, yaw = (each.deg2rad() for each in (roll, pitch, yaw))\n    cy, sy = (yaw / 2).cos(), (yaw / 2).sin()",
            "RP854", "quat_from_euler_xyz takes degrees"),
    Planted("robot_simulation", "qw = cy * cr * cp + sy * sr * sp",
            "qw = cy * cr * cp - sy * sr * sp", "RP852", "quat_from_euler_xyz is off by"),
    Planted("motion_inbetweening", "quat_mul(q0, quat_mul(q1, q2))",
            "quat_mul(q0, quat_mul(q2, q1))", "RP884", "euler_to_quat computes R = Rz(a) · Rx(c) · Ry(b)"),
    Planted("motion_inbetweening", "[c, s * axis]", "[s * axis, c]", "RP862", "angle_axis_to_quat orders quaternions xyzw"),
    Planted("motion_inbetweening", "y0 * x1 + y1 * x0 - y2 * x3 + y3 * x2",
            "y0 * x1 + y1 * x0 + y2 * x3 - y3 * x2", "RP852", "quat_mul is off by"),
    Planted("motion_inbetweening", "angle / 2.0", "np.radians(angle) / 2.0", "RP854", "angle_axis_to_quat takes degrees"),
    Planted("motion_library", "quat_to_exp_map(step) / time_delta",
            "quat_to_exp_map(step)", "RP864", "compute_angular_velocity gives angular velocity per frame, not per second"),
    Planted("motion_library", "/ time_delta\n    return torch.cat([steps",
            "* time_delta\n    return torch.cat([steps", "RP864", "divided by the rate"),
    Planted("motion_library", "2 * torch.atan2(sine, q[..., 3:])",
            "torch.atan2(sine, q[..., 3:])", "RP853", "compute_angular_velocity returns half the angle"),
    Planted("motion_library", "tangent[..., 0], normal[..., 2] = 1, 1",
            "tangent[..., 0], normal[..., 1] = 1, 1", "RP856", "quat_to_tan_norm uses columns X and Y"),
    Planted("motion_library", "+ torch.cross(va, vb, dim=-1)",
            "- torch.cross(va, vb, dim=-1)", "RP885", "quat_mul computes b · a"),
    Planted("robotics_toolbox", "return np.r_[R[:, 0], R[:, 2]]",
            "return np.r_[R[0], R[2]]", "RP857", "matrix_to_rot6d uses rows X and Z"),
    Planted("robotics_toolbox", "x, y, z, w = q", "w, x, y, z = q", "RP862", "quat_to_matrix orders quaternions wxyz"),
    Planted("robotics_toolbox", "math.sin(angle) * K",
            "-math.sin(angle) * K", "RP855", "axis_angle_to_matrix takes the inverse rotation"),
    Planted("robotics_toolbox", "cy, sy = math.cos(yaw), math.sin(yaw)\n",
            "cy, sy = math.cos(yaw / 2), math.sin(yaw / 2)\n", "RP852", "euler_xyz_to_matrix is off by"),
    Planted("rotation_manifold", "torch.stack(columns, dim=-1)",
            "torch.stack(columns, dim=-2)", "RP855", "unitquat_to_rotmat gives the inverse rotation"),
    Planted("rotation_manifold", "return 2 * torch.asin",
            "return torch.asin", "RP853", "rotmat_geodesic_distance returns half the angle"),
    Planted("rotation_manifold", "torch.cos(angle / 2)], dim=-1)",
            "-torch.cos(angle / 2)], dim=-1)", "RP855", "rotvec_to_unitquat takes the inverse rotation"),
)  # fmt: skip
