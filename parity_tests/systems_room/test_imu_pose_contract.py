"""IMU pose: the committed files, and contract files that mean something else at the same width."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.contract_files import open_contract
from rigpact.contract.errors import ContractRefused
from rigpact.reference_runtime.graph.network import OnnxSystemNetwork
from rigpact.reference_runtime.graph.run import run_clip
from rigpact.reference_runtime.recordings.trace import read_trace
from rigpact.training.imu_pose.facts import JOINTS, SYSTEM

BUNDLE = Path(__file__).parents[2] / "fixtures" / "bundles" / "imu_pose"


def test_the_committed_files_run_and_stand_on_the_floor() -> None:
    """The whole runtime on one window of a person it has never seen: upright, feet down, a spread of a few centimetres."""
    contract = open_contract(BUNDLE / "imu_pose.json")
    network = OnnxSystemNetwork(BUNDLE / "model.onnx", contract.system)
    clip = read_trace(BUNDLE / "clip.trace.safetensors")
    stages = run_clip(contract, clip.stages, network).stages
    pose = stages["pose"].reshape(-1, 17, 3)
    assert np.all(pose[:, JOINTS.index("head"), 2] > pose[:, JOINTS.index("pelvis"), 2] + 0.4)
    assert np.abs(pose[:, JOINTS.index("foot_l"), 2] - 0.03).max() < 0.03
    moving = stages["sigma"].reshape(-1, 17, 3)[:, JOINTS.index("pelvis"), 2]
    assert 0.001 < moving.mean() < 0.05
    for name, rows in stages.items():
        assert rows.shape == (100, SYSTEM.vectors[name].width), name


def _swap(names: tuple[str, str], fields: list[dict[str, Any]]) -> None:
    """Exchange two fields of one size."""
    first, second = (next(field for field in fields if field["name"] == name) for name in names)
    first["start"], second["start"] = second["start"], first["start"]
    fields.sort(key=lambda field: field["start"])


MEANINGS: dict[str, tuple[str, Callable[[list[dict[str, Any]]], None]]] = {
    "the angular rate first": ("imu", lambda fields: _swap(("acceleration", "angular_rate"), fields)),
    "the right knee before the left": ("pose", lambda fields: _swap(("knee_l", "knee_r"), fields)),
    "a mean where a log-variance was": (
        "head", lambda fields: _swap(("pelvis_x_mean", "pelvis_x_log_variance"), fields),
    ),
    "degrees a second": ("imu", lambda fields: fields[1].update(unit="deg/s")),
    "a pose with y up": ("pose", lambda fields: [field.update(space="world, y up") for field in fields]),
}  # fmt: skip


@pytest.mark.parametrize("name", MEANINGS)
@pytest.mark.parametrize("with_new_hash", [False, True])
def test_the_same_width_with_another_meaning_is_refused(tmp_path: Path, name: str, *, with_new_hash: bool) -> None:
    """Every size check passes: only the layout's hash tells the two apart, whether or not the exporter kept it true."""
    from rigpact.contract.systems.layout import json_to_fields

    vector, change = MEANINGS[name]
    document = json.loads((BUNDLE / "imu_pose.json").read_text(encoding="utf-8"))
    entry = document["vectors"][vector]
    before = json_to_fields(entry["fields"])
    change(entry["fields"])
    after = json_to_fields(entry["fields"])
    assert (before.width, before.layout_hash) != (after.width, after.layout_hash)
    assert before.width == after.width
    if with_new_hash:
        entry["layout_hash"] = after.layout_hash
    changed = tmp_path / "imu_pose.json"
    changed.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ContractRefused):
        open_contract(changed)


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.inf, "0.4", None, True])
def test_a_temperature_that_is_none_is_refused(tmp_path: Path, temperature: Any) -> None:
    """A temperature of zero would claim an exact pose."""
    document = json.loads((BUNDLE / "imu_pose.json").read_text(encoding="utf-8"))
    document["constants"]["temperature"] = temperature
    changed = tmp_path / "imu_pose.json"
    changed.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ContractRefused):
        open_contract(changed)
