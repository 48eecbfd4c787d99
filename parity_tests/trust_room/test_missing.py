"""A check that could not run

A rule that is skipped for want of a package, a file or time is missing: exit 2, which is not a pass, unless it is waived.
"""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..soon import SOON
from .tried import passes, refused

Command = Callable[..., Any]
GATE = """[gate]
bundle = "norm_template.json"
companion = "pretrain_template.json"
model = "model.onnx"
free-run = false
"""
WAIVED = f"""[[gate.waive]]
part = "model"
owner = "Ana"
reason = "the model comes tomorrow"
expires = "{SOON}"
"""


@pytest.fixture
def project(game: Path) -> Path:
    """The demo under the gate."""
    (game / "rigpact.toml").write_text(GATE, encoding="utf-8")
    return game


@refused(
    "a model whose nodes and weights cannot be read, because the package onnx is gone",
    "exit 2; the error says what is missing",
)
@pytest.mark.parametrize(
    "words",
    [
        ("gate",),
        ("check", "norm_template.json", "--onnx", "model.onnx"),
        ("check", "--each", "model.onnx"),
        ("init", "--status"),
    ],
)
def test_a_graph_that_is_not_read_is_missing(
    command: Command, project: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """Dropout left on and NaN weights passed with "7 of 7 judged" where the package was not installed."""
    monkeypatch.setitem(sys.modules, "onnx", None)
    shutil.rmtree(project / "teacher_predictions")
    answer = command(*words)
    assert answer.status == 2
    assert "the package onnx is not installed" in answer.out + answer.err
    assert "\nPASS" not in answer.out


@refused(
    "a file that [gate] names and that is not there",
    "exit 2; `rigpact init --status` says which part and how to get it",
)
def test_the_status_says_what_is_missing(command: Command, project: Path) -> None:
    """An hour before the release nobody knows which of seven parts the build machine could judge."""
    (project / "model.onnx").unlink()
    answer = command("init", "--status", "--format", "json")
    document = json.loads(answer.out)
    states = {part["name"]: part["state"] for part in document["project"]}
    assert (answer.status, document["verdict"], command("gate").status) == (2, "incomplete", 2)
    assert {name for name, state in states.items() if state == "missing"} == {"model"}
    assert states["files"] == "can be judged"
    (missing,) = (part for part in document["project"] if part["state"] == "missing")
    assert "model.onnx" in missing["reason"]
    assert "missing        model: model.onnx" in command("init", "--status").out


@passes("the same file, waived with owner, reason and day", "`init --status` and `gate` pass, and both show the waiver")
def test_what_is_waived_is_not_missing(command: Command, project: Path) -> None:
    """A model that comes tomorrow must not stop everybody's work today."""
    (project / "rigpact.toml").write_text(GATE + WAIVED, encoding="utf-8")
    (project / "model.onnx").unlink()
    for words in (("init", "--status"), ("gate",)):
        answer = command(*words)
        assert answer.status == 0
        assert "the model comes tomorrow" in answer.out


@refused(
    "a project that asks nothing, or has no settings", "`rigpact init --status` exits with 2 and names `rigpact init`"
)
@pytest.mark.parametrize("text", [None, '[severity]\nRP070 = "error"\n'])
def test_a_project_that_asks_nothing_is_not_ready(command: Command, project: Path, text: str | None) -> None:
    """Nothing is missing where nothing is asked; that is not readiness."""
    (project / "rigpact.toml").unlink()
    if text is not None:
        (project / "rigpact.toml").write_text(text, encoding="utf-8")
    answer = command("init", "--status")
    assert answer.status == 2
    assert "`rigpact init` writes one" in answer.out


@refused("a dependency of rigpact that is not installed", "`rigpact init --status` exits with 2 and says how to get it")
def test_a_missing_dependency_is_told(command: Command, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that a slim image left out is found when a release is due."""
    from importlib.metadata import PackageNotFoundError, version

    from rigpact.reports.gate.setup import status

    def without_onnx(name: str) -> str:
        if name == "onnx":
            raise PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(status, "version", without_onnx)
    answer = command("init", "--status", "--format", "json")
    lacking = [tool for tool in json.loads(answer.out)["installation"] if tool["needed"] and tool["version"] is None]
    assert answer.status == 2
    assert [tool["name"] for tool in lacking] == ["onnx"]
    assert lacking[0]["get"].startswith("pip install 'onnx")
