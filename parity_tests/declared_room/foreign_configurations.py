"""Configurations of other stacks in small, written by hand after their formats."""

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
actions:
  joint_pos:
    class_type: isaaclab.envs.mdp:JointPositionAction
    joint_names: [.*]
    scale: {".*_hip_joint": 0.125, ".*_(thigh|calf)_joint": 0.25}
    offset: 0.0
    use_default_offset: true
"""
