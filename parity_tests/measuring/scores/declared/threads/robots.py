"""Threads about robots: order of joints, gains, scales, normalisers, layout of the history. Nothing here imports rigpact."""

from __future__ import annotations

import numpy as np

from .thread import FRAMES, MOTORS, NAMES, POLICY, Array, Rows, Thread, drawn, places, recorded

Random = np.random.Generator
KP = np.array([100.0, 150.0, 40.0, 110.0, 160.0, 50.0])
POSE = np.array([-0.1, -0.2, 0.3, 0.4, -0.25, -0.35])
SCALE = np.array([0.55, 0.35, 0.44, 0.35, 0.5475, 0.07])
BIAS = np.array([0.01, -0.02, 0.015, 0.03, -0.01, 0.02])


def _text(numbers: Array) -> str:
    return str([float(number) for number in numbers])


_TORQUE = """
given = [{ name = "target", names = "motors" }, { name = "q", names = "motors" }]
stages = [
    { name = "error", operation = "blend", of = ["target", "q"], weights = [1, -1] },
    { name = "torque", operation = "affine", of = "error", scale = "kp" },
]
"""
_TARGET = """
given = [{ name = "action", names = "policy" }]
stages = [{ name = "target", operation = "affine", of = "action", scale = 0.25, offset = "pose" }]
"""
_POSE = f'[numbers]\npose = {{ names = "policy", value = {_text(POSE)} }}\n'


def _torque(random: Random, gains: Array) -> Rows:
    target, q = drawn(random, 6), drawn(random, 6)
    return recorded(target=target, q=q, torque=gains * (target.astype(float) - q))


def gains_mapped_twice(random: Random, is_wrong: bool) -> Rows:
    return _torque(random, KP[places(POLICY, MOTORS)] if is_wrong else KP)


def gains_without_the_map(random: Random, is_wrong: bool) -> Rows:
    return _torque(random, KP if is_wrong else KP[places(POLICY, MOTORS)])


def gains_of_one(random: Random, is_wrong: bool) -> Rows:
    return _torque(random, np.ones(6) if is_wrong else KP)


def joints_by_position(random: Random, is_wrong: bool) -> Rows:
    q = drawn(random, 6)
    return recorded(q=q, joint_pos=q if is_wrong else q[:, places(MOTORS, POLICY)])


def joints_of_the_other_export(random: Random, is_wrong: bool) -> Rows:
    q = drawn(random, 6)
    return recorded(q=q, joint_pos=q[:, places(MOTORS, POLICY)] if is_wrong else q)


def motors_through_the_inverse_map(random: Random, is_wrong: bool) -> Rows:
    target = drawn(random, 6)
    order = places(MOTORS, POLICY) if is_wrong else places(POLICY, MOTORS)
    return recorded(target=target, motor_q=target[:, order])


def joints_in_the_robots_order(random: Random, is_wrong: bool) -> Rows:
    q = drawn(random, 6)
    chosen = ("right_knee", "left_knee", "left_hip")
    return recorded(q=q, knees=q[:, sorted(places(MOTORS, chosen)) if is_wrong else places(MOTORS, chosen)])


def _history(random: Random) -> tuple[Array, Array, list[list[Array]], list[list[Array]]]:
    """Two terms, and the last three rows of each at every frame, the oldest first."""
    gyro, q = drawn(random, 3), drawn(random, 6)
    past = [[[rows[max(t - age, 0)] for age in (2, 1, 0)] for t in range(FRAMES)] for rows in (gyro, q)]
    return gyro, q, past[0], past[1]


def frames_side_by_side(random: Random, is_wrong: bool) -> Rows:
    gyro, q, one, other = _history(random)
    if is_wrong:
        obs = [
            np.concatenate([np.concatenate(pair) for pair in zip(*terms, strict=True)])
            for terms in zip(one, other, strict=True)
        ]
    else:
        obs = [np.concatenate([*terms[0], *terms[1]]) for terms in zip(one, other, strict=True)]
    return recorded(gyro=gyro, q=q, obs=np.array(obs))


