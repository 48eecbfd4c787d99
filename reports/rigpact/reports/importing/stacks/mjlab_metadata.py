"""The metadata that mjlab writes into a policy's ONNX file: text, lists joined by commas, numbers with 3 decimals.

It has names, gains, default pose, scales and history; no widths, no rate, no offset and no order of the quaternion.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from rigpact.contract.errors import UnusableInput
from rigpact.reports.importing.draft import Draft, Entry, lower_word, word
from rigpact.reports.importing.stacks.deploy_yaml import clip_of
from rigpact.reports.importing.stacks.robot import Action, Gains, Group, Robot, Sensors, Term, as_wide, robot_to_draft
from rigpact.reports.importing.values import Model, Node

_LONGEST = 1 << 16
REQUIRED = ("joint_names", "observation_names")
_SENSORS = Sensors(turn_space="the robot's own frame")
_KEPT = "mjlab keeps them (term by term, oldest first, filled with the first value)"
_FUNCTIONS: Mapping[str, tuple[str, int | None]] = {
    "base_ang_vel": ("base_ang_vel", 3), "base_lin_vel": ("base_lin_vel", 3), "projected_gravity": ("projected_gravity", 3),
    "joint_pos": ("joint_pos_rel", None), "joint_vel": ("joint_vel_rel", None), "actions": ("last_action", None),
    "command": ("command", None),
}  # fmt: skip
"""The names that mjlab's tasks give their terms -> what they compute, and their width; joint_pos is relative to the pose."""


def is_one(metadata: Mapping[str, str]) -> bool:
    """Whether a model's metadata is that of mjlab."""
    return all(key in metadata for key in REQUIRED)


def to_draft(model: Model, file: Entry) -> Draft:
    """The declaration of a policy with metadata."""
    text = _Text(model)
    joints = text.names("joint_names")
    draft = Draft(lower_word(model.path.stem, "policy"), f"imported from the metadata of {model.path.name}")
    draft.header = [
        f"Made by `rigpact init` from the metadata of {model.path.name}.",
        "Search for LEFT OPEN: the gaps of the metadata.",
        "Its numbers are text with 3 decimals: compare with 0.0005, and a scale of 0.0745 reads 0.075.",
        "LEFT OPEN: fps. Find out the rate of the policy (decimation and step of the simulation), and write fps = 50",
    ]
    draft.names["joints"] = joints
    draft.names_comments = ["The order of the robot's joints in MuJoCo, as joint_names has it."]
    terms = _terms(text, joints, model)
    pose = text.numbers("default_joint_pos", len(joints)) if text.has("default_joint_pos") else None
    driven = model.output_width == len(joints)
    action = _action(text, joints, pose) if driven and text.has("action_scale") else None
    if action is None:
        counts = f"the network gives {model.output_width} numbers and the robot has {len(joints)} joints"
        draft.notes.append(f"{counts}: write the targets by hand")
    gains = None
    if action is not None and text.has("joint_stiffness") and text.has("joint_damping"):
        note = "by name, as joint_names has them; 1 and 0 stand for actuators that have no gains of this kind"
        stiffness, damping = (text.numbers(f"joint_{key}", len(joints)) for key in ("stiffness", "damping"))
        gains = Gains(stiffness, damping, joints, (note,))
    group = Group(word(next(iter(model.inputs)), "obs"), terms)
    robot = Robot(
        draft, _SENSORS, joints, [group], action, convention=_KEPT, default_pose=pose, gains=gains, model=file
    )
    robot.action_width = model.output_width
    return robot_to_draft(robot)


