"""docs/importing.md: every command on the page runs, on small files of the names that it uses."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import save_file

from .foreign_files import (
    DEPLOY,
    DESCRIPTOR,
    LEAPP,
    METADATA,
    OBSERVED,
    robot_recording,
    weights_bytes,
    write_model,
    write_yaml,
)


def test_every_command_of_the_page_runs(
    checkout: Path, tmp_path: Path, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """People copy commands before they read."""
    page = (checkout / "docs" / "importing.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\$ rigpact (.*)$", page, re.MULTILINE)
    model = write_model(tmp_path / "policy.onnx", OBSERVED, 4)
    save_file(robot_recording(model), tmp_path / "engine.safetensors")
    write_yaml(tmp_path / "deploy.yaml", DEPLOY)
    write_yaml(tmp_path / "walk_descriptor.yaml", DESCRIPTOR)
    write_yaml(tmp_path / "walk_leapp.yaml", LEAPP)
    write_model(tmp_path / "mjlab_policy.onnx", 45, 2, METADATA)
    torch = pytest.importorskip("torch", reason="the extra [training] is not installed")
    torch.save(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)).state_dict(), tmp_path / "actor.pt")
    (tmp_path / "stepper.bin").write_bytes(weights_bytes((5, 8, 5)))
    monkeypatch.chdir(tmp_path)

    assert len(lines) >= 10
    for line in lines:
        if line == "init --contract":
            (tmp_path / "contract.toml").unlink()  # a new folder on the page
        answer = command(*shlex.split(line))
        assert answer.status == 0, line + answer.out + answer.err


def test_a_verdict_takes_three_commands(checkout: Path) -> None:
    """The page promises what a reader counts."""
    first = (checkout / "docs" / "importing.md").read_text(encoding="utf-8").split("```console")[1].split("```")[0]
    assert [line.split()[2] for line in first.strip().splitlines()] == ["import", "check", "explain"]
