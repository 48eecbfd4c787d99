"""IMU pose: simulated bodies, the sensor on them, the network, its head, its window and its spread."""

import math
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra [training] is not installed")
pytest.importorskip("mujoco", reason="the extra [physics] is not installed")

import torch

from rigpact.training import imu_motion as motion
from rigpact.training import imu_pose

from ..every_case import every_case
from . import declared_runs
from .declared_runs import scene

_LEGS_AND_ARMS = "9 11 13 15", "10 12 14 16", "1 2", "3 5 7", "4 6 8", "0 9", "0 10"
GRAVITY = np.array([0.0, 0.0, 9.81, 0.0, 0.0, 0.0])
BONES = [pair for chain in _LEGS_AND_ARMS for pair in pairwise(map(int, chain.split()))]
"""Parent and child of each bone, by their places in JOINTS."""


@pytest.fixture(scope="module")
def simulated() -> list[motion.Movement]:
    """Six windows of two seconds."""
    return list(motion.movements(seed=11, count=6, samples=200))


def test_a_body_keeps_its_bones_stands_and_moves_as_its_label_says(simulated: list[motion.Movement]) -> None:
    """A thigh that grows, a squat in free fall, a label of another exercise: the network learns each of them."""
    assert len(simulated) == 6
    for movement in simulated:
        for parent, child in BONES:
            length = np.linalg.norm(movement.joints_m[:, child] - movement.joints_m[:, parent], axis=1)
            assert length == pytest.approx(
                np.linalg.norm(motion.rest_m(motion.JOINTS[child]) - motion.rest_m(motion.JOINTS[parent])), abs=1e-9
            )
        for foot in ("ankle_l", "ankle_r", "foot_l", "foot_r"):
            assert (
                np.linalg.norm(movement.joints_m[:, motion.JOINTS.index(foot)] - motion.rest_m(foot), axis=1).max()
                < 0.005
            )
        assert movement.joints_m[:, 0, 2].min() > 0.5
        assert movement.joints_m[..., 2].min() > 0.0
        moved = np.ptp(movement.joints_m[:, 0], axis=0)
        assert moved[2] == moved.max() if list(motion.EXERCISE)[movement.exercise] == "squat" else moved[2] < 0.25


def test_the_sensor_agrees_with_mujocos_gyroscope_and_feels_gravity(simulated: list[motion.Movement]) -> None:
    """Two derivations of one angular rate. Central differences over 20 ms are off by w''·h²/6: 0.05 rad/s at these paces."""
    assert len(simulated) == 6
    for movement in simulated:
        own = motion.ideal(movement.pelvis_m, movement.pelvis_rotation)
        assert own[1:-1, 3:] == pytest.approx(movement.witness[1:-1, 3:], abs=0.05)
        force = np.einsum("tij,tj->ti", movement.pelvis_rotation, own[:, :3])
        # the mean of an acceleration over T seconds is the change of speed over T: under 1.5 m/s in 2 s
        assert force[:, 2].mean() == pytest.approx(9.81, abs=0.75)


def test_a_phone_clips_and_its_mounting_is_a_rotation() -> None:
    """Beyond 16 g a phone reports 16 g; a mounting that stretches makes it feel more gravity than there is."""
    flaws = motion.Flaws(np.eye(3), np.ones(6), np.zeros(3), np.zeros(3), 0.0, 0.0)
    reading = motion.measured(np.array([[1000.0, 0, 0, 0, -100.0, 0]]), flaws, np.random.default_rng(0))
    assert reading[0, [0, 4]] == pytest.approx([16 * 9.81, -math.radians(2000.0)])
    for seed in range(20):
        mounting = motion.draw_flaws(np.random.default_rng(seed)).mounting
        assert mounting @ mounting.T == pytest.approx(np.eye(3), abs=1e-14)
        assert np.linalg.det(mounting) == pytest.approx(1.0)


# ---- the network


def _count(size: imu_pose.Size) -> int:
    return sum(parameter.numel() for parameter in imu_pose.ImuPoseNetwork(size).parameters())


def test_the_full_network_has_the_published_number_of_parameters() -> None:
    """6,107,375 at three exercises and five forms; 128 + 1 for each more exercise, 64 + 1 for each more form."""
    assert _count(imu_pose.FULL) == 6_107_375
    assert _count(imu_pose.Size(256, 4, 6, 8, 1024, (512, 256), 128, exercises=1)) == 6_107_117
    assert _count(imu_pose.Size(256, 4, 6, 8, 1024, (512, 256), 128, exercises=4, forms=7)) == 6_107_375 + 129 + 2 * 65


def test_a_window_has_a_pose_for_each_frame_and_one_word_of_each_kind() -> None:
    """Averaged over people in place of time, one person's exercise would be everybody's."""
    answers = imu_pose.ImuPoseNetwork(imu_pose.SMALL)(torch.zeros(2, 16, 6))
    assert [tuple(each.shape) for each in answers] == [(2, 16, 102), (2, 3), (2, 5), (2, 1)]


