"""The declaration of a robot's policy: its terms, their history, the network, the target and its gains.

To add a term: a function of (robot, term), and its name in `_FUNCTIONS`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rigpact.contract.errors import UnusableInput, near
from rigpact.reports.importing.draft import Draft, Entry
from rigpact.reports.importing.robot import COMMANDS, TRACKING, Action, Gains, Robot, Steps, Term, TermGroup

_VELOCITY_AXES = ("lin_vel_x", "lin_vel_y", "ang_vel_z")
Made = tuple[str | Sequence[str], Steps, Sequence[str]]
"""Of what a term is made, by which operations before its own clip and scale, and the comments above the first of them."""
_STEPS = {
    "clip": "clipped", "affine": "relative", "rotate": "turned", "select": "taken", "compose": "turn", "convert": "six",
    "relative": "seen", "concatenate": "joined",
}  # fmt: skip
"""What a vector between two operations of a term is called."""


def _term_stages(robot: Robot, term: Term, group: TermGroup) -> str:
    own: Steps = [] if term.clip is None else [("clip", {"lowest": term.clip[0], "highest": term.clip[1]})]
    if term.is_scaled:
        own.insert(0 if group.scale_first else len(own), ("affine", {"scale": term.scale}))
    source, before, comments = _FUNCTIONS.get(term.function, _unknown)(robot, term)
    steps = [*before, *own]
    for place, (operation, table) in enumerate(steps):
        step = f"{source}_{table['take']}" if operation == "select" else f"{term.name}_{_STEPS[operation]}"
        name = robot.draft.free_name(term.name if place == len(steps) - 1 else step)
        source = robot.draft.compute(name, operation, source, *(comments if place == 0 else ()), **table)
    return str(source)


def _given_name(robot: Robot, term: Term, name: str) -> str:
    return robot.draft.free_name(f"{name}_raw") if term.is_changed and name == term.name else name


def _measured(robot: Robot, term: Term) -> Made:
    """A vector of a sensor: in whose axes stays open where the file does not say it, as a turn if there is what turns it."""
    sensors, terms = robot.sensors, [each.function for group in robot.groups for each in group.terms]
    sensor, fields = sensors.velocity, {"size": 3, "unit": "m/s"}
    if term.function == "base_ang_vel":
        sensor, fields = sensors.gyro, {"kind": "angular_rate", "unit": "rad/s"}
    is_turned = bool(sensors.turn_comment) and "projected_gravity" in terms
    is_open = ["space"] if sensors.turn_comment and not is_turned else None
    comments = (sensors.turn_comment,) if sensors.turn_comment else ()
    said = {**fields, "space": sensors.turn_space, "left_open": is_open}
    name = robot.draft.give(_given_name(robot, term, sensor), *comments, **said)
    if is_turned:
        of, kept = [robot.quaternion(), name], {"direction": "none", "left_open": ["direction"]}
        wish = f"{term.name}_turned" if term.is_changed else term.name
        name = robot.draft.compute(robot.draft.free_name(wish), "rotate", of, *_PERHAPS_TURNED, **kept)
    return name, [], term.notes


_PERHAPS_TURNED = (
    "none, as the runtime has it: the sensor's axes are those of the robot's body. inverse: it gives the vector",
    "in the world's axes",
)


def _gravity(robot: Robot, term: Term) -> Made:
    turned: Steps = [("rotate", {"vector": [0, 0, -1], "direction": "inverse"})]
    return robot.quaternion(), turned, ("gravity in the robot's frame: a unit vector, not 9.81", *term.notes)


def _joints(robot: Robot, term: Term) -> Made:
    draft, is_relative = robot.draft, term.function == "joint_pos_rel"
    is_speed = term.function.startswith("joint_vel")
    sensor, unit = (robot.sensors.speed, "rad/s") if is_speed else (robot.sensors.position, "rad")
    wanted = term.joints if term.joints is not None else robot.pose_names
    if term.width is not None and term.width != len(wanted):
        missing = f"the term has {term.width} numbers and the robot {len(wanted)} joints: which ones is not in the file"
        return _unknown(robot, term, missing)
    measured = robot.measured_list()
    # a sensor that has a term's own name would take the name of what is made of it
    changed = term.is_changed or is_relative or wanted != robot.measured
    source = draft.give(f"{sensor}_raw" if changed and sensor == term.name else sensor, names=measured, unit=unit)
    before: Steps = []
    if wanted != robot.measured:
        before.append(("select", {"take": draft.list_of(wanted, "controlled")}))
    taken_off: Any = "default_pose" if is_relative and robot.default_pose is not None else None
    if isinstance(term.offsets, list) and any(term.offsets):
        taken_off = "default_pose"
        if not robot.is_pose(term.offsets, wanted):
            order = draft.list_of(wanted, "controlled")
            taken_off = draft.number_of(f"{term.name}_offsets", term.offsets, order)
    elif term.offsets is not None:
        taken_off = None if isinstance(term.offsets, list) or not term.offsets else term.offsets
    if taken_off is not None:
        before.append(("affine", {"subtract": taken_off}))
    return source, before, term.notes


def _command(robot: Robot, term: Term) -> Made:
    if not robot.sticks and not robot.stick_scale:
        return _unknown(robot, term)
    draft = robot.draft
    kept = "keeps the command within its ranges" if robot.sticks else "scales the command"
    said = f"the gamepad: the runtime turns the two side axes round and {kept}"
    draft.give("sticks", said, names=["ly", "lx", "rx"], low=-1, high=1)
    axes = draft.list_of(_VELOCITY_AXES, "velocities")
    if robot.stick_scale:
        most = [sign * scale for sign, scale in zip((1, -1, -1), robot.stick_scale, strict=True)]
        return "sticks", [("affine", {"scale": most, "names": axes})], term.notes
    turned = draft.compute("stick_velocities", "affine", "sticks", scale=[1, -1, -1], names=axes)
    low, high = ([robot.sticks[axis][end] for axis in _VELOCITY_AXES] for end in (0, 1))
    return turned, [("clip", {"lowest": low, "highest": high})], term.notes


def _last_action(robot: Robot, term: Term) -> Made:
    name = robot.draft.free_name("previous_action" if term.is_changed else term.name)
    kept = "action" if robot.action is None else robot.action.kept
    is_scaled = robot.action is not None and (robot.action.scale, robot.action.offset) != (None, None)
    clipped = "" if kept == "action" else "clipped, "
    said = f"the network's own answer of the step before, {clipped}before scale and offset; zeros at the start"
    wrong = ["target"] if is_scaled else None
    robot.draft.give(name, said, **robot.answer_fields(), carried=kept, start="zeros", wrong=wrong)
    return name, [], term.notes


def _phase(robot: Robot, term: Term) -> Made:
    """A clock that counts the policy's steps; raised before it is used, as the runtimes have it."""
    if term.period is None:
        return _unknown(robot, term)
    name = robot.draft.free_name(_given_name(robot, term, term.name))
    clock = robot.draft.compute(name, "phase_clock", None, *term.notes, period=term.period, first=term.first)
    return clock, [], ()


