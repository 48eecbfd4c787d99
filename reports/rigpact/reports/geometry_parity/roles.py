"""The roles of the training side's functions: names, inputs, results.

To add a role: a row here, its inputs in samples.py, its operation in readings.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "six", "residual", "matrix", "vector", "quat", "point", "euler", "angle", "sequence", "quat_sequence",
    "six_sequence",
]  # fmt: skip

_KINDS: Mapping[Kind, tuple[tuple[int, ...], str]] = {
    **dict.fromkeys(("six", "residual", "six_sequence"), ((6,), "(six numbers)")),
    **dict.fromkeys(("matrix", "sequence"), ((3, 3), "(matrix entries)")),
    **dict.fromkeys(("quat", "quat_sequence"), ((4,), "(quaternion)")),
    **dict.fromkeys(("vector", "euler"), ((3,), "rad")), "angle": ((), "rad"), "point": ((3,), "(coordinates)"),
}  # fmt: skip
TRAILING: Mapping[Kind, tuple[int, ...]] = {kind: shape for kind, (shape, _) in _KINDS.items()}
"""Shape of one value of each kind; all axes before it are leading axes. A sequence's first axis is time."""
UNIT: Mapping[Kind, str] = {kind: unit for kind, (_, unit) in _KINDS.items()}


@dataclass(frozen=True)
class Role:
    """One function of the contract's geometry. aliases: its names in other libraries.

    loose: names that other functions have too. What such a function is meant to compute is certain only where it agrees
    with the role.
    """

    name: str
    takes: tuple[Kind, ...]
    gives: Kind
    aliases: tuple[str, ...] = ()
    loose: tuple[str, ...] = ()
    flat: bool = False
    timed: bool = False

    @property
    def is_euler(self) -> bool:
        """Whether it takes or gives Euler angles."""
        return "euler" in (self.gives, *self.takes)

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the function, the contract's first."""
        return (self.name, *self.aliases, *self.loose)


