"""Configurations of legged_gym and its kin: classes (.py), g1.yaml and h1.yaml of unitree_rl_gym, policies of rl_sar.

Classes of legged_gym, unitree_rl_gym and humanoid-gym: the order of the terms is code (`compute_observations`): it is taken from
the class that has as many numbers, and said. The order of joints is the URDF's: a known robot's comes from deployed.py, else the
dictionary's is written and left open.

rl_sar has `policy/ROBOT/base.yaml` and `policy/ROBOT/NAME/config.yaml`, whose keys win. joint_mapping[i] is the motor of joint i
of the policy; gains, default pose and scales stand in the policy's order, joint_names in the motors'. A whole frame is clipped,
then kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rigpact.contract.declared.yaml_text import parse_yaml
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes
from rigpact.reports.importing.configuration_classes import Classes, read_classes
from rigpact.reports.importing.deployed import table_called
from rigpact.reports.importing.draft import Draft, lower_word, word
from rigpact.reports.importing.robot import Action, Gains, Robot, Sensors, Term, TermGroup, as_wide
from rigpact.reports.importing.robot_draft import robot_to_draft
from rigpact.reports.importing.values import ImportRequest, Model, PlacedValue, input_width

_SENSORS = Sensors(
    turn_comment="LEFT OPEN: space. Training takes the body's axes; find out which IMU gives it, and in whose axes"
)
_KEPT = "humanoid-gym keeps them (frame by frame, oldest first, zeros at the start)"
_BODY = ("base_lin_vel", "base_ang_vel", "projected_gravity")
_JOINTS = ("commands", "joint_pos_rel", "joint_vel_rel", "last_action")
_BASE = (*_BODY, *_JOINTS)
_PHASED = (*_BASE[1:], "phase_sin_cos")
_HUMANOID = ("phase_sin_cos", *_JOINTS, "base_ang_vel", "base_euler_xyz")
_WIDTHS = {**dict.fromkeys((*_BODY, "commands", "base_euler_xyz"), 3), "phase_sin_cos": 2}
_PHASE = "0.8 s and the first step are those of the code of Unitree's classes: the configuration has neither"
_SECONDS = 0.8


def _read_configuration(path: Path, base: Path | None) -> PlacedValue:
    own = read_classes(path)
    known = {**({} if base is None else read_classes(base)), **own}
    named = [each for each in own.values() if {"init_state", "control"} & each.inner.keys()]
    if len(named) != 1:
        found = f"{len(named)} classes with init_state or control: {', '.join(each.name for each in named) or 'none'}"
        raise UnusableInput(path, found, "one configuration class of a robot, as legged_gym has it")
    return PlacedValue(Classes(known).folded(named[0].name), path)


def classes_to_draft(request: ImportRequest) -> Draft:
    """The declaration of a configuration class."""
    root = _read_configuration(request.source, request.base)
    model = request.model
    angles = dict(root.need("init_state", "the start").need("default_joint_angles", "the pose of action 0").children())
    count = root.need("env", "the sizes").need("num_actions", "how many joints are driven").whole(1)
    draft = Draft.imported(
        root.path.stem.removesuffix("_config"),
        root.path.name,
        ", which was read and not run. Search for LEFT OPEN.",
        "The order of the terms is code, not configuration: it is the one of the class that has as many numbers.",
    )
    joints, draft.names_comments = _joints(root, angles, count)
    draft.names["joints"] = joints
    step = root.need("sim", "the simulation").need("dt", "seconds of its step")
    draft.fps = step.rate(
        root.need("control", "the control").need("decimation", "its steps for one of the policy").whole(1)
    )
    limits, env, history = root.need("normalization", "the scales"), root.get("env"), 1
    scales, terms = limits.need("obs_scales", "the scales"), _terms(root, count)
    single = env.get("num_single_obs")
    width = (env.need("num_observations", "the width") if single.is_nothing else single).whole(1)
    if not single.is_nothing:
        history = env.need("frame_stack", "how many frames are kept").whole(1)
    made = [_term(root, name, count, history, scales) for name in terms]
    whole = as_wide(made, width * history, env.get("num_observations").place)
    whole = as_wide(whole, input_width(model), env.place)
    group = TermGroup("obs", whole, "frame_major", start="zeros", clip=limits.get("clip_observations").limit())
    pose = [angles[name].number() for name in joints]
    action, gains = _action(root, joints, pose, limits), _gains(root, joints)
    robot = Robot(
        draft, _SENSORS, joints, [group], action, convention=_KEPT, default_pose=pose, gains=gains, model=request.file
    )
    return robot_to_draft(robot)


def _joints(root: PlacedValue, angles: Mapping[str, PlacedValue], count: int) -> tuple[tuple[str, ...], list[str]]:
    """The driven joints: of the table of the asset's robot, where its names are in the dictionary; else the dictionary's."""
    asset = root.get("asset")
    table = table_called(f"{asset.get('name').value} {asset.get('file').value}")
    if table is not None and len(table.gym) == count and set(table.gym) <= angles.keys():
        note = f"The order of {table.robot} in its URDF, by a table of rigpact: the file does not say it."
        return tuple(table.gym), [note]
    if len(angles) != count:
        found = f"{len(angles)} joints in default_joint_angles"
        raise root.get("init_state").get("default_joint_angles").wrong(f"{count}, as env.num_actions says", found=found)
    note = "LEFT OPEN: order. It is the URDF's, as Isaac Gym loads it; this is the dictionary's. Put the names in their places."
    return tuple(angles), [note]


def _terms(root: PlacedValue, count: int) -> tuple[str, ...]:
    env = root.get("env")
    if not env.get("num_single_obs").is_nothing:
        return _HUMANOID
    found = env.need("num_observations", "the width of the observation").whole(1)
    heights = _heights(root)
    known: dict[int, tuple[str, ...]] = {12 + 3 * count: _BASE, 11 + 3 * count: _PHASED}
    if heights:
        known[12 + 3 * count + heights] = (*_BASE, "heights")
    if found not in known:
        expected = " or ".join(map(str, sorted(known)))
        hint = "the order of another class is its code: write the contract by hand, or `rigpact init`"
        raise env.get("num_observations").wrong(f"{expected} of a class that is known, with {count} actions", hint)
    return known[found]


def _heights(root: PlacedValue) -> int:
    terrain = root.get("terrain")
    if terrain.is_nothing or terrain.get("measure_heights").value is not True:
        return 0
    return len(terrain.get("measured_points_x").elements()) * len(terrain.get("measured_points_y").elements())


_SCALES = {
    "base_lin_vel": "lin_vel", "base_ang_vel": "ang_vel", "joint_pos_rel": "dof_pos", "joint_vel_rel": "dof_vel",
    "base_euler_xyz": "quat", "heights": "height_measurements",
}  # fmt: skip


def _term(root: PlacedValue, name: str, count: int, history: int, scales: PlacedValue) -> Term:
    place = f"{root.path}#/env/num_observations"
    width = _heights(root) if name == "heights" else _WIDTHS.get(name, count)
    scale: Any = None
    if name == "commands":
        linear, turning = (scales.need(key, "a scale").number() for key in ("lin_vel", "ang_vel"))
        scale = [linear, linear, turning]
    elif name in _SCALES:
        scale = scales.need(_SCALES[name], f"the scale of {name}").number()
    notes, period = (("clip(z - 0.5 - measured height, -1, 1) before the scale",) if name == "heights" else ()), None
    if name == "phase_sin_cos":
        cycle = root.get("rewards").get("cycle_time")
        is_said = not cycle.is_nothing
        notes, period = (("the period is rewards.cycle_time",), cycle.number()) if is_said else ((_PHASE,), _SECONDS)
    return Term(name, name, place, width, scale=scale, history=history, notes=notes, period=period)


def _action(root: PlacedValue, joints: tuple[str, ...], pose: list[float], limits: PlacedValue) -> Action:
    control = root.need("control", "the control")
    kind = control.need("control_type", "P, V or T").word()
    if kind != "P":
        raise control.get("control_type").wrong("P: the action is a target of joint positions", "write V and T by hand")
    scale = control.need("action_scale", "the factor of the action").number()
    return Action(joints, scale, pose, None, answer_clip=limits.get("clip_actions").limit())


def _gains(root: PlacedValue, joints: Sequence[str]) -> Gains:
    """A key holds for every joint whose name contains it; the last one that fits wins, as the loop of the class has it."""
    found = []
    for key in ("stiffness", "damping"):
        gains = dict(root.get("control").need(key, "the gains of the joints").children())
        fitting = [[node for part, node in gains.items() if part in name] for name in joints]
        found.append([nodes[-1].number() if nodes else 0.0 for nodes in fitting])
    stiffness, damping = found
    return Gains(stiffness, damping, tuple(joints), ("by parts of names, the last that fits; 0 where none does",))


def deploy_to_draft(root: PlacedValue, request: ImportRequest) -> Draft:
    """The declaration of g1.yaml or h1.yaml, of the simulator or of the robot."""
    count = root.get("num_actions").whole(1)
    table = table_called(f"{root.path.stem} {root.get('xml_path').value} {root.get('policy_path').value}")
    known = table if table is not None and len(table.gym) == count else None
    joints = tuple(f"joint_{place}" for place in range(count)) if known is None else tuple(known.gym)
    draft = Draft.imported(
        root.path.stem,
        root.path.name,
        ". Search for LEFT OPEN: the gaps of the file and its runtime.",
        "The order of the terms is that of the runtime's code; the runtime clips nothing; the network keeps its memory.",
    )
    draft.names_comments = ["The file has no names. Put the joints' names in their places."]
    if known is not None:
        draft.names_comments = [f"The order of {known.robot} in its URDF, by a table of rigpact."]
    draft.names["joints"] = joints
    step, every = root.get("control_dt"), 1
    if step.is_nothing:
        step = root.need("simulation_dt", "the seconds of a step of the simulation")
        every = root.need("control_decimation", "its steps for one of the policy").whole(1)
    draft.fps = step.rate(every)
    measured, motors = _motors(root, joints, [] if table is None else table.sdk)
    size = root.get("num_obs")
    terms = as_wide([_deploy_term(root, name, count) for name in _PHASED], size.whole(1), size.place)
    as_wide(terms, input_width(request.model), size.place)
    pose = root.get("default_angles").numbers(count, "joint")
    scale = root.need("action_scale", "the factor of the action").number()
    stiffness, damping = (root.get(key).numbers(count, "joint") for key in ("kps", "kds"))
    most = root.get("max_cmd")
    robot = Robot(
        draft, _SENSORS, measured, [TermGroup("obs", terms)], Action(joints, scale, pose, None),
        "motors" if motors else "joints", motors=motors, default_pose=pose, pose_names=joints,
        stick_scale=() if most.is_nothing else most.numbers(3, "axis"),
        gains=Gains(stiffness, damping, joints), model=request.file,
    )  # fmt: skip
    return robot_to_draft(robot)


def _motors(
    root: PlacedValue, joints: tuple[str, ...], sdk: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """The joints in the order in which the robot measures them, and in which it is driven; the simulator has the policy's."""
    indices = root.get("leg_joint2motor_idx")
    if indices.is_nothing:
        return joints, None
    others = root.get("arm_waist_joint2motor_idx")
    legs, rest = indices.wholes(), [] if others.is_nothing else others.wholes()
    twice = next((index for index in legs + rest if (legs + rest).count(index) > 1), None)
    if len(legs) != len(joints) or twice is not None:
        found = f"{len(legs)} indices" if twice is None else f"the motor {twice} twice"
        raise indices.wrong(f"{len(joints)}, a motor of its own for each joint", found=found)
    named = dict(zip(legs, joints, strict=True))
    wrong = next((index for index, name in named.items() if index < len(sdk) and sdk[index] != name), None)
    if wrong is not None and not joints[0].startswith("joint_"):
        found = f"motor {wrong}, which is {sdk[wrong]}"
        raise indices.wrong(f"the motor of {named[wrong]}, as the SDK has it", found=found)
    every = range(max((*legs, *rest)) + 1)
    names = tuple(named.get(index) or (sdk[index] if index < len(sdk) else f"motor_{index}") for index in every)
    return names, tuple(name for name in names if name in joints)