_WAIST = ("waist_yaw", "waist_roll", "waist_pitch")


def _tracking(robot: Robot, term: Term) -> Made:
    _, vectors, own = TRACKING[term.function]
    if "body" in term.function and term.width is None:
        return _unknown(robot, term)
    bodies = (term.width or 0) // (6 if "ori" in term.function else 3)
    return [_of_motion(robot, each, bodies) for each in vectors], own, term.notes


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
    waist = [next((joint for joint in robot.measured if part in joint), "") for part in _WAIST]
    if not all(waist):
        said = (
            "LEFT OPEN: of the body that the policy was trained with: often the pelvis, then waist yaw, roll and pitch"
        )
        return robot.draft.give(name, said, kind=kind, left_open=["operation"])
    positions = robot.draft.give(robot.sensors.position, names=robot.measured_list(), unit="rad")
    _once(robot, "waist", "select", positions, take=waist, kind="euler_xyz")
    _once(robot, "waist_turn", "convert", "waist", to=kind, reads="ZXY_rad")
    return _once(robot, "torso_quat", "compose", [robot.quaternion(), "waist_turn"], product="first_second")


def _once(robot: Robot, name: str, operation: str, of: str | Sequence[str], **table: Any) -> str:
    is_there = any(entry.table["name"] == name for entry in robot.draft.stages)
    return name if is_there else robot.draft.compute(name, operation, of, **table)


def _unknown(robot: Robot, term: Term, missing: str = "") -> Made:
    if term.width is None:
        found = f"the term {term.function} without a width"
        expected = "a scale or a shape for each number, or a known term"
        hint = near(term.function, _FUNCTIONS) or "with --onnx, one term's width follows from the network's input"
        raise UnusableInput(term.place, found, expected, hint)
    why = missing or ("" if term.function in COMMANDS else f"{term.function}: its computation is not in the file")
    said = f"LEFT OPEN: {why}. Write the stages that compute it" if why else "the command as the network takes it"
    name = robot.draft.free_name(_given_name(robot, term, term.name))
    return robot.draft.give(name, said, size=term.width, left_open=["operation"] if why else None), [], term.notes


