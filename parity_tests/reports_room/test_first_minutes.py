"""Four people's first minute, from an empty folder: at most three commands, ten seconds of processor time, right and wrong.

Each brings what people have: two tables, a robot's deploy.yaml, a bare policy, a character. Two arrays: the README; a script:
test_two_files.
"""

import csv
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.fixtures import demo_bundle

from ..declared_room.foreign_files import DEPLOY, OBSERVED, robot_recording, weights_of, write_model, write_yaml
from ..engine_recordings import as_engine

Command = Callable[..., Any]
Builder = Callable[[Command, bool], None]
F = np.float32


def _drawn(width, seed=0):
    return np.random.default_rng(seed).normal(size=(60, width)).astype(F)


def _table(name, columns):
    """A table as a logger writes it: obs_0, obs_1, …"""
    with Path(name).open("w", newline="", encoding="utf-8") as stream:
        written = csv.writer(stream)
        written.writerow([f"{name}_{place}" for name, rows in columns.items() for place in range(rows.shape[1])])
        written.writerows(map(list, np.hstack(list(columns.values())).astype(float)))


def two_tables(_command, wrong):
    """A quaternion, which an engine writes in the other order."""
    turn = _drawn(4)
    turn /= np.linalg.norm(turn, axis=1, keepdims=True)
    _table("python.csv", {"obs": _drawn(6, 1), "quat": turn})
    _table("cpp.csv", {"obs": _drawn(6, 1), "quat": turn[:, [1, 2, 3, 0]] if wrong else turn})


def a_robot(_command, wrong):
    """A deploy.yaml, its policy and a log, in which two motors are exchanged."""
    write_yaml(Path("deploy.yaml"), DEPLOY)
    recorded = robot_recording(write_model(Path("policy.onnx"), OBSERVED, 4))
    np.savez("right.npz", **recorded)
    recorded["motor_q"] = recorded["motor_q"][:, [0, 1, 3, 2]] if wrong else recorded["motor_q"]
    np.savez("log.npz", **recorded)


def a_policy(_command, wrong):
    """A model and two logs of obs_0 …; the engine's actions are a frame late."""
    matrix, obs = weights_of(write_model(Path("policy.onnx"), 8, 3)), _drawn(8)
    action = obs @ matrix
    _table("python.csv", {"obs": obs, "action": action})
    _table("cpp.csv", {"obs": obs, "action": np.vstack([action[:1], action[:-1]]) if wrong else action})


def a_character(command, wrong):
    """The character's files, and an engine that turns each bone from the other side."""
    shutil.copytree(demo_bundle(), ".", dirs_exist_ok=True)
    if wrong:
        files = ("--contract", "norm_template.json", "--companion", "pretrain_template.json", "--onnx", "model.onnx")
        engine = "engine/Sneak_Turn.trace.bin"
        wrong_order = ("--set", "compose_order=prev_delta", "-o", engine)
        assert command("run", "clips/Sneak_Turn.json", *files, *wrong_order).status == 0
        as_engine(engine)


MINUTES: dict[Builder, tuple[tuple[str, ...], str]] = {
    two_tables: (("diff python.csv cpp.csv",), "quat is that of the first file with y, z, w, x in place of x, y, z, w"),
    a_robot: (
        (
            "init --from deploy.yaml --onnx policy.onnx --recording right.npz",
            "explain log.npz --contract contract.toml",
        ),
        "exchanged",
    ),
    a_policy: (("init policy.onnx python.csv", "explain cpp.csv"), "action is the answer of frame t-1"),
    a_character: (("init", "gate"), "compose_order = prev_delta"),
}
"""Who, what they type, and what names the mistake."""


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
@pytest.mark.parametrize("build", MINUTES, ids=lambda build: build.__name__)
def test_a_first_minute_ends_with_the_answer(command, tmp_path, monkeypatch, build, wrong):
    """Whoever finds nothing in the first minute does not come back, and whoever hears a false alarm neither."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RIGPACT_BUDGET")
    build(command, wrong)
    typed, named = MINUTES[build]
    before = os.times()
    *others, answer = [command(*line.split()) for line in typed]
    after = os.times()
    assert len(typed) <= 3
    assert sum(after[:4]) - sum(before[:4]) < 10.0
    assert [each.status for each in others] == [0] * len(others), others
    assert answer.status == int(wrong), answer
    assert (named in answer.out) == wrong, answer.out
