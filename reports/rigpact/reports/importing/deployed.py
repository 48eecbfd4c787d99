"""What is deployed with a policy: deploy.yaml of unitree_rl_lab and unitree_rl_mjlab, metadata that mjlab writes into the model.

deploy.yaml has one shape and two runtimes, which differ in flags of a group. The exporter drops names, functions and the
layout of the history; the loop of the C++ runtime says the rest. A python tag
(`joint_ids: !!python/object/apply:builtins.slice`) is read as data. The metadata is text: lists joined by commas, numbers with 3
decimals. It has names, gains, default pose, scales and history; no widths, no rate, no offset and no order of the quaternion.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rigpact.contract.errors import UnusableInput
from rigpact.reports.importing.draft import Draft, Entry, word
from rigpact.reports.importing.robot import TRACKING, Action, Gains, Robot, Sensors, Term, TermGroup, as_wide
from rigpact.reports.importing.robot_draft import robot_to_draft
from rigpact.reports.importing.values import ImportRequest, Model, PlacedValue, input_width


# Joints of robots in the orders that their runtimes use: SDK motors, Isaac Gym and MuJoCo (URDF), Isaac Lab (breadth first)
def _each(sides: Sequence[str], parts: str) -> list[str]:
    return [f"{side}_{part}_joint" for side in sides for part in parts.split()]


_LEG, _WAIST = "hip_pitch hip_roll hip_yaw knee ankle_pitch ankle_roll", "yaw roll pitch"
_ARM = "shoulder_pitch shoulder_roll shoulder_yaw elbow wrist_roll wrist_pitch wrist_yaw"
_SIDES = ("left", "right")
_G1_LEGS = _each(_SIDES, _LEG)
_G1 = [*_G1_LEGS, *_each(["waist"], _WAIST), *_each(_SIDES, _ARM)]
_G1_LAB = [0, 6, 12, 1, 7, 13, 2, 8, 14, 3, 9, 15, 22, 4, 10, 16, 23, 5, 11, 17, 24, 18, 25, 19, 26, 20, 27, 21, 28]
_H1_ARM = "shoulder_pitch shoulder_roll shoulder_yaw elbow"
_H1 = [
    *_each(["right"], "hip_roll hip_pitch knee"), *_each(["left"], "hip_roll hip_pitch knee"), "torso_joint",
    "left_hip_yaw_joint", "right_hip_yaw_joint", "unused_9", "left_ankle_joint", "right_ankle_joint",
    *_each(["right"], _H1_ARM), *_each(["left"], _H1_ARM),
]  # fmt: skip
_GO2 = _each(("FR", "FL", "RR", "RL"), "hip thigh calf")
_GYM_LEGS = _each(("FL", "FR", "RL", "RR"), "hip thigh calf")
_LAB_LEGS = [f"{leg}_{part}_joint" for part in ("hip", "thigh", "calf") for leg in ("FL", "FR", "RL", "RR")]


@dataclass(frozen=True)
class JointTable:
    """A robot's joints. sdk: by motor index. gym: the URDF's order, of the joints that a policy drives. lab: Isaac Lab's."""

    robot: str
    sdk: Sequence[str]
    gym: Sequence[str]
    lab: Sequence[str]
    called: Sequence[str] = field(default_factory=tuple)


TABLES: Mapping[str, JointTable] = {
    "g1": JointTable("Unitree G1, 29 joints", _G1, _G1_LEGS, [_G1[index] for index in _G1_LAB], ("g1",)),
    "h1": JointTable("Unitree H1", _H1, _each(_SIDES, "hip_yaw hip_roll hip_pitch knee ankle"), (), ("h1",)),
    "go2": JointTable("Unitree Go2 and A1", _GO2, _GYM_LEGS, _LAB_LEGS, ("go2", "a1", "go1", "b2", "aliengo")),
}


def table_called(text: str) -> JointTable | None:
    """The table of a robot that a file names: `g1`, `unitree_go2`, `.../Go2/go2.usd`."""
    words = set(re.split(r"[^a-z0-9]+", text.lower()))
    return next((table for table in TABLES.values() if words & set(table.called)), None)


