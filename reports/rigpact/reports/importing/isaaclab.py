"""What Isaac Lab writes of an environment: its IO descriptor, and `params/env.yaml`, which mjlab writes too.

The IO descriptor has articulations, actions and observation terms with the names of their joints. Its keys are sorted, so the
order of keys says nothing; the order of lists does. Units stand in `extras` and may be wrong.

env.yaml is a dump of the configuration objects of a training run. Regular expressions stand for joints, and the joints are not in
the file: their names and order come from the model's metadata or from deployed.py. A python tag is read as data. Paths of the
training machine stay out of the contract.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rigpact.contract.errors import UnusableInput
from rigpact.reports.importing.deployed import clip_of, table_called
from rigpact.reports.importing.draft import Draft, Entry, unlike, word
from rigpact.reports.importing.robot import COMMANDS, TRACKING, Action, Gains, Robot, Sensors, Term, TermGroup, as_wide
from rigpact.reports.importing.robot_draft import robot_to_draft
from rigpact.reports.importing.values import ImportRequest, Model, PlacedValue, input_width

_SENSORS = Sensors("root_ang_vel_b", "root_lin_vel_b", "root_quat_w", "joint_pos", "joint_vel", "the robot's root")


def descriptor_to_draft(root: PlacedValue, request: ImportRequest) -> Draft:
    """The declaration of an IO descriptor, with the model that lies with it."""
    articulations = root.need("articulations", "the robot")
    articulation = articulations.only(list(articulations.children()), "one robot")
    joints = articulation.need("joint_names", "the robot's joints in their order").words()
    model, step = request.model, root.get("scene").get("dt")
    draft = Draft.imported(
        root.path.stem,
        root.path.name,
        ". Search for LEFT OPEN: the gaps of the descriptor.",
        "Not in it either: statistics of a normaliser, ranges of the command, the rate of the motors, the network's file.",
    )
    draft.fps = None if step.is_nothing else step.rate()
    gains = _described_gains(articulation, joints)
    if gains is None:
        said = "The descriptor has 0 or none: an explicit actuator has gains of its own."
        draft.header.append(f"LEFT OPEN: gains. {said}")
    draft.names["joints"] = joints
    draft.names_comments = ["The order of the articulation; terms and actions take their joints by name."]
    terms, taken = [], set[str]()
    for entry in _policy_terms(root):
        terms.append(
            _described_term(entry, unlike(word(entry.need("name", "the term's function").word(), "term"), taken))
        )
        taken.add(terms[-1].name)
    group = TermGroup("obs", as_wide(terms, input_width(model), root.get("observations").place))
    at_rest, action = articulation.get("default_joint_pos"), _described_action(root, joints)
    pose = None if at_rest.is_nothing else at_rest.numbers(len(joints), "joint")
    return robot_to_draft(
        Robot(draft, _SENSORS, joints, [group], action, default_pose=pose, gains=gains, model=request.file)
    )


def _policy_terms(root: PlacedValue) -> list[PlacedValue]:
    group = root.need("observations", "the observation").need("policy", "the terms of the policy")
    terms = group.elements()
    if not terms:
        raise group.wrong("at least one term", found="an empty list")
    return terms


def _described_term(entry: PlacedValue, name: str) -> Term:
    overloads = entry.get("overloads")
    shape = entry.need("shape", "the width of one frame").wholes(1)
    if len(shape) != 1:
        raise entry.get("shape").wrong("one axis: the numbers of one frame", "images need a stage of their own")
    joints = None if entry.get("joint_names").is_nothing else entry.get("joint_names").words()
    if joints is not None and len(joints) != shape[0]:
        raise entry.get("joint_names").wrong(f"{shape[0]}, as the shape says", found=f"{len(joints)} names")
    function = "command" if entry.get("observation_type").value == "Command" else entry.get("name").word()
    clip, scale = clip_of(overloads.get("clip"), shape[0]), overloads.get("scale").one_or_each(shape[0], "number")
    history, offsets = max(1, overloads.get("history_length").whole(otherwise=1)), _offsets(entry, joints)
    return Term(name, function, entry.place, shape[0], joints, offsets, clip, scale, history, notes=_term_notes(entry))


def _offsets(entry: PlacedValue, joints: tuple[str, ...] | None) -> Any:
    """The offsets of the term's joints; 0 where the file has none, so that nothing is taken off behind its back."""
    for key in ("joint_pos_offsets", "joint_vel_offsets"):
        if not entry.get(key).is_nothing and joints is not None:
            return entry.get(key).numbers(len(joints), "joint")
    return 0.0


