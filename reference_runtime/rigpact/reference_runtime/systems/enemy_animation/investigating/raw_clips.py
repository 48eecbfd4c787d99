"""A raw clip as columns, which can be shortened and removed one by one, and as a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rigpact.contract.character import character_of
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import write_bytes
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.recordings.clip import Clip, RawClip

COLUMNS: Mapping[str, str] = {
    "root_position_m": "RootPosition", "root_velocity_m_s": "RootVelocity", "root_yaw_rad": "RootYaw",
    "rotations6d": "BoneRotations6D", "angular_velocity_rad_s": "BoneAngularVelocities", "action_bits": "",
    "contact_scores": "Contacts",
}  # fmt: skip
"""The columns of a raw clip, each with the state's field that it seeds."""


def clip_columns(clip: Clip) -> dict[str, FloatArray]:
    """The columns of a raw clip, (N, width) each; empty for a teacher file, whose columns depend on each other."""
    if not isinstance(clip, RawClip):
        return {}
    return {name: getattr(clip, name) for name in COLUMNS if getattr(clip, name) is not None}


def with_columns(clip: Clip, columns: Mapping[str, FloatArray], rows: Any) -> Clip:
    """The clip with selected rows of other columns."""
    changes = {name: values[rows] for name, values in columns.items()}
    if not isinstance(clip, RawClip):
        raise UnusableInput(clip.path, "a teacher file", "a raw clip")
    return replace(clip, trajectory_direction=clip.trajectory_direction[rows], **changes)


def seeded_columns(contract: Contract) -> dict[str, slice]:
    """The channels of the raw state that each column seeds."""
    character = character_of(contract)
    return {name: character.state[field].range for name, field in COLUMNS.items() if field in character.state}


def write_clip(clip: RawClip, path: Path) -> None:
    """Write a raw clip. NaN and Infinity are kept as words, because they must be reproduced; the reader accepts them."""
    document = {
        "NumFrames": clip.frame_count, "FPS": clip.fps, "ClipAction": "Repro",
        "Frames": [_frame(clip, row) for row in range(clip.frame_count)],
    }  # fmt: skip
    write_bytes(path, json.dumps(document, indent=1).encode())


def _frame(clip: RawClip, row: int) -> dict[str, object]:
    frame: dict[str, object] = {
        "RootPosition": clip.root_position_m[row].tolist(),
        "RootVelocityXY": clip.root_velocity_m_s[row].tolist(),
        "RootYaw": float(clip.root_yaw_rad[row, 0]),
        "BoneRotations": clip.rotations6d[row].reshape(-1, 6).tolist(),
        "BoneAngularVelocities": clip.angular_velocity_rad_s[row].reshape(-1, 3).tolist(),
        "ActionBits": clip.action_bits[row].tolist(),
        "TrajectoryDir": clip.trajectory_direction[row].tolist(),
    }
    if clip.contact_scores is not None:
        scores = clip.contact_scores[row].tolist()
        frame["FootEvidence"] = {foot: {"soft_contact_score": score} for foot, score in zip("LR", scores, strict=True)}
    return frame