def test_the_committed_files_run_and_stand_on_the_floor() -> None:
    """The whole runtime on a window of a person it has never seen: upright, feet down, a spread of a few centimetres."""
    of = scene("imu_pose")
    stages = declared_runs.run(of.contract, of.given, of.network)
    pose = stages["pose"].reshape(-1, 17, 3)
    assert np.all(pose[:, motion.JOINTS.index("head"), 2] > pose[:, motion.JOINTS.index("pelvis"), 2] + 0.4)
    assert np.abs(pose[:, motion.JOINTS.index("foot_l"), 2] - 0.03).max() < 0.03
    assert 0.001 < stages["sigma"].reshape(-1, 17, 3)[:, motion.JOINTS.index("pelvis"), 2].mean() < 0.05
    assert {name: rows.shape for name, rows in stages.items()} == {
        name: (100, motion.SYSTEM.vectors[name].width) for name in motion.SYSTEM.graph.names
    }


def test_the_committed_network_is_as_good_as_its_page_says() -> None:
    """Twenty people whom the training never saw: joints within 2.5 cm, the spread neither too wide nor too narrow."""
    of, windows = scene("imu_pose"), imu_pose.simulate_windows(99, 20)
    runs = [declared_runs.run(of.contract, {"imu": imu}, of.network) for imu in windows.imu]
    pose, sigma = (np.stack([run[name] for run in runs]) for name in ("pose", "sigma"))
    assert np.linalg.norm((pose - windows.pose_m).reshape(-1, 3), axis=1).mean() < 0.025
    assert 0.6 < imu_pose.coverage(imu_pose.standard_scores(pose, sigma, windows.pose_m)) < 0.8


# ---- losses and calibration


def test_the_losses_are_those_of_the_document() -> None:
    """The likelihood against torch's own normal distribution; the joint error is a mean distance of one joint of 17."""
    generator = torch.Generator().manual_seed(1)
    head, pose = torch.randn(2, 3, 102, generator=generator), torch.randn(2, 3, 51, generator=generator)
    normal = torch.distributions.Normal(head[..., 0::2], (0.5 * head[..., 1::2]).exp())
    assert imu_pose.negative_log_likelihood(head, pose).item() == pytest.approx(
        -normal.log_prob(pose).mean().item(), rel=1e-5
    )
    head, pose = torch.zeros(1, 2, 102), torch.zeros(1, 2, 51)
    pose[..., 0], pose[..., 1] = 0.3, 0.4
    assert imu_pose.mean_joint_error_m(head, pose).item() == pytest.approx(0.5 / 17)


def test_the_learned_weights_cannot_run_away() -> None:
    """With exp(w)·loss alone the cheapest weight is zero and the task is never learned: here the optimum is finite."""
    loss = imu_pose.MultiTaskLoss()
    outputs = (torch.zeros(2, 4, 102), torch.zeros(2, 3), torch.zeros(2, 5), torch.full((2, 1), 0.5))
    pose, labels = torch.ones(2, 4, 51), torch.zeros(2, dtype=torch.long)
    optimiser = torch.optim.SGD(loss.parameters(), lr=0.5)
    for _ in range(150):
        optimiser.zero_grad()
        loss(outputs, pose, labels, labels).backward()
        optimiser.step()
    wanted = [math.log(0.5 * (math.log(2 * math.pi) + 1.0)), math.log(0.5 * math.log(3)), math.log(0.3 * math.log(5))]
    assert loss.log_weights.detach().numpy()[:3] == pytest.approx(wanted, abs=1e-3)


def test_a_temperature_mends_a_spread_and_what_never_moves_is_not_scored() -> None:
    """A normal distribution claimed half as wide: factor 2, coverage 68 %. A still third of the body makes any spread perfect."""
    scores = 2.0 * np.random.default_rng(4).normal(size=200_000)
    temperature = imu_pose.fit_temperature(scores)
    assert temperature == pytest.approx(2.0, rel=0.01)
    assert imu_pose.coverage(scores) == pytest.approx(math.erf(0.5 / math.sqrt(2)), abs=0.01)
    assert imu_pose.coverage(scores / temperature) == pytest.approx(math.erf(1 / math.sqrt(2)), abs=1e-3)
    pose = np.zeros((5, 10, 51))
    pose[..., 7] = np.linspace(0.0, 1.0, 10)
    assert np.flatnonzero(imu_pose.moving(pose)).tolist() == [7]
    assert imu_pose.standard_scores(np.zeros_like(pose), np.ones_like(pose), pose).shape == (50,)


@every_case(
    ("changes", "expected"),
    [
        ({"sensor_axes": "y_up"}, lambda imu: (imu[:, [0, 2, 1, 3, 5, 4]] * (1, -1, 1, 1, -1, 1) - GRAVITY) / 5.0),
        ({"sensor_axes": "z_down"}, lambda imu: (imu * (1, -1, -1, 1, -1, -1) - GRAVITY) / 5.0),
        ({"input_scale": "none"}, lambda imu: imu - GRAVITY),
        ({"input_scale": "window_statistics_unbiased"}, lambda imu: (imu - imu.mean(0)) / imu.std(0, ddof=1)),
    ],
)
def test_what_no_published_mistake_is_reads_the_sensor_so(changes, expected):
    """A name that computes something else sends a team to code that is right."""
    imu = np.random.default_rng(4).normal(0.0, 8.0, (60, 6)).astype(np.float32)
    found = declared_runs.recomputed(scene("imu_pose").contract.with_conventions(changes), "model_input", {"imu": imu})
    assert found == pytest.approx(expected(imu.astype(float)), abs=1e-5)
