"""Blender IK re-derived with scipy: angles as Blender tells them, the root's axes. Oracles of the tests beside it."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from rigpact.contract.systems import blender_ik_rig as rig_data

HIPS_AT_REST = np.array(rig_data.declared_constants()["rest_orientations"])[0]


def blenders_angles(turn: Rotation) -> np.ndarray:
    """Angles about x, y and z: of the two triples of one rotation, the one whose sum is smaller."""
    x, y, z = turn.as_euler("xyz")
    triples = [
        np.array([x, y, z]),
        np.array([x - np.copysign(np.pi, x), np.copysign(np.pi, y) - y, z - np.copysign(np.pi, z)]),
    ]
    for other in triples:
        assert (Rotation.from_euler("xyz", other).inv() * turn).magnitude() < 1e-6
    return min(triples, key=lambda triple: float(np.abs(triple).sum()))


def root_axes(root: np.ndarray) -> np.ndarray:
    """The axes of the hips at rest, turned by the armature, as columns."""
    return np.asarray(Rotation.from_quat(root[7:].astype(float)).as_matrix() @ HIPS_AT_REST)
