"""Small files of other stacks, written here by hand after their formats: two legs of two joints, a policy that adds up.

Policy order: left_hip, right_hip, left_knee, right_knee. Motor order: left_hip, left_knee, right_hip, right_knee.
"""

import copy
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from onnx import TensorProto, helper, numpy_helper, save

F = np.float32
MAP = [0, 2, 1, 3]
POSE = [0.1, 0.2, -0.3, -0.4]
"""In the policy's order."""
FRAMES = 12

DEPLOY: dict[str, Any] = {
    "joint_ids_map": MAP, "step_dt": 0.02, "stiffness": [10, 20, 30, 40], "damping": [1, 2, 3, 4],
    "default_joint_pos": POSE,
    "commands": {"base_velocity": {"ranges": {
        "lin_vel_x": [-0.5, 1.0], "lin_vel_y": [-0.3, 0.3], "ang_vel_z": [-0.2, 0.2], "heading": None,
    }}},
    "actions": {"JointPositionAction": {
        "clip": None, "joint_names": [".*"], "scale": [0.25] * 4, "offset": POSE, "joint_ids": None,
    }},
    "observations": {
        "base_ang_vel": {"params": {}, "clip": None, "scale": [0.2] * 3, "history_length": 2},
        "projected_gravity": {"params": {}, "clip": None, "scale": None, "history_length": 2},
        "velocity_commands": {"params": {}, "clip": None, "scale": [1.0] * 3, "history_length": 2},
        "joint_pos_rel": {"params": {}, "clip": None, "scale": [1.0] * 4, "history_length": 2},
        "joint_vel_rel": {"params": {}, "clip": [-1.0, 1.0], "scale": [0.05] * 4, "history_length": 2},
        "last_action": {"params": {}, "clip": None, "scale": [1.0] * 4, "history_length": 2},
    },
}  # fmt: skip
OBSERVED = 2 * (3 + 3 + 3 + 4 + 4 + 4)

DESCRIPTOR: dict[str, Any] = {
    "scene": {"dt": 0.02, "physics_dt": 0.005, "decimation": 4},
    "articulations": {"robot": {
        "joint_names": ["hip", "neck", "knee"], "default_joint_pos": [0.1, 0.0, -0.3],
        "default_joint_stiffness": [10.0, 20.0, 30.0], "default_joint_damping": [1.0, 2.0, 3.0],
    }},
    "actions": [{
        "name": "joint_position_action", "mdp_type": "Action", "shape": [2], "joint_names": ["knee", "hip"], "scale": 0.5,
        "offset": [-0.3, 0.1], "clip": [[-10.0, 10.0], [-10.0, 10.0]],
    }],
    "observations": {"policy": [
        {"name": "base_ang_vel", "shape": [3], "overloads": {"clip": None, "scale": 0.2, "history_length": 0}},
        {"name": "projected_gravity", "shape": [3], "overloads": {"clip": None, "scale": None, "history_length": 0},
         "extras": {"units": "m/s^2", "modifiers": None}},
        {"name": "generated_commands", "observation_type": "Command", "shape": [3], "overloads": {}},
        {"name": "joint_pos_rel", "shape": [2], "joint_names": ["knee", "hip"], "joint_pos_offsets": [-0.3, 0.1],
         "overloads": {}},
        {"name": "last_action", "shape": [2], "overloads": {}},
    ]},
}  # fmt: skip

METADATA = {
    "joint_names": "hip_joint,knee_joint", "joint_stiffness": "10.000,20.000", "joint_damping": "1.000,2.000",
    "default_joint_pos": "0.100,-0.300", "command_names": "twist", "action_scale": "0.548,0.075",
    "observation_names": "base_ang_vel,projected_gravity,joint_pos,joint_vel,actions,command",
    "observation_terms_scale": "0.200,1.000,1.000,0.050,1.000,1.000",
    "observation_terms_history_length": "3.000,3.000,3.000,3.000,3.000,3.000",
    "observation_terms_clip": "-inf;inf,-inf;inf,-inf;inf,-5.000;5.000,-inf;inf,-inf;inf",
    "run_path": "local",
}  # fmt: skip
"""As mjlab writes it: ints and bools too with three decimals, ranges with a semicolon inside."""