def _term_notes(entry: PlacedValue) -> tuple[str, ...]:
    notes = []
    if not entry.get("extras").get("modifiers").is_nothing:
        notes.append("LEFT OPEN: the term has modifiers, which run before clip and scale. Write them as stages")
    if entry.get("name").value == "projected_gravity" and entry.get("extras").get("units").value == "m/s^2":
        notes.append("the file calls it m/s^2; its length is 1")
    return tuple(notes)


def _described_action(root: PlacedValue, joints: tuple[str, ...]) -> Action:
    actions = root.need("actions", "the action that the network's answer becomes").elements()
    if len(actions) != 1:
        raise root.get("actions").wrong("one", "declare the others by hand", f"{len(actions)} actions")
    entry = actions[0]
    names = entry.need("joint_names", "the joints that the action drives").words()
    unknown = next((name for name in names if name not in joints), None)
    if unknown is not None:
        raise entry.get("joint_names").wrong("joints of the articulation", found=f"the joint {unknown}")
    shape = entry.get("shape")
    if not shape.is_nothing and shape.wholes(1) != [len(names)]:
        raise shape.wrong(f"[{len(names)}], as joint_names has")
    scale, offset = (entry.get(key).one_or_each(len(names), "joint") for key in ("scale", "offset"))
    return Action(names, scale, offset, clip_of(entry.get("clip"), len(names)))


def _described_gains(articulation: PlacedValue, joints: tuple[str, ...]) -> Gains | None:
    nodes = [articulation.get(f"default_joint_{key}") for key in ("stiffness", "damping")]
    if any(node.is_nothing for node in nodes):
        return None
    stiffness, damping = (node.numbers(len(joints), "joint") for node in nodes)
    if not any(stiffness) and not any(damping):
        return None  # an explicit actuator; the header says so
    return Gains(stiffness, damping, joints, ("by name; 0 would mean that an explicit actuator has gains of its own",))


_LONGEST, _MOST_STEPS = 200, 1 << 20


def is_whole(pattern: str, name: str) -> bool:
    """Whether an expression is the whole of a name; ValueError for one that is none, is not read, or may take too long.

    A backtracking search tries each length of each repetition with each of the others: that product is bounded, of a plain
    expression for each of its ways, and a group stands once or not at all.
    """
    longest = max(len(pattern), len(name))
    if longest > _LONGEST:
        raise ValueError(f"{longest} characters")
    unread = re.search(r"\{[^}]*\}?|\\[a-zA-Z1-9](?<!\\[dDwWsS])", pattern)
    if unread is not None:
        raise ValueError(f"{unread[0]!r}, which is not read here")
    if re.search(r"\)[*+]", pattern):
        raise ValueError("a repetition of a group")
    ways = [pattern] if "(" in pattern else pattern.split("|")
    tried = ((len(name) + 1) ** len(re.findall("[*+]", way)) * 2 ** len(re.findall("[?|)]", way)) for way in ways)
    if sum(tried) > _MOST_STEPS:
        raise ValueError("an expression of too many repetitions")
    return re.fullmatch(pattern, name, re.DOTALL) is not None


_NOT_MADE = {
    "modifiers": "LEFT OPEN: modifiers run before clip and scale. Write them as stages",
    "delay_max_lag": "LEFT OPEN: the term arrives some frames late (delay_min_lag to delay_max_lag). Write a `shift`",
}
_PHASE = "gait_phase"
"""unitree_rl_lab's term: sine and cosine of the time since the start of the episode, in periods."""
_CALLED = {"generated_commands": "command", _PHASE: "phase_sin_cos"}
_THREE = ("base_ang_vel", "base_lin_vel", "projected_gravity", *COMMANDS)
_PER_JOINT = ("joint_pos_rel", "joint_pos", "joint_vel_rel", "joint_vel")


def dump_to_draft(root: PlacedValue, request: ImportRequest) -> Draft:
    """The declaration of an env.yaml."""
    joints, said = _joints(root, request.model)
    draft = Draft.imported(
        root.path.parent.parent.resolve().name,
        root.path.name,
        ". Search for LEFT OPEN: the gaps of the dump.",
        "Not in it: names of joints, statistics of a normaliser, clip_actions of agent.yaml.",
    )
    draft.names_comments = [said]
    return fill_draft(draft, root, joints, request.model, request.file)


