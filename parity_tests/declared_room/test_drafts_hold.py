"""Every draft passes `check` and agrees with the recording that it came from, under that recording's own names.

The runtimes are drawn: plain numpy, one layer of a network. A planted mistake is in the draft too, with a caution.
"""

from __future__ import annotations

import csv
import tomllib

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from safetensors.numpy import save_file

from ..every_case import every_case
from .foreign_files import weights_of, write_model

FRAMES = 70
SIDES = ("left", "right")
JOINTS = [f"{side}_{part}" for part in ("hip", "thigh", "calf", "foot") for side in SIDES]
MOTORS = [f"{side}_{part}" for side in SIDES for part in ("hip", "thigh", "calf", "foot")]
F = np.float32


def _runtime(folder, seed, mistake=""):
    """Columns of a loop that was drawn: order of the motors, pose, scales, limits of the stick, history, what is recorded."""
    rng = np.random.default_rng(seed)
    count, is_mapped, length = len(JOINTS), rng.random() < 0.7, int(rng.choice([1, 1, 3]))
    take = [MOTORS.index(name) for name in JOINTS] if is_mapped else list(range(count))
    pose = np.round(rng.uniform(-1, 1, count), 2).astype(F)
    scales = rng.choice([1.0, 0.25, 0.05, 2.0], 4).astype(F)
    lowest, highest = np.array([-0.5, -0.3, -9.0], F), np.array([9.0, 0.3, 0.8], F)
    time = np.arange(FRAMES)[:, None]
    wave = {
        name: np.asarray(size * np.sin(time * rng.uniform(0.05, 0.5, width) + rng.uniform(0, 6, width)), F)
        for name, width, size in (("gyro", 3, 1.0), ("sticks", 3, 1.0), ("q", count, 0.7), ("dq", count, 3.0))
    }
    down = np.sqrt(0.25 * rng.random((FRAMES, 4)) + 0.1)
    w, x, y, z = (down / np.linalg.norm(down, axis=1, keepdims=True)).T
    gravity = np.stack([-2 * (x * z - w * y), -2 * (y * z + w * x), -(1 - 2 * (x * x + y * y))], 1).astype(F)
    width = 9 + 3 * count
    matrix = _damped(write_model(folder / "policy.onnx", width * length, count, seed=seed))
    obs, actions, targets, last, past = [], [], [], np.zeros(count, F), []
    other = _with(pose, 2, pose[2] + F(0.4)) if mistake == "one default" else pose
    taken = _swapped(take) if mistake == "two joints exchanged" else take
    for t in range(FRAMES):
        stick = np.clip(wave["sticks"][t] * F([1, -1, -1]), lowest, highest)
        own = scales[2] * _with(np.ones(count, F), 3, -1.0) if mistake == "one sign" else np.full(count, scales[2])
        terms = [scales[0] * wave["gyro"][t], gravity[t], scales[1] * stick, wave["q"][t][take] - other]
        now = np.concatenate([*terms, own * wave["dq"][t][taken], last]).astype(F)
        past = [now] * length if not past else [*past[1:], now]
        obs.append(np.concatenate(past))
        last = np.asarray(obs[-1] @ matrix, F)
        actions.append(last)
        target = np.asarray(scales[3] * last + pose, F)
        targets.append(target if mistake == "targets by position" or not is_mapped else target[np.argsort(take)])
    rows = {"gyro": wave["gyro"], "imu": np.stack([w, x, y, z], 1), "sticks": wave["sticks"]}
    rows |= {
        "q": wave["q"], "dq": wave["dq"], "obs": np.array(obs), "action": np.array(actions),
        "target": np.array(targets),
    }  # fmt: skip
    return {"is_mapped": is_mapped, **{name: np.asarray(each, F) for name, each in rows.items()}}


def _damped(path):
    """The matrix of a model, made small in its file: a loop that grows shows no constant any more."""
    model, small = onnx.load(path), np.asarray(weights_of(path) * 0.1, F)
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(small, "W"))
    onnx.save(model, path)
    return small


def _with(numbers, place, value):
    changed = np.array(numbers)
    changed[place] = value
    return changed


def _swapped(order):
    return [order[1], order[0], *order[2:]]


