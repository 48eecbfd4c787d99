"""A training environment becomes a contract, and a recording of it agrees with it; the managers are small stand-ins."""

import tomllib
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from rigpact.contract.errors import UnusableInput
from rigpact.testing import capture

from .foreign_files import weights_of, write_model

Array = np.ndarray
JOINTS = ("left_hip", "right_hip", "left_knee", "right_knee")
POSE = np.float32([[0.1, -0.1, 0.8, 0.7]])
COUNT = 2


class Tensor:
    """What torch gives: numbers only behind detach, cpu and numpy."""

    def __init__(self, values: Any) -> None:
        self.values = np.array(values, np.float32)

    def __getitem__(self, place: Any) -> "Tensor":
        return Tensor(self.values[place])

    def detach(self) -> "Tensor":
        return self

    def cpu(self) -> "Tensor":
        return self

    def numpy(self) -> Array:
        return self.values


# ---- functions of terms, under the stacks' own names


def base_ang_vel(env: Any) -> Tensor:
    return env.robot.data.root_ang_vel_b


def projected_gravity(env: Any) -> Tensor:
    return env.robot.data.projected_gravity_b


def generated_commands(env: Any, command_name: str) -> Tensor:
    return env.commands[command_name]


def joint_pos_rel(env: Any, asset_cfg: Any) -> Tensor:
    return Tensor((env.robot.data.joint_pos.values - POSE)[:, asset_cfg.joint_ids])


def joint_vel_rel(env: Any, asset_cfg: Any) -> Tensor:
    return Tensor(env.robot.data.joint_vel.values[:, asset_cfg.joint_ids])


def last_action(env: Any) -> Tensor:
    return env.action_manager.action


def motion_anchor_ori_b(env: Any, command_name: str) -> Tensor:
    return Tensor(env.motion(command_name)[1])


def robot_body_pos_b(env: Any, command_name: str) -> Tensor:
    return Tensor(env.motion(command_name)[2])


TRACKING = {"command": (generated_commands, 8), "anchor": (motion_anchor_ori_b, 6), "bodies": (robot_body_pos_b, 6)}
"""Of whole_body_tracking: the function of a term and its width."""


def term(func: Any, **said: Any) -> SimpleNamespace:
    """An ObservationTermCfg as its manager leaves it."""
    plain = {"params": {}, "scale": None, "clip": None, "history_length": 0, "modifiers": None}
    return SimpleNamespace(func=func, **{**plain, **said})


def joints(*places: int) -> dict[str, Any]:
    """A resolved SceneEntityCfg."""
    chosen = list(places) or slice(None)
    return {"asset_cfg": SimpleNamespace(name="robot", joint_names=None, joint_ids=chosen)}


def group() -> dict[str, SimpleNamespace]:
    return {
        "base_ang_vel": term(base_ang_vel, scale=Tensor([0.25] * 3)),
        "projected_gravity": term(projected_gravity),
        "velocity_commands": term(generated_commands, params={"command_name": "base"}, clip=(-0.5, 0.5)),
        "joint_pos": term(joint_pos_rel, params=joints(), history_length=3),
        "joint_vel": term(joint_vel_rel, params=joints(3, 2), scale=0.05),
        "actions": term(last_action),
    }


WIDTHS = {
    "base_ang_vel": 3, "projected_gravity": 3, "velocity_commands": 3, "joint_pos": 12, "joint_vel": 2, "actions": 4,
}  # fmt: skip
SCALE = (0.5, 0.25, 0.5, 0.25)


class JointPositionAction:
    """The action term: target = action · scale + offset."""

    def __init__(self) -> None:
        self._joint_names, self._scale, self._offset = (
            list(JOINTS), Tensor([SCALE] * COUNT), Tensor(np.repeat(POSE, COUNT, 0)),
        )  # fmt: skip
        self.cfg, self.processed_actions = SimpleNamespace(clip=None), Tensor(np.zeros((COUNT, 4)))

    def process(self, actions: "Tensor") -> None:
        self.processed_actions = Tensor(
            [[a * s + p for a, s, p in zip(row, SCALE, POSE[0], strict=True)] for row in actions.values]
        )