def fill_draft(
    draft: Draft, root: PlacedValue, joints: tuple[str, ...], model: Model | None, file: Entry | None
) -> Draft:
    """The declaration of a configuration whose joints are known. file: the network's, where it is known."""
    draft.names["joints"] = joints
    sim = root.get("sim")
    step = sim.get("dt") if not sim.get("dt").is_nothing else sim.get("mujoco").need("timestep", "seconds of a step")
    draft.fps = step.rate(root.get("decimation").whole(1))
    robot = _scene_robot(root)
    pose = _by_pattern(robot.get("init_state").get("joint_pos"), joints, 0.0)
    action = _action(root, joints, pose)
    widths = {**dict.fromkeys(_THREE, 3), "last_action": len(action.names), _PHASE: 2, **_of_bodies(root)}
    group, gains = _group(_policy_group(root), joints, widths, model), _gains(robot, joints)
    made = Robot(draft, _SENSORS, joints, [group], action, default_pose=pose, gains=gains, model=file)
    return robot_to_draft(made)


def _scene_robot(root: PlacedValue) -> PlacedValue:
    scene = root.need("scene", "the scene")
    robot = scene.get("robot")
    return scene.get("entities").get("robot") if robot.is_nothing else robot


def _joints(root: PlacedValue, model: Model | None) -> tuple[tuple[str, ...], str]:
    listed = "" if model is None else model.metadata.get("joint_names", "")
    if listed:
        node = PlacedValue(
            [each.strip() for each in listed.split(",")], model.path if model else root.path, ("joint_names",)
        )
        return node.words(), "The names and the order of the model's metadata (joint_names)."
    spawn = _scene_robot(root).get("spawn")
    table = table_called(str(spawn.get("usd_path").value or spawn.get("asset_path").value or ""))
    if table is None or not table.lab:
        hint = "give a model with joint_names in its metadata (--onnx), or import the IO descriptor"
        raise UnusableInput(f"{root.path}#/scene/robot", "no names of joints", "joints of a known robot", hint)
    note = f"The order of {table.robot} in Isaac Lab (breadth first), by a table of rigpact: the file has no names."
    return tuple(table.lab), note


def _fits(pattern: str, name: str, node: PlacedValue) -> bool:
    try:
        return is_whole(pattern, name)
    except (re.error, ValueError) as error:
        raise node.wrong("a regular expression of joints", found=f"{pattern[:40]!r} ({error})") from None


def _matching(node: PlacedValue, joints: Sequence[str], *, keeps_order: bool = False) -> tuple[str, ...]:
    """The joints that a list of regular expressions names, in the robot's order, or in that of the list."""
    patterns = [node.word()] if isinstance(node.value, str) else [each.word() for each in node.elements()]
    found = [name for name in joints if any(_fits(each, name, node) for each in patterns)]
    if keeps_order:
        found = [name for each in patterns for name in joints if _fits(each, name, node)]
    if not found:
        raise node.wrong("a regular expression that some joint fits", f"the joints are {', '.join(joints[:6])}, …")
    return tuple(dict.fromkeys(found))


def _by_pattern(node: PlacedValue, joints: Sequence[str], otherwise: float) -> list[float]:
    """A number for each joint: one for all, or by regular expressions, of which one fits a name at most."""
    if node.is_nothing:
        return [otherwise] * len(joints)
    if not isinstance(node.value, Mapping):
        return [node.number()] * len(joints)
    entries, found = list(node.children()), []
    for name in joints:
        fitting = [each for pattern, each in entries if _fits(pattern, name, each)]
        if len(fitting) > 1:
            raise node.wrong("one expression that fits each joint", found=f"{len(fitting)} that fit {name}")
        found.append(fitting[0].number() if fitting else otherwise)
    return found


def _policy_group(root: PlacedValue) -> PlacedValue:
    groups = dict(root.need("observations", "the groups of the observation").children())
    name = next((each for each in ("policy", "actor") if each in groups), None)
    if name is None:
        found, hint = f"groups: {', '.join(groups) or 'none'}", "agent.yaml says which (obs_groups)"
        raise root.get("observations").wrong("a group policy or actor", hint, found)
    return groups[name]


def _of_bodies(root: PlacedValue) -> dict[str, int]:
    commands = root.get("commands")
    tracked = [each.get("body_names") for _, each in (() if commands.is_nothing else commands.children())]
    count = sum(len(each.elements()) for each in tracked if not each.is_nothing)
    return {"robot_body_pos_b": 3 * count, "robot_body_ori_b": 6 * count} if count else {}


