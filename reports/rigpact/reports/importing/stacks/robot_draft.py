"""The declaration of a robot's policy: terms, their history, the network, what becomes of its answer."""

from collections.abc import Sequence
from typing import Any

from rigpact.contract.errors import UnusableInput
from rigpact.reports.importing.draft import Draft, Entry
from rigpact.reports.importing.stacks.robot import Action, Gains, Group, Robot, Term
from rigpact.reports.importing.stacks.robot_terms import add_term


def robot_to_draft(robot: Robot) -> Draft:
    """The declaration of a policy."""
    draft = robot.draft
    if robot.default_pose is not None:
        names = draft.list_of(robot.pose_names, "joints")
        draft.numbers["default_pose"] = Entry({"": {"names": names, "value": list(robot.default_pose)}})
    for group in robot.groups:
        _observation(robot, group)
    _action(robot)
    file = {} if robot.model is None else dict(robot.model.table)
    comments = () if robot.model is None else robot.model.comments
    inputs = [group.name for group in robot.groups]
    draft.networks["policy"] = Entry({**file, "inputs": inputs, "outputs": ["action"]}, comments)
    if not any("default_pose" in entry.table.values() for entry in draft.stages):
        draft.numbers.pop("default_pose", None)  # of the whole robot, where every term has offsets of its own
    return draft


def refuse_other_width(terms: Sequence[Term], width: int | None, place: str) -> None:
    """UnusableInput where the terms together are not as wide as the network's input: two files of different runs."""
    total = sum((term.width or 0) * term.history for term in terms)
    if width is not None and total != width and all(term.width is not None for term in terms):
        raise UnusableInput(
            place, f"terms of {total} numbers together", f"{width}, as the model's input has",
            "the file and the model are of different runs, or a term that raised while it was exported is left out",
        )  # fmt: skip


def _observation(robot: Robot, group: Group) -> None:
    """The terms one after the other, then their history or their concatenation."""
    draft, lengths = robot.draft, {term.history for term in group.terms}
    ends = [add_term(robot, term, group) for term in group.terms]
    known = (f"layout, order and start as {robot.convention}",) if group.layout else (_open_layout(robot),)
    how = {"layout": group.layout, "order": "oldest_first", "start": "first"}
    if lengths == {1}:
        draft.compute(group.name, "concatenate", ends)
    elif len(lengths) == 1:
        draft.compute(group.name, "history", ends, *known, length=lengths.pop(), **how)
    else:
        parts = []
        for term, end in zip(group.terms, ends, strict=True):
            name = draft.free_name(f"{term.name}_history")
            is_kept = term.history > 1
            parts.append(draft.compute(name, "history", [end], *known, length=term.history, **how) if is_kept else end)
        draft.compute(group.name, "concatenate", parts)


def _open_layout(robot: Robot) -> str:
    return f"LEFT OPEN: layout. Find out whether terms or frames stand together; order and start as {robot.convention}"


def _action(robot: Robot) -> None:
    """The answer, the target, the motors' order and their gains."""
    draft, action = robot.draft, robot.action
    names = None if action is None else draft.list_of(action.names, "controlled")
    draft.stages.append(
        Entry(
            {
                "name": "action",
                "operation": "network",
                **({"size": robot.action_width} if names is None else {"names": names}),
            }
        )
    )
    if action is None or names is None:
        return
    end = _target(robot, action, names)
    if robot.motors is not None and robot.motors != action.names:
        end = draft.compute(
            "motor_q", "select", end, "targets in the order of the motors", take=draft.list_of(robot.motors, "motors")
        )
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
    end = "target" if action.clip is None else "target_unclipped"
    draft.compute(end, "affine", "action", *action.notes, scale=scale, offset=offset, unit="rad")
    if action.clip is not None:
        draft.compute("target", "clip", end, "behind scale and offset", lowest=action.clip[0], highest=action.clip[1])
    return "target"


def _gains(robot: Robot, gains: Gains, of: str) -> None:
    draft = robot.draft
    names = None if gains.names is None else draft.list_of(gains.names, robot.measured_name)
    for stage, name, value in (("kp", "stiffness", gains.stiffness), ("kd", "damping", gains.damping)):
        draft.numbers[name] = Entry({"": list(value) if names is None else {"names": names, "value": list(value)}})
        draft.compute(stage, "constant", of, *(gains.notes if stage == "kp" else ()), value=name)