def table_of_map(order: Sequence[int]) -> JointTable | None:
    """The table whose Isaac Lab order, as motor indices, is this one. The numbers as they stand tell no robot from another."""
    if list(order) == sorted(order):
        return None
    maps = ((table, [table.sdk.index(name) for name in table.lab]) for table in TABLES.values())
    return next((table for table, own in maps if own == list(order)), None)


_SENSORS = Sensors(
    turn_comment='LEFT OPEN: space. Find out which IMU gives it, and in whose axes: space = "IMU on the pelvis"'
)
_FLAGS = ("use_gym_history", "scale_first")
_AXES = ("lin_vel_x", "lin_vel_y", "ang_vel_z")
_PER_JOINT = ("joint_pos_rel", "joint_pos", "joint_vel_rel", "joint_vel", "last_action")
_THREE = ("base_ang_vel", "projected_gravity", "velocity_commands", "keyboard_velocity_commands", "base_lin_vel")


def deploy_yaml_to_draft(root: PlacedValue, request: ImportRequest) -> Draft:
    """The declaration of a deploy.yaml, with the model that lies with it."""
    model = request.model
    order = root.need("joint_ids_map", "the motor of each joint of the policy").wholes()
    twice = next((index for index in order if order.count(index) > 1), None)
    if twice is not None or not order:
        found = f"the motor {twice} twice" if order else "an empty list"
        raise root.get("joint_ids_map").wrong("a motor of its own for each joint", found=found)
    policy, whose = _joint_names(order, model)
    by_motor = dict(zip(order, policy, strict=True))
    motors = tuple(by_motor[index] for index in sorted(by_motor))
    draft = Draft.imported(
        root.path.resolve().parent.name,
        root.path.name,
        ". Search for LEFT OPEN: the gaps of the file and its runtime.",
        "The exporter rounds every number to 3 significant digits: the training side computed with the exact ones.",
    )
    draft.names_comments = [f"The names are those of {whose}, the map is joint_ids_map."] if whose else _NO_NAMES
    draft.fps = root.need("step_dt", "the seconds of a step").rate()
    draft.names["sdk"] = motors
    if policy != motors:
        draft.names["policy"] = policy
    actions = list(root.need("actions", "the action that the network's answer becomes").children())
    term = root.get("actions").only(actions, "one", "declare the others by hand: one contract for each term")
    names = _driven(term, policy)
    scale, offset = (term.get(key).one_or_each(len(names), "joint") for key in ("scale", "offset"))
    notes = () if actions[0][0] == "JointPositionAction" else (f"the action term is {actions[0][0]}",)
    action = Action(names, scale, offset, clip_of(term.get("clip"), len(names)), notes)
    groups = _groups(root, policy, model)
    pose = root.need("default_joint_pos", "the pose that joint positions are relative to").numbers(len(policy), "joint")
    robot = Robot(
        draft, _SENSORS, motors, groups, action, "sdk", motors=motors, default_pose=pose, pose_names=policy,
        sticks=_ranges(root), gains=_gains(root, order, policy), model=request.file,
    )  # fmt: skip
    return robot_to_draft(robot)


_NO_NAMES = [
    "The file has no names: joint_N is the joint of motor N, and policy is the map joint_ids_map. Put the names in their",
    "places; the order of each list is the contract.",
]


def _joint_names(order: Sequence[int], model: Model | None) -> tuple[tuple[str, ...], str]:
    """Names in the policy's order, and whose they are: the model's metadata, a robot with this map; else motors are numbered."""
    listed = model.metadata.get("joint_names", "") if model else ""
    names = tuple(name.strip() for name in listed.split(","))
    if listed and len(names) == len(order) == len(set(names)) and all(names):
        return names, "the model's metadata (joint_names)"
    table = table_of_map(order)
    if table is not None:
        return tuple(table.lab), f"{table.robot}, which has this map (a table of rigpact)"
    return tuple(f"joint_{index}" for index in order), ""


