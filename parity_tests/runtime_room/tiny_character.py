"""A character of three bones, as files on disk: small enough to work out every number by hand.

`bundle` and `clip` return documents that a test may change before it writes them.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rigpact.contract import Contract, load_contract
from rigpact.reference_runtime import RawClip, read_clip

from .scalar_oracle import encode_xz, product, rodrigues

BONES = ("pelvis", "thigh_l", "thigh_r")
FPS = 30.0
FRAMES = 7
WIDTHS = {"RootPosition": 3, "RootVelocity": 2, "RootYaw": 1, "BoneRotations6D": 18, "BoneAngularVelocities": 9}
STATE_WIDTH, OUTPUT_WIDTH = 33, 18
TURNS = (((0.2, 1.0, -0.4), 0.30), ((1.0, -0.3, 0.5), -0.45), ((-0.6, 0.1, 1.0), 0.20))
"""Axis and angle of the turn that each bone makes from frame to frame, in its parent's frame."""
FIRST_POSE = (((0.0, 0.0, 1.0), 1.2), ((1.0, 1.0, 0.0), -0.7), ((0.0, 1.0, 0.2), 2.0))


def layout(widths: Mapping[str, int]) -> dict[str, dict[str, int]]:
    start, entries = 0, {}
    for name, size in widths.items():
        entries[name] = {"start": start, "size": size}
        start += size
    return entries


def wave(count: int, middle: float, swing: float, phase: float = 0.0) -> list[float]:
    """Numbers that differ from channel to channel, so that a swapped channel shows."""
    return [middle + swing * math.sin(1.7 * index + phase) for index in range(count)]


def bundle(
    *, output: Mapping[str, int] | None = None, contacts: bool = False, auxiliary: bool = True, **changes: Any
) -> dict[str, Any]:
    """A schema bundle with merged auxiliary statistics; keyword arguments replace root keys."""
    state = {**WIDTHS, **({"Contacts": 2} if contacts else {})}
    output = output or {"BoneRotations6D": OUTPUT_WIDTH}
    dx, dy = sum(state.values()), sum(output.values())
    document = {
        "fps": FPS, "MuX": wave(dx, 0.1, 0.3), "StdX": wave(dx, 0.8, 0.4), "MuY": wave(dy, 0.05, 0.2, 1.0),
        "StdY": wave(dy, 0.12, 0.05, 2.0), "tanh_scales_rootvel": [1.5, 0.7],
        "tanh_scales_angvel": wave(9, 4.0, 2.0), "cond_norm_config": {"mode": "Raw", "start": 0, "size": 7},
        "meta": {"state_layout": layout(state), "output_layout": layout(output), "bone_names": list(BONES),
                 "rot6d_spec": {"columns": ["X", "Z"], "output_mode": "residual"}},
    }  # fmt: skip
    if auxiliary:
        document |= {"MuAngVel": wave(9, 0.0, 0.2), "StdAngVel": wave(9, 0.5, 0.2), "pose_hist_len": 3,
                     "tanh_scales_pose_hist": wave(54, 0.9, 0.3), "MuPoseHist": wave(54, 0.1, 0.3),
                     "StdPoseHist": wave(54, 0.5, 0.2)}  # fmt: skip
    return document | changes


def contract(folder: Path, document: Mapping[str, Any] | None = None, **conventions: Any) -> Contract:
    """Write a bundle and load it under some conventions."""
    path = folder / "norm_template.json"
    path.write_text(json.dumps(document or bundle()))
    return load_contract(path, changes=conventions)


def pose(frame: int) -> list[list[list[float]]]:
    """The rotation of each bone at a frame, in float64."""
    rotations = []
    for turn, first in zip(TURNS, FIRST_POSE, strict=True):
        rotation = rodrigues(*first)
        for _ in range(frame):
            rotation = product(rodrigues(*turn), rotation)
        rotations.append(rotation)
    return rotations


def clip_document(frames: int = FRAMES) -> dict[str, Any]:
    return {"NumFrames": frames, "FPS": FPS, "ClipAction": "Walk", "Frames": [_frame(k) for k in range(frames)]}


def _frame(k: int) -> dict[str, Any]:
    return {
        "RootPosition": [0.1 * k, -0.05 * k, 0.9], "RootVelocityXY": [1.2 - 0.1 * k, -0.4 + 0.2 * k],
        "RootYaw": -2.0 + 1.1 * k, "BoneRotations": [encode_xz(rotation) for rotation in pose(k)],
        "BoneAngularVelocities": [wave(3, 0.3 * bone, 0.8, k) for bone in range(3)], "ActionBits": [0, 1, 0, 0],
        "TrajectoryDir": [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]],
        "FootEvidence": {"L": {"soft_contact_score": 0.2 + 0.1 * k}, "R": {"soft_contact_score": 0.9 - 0.1 * k}},
    }  # fmt: skip


def clip(folder: Path, document: Mapping[str, Any] | None = None) -> RawClip:
    """Write a raw clip and read it."""
    path = folder / "Walk.json"
    path.write_text(json.dumps(document or clip_document()))
    read = read_clip(path)
    assert isinstance(read, RawClip)
    return read
