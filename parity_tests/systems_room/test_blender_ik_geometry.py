"""Blender IK: kinematics with rest orientations, rotations, the rig's own numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from rigpact.reference_runtime.operations.definitions.euler import EULER, TRIPLES
from rigpact.reference_runtime.operations.definitions.quaternions import exponential, to_matrix
from rigpact.reference_runtime.vocabulary.rigs.kinematics import chain_of, forward_kinematics

from .blender_ik_by_hand import BONES, HEADS_M, LENGTHS_M, LIMITS_RAD, ORIENTATIONS, PARENTS

CHAIN = chain_of(PARENTS, HEADS_M, ORIENTATIONS)
SIX_DECIMALS = 2e-4
"""The published thighs part by 2.5e-5 from a rotation matrix: an inverse parts from a transpose, for up to eight bones."""
vectors = arrays(np.float64, (23, 3), elements=st.floats(-3.0, 3.0))


def posed_by_hand(local_rad: np.ndarray, root: np.ndarray, armature: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Blender's definition with 4 x 4 matrices: pose = parent's pose · (parent's rest)⁻¹ · rest · turn."""

    def transform(turn: np.ndarray, place: np.ndarray) -> np.ndarray:
        matrix = np.eye(4)
        matrix[:3, :3], matrix[:3, 3] = turn, place
        return matrix

    rest = [transform(turn, head) for turn, head in zip(ORIENTATIONS, HEADS_M, strict=True)]
    posed: list[np.ndarray] = []
    for bone, parent in enumerate(PARENTS):
        turn = transform(Rotation.from_rotvec(local_rad[bone]).as_matrix(), np.zeros(3))
        if parent < 0:
            posed.append(transform(armature @ ORIENTATIONS[bone], root) @ turn)
        else:
            posed.append(posed[parent] @ np.linalg.inv(rest[parent]) @ rest[bone] @ turn)
    return np.array([matrix[:3, 3] for matrix in posed]), np.array([matrix[:3, :3] for matrix in posed])


@settings(deadline=None)
@given(local=vectors)
def test_kinematics_are_blenders(local: np.ndarray) -> None:
    """With another attachment to their parents, the bones miss every target."""
    root, armature = np.array([0.3, -1.2, 0.9]), Rotation.from_rotvec([0.2, -0.1, 2.0]).as_matrix()
    turns = to_matrix(exponential(0.5 * local))
    heads, orientations = forward_kinematics(CHAIN, turns, root, armature=armature)
    expected_heads, expected_orientations = posed_by_hand(local, root, armature)
    assert heads == pytest.approx(expected_heads, abs=SIX_DECIMALS)
    assert orientations == pytest.approx(expected_orientations, abs=SIX_DECIMALS)


def test_the_rest_pose_is_the_rest_pose() -> None:
    """No rotation must give the heads and the axes of the export, or nothing else is worth checking."""
    heads, orientations = forward_kinematics(CHAIN, np.broadcast_to(np.eye(3), (23, 3, 3)), HEADS_M[0])
    assert heads == pytest.approx(HEADS_M, abs=SIX_DECIMALS)
    assert orientations == pytest.approx(ORIENTATIONS, abs=SIX_DECIMALS)


def test_without_rest_orientations_hands_miss_by_decimetres() -> None:
    """The defect that the original trained with for days: the loss goes down and the hand is elsewhere."""
    local = np.zeros((23, 3))
    local[BONES.index("LeftArm")] = [0.0, 0.0, 1.0]
    local[BONES.index("Hips")] = [0.3, 0.4, 0.0]
    turns = to_matrix(exponential(0.5 * local))
    flat = np.broadcast_to(np.eye(3), (23, 3, 3))
    right, _ = forward_kinematics(CHAIN, turns, np.zeros(3))
    wrong, _ = forward_kinematics(chain_of(PARENTS, HEADS_M, flat), turns, np.zeros(3))
    hand = BONES.index("LeftHand")
    assert np.linalg.norm(right[hand] - wrong[hand]) > 0.3


BLENDERS: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...] = (
    ((0.46, -0.46, 0.35, 0.04), (0.761613, -2.42664, 1.273916)),
    ((0.41, 1.56, -0.89, 0.93), (1.132238, 2.120458, 0.169915)),
    ((-0.71, -0.78, -0.18, 0.07), (-0.167139, -2.818741, -1.449626)),
    ((0.42, 0.51, 2.23, 0.22), (0.492361, -0.306895, 2.867232)),
    ((-0.29, -1.17, -0.92, 0.31), (-1.317606, -2.588209, -0.053117)),
)
"""Quaternions xyzw, and what `to_euler('XYZ')` of Blender 4.5 says of them."""


@pytest.mark.parametrize(("quaternion", "angles"), BLENDERS)
def test_of_two_triples_blenders_is_told(quaternion: tuple[float, ...], angles: tuple[float, ...]) -> None:
    """A hand behind the back jumps by half a turn in three numbers that the network sees."""
    turn = Rotation.from_quat(quaternion)
    found = TRIPLES["smaller_sum"](EULER["xyz_rad"][1](turn.as_matrix()))
    assert found == pytest.approx(angles, abs=2e-6)
    assert (Rotation.from_euler("xyz", found).inv() * turn).magnitude() == pytest.approx(0.0, abs=1e-6)
    assert abs(TRIPLES["middle_within_90_deg"](EULER["xyz_rad"][1](turn.as_matrix()))[1]) <= np.pi / 2


def test_a_bones_y_axis_runs_along_it() -> None:
    """Blender's convention. Heads and orientations are two tables of the same rig: each proves the other."""
    for child, parent in enumerate(PARENTS):
        if child == parent + 1 and parent >= 0:
            along = HEADS_M[child] - HEADS_M[parent]
            # Spine2 ends 0.6 mm beside the neck, the others at the next head: 0.6 mm of 15 cm
            assert ORIENTATIONS[parent][:, 1] == pytest.approx(along / np.linalg.norm(along), abs=4e-3)
            assert LENGTHS_M[parent] == pytest.approx(np.linalg.norm(along), abs=2e-5)
    assert np.linalg.det(ORIENTATIONS) == pytest.approx(np.ones(23), abs=SIX_DECIMALS)


@pytest.mark.parametrize(("bone", "turn_deg", "moves", "axis", "sign"), [
    ("LeftThigh", (40, 0, 0), "LeftShin", 1, 1), ("RightShin", (-60, 0, 0), "RightFoot", 1, -1),
    ("Spine", (30, 0, 0), "Head", 1, 1), ("LeftForeArm", (0, 0, 40), "LeftHand", 1, 1),
    ("RightForeArm", (0, 0, -40), "RightHand", 1, 1),
])  # fmt: skip
def test_limits_bend_joints_the_way_they_bend(
    bone: str, turn_deg: tuple[float, ...], moves: str, axis: int, sign: int
) -> None:
    """With the document's limits a knee bends forward: thighs and spine flex forward, knees back, elbows forward."""
    place = BONES.index(bone)
    local = np.zeros((23, 3))
    local[place] = np.deg2rad(turn_deg)
    low, high = np.moveaxis(LIMITS_RAD[place], -1, 0)
    assert np.all((low - 1e-9 <= local[place]) & (local[place] <= high + 1e-9))
    heads, _ = forward_kinematics(CHAIN, to_matrix(exponential(0.5 * local)), HEADS_M[0])
    there = BONES.index(moves)
    assert sign * (heads[there, axis] - HEADS_M[there, axis]) > 0.05