def newest_frame_first(random: Random, is_wrong: bool) -> Rows:
    gyro, q, one, other = _history(random)
    step = -1 if is_wrong else 1
    obs = [np.concatenate([*terms[0][::step], *terms[1][::step]]) for terms in zip(one, other, strict=True)]
    return recorded(gyro=gyro, q=q, obs=np.array(obs))


def scale_left_to_the_network(random: Random, is_wrong: bool) -> Rows:
    action = drawn(random, 6)
    return recorded(action=action, target=action * (1.0 if is_wrong else 0.25) + POSE)


def offset_left_out(random: Random, is_wrong: bool) -> Rows:
    action = drawn(random, 6)
    return recorded(action=action, target=action * 0.25 + (0.0 if is_wrong else POSE))


def offset_of_the_current_pose(random: Random, is_wrong: bool) -> Rows:
    action, q = drawn(random, 6), drawn(random, 6, 0.4)
    return recorded(action=action, q=q, target=action * 0.25 + (q if is_wrong else POSE))


def scale_of_the_training(random: Random, is_wrong: bool) -> Rows:
    action = drawn(random, 6)
    scale = SCALE.copy()
    if is_wrong:
        scale[1] = 0.5475
    return recorded(action=action, target=action * scale + POSE)


def clip_left_out(random: Random, is_wrong: bool) -> Rows:
    raw = drawn(random, 6, 2.0)
    return recorded(raw=raw, action=raw if is_wrong else np.clip(raw.astype(float), -1.5, 1.5))


def normaliser_left_out(random: Random, is_wrong: bool) -> Rows:
    terms = drawn(random, 6)
    return recorded(terms=terms, obs=terms if is_wrong else (terms - POSE) / (SCALE + 0.01))


def bias_left_out(random: Random, is_wrong: bool) -> Rows:
    q = drawn(random, 6)
    return recorded(q=q, encoder=q if is_wrong else q + BIAS)


def observation_not_scaled(random: Random, is_wrong: bool) -> Rows:
    dq = drawn(random, 6, 3.0)
    return recorded(dq=dq, joint_vel=dq * (1.0 if is_wrong else 0.05))


