"""The rig of Blender IK, and oracles with scipy: angles as Blender tells them, the root's axes."""

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from rigpact.contract.contract_files import contract_in_memory
from rigpact.contract.pages.registry import find_system
from rigpact.contract.systems.problem import Problem

SYSTEM = find_system("blender_ik")
CONSTANTS: dict[str, Any] = dict(SYSTEM.template())
CONTRACT = contract_in_memory(SYSTEM, CONSTANTS)
BONES, TASKS, PARENTS = (tuple(CONSTANTS[name]) for name in ("bones", "tasks", "parents"))
HEADS_M, LENGTHS_M, LIMITS_RAD, ORIENTATIONS = (
    np.array(CONSTANTS[name]) for name in ("rest_heads_m", "bone_lengths_m", "limits_rad", "rest_orientations")
)
HIPS_AT_REST = ORIENTATIONS[0]


def data_problems(context: np.ndarray, rotations: np.ndarray, contract: Any = CONTRACT) -> list[Problem]:
    """What is wrong with a data set."""
    return list(SYSTEM.data_problems(contract, {"context": context, "rotations": rotations}))


def root_axes(root: np.ndarray) -> np.ndarray:
    """The axes of the hips at rest, turned by the armature, as columns."""
    return np.asarray(Rotation.from_quat(root[7:].astype(float)).as_matrix() @ HIPS_AT_REST)
