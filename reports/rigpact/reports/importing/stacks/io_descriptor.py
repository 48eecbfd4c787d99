"""IO descriptor YAML of IsaacLab: articulations, actions and observation terms with the names of their joints.

Keys are sorted, so the order of keys says nothing; the order of lists does. Units stand in `extras` and may be wrong.
"""

from typing import Any

from rigpact.reports.importing.draft import Draft, unlike, word
from rigpact.reports.importing.stacks.deploy_yaml import clip_of
from rigpact.reports.importing.stacks.robot import Action, Gains, Robot, Sensors, Term, TermGroup
from rigpact.reports.importing.stacks.robot_draft import as_wide, robot_to_draft
from rigpact.reports.importing.values import ImportRequest, PlacedValue, input_width

_SENSORS = Sensors("root_ang_vel_b", "root_lin_vel_b", "root_quat_w", "joint_pos", "joint_vel", "the robot's root")


def to_draft(root: PlacedValue, request: ImportRequest) -> Draft:
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
    gains = _gains(articulation, joints)
    if gains is None:
        said = "The descriptor has 0 or none: an explicit actuator has gains of its own."
        draft.header.append(f"LEFT OPEN: gains. {said}")
    draft.names["joints"] = joints
    draft.names_comments = ["The order of the articulation; terms and actions take their joints by name."]
    terms, taken = [], set[str]()
    for entry in _policy_terms(root):
        terms.append(_term(entry, unlike(word(entry.need("name", "the term's function").word(), "term"), taken)))
        taken.add(terms[-1].name)
    group = TermGroup("obs", as_wide(terms, input_width(model), root.get("observations").place))
    at_rest, action = articulation.get("default_joint_pos"), _action(root, joints)
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


def _term(entry: PlacedValue, name: str) -> Term:
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


def _action(root: PlacedValue, joints: tuple[str, ...]) -> Action:
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


def _gains(articulation: PlacedValue, joints: tuple[str, ...]) -> Gains | None:
    nodes = [articulation.get(f"default_joint_{key}") for key in ("stiffness", "damping")]
    if any(node.is_nothing for node in nodes):
        return None
    stiffness, damping = (node.numbers(len(joints), "joint") for node in nodes)
    if not any(stiffness) and not any(damping):
        return None  # an explicit actuator; the header says so
    return Gains(stiffness, damping, joints, ("by name; 0 would mean that an explicit actuator has gains of its own",))
