"""Runs that a player drove

No clip holds what a player did. The engine records it: its own inputs drive the reference run, free-run included.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.bundle import load_contract
from rigpact.fixtures import demo_bundle
from rigpact.reference_runtime import OnnxNetwork, Trace, open_run, read_clip, run_frames, write_trace

from ..engine_recordings import ENGINE
from .recorded_demo import CLIP, CONTRACT, GATE, project
from .tried import passes, refused

FRAMES = 40
PLAYED = "played.trace.jsonl"
Command = Callable[..., Any]
SETTINGS = f"""{GATE}[[gate.trace]]
file = "{PLAYED}"
clip = "{PLAYED}"
mode = "free"
"""


def played(**conventions: str) -> Trace:
    """What an engine records while a player turns the character about: the demo's clip with another intent in every frame."""
    folder = demo_bundle()
    contract = load_contract(folder / "norm_template.json", folder / "pretrain_template.json")
    network, clip = OnnxNetwork(folder / "model.onnx", contract), read_clip(folder / CLIP)
    turn = np.linspace(0.0, 3.0, len(clip.trajectory_direction))  # type: ignore[union-attr]
    direction = np.stack((np.cos(turn), np.sin(turn)), axis=-1).astype(np.float32)[:, None]
    own = replace(clip, trajectory_direction=np.repeat(direction, clip.trajectory_direction.shape[1], axis=1))  # type: ignore[type-var,union-attr]
    trace = run_frames(
        open_run(contract.with_conventions(conventions), network, own, "free", engine="numpy"),
        range(FRAMES),
        None,
        "free",
    )
    return replace(trace, header=replace(trace.header, producer=ENGINE, producer_version="1", conventions_sha256=None))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = project(tmp_path / "project")
    (found / "rigpact.toml").write_text(SETTINGS, encoding="utf-8")
    monkeypatch.chdir(found)
    return found


@passes("a free run that a player drove, with the recording itself as its clip, in `run`, `explain` and the gate")
@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [PLAYED, "played.npz"])
def test_a_players_run_is_compared_with_its_own_inputs(command, folder, name):
    """Only runs from a clip could be compared: the run in which the player saw the defect could not."""
    write_trace(played(), folder / PLAYED)
    assert command("convert", PLAYED, "-o", "played.npz").status == 0
    again = ("run", *CONTRACT, name, "--onnx", "model.onnx", "--mode", "free", "--frames", FRAMES)
    assert command(*again, "-o", "again.trace.jsonl").status == 0
    assert command("diff", PLAYED, "again.trace.jsonl", *CONTRACT).status == 0
    explained = command("explain", PLAYED, *CONTRACT, "--clip", name, "--onnx", "model.onnx")
    assert explained.status == 0, explained.out
    gate = command("gate")
    assert gate.status == 0, gate.out


@pytest.mark.sampled(3)
@refused("such a run of an engine with a convention of its own", "the gate fails and names the convention")
@pytest.mark.parametrize(
    ("knob", "value"),
    [("compose_order", "prev_delta"), ("pose_history_order", "newest_first"), ("yaw_encoding", "radians")],
)
def test_a_defect_in_a_players_run_is_named(command, folder, knob, value):
    """Inputs that are computed from the wrong output must not excuse the output."""
    write_trace(played(**{knob: value}), folder / PLAYED)
    found = command("explain", PLAYED, *CONTRACT, "--clip", PLAYED, "--onnx", "model.onnx", "--format", "json")
    assert found.status == 1
    assert {knob: value} in [cause["changes"] for cause in json.loads(found.out)["causes"]]
    assert command("gate").status == 1
