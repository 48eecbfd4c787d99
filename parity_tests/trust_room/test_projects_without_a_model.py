"""Projects without a model, where the network's recorded output is all that is known of it"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from . import recorded_demo
from .tried import passes, refused

INPUTS = ("state", "cond", "contacts", "angvel", "pose_hist")
Document = dict[str, Any]
DAMAGES: dict[str, Callable[[Document], object]] = {
    "rows reversed": lambda answer: [rows.reverse() for rows in answer["prediction"].values() if rows],
    "one frame late": lambda answer: [rows.insert(0, rows.pop()) for rows in answer["prediction"].values() if rows],
    "dropped": lambda answer: answer.pop("prediction"),
    "renamed": lambda answer: answer.update(predictions=answer.pop("prediction")),
}


def saved(path: Path, document: Document) -> Path:
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@pytest.fixture
def project(demo_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The demo without its model: bundle, companion, a clip, its prediction, and the network's own output beside them.

    The output is what onnxruntime answers to the inputs that the prediction recorded; rigpact computes none of it.
    """
    for name in ("norm_template.json", "pretrain_template.json"):
        shutil.copy(demo_bundle / name, tmp_path / name)
    shutil.copy(demo_bundle / "clips" / "Sneak_Turn.json", tmp_path / "Sneak_Turn.json")
    text = (demo_bundle / "teacher_predictions" / "Sneak_Turn_prediction.json").read_text(encoding="utf-8")
    prediction = json.loads(text)
    saved(tmp_path / "Sneak_Turn_prediction.json", prediction)
    teacher = prediction["teacher"]
    aux = teacher.get("aux_inputs") or prediction["aux_inputs"]
    rows = (teacher["state_norm"], teacher["cond"], aux["contacts"], aux["angvel_norm"], aux["pose_hist_norm"])
    fed = {name: np.array(values, np.float32) for name, values in zip(INPUTS, rows, strict=True)}
    answer = onnxruntime.InferenceSession(str(demo_bundle / "model.onnx")).run(None, fed)[0]
    del prediction["diagnostics"]
    saved(
        tmp_path / "Sneak_Turn_network_output.json",
        prediction | {"prediction": {"y_norm": answer.tolist(), "y_raw": None}},
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def codes(command: Any, folder: Path) -> set[str]:
    """What `check` finds in the files of a folder."""
    files = sorted(path for path in folder.glob("*.json") if path.name != "pretrain_template.json")
    answer = command("check", *files, "--companion", folder / "pretrain_template.json", "--format", "json")
    return {found["code"] for found in json.loads(answer.out)["findings"] if found["severity"] == "error"}


@passes(
    "a recording of the network's own output beside the predictions that were made with it", "RP631 says what it is"
)
def test_a_recorded_output_in_order_raises_no_alarm(project: Path, command: Any) -> None:
    """The file is a recording of a network, as early exporters wrote it: it fits the poses beside it."""
    assert codes(command, project) == {"RP631"}


@pytest.mark.parametrize("damage", list(DAMAGES))
@pytest.mark.parametrize("file", ["Sneak_Turn_network_output.json", "Sneak_Turn_prediction.json"])
@refused(
    "predictions reversed, one frame late, dropped or renamed in a project without a model",
    "RP622 or RP623: the network's recorded output, composed, gives the poses in another order; the file lost its answers",
)
def test_rows_in_another_order_are_found_without_a_model(project: Path, command: Any, file: str, damage: str) -> None:
    """Every later comparison blames the engine for what an exporter did to the rows."""
    document = json.loads((project / file).read_text(encoding="utf-8"))
    DAMAGES[damage](document)
    saved(project / file, document)
    assert {"RP622", "RP623"} & codes(command, project)


@refused('`output_mode = "absolute"` beside a recorded output that is a residual', "RP621")
def test_the_recorded_output_contradicts_a_wrong_mode(project: Path, command: Any) -> None:
    """Without a model, the recording is the only witness of what the network's numbers mean."""
    bundle = json.loads((project / "norm_template.json").read_text(encoding="utf-8"))
    bundle["meta"]["rot6d_spec"]["output_mode"] = "absolute"
    saved(project / "norm_template.json", bundle)
    assert "RP621" in codes(command, project)


@refused(
    "`rigpact gate --selftest` without a model: every planted damage of the training side's files",
    "all are caught: exit 0",
)
def test_the_self_test_without_a_model_misses_no_damage_of_training(project: Path, command: Any) -> None:
    """A self-test that misses reversed rows says that the gate is blind to them."""
    assert command("init").status == 0
    answer = command("gate", "--selftest", "--only", "training", "--format", "json")
    missed = [each["name"] for each in json.loads(answer.out)["defects"] if not each["noticed_by"]]
    assert (answer.status, missed) == (0, [])


@refused(
    "an engine's wrong stage in a project without a model",
    "`gate`: every stage but the network's answer is judged, RP961",
)
@pytest.mark.usefixtures("no_search")
def test_a_trace_is_judged_from_its_own_answers(
    demo_bundle: Path, tmp_path: Path, command: Any, monkeypatch: Any
) -> None:
    """The whole part used to be undetermined, although only the network's answer cannot be judged."""
    folder = recorded_demo.project(tmp_path / "game")
    monkeypatch.chdir(folder)
    (folder / "model.onnx").unlink()
    settings = (folder / "rigpact.toml").read_text(encoding="utf-8").replace('model = "model.onnx"\n', "")
    (folder / "rigpact.toml").write_text(settings, encoding="utf-8")
    sound = command("gate", "--format", "json")
    recorded_demo.edited(folder / recorded_demo.TRACE, _one_number_of_delta6d)
    wrong = command("gate", "--format", "json")
    part = next(part for part in json.loads(sound.out)["parts"] if part["name"] == "engine-trace/engine")
    assert (sound.status, part["verdict"]) == (0, "pass")
    assert part["summary"]["waived"].keys() == {"y_norm"}
    assert wrong.status == 1
    assert "RP801" in wrong.out


def _one_number_of_delta6d(lines: recorded_demo.Lines) -> None:
    lines[5]["stages"]["delta6d"][3] += 0.01