def _terms(text: _Text, joints: tuple[str, ...], model: Model) -> tuple[Term, ...]:
    names = text.names("observation_names")
    scales = text.per_term("observation_terms_scale", names)
    histories = text.per_term("observation_terms_history_length", names) or [1.0] * len(names)
    if any(not each.is_integer() or not 0 <= each < _LONGEST for each in histories):
        raise text.wrong("observation_terms_history_length", f"{histories}", "whole numbers of frames")
    key = "observation_terms_clip" if text.has("observation_terms_clip") else "observation_term_clip"
    clips = text.ranges(key, names)
    terms = []
    for place, name in enumerate(names):
        function, width = _FUNCTIONS.get(name, (name, None))
        if function in ("joint_pos_rel", "joint_vel_rel"):
            width = len(joints)
        elif function == "last_action":
            width = model.output_width
        clip, scale = clips[place] if clips else None, scales[place] if scales else None
        where, history = f"{model.path}#observation_names/{place}", max(1, int(histories[place]))
        terms.append(Term(word(name, "term"), function, where, width, clip=clip, scale=scale, history=history))
    return as_wide(terms, model.input_width, f"{model.path}#observation_names")


def _action(text: _Text, joints: tuple[str, ...], pose: list[float] | None) -> Action:
    scale = text.numbers("action_scale", None)
    if len(scale) not in (1, len(joints)):
        raise text.wrong("action_scale", f"{len(scale)} numbers", f"one, or {len(joints)}: one for each joint")
    each = scale[0] if len(set(scale)) == 1 else scale
    note = "the offset is not in the metadata: mjlab adds the default pose (use_default_offset)"
    return Action(joints, each, pose, None, (note,))


class _Text:
    """Reads the texts of the metadata; every mistake names its key."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def has(self, key: str) -> bool:
        return bool(self.model.metadata.get(key, "").strip())

    def wrong(self, key: str, found: str, expected: str) -> UnusableInput:
        return UnusableInput(f"{self.model.path}#{key}", found, expected, "the model's metadata")

    def names(self, key: str) -> tuple[str, ...]:
        found = tuple(each.strip() for each in self.model.metadata.get(key, "").split(","))
        if not all(found) or len(set(found)) != len(found):
            raise self.wrong(key, repr(self.model.metadata.get(key, ""))[:60], "names joined by commas, each once")
        return found

    def numbers(self, key: str, count: int | None) -> list[float]:
        words = [each.strip() for each in self.model.metadata[key].split(",")]
        try:
            found = [float(each) for each in words]
        except ValueError:
            raise self.wrong(key, repr(self.model.metadata[key])[:60], "numbers joined by commas") from None
        if count is not None and len(found) != count:
            raise self.wrong(key, f"{len(found)} numbers", f"{count}, one for each of joint_names")
        bad = next((each for each in found if not math.isfinite(each)), None)
        if bad is not None:
            raise self.wrong(key, f"{bad}", "finite numbers")
        return found

    def per_term(self, key: str, names: tuple[str, ...]) -> list[float] | None:
        """One number for each term; None where the key is missing: an older mjlab."""
        if not self.has(key):
            return None
        found = self.numbers(key, None)
        if len(found) != len(names):
            raise self.wrong(key, f"{len(found)} numbers", f"{len(names)}, one for each of observation_names")
        return found

    def ranges(self, key: str, names: tuple[str, ...]) -> list[tuple[float, float] | None] | None:
        """`-inf;inf,-1;1`, or `[-inf, inf],[-1, 1]` as mjlab first wrote it."""
        if not self.has(key):
            return None
        text = self.model.metadata[key]
        pairs = re.findall(r"\[([^\]]*)\]", text) if "[" in text else text.split(",")
        if len(pairs) != len(names):
            raise self.wrong(key, f"{len(pairs)} ranges", f"{len(names)}, one for each of observation_names")
        return [self._range(key, place, pair) for place, pair in enumerate(pairs)]

    def _range(self, key: str, place: int, pair: str) -> tuple[float, float] | None:
        try:
            ends = [float(each) for each in re.split(r"[;,]", pair)]
        except ValueError:
            raise self.wrong(key, repr(pair)[:60], "two numbers") from None
        return clip_of(Node(ends, self.model.path, (key, place)), 1)
