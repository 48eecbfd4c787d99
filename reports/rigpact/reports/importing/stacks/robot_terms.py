"""The terms of an observation as several stacks name them: from a sensor through its operations to one vector.

To add a term: a function of (robot, term, steps), and its name in `_FUNCTIONS`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rigpact.contract.declared.problems import near
from rigpact.contract.errors import UnusableInput
from rigpact.reports.importing.stacks.robot import Group, Robot, Term

_VELOCITY_AXES = ("lin_vel_x", "lin_vel_y", "ang_vel_z")


def add_term(robot: Robot, term: Term, group: Group) -> str:
    """The stages of a term; returns the name of its last vector."""
    steps: list[tuple[str, dict[str, Any]]] = []
    if term.clip is not None:
        steps.append(("clip", {"lowest": term.clip[0], "highest": term.clip[1]}))
    if term.scale is not None and term.scale != 1.0:
        scale = ("affine", {"scale": term.scale})
        steps = [scale, *steps] if group.scale_first else [*steps, scale]
    make = _FUNCTIONS.get(term.function, _unknown)
    return make(robot, term, steps)


Steps = list[tuple[str, dict[str, Any]]]


_STEPS = {"clip": "clipped", "affine": "relative", "rotate": "turned", "select": "taken"}
"""What a vector between two operations of a term is called."""


def _chain(robot: Robot, term: Term, source: str, steps: Steps, comments: Sequence[str] = ()) -> str:
    """Operations one after the other; the last one has the term's name."""
    for place, (operation, table) in enumerate(steps):
        is_last = place == len(steps) - 1
        step = f"{source}_{table['take']}" if operation == "select" else f"{term.name}_{_STEPS[operation]}"
        name = robot.draft.free_name(term.name if is_last else step)
        source = robot.draft.compute(name, operation, source, *(comments if place == 0 else ()), **table)
    return source


def _given_name(robot: Robot, term: Term, name: str, steps: Steps) -> str:
    """The name of a given vector; the term's own name is for what is made of it."""
    return robot.draft.free_name(f"{name}_raw") if steps and name == term.name else name


def _gyro(robot: Robot, term: Term, steps: Steps) -> str:
    sensors = robot.sensors
    comments = (sensors.turn_comment,) if sensors.turn_comment else ()
    name = robot.draft.give(
        _given_name(robot, term, sensors.gyro, steps), *comments, kind="angular_rate", unit="rad/s", space=sensors.turn_space
    )  # fmt: skip
    if sensors.turn_comment and any(each.function == "projected_gravity" for each in robot.terms):
        name = _perhaps_turned(robot, name, term.name if not steps else f"{term.name}_turned")
    return _chain(robot, term, name, steps, term.notes)


def _perhaps_turned(robot: Robot, source: str, wish: str) -> str:
    """A vector of a sensor of which the file does not say whether it stands in the body's axes or in the world's."""
    comments = (
        "none, as the runtime has it: the sensor's axes are those of the robot's body. inverse: it gives the vector",
        "in the world's axes",
    )
    of, kept = [_quaternion(robot), source], {"direction": "none", "left_open": ["direction"]}
    return robot.draft.compute(robot.draft.free_name(wish), "rotate", of, *comments, **kept)


def _linear(robot: Robot, term: Term, steps: Steps) -> str:
    name = _given_name(robot, term, robot.sensors.velocity, steps)
    robot.draft.give(name, size=3, unit="m/s", space=robot.sensors.turn_space)
    return _chain(robot, term, name, steps, term.notes)


def _gravity(robot: Robot, term: Term, steps: Steps) -> str:
    turned = {"vector": [0, 0, -1], "direction": "inverse"}
    notes = ("gravity in the robot's frame: a unit vector, not 9.81", *term.notes)
    return _chain(robot, term, _quaternion(robot), [("rotate", turned), *steps], notes)


def _quaternion(robot: Robot) -> str:
    return robot.draft.give(
        robot.sensors.quaternion,
        'LEFT OPEN: kind = "quaternion_wxyz" or "quaternion_xyzw". Find out which component the sensor gives first',
        size=4,
    )


def _position(robot: Robot, term: Term, steps: Steps) -> str:
    return _joints(robot, term, steps, robot.sensors.position, "rad", is_relative=True)


def _absolute(robot: Robot, term: Term, steps: Steps) -> str:
    return _joints(robot, term, steps, robot.sensors.position, "rad", is_relative=False)


def _speed(robot: Robot, term: Term, steps: Steps) -> str:
    return _joints(robot, term, steps, robot.sensors.speed, "rad/s", is_relative=False)


