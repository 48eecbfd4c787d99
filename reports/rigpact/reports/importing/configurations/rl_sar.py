"""rl_sar: `policy/ROBOT/base.yaml` and `policy/ROBOT/NAME/config.yaml`, whose keys win.

joint_mapping[i] is the motor of joint i of the policy; gains, default pose and scales stand in the policy's order, joint_names in
the motors'. A whole frame is clipped, then kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rigpact.contract.declared.yaml_text import parse_yaml
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes
from rigpact.reports.importing.draft import Draft, lower_word, word
from rigpact.reports.importing.stacks.robot import Action, Gains, Robot, Sensors, Term, TermGroup
from rigpact.reports.importing.stacks.robot_draft import as_wide, robot_to_draft
from rigpact.reports.importing.values import ImportRequest, Model, PlacedValue, input_width

_SENSORS = Sensors(turn_comment="LEFT OPEN: space. ROS 1 Gazebo gives the world's axes, the robot the body's")
_TERMS: Mapping[str, tuple[str, str | None]] = {
    "lin_vel": ("base_lin_vel", "lin_vel_scale"), "ang_vel": ("base_ang_vel", "ang_vel_scale"),
    "gravity_vec": ("projected_gravity", None), "commands": ("commands", "commands_scale"),
    "dof_pos": ("joint_pos_rel", "dof_pos_scale"), "dof_vel": ("joint_vel_rel", "dof_vel_scale"),
    "actions": ("last_action", None), "whole_body_tracking/motion_command": ("motion_command", None),
    "whole_body_tracking/motion_anchor_ori_b": ("motion_anchor_ori_b", None),
}  # fmt: skip
_WIDTHS = {"motion_anchor_ori_b": 6, "RoboMimic_Deploy/phase": 1}


def only_table(root: Any) -> Mapping[str, Any]:
    """What stands under the one key of such a file, which is its own path."""
    inside = next(iter(root.values())) if isinstance(root, Mapping) and len(root) == 1 else None
    return inside if isinstance(inside, Mapping) else {}


def to_draft(root: PlacedValue, request: ImportRequest) -> Draft:
    """The declaration of a policy's config.yaml; its base.yaml is the given one, or that of a folder above, as rl_sar looks."""
    above = [folder / "base.yaml" for folder in root.path.resolve().parents[1:3]]
    path = request.base or next((each for each in above if each.is_file()), above[0])
    if request.base is None and not path.is_file():
        hint = "give it with --builds-on"
        raise UnusableInput(root.path, "no base.yaml in the two folders above", "the robot's file", hint)
    robot_root = parse_yaml(read_bytes(path), path)
    if "joint_names" not in only_table(robot_root):
        raise UnusableInput(path, "a file without joint_names", "rl_sar's base.yaml of a robot")
    [key] = root.value
    both = PlacedValue({**only_table(robot_root), **only_table(root.value)}, root.path, (key,))
    return _to_draft(both, str(key), path, request)


