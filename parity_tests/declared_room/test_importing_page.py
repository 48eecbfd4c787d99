"""docs/importing.md: every command on the page runs, on small files of the names that it uses."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from safetensors.numpy import save_file

from .foreign_files import DEPLOY, DESCRIPTOR, LEAPP, METADATA, OBSERVED, robot_recording, write_model, write_yaml


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
    monkeypatch.chdir(tmp_path)
    assert len(lines) >= 10
    for line in lines:
        if line == "init":
            for contract in tmp_path.glob("*.toml"):  # a new folder on the page
                contract.unlink()
        answer = command(*shlex.split(line))
        assert answer.status == 0, line + answer.out + answer.err


@pytest.mark.nightly
@pytest.mark.parametrize("made", ["actor.onnx", "state.onnx", "weights.onnx"])
def test_what_the_page_advises_for_weights_gives_the_same_network(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: str
) -> None:
    """An advice that nobody tried costs an afternoon: each block of the page runs, and its model answers as the weights do."""
    page = (checkout / "docs" / "importing.md").read_text(encoding="utf-8")
    (block,) = [each for each in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if f'"{made}"' in each]
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    sizes = {"W1": (6, 8), "b1": 8, "W2": (8, 3), "b2": 3}
    arrays = {name: rng.normal(size=size).astype(np.float32) for name, size in sizes.items()}
    if made == "weights.onnx":
        np.savez("weights.npz", **arrays)
    else:
        torch = pytest.importorskip("torch", reason="the extra [training] is not installed")
        model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3)).eval()
        held = zip(("0.weight", "0.bias", "2.weight", "2.bias"), arrays.values(), strict=True)
        model.load_state_dict({name: torch.from_numpy(each.T.copy()) for name, each in held})
        torch.jit.script(model).save("actor.pt")
        torch.save(model.state_dict(), "state.pt")
    exec(compile(block, made, "exec"), {})  # noqa: S102 - what the page tells a reader to run
    rows = rng.normal(size=(5, 6)).astype(np.float32)
    session = onnxruntime.InferenceSession(made, providers=["CPUExecutionProvider"])
    expected = np.tanh(rows @ arrays["W1"] + arrays["b1"]) @ arrays["W2"] + arrays["b2"]
    # float32 on both sides, sums of eight products of size one
    assert session.run(None, {session.get_inputs()[0].name: rows})[0] == pytest.approx(expected, abs=1e-5)