_FUNCTIONS: Mapping[str, Callable[[Robot, Term], Made]] = {
    "base_ang_vel": _measured, "base_lin_vel": _measured, "projected_gravity": _gravity,
    "joint_pos_rel": _joints, "joint_pos": _joints, "joint_vel_rel": _joints, "joint_vel": _joints,
    "velocity_commands": _command, "stick_command": _command, "last_action": _last_action,
    "phase_sin_cos": _phase, **dict.fromkeys(TRACKING, _tracking),
}  # fmt: skip


def robot_to_draft(robot: Robot) -> Draft:
    """The declaration of a policy: its terms, their history, the network, the target and its gains."""
    draft = robot.draft
    if robot.default_pose is not None:
        names = draft.list_of(robot.pose_names, "joints")
        draft.numbers["default_pose"] = {"names": names, "value": list(robot.default_pose)}
    for group in robot.groups:
        _observation(robot, group)
    draft.compute("action", "network", None, **robot.answer_fields())
    if robot.action is not None:
        end = _target(robot, robot.action)
        if robot.gains is not None:
            _gains(robot, robot.gains, end)
    file, inputs = robot.model or Entry({}), [group.name for group in robot.groups]
    draft.networks["policy"] = Entry({**file.table, "inputs": inputs, "outputs": ["action"]}, file.comments)
    if not any("default_pose" in entry.table.values() for entry in draft.stages):
        draft.numbers.pop("default_pose", None)  # of the whole robot, where every term has offsets of its own
    return draft


def _observation(robot: Robot, group: TermGroup) -> None:
    draft, lengths = robot.draft, {term.history for term in group.terms}
    ends = [_term_stages(robot, term, group) for term in group.terms]
    if group.clip is not None:
        ends = _clipped_frame(robot, group, ends)
    known = f"layout, order and start as {robot.convention}"
    how = {"layout": group.layout, "order": group.order, "start": group.start}
    if len(lengths) == 1 and lengths != {1}:
        draft.compute(group.name, "history", ends, known, length=lengths.pop(), **how)
        return
    for place, term in enumerate(group.terms):
        if term.history > 1:
            name = draft.free_name(f"{term.name}_history")
            ends[place] = draft.compute(name, "history", [ends[place]], known, length=term.history, **how)
    if ends != [group.name]:
        draft.compute(group.name, "concatenate", ends)


def _clipped_frame(robot: Robot, group: TermGroup, ends: list[str]) -> list[str]:
    """The vectors of a frame that is clipped as a whole; where its terms are kept apart, each is."""
    draft, is_kept = robot.draft, any(term.history > 1 for term in group.terms)
    ranges = {"lowest": group.clip[0], "highest": group.clip[1]} if group.clip else {}
    if is_kept and group.layout == "term_major":
        return [draft.compute(draft.free_name(f"{end}_clipped"), "clip", end, **ranges) for end in ends]
    whole = draft.compute(draft.free_name(f"{group.name}_unclipped"), "concatenate", ends)
    return [draft.compute(draft.free_name(f"{group.name}_frame") if is_kept else group.name, "clip", whole, **ranges)]


def _target(robot: Robot, action: Action) -> str:
    """What becomes of the answer; returns the vector that leaves, in the order of the motors where it is known."""
    draft, names = robot.draft, robot.draft.list_of(action.names, "controlled")
    offset: Any = action.offset
    if isinstance(offset, list):
        is_pose = robot.is_pose(offset, action.names)
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
    if robot.motors is None or robot.motors == action.names:
        return "target"
    motors = draft.list_of(robot.motors, "motors")
    return draft.compute("motor_q", "select", "target", "targets in the order of the motors", take=motors)


def _gains(robot: Robot, gains: Gains, of: str) -> None:
    draft = robot.draft
    names = None if gains.names is None else draft.list_of(gains.names, robot.measured_name)
    for stage, name, value in (("kp", "stiffness", gains.stiffness), ("kd", "damping", gains.damping)):
        draft.numbers[name] = list(value) if names is None else {"names": names, "value": list(value)}
        draft.compute(stage, "constant", of, *(gains.notes if stage == "kp" else ()), value=name)