def _deploy_term(root: PlacedValue, name: str, count: int) -> Term:
    keys = {"base_ang_vel": "ang_vel_scale", "joint_pos_rel": "dof_pos_scale", "joint_vel_rel": "dof_vel_scale"}
    scale: Any = None
    if name == "commands":
        scale = root.need("cmd_scale", "a scale for each axis").numbers(3, "axis")
    elif name in keys:
        scale = root.need(keys[name], f"the scale of {name}").number()
    function = "stick_command" if name == "commands" and not root.get("max_cmd").is_nothing else name
    notes, period = ((_PHASE,), _SECONDS) if name == "phase_sin_cos" else ((), None)
    place, width = f"{root.path}#/num_obs", _WIDTHS.get(name, count)
    return Term(name, function, place, width, scale=scale, notes=notes, period=period)


_RL_SAR_SENSORS = Sensors(turn_comment="LEFT OPEN: space. ROS 1 Gazebo gives the world's axes, the robot the body's")
_RL_SAR_TERMS: Mapping[str, tuple[str, str | None]] = {
    "lin_vel": ("base_lin_vel", "lin_vel_scale"), "ang_vel": ("base_ang_vel", "ang_vel_scale"),
    "gravity_vec": ("projected_gravity", None), "commands": ("commands", "commands_scale"),
    "dof_pos": ("joint_pos_rel", "dof_pos_scale"), "dof_vel": ("joint_vel_rel", "dof_vel_scale"),
    "actions": ("last_action", None), "whole_body_tracking/motion_command": ("motion_command", None),
    "whole_body_tracking/motion_anchor_ori_b": ("motion_anchor_ori_b", None),
}  # fmt: skip
_RL_SAR_WIDTHS = {"motion_anchor_ori_b": 6, "RoboMimic_Deploy/phase": 1}


