"""A robot's policy as several stacks describe it: terms of an observation, a network, an action that becomes a target.

The formats translate to a `Robot`; `robot_to_draft` makes the declaration of it. What a format does not say stays None, and its
key is left out. To add a term: a function of (robot, term, steps), and its name in `_FUNCTIONS`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rigpact.contract.errors import UnusableInput, near
from rigpact.reports.importing.draft import Draft, Entry

Numbers = float | list[float]
Range = tuple[Any, Any]


@dataclass(frozen=True)
class Term:
    """One term of the observation: function(sensors), then clip, scale, history.

    width: numbers of one frame, where the file says it. joints: the joints that it takes, in order. offsets: what is taken off.
    period: seconds of a phase.
    """

    name: str
    function: str
    place: str
    width: int | None = None
    joints: tuple[str, ...] | None = None
    offsets: Numbers | None = None
    clip: Range | None = None
    scale: Numbers | None = None
    history: int = 1
    notes: tuple[str, ...] = ()
    period: float | None = None


@dataclass(frozen=True)
class Group:
    """Terms that make one input of the network, and what is known of their history. clip: of a whole frame, before it is kept."""

    name: str
    terms: tuple[Term, ...]
    layout: str = "term_major"
    scale_first: bool = False
    order: str = "oldest_first"
    start: str = "first"
    clip: Range | None = None


@dataclass(frozen=True)
class Action:
    """What becomes of the network's answer.

    clip: of the target. answer_clip: of the answer itself, before it is kept for the next step. wheels: joints that are driven by
    velocity, and their factors.
    """

    names: tuple[str, ...]
    scale: Numbers | None
    offset: Numbers | None
    clip: Range | None
    notes: tuple[str, ...] = ()
    answer_clip: Range | None = None
    wheels: Mapping[str, float] = field(default_factory=dict)

    @property
    def kept(self) -> str:
        """The vector that the next observation sees."""
        return "action" if self.answer_clip is None else "action_clipped"


@dataclass(frozen=True)
class Gains:
    """Gains of the motors. names: whose they are, where the file says it."""

    stiffness: Sequence[float]
    damping: Sequence[float]
    names: tuple[str, ...] | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sensors:
    """Under which name the given vectors stand in a stack's own runtime."""

    gyro: str = "gyro"
    velocity: str = "base_lin_vel"
    quaternion: str = "imu_quat"
    position: str = "q"
    speed: str = "dq"
    turn_space: str | None = None
    turn_comment: str = ""


@dataclass(eq=False)
class Robot:
    """A policy. measured: the joints in the order in which their positions arrive; motors: in which targets leave, if it is said.

    sticks: the lowest and highest command, where the runtime makes it of a stick; stick_scale: the command of a whole stick.
    convention: whose word the history is. action_width: of an answer that is not a target. pose_names: else the measured ones.
    """

    draft: Draft
    sensors: Sensors
    measured: tuple[str, ...]
    groups: Sequence[Group]
    action: Action | None
    measured_name: str = "joints"
    action_width: int | None = None
    convention: str = "IsaacLab keeps them (term by term, oldest first, filled with the first value)"
    motors: tuple[str, ...] | None = None
    default_pose: Sequence[float] | None = None
    pose_names: tuple[str, ...] = ()
    sticks: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    stick_scale: Sequence[float] = ()
    gains: Gains | None = None
    model: Entry | None = None

    def __post_init__(self) -> None:
        self.pose_names = self.pose_names or self.measured


_VELOCITY_AXES = ("lin_vel_x", "lin_vel_y", "ang_vel_z")
Steps = list[tuple[str, dict[str, Any]]]


def _add_term(robot: Robot, term: Term, group: Group) -> str:
    """The stages of a term; returns the name of its last vector."""
    steps: Steps = []
    if term.clip is not None:
        steps.append(("clip", {"lowest": term.clip[0], "highest": term.clip[1]}))
    if term.scale is not None and term.scale != 1.0:
        scale = ("affine", {"scale": term.scale})
        steps = [scale, *steps] if group.scale_first else [*steps, scale]
    return _FUNCTIONS.get(term.function, _unknown)(robot, term, steps)


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
    return robot.draft.free_name(f"{name}_raw") if steps and name == term.name else name


def _measured(robot: Robot, term: Term, steps: Steps) -> str:
    """A vector of a sensor: in whose axes stays open where the file does not say it, as a turn if there is what turns it."""
    sensors, terms = robot.sensors, [each.function for group in robot.groups for each in group.terms]
    sensor, fields = sensors.velocity, {"size": 3, "unit": "m/s"}
    if term.function == "base_ang_vel":
        sensor, fields = sensors.gyro, {"kind": "angular_rate", "unit": "rad/s"}
    is_turned = bool(sensors.turn_comment) and "projected_gravity" in terms
    is_open = ["space"] if sensors.turn_comment and not is_turned else None
    comments = (sensors.turn_comment,) if sensors.turn_comment else ()
    said = {**fields, "space": sensors.turn_space, "left_open": is_open}
    name = robot.draft.give(_given_name(robot, term, sensor, steps), *comments, **said)
    if is_turned:
        of, kept = [_quaternion(robot), name], {"direction": "none", "left_open": ["direction"]}
        wish = f"{term.name}_turned" if steps else term.name
        name = robot.draft.compute(robot.draft.free_name(wish), "rotate", of, *_PERHAPS_TURNED, **kept)
    return _chain(robot, term, name, steps, term.notes)