def _ranges(root: PlacedValue) -> dict[str, tuple[float, float]]:
    commands = root.get("commands")
    for _, command in [] if commands.is_nothing else commands.children():
        ranges = command.get("ranges")
        found = {} if ranges.is_nothing else {axis: ranges.get(axis).range() for axis in _AXES}
        if found and all(found.values()):
            return {axis: ends for axis, ends in found.items() if ends is not None}
    return {}


def _gains(root: PlacedValue, order: Sequence[int], policy: tuple[str, ...]) -> Gains | None:
    """order: the motor of each joint of the policy. Where it leaves out motors, there is a gain for every motor."""
    if root.get("stiffness").is_nothing or root.get("damping").is_nothing:
        return None
    driven, motors = sorted(order), tuple(name for _, name in sorted(zip(order, policy, strict=True)))
    if max(order) >= len(order) < len(root.get("stiffness").elements()):
        count = len(root.get("stiffness").elements())
        every = {key: root.get(key).numbers(count, "motor") for key in ("stiffness", "damping")}
        if max(order) >= count:
            raise root.get("stiffness").wrong(f"a gain for each motor up to {max(order)}", found=f"{count} numbers")
        stiff, damped = ([values[index] for index in driven] for values in every.values())
        return Gains(stiff, damped, motors)
    stiffness, damping = (root.get(key).numbers(len(order), "joint") for key in ("stiffness", "damping"))
    if motors == policy:
        return Gains(stiffness, damping, motors)
    note = "LEFT OPEN: order. Find out whether the gains follow the motors (the runtime sets them without the map) or the policy"
    return Gains(stiffness, damping, None, (note,))


def _driven(term: PlacedValue, policy: tuple[str, ...]) -> tuple[str, ...]:
    """The joints of the action: joint_ids is null, a list of places, or a python slice that is read as its three numbers."""
    ids = term.get("joint_ids")
    if ids.is_nothing:
        return policy
    entries = ids.elements()
    if any(each.is_nothing for each in entries):
        if len(entries) != 3:
            raise ids.wrong("null, a list of places, or a slice of three")
        start, stop, step = (None if each.is_nothing else each.whole() for each in entries)
        if step == 0:
            raise ids.wrong("a slice with a step")
        return policy[slice(start, stop, step)]
    places = ids.wholes()
    if not places or max(places) >= len(policy) or len(set(places)) != len(places):
        raise ids.wrong(f"places of the {len(policy)} joints, each once")
    return tuple(policy[place] for place in places)


def clip_of(node: PlacedValue, count: int) -> tuple[Any, Any] | None:
    """A clip for all numbers, or one for each; None where there is none, or where no end is finite."""
    if node.is_nothing:
        return None
    entries = node.elements()
    is_one = bool(entries) and not isinstance(entries[0].value, list)
    if not is_one and len(entries) != count:
        raise node.wrong(f"{count}, one for each number", found=f"{len(entries)} ranges")
    ranges = [node.ends()] if is_one else [each.ends() for each in entries]
    if all(ends == (float("-inf"), float("inf")) for ends in ranges):
        return None
    wrong = next((ends for ends in ranges if not ends[0] < ends[1]), None)
    if wrong is not None:
        raise node.wrong("a low end below the high end", found=f"{wrong[0]:g} to {wrong[1]:g}")
    # a declaration has finite numbers; float32 has none beyond these
    low, high = ([min(max(each[end], -_LARGEST), _LARGEST) for each in ranges] for end in (0, 1))
    return (low[0] if len(set(low)) == 1 else low), (high[0] if len(set(high)) == 1 else high)


_LARGEST = 3.0e38


def _groups(root: PlacedValue, policy: Sequence[str], model: Model | None) -> list[TermGroup]:
    """The block is one group `obs` if its first entry is a term, else each entry is a group, named as the model's input."""
    block = root.need("observations", "the terms of the observation")
    entries = list(block.children())
    tables = [(name, entry) for name, entry in entries if name not in _FLAGS]
    if not tables:
        raise block.wrong("at least one term", found="no term")
    is_one = not tables[0][1].get("params").is_nothing or "scale" in tables[0][1].table().value
    named = [("obs", block)] if is_one else [(word(name, "obs"), group) for name, group in tables]
    widths = {} if model is None else dict(zip([name for name, _ in named], model.inputs.values(), strict=False))
    return [_group(name, group, policy, widths.get(name)) for name, group in named]