def only_table(root: Any) -> Mapping[str, Any]:
    """What stands under the one key of such a file, which is its own path."""
    inside = next(iter(root.values())) if isinstance(root, Mapping) and len(root) == 1 else None
    return inside if isinstance(inside, Mapping) else {}


def rl_sar_to_draft(root: PlacedValue, request: ImportRequest) -> Draft:
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
    return _rl_sar_to_draft(both, str(key), path, request)


def _rl_sar_to_draft(root: PlacedValue, key: str, base: Path, request: ImportRequest) -> Draft:
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
    group, action = _rl_sar_group(root, policy, wheels, request.model), _rl_sar_action(root, policy, pose, wheels)
    robot = Robot(
        draft, _RL_SAR_SENSORS, motors, [group], action, "motors", motors=motors, default_pose=pose, pose_names=policy,
        convention="rl_sar keeps them (observations_history; zeros at the start)",
        gains=Gains(stiffness, damping, policy), model=request.file,
    )  # fmt: skip
    return robot_to_draft(robot)


def _rl_sar_group(root: PlacedValue, policy: tuple[str, ...], wheels: list[int], model: Model | None) -> TermGroup:
    kept = root.get("observations_history")
    ages = kept.wholes() if kept.value else [0]
    length = len(ages)
    if ages not in (list(range(length)), list(reversed(range(length)))):
        raise kept.wrong("every frame from 0 on, up or down", "write a history with gaps by hand")
    terms = [_rl_sar_term(root, each, policy, wheels, length) for each in root.get("observations").elements()]
    width = root.need("num_observations", "the width of one frame").whole(1) * length
    whole = as_wide(terms, width, root.get("num_observations").place)
    whole = as_wide(whole, input_width(model), root.get("observations").place)
    by = root.get("observations_history_priority").value or "time"
    if by not in ("time", "term"):
        raise root.get("observations_history_priority").wrong("time or term")
    layout, order = f"{'frame' if by == 'time' else 'term'}_major", f"{'newest' if ages[0] == 0 else 'oldest'}_first"
    return TermGroup("obs", whole, layout, order=order, start="zeros", clip=root.get("clip_obs").limit())