def imported(command: Any, source: Path, *options: object, out: Path | None = None) -> dict[str, Any]:
    """The contract that a file becomes, which `check` must pass; given vectors and stages by their names."""
    out = out or source.parent / "contract.toml"
    made = command("init", "--from", source, "-o", out, "--force", *options)
    assert made.status == 0, made.err
    checked = command("check", out)
    assert checked.status == 0, checked.out
    text = out.read_text(encoding="utf-8")
    root = tomllib.loads(text)
    by_name = {key: {each["name"]: each for each in root[key]} for key in ("given", "stages")}
    return {**root, **by_name, "text": text, "told": made.out, "checked": checked.out}


def changed(table: Mapping[str, Any], *path: Any, to: Any) -> dict[str, Any]:
    """A copy with one value changed; `...` takes it away."""
    whole = copy.deepcopy(dict(table))
    inside: Any = whole
    for key in path[:-1]:
        inside = inside[key]
    if to is ...:
        del inside[path[-1]]
    else:
        inside[path[-1]] = to
    return whole


def write_yaml(path: Path, table: Any) -> Path:
    """Write YAML with the keys in their order."""
    path.write_text(yaml.safe_dump(table, sort_keys=False), encoding="utf-8")
    return path


def write_model(
    path: Path, width: int, answers: int, metadata: Mapping[str, str] | None = None, seed: int = 5, batch: Any = "rows"
) -> Path:
    """obs (rows, width) -> actions (rows, answers), one layer."""
    weights = np.random.default_rng(seed).normal(0.0, 0.3, (width, answers)).astype(F)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["obs", "W"], ["actions"])],
        "policy",
        [helper.make_tensor_value_info("obs", TensorProto.FLOAT, [batch, width])],
        [helper.make_tensor_value_info("actions", TensorProto.FLOAT, [batch, answers])],
        [numpy_helper.from_array(weights, "W")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    helper.set_model_props(model, dict(metadata or {}))
    save(model, path)
    return path


def weights_of(path: Path) -> Any:
    """The matrix of a model of `write_model`."""
    import onnx

    return numpy_helper.to_array(onnx.load(path).graph.initializer[0])


def robot_recording(model: Path) -> dict[str, Any]:
    """What an engine under DEPLOY records, in plain numpy: term by term, oldest first, filled at the start; wxyz."""
    rng, matrix = np.random.default_rng(3), weights_of(model)
    quaternion = rng.normal(size=(FRAMES, 4))
    quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
    sensors = {
        "gyro": rng.normal(size=(FRAMES, 3)), "imu_quat_wxyz": quaternion, "sticks": rng.uniform(-1, 1, (FRAMES, 3)),
        "q_sdk": rng.normal(size=(FRAMES, 4)), "dq_sdk": 20.0 * rng.normal(size=(FRAMES, 4)),
    }  # fmt: skip
    rows: dict[str, list[Any]] = {"obs": [], "action": [], "motor_q": []}
    last, buffers = np.zeros(4, F), None
    for t in range(FRAMES):
        w, x, y, z = quaternion[t]
        gravity = [-2 * (x * z - w * y), -2 * (y * z + w * x), -(1 - 2 * (x * x + y * y))]
        ly, lx, rx = sensors["sticks"][t]
        command = np.clip([ly, -lx, -rx], [-0.5, -0.3, -0.2], [1.0, 0.3, 0.2])
        q, dq = (sensors[name][t][MAP] for name in ("q_sdk", "dq_sdk"))
        terms = [0.2 * sensors["gyro"][t], gravity, command, q - POSE, 0.05 * np.clip(dq, -1.0, 1.0), last]
        buffers = (
            [[term, term] for term in terms]
            if buffers is None
            else [[b[1], n] for b, n in zip(buffers, terms, strict=True)]
        )
        obs = np.concatenate([row for buffer in buffers for row in buffer]).astype(F)
        last = obs @ matrix
        motor = np.zeros(4)
        motor[MAP] = 0.25 * last + POSE
        for name, value in (("obs", obs), ("action", last), ("motor_q", motor)):
            rows[name].append(value)
    return {name: np.array(values, F) for name, values in {**sensors, **rows}.items()}


CLASSES = """
from somewhere import LeggedRobotCfg
import os; os.abort()  # a reader that runs the file ends here

class WalkerCfg(LeggedRobotCfg):
    class env(LeggedRobotCfg.env):
        num_actions = 2
        num_observations = int(6 * 3)
    class init_state(LeggedRobotCfg.init_state):
        default_joint_angles = {"hip": -0.1, "knee": 0.5}
    class control(LeggedRobotCfg.control):
        stiffness = {"hip": 20., "knee": 30., "nee": 35.}
        damping = {"h": 0.5}
        action_scale = 0.25
"""
BASE = """
class LeggedRobotCfg:
    class env:
        num_actions = 12
        num_observations = 48
    class init_state:
        default_joint_angles = {"joint_a": 0.}
    class control:
        control_type = "P"
        decimation = 2 * 2
    class normalization:
        class obs_scales:
            lin_vel = 2.0
            ang_vel = 0.25
            dof_pos = 1.0
            dof_vel = 0.05
        clip_observations = 100.
        clip_actions = 100.
    class sim:
        dt = 0.005
    class asset:
        name = "walker"
        file = ""
"""

ROBOT_BASE = """
walker:
  dt: 0.005
  decimation: 4
  joint_names: [right_hip, right_knee, left_hip, left_knee]
  joint_mapping: [0, 1, 2, 3]
  wheel_indices: []
"""
ROBOT_POLICY = """
walker/trot:
  num_observations: 12
  observations: ["dof_pos", "dof_vel", "actions"]
  observations_history: [0, 1, 2]
  observations_history_priority: "time"
  clip_obs: 1.5
  clip_actions_lower: [-2, -2, -2, -2]
  clip_actions_upper: [2, 2, 2, 2]
  rl_kp: [1, 2, 3, 4]
  rl_kd: [5, 6, 7, 8]
  action_scale: [0.5, 0.25, 0.5, 0.25]
  dof_pos_scale: 1.0
  dof_vel_scale: 0.05
  default_dof_pos: [0.1, 0.2, 0.3, 0.4]
  joint_mapping: [2, 3, 0, 1]
"""

ENV = """
sim: {dt: 0.005}
decimation: 4
scene:
  robot:
    spawn: {usd_path: /home/somebody/Go2/go2.usd}
    init_state:
      joint_pos:
        {.*L_hip_joint: 0.1, .*R_hip_joint: -0.1, "F[L,R]_thigh_joint": 0.8, "R[L,R]_thigh_joint": 1.0, .*_calf_joint: -1.5}
    actuators:
      legs: {joint_names_expr: [.*], stiffness: 25.0, damping: {".*_hip_joint": 0.5, ".*_(thigh|calf)_joint": 0.6}}
observations:
  policy:
    history_length: null
    base_ang_vel: {func: "isaaclab.envs.mdp:base_ang_vel", clip: null, scale: 0.25, history_length: 0}
    joint_pos:
      func: !!python/name:isaaclab.envs.mdp.joint_pos_rel ''
      params: {asset_cfg: {joint_names: null, joint_ids: !!python/object/apply:builtins.slice [null, null, null]}}
      clip: !!python/tuple [-10.0, 10.0]
      scale: 1.0
      history_length: 3
    joint_vel: {func: "isaaclab.envs.mdp:joint_vel_rel", params: {asset_cfg: {joint_names: [".*_calf_joint"]}}, scale: 0.05}
    gait_phase: {func: "unitree_rl_lab.mdp.observations:gait_phase", params: {period: 0.8}, scale: null}
actions:
  joint_pos:
    class_type: isaaclab.envs.mdp:JointPositionAction
    joint_names: [.*]
    scale: {".*_hip_joint": 0.125, ".*_(thigh|calf)_joint": 0.25}
    offset: 0.0
    use_default_offset: true
"""