def _group(name: str, group: PlacedValue, policy: Sequence[str], width: int | None) -> TermGroup:
    flags = {flag: group.get(flag) for flag in _FLAGS}
    for node in flags.values():
        if node.value not in (None, True, False):
            raise node.wrong("true or false")
    entries = [(key, entry) for key, entry in group.children() if key not in _FLAGS]
    terms = as_wide([_term(key, entry, policy) for key, entry in entries], width, group.place)
    layout = "frame_major" if flags["use_gym_history"].value else "term_major"
    return TermGroup(name, terms, layout, scale_first=bool(flags["scale_first"].value))


def _term(name: str, entry: PlacedValue, policy: Sequence[str]) -> Term:
    width = len(policy) if name in _PER_JOINT else 3 if name in _THREE else None
    scale = entry.get("scale")
    if isinstance(scale.value, list):
        count = len(scale.elements())
        if name in _THREE and count != 3:
            raise scale.wrong("3, as the term has", found=f"{count} numbers")
        width = count
    clip, own = clip_of(entry.get("clip"), width or 1), word(name, "term")
    factor = None if width is None else scale.one_or_each(width, "number")
    history = max(1, entry.get("history_length").whole(otherwise=1))
    made = Term(own, name, entry.place, width, clip=clip, scale=factor, history=history)
    if name != "gait_phase":
        return made
    period = entry.get("params").need("period", "the seconds of a gait").number()
    return replace(made, function="phase_sin_cos", width=2, period=period, first=2, notes=(_TWO_STEPS,))


_TWO_STEPS = "the runtime advances the phase at its start, at a reset and at each step: the first call sees two steps"


REQUIRED = ("joint_names", "observation_names")
_CLIPS = ("observation_terms_clip", "observation_term_clip")
_NAMED_SENSORS = Sensors(turn_space="the robot's own frame")
_KEPT = "mjlab keeps them (term by term, oldest first, filled with the first value)"
_FUNCTIONS: Mapping[str, tuple[str, int | None]] = {
    "base_ang_vel": ("base_ang_vel", 3), "base_lin_vel": ("base_lin_vel", 3), "projected_gravity": ("projected_gravity", 3),
    "joint_pos": ("joint_pos_rel", None), "joint_vel": ("joint_vel_rel", None), "actions": ("last_action", None),
    "command": ("command", None), "body_pos": ("robot_body_pos_b", None), "body_ori": ("robot_body_ori_b", None),
}  # fmt: skip
"""The names that mjlab's tasks give their terms -> what they compute, and their width; joint_pos is relative to the pose."""


def metadata_to_draft(model: Model, file: Entry, hint: str) -> Draft:
    """The declaration of a policy with metadata; hint: what else can be done with a file that has none."""
    if missing := [key for key in REQUIRED if key not in model.metadata]:
        held = ", ".join(sorted(model.metadata)[:8]) or "none"
        raise UnusableInput(
            model.path, f"metadata: {held}", f"mjlab's metadata; {', '.join(missing)} is not there", hint
        )
    joints = _names(model, "joint_names")
    draft = Draft.imported(
        model.path.stem,
        f"the metadata of {model.path.name}",
        ".",
        "Search for LEFT OPEN: the gaps of the metadata.",
        "Its numbers are text with 3 decimals: compare with 0.0005, and a scale of 0.0745 reads 0.075.",
        "LEFT OPEN: fps. Find out the rate of the policy (decimation and step of the simulation), and write fps = 50",
        fallback="policy",
    )
    draft.names["joints"] = joints
    draft.names_comments = ["The order of the robot's joints in MuJoCo, as joint_names has it."]
    terms, pose = _terms(model, joints), _of_joints(model, "default_joint_pos", joints)
    action, gains = _action(model, joints, pose), None
    if action is None:
        counts = f"the network gives {model.output_width} numbers and the robot has {len(joints)} joints"
        draft.notes.append(f"{counts}: write the targets by hand")
    stiffness, damping = (_of_joints(model, f"joint_{key}", joints) for key in ("stiffness", "damping"))
    if action is not None and stiffness is not None and damping is not None:
        note = "by name, as joint_names has them; 1 and 0 stand for actuators that have no gains of this kind"
        gains = Gains(stiffness, damping, joints, (note,))
    group = TermGroup(word(next(iter(model.inputs)), "obs"), terms)
    robot = Robot(
        draft, _NAMED_SENSORS, joints, [group], action, convention=_KEPT, default_pose=pose, gains=gains, model=file
    )
    robot.action_width = model.output_width
    return robot_to_draft(robot)


