"""A training environment becomes a contract, and a recording of it agrees with it; the managers are small stand-ins."""

import shutil
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml
from safetensors.numpy import load_file

from rigpact.contract.declared.yaml_text import parse_yaml
from rigpact.contract.errors import UnusableInput
from rigpact.testing import capture

from .captured_environment import JOINTS, ManagerBasedRLEnv, Tensor, term
from .foreign_files import weights_of, write_model

Command = Callable[..., Any]


def recorded(env: Any, folder: Path, frames: int = 40) -> Path:
    """Ten lines of a user."""
    policy = policy_of(write_model(folder / "policy.onnx", 27, 4))
    captured = capture(env, folder / "robot.toml", model=folder / "policy.onnx")
    path = folder / "robot.trace.jsonl"
    with captured.record(path) as recorder:
        observations, _ = env.reset()
        for _ in range(frames):
            observations = recorder.step(observations, policy(observations))[0]
    return path


def policy_of(model: Path) -> Callable[[Mapping[str, Tensor]], Tensor]:
    """The policy as the training has it: one matrix."""
    weights = weights_of(model)

    def policy(observations: Mapping[str, Tensor]) -> Tensor:
        [seen] = observations.values()
        return Tensor(seen.values @ weights)

    return policy


@pytest.fixture(params=[False, True], ids=["Isaac Lab", "mjlab"])
def is_mjlab(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_a_right_environment_agrees_without_an_edit(is_mjlab: bool, tmp_path: Path, command: Command) -> None:
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


def test_a_mistake_of_the_loop_is_named(tmp_path: Path, command: Command) -> None:
    """A capture that takes a wrong number over from the loop that it should judge agrees with anything."""
    env = ManagerBasedRLEnv(wrong="scale")
    env.reset()
    answer = command("explain", recorded(env, tmp_path), "--contract", tmp_path / "robot.toml")
    assert answer.status == 1
    assert "base_ang_vel" in answer.out


def test_a_reset_begins_a_segment(tmp_path: Path, command: Command) -> None:
    """A history that goes on over a reset would accuse every environment that ends an episode."""
    env = ManagerBasedRLEnv(episode=15)
    env.reset()
    answer = command("explain", recorded(env, tmp_path), "--contract", tmp_path / "robot.toml")
    assert answer.status == 0, answer.out + answer.err
    assert "segment 3" in answer.out.lower()


def without(name: str) -> Callable[[Any], None]:
    return lambda env: delattr(env, name)


def _differ(env: Any) -> None:
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
def test_what_is_not_there_is_one_clear_error(
    change: Callable[[Any], None], options: Mapping[str, str], says: str, tmp_path: Path
) -> None:
    """An AttributeError out of rigpact sends the user into code that is not theirs."""
    env = ManagerBasedRLEnv()
    env.reset()
    change(env)
    with pytest.raises(UnusableInput, match=says):
        capture(env, tmp_path / "robot.toml", **options)
    assert not (tmp_path / "robot.toml").exists()


def test_nothing_recorded_is_said(tmp_path: Path) -> None:
    """An empty trace beside a contract looks as if something had been compared."""
    env = ManagerBasedRLEnv()
    env.reset()
    with (
        pytest.raises(UnusableInput, match="no step"),
        capture(env, tmp_path / "robot.toml").record(tmp_path / "r.trace.bin"),
    ):
        pass


@pytest.mark.parametrize("name", ["r.trace.safetensors", "r.npz"])
def test_a_format_without_segments_is_refused_before_the_first_step(tmp_path: Path, name: str) -> None:
    """Refused at the end, an hour of steps would be lost; written anyway, nobody could read it."""
    env = ManagerBasedRLEnv()
    env.reset()
    captured = capture(env, tmp_path / "robot.toml")
    with pytest.raises(UnusableInput, match=r"ending in \.trace\.jsonl"):
        captured.record(tmp_path / name)


def test_a_failure_before_the_first_step_is_told(tmp_path: Path) -> None:
    """`no step` in its place would hide what went wrong."""
    env = ManagerBasedRLEnv()
    env.reset()
    with pytest.raises(ZeroDivisionError), capture(env, tmp_path / "robot.toml").record(tmp_path / "r.trace.bin"):
        raise ZeroDivisionError


def test_a_real_robots_descriptor_and_its_managers_make_one_contract(
    real_data: Path, tmp_path: Path, command: Command
) -> None:
    """Isaac Lab wrote this descriptor from its own managers: with the same terms, numbers and names, both must say the same."""
    source = real_data / "others" / "io_descriptors" / "isaaclab_anymal_d_velocity.yaml"
    if not source.is_file():
        pytest.skip(f"no {source.name} in {real_data}")
    assert command("init", "--from", source, "-o", tmp_path / "imported.toml").status == 0
    env = environment_of(yaml.safe_load(source.read_text(encoding="utf-8")))
    capture(env, tmp_path / "captured.toml")
    ours, theirs = (
        tomllib.loads((tmp_path / name).read_text(encoding="utf-8")) for name in ("captured.toml", "imported.toml")
    )
    assert ours["fps"] == theirs["fps"]
    assert next(iter(ours["names"].values())) == next(iter(theirs["names"].values()))
    assert ours["numbers"]["default_pose"]["value"] == pytest.approx(
        theirs["numbers"]["default_pose"]["value"], abs=5e-7
    )
    made = [{each["name"]: each for each in root["stages"]} for root in (ours, theirs)]
    assert len(made[0]["obs"]["of"]) == len(made[1]["obs"]["of"]) > 5
    for name, each in made[1].items():
        assert made[0][name]["operation"] == each["operation"], name


def environment_of(root: Mapping[str, Any]) -> Any:
    """The managers that an IO descriptor was written of."""
    robot, terms = root["articulations"]["robot"], root["observations"]["policy"]
    names = robot["joint_names"]
    configured, dims = {}, []
    for each in terms:
        function = SimpleNamespace(__name__=each["name"], __module__="isaaclab.envs.mdp")
        scale, clip = each["overloads"].get("scale"), each["overloads"].get("clip")
        history = each["overloads"].get("history_length", 0)
        configured[each["name"]] = term(function, scale=scale, clip=clip, history_length=history)
        dims.append(tuple(each["shape"]))
    [action] = root["actions"]
    offset = np.array(action["offset"], np.float32)

    class JointPositionAction:
        _joint_names, _scale, _offset = action["joint_names"], action["scale"], Tensor([offset])
        cfg = SimpleNamespace(clip=None)

    data = SimpleNamespace(joint_names=names, default_joint_pos=Tensor([robot["default_joint_pos"]]))
    return SimpleNamespace(
        step_dt=root["scene"]["dt"],
        scene={"robot": SimpleNamespace(data=data)},
        observation_manager=SimpleNamespace(
            active_terms={"policy": list(configured)},
            group_obs_term_dim={"policy": dims},
            _group_obs_term_cfgs={"policy": list(configured.values())},
        ),
        action_manager=SimpleNamespace(active_terms=["joint_pos"], get_term=lambda _name: JointPositionAction()),
    )


class PlayedG1:
    """The managers of a real G1 policy: numbers of its deploy.yaml, sensors and answers of its real loop."""

    def __init__(self, deploy: Mapping[str, Any], frames: Mapping[str, np.ndarray]) -> None:
        order, self.frames, self.at = deploy["joint_ids_map"], frames, -1
        self.step_dt, names = deploy["step_dt"], [f"joint_{each}" for each in order]
        q, dq = frames["q_sdk"][:, order], frames["dq_sdk"][:, order]
        pose = np.float32(deploy["default_joint_pos"])
        rows = {
            "base_ang_vel": frames["gyro"], "projected_gravity": frames["obs"][:, 27:30], "joint_pos_rel": q - pose,
            "generated_commands": frames["command"], "joint_vel_rel": dq,
            "last_action": np.vstack([0 * frames["action"][:1], frames["action"][:-1]]),
        }  # fmt: skip
        self.rows = {**rows, "root_ang_vel_b": rows["base_ang_vel"], "root_quat_w": frames["imu_quat_wxyz"]}
        self.rows |= {"projected_gravity_b": rows["projected_gravity"], "joint_pos": q, "joint_vel": dq}
        self.data = SimpleNamespace(joint_names=names, default_joint_pos=Tensor([pose]))
        self.scene = {"robot": SimpleNamespace(data=self.data)}
        terms = {self._called(name): self._term(name, each) for name, each in deploy["observations"].items()}
        dims = [(5 * rows[each.func.__name__].shape[1],) for each in terms.values()]
        self.observation_manager = SimpleNamespace(
            active_terms={"policy": list(terms)},
            group_obs_term_dim={"policy": dims},
            _group_obs_term_cfgs={"policy": list(terms.values())},
        )
        said = deploy["actions"]["JointPositionAction"]
        self.action = type(
            "JointPositionAction", (), {"_joint_names": names, "_scale": said["scale"], "_offset": said["offset"]}
        )()
        self.action_manager = SimpleNamespace(active_terms=["joint_pos"], get_term=lambda _name: self.action)
        self.step(None)

    @staticmethod
    def _called(name: str) -> str:
        return "generated_commands" if name == "velocity_commands" else name

    def _term(self, name: str, said: Mapping[str, Any]) -> Any:
        key = self._called(name)
        function = lambda _env: Tensor([self.rows[key][self.at]])  # noqa: E731 - it is given the stack's name
        function.__name__ = key
        return term(function, scale=Tensor(said["scale"]), history_length=said["history_length"])

    def step(self, _actions: Any) -> tuple[dict[str, Tensor], dict[str, Any]]:
        if self.at >= 0:
            self.action.processed_actions = Tensor([self.frames["target_policy_order"][self.at]])
        self.at = min(self.at + 1, len(self.frames["obs"]) - 1)
        for name in ("root_ang_vel_b", "root_quat_w", "projected_gravity_b", "joint_pos", "joint_vel"):
            setattr(self.data, name, Tensor([self.rows[name][self.at]]))
        self.action_manager.action = Tensor([self.rows["last_action"][self.at]])
        return {"policy": Tensor([self.frames["obs"][self.at]])}, {}


def test_a_real_policy_agrees_with_what_is_captured(real_data: Path, tmp_path: Path, command: Command) -> None:
    """29 joints, five frames of six terms: the numbers of a real runtime, and no word of the contract by hand."""
    folder = real_data / "others" / "unitree_rl_lab_g1"
    if not folder.is_dir():
        pytest.skip(f"no {folder.name} in {real_data}")
    frames = load_file(folder / "golden_24_frames.safetensors")
    env = PlayedG1(parse_yaml((folder / "deploy.yaml").read_bytes(), folder / "deploy.yaml"), frames)
    model = Path(shutil.copy(folder / "policy.onnx", tmp_path))
    with capture(env, tmp_path / "g1.toml", model=model).record(tmp_path / "g1.trace.bin") as recorder:
        for frame in range(24):
            recorder.step({"policy": Tensor([frames["obs"][frame]])}, Tensor([frames["action"][frame]]))
    answer = command("explain", tmp_path / "g1.trace.bin", "--contract", tmp_path / "g1.toml")
    assert answer.status == 0, answer.out + answer.err
    assert "AGREES" in answer.out
    assert "LEFT OPEN" not in (tmp_path / "g1.toml").read_text(encoding="utf-8").partition("given = [")[2]
