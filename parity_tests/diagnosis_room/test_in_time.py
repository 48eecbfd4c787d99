"""What a loop does to a vector over its ticks is named with its numbers, from the clipped observation alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.files.declared import ContractFiles
from rigpact.reports.diagnosing.diagnosis import Diagnosis
from rigpact.reports.diagnosing.explain import ExplainRequest, explain

from ..every_case import every_case

CONTRACT = """
format = "rigpact-contract"
version = 1
name = "in_time"
title = "A sensor row each 5 ms, an observation every fourth"
fps = 200
given = [{ name = "q", size = 3 }, { name = "dq", size = 3 }, { name = "command", names = ["vx", "vy", "yaw"] }]
stages = [
    { name = "q_t", operation = "held", of = "q", every = 4 },
    { name = "dq_t", operation = "held", of = "dq", every = 4 },
    { name = "command_t", operation = "held", of = "command", every = 4 },
    { name = "q_obs", operation = "affine", of = "q_t", scale = 2.0, subtract = 0.1 },
    { name = "clock", operation = "phase_clock", period = 0.55, form = "sin_cos" },
    { name = "phase", operation = "held", of = "clock", every = 4 },
    { name = "obs", operation = "concatenate", of = ["q_obs", "dq_t", "command_t", "phase"] },
    { name = "kept", operation = "clip", of = "obs", lowest = -2.5, highest = 2.5 },
]
"""
TICKS, DT = 90, 0.02
Ticks = dict[str, FloatArray]
"""Vectors by name, (TICKS, width) each; `turn` is the phase in [0, 1), (TICKS, 1)."""


def _sensors() -> Ticks:
    rng, time = np.random.default_rng(4), np.arange(4 * TICKS)[:, None] * DT / 4.0
    rows = {
        name: np.sin(time * rng.uniform(4.0, 15.0, (1, 3)) + rng.uniform(0.0, 6.0, (1, 3))) * size
        for name, size in (("q", [1.25, 1.0, 0.8]), ("dq", [2.2, 1.2, 1.5]), ("command", [0.4, 0.3, 1.0]))
    }
    rows["command"][100:180, :2] = 0.0
    return {name: values.astype(np.float32).astype(float) for name, values in rows.items()}


def _recurred(rows: FloatArray, step: Callable[[FloatArray, FloatArray], FloatArray]) -> FloatArray:
    """Rows of which each is made of the one before and its own; the first is its own."""
    found = rows.copy()
    for tick in range(1, len(rows)):
        found[tick] = step(found[tick - 1], rows[tick])
    return found


def _before(rows: FloatArray) -> FloatArray:
    return np.vstack([rows[:1], rows[:-1]])


def _set_back(ticks: Ticks) -> FloatArray:
    turn, now = ticks["turn"].copy(), 0.0
    for tick, command in enumerate(ticks["command"]):
        now = 0.0 if not command[:2].any() else (now + DT / 0.55) % 1.0 if tick else 0.0
        turn[tick] = now
    return turn


def _noise(ticks: Ticks) -> FloatArray:
    return np.asarray(ticks["dq"] + np.random.default_rng(8).uniform(-0.02, 0.02, ticks["dq"].shape))


EDITS: dict[str, tuple[str, Callable[[Ticks], FloatArray], tuple[str, str]]] = {
    "a low pass": (
        "q", lambda t: _recurred(t["q"], lambda old, new: 0.7 * old + 0.3 * new),
        ("q_obs", "smoothed: 0.3 of the new and 0.7 of the old each tick of 4 frames (low pass, 2.84 Hz)"),
    ),
    "rates from positions": (
        "dq", lambda t: 0.1 * (t["q"] - _before(t["q"])) / DT,
        ("dq_t", "0.1 times how fast q changes, its backward difference over a tick of 4 frames, a second"),
    ),
    "a limit of the rate": (
        "q", lambda t: _recurred(t["q"], lambda old, new: old + np.clip(new - old, -0.1, 0.1)),
        ("q_obs", "moved by at most 0.2 a tick of 4 frames"),
    ),
    "another vector added": ("dq", lambda t: t["dq"] + t["q"], ("dq_t", "plus q")),
    "a mean of two ticks": ("q", lambda t: 0.5 * (t["q"] + _before(t["q"])), ("q_obs", "the mean of")),
    "a sum over ticks": ("dq", lambda t: _recurred(t["dq"], lambda old, new: old + DT * new), ("dq_t", "summed up: 0.02")),
    "an int": ("dq", lambda t: np.trunc(t["dq"] / 0.25) * 0.25, ("dq_t", "cut to steps of 0.25")),
    "a guard": ("dq", lambda t: np.where(np.abs(t["dq"]) > 1.8, 0.0, t["dq"]), ("dq_t", "0 where its size is above 1.8")),
    "a refresh that is seldom": ("dq", lambda t: t["dq"][np.arange(TICKS) // 5 * 5], ("dq_t", "of every 20th frame, held")),
    "a phase in tenths": ("turn", lambda t: np.floor(t["turn"] * 10.0 + 1e-9) / 10.0, ("phase", "turn cut to 10ths")),
    "a phase that is ahead": ("turn", lambda t: t["turn"] + 0.1, ("phase", "turn 0.1 of a turn ahead")),
    "a phase that is set back": ("turn", _set_back, ("phase", "set to 0 while command vx, vy is 0")),
}  # fmt: skip


def _explained(folder: Path, name: str, edit: Callable[[Ticks], FloatArray]) -> Diagnosis:
    """The loop in numpy with an edit of one vector at its ticks; recorded are the sensors and the clipped observation."""
    sensors = _sensors()
    ticks = {each: rows[::4].copy() for each, rows in sensors.items()}
    ticks["turn"] = (np.arange(TICKS)[:, None] * DT / 0.55) % 1.0
    ticks[name] = edit(ticks)
    angle = 2.0 * np.pi * ticks["turn"]
    obs = np.hstack([2.0 * (ticks["q"] - 0.1), ticks["dq"], ticks["command"], np.sin(angle), np.cos(angle)])
    kept = np.repeat(np.clip(obs, -2.5, 2.5), 4, axis=0).astype(np.float32)
    (folder / "contract.toml").write_text(CONTRACT, encoding="utf-8")
    np.savez(folder / "run.npz", kept=kept, **{each: rows.astype(np.float32) for each, rows in sensors.items()})
    return explain(ExplainRequest(folder / "run.npz", ContractFiles(folder / "contract.toml")))[0]


@every_case("case", EDITS)
def test_an_edit_over_ticks_is_named_with_its_numbers(tmp_path: Path, case: str) -> None:
    """A robot that trembles, or lags, has a filter that one side does not have; nobody sees that in 11 columns."""
    name, edit, (stage, words) = EDITS[case]
    found = _explained(tmp_path, name, edit)
    said = [(relation.stage, relation.sentence) for relation in found.relations]
    assert found.verdict == "explained", said
    assert len(said) == 1
    assert (said[0][0], words in said[0][1]) == (stage, True), said


def test_noise_has_a_size_and_no_rule(tmp_path: Path) -> None:
    """A sum of enough terms fits anything: none may be found in noise, whose size says which setting was left on."""
    found = _explained(tmp_path, "dq", _noise)
    assert found.verdict in ("unexplained", "undetermined")
    assert [relation.is_rule for relation in found.relations] == [False]
    assert "noise, evenly within ±0.02: no channel and no frame" in found.relations[0].sentence


def test_what_drifts_is_no_noise(tmp_path: Path) -> None:
    """Errors of which each is made of the one before have a cause."""
    found = _explained(tmp_path, "dq", lambda ticks: ticks["dq"] + 0.2 * np.cumsum(_noise(ticks) - ticks["dq"], axis=0))
    assert [relation.sentence for relation in found.relations if "noise" in relation.sentence] == []
    assert found.verdict != "explained"


def test_a_right_run_agrees(tmp_path: Path) -> None:
    """Numbers that a limit hides leave nothing to be said."""
    found = _explained(tmp_path, "q", lambda ticks: ticks["q"])
    assert (found.verdict, found.relations, found.causes) == ("agrees", (), ())
