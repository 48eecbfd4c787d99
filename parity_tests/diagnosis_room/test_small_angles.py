"""Formulas for small angles in the place of rotations are named: they are right to a thousandth, and nobody finds them by eye."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rigpact.reference_runtime.files.declared import ContractFiles
from rigpact.reports.diagnosing.diagnosis import Diagnosis
from rigpact.reports.diagnosing.explain import ExplainRequest, explain

from ..every_case import every_case

CONTRACT = """
format = "rigpact-contract"
version = 1
name = "tilting"
title = "A frame that tilts"
fps = 60
given = [{ name = "attitude", kind = "quaternion_wxyz" }, { name = "rate", size = 3 }]
stages = [
    { name = "gravity", operation = "rotate", of = "attitude", vector = [0, 0, -1], direction = "inverse" },
    { name = "turned", operation = "integrate_rotation", of = ["attitude", "rate"], side = "left" },
]
"""
FRAMES = 80
FORM = "attitude turned by the small-angle form of one frame's turn"
Rows = np.ndarray[Any, np.dtype[np.float64]]


def _times(a: Rows, b: Rows) -> Rows:
    """The product of quaternions, w x y z."""
    w = a[:, :1] * b[:, :1] - np.sum(a[:, 1:] * b[:, 1:], axis=1, keepdims=True)
    return np.hstack([w, a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + np.cross(a[:, 1:], b[:, 1:])])


def _about(axis: int, angle: Rows) -> Rows:
    found = np.zeros((len(angle), 4))
    found[:, 0], found[:, 1 + axis] = np.cos(angle / 2), np.sin(angle / 2)
    return found


TIME = np.arange(FRAMES) / 60.0
ROLL, PITCH, YAW = 0.3 * np.sin(5.0 * TIME), 0.2 * np.cos(3.0 * TIME), 2.0 * TIME
ATTITUDE = _times(_about(2, YAW), _times(_about(1, PITCH), _about(0, ROLL))).astype(np.float32).astype(np.float64)
RATE = (
    np.stack([6.0 * np.cos(4.0 * TIME), 5.0 * np.sin(3.0 * TIME), 4.0 + TIME], axis=1)
    .astype(np.float32)
    .astype(np.float64)
)
GRAVITY = np.stack([np.sin(PITCH), -np.cos(PITCH) * np.sin(ROLL), -np.cos(PITCH) * np.cos(ROLL)], axis=1)


def _turn(*, is_small: bool, is_unit: bool = True) -> Rows:
    half = RATE / 120.0
    length = np.linalg.norm(half, axis=1, keepdims=True)
    exact = np.hstack([np.cos(length), half / length * np.sin(length)])
    small = np.hstack([np.ones_like(length), half])
    small = small / np.linalg.norm(small, axis=1, keepdims=True) if is_unit else small
    return _times(small if is_small else exact, ATTITUDE)


def _explained(folder: Path, gravity: Rows, turned: Rows) -> Diagnosis:
    (folder / "contract.toml").write_text(CONTRACT, encoding="utf-8")
    columns = {"attitude": ATTITUDE, "rate": RATE, "gravity": gravity, "turned": turned}
    arrays: dict[str, Any] = {name: rows.astype(np.float32) for name, rows in columns.items()}
    np.savez(folder / "run.npz", frame=np.arange(FRAMES), **arrays)
    return explain(ExplainRequest(folder / "run.npz", ContractFiles(folder / "contract.toml", None, ())))[0]


TILT = np.stack([PITCH, -ROLL, -np.ones(FRAMES)], axis=1)
"""What a runtime without a quaternion library writes."""
SMALL = {
    "exact": (GRAVITY, _turn(is_small=False), ""),
    "roll and pitch": (TILT, _turn(is_small=False), "its small-angle form, the angles of its tilt (pitch and roll)"),
    "q + w q dt/2": (GRAVITY, _turn(is_small=True), f"{FORM}, 1 + ω·step/2"),
    "not normalised": (GRAVITY, _turn(is_small=True, is_unit=False), f"{FORM}, 1 + ω·step/2, not normalised"),
}


@every_case("name", SMALL)
def test_a_formula_for_small_angles_is_named(tmp_path: Path, name: str) -> None:
    """They drift from the exponential by a thousandth of a degree a frame; exact ones agree."""
    gravity, turned, words = SMALL[name]
    found = _explained(tmp_path, gravity, turned)
    assert found.verdict == ("explained" if words else "agrees")
    assert [relation.words[: len(words)] for relation in found.relations] == [words] * bool(words)