_VELOCITY = ("compute_angular_velocity", "compute_angular_velocities", "angular_velocity", "compute_angvel")
ROLES: Mapping[str, Role] = {
    role.name: role
    for role in (
        Role("rot6d_to_matrix", ("six",), "matrix",
             ("rotation_6d_to_matrix", "rot6d_to_rotmat", "cont6d_to_matrix", "ortho6d_to_matrix",
              "compute_rotation_matrix_from_ortho6d")),
        Role("matrix_to_rot6d", ("matrix",), "six", ("matrix_to_rotation_6d", "rotmat_to_rot6d", "matrix_to_cont6d")),
        Role("reproject_rot6d", ("six",), "six", ("normalize_rot6d",), flat=True),
        Role("normalize_rot6d_delta", ("residual",), "six", ("normalise_rot6d_delta",), flat=True),
        Role("compose_rot6d_delta", ("six", "residual"), "six", (), flat=True),
        Role("so3_log_map", ("matrix",), "vector",
             ("matrix_to_axis_angle", "so3_log", "rotmat_to_rotvec", "matrix_to_rotvec",
              "rotation_matrix_to_axis_angle", "compact_axis_angle_from_matrix"), ("rotation_vector",)),
        Role("so3_exp_map", ("vector",), "matrix",
             ("axis_angle_to_matrix", "so3_exp", "rotvec_to_rotmat", "rotvec_to_matrix", "batch_rodrigues",
              "axis_angle_to_rotation_matrix", "axangle2mat", "angvec2r", "matrix_from_compact_axis_angle")),
        Role("geodesic_R", ("matrix", "matrix"), "angle",
             ("geodesic_angle", "rotation_angle_rad", "so3_relative_angle", "rotmat_geodesic_distance")),
        Role("angvel_vec_from_R_seq", ("sequence",), "vector",
             (), ("angular_velocity_from_rotations", "angular_velocity_from_rotmats", *_VELOCITY), timed=True),
        Role("angvel_from_quat_seq", ("quat_sequence",), "vector",
             (), ("quat_to_angular_velocity", "angular_velocity_from_quats", *_VELOCITY), timed=True),
        Role("angvel_from_rot6d_seq", ("six_sequence",), "vector",
             (), ("rot6d_to_angular_velocity", "angular_velocity_from_rot6d", *_VELOCITY), timed=True),
        Role("quat_to_matrix", ("quat",), "matrix",
             ("quaternion_to_matrix", "quat_to_rotmat", "unitquat_to_rotmat", "matrix_from_quat", "quat_to_rot_mat",
              "quat_to_mat", "quat2mat", "q2r", "quaternion_to_rotation_matrix", "matrix_from_quaternion")),
        Role("matrix_to_quat", ("matrix",), "quat",
             ("matrix_to_quaternion", "rotmat_to_quat", "rotmat_to_unitquat", "quat_from_matrix", "mat2quat", "r2q",
              "rotation_matrix_to_quaternion", "quaternion_from_matrix")),
        Role("rot6d_to_quat", ("six",), "quat",
             ("rotation_6d_to_quaternion", "cont6d_to_quaternion", "cont6d_to_quat")),
        Role("quat_to_rot6d", ("quat",), "six",
             ("quaternion_to_rotation_6d", "quaternion_to_cont6d", "quat_to_cont6d", "quat_to_tan_norm")),
        Role("quat_to_axis_angle", ("quat",), "vector",
             ("quaternion_to_axis_angle", "axis_angle_from_quat", "quat_to_angle_axis", "quat_to_rotvec",
              "unitquat_to_rotvec", "quat_to_exp_map", "quat_to_scaled_angle_axis", "quat2axangle",
              "compact_axis_angle_from_quaternion")),
        Role("axis_angle_to_quat", ("vector",), "quat",
             ("axis_angle_to_quaternion", "quat_from_angle_axis", "angle_axis_to_quat", "rotvec_to_quat",
              "rotvec_to_unitquat", "exp_map_to_quat", "quat_from_scaled_angle_axis", "axangle2quat",
              "quaternion_from_compact_axis_angle")),
        Role("quat_mul", ("quat", "quat"), "quat",
             ("quaternion_multiply", "quaternion_raw_multiply", "quat_multiply", "quat_product", "qmul", "qmult",
              "qqmul", "concatenate_quaternions")),
        Role("quat_inverse", ("quat",), "quat",
             ("quaternion_invert", "quat_conjugate", "quaternion_conjugate", "quat_conjugation", "quat_inv", "qinv",
              "qinverse", "q_conj")),
        Role("quat_rotate", ("quat", "point"), "point",
             ("quaternion_apply", "quat_apply", "quat_rotate_vector", "quat_mul_vec", "quat_action", "qrot",
              "qvmul", "q_prod_vector")),
        Role("quat_rotate_inverse", ("quat", "point"), "point", ("quat_apply_inverse", "quat_inv_mul_vec")),
        Role("euler_to_matrix", ("euler",), "matrix",
             ("euler_angles_to_matrix", "euler_to_rotmat", "euler_xyz_to_matrix", "euler2mat", "rpy2r")),
        Role("matrix_to_euler", ("matrix",), "euler", ("matrix_to_euler_angles", "rotmat_to_euler", "mat2euler")),
        Role("euler_to_quat", ("euler",), "quat",
             ("euler_to_quaternion", "euler_xyz_to_quat", "quat_from_euler_xyz", "quat_from_euler", "euler2quat")),
        Role("quat_to_euler", ("quat",), "euler",
             ("quaternion_to_euler", "euler_xyz_from_quat", "get_euler_xyz", "qeuler", "quat2euler")),
        Role("wrap_to_pi", ("angle",), "angle", ("wrap_angle", "wrap_yaw"), ("normalize_angle",)),
    )
}  # fmt: skip
"""All roles by name."""
