"""`explain --patch`: what was found as a change of the contract, and its proof."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.contract_files import open_contract
from rigpact.contract.declared.reading import with_changed_words
from rigpact.reference_runtime.recordings.opened import write_trace

from ..every_case import every_case
from ..scene import Scene

CONTRACT = """
format = "rigpact-contract"
version = 1
name = "arm"
title = "an arm"
fps = 50

given = [
    { name = "quat", kind = "quaternion_wxyz" },  # body to world
    { name = "speed", names = "axes" },
]

stages = [
    { name = "gravity", operation = "rotate", of = "quat", vector = [0, 0, -1], direction = "inverse" },
    # the other number stays as it is
    { name = "slow", operation = "affine", of = "speed", scale = 0.25 },
    { name = "fast", operation = "affine", of = "speed", scale = 4.0 },
]

[names]
axes = ["x", "y"]
"""
FRAMES = 12


def _recording(folder: Path, *, gravity: str, slow: float) -> Path:
    """Twelve frames of the arm, computed here. gravity: inverse or none; slow: its factor."""
    random = np.random.default_rng(3)
    quat = random.normal(size=(FRAMES, 4))
    quat /= np.linalg.norm(quat, axis=1, keepdims=True)
    w, x, y, z = quat.T
    down = -np.stack((2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)), axis=1)
    speed = random.normal(size=(FRAMES, 2)).astype(np.float32)
    rows = {
        "quat": quat, "speed": speed, "gravity": down if gravity == "inverse" else np.tile([0.0, 0.0, -1.0], (FRAMES, 1)),
        "slow": speed * np.float32(slow), "fast": speed * np.float32(4.0),
    }  # fmt: skip
    path = folder / "run.npz"
    np.savez(path, **{name: each.astype(np.float32) for name, each in rows.items()})
    return path


@pytest.fixture
def contract(tmp_path: Path) -> Path:
    """The arm's contract."""
    path = tmp_path / "contract.toml"
    path.write_text(CONTRACT, encoding="utf-8")
    return path


def test_the_changed_contract_keeps_its_text_and_agrees(command: Any, contract: Path, tmp_path: Path) -> None:
    """A rewritten file loses the comments that say why a number is what it is; a patch that was not tried may be wrong."""
    patch, words = tmp_path / "patch.toml", ("--mode", "teacher", "--contract")
    answer = command("explain", _recording(tmp_path, gravity="none", slow=1.0), *words, contract, "--patch", patch)
    assert answer.status == 1, answer
    assert "replayed with it, the recording agrees in 3 of 3 stages" in answer.out
    expected = CONTRACT.replace('direction = "inverse"', 'direction = "none"').replace("scale = 0.25", "scale = 1.0")
    assert patch.read_text(encoding="utf-8") == expected
    assert command("explain", tmp_path / "run.npz", *words, patch).status == 0


def test_nothing_found_writes_nothing(command: Any, contract: Path, tmp_path: Path) -> None:
    """An empty patch would be taken for one."""
    recording, patch = _recording(tmp_path, gravity="inverse", slow=0.25), tmp_path / "patch.toml"
    answer = command("explain", recording, "--contract", contract, "--mode", "teacher", "--patch", patch)
    assert (answer.status, patch.exists()) == (0, False), answer
    assert "is not written: no convention was found" in answer.err + answer.out


def test_what_no_file_says_is_a_file_of_conventions(
    scene: Scene, command: Any, demo_files: Any, tmp_path: Path
) -> None:
    """A schema bundle has no word for a convention: its patch must still be one file that a command takes."""
    trace, patch = tmp_path / "other.trace.jsonl", tmp_path / "patch.toml"
    write_trace(scene.record({"compose_order": "prev_delta"}), trace)
    files = ("--contract", demo_files["bundle"], "--companion", demo_files["companion"])
    answer = command("explain", trace, *files, "--allow-unjudged", "y_norm", "--patch", patch)
    assert tomllib.loads(patch.read_text(encoding="utf-8")) == {"conventions": {"compose_order": "prev_delta"}}
    assert f"--conventions {patch}, or --set compose_order=prev_delta; replayed with it" in answer.out


WORDS = (
    ({"gravity.direction": "none"}, 'direction = "inverse"', 'direction = "none"'),
    ({"slow.scale": "inverse"}, "scale = 0.25", "scale = 4.0"),
    ({"fast.scale": "none"}, "scale = 4.0", "scale = 1.0"),
    ({"gravity.quaternion_order": "xyzw"}, 'name = "gravity"', 'name = "gravity", quaternion_order = "xyzw"'),
)


@every_case(("changes", "before", "after"), WORDS)
def test_only_the_word_that_is_meant_changes(contract: Path, changes: Any, before: str, after: str) -> None:
    """Two stages have a `scale`: the wrong one would be changed. A word that was left out is added."""
    changed = with_changed_words(CONTRACT.encode(), open_contract(contract).system.knobs, changes)
    assert changed == CONTRACT.replace(before, after).encode()
