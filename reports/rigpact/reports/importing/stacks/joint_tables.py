"""Joints of robots in the orders that their runtimes use: SDK motors, Isaac Gym and MuJoCo (URDF), Isaac Lab (breadth first).

A table is used where a file has numbers only, and the contract says so. A version can change an order: a file's names win.
Sources: Unitree's SDK (G1JointIndex, H1JointIndex, unitree_legged_const), the URDF files, joint_ids_map of unitree_rl_lab.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


def _each(sides: Sequence[str], parts: str) -> list[str]:
    return [f"{side}_{part}_joint" for side in sides for part in parts.split()]


_LEG, _WAIST = "hip_pitch hip_roll hip_yaw knee ankle_pitch ankle_roll", "yaw roll pitch"
_ARM = "shoulder_pitch shoulder_roll shoulder_yaw elbow wrist_roll wrist_pitch wrist_yaw"
_SIDES = ("left", "right")
_G1_LEGS = _each(_SIDES, _LEG)
_G1 = [*_G1_LEGS, *_each(["waist"], _WAIST), *_each(_SIDES, _ARM)]
_G1_LAB = [0, 6, 12, 1, 7, 13, 2, 8, 14, 3, 9, 15, 22, 4, 10, 16, 23, 5, 11, 17, 24, 18, 25, 19, 26, 20, 27, 21, 28]
_H1_ARM = "shoulder_pitch shoulder_roll shoulder_yaw elbow"
_H1 = [
    *_each(["right"], "hip_roll hip_pitch knee"), *_each(["left"], "hip_roll hip_pitch knee"), "torso_joint",
    "left_hip_yaw_joint", "right_hip_yaw_joint", "unused_9", "left_ankle_joint", "right_ankle_joint",
    *_each(["right"], _H1_ARM), *_each(["left"], _H1_ARM),
]  # fmt: skip
_GO2 = _each(("FR", "FL", "RR", "RL"), "hip thigh calf")
_GYM_LEGS = _each(("FL", "FR", "RL", "RR"), "hip thigh calf")
_LAB_LEGS = [f"{leg}_{part}_joint" for part in ("hip", "thigh", "calf") for leg in ("FL", "FR", "RL", "RR")]


@dataclass(frozen=True)
class JointTable:
    """A robot's joints. sdk: by motor index. gym: the URDF's order, of the joints that a policy drives. lab: Isaac Lab's."""

    robot: str
    sdk: Sequence[str]
    gym: Sequence[str]
    lab: Sequence[str]
    called: Sequence[str] = field(default_factory=tuple)


TABLES: Mapping[str, JointTable] = {
    "g1": JointTable("Unitree G1, 29 joints", _G1, _G1_LEGS, [_G1[index] for index in _G1_LAB], ("g1",)),
    "h1": JointTable("Unitree H1", _H1, _each(_SIDES, "hip_yaw hip_roll hip_pitch knee ankle"), (), ("h1",)),
    "go2": JointTable("Unitree Go2 and A1", _GO2, _GYM_LEGS, _LAB_LEGS, ("go2", "a1", "go1", "b2", "aliengo")),
}


def table_called(text: str) -> JointTable | None:
    """The table of a robot that a file names: `g1`, `unitree_go2`, `.../Go2/go2.usd`."""
    words = set(re.split(r"[^a-z0-9]+", text.lower()))
    return next((table for table in TABLES.values() if words & set(table.called)), None)


def table_of_map(order: Sequence[int]) -> JointTable | None:
    """The table whose Isaac Lab order, as motor indices, is this one. The numbers as they stand tell no robot from another."""
    if list(order) == sorted(order):
        return None
    maps = ((table, [table.sdk.index(name) for name in table.lab]) for table in TABLES.values())
    return next((table for table, own in maps if own == list(order)), None)
