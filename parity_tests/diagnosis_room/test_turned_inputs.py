"""A constant turn of an input is named through what is computed from it, by its axis and angle."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.files.declared import ContractFiles
from rigpact.reports.diagnosing.explain import ExplainRequest, explain

from ..every_case import every_case

CONTRACT = """
format = "rigpact-contract"
version = 1
name = "turned"
title = "A reference as the torso sees it"
fps = 50
given = [{ name = "torso", kind = "quaternion_wxyz" }, { name = "reference", kind = "quaternion_wxyz" }]
stages = [
    { name = "relative", operation = "compose", of = ["torso", "reference"], product = "inverse_of_first" },
    { name = "six", operation = "convert", of = "relative", to = "rot6d", writes = "interleaved" },
]
"""
FRAMES = 60


def _quats(seed: int) -> FloatArray:
    time, rng = np.arange(FRAMES)[:, None] / 50.0, np.random.default_rng(seed)
    rows = np.array([1.0, 0.0, 0.0, 0.0]) + 0.5 * np.sin(
        time * rng.uniform(1.0, 5.0, (1, 4)) + rng.uniform(0.0, 6.0, (1, 4))
    )
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32).astype(float)


def _product(one: FloatArray, other: FloatArray) -> FloatArray:
    (a, b, c, d), (e, f, g, h) = one.T, other.T
    parts = (a * e - b * f - c * g - d * h, a * f + b * e + c * h - d * g,
             a * g - b * h + c * e + d * f, a * h + b * g - c * f + d * e)  # fmt: skip
    return np.stack(parts, axis=1)


def _about(axis: int, degrees: float) -> FloatArray:
    quat = np.zeros((1, 4))
    quat[0, 0], quat[0, axis + 1] = np.cos(np.radians(degrees) / 2.0), np.sin(np.radians(degrees) / 2.0)
    return np.repeat(quat, FRAMES, axis=0)


EDITS: dict[str, tuple[Callable[[FloatArray], FloatArray], str]] = {
    "a heading of the start": (lambda torso: _product(_about(2, -40.0), torso), "torso turned by -40° about z"),
    "a sensor askew": (lambda torso: _product(torso, _about(1, 7.5)), "torso turned, in its own axes, by 7.5° about y"),
    "a sensor on its side": (
        lambda torso: _product(torso, _about(0, 100.0)),
        "torso turned, in its own axes, by 100° about x",
    ),
}


@every_case("case", EDITS)
def test_a_turn_of_an_input_is_named(tmp_path: Path, case: str) -> None:
    """A robot that tracks a motion leans: the mount of its sensor stands in no file."""
    edit, words = EDITS[case]
    torso, reference = _quats(1), _quats(2)
    relative = _product(edit(torso) * [1.0, -1.0, -1.0, -1.0], reference)
    w, x, y, z = relative.T
    six = np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * y + w * z),
                    1 - 2 * (x * x + z * z), 2 * (x * z - w * y), 2 * (y * z + w * x)], axis=1)  # fmt: skip
    columns = {"torso": torso, "reference": reference, "six": six}
    (tmp_path / "contract.toml").write_text(CONTRACT, encoding="utf-8")
    np.savez(tmp_path / "run.npz", **{name: rows.astype(np.float32) for name, rows in columns.items()})
    found = explain(ExplainRequest(tmp_path / "run.npz", ContractFiles(tmp_path / "contract.toml")))[0]
    assert found.verdict == "explained"
    assert [words in each.sentence for each in found.relations] == [True], found.relations


def test_no_turn_is_found_in_noise(tmp_path: Path) -> None:
    """A turn that is not the same in every frame is none."""
    torso, reference = _quats(1), _quats(2)
    noise = np.random.default_rng(5).normal(0.0, 0.02, torso.shape)
    relative = _product((torso + noise) * [1.0, -1.0, -1.0, -1.0], reference)
    relative /= np.linalg.norm(relative, axis=1, keepdims=True)
    (tmp_path / "contract.toml").write_text(CONTRACT, encoding="utf-8")
    columns = {"torso": torso, "reference": reference, "relative": relative}
    np.savez(tmp_path / "run.npz", **{name: rows.astype(np.float32) for name, rows in columns.items()})
    found = explain(ExplainRequest(tmp_path / "run.npz", ContractFiles(tmp_path / "contract.toml")))[0]
    assert (found.verdict, [each.is_rule for each in found.relations]) == ("unexplained", [False])