def _terms(model: Model, joints: tuple[str, ...]) -> tuple[Term, ...]:
    names = _names(model, "observation_names")
    of_terms = (len(names), "of observation_names")
    scales = _numbers(model, "observation_terms_scale", *of_terms)
    key = "observation_terms_history_length"
    kept = [int(each) if each.is_integer() else each for each in _numbers(model, key, *of_terms) or [1.0] * len(names)]
    histories = PlacedValue(kept, model.path, (key,)).wholes()
    clips = _clips(model, names)
    terms = []
    for place, name in enumerate(names):
        function, width = _FUNCTIONS.get(name, (name, None))
        if function == "command" and TRACKING.keys() & set(names):
            function = "motion_command"
        if function in ("joint_pos_rel", "joint_vel_rel"):
            width = len(joints)
        elif function == "last_action":
            width = model.output_width
        clip, scale = clips[place] if clips else None, scales[place] if scales else None
        where, history = f"{model.path}#/observation_names/{place}", max(1, histories[place])
        terms.append(Term(word(name, "term"), function, where, width, clip=clip, scale=scale, history=history))
    return as_wide(terms, input_width(model), f"{model.path}#/observation_names")


def _action(model: Model, joints: tuple[str, ...], pose: list[float] | None) -> Action | None:
    scale = _numbers(model, "action_scale")
    if scale is None or model.output_width != len(joints):
        return None
    each = PlacedValue(scale, model.path, ("action_scale",)).one_or_each(1 if len(scale) == 1 else len(joints), "joint")
    note = "the offset is not in the metadata: mjlab adds the default pose (use_default_offset)"
    return Action(joints, each, pose, None, (note,))


# the texts of the metadata: names and numbers joined by commas


def _names(model: Model, key: str) -> tuple[str, ...]:
    return PlacedValue([each.strip() for each in model.metadata.get(key, "").split(",")], model.path, (key,)).words()


def _of_joints(model: Model, key: str, joints: Sequence[str]) -> list[float] | None:
    return _numbers(model, key, len(joints), "of joint_names")


def _numbers(model: Model, key: str, count: int | None = None, of: str = "") -> list[float] | None:
    """Numbers, one for each of so many where the key says so; None where the key is missing: an older mjlab."""
    if not (text := model.metadata.get(key, "").strip()):
        return None
    return PlacedValue([_number(each) for each in text.split(",")], model.path, (key,)).numbers(count, of)


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _clips(model: Model, names: tuple[str, ...]) -> list[tuple[Any, Any] | None] | None:
    """`-inf;inf,-1;1`, or `[-inf, inf],[-1, 1]` as mjlab first wrote it."""
    key = next((each for each in _CLIPS if model.metadata.get(each, "").strip()), None)
    if key is None:
        return None
    text = model.metadata[key]
    pairs = re.findall(r"\[([^\]]*)\]", text) if "[" in text else text.split(",")
    ends = PlacedValue([[_number(end) for end in re.split(r"[;,]", pair)] for pair in pairs], model.path, (key,))
    if len(pairs) != len(names):
        raise ends.wrong(f"{len(names)}, one for each of observation_names", found=f"{len(pairs)} ranges")
    return [clip_of(pair, 1) for pair in ends.elements()]