def _to_draft(root: PlacedValue, key: str, base: Path, request: ImportRequest) -> Draft:
    motors = root.need("joint_names", "the motors' joints").words()
    order = root.need("joint_mapping", "the motor of each joint").wholes()
    if sorted(set(order)) != sorted(order) or not order or max(order) >= len(motors):
        raise root.get("joint_mapping").wrong(f"motors of the {len(motors)} of joint_names, each once")
    policy = tuple(motors[index] for index in order)
    draft = Draft(lower_word(key, "robot"), f"imported from {root.path.name} and {base.name}")
    draft.header = [
        f"Made by `rigpact init` from {key} of rl_sar ({root.path.name}, {base.name}). Search for LEFT OPEN.",
        "Gains, default pose and scales stand in the policy's order, as the runtime takes them.",
    ]
    draft.names["motors"] = motors
    draft.names_comments = ["motors: joint_names; policy: joint_mapping, the motor of each joint of the policy."]
    if policy != motors:
        draft.names["policy"] = policy
    step = root.need("dt", "seconds of a step")
    draft.fps = step.rate(root.need("decimation", "steps").whole(1))
    wheels = root.get("wheel_indices").wholes() if root.get("wheel_indices").value else []
    if any(index >= len(policy) for index in wheels):
        raise root.get("wheel_indices").wrong(f"places of the {len(policy)} joints")
    pose = root.need("default_dof_pos", "the default pose").numbers(len(policy), "joint")
    stiffness, damping = (root.need(name, "gains").numbers(len(policy), "joint") for name in ("rl_kp", "rl_kd"))
    group, action = _group(root, policy, wheels, request.model), _action(root, policy, pose, wheels)
    robot = Robot(
        draft, _SENSORS, motors, [group], action, "motors", motors=motors, default_pose=pose, pose_names=policy,
        convention="rl_sar keeps them (observations_history; zeros at the start)",
        gains=Gains(stiffness, damping, policy), model=request.file,
    )  # fmt: skip
    return robot_to_draft(robot)


def _group(root: PlacedValue, policy: tuple[str, ...], wheels: list[int], model: Model | None) -> TermGroup:
    kept = root.get("observations_history")
    ages = kept.wholes() if kept.value else [0]
    length = len(ages)
    if ages not in (list(range(length)), list(reversed(range(length)))):
        raise kept.wrong("every frame from 0 on, up or down", "write a history with gaps by hand")
    terms = [_term(root, each, policy, wheels, length) for each in root.get("observations").elements()]
    width = root.need("num_observations", "the width of one frame").whole(1) * length
    whole = as_wide(terms, width, root.get("num_observations").place)
    whole = as_wide(whole, input_width(model), root.get("observations").place)
    by = root.get("observations_history_priority").value or "time"
    if by not in ("time", "term"):
        raise root.get("observations_history_priority").wrong("time or term")
    layout, order = f"{'frame' if by == 'time' else 'term'}_major", f"{'newest' if ages[0] == 0 else 'oldest'}_first"
    return TermGroup("obs", whole, layout, order=order, start="zeros", clip=root.get("clip_obs").limit())


def _term(root: PlacedValue, node: PlacedValue, policy: tuple[str, ...], wheels: list[int], length: int) -> Term:
    said = node.word()
    function, key = _TERMS.get(said, (said, None))
    three = ("base_lin_vel", "base_ang_vel", "projected_gravity", "commands")
    of_joints = {"motion_command": 2}.get(function, 1) * len(policy) if said in _TERMS else None
    width = 3 if function in three else _WIDTHS.get(function, of_joints)
    scale = None if key is None else root.need(key, f"the scale of {said}").one_or_each(width or 1, "number")
    notes: tuple[str, ...] = ()
    if function == "joint_pos_rel" and wheels:
        factor = scale if isinstance(scale, float) else 1.0
        scale = [0.0 if place in wheels else factor for place in range(len(policy))]
        notes = ("the position of a wheel is 0",)
    return Term(word(said, "term"), function, node.place, width, scale=scale, history=length, notes=notes)


def _action(root: PlacedValue, policy: tuple[str, ...], pose: list[float], wheels: list[int]) -> Action:
    each = root.need("action_scale", "the factor of each action").numbers(len(policy), "joint")
    driven = {policy[place]: each[place] for place in wheels}
    scales = [0.0 if place in wheels else number for place, number in enumerate(each)]
    scale: Any = scales[0] if len(set(scales)) == 1 else scales
    low, high = (root.get(f"clip_actions_{end}") for end in ("lower", "upper"))
    has_both, of = low.value and high.value, (len(policy), "joint")
    clip = (low.one_or_each(*of), high.one_or_each(*of)) if has_both else None
    return Action(policy, scale, pose, None, answer_clip=clip, wheels=driven)