def _joints(robot: Robot, term: Term, steps: Steps, sensor: str, unit: str, *, is_relative: bool) -> str:
    draft = robot.draft
    wanted = term.joints if term.joints is not None else robot.pose_names or robot.measured
    if term.width is not None and term.width != len(wanted):
        missing = f"the term has {term.width} numbers and the robot {len(wanted)} joints: which ones is not in the file"
        return _unknown(robot, term, steps, missing)
    measured = draft.list_of(robot.measured, robot.measured_name)
    # a sensor that has a term's own name would take the name of what is made of it
    changed = bool(steps) or is_relative or wanted != robot.measured
    source = draft.give(f"{sensor}_raw" if changed and sensor == term.name else sensor, names=measured, unit=unit)
    before: Steps = []
    if wanted != robot.measured:
        before.append(("select", {"take": draft.list_of(wanted, "controlled")}))
    taken_off = _taken_off(robot, term, wanted, is_relative=is_relative)
    if taken_off is not None:
        before.append(("affine", {"subtract": taken_off}))
    return _chain(robot, term, source, [*before, *steps], term.notes)


def _taken_off(robot: Robot, term: Term, wanted: tuple[str, ...], *, is_relative: bool) -> Any:
    """What a term of joints subtracts: its own numbers, else the default pose; None where that is nothing."""
    if isinstance(term.offsets, list) and any(term.offsets):
        if list(robot.default_pose or ()) == term.offsets and robot.pose_names == wanted:
            return "default_pose"
        return robot.draft.number_of(f"{term.name}_offsets", term.offsets, robot.draft.list_of(wanted, "controlled"))
    if term.offsets is not None:
        return None if isinstance(term.offsets, list) or not term.offsets else term.offsets
    return "default_pose" if is_relative and robot.default_pose is not None else None


def _command(robot: Robot, term: Term, steps: Steps) -> str:
    if not robot.sticks:
        return _unknown(robot, term, steps)
    draft = robot.draft
    draft.give(
        "sticks", "the gamepad: the runtime turns the two side axes round and keeps the command within its ranges",
        names=["ly", "lx", "rx"], low=-1, high=1,
    )  # fmt: skip
    axes = draft.list_of(_VELOCITY_AXES, "velocities")
    turned = draft.compute("stick_velocities", "affine", "sticks", scale=[1, -1, -1], names=axes)
    low, high = ([robot.sticks[axis][end] for axis in _VELOCITY_AXES] for end in (0, 1))
    clipped: Steps = [("clip", {"lowest": low, "highest": high}), *steps]
    return _chain(robot, term, turned, clipped, term.notes)


def _last_action(robot: Robot, term: Term, steps: Steps) -> str:
    name = robot.draft.free_name("previous_action" if steps else term.name)
    width = robot.action_width if robot.action is None else None
    names = None if robot.action is None else robot.draft.list_of(robot.action.names, "controlled")
    is_scaled = robot.action is not None and (robot.action.scale, robot.action.offset) != (None, None)
    robot.draft.give(
        name, "the network's own answer of the step before, before scale and offset; zeros at the start",
        size=width, names=names, carried="action", start="zeros", wrong=["target"] if is_scaled else None,
    )  # fmt: skip
    return _chain(robot, term, name, steps, term.notes)


def _unknown(robot: Robot, term: Term, steps: Steps, missing: str = "") -> str:
    if term.width is None:
        raise UnusableInput(
            term.place, f"the term {term.function} without a width", "a scale or a shape for each number, or a known term",
            near(term.function, _FUNCTIONS) or "with --onnx, one term's width follows from the network's input",
        )  # fmt: skip
    why = missing or ("" if term.function in COMMANDS else f"{term.function}: what it computes is not in the file")
    robot.draft.give(
        name := robot.draft.free_name(_given_name(robot, term, term.name, steps)),
        *([f"LEFT OPEN: {why}. Write the stages that compute it"] if why else ["the command as the network takes it"]),
        size=term.width,
    )
    return _chain(robot, term, name, steps, term.notes)


COMMANDS = ("velocity_commands", "command", "commands", "generated_commands", "keyboard_velocity_commands")
_FUNCTIONS: Mapping[str, Callable[[Robot, Term, Steps], str]] = {
    "base_ang_vel": _gyro, "base_lin_vel": _linear, "projected_gravity": _gravity,
    "joint_pos_rel": _position, "joint_pos": _absolute, "joint_vel_rel": _speed, "joint_vel": _speed,
    "velocity_commands": _command, "last_action": _last_action,
}  # fmt: skip