_PERHAPS_TURNED = (
    "none, as the runtime has it: the sensor's axes are those of the robot's body. inverse: it gives the vector",
    "in the world's axes",
)


def _gravity(robot: Robot, term: Term, steps: Steps) -> str:
    turned = {"vector": [0, 0, -1], "direction": "inverse"}
    notes = ("gravity in the robot's frame: a unit vector, not 9.81", *term.notes)
    return _chain(robot, term, _quaternion(robot), [("rotate", turned), *steps], notes)


def _quaternion(robot: Robot) -> str:
    said = "Find out which component the sensor gives first"
    comment = f'LEFT OPEN: kind = "quaternion_wxyz" or "quaternion_xyzw". {said}'
    return robot.draft.give(robot.sensors.quaternion, comment, size=4)


def _joints(robot: Robot, term: Term, steps: Steps) -> str:
    draft, is_relative = robot.draft, term.function == "joint_pos_rel"
    is_speed = term.function.startswith("joint_vel")
    sensor, unit = (robot.sensors.speed, "rad/s") if is_speed else (robot.sensors.position, "rad")
    wanted = term.joints if term.joints is not None else robot.pose_names
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
    if not robot.sticks and not robot.stick_scale:
        return _unknown(robot, term, steps)
    draft = robot.draft
    kept = "keeps the command within its ranges" if robot.sticks else "scales the command"
    said = f"the gamepad: the runtime turns the two side axes round and {kept}"
    draft.give("sticks", said, names=["ly", "lx", "rx"], low=-1, high=1)
    axes = draft.list_of(_VELOCITY_AXES, "velocities")
    if robot.stick_scale:
        most = [sign * scale for sign, scale in zip((1, -1, -1), robot.stick_scale, strict=True)]
        return _chain(robot, term, "sticks", [("affine", {"scale": most, "names": axes}), *steps], term.notes)
    turned = draft.compute("stick_velocities", "affine", "sticks", scale=[1, -1, -1], names=axes)
    low, high = ([robot.sticks[axis][end] for axis in _VELOCITY_AXES] for end in (0, 1))
    clipped: Steps = [("clip", {"lowest": low, "highest": high}), *steps]
    return _chain(robot, term, turned, clipped, term.notes)


def _last_action(robot: Robot, term: Term, steps: Steps) -> str:
    name = robot.draft.free_name("previous_action" if steps else term.name)
    kept = "action" if robot.action is None else robot.action.kept
    is_scaled = robot.action is not None and (robot.action.scale, robot.action.offset) != (None, None)
    clipped = "" if kept == "action" else "clipped, "
    said = f"the network's own answer of the step before, {clipped}before scale and offset; zeros at the start"
    wrong = ["target"] if is_scaled else None
    robot.draft.give(name, said, **_numbers_of_answer(robot), carried=kept, start="zeros", wrong=wrong)
    return _chain(robot, term, name, steps, term.notes)


def _numbers_of_answer(robot: Robot) -> dict[str, Any]:
    if robot.action is None:
        return {"size": robot.action_width}
    return {"names": robot.draft.list_of(robot.action.names, "controlled")}


def _phase(robot: Robot, term: Term, steps: Steps) -> str:
    """A clock that counts the policy's steps; raised before it is used, as the runtimes have it."""
    if term.period is None:
        return _unknown(robot, term, steps)
    name = robot.draft.free_name(_given_name(robot, term, term.name, steps))
    clock = robot.draft.compute(name, "phase_clock", None, *term.notes, period=term.period, first=1)
    return _chain(robot, term, clock, steps)


def _unknown(robot: Robot, term: Term, steps: Steps, missing: str = "") -> str:
    if term.width is None:
        found = f"the term {term.function} without a width"
        expected = "a scale or a shape for each number, or a known term"
        hint = near(term.function, _FUNCTIONS) or "with --onnx, one term's width follows from the network's input"
        raise UnusableInput(term.place, found, expected, hint)
    why = missing or ("" if term.function in COMMANDS else f"{term.function}: its computation is not in the file")
    said = f"LEFT OPEN: {why}. Write the stages that compute it" if why else "the command as the network takes it"
    name, is_open = robot.draft.free_name(_given_name(robot, term, term.name, steps)), ["operation"] if why else None
    return _chain(robot, term, robot.draft.give(name, said, size=term.width, left_open=is_open), steps, term.notes)


COMMANDS = ("velocity_commands", "command", "commands", "generated_commands", "keyboard_velocity_commands")
_FUNCTIONS: Mapping[str, Callable[[Robot, Term, Steps], str]] = {
    "base_ang_vel": _measured, "base_lin_vel": _measured, "projected_gravity": _gravity,
    "joint_pos_rel": _joints, "joint_pos": _joints, "joint_vel_rel": _joints, "joint_vel": _joints,
    "velocity_commands": _command, "stick_command": _command, "last_action": _last_action,
    "phase_sin_cos": _phase,
}  # fmt: skip


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


def _observation(robot: Robot, group: Group) -> None:
    """The terms one after the other, then their history or their concatenation."""
    draft, lengths = robot.draft, {term.history for term in group.terms}
    ends = [_add_term(robot, term, group) for term in group.terms]
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


def _clipped_frame(robot: Robot, group: Group, ends: list[str]) -> list[str]:
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
    draft.compute("action", "network", None, **_numbers_of_answer(robot))
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
