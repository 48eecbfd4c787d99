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

from rigpact.reports.importing.affine import Line, line_between
from rigpact.reports.importing.observation import Block, find_shifts

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


def _history(rows, length, *, layout, order, start):
    """Two terms, of 2 and 1 numbers, kept by hand."""
    past = [rows[0] if start == "first" else np.zeros(3)] * length
    seen = []
    for row in rows:
        past = [*past[1:], row]
        frames = past if order == "oldest_first" else past[::-1]
        terms = [[frame[:2] for frame in frames], [frame[2:] for frame in frames]]
        seen.append(np.concatenate(frames if layout == "frame_major" else [each for term in terms for each in term]))
    return np.array(seen)


@every_case("layout", ["term_major", "frame_major"])
@every_case("order", ["oldest_first", "newest_first"])
@every_case("start", ["first", "zeros"])
def test_a_history_is_read_from_exact_copies(layout, order, start):
    """Each of the three words makes another vector of the same width; nothing crashes with the wrong one."""
    held = _history(np.random.default_rng(5).normal(size=(30, 3)), 4, layout=layout, order=order, start=start)
    found = find_shifts(held, np.arange(30) > 0)
    widths = (3,) if layout == "frame_major" else (2, 1)
    starts = np.concatenate(([0], 4 * np.cumsum(widths)[:-1]))
    assert found.blocks == tuple(Block(int(at), width, 4, order) for at, width in zip(starts, widths, strict=True))  # type: ignore[arg-type]
    assert found.start == start


def test_a_reset_in_the_middle_breaks_no_history():
    """A robot that falls is put up again while the log runs on."""
    rng = np.random.default_rng(6)
    held = np.vstack(
        [
            _history(rng.normal(size=(20, 3)), 3, layout="frame_major", order="oldest_first", start="zeros")
            for _ in range(2)
        ]
    )
    found = find_shifts(held, np.arange(40) > 0)
    assert (found.blocks, found.resets, found.start) == ((Block(0, 3, 3, "oldest_first"),), (0, 20), "zeros")


def test_columns_that_stand_still_are_not_told():
    """A dead term between two histories may be of any width: a guess would name the wrong sensor."""
    rows = _history(
        np.random.default_rng(7).normal(size=(30, 3)), 4, layout="term_major", order="oldest_first", start="first"
    )
    held = np.hstack([rows[:, :8], np.zeros((30, 8)), rows[:, 8:]])
    blocks = find_shifts(held, np.arange(30) > 0).blocks
    assert blocks is not None
    assert [each.is_told for each in blocks] == [True, False, True]


@pytest.mark.parametrize(
    ("scale", "subtract"), [(1.0, 0.0), (0.2, 0.0), (1.0, -0.35), (0.05, 1.25), (-2.0, 0.0), (57.29578, 0.0)]
)
def test_a_line_says_the_numbers_that_were_meant(scale, subtract):
    """0.2 that is read as 0.19999999 is a number that nobody finds in his code."""
    known = np.random.default_rng(8).normal(size=80).astype(np.float32)
    held = (known - np.float32(subtract)) * np.float32(scale)
    line = line_between(known.astype(float), held.astype(float), np.zeros(80), float(np.abs(known).max()))
    assert line is not None
    assert line.scale == pytest.approx(scale, rel=1e-6)
    assert line.subtract - line.offset / line.scale == pytest.approx(subtract, abs=1e-6)
    assert line_between(known.astype(float), np.tanh(held).astype(float), np.zeros(80), 4.0) in (None, Line(1.0, 0.0))
