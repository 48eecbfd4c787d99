"""The gate, diff and explain on a model with a fixed batch of 1 and an operation without a derived rule."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .test_honest_architectures import LEVELS, OUT, WIDTH, by_rows, halved_precision, one_weight, saved, session

CONTRACT = f"""
format = "rigpact-contract"
version = 1
name = "one"
fps = 50
given = [{{ name = "x", size = {WIDTH} }}]
stages = [{{ name = "y", operation = "network", size = {OUT} }}]
[networks.policy]
file = "model.onnx"
inputs = ["x"]
outputs = ["y"]
"""
SETTINGS = """
[gate]
bundle = "contract.toml"
model = "model.onnx"
[[gate.trace]]
file = "engine.npz"
clip = "clip.npz"
"""
FRAMES = 40


def _recorded(folder: Path, model: Path, name: str = "engine") -> Path:
    x = np.random.default_rng(2).normal(size=(FRAMES, WIDTH)).astype(np.float32)
    made = session(model, LEVELS.ORT_DISABLE_ALL if name == "engine" else LEVELS.ORT_ENABLE_ALL)
    np.savez(folder / "clip.npz", x=x, frame=np.arange(FRAMES))
    y = by_rows(lambda rows: made.run(None, {"x": rows})[0], x, 1)
    np.savez(folder / f"{name}.npz", x=x, y=y, frame=np.arange(FRAMES))
    return folder / f"{name}.npz"


@pytest.fixture
def answers(tmp_path: Path, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Exit statuses of gate, explain and diff for an engine whose weights were edited."""

    def ask(name: str, edit: Any) -> dict[str, int]:
        monkeypatch.chdir(tmp_path)
        path = saved(name, tmp_path / "model.onnx", batch=1)
        (tmp_path / "contract.toml").write_text(CONTRACT, encoding="utf-8")
        (tmp_path / "rigpact.toml").write_text(SETTINGS, encoding="utf-8")
        reference = _recorded(tmp_path, path, "reference")
        engine = _recorded(tmp_path, saved(name, tmp_path / "own" / "engine.onnx", batch=1, edit=edit))
        files = ("--contract", "contract.toml", "--onnx", "model.onnx")
        asked = {
            "gate": command("gate"),
            "explain": command("explain", engine.name, *files),
            "diff": command("diff", reference.name, engine.name, *files),
        }
        return {key: one.status for key, one in asked.items()}

    (tmp_path / "own").mkdir()
    return ask


KINDS = ["Sum", "RNN", "attention"]


@pytest.mark.parametrize("name", KINDS)
def test_an_honest_engine_passes_every_command(answers: Callable[..., Any], name: str) -> None:
    """A gate that fails an honest engine is switched off."""
    assert answers(name, lambda _graph: None) == {"gate": 0, "explain": 0, "diff": 0}


@pytest.mark.parametrize("edit", [one_weight, halved_precision])
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.usefixtures("no_search")
def test_a_defect_is_noticed_by_every_command(answers: Callable[..., Any], name: str, edit: Any) -> None:
    """A wrong weight must show in each of them."""
    assert answers(name, edit) == {"gate": 1, "explain": 1, "diff": 1}
