"""The command line in this process, and a recorded demo run to compare with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from rigpact.reports.command_line import run_command_line


@dataclass(frozen=True)
class Answer:
    """What a command gave back."""

    status: int
    out: str
    err: str


Command = Callable[..., Answer]


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str]) -> Command:
    """Run `rigpact WORDS…` and return its exit status and output."""

    def call(*words: object) -> Answer:
        capfd.readouterr()
        status = run_command_line([str(word) for word in words])
        captured = capfd.readouterr()
        assert "Traceback" not in captured.out + captured.err
        return Answer(status, captured.out, captured.err)

    return call


@pytest.fixture
def demo_clip(demo_bundle: Path) -> Path:
    """The clip that the demo's teacher prediction was computed on."""
    return demo_bundle / "clips" / "Sneak_Turn.json"


@pytest.fixture
def demo_run(command: Command, demo_bundle: Path, demo_clip: Path, tmp_path: Path) -> Path:
    """A teacher-driven run of the demo network, as a trace file."""
    out = tmp_path / "run.trace.jsonl"
    bundle, model = demo_bundle / "norm_template.json", demo_bundle / "model.onnx"
    assert command("run", bundle, "--onnx", model, "--clip", demo_clip, "-o", out).status == 0
    return out
