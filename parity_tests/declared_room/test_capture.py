"""A training environment becomes a contract, and a recording of it agrees with it; the managers are small stand-ins."""

import tomllib
from collections.abc import Mapping

import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.testing import capture

from .captured_environment import JOINTS, ManagerBasedRLEnv, Tensor
from .foreign_files import weights_of, write_model


def recorded(env, folder, frames=40):
    """Ten lines of a user."""
    policy = policy_of(write_model(folder / "policy.onnx", 27, 4))
    captured = capture(env, folder / "robot.toml", model=folder / "policy.onnx")
    path = folder / "robot.trace.jsonl"
    with captured.record(path) as recorder:
        observations, _ = env.reset()
        for _ in range(frames):
            observations = recorder.step(observations, policy(observations))[0]
    return path


def policy_of(model):
    """The policy as the training has it: one matrix."""
    weights = weights_of(model)

    def policy(observations: Mapping[str, Tensor]) -> Tensor:
        [seen] = observations.values()
        return Tensor(seen.values @ weights)

    return policy


@pytest.fixture(params=[False, True], ids=["Isaac Lab", "mjlab"])
def is_mjlab(request):
    return bool(request.param)


def test_a_right_environment_agrees_without_an_edit(is_mjlab, tmp_path, command):
    """Who has to correct the contract of a right environment by hand does not look at the next answer."""
    env = ManagerBasedRLEnv(is_mjlab=is_mjlab)
    env.reset()
    answer = command("explain", recorded(env, tmp_path), "--contract", tmp_path / "robot.toml")
    assert answer.status == 0, answer.out + answer.err
    root = tomllib.loads((tmp_path / "robot.toml").read_text(encoding="utf-8"))
    given = {each["name"]: each for each in root["given"]}
    assert root["fps"] == 50
    assert root["names"]["joints"] == list(JOINTS)
    assert root["numbers"]["action_scale"]["value"] == [0.5, 0.25, 0.5, 0.25]
    assert root["numbers"]["stiffness"]["value"] == [20] * 4
    assert root["numbers"]["default_pose"]["value"] == [0.1, -0.1, 0.8, 0.7]
    assert given["root_quat_w"]["kind"] == "quaternion_wxyz"
    assert command("check", tmp_path / "robot.toml").status == 0


def test_a_mistake_of_the_loop_is_named(tmp_path, command):
    """A capture that takes a wrong number over from the loop that it should judge agrees with anything."""
    env = ManagerBasedRLEnv(wrong="scale")
    env.reset()
    answer = command("explain", recorded(env, tmp_path), "--contract", tmp_path / "robot.toml")
    assert answer.status == 1
    assert "base_ang_vel" in answer.out


def test_a_reset_begins_a_segment(tmp_path, command):
    """A history that goes on over a reset would accuse every environment that ends an episode."""
    env = ManagerBasedRLEnv(episode=15)
    env.reset()
    answer = command("explain", recorded(env, tmp_path), "--contract", tmp_path / "robot.toml")
    assert answer.status == 0, answer.out + answer.err
    assert "segment 3" in answer.out.lower()


def without(name):
    return lambda env: delattr(env, name)


def _differ(env):
    env.robot.data.default_joint_pos = Tensor([[0.1] * 4, [0.2] * 4])


@pytest.mark.parametrize(
    ("change", "options", "says"),
    [
        (without("observation_manager"), {}, "no observation_manager"),
        (without("scene"), {}, "no scene"),
        (lambda _env: None, {"robot": "dog"}, "no 'dog'"),
        (lambda _env: None, {"group": "teacher"}, "the groups policy, critic"),
        (_differ, {}, "differ between 2 environments"),
        (lambda env: delattr(env.robot.data, "joint_names"), {}, "no joint_names"),
    ],
)
def test_what_is_not_there_is_one_clear_error(change, options, says, tmp_path):
    """An AttributeError out of rigpact sends the user into code that is not theirs."""
    env = ManagerBasedRLEnv()
    env.reset()
    change(env)
    with pytest.raises(UnusableInput, match=says):
        capture(env, tmp_path / "robot.toml", **options)
    assert not (tmp_path / "robot.toml").exists()


def test_nothing_recorded_is_said(tmp_path):
    """An empty trace beside a contract looks as if something had been compared."""
    env = ManagerBasedRLEnv()
    env.reset()
    with (
        pytest.raises(UnusableInput, match="no step"),
        capture(env, tmp_path / "robot.toml").record(tmp_path / "r.trace.bin"),
    ):
        pass


@pytest.mark.parametrize("name", ["r.trace.safetensors", "r.npz"])
def test_a_format_without_segments_is_refused_before_the_first_step(tmp_path, name):
    """Refused at the end, an hour of steps would be lost; written anyway, nobody could read it."""
    env = ManagerBasedRLEnv()
    env.reset()
    captured = capture(env, tmp_path / "robot.toml")
    with pytest.raises(UnusableInput, match=r"ending in \.trace\.jsonl"):
        captured.record(tmp_path / name)
