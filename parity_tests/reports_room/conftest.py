"""The command line in this process, and a recorded demo run to compare with."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]
"""The fixture `command`: words in, an answer with status, out and err."""


@pytest.fixture
def demo_clip(demo_bundle: Path) -> Path:
    """The clip that the demo's teacher prediction was computed on."""
    return demo_bundle / "clips" / "Sneak_Turn.json"


@pytest.fixture
def demo_run(command: Command, demo_bundle: Path, demo_clip: Path, tmp_path: Path) -> Path:
    """A teacher-driven run of the demo network, as a trace file."""
    out = tmp_path / "run.trace.jsonl"
    bundle, model = demo_bundle / "norm_template.json", demo_bundle / "model.onnx"
    assert command("run", "--contract", bundle, "--onnx", model, demo_clip, "-o", out).status == 0
    return out
