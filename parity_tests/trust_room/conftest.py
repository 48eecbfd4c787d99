"""Folders in which this room's commands run."""

import shutil
from pathlib import Path

import pytest

from rigpact.reference_runtime import write_trace

from .recorded_demo import project, recorded


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sound project with an engine's recording and the same as `right.trace.jsonl`; commands run in it."""
    monkeypatch.chdir(project(tmp_path / "game"))
    write_trace(recorded(), "right.trace.jsonl")
    return tmp_path / "game"


@pytest.fixture
def here(demo_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the demo's bundle, companion, model and one clip; commands run in it."""
    for name in ("norm_template.json", "pretrain_template.json", "model.onnx", "clips/Sneak_Turn.json"):
        shutil.copy(demo_bundle / name, tmp_path)
    (tmp_path / "Sneak_Turn.json").rename(tmp_path / "clip.json")
    monkeypatch.chdir(tmp_path)
    return tmp_path
