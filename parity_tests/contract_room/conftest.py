"""A small honest character, and the tools to damage it: what the tests of the rules start from.

Three bones, four frames. Every number is derived here, independently of rigpact, and the whole sample checks clean; a
test edits one place and asks for one finding.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract.documents import Document, read_document
from rigpact.contract.findings import Finding, FindingsReport
from rigpact.contract.model_signature import ModelSignature, TensorSignature
from rigpact.contract.rules import Subject, check

BONES = ("pelvis", "thigh_l", "thigh_r")
FRAMES, HISTORY = 4, 2
WIDTHS = {"state": 35, "cond": 7, "contacts": 2, "angvel": 9, "pose_hist": 36}
_MEAN_POSE_RAD, _STEP_RAD, _STD = 1.2, 0.02, 0.25


def rot6d(angle_rad: float) -> list[float]:
    """Columns X and Z of a rotation about Z."""
    return [math.cos(angle_rad), math.sin(angle_rad), 0.0, 0.0, 0.0, 1.0]


def pose(frame: int) -> list[float]:
    """Three bones, each a little further than in the frame before."""
    return [number for bone in range(3) for number in rot6d(0.3 * bone + _STEP_RAD * frame)]


_MEAN_POSE = [number for bone in range(3) for number in rot6d(_MEAN_POSE_RAD + 0.3 * bone)]


def _bundle() -> dict[str, Any]:
    skeleton = {"root_bone": "root", "bone_names": list(BONES), "parents": [-1, 0, 0]}
    skeleton["ref_local_offsets_m"] = [[0.0, 0.0, 0.9], [0.0, -0.1, 0.0], [0.0, 0.1, 0.0]]
    slices = {"RootPosition": 3, "RootVelocity": 2, "RootYaw": 1, "BoneRotations6D": 18}
    slices |= {"BoneAngularVelocities": 9, "Contacts": 2}
    starts = [sum(list(slices.values())[:place]) for place in range(len(slices))]
    layout = {name: {"start": start, "size": size} for start, (name, size) in zip(starts, slices.items(), strict=True)}
    return {
        "bundle_version": 2,
        "fps": 60,
        "input_dim": 35,
        "output_dim": 18,
        "MuX": [0.0] * 6 + _MEAN_POSE + [0.0] * 9 + [0.5] * 2,
        "StdX": [1.0] * 6 + [_STD] * 18 + [0.5] * 11,
        "MuY": list(_MEAN_POSE),
        "StdY": [_STD] * 18,
        "tanh_scales_rootvel": [1.5, 1.5],
        "tanh_scales_angvel": [2.0] * 9,
        "pose_hist_len": HISTORY,
        "tanh_scales_pose_hist": [1.0] * 36,
        "MuPoseHist": [0.1] * 36,
        "StdPoseHist": [0.3] * 36,
        "MuAngVel": [0.0] * 9,
        "StdAngVel": [0.4] * 9,
        "cond_norm_config": {"mode": "Raw"},
        "meta": {
            "state_layout": layout,
            "output_layout": {"BoneRotations6D": {"start": 0, "size": 18}},
            "bone_names": list(BONES),
            "rot6d_spec": {"columns": ["X", "Z"], "output_mode": "residual"},
            "skeleton": skeleton,
        },
    }


def _companion(bundle: dict[str, Any]) -> dict[str, Any]:
    keys = ("tanh_scales_angvel", "MuAngVel", "StdAngVel", "pose_hist_len", "tanh_scales_pose_hist", "MuPoseHist")
    return {"J": 3, **{key: copy.deepcopy(bundle[key]) for key in (*keys, "StdPoseHist")}}


def _clip() -> dict[str, Any]:
    frames = [
        {
            "RootPosition": [0.02 * frame, 0.0, 0.0],
            "RootVelocityXY": [1.2, 0.0],
            "RootYaw": 0.0,
            "ActionBits": [0, 1, 0, 0],
            "TrajectoryDir": [[1.0, 0.0]] * 5,
            "BoneRotations": [pose(frame)[6 * bone : 6 * bone + 6] for bone in range(3)],
            "BoneAngularVelocities": [[0.0, 0.0, _STEP_RAD * 60]] * 3,
        }
        for frame in range(FRAMES + 1)
    ]
    meta = {"skeleton": {"bone_names": list(BONES)}}
    return {"NumFrames": FRAMES + 1, "FPS": 60, "meta": meta, "Frames": frames}


def _z(values: list[float]) -> list[float]:
    return [(value - mean) / _STD for value, mean in zip(values, _MEAN_POSE, strict=True)]


def _batch(bundle: dict[str, Any]) -> dict[str, Any]:
    states = [[0.0] * 6 + _z(pose(frame)) + [0.0] * 11 for frame in range(FRAMES)]
    aux = {"contacts": 2, "angvel_norm": 9, "pose_hist_norm": 36}
    meta = bundle["meta"]
    return {
        "clip": "walk",
        "fps": 60,
        "num_pairs": FRAMES,
        "dims": {"Dx": 35, "Dy": 18, "Dc": 7, "contacts": 2, "angvel": 9, "pose_hist": 36},
        "layouts": copy.deepcopy({"state": meta["state_layout"], "output": meta["output_layout"]}),
        "teacher": {
            "state_norm": states,
            "cond": [[0, 1, 0, 0, 1.0, 0.0, 1.2]] * FRAMES,
            "aux_inputs": {key: [[0.0] * width for _ in range(FRAMES)] for key, width in aux.items()},
        },
    }


def _prediction(batch: dict[str, Any]) -> dict[str, Any]:
    y_raw = [pose(frame + 1) for frame in range(FRAMES)]
    answer = {"y_norm": [_z(row) for row in y_raw], "y_raw": y_raw}
    return {**copy.deepcopy(batch), "model": "demo", "prediction": answer}


def _model() -> ModelSignature:
    inputs = tuple(TensorSignature(name, "float32", ("B", width)) for name, width in WIDTHS.items())
    return ModelSignature(Path("model.onnx"), "0" * 64, inputs, (TensorSignature("motion_pred", "float32", ("B", 18)),))


def _own(value: Any) -> Any:
    """A copy that shares no list with itself, so that an edit changes one place."""
    return json.loads(json.dumps(value))


@dataclass
class Sample:
    """Every artefact of the small character as plain JSON values, ready to be edited."""

    folder: Path
    bundle: dict[str, Any] = field(default_factory=lambda: _own(_bundle()))
    companion: dict[str, Any] = field(default_factory=lambda: _own(_companion(_bundle())))
    clip: dict[str, Any] = field(default_factory=lambda: _own(_clip()))
    batch: dict[str, Any] = field(default_factory=lambda: _own(_batch(_bundle())))
    prediction: dict[str, Any] = field(default_factory=lambda: _own(_prediction(_batch(_bundle()))))
    model: ModelSignature = field(default_factory=_model)
    texts: dict[str, Callable[[str], str]] = field(default_factory=dict)

    def write(self, name: str) -> Document:
        """Write one artefact as a file (through `texts[name]`, an edit of its text) and read it back."""
        text = json.dumps(getattr(self, name))
        path = self.folder / f"{name}.json"
        path.write_text(self.texts.get(name, str)(text), encoding="utf-8")
        return read_document(path)

    def subject(self) -> Subject:
        """Everything, as one check looks at it."""
        others = tuple(self.write(name) for name in ("clip", "batch", "prediction"))
        return Subject(self.write("bundle"), self.write("companion"), others, self.model)

    def check(self) -> FindingsReport:
        """Run every rule on everything."""
        return check(self.subject())

    def findings(self, code: str) -> list[Finding]:
        """The findings of one rule."""
        return [finding for finding in self.check().findings if finding.rule.code == code]


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    """The small honest character, checked clean by `test_the_sample_checks_clean`."""
    return Sample(tmp_path)
