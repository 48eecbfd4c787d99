"""Mistakes that no convention says, planted by plain numpy into a declared contract's recording, are named with their numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.reference_runtime.files.declared import ContractFiles
from rigpact.reports.diagnosing.diagnosis import Diagnosis
from rigpact.reports.diagnosing.explain import ExplainRequest, explain

from ..models import saved

CONTRACT = """
format = "rigpact-contract"
version = 1
name = "drawn_by_hand"
title = "Drawn by hand"
fps = 60
given = [{ name = "q", names = "joints" }, { name = "gyro", size = 3 }]
stages = [
    { name = "pose", operation = "affine", of = "q", scale = 0.5, subtract = 0.1 },
    { name = "squashed", operation = "squash", of = "pose", function = "tanh" },
    { name = "rate", operation = "difference", of = "squashed", span = "backward", rate = "per_second" },
    { name = "obs", operation = "concatenate", of = ["pose", "gyro"] },
    { name = "action", operation = "network", names = "joints" },
    { name = "past", operation = "history", of = "gyro", length = 3, layout = "frame_major", start = "first" },
    { name = "sent", operation = "affine", of = "squashed", scale = 2.0 },
    { name = "turning", operation = "threshold", of = "gyro", limit = 0.2, side = "above" },
]
[names]
joints = ["hip", "knee", "ankle", "toe"]
[networks.policy]
file = "policy.onnx"
inputs = ["obs"]
outputs = ["action"]
"""
FRAMES = 90
Rows = np.ndarray[Any, np.dtype[np.float64]]
WEIGHTS = [
    np.random.default_rng(1).normal(0.0, 0.6, shape).astype(np.float32) for shape in ((7, 12), (12,), (12, 4), (4,))
]


def _inputs() -> dict[str, Rows]:
    time, rng = np.arange(FRAMES)[:, None] / 60.0, np.random.default_rng(2)
    waves = [np.sin(time * rng.uniform(3.0, 9.0, (1, size)) + rng.uniform(0.0, 6.0, (1, size))) for size in (4, 3)]
    return {"q": 2.0 * waves[0], "gyro": waves[1] + rng.normal(0.0, 0.05, waves[1].shape)}


def _stored(rows: Rows) -> Rows:
    return rows.astype(np.float32).astype(np.float64)


def _network(obs: Rows) -> Rows:
    hidden = np.tanh(obs @ WEIGHTS[0].astype(float) + WEIGHTS[1])
    return np.asarray(hidden @ WEIGHTS[2].astype(float) + WEIGHTS[3])


def _past(gyro: Rows) -> Rows:
    return np.hstack([gyro[np.maximum(np.arange(FRAMES) - age, 0)] for age in (2, 1, 0)])


def _run(change: Mapping[str, Callable[[Rows], Rows]]) -> dict[str, Rows]:
    """Every vector. change: what is done to a vector on the way to what is computed from it; `into …` to what is recorded."""
    seen = {name: _stored(rows) for name, rows in _inputs().items()}

    def of(name: str) -> Rows:
        return change.get(name, lambda rows: rows)(seen[name])

    steps: tuple[tuple[str, Callable[[], Rows]], ...] = (
        ("pose", lambda: (of("q") - 0.1) * 0.5),
        ("squashed", lambda: np.tanh(of("pose"))),
        ("rate", lambda: np.vstack([np.zeros((1, 4)), np.diff(of("squashed"), axis=0)]) * 60.0),
        ("obs", lambda: np.hstack([seen["pose"], seen["gyro"]])),
        ("action", lambda: _network(of("obs"))),
        ("past", lambda: _past(seen["gyro"])),
        ("sent", lambda: 2.0 * of("squashed")),
        ("turning", lambda: (seen["gyro"] > np.float32(0.2)).astype(float)),
    )
    for name, compute in steps:
        seen[name] = _stored(change.get(f"into {name}", lambda rows: rows)(compute()))
    return seen


def _explained(folder: Path, columns: Mapping[str, Rows]) -> Diagnosis:
    nodes = "sum = Gemm(obs, w0, b0) hidden = Tanh(sum) action = Gemm(hidden, w1, b1)"
    weights = dict(zip(("w0", "b0", "w1", "b1"), WEIGHTS, strict=True))
    saved(folder / "policy.onnx", f"(float[N, 7] obs) => (float[N, 4] action) {{ {nodes} }}", **weights)
    (folder / "contract.toml").write_text(CONTRACT, encoding="utf-8")
    arrays: dict[str, Any] = {name: rows.astype(np.float32) for name, rows in columns.items()}
    np.savez(folder / "run.npz", frame=np.arange(FRAMES), **arrays)
    return explain(ExplainRequest(folder / "run.npz", ContractFiles(folder / "contract.toml", None, ())))[0]


def _slowed(most: float) -> Callable[[Rows], Rows]:
    def slowed(rows: Rows) -> Rows:
        found = rows.copy()
        for row in range(1, FRAMES):
            found[row] = found[row - 1] + np.clip(rows[row] - found[row - 1], -most, most)
        return found

    return slowed


def _at(rows: Rows, frames: Any, channels: Any, values: Any) -> Rows:
    found = rows.copy()
    found[frames, channels] = values
    return found


def _exchanged(rows: Rows) -> Rows:
    return rows[:, [0, 5, 2, 3, 4, 1, 6]]


def _rarely(_past_rows: Rows) -> Rows:
    gyro = _stored(_inputs()["gyro"])
    newest = np.arange(FRAMES) // 2 * 2
    return np.hstack([gyro[np.maximum(newest - 2 * age, 0)] for age in (2, 1, 0)])


def _begun_at(frame: int) -> Rows:
    gyro, rows = _stored(_inputs()["gyro"]), np.arange(FRAMES)
    first = np.where(rows < frame, 0, frame)
    return np.hstack([gyro[np.maximum(rows - age, first)] for age in (2, 1, 0)])


def _turned_early(_past_rows: Rows) -> Rows:
    """A ring of three slots whose head wraps at two, all slots of the first pose, the last one of zeros."""
    gyro = _stored(_inputs()["gyro"])
    slots, head, found = [gyro[0], gyro[0], np.zeros(3)], 0, []
    for row in range(FRAMES):
        slots[head] = gyro[row]
        head = (head + 1) % 2
        found.append(np.concatenate([slots[(head + place) % 3] for place in range(3)]))
    return np.stack(found)


def _squashed_first() -> Rows:
    return (np.tanh(_stored(_inputs()["q"])) - 0.1) * 0.5


def _late_where_it_was_zero(rows: Rows) -> Rows:
    """The third input of the network two frames late."""
    found = rows.copy()
    found[2:, 2] = rows[:-2, 2]
    return found


Change = dict[str, Callable[[Rows], Rows]]
MISTAKES: dict[str, tuple[Change, tuple[str, ...]]] = {
    "a rate limit before a difference": ({"squashed": _slowed(0.02)}, ("rate is", "squashed, moved by at most 0.02 a frame")),
    "a gain before a network": ({"obs": lambda rows: 1.3 * rows}, ("action is computed from 1.3 times obs",)),
    "two inputs of a network exchanged": ({"obs": _exchanged}, ("action is", "knee and gyro[1] exchanged")),
    "an offset before a network": ({"obs": lambda rows: rows + 0.4}, ("action is computed from 0.4 more than obs",)),
    "one input of a network negated": (
        {"obs": lambda rows: rows * [1, 1, -1, 1, 1, 1, 1]}, ("action is computed from", "-1 times obs", "ankle")),
    "a clamp where tanh is flat": ({"pose": lambda rows: np.clip(rows, -0.7, 0.7)}, ("squashed is", "clipped to [-0.7, 0.7]")),
    "done twice": ({"into pose": lambda rows: (rows - 0.1) * 0.5}, ("pose is", "it is done twice")),
    "left out": ({"into squashed": lambda _rows: _run({})["pose"]}, ("squashed is",)),
    "a frame in three": (
        {"into pose": lambda rows: rows[np.arange(FRAMES) // 3 * 3]}, ("pose is what it should be of every 3rd frame",)),
    "pushed every other frame": ({"into past": _rarely}, ("past is a history that is pushed in every 2nd frame only",)),
    "a ring whose head turns early": ({"into past": _turned_early}, ("past is a ring buffer of 3 entries", "one slot too early")),
    "a history that begins again": (
        {"into past": lambda _rows: _begun_at(40)}, ("past is computed as if the run began again at frame 40",)),
    "an input stuck before a network": (
        {"obs": lambda rows: np.full_like(rows, 0.25)}, ("action is computed from the number 0.25 in place of obs",)),
    "an input of a network two frames late": ({"obs": _late_where_it_was_zero}, ("action is", "frame t-2", "ankle")),
    "a gain of an input from a frame on": (
        {"pose": lambda rows: rows * np.where(np.arange(FRAMES) < 46, 1.0, 0.67)[:, None]},
        ("squashed is computed from 0.67 times", "from frame 46 on")),
    "late, and right at first": (
        {"into pose": lambda rows: np.vstack([rows[:5], rows[4:-1]])}, ("pose is the answer of frame t-1 from frame 5 on",)),
    "the other order": (
        {"into pose": lambda _rows: np.tanh(_inputs()["q"]), "into squashed": lambda _rows: _squashed_first()},
        ("pose is computed as squashed should be", "squashed is computed as pose should be")),
    "another number of the contract": (
        {"into pose": lambda rows: rows - 0.06}, ("pose is computed with pose.subtract 0.22 for 0.1",)),
    "one line for all channels": (
        {"into squashed": lambda rows: 0.75 * rows + 0.02}, ("squashed is 0.75 times what it should be, 0.02 more",)),
    "stuck at one": ({"into pose": lambda rows: _at(rows, slice(None), 2, 1.0)}, ("pose[ankle] is stuck at 1",)),
    "a factor in one frame": (
        {"into past": lambda rows: rows * np.where(np.arange(FRAMES) == 40, 3.0, 1.0)[:, None]},
        ("past is 3 times what it should be in frame 40 only",)),
    "a glitch of one number": (
        {"into pose": lambda rows: _at(rows, 40, 1, 0.9)}, ("pose[knee] is another number in frame 40 only: 0.9 for",)),
    "another vector with the same names": (
        {"pose": lambda _rows: _stored(_inputs()["q"])}, ("squashed is computed from q in place of pose",)),
    "a flag with the other sign": (
        {"into turning": lambda rows: rows * [1, -1, 1]}, ("turning of gyro[1] is -1 times what it should be",)),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_with_its_number(tmp_path: Path, name: str) -> None:
    """Without it an engineer sees which vector differs, and not what to change in the engine."""
    change, words = MISTAKES[name]
    found = _explained(tmp_path, _run(change))
    said = [each.sentence for each in found.relations]
    said += [f"{cause.stage} is {cause.changes}" for cause in found.causes]
    assert [word for word in words if word not in "; ".join(said)] == [], said


WAY: dict[str, tuple[Change, tuple[str, ...]]] = {
    "late, then clipped": (
        {"q": lambda rows: np.vstack([rows[:1], rows[:-1]]), "squashed": lambda rows: np.clip(rows, -0.3, 0.3)},
        ("computed from the squashed of frame t-1", "clipped to [-0.6, 0.6]")),
    "another word, then exchanged": (
        {"into squashed": lambda _rows: 1.0 / (1.0 + np.exp(-_run({})["pose"][:, [1, 0, 2, 3]]))},
        ("computed with squashed.function = sigmoid", "hip and knee exchanged")),
    "three mistakes are not told as two": (
        {"q": np.cbrt, "pose": lambda rows: rows[:, [1, 0, 2, 3]], "squashed": _slowed(0.05)}, ()),
}  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", WAY)
def test_mistakes_on_one_way_that_was_not_recorded(tmp_path: Path, name: str) -> None:
    """Each of two alone explains nothing; a pair that fits three by chance would be mended, and the third would stay."""
    change, words = WAY[name]
    seen = _run(change)
    found = _explained(tmp_path, {each: seen[each] for each in ("q", "gyro", "sent")})
    said = [each.sentence for each in found.relations]
    assert len(said) == len(words), said
    for word, sentence in zip(words, said, strict=True):
        assert word in sentence
        assert "both together" in sentence
    assert not words or found.verdict == "explained"


def test_a_right_run_agrees(tmp_path: Path) -> None:
    """Readings that fit what is right would send people after nothing."""
    found = _explained(tmp_path, _run({}))
    assert (found.verdict, found.relations, found.causes) == ("agrees", (), ())