class ManagerBasedRLEnv:
    """Four joints, sensors of chance, a history of three positions; `wrong` is a mistake of its own loop."""

    step_dt = 0.02

    def __init__(self, *, is_mjlab: bool = False, episode: int = 0, wrong: str = "", tracks: bool = False) -> None:
        self.is_mjlab, self.episode, self.wrong, self.tracks = is_mjlab, episode, wrong, tracks
        self.random = np.random.default_rng(4)
        names, terms = "actor" if is_mjlab else "policy", group()
        tracking = TRACKING if tracks else {}
        terms |= {name: term(func, params={"command_name": "motion"}) for name, (func, _) in tracking.items()}
        widths = WIDTHS | {name: width for name, (_, width) in tracking.items()}
        dims = {names: [(widths[each],) for each in terms], "critic": [(3,)]}
        self.tracked = SimpleNamespace()
        self.command_manager = SimpleNamespace(get_term=lambda _name: self.tracked)
        active = {names: list(terms), "critic": ["base_lin_vel"]}
        self.observation_manager = SimpleNamespace(active_terms=active, group_obs_term_dim=dims)
        if is_mjlab:
            self.observation_manager.get_term_cfg = lambda _group, name: terms[name]
        else:
            self.observation_manager._group_obs_term_cfgs = {names: list(terms.values())}
        self.action_manager = SimpleNamespace(active_terms=["joint_pos"], action=Tensor(np.zeros((COUNT, 4))))
        motors = SimpleNamespace(joint_names=list(JOINTS), stiffness=Tensor([[20.0] * 4] * COUNT), damping=0.5)
        data = SimpleNamespace(joint_names=JOINTS, default_joint_pos=Tensor(np.repeat(POSE, COUNT, 0)))
        self.robot = SimpleNamespace(data=data, actuators={"legs": motors})
        self.scene, self.commands = {"robot": self.robot}, {}
        self.action = JointPositionAction()
        self.action_manager.get_term = lambda _name: self.action
        self.episode_length_buf, self.positions = np.zeros(COUNT, int), []

    @property
    def unwrapped(self) -> "ManagerBasedRLEnv":
        return self

    def reset(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        self.episode_length_buf[:] = 0
        self.positions, self.action_manager.action = [], Tensor(np.zeros((COUNT, 4)))
        return self._seen(), {}

    def step(self, actions: Tensor) -> tuple[dict[str, Tensor], dict[str, Any]]:
        self.action.process(actions)
        if self.episode and self.episode_length_buf[0] + 1 == self.episode:
            return self.reset()
        self.episode_length_buf += 1
        self.action_manager.action = actions
        return self._seen(), {}

    def motion(self, _name: str) -> list[Array]:
        """Command, turn and bodies by another library, for every environment: (COUNT, 8), (COUNT, 6), (COUNT, 6)."""
        seen = {key: value.values for key, value in vars(self.tracked).items()}
        robot, reference = (
            Rotation.from_quat(seen[f"{name}_quat_w"], scalar_first=True) for name in ("robot_anchor", "anchor")
        )
        bodies = seen["robot_body_pos_w"] - seen["robot_anchor_pos_w"][:, None]
        six = (robot.inv() * reference).as_matrix()[:, :, :2]
        six = six.swapaxes(1, 2) if self.wrong == "columns" else six
        inside = np.stack([robot.inv().apply(bodies[:, body]) for body in range(2)], axis=1)
        return [np.hstack([seen["joint_pos"], seen["joint_vel"]]), six.reshape(COUNT, 6), inside.reshape(COUNT, 6)]

    def _seen(self) -> dict[str, Tensor]:
        """New sensors, then every term of environment after environment, a number at a time."""
        data, draw = self.robot.data, self.random.normal
        q = draw(size=(COUNT, 4))
        q /= np.linalg.norm(q, axis=1, keepdims=True)
        w, x, y, z = q.T
        down = np.stack([-2 * (x * z - w * y), -2 * (y * z + w * x), -(1 - 2 * (x * x + y * y))], axis=1)
        prefix = "root_link" if self.is_mjlab else "root"
        setattr(data, f"{prefix}_quat_w", Tensor(q))
        setattr(data, f"{prefix}_ang_vel_b", Tensor(draw(size=(COUNT, 3))))
        data.root_ang_vel_b = getattr(data, f"{prefix}_ang_vel_b")
        data.projected_gravity_b = Tensor(down)
        data.joint_pos, data.joint_vel = Tensor(draw(size=(COUNT, 4))), Tensor(9 * draw(size=(COUNT, 4)))
        self.commands["base"] = Tensor(draw(size=(COUNT, 3)))
        for name, shape in (("joint_pos", 4), ("joint_vel", 4), ("anchor_quat_w", 4), ("robot_anchor_quat_w", 4)):
            values = draw(size=(COUNT, shape))
            values /= np.linalg.norm(values, axis=1, keepdims=True) if "quat" in name else 1.0
            setattr(self.tracked, name, Tensor(values))
        self.tracked.robot_anchor_pos_w, self.tracked.robot_body_pos_w = (
            Tensor(draw(size=(COUNT, 3))), Tensor(draw(size=(COUNT, 2, 3))),
        )  # fmt: skip
        motion = self.motion("motion") if self.tracks else []
        self.commands["motion"] = Tensor(motion[0] if motion else 0.0)
        now = data.joint_pos.values - POSE
        self.positions = [*(self.positions or [now] * 3), now][-3:]
        factor = 0.5 if self.wrong == "scale" else 0.25
        rows = []
        for k in range(COUNT):
            speeds = data.joint_vel.values[k]
            parts: Sequence[Any] = (
                [factor * v for v in data.root_ang_vel_b.values[k]], down[k],
                [min(max(v, -0.5), 0.5) for v in self.commands["base"].values[k]],
                *(each[k] for each in self.positions),
                [0.05 * speeds[3], 0.05 * speeds[2]], self.action_manager.action.values[k], *(each[k] for each in motion),
            )  # fmt: skip
            rows.append(np.concatenate([np.asarray(part, np.float32) for part in parts]))
        name = "actor" if self.is_mjlab else "policy"
        return {name: Tensor(rows)}


def recorded(env, folder, frames=40):
    """Ten lines of a user."""
    policy = policy_of(write_model(folder / "policy.onnx", 47 if env.tracks else 27, 4))
    captured = capture(env, folder / "robot.toml", model=folder / "policy.onnx")
    path = folder / "robot.trace.jsonl"
    with captured.record(path) as recorder:
        observations, _ = env.reset()
        for frame in range(frames):
            given = observations if frame % 2 else next(iter(observations.values()))  # every group's, or the policy's
            observations = recorder.step(given, policy(observations))[0]
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


@pytest.mark.parametrize(
    ("wrong", "status", "said"), [("", 0, "AGREES"), ("columns", 1, "EXPLAINED: anchor.writes = columns")]
)
def test_a_policy_that_tracks_a_motion_is_captured(tmp_path, command, wrong, status, said):
    """The reference's joints, its anchor and the robot's bodies in the anchor's frame: nobody else reads these terms."""
    env = ManagerBasedRLEnv(tracks=True, wrong=wrong)
    env.reset()
    answer = command("explain", recorded(env, tmp_path), "--contract", tmp_path / "robot.toml")
    assert answer.status == status, answer.out + answer.err
    assert said in answer.out


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