def _group(node: PlacedValue, joints: Sequence[str], widths: Mapping[str, int], model: Model | None) -> TermGroup:
    inside = node.get("terms")
    listed = (node if inside.is_nothing else inside).children()
    whole = node.get("history_length")
    told = [(key, each) for key, each in listed if isinstance(each.value, Mapping) and "func" in each.value]
    terms = [_term(key, each, joints, widths, whole) for key, each in told]
    named = [each.get("params").get("command_name").value for _, each in told]
    tracked = [name for name, term in zip(named, terms, strict=True) if term.function in TRACKING]
    terms = [
        replace(term, function="motion_command", width=None) if term.function == "command" and name in tracked else term
        for name, term in zip(named, terms, strict=True)
    ]
    if not terms:
        raise node.wrong("terms: tables that have func", found="no term")
    return TermGroup("obs", as_wide(terms, input_width(model), node.place))


def _term(key: str, node: PlacedValue, joints: Sequence[str], widths: Mapping[str, int], whole: PlacedValue) -> Term:
    function = re.split(r"[:.]", str(node.get("func").value or key))[-1]
    if function in ("<lambda>", "%3Clambda%3E"):
        function = key
    chosen = _chosen_joints(node, joints) if function in _PER_JOINT else None
    width = widths.get(function) if chosen is None else len(chosen)
    period = node.get("params").need("period", "the seconds of a gait").number() if function == _PHASE else None
    if not node.get("shape").is_nothing:
        width = node.get("shape").whole(1)
    length = whole if not whole.is_nothing else node.get("history_length")
    notes = tuple(note for key, note in _NOT_MADE.items() if node.get(key).value)
    name, called = word(key, "term"), _CALLED.get(function, function)
    clip, scale = clip_of(node.get("clip"), width or 1), node.get("scale").one_or_each(width or 1, "number")
    history = max(1, length.whole(otherwise=1))
    return Term(
        name, called, node.place, width, chosen, clip=clip, scale=scale, history=history, notes=notes, period=period
    )


def _chosen_joints(node: PlacedValue, joints: Sequence[str]) -> tuple[str, ...]:
    chosen = node.get("params").get("asset_cfg")
    names = chosen.get("joint_names")
    if names.is_nothing:
        return tuple(joints)
    return _matching(names, joints, keeps_order=chosen.get("preserve_order").value is True)


def _action(root: PlacedValue, joints: tuple[str, ...], pose: list[float]) -> Action:
    actions = [(name, node) for name, node in root.get("actions").children() if not node.is_nothing]
    node = root.get("actions").only(actions, "one", "declare the others by hand")
    named = node.get("joint_names") if not node.get("joint_names").is_nothing else node.need("actuator_names", "joints")
    names = _matching(named, joints, keeps_order=node.get("preserve_order").value is True)
    scale = _by_pattern(node.get("scale"), names, 1.0)
    is_default = node.get("use_default_offset").value is True
    offset = [pose[joints.index(name)] for name in names] if is_default else _by_pattern(node.get("offset"), names, 0.0)
    kind, clip, notes = str(node.get("class_type").value or ""), node.get("clip"), []
    if "JointPosition" not in kind or "Relative" in kind:
        notes.append(f"LEFT OPEN: the action is {kind or 'of no said kind'}")
    if isinstance(clip.value, Mapping):
        notes.append("LEFT OPEN: clip by joint")
        clip = PlacedValue(None, root.path)
    whole: Any = scale[0] if len(set(scale)) == 1 else scale
    return Action(names, whole, offset if any(offset) else None, clip_of(clip, len(names)), tuple(notes))


def _gains(robot: PlacedValue, joints: tuple[str, ...]) -> Gains | None:
    """Gains of the actuators by the names of their joints; None where one of them has none in the file."""
    found: dict[str, dict[str, float]] = {"stiffness": {}, "damping": {}}
    actuators = robot.get("actuators")
    for _, group in [] if actuators.is_nothing else actuators.children():
        names = _matching(group.need("joint_names_expr", "the joints of the actuator"), joints)
        for key, values in found.items():
            if group.get(key).is_nothing:
                return None
            values.update(zip(names, _by_pattern(group.get(key), names, 0.0), strict=True))
    if any(set(values) != set(joints) for values in found.values()):
        return None
    note = "of the actuators, by name; an explicit actuator computes its torque with them"
    stiffness, damping = ([values[name] for name in joints] for values in found.values())
    return Gains(stiffness, damping, joints, (note,))