_HISTORY = """
given = [{ name = "gyro", size = 3 }, { name = "q", names = "policy" }]
[[stages]]
name = "obs"
operation = "history"
of = ["gyro", "q"]
length = 3
layout = "term_major"
order = "oldest_first"
start = "first"
"""
_JOINTS = """
given = [{ name = "q", names = "motors" }]
stages = [{ name = "joint_pos", operation = "select", of = "q", take = "TAKEN" }]
"""
THREADS = (
    Thread("unitree_rl_lab#145", "The gains stood in the motors' order already and were sent through the joint map.",
        {"torque.scale": "in_order_of_policy"},
        _TORQUE + NAMES + f'[numbers]\nkp = {{ names = "motors", value = {_text(KP)} }}\n', gains_mapped_twice),
    Thread("unitree_rl_mjlab#57", "The gains stand in the network's order and reached the motors without the joint map.",
        {"torque.scale": "as_given"},
        _TORQUE + NAMES + f'[numbers]\nkp = {{ names = "policy", value = {_text(KP)} }}\n', gains_without_the_map),
    Thread("mjlab#347", "The metadata of the model held 1.000 as stiffness, whatever the actuator had.",
        {"torque.scale": "none"},
        _TORQUE + NAMES + f'[numbers]\nkp = {{ names = "motors", value = {_text(KP)} }}\n', gains_of_one),
    Thread("GR00T-WholeBodyControl#78", "The observation held the joints in the motors' order, not in the network's.",
        {"joint_pos.order": "as_given"}, _JOINTS.replace("TAKEN", "policy") + NAMES, joints_by_position),
    Thread("unitree_rl_mjlab#61", "The joint order of another training stack was taken for this one's.",
        {"joint_pos.order": "in_order_of_policy"}, _JOINTS.replace("TAKEN", "motors") + NAMES, joints_of_the_other_export),
    Thread("rl_sar#80", "The joint map was applied the wrong way round to the motors' targets.",
        {"motor_q.order": "inverse_map"},
        'given = [{ name = "target", names = "policy" }]\n'
        'stages = [{ name = "motor_q", operation = "select", of = "target", take = "motors" }]\n' + NAMES,
        motors_through_the_inverse_map),
    Thread("IsaacLab#1586", "The listed order of some joints was not kept: they came in the robot's order.",
        {"knees.order": "as_given"},
        'given = [{ name = "q", names = "motors" }]\nstages = [{ name = "knees", operation = "select", of = "q", '
        'take = ["right_knee", "left_knee", "left_hip"] }]\n' + NAMES, joints_in_the_robots_order),
    Thread("mjlab#295", "The history was laid out frame by frame; the network was trained term by term.",
        {"obs.layout": "frame_major"}, _HISTORY + NAMES, frames_side_by_side),
    Thread("mjswan PR#97", "The history was read with the newest frame first.",
        {"obs.order": "newest_first"}, _HISTORY + NAMES, newest_frame_first),
    Thread("IsaacLab#2636", "The scale of the actions was thought to be inside the model, and nobody applied it.",
        {"target.scale": "none"}, _TARGET + NAMES + _POSE, scale_left_to_the_network),
    Thread("IsaacLab PR#7259", "The exported description did not hold the offset, so the default pose was not added.",
        {"target.offset": "none"}, _TARGET + NAMES + _POSE, offset_left_out),
    Thread("HoST#2", "The action was added to the current pose where the contract adds it to the default pose.", {},
        _TARGET.replace('"policy" }]', '"policy" }, { name = "q", names = "policy" }]') + NAMES + _POSE,
        offset_of_the_current_pose,
        "the engine adds another vector; a knob changes how the declared vectors are read. The answer names the stage `target`."),
    Thread("unitree_rl_mjlab#32", "The file's scale of one joint is not the one of the training.",
        {"target.scale": "trained"},
        _TARGET.replace("scale = 0.25", f"scale = {{ value = {_text(SCALE)}, "
        f"wrong = {{ trained = {_text(np.where(np.arange(6) == 1, 0.5475, SCALE))} }} }}") + NAMES + _POSE,
        scale_of_the_training),
    Thread("IsaacLab PR#7260", "The exported description did not hold the clip of the actions.",
        {"action.applied": "none"},
        'given = [{ name = "raw", names = "policy" }]\nstages = [{ name = "action", operation = "clip", of = "raw", '
        "lowest = -1.5, highest = 1.5 }]\n" + NAMES, clip_left_out),
    Thread("IsaacLab#3836", "The exported model did not hold the normaliser, and the engine did not apply it.",
        {"obs.applied": "skipped"},
        'given = [{ name = "terms", names = "policy" }]\nstages = [{ name = "obs", operation = "normalise", of = "terms", '
        'mean = "pose", std = "spread", epsilon = 0.01 }]\n' + NAMES + _POSE + f"spread = {_text(SCALE)}\n",
        normaliser_left_out),
    Thread("mjlab PR#1104", "The training added a bias to the encoders, and the deployment did not.",
        {"encoder.offset": "none"},
        'given = [{ name = "q", names = "policy" }]\nstages = [{ name = "encoder", operation = "affine", of = "q", '
        f"offset = {_text(BIAS)} }}]\n" + NAMES, bias_left_out),
    Thread("IsaacLab#1027", "The scale of the joint velocities was not known and was left out.",
        {"joint_vel.scale": "none"},
        'given = [{ name = "dq", names = "policy" }]\nstages = [{ name = "joint_vel", operation = "affine", of = "dq", '
        "scale = 0.05 }]\n" + NAMES, observation_not_scaled),
)  # fmt: skip
