"""A robot's policy as several stacks describe it: terms of an observation, a network, an action that becomes a target.

The formats translate to a `Robot`; robot_draft.py makes the declaration of it. What a format does not say stays None, and its
key is left out. To add a term: a function of (robot, term, steps), and its name in `_FUNCTIONS`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rigpact.contract.errors import UnusableInput, near
from rigpact.reports.importing.draft import Draft, Entry

Numbers = float | list[float]
Range = tuple[Any, Any]


@dataclass(frozen=True)
class Term:
    """One term of the observation: function(sensors), then clip, scale, history.

    width: numbers of one frame, where the file says it. joints: the joints that it takes, in order. offsets: what is taken off.
    period: seconds of a phase; first: of the steps that the first frame sees.
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
    first: int = 1


@dataclass(frozen=True)
class TermGroup:
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
    groups: Sequence[TermGroup]
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


def add_term(robot: Robot, term: Term, group: TermGroup) -> str:
    """The stages of a term; returns the name of its last vector."""
    steps: Steps = []
    if term.clip is not None:
        steps.append(("clip", {"lowest": term.clip[0], "highest": term.clip[1]}))
    if term.scale is not None and term.scale != 1.0:
        scale = ("affine", {"scale": term.scale})
        steps = [scale, *steps] if group.scale_first else [*steps, scale]
    return _FUNCTIONS.get(term.function, _unknown)(robot, term, steps)


_STEPS = {
    "clip": "clipped", "affine": "relative", "rotate": "turned", "select": "taken", "compose": "turn", "convert": "six",
    "relative": "seen", "concatenate": "joined",
}  # fmt: skip
"""What a vector between two operations of a term is called."""


def _chain(robot: Robot, term: Term, source: str | Sequence[str], steps: Steps, comments: Sequence[str] = ()) -> str:
    """Operations one after the other, the first of one or several vectors; the last one has the term's name."""
    for place, (operation, table) in enumerate(steps):
        is_last = place == len(steps) - 1
        step = f"{source}_{table['take']}" if operation == "select" else f"{term.name}_{_STEPS[operation]}"
        name = robot.draft.free_name(term.name if is_last else step)
        source = robot.draft.compute(name, operation, source, *(comments if place == 0 else ()), **table)
    return str(source)


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
    robot.draft.give(name, said, **numbers_of_answer(robot), carried=kept, start="zeros", wrong=wrong)
    return _chain(robot, term, name, steps, term.notes)


def numbers_of_answer(robot: Robot) -> dict[str, Any]:
    """Names or the size of what the network gives."""
    if robot.action is None:
        return {"size": robot.action_width}
    return {"names": robot.draft.list_of(robot.action.names, "controlled")}


def _phase(robot: Robot, term: Term, steps: Steps) -> str:
    """A clock that counts the policy's steps; raised before it is used, as the runtimes have it."""
    if term.period is None:
        return _unknown(robot, term, steps)
    name = robot.draft.free_name(_given_name(robot, term, term.name, steps))
    clock = robot.draft.compute(name, "phase_clock", None, *term.notes, period=term.period, first=term.first)
    return _chain(robot, term, clock, steps)


_INTO: Steps = [("relative", {"direction": "into_frame"})]
_SIX: Steps = [
    ("compose", {"product": "inverse_of_first"}),
    ("convert", {"to": "rot6d", "writes": "interleaved"}),
]
TRACKING: Mapping[str, tuple[int | None, Sequence[str], Steps]] = {
    "motion_command": (None, ("motion_joint_pos", "motion_joint_vel"), [("concatenate", {})]),
    "motion_anchor_pos_b": (3, ("motion_anchor_pos", "robot_anchor_pos", "robot_anchor_quat"), _INTO),
    "motion_anchor_ori_b": (6, ("robot_anchor_quat", "motion_anchor_quat"), _SIX),
    "robot_body_pos_b": (None, ("robot_body_pos", "robot_anchor_pos", "robot_anchor_quat"), _INTO),
    "robot_body_ori_b": (None, ("robot_anchor_quat", "robot_body_quat"), _SIX),
}
"""Terms of a policy that tracks a motion (whole_body_tracking, mjlab, their runtimes): width, vectors, what is made of them."""
OF_MOTION = tuple(dict.fromkeys(name for _, vectors, _ in TRACKING.values() for name in vectors))
_WAIST = ("waist_yaw", "waist_roll", "waist_pitch")


def _tracking(robot: Robot, term: Term, steps: Steps) -> str:
    _, vectors, own = TRACKING[term.function]
    if "body" in term.function and term.width is None:
        return _unknown(robot, term, steps)
    bodies = (term.width or 0) // (6 if "ori" in term.function else 3)
    return _chain(robot, term, [_of_motion(robot, each, bodies) for each in vectors], [*own, *steps], term.notes)


def _of_motion(robot: Robot, name: str, bodies: int) -> str:
    """A vector of the reference motion or of the robot's bodies, given; on a robot what its runtime makes of its sensors."""
    draft, is_runtime = robot.draft, bool(robot.sensors.turn_comment)
    if "joint" in name:
        unit = "rad/s" if name.endswith("vel") else "rad"
        said = "of the reference motion, in the policy's order"
        return draft.give(name, said, names=draft.list_of(robot.pose_names, "joints"), unit=unit)
    count = bodies if "body" in name else 1
    if not name.endswith("quat"):
        return draft.give(name, "in the world", size=3 * count, unit="m")
    kind, size = "quaternion_wxyz", None if count == 1 else 4 * count
    if name == "robot_anchor_quat" and is_runtime:
        return _torso(robot, name, kind)
    draft.give(name, "in the world; wxyz, as Isaac Lab 2, mjlab and their motion files have it", kind=kind, size=size)
    if name == "motion_anchor_quat" and is_runtime:
        heading = "about z, from the reference's heading at the start to the robot's: the runtime keeps it"
        draft.give("heading_turn", heading, kind=kind)
        return _once(robot, "motion_anchor", "compose", ["heading_turn", name], product="first_second")
    return name


def _torso(robot: Robot, name: str, kind: str) -> str:
    """The turn of a robot's torso: of the pelvis, which has the sensor, then of the waist."""
    waist = [next((joint for joint in robot.measured if part in joint), "") for part in _WAIST]
    if not all(waist):
        said = (
            "LEFT OPEN: of the body that the policy was trained with: often the pelvis, then waist yaw, roll and pitch"
        )
        return robot.draft.give(name, said, kind=kind, left_open=["operation"])
    measured = robot.draft.list_of(robot.measured, robot.measured_name)
    positions = robot.draft.give(robot.sensors.position, names=measured, unit="rad")
    _once(robot, "waist", "select", positions, take=waist, kind="euler_xyz")
    _once(robot, "waist_turn", "convert", "waist", to=kind, reads="ZXY_rad")
    return _once(robot, "torso_quat", "compose", [_quaternion(robot), "waist_turn"], product="first_second")


def _once(robot: Robot, name: str, operation: str, of: str | Sequence[str], **table: Any) -> str:
    if any(entry.table["name"] == name for entry in robot.draft.stages):
        return name
    return robot.draft.compute(name, operation, of, **table)


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
    "phase_sin_cos": _phase, **dict.fromkeys(TRACKING, _tracking),
}  # fmt: skip