def _write(folder, runtime, kind):
    """The recording as people write it: arrays, or columns with a name each."""
    columns = {name: rows for name, rows in runtime.items() if name != "is_mapped"}
    if kind == "npz":
        np.savez(folder / "run.npz", time=np.arange(FRAMES) / 50, **columns)
        return folder / "run.npz"
    if kind == "safetensors":
        save_file({**columns, "time": np.arange(FRAMES, dtype=F) / F(50)}, folder / "run.safetensors")
        return folder / "run.safetensors"
    mark = kind.removeprefix("csv")
    own = {"q": MOTORS, "dq": MOTORS, "target": MOTORS, "action": JOINTS} if runtime["is_mapped"] else {}
    own = own or dict.fromkeys(("q", "dq", "target", "action"), MOTORS)
    own = {} if mark == "_" else own  # q_left_hip is a vector of its own
    own |= {"gyro": list("xyz"), "imu": list("wxyz"), "sticks": ["ly", "lx", "rx"]}
    names = [f"{name}{mark}{each}" for name, rows in columns.items() for each in own.get(name, range(rows.shape[1]))]
    with (folder / "run.csv").open("w", newline="", encoding="utf-8") as stream:
        written = csv.writer(stream)
        written.writerow(["time", *names])
        written.writerows(
            [frame / 50, *(float(v) for rows in columns.values() for v in rows[frame])] for frame in range(FRAMES)
        )
    return folder / "run.csv"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("seed", "kind"), list(enumerate(["npz", "safetensors", "csv.", "csv/", "csv_", "csv."])))
def test_a_draft_holds(tmp_path, command, seed, kind):
    """A first contract that fails its own check, or does not know the log's columns, is the last that somebody drafts."""
    recording = _write(tmp_path, _runtime(tmp_path, seed), kind)
    made = command("init", tmp_path)
    assert made.status == 0, made.err
    contract = tmp_path / "contract.toml"
    text = contract.read_text(encoding="utf-8")
    assert "CAUTION" not in text.partition("format =")[2], text
    assert "e+38" not in text
    assert command("check", contract).status == 0, command("check", contract).out
    answer = command("explain", recording, "--contract", contract)
    assert answer.status == 0, answer.out + answer.err
    assert "AGREES" in answer.out
    assert "does not know" not in answer.out
    names = {word for words in tomllib.loads(text)["names"].values() for word in words}
    assert names >= set(MOTORS) or kind not in ("csv.", "csv/")


@every_case("with_statistics", [True, False])
def test_a_draft_whose_first_trial_is_refused(tmp_path, command, with_statistics):
    """A clip between the statistics and the network: what most frames show is no stage, and a second trial follows the first."""
    rng, matrix = np.random.default_rng(0), weights_of(write_model(tmp_path / "policy.onnx", 6, 2))
    state, mean, std = (
        rng.normal(size=(80, 6)).astype(F), rng.normal(size=6).astype(F), rng.uniform(0.5, 2, 6).astype(F),
    )  # fmt: skip
    if with_statistics:
        np.savez(tmp_path / "stats.npz", mean=mean, std=std)
    obs = np.clip((state - mean) / std, F(-1.5), F(1.5))
    columns = {"state": state, "obs": obs, "actions": obs @ matrix, "target": np.clip(obs @ matrix, F(-0.6), F(0.6))}
    np.savez(tmp_path / "run.npz", time=np.arange(80) / 50, **columns)
    made = command("init", tmp_path)
    assert made.status == 0, made.err
    assert command("check", tmp_path / "contract.toml").status == 0
    assert "AGREES" in command("explain", tmp_path / "run.npz", "--contract", tmp_path / "contract.toml").out


@every_case("mistake", ["targets by position", "two joints exchanged", "one sign", "one default"])
def test_a_planted_mistake_is_drafted_with_a_caution(tmp_path, command, mistake):
    """A draft takes what the recording does for the contract: whoever reads it must be told what looks wrong in it."""
    recording = _write(tmp_path, _runtime(tmp_path, 1, mistake), "csv.")
    made = command("init", tmp_path)
    says = {
        "targets by position": "the column target.left_thigh holds the number of right_hip",
        "two joints exchanged": "exchanged", "one sign": "right_thigh", "one default": "left_thigh",
    }  # fmt: skip
    assert made.status == 0
    (caution,) = [line for line in made.out.splitlines() if "caution: " in line]
    assert says[mistake] in caution
    text = (tmp_path / "contract.toml").read_text(encoding="utf-8")
    assert "It states what the recording does" in text
    assert "# CAUTION: " in text
    assert command("check", tmp_path / "contract.toml").status == 0
    assert command("explain", recording, "--contract", tmp_path / "contract.toml").status == 0
