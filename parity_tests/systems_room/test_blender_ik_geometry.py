"""Blender IK: kinematics with rest orientations, rotations, the rig's own numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from rigpact.contract.systems import blender_ik_rig as rig_data
from rigpact.reference_runtime.operations.definitions.euler import EULER
from rigpact.reference_runtime.operations.definitions.quaternions import exponential, to_matrix
from rigpact.reference_runtime.operations.geometry import quat_to_vector
from rigpact.reference_runtime.systems.blender_ik.kinematics import chain_of, forward_kinematics

RIG = rig_data.read_constants(rig_data.declared_constants())
vectors = arrays(np.float64, (23, 3), elements=st.floats(-3.0, 3.0))


def posed_by_hand(local_rad: np.ndarray, root: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Blender's definition with 4 x 4 matrices: pose = parent's pose · (parent's rest)⁻¹ · rest · turn."""

    def transform(turn: np.ndarray, place: np.ndarray) -> np.ndarray:
        matrix = np.eye(4)
        matrix[:3, :3], matrix[:3, 3] = turn, place
        return matrix

    rest = [transform(turn, head) for turn, head in zip(RIG.orientations, RIG.heads_m, strict=True)]
    posed: list[np.ndarray] = []
    for bone, parent in enumerate(RIG.parents):
        turn = transform(Rotation.from_rotvec(local_rad[bone]).as_matrix(), np.zeros(3))
        if parent < 0:
            posed.append(transform(RIG.orientations[bone], root) @ turn)
        else:
            posed.append(posed[parent] @ np.linalg.inv(rest[parent]) @ rest[bone] @ turn)
    return np.array([matrix[:3, 3] for matrix in posed]), np.array([matrix[:3, :3] for matrix in posed])


@settings(max_examples=40, deadline=None)
@given(local=vectors)
def test_kinematics_are_blenders(local: np.ndarray) -> None:
    """With another attachment to their parents, the bones miss every target."""
    root = np.array([0.3, -1.2, 0.9])
    heads, orientations = forward_kinematics(chain_of(RIG), to_matrix(exponential(0.5 * local)), root)
    expected_heads, expected_orientations = posed_by_hand(local, root)
    # rest orientations are stored to 9 decimals; eight of them in a chain of two metres
    assert heads == pytest.approx(expected_heads, abs=1e-7)
    assert orientations == pytest.approx(expected_orientations, abs=1e-7)


def test_the_rest_pose_is_the_rest_pose() -> None:
    """No rotation must give the heads and the axes of the export, or nothing else is worth checking."""
    heads, orientations = forward_kinematics(chain_of(RIG), np.broadcast_to(np.eye(3), (23, 3, 3)), RIG.heads_m[0])
    assert heads == pytest.approx(RIG.heads_m, abs=1e-7)
    assert orientations == pytest.approx(RIG.orientations, abs=1e-7)


def test_without_rest_orientations_hands_miss_by_decimetres() -> None:
    """The defect that the original trained with for days: the loss goes down and the hand is elsewhere."""
    local = np.zeros((23, 3))
    local[rig_data.BONES.index("LeftArm")] = [0.0, 0.0, 1.0]
    local[rig_data.BONES.index("Hips")] = [0.3, 0.4, 0.0]
    turns = to_matrix(exponential(0.5 * local))
    flat = np.broadcast_to(np.eye(3), (23, 3, 3))
    right, _ = forward_kinematics(chain_of(RIG), turns, np.zeros(3))
    wrong, _ = forward_kinematics(chain_of(RIG, orientations=flat), turns, np.zeros(3))
    hand = rig_data.BONES.index("LeftHand")
    assert np.linalg.norm(right[hand] - wrong[hand]) > 0.3


@given(vector=arrays(np.float64, (3,), elements=st.floats(-12.0, 12.0)))
def test_rotation_vectors_turn_as_scipys_do(vector: np.ndarray) -> None:
    """Half the angle, or the other way round, and every limb is wrong by a plausible amount."""
    expected = Rotation.from_rotvec(vector).as_matrix()
    assert to_matrix(exponential(0.5 * vector)) == pytest.approx(expected, abs=1e-13)
    quaternion = exponential(0.5 * vector)
    assert Rotation.from_quat(quaternion).as_matrix() == pytest.approx(expected, abs=1e-13)


