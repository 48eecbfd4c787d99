"""Blender IK and rig inversion from a user's side: the committed files under check, run, diff and explain."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from rigpact.reference_runtime.recordings.trace import read_trace, write_trace
from rigpact.reference_runtime.recordings.trace_model import Trace
from rigpact.reports.command_line import run_command_line

SYSTEMS = ("blender_ik", "rig_inversion")
Change = Callable[[dict[str, np.ndarray]], None]
Command = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def bundles(checkout: Path) -> Path:
    """The committed folders."""
    return checkout / "fixtures" / "bundles"


@pytest.fixture
def rigpact(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command in this process: exit status, stdout."""

    def run(*words: object) -> tuple[int, str]:
        status = run_command_line([str(word) for word in words])
        return status, capsys.readouterr().out

    return run


def changed_trace(source: Path, out: Path, change: Change) -> Path:
    """A copy of a trace with changed stages."""
    trace = read_trace(source)
    stages = {name: np.array(rows) for name, rows in trace.stages.items()}
    change(stages)
    write_trace(Trace(trace.header, trace.frame, trace.time_s, stages), out)
    return out


def _one_pose(stages: dict[str, np.ndarray]) -> None:
    for rows in stages.values():
        rows[:] = rows[:1]


def _noise(stages: dict[str, np.ndarray]) -> None:
    stages["context"] += np.float32(0.02)


def _reversed(stages: dict[str, np.ndarray]) -> None:
    stages["mesh"] = stages["mesh"].reshape(-1, 8, 3)[:, ::-1].reshape(-1, 24)


def _two(stages: dict[str, np.ndarray]) -> None:
    stages["rig_parameters"][3, 1] = 2.0


def _scaled_inputs(stages: dict[str, np.ndarray]) -> None:
    context = stages.pop("context")
    context[:, [place for effector in range(5) for place in range(6 * effector + 3, 6 * effector + 6)]] /= np.pi
    context[:, [36, 42]] /= 2.0
    stages["model_input"] = context


def _scaled_noise(stages: dict[str, np.ndarray]) -> None:
    _noise(stages)
    _scaled_inputs(stages)


BAD_LABELS: dict[str, tuple[str, Change, str]] = {
    "one pose": ("blender_ik", _one_pose, "1 different poses in 360"),
    "noise on the targets": ("blender_ik", _noise, "RP728"),
    "noise on targets that are scaled": ("blender_ik", _scaled_noise, "RP728"),
    "vertices exchanged": ("rig_inversion", _reversed, "RP728"),
    "a parameter of two": ("rig_inversion", _two, "RP721"),
}


@pytest.mark.parametrize("case", BAD_LABELS)
def test_data_that_teach_another_rig_are_refused(rigpact: Command, bundles: Path, tmp_path: Path, case: str) -> None:
    """Found before a night of training, not after."""
    name, change, words = BAD_LABELS[case]
    labels = changed_trace(bundles / name / "labels.trace.safetensors", tmp_path / "labels.trace.safetensors", change)
    code, text = rigpact("check", bundles / name / f"{name}.json", labels)
    assert code == 1
    assert words in text


def test_labels_beside_scaled_inputs_are_judged_too(rigpact: Command, bundles: Path, tmp_path: Path) -> None:
    """Data sets are often stored as the network is given them."""
    folder = bundles / "blender_ik"
    labels = changed_trace(folder / "labels.trace.safetensors", tmp_path / "labels.trace.safetensors", _scaled_inputs)
    code, text = rigpact("check", folder / "blender_ik.json", labels)
    assert (code, "0 errors" in text) == (0, True)


BAD_CONTRACTS: dict[str, tuple[str, Any]] = {
    "blender_ik": (
        "/constants/rest_orientations/15",
        lambda root: root["constants"]["rest_orientations"].__setitem__(15, np.eye(3)[::-1].tolist()),
    ),
    "rig_inversion": (
        "/constants/vertices/7",
        lambda root: root["constants"]["vertices"].__setitem__(7, [1.0, 1.0, 1.0]),
    ),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_another_rig_is_refused(rigpact: Command, bundles: Path, tmp_path: Path, name: str) -> None:
    """A contract that contradicts its own rig must not get as far as a run."""
    pointer, change = BAD_CONTRACTS[name]
    root = orjson.loads((bundles / name / f"{name}.json").read_bytes())
    change(root)
    path = tmp_path / f"{name}.json"
    path.write_bytes(orjson.dumps(root))
    code, text = rigpact("check", path)
    assert code == 1
    assert "RP711" in text
    assert pointer in text
    clip = bundles / name / "clip.trace.safetensors"
    code, _ = rigpact(
        "run", "--contract", path, clip, "--onnx", bundles / name / "model.onnx", "--out", tmp_path / "o.trace.jsonl"
    )
    assert code == 2
