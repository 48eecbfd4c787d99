"""The metadata that mjlab writes into a policy's ONNX file: text, lists joined by commas, numbers with 3 decimals.

It has names, gains, default pose, scales and history; no widths, no rate, no offset and no order of the quaternion.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rigpact.contract.errors import UnusableInput
from rigpact.reports.importing.draft import Draft, Entry, word
from rigpact.reports.importing.stacks.deploy_yaml import clip_of
from rigpact.reports.importing.stacks.robot import TRACKING, Action, Gains, Robot, Sensors, Term, TermGroup
from rigpact.reports.importing.stacks.robot_draft import as_wide, robot_to_draft
from rigpact.reports.importing.values import Model, PlacedValue, input_width

REQUIRED = ("joint_names", "observation_names")
_CLIPS = ("observation_terms_clip", "observation_term_clip")
_SENSORS = Sensors(turn_space="the robot's own frame")
_KEPT = "mjlab keeps them (term by term, oldest first, filled with the first value)"
_FUNCTIONS: Mapping[str, tuple[str, int | None]] = {
    "base_ang_vel": ("base_ang_vel", 3), "base_lin_vel": ("base_lin_vel", 3), "projected_gravity": ("projected_gravity", 3),
    "joint_pos": ("joint_pos_rel", None), "joint_vel": ("joint_vel_rel", None), "actions": ("last_action", None),
    "command": ("command", None), "body_pos": ("robot_body_pos_b", None), "body_ori": ("robot_body_ori_b", None),
}  # fmt: skip
"""The names that mjlab's tasks give their terms -> what they compute, and their width; joint_pos is relative to the pose."""


def to_draft(model: Model, file: Entry, hint: str) -> Draft:
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
        draft, _SENSORS, joints, [group], action, convention=_KEPT, default_pose=pose, gains=gains, model=file
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
    clips = _ranges(model, names)
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
    """The targets; None where the network gives another number of them, or nothing is said of their scale."""
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


def _ranges(model: Model, names: tuple[str, ...]) -> list[tuple[Any, Any] | None] | None:
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
