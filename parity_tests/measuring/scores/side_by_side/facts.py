"""What the contracts of the G1 recordings say, and a recording as each tool reads it.

The tools get what a deployed robot logs: sensors, observation, action, targets, gains. The contract's own terms, which are
columns of the recordings too, are for rigpact alone; `RAW` names the columns of a recording without them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray

Arrays = Mapping[str, FloatArray]
Columns = NDArray[np.intp]
RAW = (
    "frame", "time", "imu_quat", "ang_vel", "command", "q", "dq", "obs", "action", "motor_q", "motor_kp", "motor_kd"
)  # fmt: skip
_WIDTHS = {"base_ang_vel": 3, "projected_gravity": 3, "velocity_commands": 3}


@dataclass(frozen=True)
class Facts:
    """A contract's facts. joint_map: the motor of each of the policy's joints; scales: of each term, in the vector's order."""

    folder: Path
    joint_map: tuple[int, ...]
    default_pose: tuple[float, ...]
    action_scale: tuple[float, ...]
    stiffness: tuple[float, ...]
    damping: tuple[float, ...]
    scales: Mapping[str, float]
    lowest: tuple[float, ...]
    highest: tuple[float, ...]
    history: int

    def blocks(self) -> list[tuple[int, int]]:
        """First column and width of each term; a term's entries lie together, oldest first."""
        found, start = [], 0
        for term in self.scales:
            width = self.width(term)
            found.append((start, width))
            start += width * self.history
        return found

    def width(self, term: str) -> int:
        """Channels of one entry of a term; those of the joints where it is not a term."""
        return _WIDTHS.get(term, len(self.joint_map))

    def term_at(self, channel: int) -> str:
        """The term that has a channel of the stacked observation."""
        ends = [start + width * self.history for start, width in self.blocks()]
        return list(self.scales)[int(np.searchsorted(ends, channel, side="right"))]

    def newest(self) -> Columns:
        """Columns of each term's newest entry."""
        last = self.history - 1
        return np.concatenate([np.arange(s + w * last, s + w * (last + 1)) for s, w in self.blocks()])

    def newest_first(self) -> Columns:
        """Every column, with each term's newest entry first."""
        return np.concatenate(
            [np.arange(s, s + w * self.history).reshape(-1, w)[::-1].ravel() for s, w in self.blocks()]
        )


def facts_of(folder: Path) -> Facts:
    """Read `contract.toml` of a folder."""
    document = tomllib.loads((folder / "contract.toml").read_text(encoding="utf-8"))
    stages = {stage["name"]: stage for stage in document["stages"]}
    numbers = {name: tuple(map(float, table["value"])) for name, table in document["numbers"].items()}
    names = document["names"]
    motors, count = names["sdk"], len(names["sdk"])
    order = [_term(name) for name in stages["obs"]["of"]]
    scale = stages["processed_action"]["scale"]
    clamp = stages["velocity_commands"]
    return Facts(
        folder=folder,
        joint_map=tuple(motors.index(joint) for joint in names.get("policy", motors)),
        default_pose=numbers["default_pose"],
        action_scale=numbers[scale] if isinstance(scale, str) else (float(scale),) * count,
        stiffness=numbers["stiffness"],
        damping=numbers["damping"],
        scales={term: _scale(stages, name) for term, name in zip(order, stages["obs"]["of"], strict=True)},
        lowest=tuple(clamp["lowest"]),
        highest=tuple(clamp["highest"]),
        history=int(stages["obs"].get("length", 1)),
    )


def _term(name: str) -> str:
    return {"base_ang_vel_scaled": "base_ang_vel", "joint_vel_scaled": "joint_vel_rel"}.get(name, name)


def _scale(stages: Mapping[str, Any], name: str) -> float:
    return float(stages[name].get("scale", 1.0)) if name in stages else 1.0


def recorded(path: Path) -> dict[str, FloatArray]:
    """The arrays of a recording that every tool may see."""
    with np.load(path) as held:
        return {name: held[name] for name in RAW}


def clamped(arrays: Arrays, facts: Facts) -> FloatArray:
    """The command after the contract's clamp."""
    command = arrays["command"]
    return np.clip(command, np.array(facts.lowest, command.dtype), np.array(facts.highest, command.dtype))