@given(vector=arrays(np.float64, (3,), elements=st.floats(-12.0, 12.0)))
def test_the_canonical_vector_is_the_same_turn_and_the_shortest(vector: np.ndarray) -> None:
    """Labels that jump by a whole turn between two frames cannot be learned."""
    canonical = quat_to_vector(exponential(0.5 * vector))
    assert np.linalg.norm(canonical) <= np.pi + 1e-12
    same = Rotation.from_rotvec(canonical).inv() * Rotation.from_rotvec(vector)
    assert same.magnitude() == pytest.approx(0.0, abs=1e-7)  # scipy's angle of a quaternion near one


@pytest.mark.parametrize("angle", [np.pi - 1e-9, np.pi + 1e-3, 2 * np.pi - 0.1, 2 * np.pi + 0.1])
def test_angles_beyond_half_a_turn_come_back_the_other_way(angle: float) -> None:
    """w < 0 in a quaternion is an angle beyond 180 degrees, and the label flips its axis."""
    axis = np.array([0.6, 0.0, 0.8])
    expected = angle if angle <= np.pi else angle - 2 * np.pi
    assert quat_to_vector(exponential(0.5 * angle * axis)) == pytest.approx(expected * axis, abs=1e-12)


@given(angles=st.tuples(st.floats(-3.1, 3.1), st.floats(-1.5, 1.5), st.floats(-3.1, 3.1)))
def test_euler_xyz_turns_about_x_first(angles: tuple[float, float, float]) -> None:
    """The original's helper names one order and computes the other: errors up to 0.38 in an element."""
    fixed = Rotation.from_euler("xyz", angles).as_matrix()  # lower case: about fixed axes, x first
    assert EULER["xyz_rad"][1](fixed) == pytest.approx(np.array(angles), abs=1e-9)
    other = Rotation.from_euler("zyx", angles[::-1]).as_matrix()  # z first
    assert EULER["XYZ_rad"][1](other) == pytest.approx(np.array(angles), abs=1e-9)


def test_a_bones_y_axis_runs_along_it() -> None:
    """Blender's convention, which the derived rest orientations must keep."""
    for child, parent in enumerate(rig_data.PARENTS):
        if child == parent + 1 and parent >= 0:
            along = RIG.heads_m[child] - RIG.heads_m[parent]
            assert RIG.orientations[parent][:, 1] == pytest.approx(along / np.linalg.norm(along), abs=1e-8)
    assert np.linalg.det(RIG.orientations) == pytest.approx(np.ones(23), abs=1e-8)


@pytest.mark.parametrize(("bone", "turn_deg", "moves", "axis", "sign"), [
    ("LeftThigh", (40, 0, 0), "LeftShin", 1, 1), ("RightShin", (-60, 0, 0), "RightFoot", 1, -1),
    ("Spine", (30, 0, 0), "Head", 1, 1), ("LeftForeArm", (0, 0, 40), "LeftHand", 1, 1),
    ("RightForeArm", (0, 0, -40), "RightHand", 1, 1),
])  # fmt: skip
def test_limits_bend_joints_the_way_they_bend(
    bone: str, turn_deg: tuple[float, ...], moves: str, axis: int, sign: int
) -> None:
    """With the document's limits a knee bends forward: thighs and spine flex forward, knees back, elbows forward."""
    place = rig_data.BONES.index(bone)
    local = np.zeros((23, 3))
    local[place] = np.deg2rad(turn_deg)
    low, high = np.moveaxis(RIG.limits_rad[place], -1, 0)
    assert np.all((low - 1e-9 <= local[place]) & (local[place] <= high + 1e-9))
    heads, _ = forward_kinematics(chain_of(RIG), to_matrix(exponential(0.5 * local)), RIG.heads_m[0])
    there = rig_data.BONES.index(moves)
    assert sign * (heads[there, axis] - RIG.heads_m[there, axis]) > 0.05
