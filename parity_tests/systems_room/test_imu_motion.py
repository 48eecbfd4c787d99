"""IMU pose: the motion that MuJoCo simulates for the exercises."""

import math

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the extra [physics] is not installed")

from rigpact.training.imu_pose.body import rest_m
from rigpact.training.imu_pose.facts import JOINTS
from rigpact.training.imu_pose.motion import EXERCISE, Movement, leg_angles, movements
from rigpact.training.imu_pose.sensor import ideal

BONES = [
    (9, 11),
    (11, 13),
    (13, 15),
    (10, 12),
    (12, 14),
    (14, 16),
    (1, 2),
    (3, 5),
    (5, 7),
    (4, 6),
    (6, 8),
    (0, 9),
    (0, 10),
]


@pytest.fixture(scope="module")
def simulated() -> list[Movement]:
    """Twelve windows of two seconds."""
    return list(movements(seed=11, count=12, samples=200))


def test_bones_keep_their_length(simulated: list[Movement]) -> None:
    """A thigh that grows from 0.4 to 1.7 m teaches a network on no human being."""
    for movement in simulated:
        for parent, child in BONES:
            length = np.linalg.norm(movement.joints_m[:, child] - movement.joints_m[:, parent], axis=1)
            rest = np.linalg.norm(rest_m(JOINTS[child]) - rest_m(JOINTS[parent]))
            assert length == pytest.approx(rest, abs=1e-9)


def test_nobody_falls(simulated: list[Movement]) -> None:
    """A squat without a floor is a free fall: feet stay within 5 mm, the pelvis above half its height."""
    for movement in simulated:
        for foot in ("ankle_l", "ankle_r", "foot_l", "foot_r"):
            strayed = np.linalg.norm(movement.joints_m[:, JOINTS.index(foot)] - rest_m(foot), axis=1)
            assert strayed.max() < 0.005
        assert movement.joints_m[:, 0, 2].min() > 0.5
        assert movement.joints_m[..., 2].min() > 0.0


def test_exercises_differ_where_they_should(simulated: list[Movement]) -> None:
    """A label must match the motion, or the network cannot learn it: each exercise moves the pelvis differently."""
    for movement in simulated:
        name = list(EXERCISE)[movement.exercise]
        moved = np.ptp(movement.joints_m[:, 0], axis=0)
        assert moved[2] == moved.max() if name == "squat" else moved[2] < 0.25


def test_the_sensor_agrees_with_mujocos_own_gyroscope(simulated: list[Movement]) -> None:
    """Two derivations of one angular rate. Central differences over 20 ms are off by w''·h²/6: 0.05 rad/s at these paces."""
    for movement in simulated:
        own = ideal(movement.pelvis_m, movement.pelvis_rotation)
        assert own[1:-1, 3:] == pytest.approx(movement.witness[1:-1, 3:], abs=0.05)


def test_on_average_the_sensor_feels_gravity(simulated: list[Movement]) -> None:
    """A person who stays in one place feels 9.81 m/s² upward on average; half of it means that the floor gives way."""
    for movement in simulated:
        force = np.einsum(
            "tij,tj->ti", movement.pelvis_rotation, ideal(movement.pelvis_m, movement.pelvis_rotation)[:, :3]
        )
        # the mean of an acceleration over T seconds is the change of speed over T: under 1.5 m/s in 2 s
        assert force[:, 2].mean() == pytest.approx(9.81, abs=0.75)


@pytest.mark.parametrize("side", ["_l", "_r"])
def test_leg_angles_put_the_foot_flat_where_it_stood(side: str) -> None:
    """Forward kinematics of the angles, scalar rotation by scalar rotation."""
    move, lean = np.array([[0.06, -0.1, -0.3]]), np.array([0.4])
    angles = {name: float(values[0]) for name, values in leg_angles(side, move, lean).items()}

    def about(axis: str, angle: float) -> np.ndarray:
        c, s = math.cos(angle), math.sin(angle)
        return np.array([[1, 0, 0], [0, c, -s], [0, s, c]] if axis == "x" else [[c, 0, s], [0, 1, 0], [-s, 0, c]])

    hip, knee, ankle = (rest_m(f"{name}{side}") for name in ("hip", "knee", "ankle"))
    turn = about("x", -0.4)
    at = rest_m("pelvis") + move[0] + turn @ (hip - rest_m("pelvis"))
    turn = turn @ about("x", angles["hip_x"]) @ about("y", angles["hip_y"])
    at = at + turn @ (knee - hip)
    turn = turn @ about("x", angles["knee_x"])
    at = at + turn @ (ankle - knee)
    turn = turn @ about("x", angles["ankle_x"]) @ about("y", angles["ankle_y"])
    assert at == pytest.approx(ankle, abs=1e-12)
    assert turn[:, 2] == pytest.approx([0.0, 0.0, 1.0], abs=0.02)  # the sole is flat; its heading may turn a little
