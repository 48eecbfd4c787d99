"""The declaration of a robot's policy: its terms, their history, the network, the target and its gains."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rigpact.contract.errors import UnusableInput
from rigpact.reports.importing.draft import Draft, Entry
from rigpact.reports.importing.stacks.robot import (
    TRACKING,
    Action,
    Gains,
    Robot,
    Term,
    TermGroup,
    add_term,
    numbers_of_answer,
)


def robot_to_draft(robot: Robot) -> Draft:
    """The declaration of a policy."""
    draft = robot.draft
    if robot.default_pose is not None:
        names = draft.list_of(robot.pose_names, "joints")
        draft.numbers["default_pose"] = {"names": names, "value": list(robot.default_pose)}
    for group in robot.groups:
        _observation(robot, group)
    _action(robot)
    file, inputs = robot.model or Entry({}), [group.name for group in robot.groups]
    draft.networks["policy"] = Entry({**file.table, "inputs": inputs, "outputs": ["action"]}, file.comments)
    if not any("default_pose" in entry.table.values() for entry in draft.stages):
        draft.numbers.pop("default_pose", None)  # of the whole robot, where every term has offsets of its own
    return draft


def as_wide(terms: Sequence[Term], width: int | None, place: str) -> tuple[Term, ...]:
    """The terms, together as wide as the network's input; if one has no width, it has what the others leave.

    UnusableInput where they are wider or narrower: two files of different runs.
    """
    terms = [replace(term, width=TRACKING.get(term.function, (None,))[0] or term.width) for term in terms]
    left = 0 if width is None else width - sum((term.width or 0) * term.history for term in terms)
    unknown = [term for term in terms if term.width is None]
    if left and not unknown:
        hint = "the file and the model are of different runs, or a term that raised while it was exported is left out"
        total = f"terms of {(width or 0) - left} numbers together"
        raise UnusableInput(place, total, f"{width}, as the model's input has", hint)
    if width is None or len(unknown) != 1:
        return tuple(terms)
    if left <= 0 or left % unknown[0].history:
        raise UnusableInput(place, f"{left} numbers left for {unknown[0].name}", "the rest of the input")
    return tuple(replace(term, width=left // term.history) if term is unknown[0] else term for term in terms)


def _observation(robot: Robot, group: TermGroup) -> None:
    """The terms one after the other, then their history or their concatenation."""
    draft, lengths = robot.draft, {term.history for term in group.terms}
    ends = [add_term(robot, term, group) for term in group.terms]
    if group.clip is not None:
        ends = _clipped_frame(robot, group, ends)
    known = f"layout, order and start as {robot.convention}"
    how = {"layout": group.layout, "order": group.order, "start": group.start}
    if lengths == {1}:
        if ends != [group.name]:
            draft.compute(group.name, "concatenate", ends)
    elif len(lengths) == 1:
        draft.compute(group.name, "history", ends, known, length=lengths.pop(), **how)
    else:
        parts = []
        for term, end in zip(group.terms, ends, strict=True):
            name = draft.free_name(f"{term.name}_history")
            is_kept = term.history > 1
            parts.append(draft.compute(name, "history", [end], known, length=term.history, **how) if is_kept else end)
        draft.compute(group.name, "concatenate", parts)


def _clipped_frame(robot: Robot, group: TermGroup, ends: list[str]) -> list[str]:
    """The vectors of a frame that is clipped as a whole; where its terms are kept apart, each is."""
    draft, is_kept = robot.draft, any(term.history > 1 for term in group.terms)
    ranges = {"lowest": group.clip[0], "highest": group.clip[1]} if group.clip else {}
    if is_kept and group.layout == "term_major":
        return [draft.compute(draft.free_name(f"{end}_clipped"), "clip", end, **ranges) for end in ends]
    whole = draft.compute(draft.free_name(f"{group.name}_unclipped"), "concatenate", ends)
    return [draft.compute(draft.free_name(f"{group.name}_frame") if is_kept else group.name, "clip", whole, **ranges)]


def _action(robot: Robot) -> None:
    """The answer, the target, the motors' order and their gains."""
    draft, action = robot.draft, robot.action
    draft.compute("action", "network", None, **numbers_of_answer(robot))
    if action is None:
        return
    end = _target(robot, action, draft.list_of(action.names, "controlled"))
    if robot.motors is not None and robot.motors != action.names:
        motors = draft.list_of(robot.motors, "motors")
        end = draft.compute("motor_q", "select", end, "targets in the order of the motors", take=motors)
    if robot.gains is not None:
        _gains(robot, robot.gains, end)


def _target(robot: Robot, action: Action, names: str) -> str:
    draft = robot.draft
    offset: Any = action.offset
    if isinstance(offset, list):
        is_pose = list(robot.default_pose or ()) == offset and robot.pose_names == action.names
        offset = "default_pose" if is_pose else draft.number_of("action_offset", offset, names)
    scale: Any = action.scale
    if isinstance(scale, list):
        scale = draft.number_of("action_scale", scale, names)
    if scale is None and offset is None:
        scale = 1.0
    if action.answer_clip is not None:
        low, high = action.answer_clip
        draft.compute(action.kept, "clip", "action", "kept for the next observation", lowest=low, highest=high)
    end = "target" if action.clip is None else "target_unclipped"
    draft.compute(end, "affine", action.kept, *action.notes, scale=scale, offset=offset, unit="rad")
    if action.wheels:
        turned = draft.compute("wheel_action", "select", action.kept, take=draft.list_of(action.wheels, "wheels"))
        factors = list(action.wheels.values())
        draft.compute("wheel_velocity", "affine", turned, "wheels: velocity", scale=factors, unit="rad/s")
    if action.clip is not None:
        draft.compute("target", "clip", end, "behind scale and offset", lowest=action.clip[0], highest=action.clip[1])
    return "target"


def _gains(robot: Robot, gains: Gains, of: str) -> None:
    draft = robot.draft
    names = None if gains.names is None else draft.list_of(gains.names, robot.measured_name)
    for stage, name, value in (("kp", "stiffness", gains.stiffness), ("kd", "damping", gains.damping)):
        draft.numbers[name] = list(value) if names is None else {"names": names, "value": list(value)}
        draft.compute(stage, "constant", of, *(gains.notes if stage == "kp" else ()), value=name)
