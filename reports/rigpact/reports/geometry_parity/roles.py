"""The roles of the training side's functions: names, inputs, results.

To add a role: a row here, its inputs in samples.py, its readings in readings.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["six", "residual", "matrix", "vector", "quat", "sequence", "angle"]

TRAILING: Mapping[Kind, tuple[int, ...]] = {
    "six": (6,), "residual": (6,), "matrix": (3, 3), "vector": (3,), "quat": (4,), "sequence": (3, 3), "angle": (),
}  # fmt: skip
"""Shape of one value of each kind; all axes before it are leading axes. A sequence's first axis is time."""
UNIT: Mapping[Kind, str] = {
    "six": "(six numbers)", "residual": "(six numbers)", "matrix": "(matrix entries)", "vector": "rad", "quat": "(quaternion)",
    "sequence": "(matrix entries)", "angle": "rad",
}  # fmt: skip


@dataclass(frozen=True)
class Role:
    """One function of the contract's geometry. aliases: its names in other libraries."""

    name: str
    takes: tuple[Kind, ...]
    gives: Kind
    aliases: tuple[str, ...] = ()
    flat: bool = False
    timed: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the function, the contract's first."""
        return (self.name, *self.aliases)


ROLES: Mapping[str, Role] = {
    role.name: role
    for role in (
        Role("rot6d_to_matrix", ("six",), "matrix", ("rotation_6d_to_matrix", "rot6d_to_rotmat")),
        Role("matrix_to_rot6d", ("matrix",), "six", ("matrix_to_rotation_6d", "rotmat_to_rot6d")),
        Role("reproject_rot6d", ("six",), "six", ("normalize_rot6d",), flat=True),
        Role("normalize_rot6d_delta", ("residual",), "six", ("normalise_rot6d_delta",), flat=True),
        Role("compose_rot6d_delta", ("six", "residual"), "six", (), flat=True),
        Role("so3_log_map", ("matrix",), "vector", ("matrix_to_axis_angle", "rotation_vector", "so3_log")),
        Role("so3_exp_map", ("vector",), "matrix", ("axis_angle_to_matrix", "so3_exp")),
        Role("geodesic_R", ("matrix", "matrix"), "angle", ("geodesic_angle", "rotation_angle_rad", "so3_relative_angle")),
        Role("angvel_vec_from_R_seq", ("sequence",), "vector", (), timed=True),
        Role("quat_to_matrix", ("quat",), "matrix", ("quaternion_to_matrix",)),
        Role("matrix_to_quat", ("matrix",), "quat", ("matrix_to_quaternion",)),
        Role("wrap_to_pi", ("angle",), "angle", ("wrap_angle", "wrap_yaw")),
    )
}  # fmt: skip
"""All roles by name."""