def _rl_sar_term(root: PlacedValue, node: PlacedValue, policy: tuple[str, ...], wheels: list[int], length: int) -> Term:
    said = node.word()
    function, key = _RL_SAR_TERMS.get(said, (said, None))
    three = ("base_lin_vel", "base_ang_vel", "projected_gravity", "commands")
    of_joints = {"motion_command": 2}.get(function, 1) * len(policy) if said in _RL_SAR_TERMS else None
    width = 3 if function in three else _RL_SAR_WIDTHS.get(function, of_joints)
    scale = None if key is None else root.need(key, f"the scale of {said}").one_or_each(width or 1, "number")
    notes: tuple[str, ...] = ()
    if function == "joint_pos_rel" and wheels:
        factor = scale if isinstance(scale, float) else 1.0
        scale = [0.0 if place in wheels else factor for place in range(len(policy))]
        notes = ("the position of a wheel is 0",)
    return Term(word(said, "term"), function, node.place, width, scale=scale, history=length, notes=notes)


def _rl_sar_action(root: PlacedValue, policy: tuple[str, ...], pose: list[float], wheels: list[int]) -> Action:
    each = root.need("action_scale", "the factor of each action").numbers(len(policy), "joint")
    driven = {policy[place]: each[place] for place in wheels}
    scales = [0.0 if place in wheels else number for place, number in enumerate(each)]
    scale: Any = scales[0] if len(set(scales)) == 1 else scales
    low, high = (root.get(f"clip_actions_{end}") for end in ("lower", "upper"))
    has_both, of = low.value and high.value, (len(policy), "joint")
    clip = (low.one_or_each(*of), high.one_or_each(*of)) if has_both else None
    return Action(policy, scale, pose, None, answer_clip=clip, wheels=driven)
