"""Teacher prediction files: the rollout of one clip, in the form that both sides read.

`prediction.y_norm` (normalised) and `y_raw` hold the pose. `aux_inputs` are written at the root, as the rollout tool
does, *and* under `teacher`, where the engine reads them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from rigpact.contract.character import character_of
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import write_bytes
from rigpact.contract.layout import ROTATIONS, Layout
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.operations.geometry import rotation_angle_rad
from rigpact.reference_runtime.operations.normalisation import zscored_by
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reference_runtime.recordings.trace import Trace

_REQUIRED = ("x_raw", "state", "cond", "contacts", "angvel", "pose_hist", "y_out")


def write_prediction(
    trace: Trace, contract: Contract, path: str | Path, *, model: str, source: str, last_target: FloatArray | None
) -> None:
    """Write a teacher-driven run as a teacher prediction.

    trace: a run with every input stage and `y_out`. model, source: names of the network and of the clip's file.
    last_target: (6·B,) the pose after the last step, None if the clip has none. Raises UnusableInput for a run of
    another mode: its rows would pair states with wrong targets.
    """
    missing = [name for name in _REQUIRED if name not in trace.stages]
    if trace.header.mode != "teacher" or missing:
        found = f"a {trace.header.mode} run without {', '.join(missing)}" if missing else f"a {trace.header.mode} run"
        raise UnusableInput(path, found, "a teacher-driven run", "write a trace instead: OUT.trace.jsonl")
    document = _document(trace, contract, model, source, last_target)
    write_bytes(path, orjson.dumps(document, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n")


def _document(
    trace: Trace, contract: Contract, model: str, source: str, last_target: FloatArray | None
) -> dict[str, Any]:
    character = character_of(contract)
    stages = {name: np.ascontiguousarray(rows, np.float32) for name, rows in trace.stages.items()}
    y_raw = stages["y_out"]
    y_norm = zscored_by(y_raw.astype(np.float64), character.output_statistics).astype(np.float32)
    auxiliary = {
        "contacts": stages["contacts"],
        "angvel_norm": stages["angvel"],
        "pose_hist_norm": stages["pose_hist"],
    }
    return {
        "clip": trace.header.clip,
        "model": model,
        "teacher_json": None,
        "source_json": source,
        "fps": trace.header.fps,
        "num_pairs": len(y_raw),
        "dims": _dims(stages, contract),
        "layouts": {"state": _layout(character.state), "output": _layout(character.output)},
        "teacher": {"state_norm": stages["state"], "cond": stages["cond"], "aux_inputs": auxiliary},
        "aux_inputs": auxiliary,
        "prediction": {"y_norm": y_norm, "y_raw": y_raw},
        "diagnostics": diagnostics(stages["x_raw"], y_raw, contract, last_target),
    }


def _dims(stages: Mapping[str, FloatArray], contract: Contract) -> dict[str, int]:
    names = {"Dx": "state", "Dc": "cond", "contacts": "contacts", "angvel": "angvel", "pose_hist": "pose_hist"}
    return {"Dy": character_of(contract).output.width} | {
        key: int(stages[name].shape[1]) for key, name in names.items()
    }


def _layout(layout: Layout) -> dict[str, dict[str, int]]:
    return {entry.name: {"start": entry.start, "size": entry.size} for entry in layout}


def diagnostics(
    x_raw: FloatArray, y_raw: FloatArray, contract: Contract, last_target: FloatArray | None
) -> dict[str, float | None]:
    """Error of the predicted poses against the clip, with the baseline of copying the last pose.

    x_raw (T, Dx), y_raw (T, Dy). Mean geodesic angle in degrees over bones and frames, mean squared error in z; None if
    the clip has no target.
    """
    character = character_of(contract)
    place = character.output[ROTATIONS].range
    poses = x_raw[:, character.state[ROTATIONS].range]
    targets = poses[1:] if last_target is None else np.concatenate((poses[1:], last_target[None]))
    if not len(targets):
        return dict.fromkeys(("MSEnormY", "GeoDeg", "CopyLastMSEnormY", "CopyLastGeoDeg"))
    std = character.output_statistics.std_floored[place].astype(np.float64)
    codec = Rot6d(contract.conventions)
    result: dict[str, float | None] = {}
    for prefix, guess in (("", y_raw[: len(targets), place]), ("CopyLast", poses[: len(targets)])):
        difference = (guess.astype(np.float64) - targets) / std
        result[f"{prefix}MSEnormY"] = float(np.mean(difference**2))
        angles = rotation_angle_rad(codec.decode(guess.astype(np.float64)), codec.decode(targets.astype(np.float64)))
        result[f"{prefix}GeoDeg"] = float(np.degrees(angles.mean()))
    return result
