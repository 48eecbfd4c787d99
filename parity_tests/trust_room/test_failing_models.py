"""Models that fail when they run"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .failing_models import FAILING, MASKED, NOT_FINITE, Edit, write_edited
from .tried import passes, refused

CLIP = "clips/Sneak_Turn.json"
SETTINGS = f"""[gate]
bundle = "norm_template.json"
companion = "pretrain_template.json"
model = "model.onnx"
frames = 20
free-run = "{CLIP}"
clips = ["{CLIP}"]
[[gate.teacher]]
file = "teacher_predictions/Sneak_Turn_prediction.json"
clip = "{CLIP}"
name = "sneak"
[gate.budget]
inference-us = 1e9
"""
PARTS = {"files", "model", "teacher/sneak", "free-run", "adequacy", "budget"}
NAN = ("nan", "--contract", "norm_template.json", "--companion", "pretrain_template.json", "--onnx", "model.onnx", CLIP)


@pytest.fixture
def game(demo_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Edit], Path]:
    """The demo's project with its model edited; commands run in it."""

    def made(edit: Edit) -> Path:
        folder = tmp_path / "game"
        shutil.copytree(demo_bundle, folder)
        write_edited(folder, edit)
        (folder / "rigpact.toml").write_text(SETTINGS, encoding="utf-8")
        monkeypatch.chdir(folder)
        return folder

    return made


@pytest.mark.sampled(3)
@refused(
    "a gate on a model that loads and cannot run: a fixed batch, a reshape that does not fit, no outputs, six inputs",
    "exit 1: the parts that need a run fail with RP960, the others answer as ever",
)
@pytest.mark.parametrize("name", FAILING)
def test_each_part_fails_on_its_own(game: Any, command: Any, name: str) -> None:
    """A gate that breaks off says nothing about the bundle, which is broken too."""
    game(FAILING[name])
    answer = command("gate", "--format", "json")
    document = json.loads(answer.out)
    parts = {part["name"]: part for part in document["parts"]}
    assert answer.status == 1
    assert parts.keys() == PARTS
    assert parts["files"]["verdict"] == "pass"
    assert [name for name, part in parts.items() if part["verdict"] != "pass" and not part["findings"]] == []
    for part in ("teacher/sneak", "free-run"):
        assert [finding["code"] for finding in parts[part]["findings"]] == ["RP960"]


@refused("`nan` on a model that loads and cannot run", "exit 2: it is not known whether its numbers are finite")
@pytest.mark.parametrize("name", FAILING)
def test_a_model_that_does_not_run_is_not_called_nonfinite(game: Any, command: Any, name: str) -> None:
    """People search for a NaN where a shape is wrong."""
    game(FAILING[name])
    answer = command(*NAN, "--frames", 5)
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)


@pytest.mark.sampled(2)
@refused(
    "a single number in the model that is infinite or NaN, and reaches the answer", "RP429, RP966; `nan` names the node"
)
@pytest.mark.parametrize("name", NOT_FINITE)
@pytest.mark.usefixtures("no_search")
def test_a_single_number_that_is_not_finite_is_judged(game: Any, command: Any, name: str) -> None:
    """A number without an index made rigpact itself fail, and the build was repeated instead of repaired."""
    game(NOT_FINITE[name])
    gate = command("gate", "--format", "json")
    codes = {finding["code"] for part in json.loads(gate.out)["parts"] for finding in part["findings"]}
    nan = command(*NAN, "--frames", 5, "--format", "json")
    assert (gate.status, nan.status) == (1, 1)
    assert {"RP429", "RP966"} <= codes
    assert json.loads(nan.out)["origin"]["network"]["node"] == "z"


@passes("a single minus infinity as the floor of Max, as exporters write masks", "passes; RP446, information")
def test_an_infinity_that_cannot_arrive_is_information(game: Any, command: Any) -> None:
    """Every exported attention holds minus infinity: an error there is waived, and so is the next one."""
    game(MASKED)
    gate = command("gate", "--format", "json")
    findings = [finding for part in json.loads(gate.out)["parts"] for finding in part["findings"]]
    about = [finding for finding in findings if finding["code"] in {"RP429", "RP446"}]
    assert (gate.status, [finding["code"] for finding in about]) == (0, ["RP446"])
    assert "Max" in about[0]["message"]
    assert command(*NAN, "--frames", 5).status == 0
