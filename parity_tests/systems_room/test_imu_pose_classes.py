"""IMU pose with the exercises and forms of another project: upstream's presets have one and ten."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from rigpact.contract.systems.layout import json_to_fields
from rigpact.reports.command_line import run_command_line

COMMITTED = Path(__file__).parents[2] / "fixtures" / "bundles" / "imu_pose"
CLIP = COMMITTED / "clip.trace.safetensors"
EXERCISES = ("squat",), tuple(f"exercise_{number}" for number in range(10))
UPSTREAM_FORMS = ("excellent", "good", "fair", "poor", "dangerous")


def _contract(folder: Path, exercises: Sequence[str], **changed: Any) -> Path:
    """The committed contract with other classes; changed: of every class's field."""
    document = json.loads((COMMITTED / "imu_pose.json").read_text(encoding="utf-8"))
    for vector, names in (("exercise_logits", exercises), ("form_logits", UPSTREAM_FORMS)):
        one = document["vectors"][vector]["fields"][0]
        fields = [{**one, "name": name, "start": place, **changed} for place, name in enumerate(names)]
        document["vectors"][vector] = {"fields": fields, "layout_hash": json_to_fields(fields).layout_hash}
    path = folder / "imu_pose.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """The committed network with other last layers of its exercises, one for each number of them."""
    found = {}
    for count in map(len, EXERCISES):
        model = onnx.load(str(COMMITTED / "model.onnx"))
        for array in model.graph.initializer:
            if array.name.startswith("exercise_head.3."):
                rows = np.resize(numpy_helper.to_array(array), (count, *array.dims[1:]))
                array.CopyFrom(numpy_helper.from_array(rows, array.name))
        output = next(each for each in model.graph.output if each.name == "exercise_logits")
        output.type.tensor_type.shape.dim[1].dim_value = count
        del model.graph.value_info[:]
        found[count] = tmp_path_factory.mktemp("models") / f"{count}.onnx"
        onnx.save(model, str(found[count]))
    return found


@pytest.mark.parametrize("exercises", EXERCISES, ids=("one", "ten"))
def test_a_project_names_its_own_exercises_and_forms(
    tmp_path: Path, models: dict[int, Path], exercises: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """A contract with only the three classes of the committed model would shut out every published preset."""
    contract, model = str(_contract(tmp_path, exercises)), str(models[len(exercises)])
    run = str(tmp_path / "run.trace.safetensors")
    assert run_command_line(["check", contract, model]) == 0
    assert run_command_line(["run", "--contract", contract, str(CLIP), "--onnx", model, "-o", run]) == 0
    assert run_command_line(["check", contract, model, run]) == 0
    assert run_command_line(["explain", run, "--contract", contract, "--onnx", model]) == 0
    assert "8 of 8 stages judged" in capsys.readouterr().out
    assert run_command_line(["show", contract]) == 0
    assert "dangerous" in capsys.readouterr().out


def test_a_model_with_another_number_of_exercises_is_refused(
    tmp_path: Path, models: dict[int, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Ten logits read by a table of one name the wrong exercise for nine of ten windows."""
    contract = _contract(tmp_path, EXERCISES[0])
    assert run_command_line(["check", str(contract), str(models[10])]) == 1
    assert "RP714" in capsys.readouterr().out


def test_a_recording_with_another_number_of_exercises_is_refused(
    tmp_path: Path, models: dict[int, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """A recording of another head is not a recording of this contract, whatever else agrees."""
    contract, run = str(_contract(tmp_path, EXERCISES[0])), str(tmp_path / "run.trace.safetensors")
    assert run_command_line(["run", "--contract", contract, str(CLIP), "--onnx", str(models[1]), "-o", run]) == 0
    capsys.readouterr()
    assert run_command_line(["check", str(COMMITTED / "imu_pose.json"), run]) == 2
    assert "exercise_logits: found 1 numbers, expected 3" in capsys.readouterr().err


@pytest.mark.parametrize("changed", [{"kind": "probability"}, {"unit": "%"}, {"space": "the newest sample"}])
def test_classes_have_their_own_names_and_nothing_else(
    tmp_path: Path, changed: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Probabilities in place of logits have the same number of numbers; a softmax over them flattens every answer."""
    assert run_command_line(["check", str(_contract(tmp_path, EXERCISES[0], **changed))]) == 1
    assert "RP702" in capsys.readouterr().out


def test_two_exercises_cannot_have_one_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever looks the class up by its name gets one of the two."""
    assert run_command_line(["check", str(_contract(tmp_path, ("squat", "squat")))]) == 1
    assert "RP706" in capsys.readouterr().out


def test_no_exercises_at_all_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty list of classes is a file that was never filled in."""
    assert run_command_line(["check", str(_contract(tmp_path, ()))]) == 2
    assert "exercise_logits/fields: RP022" in capsys.readouterr().out
